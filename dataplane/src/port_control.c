/* See port_control.h. */
#include "port_control.h"

#include <rte_branch_prediction.h>

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

static void pfc_is_due(struct port *port, unsigned priority, uint64_t now_ps)
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
		uint32_t blocks = (uint32_t)credit_blocks(bytes);

		if (unlikely(!credit_arrive(&ingress->credit, blocks))) {
			port_drop(port, mbuf, DROP_HEADROOM, now_ps);
			return false;
		}
		frame->charged = blocks;
		count_most(&port->count.ingress_most_bytes, ingress->credit.held * CREDIT_BLOCK_BYTES);
	} else {
		if (unlikely(port->config.ingress_limit_bytes &&
			     ingress->pfc.bytes + bytes > port->config.ingress_limit_bytes)) {
			port_drop(port, mbuf, DROP_HEADROOM, now_ps);
			return false;
		}
		frame->charged = bytes;
		if (unlikely(pfc_arrive(&ingress->pfc, &port->config.pfc, bytes))) {
			set_holding(port, frame->priority, true, now_ps);
			pfc_is_due(port, frame->priority, now_ps);
		}
		count_most(&port->count.ingress_most_bytes, ingress->pfc.bytes);
	}
	frame->in = port;
	return true;
}

void port_release(struct rte_mbuf *mbuf, uint64_t now_ps)
{
	struct frame *frame = frame_of(mbuf);
	struct port *port = frame->in;

	if (!port)
		return;
	frame->in = NULL;
	struct ingress *ingress = &port->ingress[frame->priority];

	if (port->flow_control == FLOW_CREDITS) {
		ingress->credit.held -= frame->charged;
	} else if (unlikely(pfc_depart(&ingress->pfc, &port->config.pfc, frame->charged))) {
		set_holding(port, frame->priority, false, now_ps);
		pfc_is_due(port, frame->priority, now_ps);
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

static void obey(struct port *port, const struct pfc_message *message, uint64_t now_ps)
{
	for (unsigned i = 0; i < PRIORITIES; i++) {
		struct pfc_gate *gate = &port->lanes[i].gate;

		if (!(message->vector >> i & 1))
			continue;
		if (port->flow_control != FLOW_PFC || !(port->config.lossless >> i & 1)) {
			count(&port->count.pause_unknown_priority, 1);
			continue;
		}
		count(message->quanta[i] ? &port->count.pause_received[i] : &port->count.resume_received[i], 1);
		if (gate->storm && message->quanta[i])
			count(&port->count.pauses_ignored, 1);
		switch (pfc_gate_pause(gate, now_ps, message->quanta[i] * port->quantum_ps)) {
		case GATE_CLOSED: close_gate(port, i, now_ps); break;
		case GATE_OPENED: port_open_gate(port, i, now_ps); break;
		case GATE_SAME: break;
		}
	}
}

/* DROP_REASON_COUNT if the message is fine. Its lanes are taken one by one: one that is wrong does not spoil the others. */
static enum drop_reason take_credits(struct port *port, const struct credit_message *message, uint64_t now_ps)
{
	enum drop_reason fault = DROP_REASON_COUNT;

	if (port->flow_control != FLOW_CREDITS)
		return DROP_CREDIT_LANE;
	for (unsigned i = 0; i < PRIORITIES; i++) {
		struct lane *lane = &port->lanes[i];

		if (!(message->lanes >> i & 1))
			continue;
		if (!(port->config.lossless >> i & 1)) {
			fault = DROP_CREDIT_LANE;
			continue;
		}
		switch (credit_update(&lane->credit, &port->ingress[i].credit, message->fctbs[i], message->fccl[i])) {
		case CREDIT_PAST: fault = DROP_CREDIT_PAST; continue;
		case CREDIT_FUTURE: fault = DROP_CREDIT_FUTURE; continue;
		case CREDIT_RESYNC: count(&port->count.credit_resyncs, 1); break;
		case CREDIT_FINE: break;
		}
		if ((port->closed >> i & 1) && lane->queue.head &&
		    credit_fits(&lane->credit, credit_blocks(rte_pktmbuf_pkt_len(lane->queue.head))))
			port_open_gate(port, i, now_ps);
	}
	return fault;
}

void port_take_control(struct port *port, struct rte_mbuf *mbuf, uint64_t now_ps)
{
	enum drop_reason fault = DROP_REASON_COUNT;
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);

	if (frame_of(mbuf)->ethertype == ETHERTYPE_CREDIT) {
		struct credit_message message;

		if (!credit_read(mbuf, &message))
			fault = DROP_CREDIT;
		else
			fault = take_credits(port, &message, now_ps);
		if (fault == DROP_REASON_COUNT)
			count(&port->count.credit_received, 1);
	} else {
		struct pfc_message message;

		/* A tagged one is none: MAC control frames have no tags. Plain PAUSE is not for ports with PFC (802.1Q, 36.1). */
		if (bytes[12] != 0x88 || rte_pktmbuf_data_len(mbuf) < 16 || (bytes[14] << 8 | bytes[15]) != PFC_OPCODE)
			fault = DROP_MAC_CONTROL;
		else if (!pfc_read(mbuf, &message))
			fault = DROP_PFC;
		else
			obey(port, &message, now_ps);
	}
	if (fault != DROP_REASON_COUNT) {
		port_drop(port, mbuf, fault, now_ps);
		return;
	}
	count(&port->count.rx_control, 1);
	rte_pktmbuf_free(mbuf);
}

bool port_take_credit(struct port *port, unsigned priority, uint64_t now_ps)
{
	struct lane *lane = &port->lanes[priority];
	uint64_t blocks = credit_blocks(rte_pktmbuf_pkt_len(lane->queue.head));

	if (!(port->config.lossless >> priority & 1))
		return true;
	if (!credit_fits(&lane->credit, blocks)) {
		close_gate(port, priority, now_ps);
		return false;
	}
	lane->credit.sent += blocks;
	return true;
}

/* A storm of PAUSEs: what waits is dropped, or sent in spite of it. */
static void begin_storm(struct port *port, unsigned priority, uint64_t now_ps)
{
	struct lane *lane = &port->lanes[priority];
	struct rte_mbuf *mbuf;

	port->storming |= (uint8_t)(1 << priority);
	count(&port->count.storms, 1);
	port_open_gate(port, priority, now_ps);
	if (port->config.pfc.watchdog_action == WATCHDOG_FORWARD)
		return;
	while ((mbuf = fifo_pop(&lane->queue)))
		port_drop(port, mbuf, DROP_WATCHDOG, now_ps);
	lane->packets = 0;
	lane->bytes = 0;
	port->backlog &= (uint8_t)~(1 << priority);
}

static void gate_timers(struct port *port, uint64_t now_ps)
{
	for (uint8_t left = port->closed | port->storming; left; left &= (uint8_t)(left - 1)) {
		unsigned i = (unsigned)__builtin_ctz(left);
		struct pfc_gate *gate = &port->lanes[i].gate;

		if (pfc_gate_expire(gate, now_ps) == GATE_OPENED) {
			count(&port->count.pause_expired, 1);
			port_open_gate(port, i, gate->opens_at_ps);
		}
		switch (pfc_watchdog(gate, &port->config.pfc, now_ps, port->backlog >> i & 1)) {
		case STORM_BEGINS:
			begin_storm(port, i, now_ps);
			break;
		case STORM_ENDS:
			port->storming &= (uint8_t)~(1 << i);
			count(&port->count.storms_over, 1);
			break;
		case STORM_SAME: break;
		}
	}
}

/* PAUSEs that are still needed are sent again when half of their time is over. */
static void refresh(struct port *port, uint64_t now_ps)
{
	port->next_refresh_ps = UINT64_MAX;
	for (uint8_t left = port->holding; left; left &= (uint8_t)(left - 1)) {
		unsigned i = (unsigned)__builtin_ctz(left);
		struct pfc_ingress *ingress = &port->ingress[i].pfc;

		if (now_ps >= ingress->refresh_at_ps)
			pfc_is_due(port, i, now_ps);
		else if (ingress->refresh_at_ps < port->next_refresh_ps)
			port->next_refresh_ps = ingress->refresh_at_ps;
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

static void write_pfc(struct port *port, struct rte_mbuf *mbuf, uint64_t start_ps)
{
	struct pfc_message message = { .vector = port->pfc_due };
	uint64_t half_ps = port->config.pfc.quanta * port->quantum_ps / 2;

	for (unsigned i = 0; i < PRIORITIES; i++) {
		struct pfc_ingress *ingress = &port->ingress[i].pfc;

		if (!(port->pfc_due >> i & 1))
			continue;
		if (!ingress->holding) {
			count(&port->count.resume_sent[i], 1);
			continue;
		}
		message.quanta[i] = port->config.pfc.quanta;
		count(&port->count.pause_sent[i], 1);
		ingress->refresh_at_ps = start_ps + half_ps;
		if (ingress->refresh_at_ps < port->next_refresh_ps)
			port->next_refresh_ps = ingress->refresh_at_ps;
	}
	port->pfc_due = 0;
	pfc_write(mbuf, port->config.mac, &message);
}

static void write_credits(struct port *port, struct rte_mbuf *mbuf, uint64_t start_ps)
{
	const struct credits_config *config = &port->config.credits;
	struct credit_message message = { .lanes = port->config.lossless };
	/* What the other end can send until the next message, at line rate. */
	uint64_t period_blocks = (uint64_t)((unsigned __int128)port->config.nominal_bps * config->period_ps /
					    (8 * UINT64_C(1000000000000)) / CREDIT_BLOCK_BYTES);

	for (unsigned i = 0; i < PRIORITIES; i++) {
		struct credit_receiver *receiver = &port->ingress[i].credit;

		if (!(message.lanes >> i & 1))
			continue;
		message.fctbs[i] = port->lanes[i].credit.sent;
		message.fccl[i] = credit_limit(receiver);
		set_holding(port, i, receiver->buffer - receiver->held < period_blocks, start_ps);
	}
	count(&port->count.credit_sent, 1);
	port->credits_due = false;
	credit_write(mbuf, port->config.mac, &message);
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
	if (port->pfc_due)
		write_pfc(port, mbuf, start_ps);
	else
		write_credits(port, mbuf, start_ps);
	count(&port->count.tx_control, 1);
	wire_send(&port->wire, mbuf, start_ps);
	return true;
}
