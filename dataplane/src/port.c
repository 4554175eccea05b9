/* See port.h. Here: frames in and out. What flow control does to a port is in port_control.c. */
#include "port.h"

#include <string.h>

#include "port_control.h"

void port_init(struct port *port, const struct port_config *config, struct holds *holds, struct rte_mempool *pool, uint64_t seed)
{
	memset(port, 0, sizeof(*port));
	port->config = *config;
	wire_init(&port->wire, config->rate_bps, config->delay_ps, config->overhead_bytes, &port->count.tx_retries);
	port->flow_control = config->flow_control;
	port->holds = holds;
	port->pool = pool;
	port->random = seed * UINT64_C(0x9E3779B97F4A7C15);
	port->next_refresh_ps = UINT64_MAX;
	port->next_credits_ps = config->flow_control == FLOW_CREDITS ? config->credits.phase_ps : UINT64_MAX;
	if (port->wire.rate_bps)
		port->config.nominal_bps = port->wire.rate_bps;
	if (!port->config.nominal_bps)
		port->config.nominal_bps = 10 * UINT64_C(1000000000);
	port->config.pfc.pause_ps = bw_pfc_quanta_ps(port->config.nominal_bps, config->pfc.pause_quanta);
	port_begin_credits(port, 0);
}

void port_drop(struct port *port, struct rte_mbuf *mbuf, enum drop_reason reason, uint64_t now_ps)
{
	count(&port->count.drops[reason], 1);
	port_release(mbuf, now_ps);
	rte_pktmbuf_free(mbuf);
}

void port_consume(struct port *port, struct rte_mbuf *mbuf, uint64_t now_ps)
{
	count(&port->count.consumed_frames, 1);
	port_release(mbuf, now_ps);
	rte_pktmbuf_free(mbuf);
}

/* What is wrong with the addresses of a frame, or DROP_REASON_COUNT. */
static enum drop_reason address_fault(const struct rte_mbuf *mbuf)
{
	const struct rte_ether_hdr *header = rte_pktmbuf_mtod(mbuf, const struct rte_ether_hdr *);
	const uint8_t *to = header->dst_addr.addr_bytes;

	if (rte_is_multicast_ether_addr(&header->src_addr))
		return DROP_SOURCE;
	/* IEEE Std 802.1Q, table 8-1. */
	if (to[0] == 0x01 && to[1] == 0x80 && to[2] == 0xC2 && to[3] == 0 && to[4] == 0 && to[5] <= 0x0F)
		return DROP_RESERVED;
	return DROP_REASON_COUNT;
}

/* True if the node is to have the frame. */
static bool admit(struct port *port, struct rte_mbuf *mbuf, uint64_t now_ps)
{
	struct frame *frame = frame_of(mbuf);
	enum drop_reason fault;

	count(&port->count.rx_frames, 1);
	count(&port->count.rx_bytes, rte_pktmbuf_pkt_len(mbuf));
	frame->in = NULL;
	frame->shared = NULL;
	frame->sharers = 0;
	frame->charged = 0;
	if (unlikely(!frame_read(mbuf, frame))) {
		port_drop(port, mbuf, DROP_RUNT, now_ps);
		return false;
	}
	if (unlikely(frame->ethertype == ETHERTYPE_MAC_CONTROL || frame->ethertype == ETHERTYPE_CREDIT)) {
		port_take_control(port, mbuf, now_ps);
		return false;
	}
	fault = address_fault(mbuf);
	if (unlikely(fault != DROP_REASON_COUNT)) {
		port_drop(port, mbuf, fault, now_ps);
		return false;
	}
	return port_charge(port, mbuf, now_ps);
}

unsigned port_receive(struct port *port, uint64_t now_ps, struct rte_mbuf **frames, unsigned most)
{
	unsigned found = wire_receive(&port->wire, now_ps, frames, most);
	unsigned kept = 0;

	for (unsigned i = 0; i < found; i++) {
		if (i + 1 < found)
			rte_prefetch0(rte_pktmbuf_mtod(frames[i + 1], void *));
		if (admit(port, frames[i], now_ps))
			frames[kept++] = frames[i];
	}
	return kept;
}

enum drop_reason port_refusal(const struct port *port, unsigned priority, uint32_t bytes)
{
	uint8_t bit = (uint8_t)(1 << priority);

	if (unlikely(port->wire.down))
		return DROP_LINK_DOWN;
	if (unlikely(bytes > port->wire.longest_bytes))
		return DROP_TOO_LONG;
	if (unlikely(port->storming & bit) && port->config.watchdog_action == WATCHDOG_DROP)
		return DROP_WATCHDOG;
	if (unlikely(!(port->config.lossless & bit) && port->config.lossy_queue_bytes &&
		     port->lanes[priority].bytes + bytes > port->config.lossy_queue_bytes))
		return DROP_QUEUE;
	return DROP_REASON_COUNT;
}

bool port_enqueue(struct port *port, struct rte_mbuf *mbuf, uint64_t now_ps)
{
	struct frame *frame = frame_of(mbuf);
	struct lane *lane = &port->lanes[frame->priority];
	uint8_t bit = (uint8_t)(1 << frame->priority);
	uint32_t bytes = rte_pktmbuf_pkt_len(mbuf);
	enum drop_reason refusal = port_refusal(port, frame->priority, bytes);

	if (unlikely(refusal != DROP_REASON_COUNT)) {
		port_drop(port, mbuf, refusal, now_ps);
		return false;
	}
	if (!lane->queue.head) {
		port->backlog |= bit;
		if (lane->ready_ps < now_ps)
			lane->ready_ps = now_ps;
	}
	fifo_push(&lane->queue, mbuf);
	lane->packets++;
	lane->bytes += bytes;
	count_most(&port->count.queue_most_bytes, lane->bytes);
	return true;
}

static void detect(struct port *port, struct lane *lane, unsigned priority, struct rte_mbuf *mbuf, uint64_t start_ps)
{
	struct frame *frame = frame_of(mbuf);
	const struct holds *holds = port->holds;
	struct bw_departure departure = {
		.now_ps = start_ps,
		.queue_bytes = lane->bytes,
		.last_hold_ps = holds->ports[priority] ? start_ps : holds->last_ps[priority],
		.size_bytes = rte_pktmbuf_pkt_len(mbuf),
		.code = frame_code_point(mbuf, frame),
	};
	uint8_t code = bw_detector_on_dequeue(port->config.detector, &lane->registers, &departure, &port->random, &lane->state);

	count(&port->count.departures_in_state[lane->state & 3], 1);
	if (code == departure.code)
		return;
	frame_set_code_point(mbuf, frame, code);
	count(code == 3 ? &port->count.marked_ce : &port->count.marked_ue, 1);
}

/* The first frame of a lane leaves at `start_ps`. */
static void depart(struct port *port, unsigned priority, uint64_t start_ps)
{
	struct lane *lane = &port->lanes[priority];
	struct rte_mbuf *mbuf = fifo_pop(&lane->queue);
	uint32_t bytes = rte_pktmbuf_pkt_len(mbuf);

	lane->bytes -= bytes;
	lane->packets--;
	if (!lane->queue.head)
		port->backlog &= (uint8_t)~(1 << priority);
	else
		rte_prefetch0(lane->queue.head);
	if (port->config.detector)
		detect(port, lane, priority, mbuf, start_ps);
	port_release(mbuf, start_ps);
	count(&port->count.tx_frames, 1);
	count(&port->count.tx_bytes, bytes);
	wire_send(&port->wire, mbuf, start_ps);
}

/* Strict priority, the default transmission selection of IEEE Std 802.1Q, 8.6.8.1. False if nothing can leave now. */
static bool transmit_one(struct port *port, uint64_t now_ps)
{
	uint8_t eligible = port->backlog & (uint8_t)~port->closed;
	uint64_t start_ps;

	while (eligible) {
		unsigned priority = 31 - (unsigned)__builtin_clz(eligible);
		struct lane *lane = &port->lanes[priority];

		if (!wire_can_start(&port->wire, now_ps, lane->ready_ps, &start_ps))
			return false;
		if (port->flow_control != FLOW_CREDITS || port_take_credit(port, priority, start_ps)) {
			depart(port, priority, start_ps);
			return true;
		}
		eligible &= (uint8_t)~(1 << priority);
	}
	return false;
}

unsigned port_transmit(struct port *port, uint64_t now_ps)
{
	unsigned moved = 0;

	/* Credit messages would pile up for a peer that knows nothing of them. */
	if (unlikely(port->wire.down))
		return 0;
	if (port->flow_control != FLOW_NONE)
		port_timers(port, now_ps);
	while (true) {
		if (unlikely(port->pfc_due || port->credits_due)) {
			if (!port_send_control(port, now_ps))
				break;
		} else if (!transmit_one(port, now_ps)) {
			break;
		}
		moved++;
	}
	wire_flush(&port->wire);
	return moved;
}

uint64_t port_queued_frames(const struct port *port)
{
	uint64_t frames = port->wire.batched;

	for (unsigned i = 0; i < PRIORITIES; i++)
		frames += port->lanes[i].packets;
	return frames;
}

uint64_t port_lost_at_device(const struct port *port)
{
	return counted(&port->count.device_missed) + counted(&port->count.device_rx_errors) + counted(&port->count.device_tx_errors);
}

void port_empty_lane(struct port *port, unsigned priority, enum drop_reason reason, uint64_t now_ps)
{
	struct lane *lane = &port->lanes[priority];
	struct rte_mbuf *mbuf;

	while ((mbuf = fifo_pop(&lane->queue)))
		port_drop(port, mbuf, reason, now_ps);
	lane->packets = 0;
	lane->bytes = 0;
	port->backlog &= (uint8_t)~(1 << priority);
}

/* What is on the wire: sent and not taken, or on its way here. */
static void drain_wire(struct port *port)
{
	unsigned unsent, undelivered;

	wire_drain(&port->wire, &unsent, &undelivered);
	count(&port->count.unsent_frames, unsent);
	count(&port->count.undelivered_frames, undelivered);
}

void port_link_down(struct port *port, uint64_t now_ps)
{
	count(&port->count.link_downs, 1);
	for (unsigned i = 0; i < PRIORITIES; i++) {
		port_empty_lane(port, i, DROP_LINK_DOWN, now_ps);
		if (port->closed >> i & 1)
			port_open_gate(port, i, now_ps);
		port->lanes[i].gate = (struct bw_pfc_gate){ 0 };
	}
	count(&port->count.storms_over, (unsigned)__builtin_popcount(port->storming));
	port->storming = 0;
	drain_wire(port);
	port_begin_credits(port, now_ps);
}

void port_link_up(struct port *port, uint64_t now_ps)
{
	if (port->flow_control == FLOW_CREDITS)
		port->next_credits_ps = now_ps;
	for (unsigned i = 0; port->flow_control == FLOW_PFC && i < PRIORITIES; i++)
		if (port->ingress[i].pfc.holding)
			port_pfc_is_due(port, i, now_ps);
}

void port_empty(struct port *port)
{
	for (unsigned i = 0; i < PRIORITIES; i++)
		port_empty_lane(port, i, DROP_SHUTDOWN, 0);
}

void port_drain(struct port *port)
{
	port_empty(port);
	drain_wire(port);
}
