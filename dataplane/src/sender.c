/* See sender.h. */
#include "sender.h"

#include <stdlib.h>
#include <string.h>

#include "pacing.h"

/* Packets of a flow that sends what the link allows, or that makes up for what it missed, in the queue of the NIC. */
#define BACKLOG_PACKETS 4

struct flow {
	struct flow_config config;
	struct pacing pacing;
	uint8_t *template;
	uint32_t frame_bytes;
	/* The next packet's number, without end (24 bits of it go into the frame). */
	uint64_t number;
	/* The last packet of the flow was the one with this number among all that entered the queue of its priority. */
	uint64_t last_entry;
	bool held;
	uint64_t held_packets, no_mbuf, cnps, first_ps, last_ps;
};

struct sender {
	struct node node;
	struct port port;
	struct holds holds;
	struct rte_mempool *pool;
	struct flow *flows;
	unsigned flow_count;
	/* Packets that ever entered the queue of each priority. */
	uint64_t entered[PRIORITIES];
	uint64_t foreign;
};

static bool has_ended(const struct flow *flow)
{
	return flow->pacing.due_ps >= flow->config.stop_ps ||
	       (flow->config.size_bytes && flow->number * flow->config.payload_bytes >= flow->config.size_bytes);
}

/* Packets of the flow that still wait in the queue, at least. */
static uint64_t waiting(const struct sender *sender, const struct flow *flow)
{
	unsigned priority = flow->config.path.priority;
	uint64_t left = sender->entered[priority] - sender->port.lanes[priority].packets;

	return flow->last_entry > left ? flow->last_entry - left : 0;
}

static bool emit(struct sender *sender, struct flow *flow, uint64_t at_ps)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(sender->pool);
	unsigned priority = flow->config.path.priority;

	if (unlikely(!mbuf)) {
		flow->no_mbuf++;
		return false;
	}
	uint8_t *bytes = (uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)flow->frame_bytes);

	memcpy(bytes, flow->template, flow->frame_bytes);
	roce_number(bytes, flow->frame_bytes, (uint32_t)flow->number & ROCE_PSN_MASK);
	*frame_of(mbuf) = (struct frame){ .ip_offset = RTE_ETHER_HDR_LEN, .ethertype = RTE_ETHER_TYPE_IPV4, .priority = (uint8_t)priority };
	if (!flow->number)
		flow->first_ps = at_ps;
	flow->last_ps = at_ps;
	flow->number++;
	count(&sender->port.count.made_frames, 1);
	if (port_enqueue(&sender->port, mbuf, at_ps))
		flow->last_entry = ++sender->entered[priority];
	return true;
}

/* A flow without a rate keeps a few packets in the queue, and makes none that the port would not take. */
static unsigned top_up(struct sender *sender, struct flow *flow, uint64_t now_ps)
{
	unsigned sent = 0, priority = flow->config.path.priority;

	if (now_ps < flow->config.start_ps)
		return 0;
	while (!has_ended(flow) && waiting(sender, flow) < BACKLOG_PACKETS &&
	       port_refusal(&sender->port, priority, flow->frame_bytes) == DROP_REASON_COUNT) {
		if (!emit(sender, flow, flow->number ? now_ps : flow->config.start_ps))
			break;
		sent++;
		port_transmit(&sender->port, now_ps);
	}
	flow->pacing.due_ps = now_ps;
	return sent;
}

/* The packet that is due leaves now, unless the flow is held up. False if nothing more can be done for it now. */
static bool serve(struct sender *sender, struct flow *flow, uint64_t now_ps)
{
	uint64_t most = flow->config.catch_up ? BACKLOG_PACKETS : 1;

	if (waiting(sender, flow) >= most) {
		flow->held_packets += !flow->held;
		flow->held = true;
		return false;
	}
	if (flow->held && !flow->config.catch_up) {
		flow->held = false;
		pacing_resume(&flow->pacing, now_ps);
		return true;
	}
	flow->held = false;
	if (!emit(sender, flow, flow->pacing.due_ps))
		return false;
	pacing_next(&flow->pacing);
	port_transmit(&sender->port, now_ps);
	return true;
}

/* The paced flow whose packet is due first, of those in `open`. */
static struct flow *first_due(struct sender *sender, uint64_t open, uint64_t now_ps)
{
	struct flow *first = NULL;

	for (unsigned i = 0; i < sender->flow_count; i++) {
		struct flow *flow = &sender->flows[i];

		if (!(open >> i & 1) || !flow->config.rate_bps || flow->pacing.due_ps > now_ps || has_ended(flow))
			continue;
		if (!first || flow->pacing.due_ps < first->pacing.due_ps)
			first = flow;
	}
	return first;
}

static void take_in(struct sender *sender, struct rte_mbuf *mbuf, uint64_t now_ps)
{
	struct roce_view view;
	struct flow *found = NULL;

	if (roce_read(mbuf, frame_of(mbuf), &view) && view.intact && view.opcode == ROCE_CNP) {
		for (unsigned i = 0; i < sender->flow_count && !found; i++)
			if (sender->flows[i].config.path.queue_pair == view.queue_pair)
				found = &sender->flows[i];
	}
	if (found)
		found->cnps++;
	else
		sender->foreign++;
	port_consume(&sender->port, mbuf, now_ps);
}

static unsigned poll_sender(struct node *node, uint64_t now_ps)
{
	struct sender *sender = (struct sender *)node;
	struct rte_mbuf *frames[WIRE_BURST];
	unsigned moved = port_receive(&sender->port, now_ps, frames, WIRE_BURST);
	uint64_t open = UINT64_MAX;
	struct flow *flow;

	for (unsigned i = 0; i < moved; i++)
		take_in(sender, frames[i], now_ps);
	moved += port_transmit(&sender->port, now_ps);
	while ((flow = first_due(sender, open, now_ps))) {
		if (serve(sender, flow, now_ps))
			moved++;
		else
			open &= ~(UINT64_C(1) << (flow - sender->flows));
	}
	for (unsigned i = 0; i < sender->flow_count; i++)
		if (!sender->flows[i].config.rate_bps)
			moved += top_up(sender, &sender->flows[i], now_ps);
	return moved;
}

static void tell(const struct node *node, struct teller *teller)
{
	const struct sender *sender = (const struct sender *)node;

	tell_counter(teller, "foreign_frames", "Frames that belong to no flow of the host.", sender->foreign);
	teller->begin(teller, "sent");
	for (unsigned i = 0; i < sender->flow_count; i++) {
		const struct flow *flow = &sender->flows[i];

		teller->flow(teller, flow->config.name);
		tell_counter(teller, "packets", "Packets of the flow.", flow->number);
		tell_counter(teller, "payload_bytes", "Payload of the flow.", flow->number * flow->config.payload_bytes);
		tell_gauge(teller, "first_ps", "When the first packet was due.", (int64_t)flow->first_ps);
		tell_gauge(teller, "last_ps", "When the last packet was due.", (int64_t)flow->last_ps);
		tell_counter(teller, "held_packets", "Packets that were due while the one before still waited.", flow->held_packets);
		tell_counter(teller, "no_mbuf", "Times there was no packet buffer for a packet; it is made later.", flow->no_mbuf);
		tell_counter(teller, "cnps", "Congestion notifications that came back.", flow->cnps);
	}
	teller->end(teller);
}

static void close_sender(struct node *node)
{
	struct sender *sender = (struct sender *)node;

	for (unsigned i = 0; i < sender->flow_count; i++)
		free(sender->flows[i].template);
	free(sender->flows);
	free(sender);
}

static bool flow_init(struct flow *flow, const struct flow_config *config, uint32_t overhead_bytes, uint64_t seed)
{
	flow->config = *config;
	flow->frame_bytes = roce_frame_bytes(config->payload_bytes);
	flow->template = malloc(flow->frame_bytes);
	if (!flow->template)
		return false;
	roce_template(flow->template, &config->path, ROCE_SEND_ONLY, config->payload_bytes);
	if (config->rate_bps)
		pacing_init(&flow->pacing, config->rate_bps, flow->frame_bytes + overhead_bytes, config->start_ps, config->jitter_ppm, seed);
	return true;
}

struct node *sender_make(const struct sender_config *config, struct rte_mempool *pool)
{
	static const struct node_ops OPS = { .poll = poll_sender, .tell = tell, .close = close_sender };
	struct sender *sender = calloc(1, sizeof(*sender));

	if (!sender || config->flow_count > SENDER_FLOWS_MOST)
		goto failed;
	roce_init();
	sender->node = (struct node){ .name = config->name, .kind = "sender", .ops = &OPS, .ports = &sender->port, .port_count = 1 };
	sender->pool = pool;
	sender->flows = calloc(config->flow_count ? config->flow_count : 1, sizeof(struct flow));
	if (!sender->flows)
		goto failed;
	for (unsigned i = 0; i < config->flow_count; i++) {
		sender->flow_count = i + 1;
		if (!flow_init(&sender->flows[i], &config->flows[i], config->port.overhead_bytes, config->seed + i)) {
			close_sender(&sender->node);
			return NULL;
		}
	}
	port_init(&sender->port, &config->port, &sender->holds, pool, config->seed);
	return &sender->node;
failed:
	free(sender);
	return NULL;
}
