/* See receiver.h. */
#include "receiver.h"

#include <stdlib.h>
#include <string.h>


#define CODES 4
#define CODE_CE 3

/* Packets of a flow in one window, by code point. */
struct window {
	uint64_t packets[CODES];
};

struct flow {
	struct expected_flow expected;
	struct window *windows;
	uint64_t packets, payload_bytes, damaged;
	/* Numbers that were left out, and packets whose number had been passed. */
	uint64_t missing, late;
	uint32_t next_psn;
	uint64_t cnps, next_cnp_ps, first_ps, last_ps;
};

struct receiver {
	struct node node;
	struct port port;
	struct holds holds;
	struct rte_mempool *pool;
	uint32_t ip;
	uint64_t window_ps;
	unsigned window_count;
	uint64_t cnp_interval_ps;
	uint8_t cnp_priority;
	struct flow *flows;
	unsigned flow_count;
	uint64_t foreign, no_mbuf;
};

static struct flow *find(struct receiver *receiver, const struct roce_view *view)
{
	for (unsigned i = 0; i < receiver->flow_count; i++) {
		const struct expected_flow *expected = &receiver->flows[i].expected;

		if (expected->queue_pair == view->queue_pair && expected->from_ip == view->from_ip)
			return &receiver->flows[i];
	}
	return NULL;
}

static void answer(struct receiver *receiver, struct flow *flow, const struct rte_mbuf *mbuf, const struct roce_view *view, uint64_t now_ps)
{
	const struct rte_ether_hdr *header = rte_pktmbuf_mtod(mbuf, const struct rte_ether_hdr *);
	struct rte_mbuf *reply = rte_pktmbuf_alloc(receiver->pool);
	struct roce_path back = {
		.from_ip = receiver->ip,
		.to_ip = view->from_ip,
		.udp_source = view->udp_source,
		.queue_pair = view->queue_pair,
		.priority = receiver->cnp_priority,
	};

	if (unlikely(!reply)) {
		receiver->no_mbuf++;
		return;
	}
	memcpy(back.from_mac, receiver->port.config.mac, sizeof(back.from_mac));
	memcpy(back.to_mac, header->src_addr.addr_bytes, sizeof(back.to_mac));
	roce_write_cnp((uint8_t *)rte_pktmbuf_append(reply, (uint16_t)roce_frame_bytes(ROCE_CNP_PAYLOAD_BYTES)), &back);
	*frame_of(reply) =
		(struct frame){ .ip_offset = RTE_ETHER_HDR_LEN, .ethertype = RTE_ETHER_TYPE_IPV4, .priority = receiver->cnp_priority };
	flow->next_cnp_ps = now_ps + receiver->cnp_interval_ps;
	count(&receiver->port.count.made_frames, 1);
	flow->cnps += port_enqueue(&receiver->port, reply, now_ps);
}

/* Numbers go up by one, modulo 2^24: less than half of that ahead is a gap, the rest lies behind. */
static void check_number(struct flow *flow, uint32_t psn)
{
	uint32_t ahead = (psn - flow->next_psn) & ROCE_PSN_MASK;

	if (ahead > ROCE_PSN_MASK / 2) {
		flow->late++;
		return;
	}
	flow->missing += ahead;
	flow->next_psn = (psn + 1) & ROCE_PSN_MASK;
}

static void take_in(struct receiver *receiver, const struct rte_mbuf *mbuf, struct flow *flow, const struct roce_view *view, uint64_t at_ps)
{
	uint64_t window = at_ps / receiver->window_ps;

	if (!view->intact) {
		flow->damaged++;
		return;
	}
	if (window >= receiver->window_count)
		window = receiver->window_count - 1;
	check_number(flow, view->psn);
	if (!flow->packets)
		flow->first_ps = at_ps;
	flow->last_ps = at_ps;
	flow->packets++;
	flow->payload_bytes += view->payload_bytes;
	flow->windows[window].packets[view->code]++;
	if (view->code == CODE_CE && receiver->cnp_interval_ps && at_ps >= flow->next_cnp_ps)
		answer(receiver, flow, mbuf, view, at_ps);
}

static unsigned poll_receiver(struct node *node, uint64_t now_ps)
{
	struct receiver *receiver = (struct receiver *)node;
	struct rte_mbuf *frames[WIRE_BURST];
	unsigned moved = port_receive(&receiver->port, now_ps, frames, WIRE_BURST);

	for (unsigned i = 0; i < moved; i++) {
		struct roce_view view;
		struct flow *flow = NULL;

		if (roce_read(frames[i], frame_of(frames[i]), &view) && view.opcode == ROCE_SEND_ONLY)
			flow = find(receiver, &view);
		if (flow)
			take_in(receiver, frames[i], flow, &view, frame_of(frames[i])->due_ps);
		else
			receiver->foreign++;
		port_consume(&receiver->port, frames[i], now_ps);
	}
	return moved + port_transmit(&receiver->port, now_ps);
}

static void tell_flow(const struct receiver *receiver, const struct flow *flow, struct teller *teller)
{
	static const struct {
		const char *name, *help;
	} CODE[CODES] = {
		{ "not_capable_packets", "Packets that arrived with the ECN bits 00." },
		{ "capable_packets", "Packets that arrived with the ECN bits 01." },
		{ "ue_packets", "Packets that arrived with the ECN bits 10 (UE)." },
		{ "ce_packets", "Packets that arrived with the ECN bits 11 (CE)." },
	};

	teller->flow(teller, flow->expected.name);
	tell_counter(teller, "packets", "Packets of the flow that arrived.", flow->packets);
	tell_counter(teller, "payload_bytes", "Payload of the flow that arrived.", flow->payload_bytes);
	tell_gauge(teller, "first_ps", "When the first packet arrived.", (int64_t)flow->first_ps);
	tell_gauge(teller, "last_ps", "When the last packet arrived.", (int64_t)flow->last_ps);
	tell_counter(teller, "missing", "Packet numbers that were left out.", flow->missing);
	tell_counter(teller, "late", "Packets behind a later one.", flow->late);
	tell_counter(teller, "damaged", "Packets with a wrong ICRC.", flow->damaged);
	tell_counter(teller, "cnps", "Congestion notifications for the flow.", flow->cnps);
	for (unsigned code = 0; code < CODES; code++)
		teller->list(teller, CODE[code].name, CODE[code].help, &flow->windows[0].packets[code], receiver->window_count, CODES);
}

static void tell(const struct node *node, struct teller *teller)
{
	const struct receiver *receiver = (const struct receiver *)node;

	tell_counter(teller, "foreign_frames", "Frames that belong to no flow of the host.", receiver->foreign);
	tell_counter(teller, "no_mbuf", "Congestion notifications for which there was no packet buffer.", receiver->no_mbuf);
	tell_gauge(teller, "window_ps", "Length of a window.", (int64_t)receiver->window_ps);
	teller->begin(teller, "received");
	for (unsigned i = 0; i < receiver->flow_count; i++)
		tell_flow(receiver, &receiver->flows[i], teller);
	teller->end(teller);
}

static void close_receiver(struct node *node)
{
	struct receiver *receiver = (struct receiver *)node;

	for (unsigned i = 0; i < receiver->flow_count; i++)
		free(receiver->flows[i].windows);
	free(receiver->flows);
	free(receiver);
}

static bool flows_init(struct receiver *receiver, const struct receiver_config *config)
{
	receiver->flows = calloc(config->flow_count ? config->flow_count : 1, sizeof(struct flow));
	if (!receiver->flows)
		return false;
	receiver->flow_count = config->flow_count;
	for (unsigned i = 0; i < config->flow_count; i++) {
		receiver->flows[i].expected = config->flows[i];
		receiver->flows[i].windows = calloc(config->window_count, sizeof(struct window));
		if (!receiver->flows[i].windows)
			return false;
	}
	return true;
}

struct node *receiver_make(const struct receiver_config *config, struct rte_mempool *pool)
{
	static const struct node_ops OPS = { .poll = poll_receiver, .tell = tell, .close = close_receiver };
	struct receiver *receiver = calloc(1, sizeof(*receiver));

	if (!receiver)
		return NULL;
	roce_init();
	receiver->node = (struct node){ .name = config->name, .kind = "receiver", .ops = &OPS, .ports = &receiver->port, .port_count = 1 };
	receiver->pool = pool;
	receiver->ip = config->ip;
	receiver->window_ps = config->window_ps;
	receiver->window_count = config->window_count;
	receiver->cnp_interval_ps = config->cnp_interval_ps;
	receiver->cnp_priority = config->cnp_priority;
	if (!flows_init(receiver, config)) {
		close_receiver(&receiver->node);
		return NULL;
	}
	port_init(&receiver->port, &config->port, &receiver->holds, pool, 1);
	return &receiver->node;
}
