/* See stats.h: a table for people. */
#include <inttypes.h>

#include "stats.h"

static uint64_t sum(const uint64_t *counters, unsigned n)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < n; i++)
		total += counted(&counters[i]);
	return total;
}

/* The priority that tells most about a port: one whose gate is closed, else the one with the longest queue. */
static unsigned busiest(const struct port *port)
{
	unsigned best = 0;

	if (port->closed)
		return (unsigned)__builtin_ctz(port->closed);
	for (unsigned i = 1; i < PRIORITIES; i++)
		if (port->lanes[i].bytes > port->lanes[best].bytes ||
		    (port->lanes[i].bytes == port->lanes[best].bytes && port->lanes[i].state > port->lanes[best].state))
			best = i;
	return best;
}

static void row(FILE *out, const struct node *node, const struct port *port)
{
	const struct port_counters *c = &port->count;
	unsigned priority = busiest(port);
	const struct lane *lane = &port->lanes[priority];
	const char *gate = port->wire.down ? "down" : port->closed ? "OFF" : "ON";

	fprintf(out, "%-10.10s %-12.12s %4u %-5s %-15s %10" PRIu64 " %12" PRIu64 " %12" PRIu64, node->name, port->config.name, priority, gate,
		port->config.detector ? stats_state(lane->state) : "-", counted(&lane->bytes), counted(&c->rx_frames), counted(&c->tx_frames));
	fprintf(out, " %8" PRIu64 " %8" PRIu64 " %9" PRIu64 " %9" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n", sum(c->pause_sent, PRIORITIES),
		sum(c->pause_received, PRIORITIES), counted(&c->marked_ue), counted(&c->marked_ce), sum(c->drops, DROP_REASON_COUNT), port_lost_at_device(port));
}

void stats_table(FILE *out, const struct bed *bed)
{
	fprintf(out, "t = %.3f s\n", (double)counted(&bed->clock.now_ps) / 1e12);
	fprintf(out, "%-10s %-12s %4s %-5s %-15s %10s %12s %12s %8s %8s %9s %9s %8s %8s\n", "node", "port", "prio", "gate", "state", "queue [B]",
		"frames in", "frames out", "PAUSE tx", "PAUSE rx", "marked UE", "marked CE", "dropped", "lost");
	for (unsigned i = 0; i < bed->graph.node_count; i++)
		for (unsigned j = 0; j < bed->graph.nodes[i]->port_count; j++)
			row(out, bed->graph.nodes[i], &bed->graph.nodes[i]->ports[j]);
	fflush(out);
}
