/* See switch.h. */
#include "switch.h"

#include <stdlib.h>

/* A copy for one more port; false if there is no buffer for it. Not a reference: ports mark their frames, each its own. */
static bool send_copy(struct bridge *bridge, struct port *out, struct rte_mbuf *mbuf, uint64_t now_ps)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(mbuf, bridge->pool, 0, UINT32_MAX);
	struct frame *frame = frame_of(mbuf);

	if (!copy) {
		count(&out->count.drops[DROP_NO_MBUF], 1);
		return false;
	}
	*frame_of(copy) = *frame;
	frame_of(copy)->in = NULL;
	frame_of(copy)->sharers = 0;
	if (frame->in) {
		frame_of(copy)->shared = mbuf;
		frame->sharers++;
	}
	port_enqueue(out, copy, now_ps);
	return true;
}

/* The next port from `i` on that a frame from `in` is flooded to; port_count if there is none. */
static unsigned next_alive(const struct bridge *bridge, unsigned i, const struct port *in)
{
	while (i < bridge->node.port_count && (&bridge->node.ports[i] == in || bridge->node.ports[i].wire.down))
		i++;
	return i;
}

/* Nobody to flood to: the links that are down are to blame, if there are any. */
static void drop_flood(struct bridge *bridge, struct port *in, struct rte_mbuf *mbuf, uint64_t now_ps)
{
	for (unsigned i = 0; i < bridge->node.port_count; i++)
		if (&bridge->node.ports[i] != in) {
			port_enqueue(&bridge->node.ports[i], mbuf, now_ps);
			return;
		}
	port_drop(in, mbuf, DROP_UNKNOWN_PORT, now_ps);
}

/* To all ports but the one where it came in. A frame of a lossless priority occupies its ingress buffer once, until the last of its
 * copies has left: it stays behind for that, and only copies are sent. Else the last port gets the frame itself. */
static void flood(struct bridge *bridge, struct port *in, struct rte_mbuf *mbuf, uint64_t now_ps)
{
	unsigned count_of_ports = bridge->node.port_count, i = next_alive(bridge, 0, in), next;
	bool copied = false;

	if (i == count_of_ports) {
		drop_flood(bridge, in, mbuf, now_ps);
		return;
	}
	/* Ours, as long as copies are made. */
	frame_of(mbuf)->sharers = 1;
	for (; (next = next_alive(bridge, i + 1, in)) < count_of_ports; i = next) {
		count(&in->count.flood_copies, 1);
		copied |= send_copy(bridge, &bridge->node.ports[i], mbuf, now_ps);
	}
	if (copied && frame_of(mbuf)->in) {
		send_copy(bridge, &bridge->node.ports[i], mbuf, now_ps);
		port_leave_shared(mbuf, now_ps);
		return;
	}
	frame_of(mbuf)->sharers = 0;
	port_enqueue(&bridge->node.ports[i], mbuf, now_ps);
}

static void forward(struct bridge *bridge, struct port *in, struct rte_mbuf *mbuf, uint64_t now_ps)
{
	const struct rte_ether_hdr *header = rte_pktmbuf_mtod(mbuf, const struct rte_ether_hdr *);
	uint16_t to;

	if (bridge->learning)
		l2_learn(&bridge->table, l2_address(header->src_addr.addr_bytes), (uint16_t)in->index, now_ps);
	to = l2_find(&bridge->table, l2_address(header->dst_addr.addr_bytes), now_ps);
	if (likely(to != L2_NOWHERE)) {
		struct port *out = &bridge->node.ports[to];

		if (unlikely(out == in))
			port_drop(in, mbuf, DROP_SAME_PORT, now_ps);
		else
			port_enqueue(out, mbuf, now_ps);
	} else if (bridge->learning) {
		flood(bridge, in, mbuf, now_ps);
	} else {
		port_drop(in, mbuf, DROP_UNKNOWN_PORT, now_ps);
	}
}

static unsigned poll_switch(struct node *node, uint64_t now_ps)
{
	struct bridge *bridge = (struct bridge *)node;
	struct rte_mbuf *frames[WIRE_BURST];
	unsigned moved = 0;

	bridge->now_ps = now_ps;
	for (unsigned i = 0; i < node->port_count; i++) {
		struct port *port = &node->ports[i];
		unsigned n = port_receive(port, now_ps, frames, WIRE_BURST);

		for (unsigned j = 0; j < n; j++)
			forward(bridge, port, frames[j], now_ps);
		moved += n;
	}
	for (unsigned i = 0; i < node->port_count; i++)
		moved += port_transmit(&node->ports[i], now_ps);
	return moved;
}

static void tell(const struct node *node, struct teller *teller)
{
	const struct bridge *bridge = (const struct bridge *)node;

	tell_gauge(teller, "addresses", "Addresses that the switch knows.", l2_size(&bridge->table, bridge->now_ps));
	tell_counter(teller, "address_moves", "Addresses that moved from one port to another.", bridge->table.moves);
	tell_counter(teller, "address_evictions", "Addresses that made room for others.", bridge->table.evictions);
}

static void close_switch(struct node *node)
{
	free(node->ports);
	free(node);
}

struct bridge *switch_make(const struct switch_config *config, struct rte_mempool *pool, uint64_t seed)
{
	static const struct node_ops OPS = { .poll = poll_switch, .tell = tell, .close = close_switch };
	struct bridge *bridge = calloc(1, sizeof(*bridge));

	if (!bridge)
		return NULL;
	bridge->node = (struct node){ .name = config->name, .kind = "switch", .ops = &OPS, .port_count = config->port_count };
	bridge->node.ports = calloc(config->port_count, sizeof(struct port));
	if (!bridge->node.ports) {
		free(bridge);
		return NULL;
	}
	bridge->pool = pool;
	bridge->learning = config->learning;
	bridge->table.ageing_ps = config->ageing_ps ? config->ageing_ps : L2_AGEING_PS;
	for (unsigned i = 0; i < config->port_count; i++) {
		port_init(&bridge->node.ports[i], &config->ports[i], &bridge->holds, pool, seed + i);
		bridge->node.ports[i].index = i;
	}
	return bridge;
}
