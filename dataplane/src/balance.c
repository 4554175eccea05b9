/* See balance.h. */
#include "balance.h"

#include <stdlib.h>

int64_t node_balance(const struct node *node)
{
	uint64_t came = 0, went = 0;

	for (unsigned i = 0; i < node->port_count; i++) {
		const struct port *port = &node->ports[i];
		const struct port_counters *c = &port->count;

		came += c->rx_frames + c->flood_copies + c->made_frames;
		went += c->rx_control + c->tx_frames + c->consumed_frames;
		for (unsigned j = 0; j < DROP_REASON_COUNT; j++)
			went += c->drops[j];
		/* A frame in the batch of a device is counted as sent. */
		went += port_queued_frames(port) - port->wire.batched;
	}
	return (int64_t)(came - went);
}

/* Frames that left one end of a link and did not come to the other. */
static int64_t lost_on_the_way(const struct port *from, const struct port *to)
{
	return (int64_t)(from->count.tx_frames + from->count.tx_control - from->count.unsent_frames - to->count.rx_frames -
			 to->count.undelivered_frames);
}

void bed_balance(struct bed *bed, bool at_end)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < bed->graph.node_count; i++) {
		struct node *node = bed->graph.nodes[i];
		int64_t balance = node_balance(node);

		__atomic_store_n(&node->unaccounted_frames, balance, __ATOMIC_RELAXED);
		sum += llabs(balance);
	}
	for (unsigned i = 0; at_end && i < bed->link_count; i++) {
		struct port *const *link = bed->links[i];

		sum += llabs(lost_on_the_way(link[0], link[1])) + llabs(lost_on_the_way(link[1], link[0]));
	}
	__atomic_store_n(&bed->unaccounted_frames, sum, __ATOMIC_RELAXED);
}
