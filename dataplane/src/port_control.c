/* See port_control.h. */
#include "port_control.h"

#include <string.h>

#include <rte_branch_prediction.h>

#define PFC_OPCODE 0x0101
/* So many credit messages of a lane one after the other are refused before its other end is believed to have begun anew: 1 ms at Tc = 60 us. */
#define REFUSALS_BEFORE_RESTART 16
/* The longest control frame: credits of eight lanes. Every mbuf has room for it. */
#define CONTROL_BYTES_MOST FRAME_LEAST_ROOM_BYTES

/* The node begins or ceases to hold back this port's other end. */
static void set_holding(struct port *port, unsigned priority, bool holding, uint64_t now_ps)
{
	uint8_t bit = (uint8_t)(1 << priority);

	if (holding == ((port->holding & bit) != 0))
		return;
	port->holding ^= bit;
	if (holding)
		port->holds->ports[priority]++;
	else
		port->holds->ports[priority]--;
	port->holds->last_ps[priority] = now_ps;
}

void port_pfc_is_due(struct port *port, unsigned priority, uint64_t now_ps)
{
	if (!port->pfc_due)
		port->control_ready_ps = now_ps;
	port->pfc_due |= (uint8_t)(1 << priority);
}

bool port_charge(struct port *port, struct rte_mbuf *mbuf, uint64_t now_ps)
{
	struct frame *frame = frame_of(mbuf);
	struct ingress *ingress = &port->ingress[frame->priority];
	uint32_t bytes = rte_pktmbuf_pkt_len(mbuf);

	if (port->flow_control == FLOW_NONE || !(port->config.lossless >> frame->priority & 1))
		return true;
	if (port->flow_control == FLOW_CREDITS) {
		if (unlikely(!bw_credit_on_arrival(&ingress->credit, bytes))) {
			port_drop(port, mbuf, DROP_HEADROOM, now_ps);
			return false;
		}
		count_most(&port->count.ingress_most_bytes, ingress->credit.held * CREDIT_UNIT_BYTES);
	} else {
		if (unlikely(port->config.ingress_limit_bytes &&
			     ingress->pfc.bytes + bytes > port->config.ingress_limit_bytes)) {
			port_drop(port, mbuf, DROP_HEADROOM, now_ps);
			return false;
		}
		if (unlikely(bw_pfc_on_arrival(&ingress->pfc, &port->config.pfc, now_ps, bytes) == BW_PFC_DECISION_PAUSE)) {
			set_holding(port, frame->priority, true, now_ps);
			port_pfc_is_due(port, frame->priority, now_ps);
		}
		count_most(&port->count.ingress_most_bytes, ingress->pfc.bytes);
	}
	frame->charged = bytes;
	frame->epoch = port->epoch;
	frame->in = port;
	return true;
}

void port_leave_shared(struct rte_mbuf *shared, uint64_t now_ps)
{
	if (--frame_of(shared)->sharers)
		return;
	port_release(shared, now_ps);
	rte_pktmbuf_free(shared);
}

void port_release(struct rte_mbuf *mbuf, uint64_t now_ps)
{
	struct frame *frame = frame_of(mbuf);
	struct port *port = frame->in;

	if (!port) {
		if (unlikely(frame->shared))
			port_leave_shared(frame->shared, now_ps);
		frame->shared = NULL;
		return;
	}
	frame->in = NULL;
	if (unlikely(frame->epoch != port->epoch))
		return;
	struct ingress *ingress = &port->ingress[frame->priority];

	if (port->flow_control == FLOW_CREDITS) {
		bw_credit_on_departure(&ingress->credit, frame->charged);
	} else if (unlikely(bw_pfc_on_departure(&ingress->pfc, &port->config.pfc, frame->charged) == BW_PFC_DECISION_RESUME)) {
		set_holding(port, frame->priority, false, now_ps);
		port_pfc_is_due(port, frame->priority, now_ps);
	}
}

/* The gate of a lane closes or opens for what waits behind it. */
static void close_gate(struct port *port, unsigned priority, uint64_t now_ps)
{
	port->closed |= (uint8_t)(1 << priority);
	port->lanes[priority].closed_since_ps = now_ps;
	count(&port->count.off_periods[priority], 1);
}

void port_open_gate(struct port *port, unsigned priority, uint64_t now_ps)
{
	struct lane *lane = &port->lanes[priority];

	port->closed &= (uint8_t)~(1 << priority);
	count(&port->count.paused_ps[priority], now_ps - lane->closed_since_ps);
	if (lane->ready_ps < now_ps)
		lane->ready_ps = now_ps;
	if (port->config.detector)
		bw_detector_on_resume(port->config.detector, &lane->registers, now_ps, lane->bytes, lane->packets);
}

static void obey(struct port *port, const struct bw_pfc_frame *message, uint64_t now_ps)
{
	for (unsigned i = 0; i < PRIORITIES; i++) {
		struct bw_pfc_gate *gate = &port->lanes[i].gate;
		uint16_t quanta = message->quanta[i];

		if (!(message->enabled >> i & 1))
			continue;
		if (port->flow_control != FLOW_PFC || !(port->config.lossless >> i & 1)) {
			count(&port->count.pause_unknown_priority, 1);
			continue;
		}
		count(quanta ? &port->count.pause_received[i] : &port->count.resume_received[i], 1);
		if (gate->storm && quanta)
			count(&port->count.pauses_ignored, 1);
		switch (bw_pfc_gate_on_pause(gate, now_ps, bw_pfc_quanta_ps(port->config.nominal_bps, quanta))) {
		case BW_GATE_CHANGE_CLOSED: close_gate(port, i, now_ps); break;
		case BW_GATE_CHANGE_OPENED: port_open_gate(port, i, now_ps); break;
		case BW_GATE_CHANGE_SAME: break;
		}
	}
}

void port_begin_credits(struct port *port, uint64_t now_ps)
{
	const struct credits_config *config = &port->config.credits;

	if (port->flow_control != FLOW_CREDITS)
		return;
	port->epoch++;
	port->credits_due = false;
	for (unsigned i = 0; i < PRIORITIES; i++) {
		set_holding(port, i, false, now_ps);
		port->ingress[i].refused = 0;
		/* Lanes without room would never send: all zero, as they are. */
		bw_credit_init(&port->ingress[i].credit, CREDIT_UNIT_BYTES, config->buffer_bytes, config->peer_buffer_bytes, NULL, 0);
	}
}

/* A peer that was killed and started again, over a device that does not tell: its registers lie behind ours, and ours beyond what it knows. */
static enum drop_reason refuse(struct port *port, unsigned lane, const struct bw_credit_frame *message, enum drop_reason reason)
{
	struct ingress *ingress = &port->ingress[lane];

	if (++ingress->refused < REFUSALS_BEFORE_RESTART)
		return reason;
	ingress->refused = 0;
	bw_credit_on_restart(&ingress->credit, message->fctbs[lane], message->fccl[lane]);
	count(&port->count.credit_restarts, 1);
	return reason;
}

/* DROP_REASON_COUNT if the message is fine. Its lanes are taken one by one: one that is wrong does not spoil the others. */
static enum drop_reason take_credits(struct port *port, const struct bw_credit_frame *message, uint64_t now_ps)
{
	enum drop_reason fault = DROP_REASON_COUNT;

	if (port->flow_control != FLOW_CREDITS)
		return DROP_CREDIT_LANE;
	for (unsigned i = 0; i < PRIORITIES; i++) {
		struct bw_credit_lane *credit = &port->ingress[i].credit;
		struct lane *lane = &port->lanes[i];

		if (!(message->lanes >> i & 1))
			continue;
		if (!(port->config.lossless >> i & 1)) {
			fault = DROP_CREDIT_LANE;
			continue;
		}
		switch (bw_credit_on_message(credit, message->fctbs[i], message->fccl[i])) {
		case BW_CREDIT_VERDICT_PAST: fault = refuse(port, i, message, DROP_CREDIT_PAST); continue;
		case BW_CREDIT_VERDICT_FUTURE: fault = refuse(port, i, message, DROP_CREDIT_FUTURE); continue;
		case BW_CREDIT_VERDICT_RESYNC: count(&port->count.credit_resyncs, 1); break;
		case BW_CREDIT_VERDICT_FINE: break;
		}
		port->ingress[i].refused = 0;
		if ((port->closed >> i & 1) && lane->queue.head && bw_credit_fits(credit, rte_pktmbuf_pkt_len(lane->queue.head)))
			port_open_gate(port, i, now_ps);
	}
	return fault;
}

/* What a control frame that cannot be read was meant to be. */
static enum drop_reason unreadable(const struct rte_mbuf *mbuf)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint32_t at = 2 * RTE_ETHER_ADDR_LEN;

	if (frame_of((struct rte_mbuf *)(uintptr_t)mbuf)->ethertype == ETHERTYPE_CREDIT)
		return DROP_CREDIT;
	/* Behind the tags that it should not have; frame_read() has found its EtherType there. */
	while ((bytes[at] << 8 | bytes[at + 1]) != ETHERTYPE_MAC_CONTROL)
		at += 4;
	if (rte_pktmbuf_data_len(mbuf) < at + 4)
		return DROP_MAC_CONTROL;
	return (bytes[at + 2] << 8 | bytes[at + 3]) == PFC_OPCODE ? DROP_PFC : DROP_MAC_CONTROL;
}

/* Plain PAUSE is not for ports with PFC (IEEE Std 802.1Q, 36.1), a tagged control frame is none, and one to elsewhere not for this port. */
static enum drop_reason take(struct port *port, const struct rte_mbuf *mbuf, uint64_t now_ps)
{
	static const uint8_t ADDRESS[] = BW_PAUSE_ADDRESS;
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct bw_frame frame;

	if (memcmp(bytes, ADDRESS, sizeof(ADDRESS)) != 0 || !bw_frame_parse(bytes, rte_pktmbuf_data_len(mbuf), &frame, NULL, 0))
		return unreadable(mbuf);
	switch (frame.kind) {
	case BW_FRAME_KIND_PFC: obey(port, &frame.pfc, now_ps); return DROP_REASON_COUNT;
	case BW_FRAME_KIND_CREDIT: return take_credits(port, &frame.credit, now_ps);
	default: return unreadable(mbuf);
	}
}

void port_take_control(struct port *port, struct rte_mbuf *mbuf, uint64_t now_ps)
{
	enum drop_reason fault = take(port, mbuf, now_ps);

	if (fault != DROP_REASON_COUNT) {
		port_drop(port, mbuf, fault, now_ps);
		return;
	}
	if (frame_of(mbuf)->ethertype == ETHERTYPE_CREDIT)
		count(&port->count.credit_received, 1);
	count(&port->count.rx_control, 1);
	rte_pktmbuf_free(mbuf);
}

bool port_take_credit(struct port *port, unsigned priority, uint64_t now_ps)
{
	struct bw_credit_lane *credit = &port->ingress[priority].credit;
	uint32_t bytes = rte_pktmbuf_pkt_len(port->lanes[priority].queue.head);

	if (!(port->config.lossless >> priority & 1))
		return true;
	if (!bw_credit_fits(credit, bytes)) {
		close_gate(port, priority, now_ps);
		return false;
	}
	bw_credit_on_sent(credit, bytes);
	return true;
}

/* A storm of PAUSEs: what waits is dropped, or sent in spite of it. */
static void begin_storm(struct port *port, unsigned priority, uint64_t now_ps)
{
	port->storming |= (uint8_t)(1 << priority);
	count(&port->count.storms, 1);
	port_open_gate(port, priority, now_ps);
	if (port->config.watchdog_action == WATCHDOG_FORWARD)
		return;
	port_empty_lane(port, priority, DROP_WATCHDOG, now_ps);
}

static void gate_timers(struct port *port, uint64_t now_ps)
{
	for (uint8_t left = port->closed | port->storming; left; left &= (uint8_t)(left - 1)) {
		unsigned i = (unsigned)__builtin_ctz(left);
		struct bw_pfc_gate *gate = &port->lanes[i].gate;

		if (bw_pfc_gate_on_time(gate, now_ps) == BW_GATE_CHANGE_OPENED) {
			count(&port->count.pause_expired, 1);
			port_open_gate(port, i, gate->opens_at_ps);
		}
		switch (bw_pfc_watch(gate, &port->config.pfc, now_ps, port->backlog >> i & 1)) {
		case BW_STORM_CHANGE_BEGINS:
			begin_storm(port, i, now_ps);
			break;
		case BW_STORM_CHANGE_ENDS:
			port->storming &= (uint8_t)~(1 << i);
			count(&port->count.storms_over, 1);
			break;
		case BW_STORM_CHANGE_SAME: break;
		}
	}
}

/* PAUSEs that are still needed are sent again when half of their time is over. */
static void refresh(struct port *port, uint64_t now_ps)
{
	port->next_refresh_ps = UINT64_MAX;
	for (uint8_t left = port->holding; left; left &= (uint8_t)(left - 1)) {
		unsigned i = (unsigned)__builtin_ctz(left);
		struct bw_pfc_ingress *ingress = &port->ingress[i].pfc;

		if (bw_pfc_on_time(ingress, &port->config.pfc, now_ps) == BW_PFC_DECISION_PAUSE)
			port_pfc_is_due(port, i, now_ps);
		if (ingress->renew_at_ps < port->next_refresh_ps)
			port->next_refresh_ps = ingress->renew_at_ps;
	}
}

void port_timers(struct port *port, uint64_t now_ps)
{
	if (port->flow_control == FLOW_CREDITS) {
		if (now_ps < port->next_credits_ps)
			return;
		port->credits_due = true;
		port->control_ready_ps = port->next_credits_ps;
		/* After a stall of the machine: one message, not all that were missed. */
		uint64_t missed = (now_ps - port->next_credits_ps) / port->config.credits.period_ps;

		port->next_credits_ps += (missed + 1) * port->config.credits.period_ps;
		return;
	}
	if (unlikely(port->closed | port->storming))
		gate_timers(port, now_ps);
	if (unlikely(now_ps >= port->next_refresh_ps))
		refresh(port, now_ps);
}

static uint16_t write_pfc(struct port *port, uint8_t *bytes)
{
	struct bw_pfc_frame message = { .enabled = port->pfc_due };

	for (unsigned i = 0; i < PRIORITIES; i++) {
		const struct bw_pfc_ingress *ingress = &port->ingress[i].pfc;

		if (!(port->pfc_due >> i & 1))
			continue;
		if (!ingress->holding) {
			count(&port->count.resume_sent[i], 1);
			continue;
		}
		message.quanta[i] = port->config.pfc.pause_quanta;
		count(&port->count.pause_sent[i], 1);
		if (ingress->renew_at_ps < port->next_refresh_ps)
			port->next_refresh_ps = ingress->renew_at_ps;
	}
	port->pfc_due = 0;
	return (uint16_t)bw_pfc_frame_write(bytes, CONTROL_BYTES_MOST, port->config.mac, &message);
}

static uint16_t write_credits(struct port *port, uint8_t *bytes, uint64_t start_ps)
{
	const struct credits_config *config = &port->config.credits;
	struct bw_credit_frame message = { .lanes = port->config.lossless };
	/* What the other end can send until the next message, at line rate. */
	uint64_t period_units = (uint64_t)((unsigned __int128)port->config.nominal_bps * config->period_ps /
					   (8 * UINT64_C(1000000000000)) / CREDIT_UNIT_BYTES);

	for (unsigned i = 0; i < PRIORITIES; i++) {
		const struct bw_credit_lane *credit = &port->ingress[i].credit;

		if (!(message.lanes >> i & 1))
			continue;
		message.fctbs[i] = credit->sent;
		message.fccl[i] = bw_credit_granted(credit);
		set_holding(port, i, credit->buffer - credit->held < period_units, start_ps);
	}
	count(&port->count.credit_sent, 1);
	port->credits_due = false;
	return (uint16_t)bw_credit_frame_write(bytes, CONTROL_BYTES_MOST, port->config.mac, &message);
}

bool port_send_control(struct port *port, uint64_t now_ps)
{
	struct rte_mbuf *mbuf;
	uint64_t start_ps;

	if (!wire_can_start(&port->wire, now_ps, port->control_ready_ps, &start_ps))
		return false;
	mbuf = rte_pktmbuf_alloc(port->pool);
	if (!mbuf) {
		count(&port->count.control_retries, 1);
		return false;
	}
	frame_of(mbuf)->in = NULL;
	frame_of(mbuf)->shared = NULL;
	uint8_t *bytes = rte_pktmbuf_mtod(mbuf, uint8_t *);

	mbuf->data_len = port->pfc_due ? write_pfc(port, bytes) : write_credits(port, bytes, start_ps);
	mbuf->pkt_len = mbuf->data_len;
	count(&port->count.tx_control, 1);
	wire_send(&port->wire, mbuf, start_ps);
	return true;
}
