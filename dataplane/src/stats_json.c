/* See stats.h: JSON. */
#include <inttypes.h>

#include "stats.h"

const char *stats_state(unsigned state)
{
	static const char *const NAMES[] = { "non-congestion", "congestion", "undetermined", "judging" };

	return NAMES[state & 3];
}

void stats_quoted(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		if ((unsigned char)*text >= ' ')
			fputc(*text, out);
	}
	fputc('"', out);
}

static void number(FILE *out, const char *name, const uint64_t *counter)
{
	fprintf(out, ",\"%s\":%" PRIu64, name, counted(counter));
}

static void list(FILE *out, const char *name, const uint64_t *counters, unsigned n)
{
	fprintf(out, ",\"%s\":[", name);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", counted(&counters[i]));
	fputc(']', out);
}

static void port_json(FILE *out, const struct port *port)
{
	const struct port_counters *c = &port->count;

	fprintf(out, "{\"name\":");
	stats_quoted(out, port->config.name);
	fprintf(out, ",\"up\":%s", port->wire.down ? "false" : "true");
	number(out, "rx_frames", &c->rx_frames);
	number(out, "rx_bytes", &c->rx_bytes);
	number(out, "rx_control", &c->rx_control);
	number(out, "tx_frames", &c->tx_frames);
	number(out, "tx_bytes", &c->tx_bytes);
	number(out, "tx_control", &c->tx_control);
	fprintf(out, ",\"drops\":{");
	for (unsigned i = 0; i < DROP_REASON_COUNT; i++)
		fprintf(out, "%s\"%s\":%" PRIu64, i ? "," : "", drop_reason_name(i), counted(&c->drops[i]));
	fputc('}', out);
	number(out, "flood_copies", &c->flood_copies);
	number(out, "marked_ue", &c->marked_ue);
	number(out, "marked_ce", &c->marked_ce);
	list(out, "departures_in_state", c->departures_in_state, 4);
	list(out, "pause_sent", c->pause_sent, PRIORITIES);
	list(out, "resume_sent", c->resume_sent, PRIORITIES);
	list(out, "pause_received", c->pause_received, PRIORITIES);
	list(out, "resume_received", c->resume_received, PRIORITIES);
	list(out, "off_periods", c->off_periods, PRIORITIES);
	list(out, "paused_ps", c->paused_ps, PRIORITIES);
	number(out, "pause_unknown_priority", &c->pause_unknown_priority);
	number(out, "pause_expired", &c->pause_expired);
	number(out, "storms", &c->storms);
	number(out, "storms_over", &c->storms_over);
	number(out, "pauses_ignored", &c->pauses_ignored);
	number(out, "credit_sent", &c->credit_sent);
	number(out, "credit_received", &c->credit_received);
	number(out, "credit_resyncs", &c->credit_resyncs);
	number(out, "tx_retries", &c->tx_retries);
	number(out, "control_retries", &c->control_retries);
	number(out, "ingress_most_bytes", &c->ingress_most_bytes);
	number(out, "queue_most_bytes", &c->queue_most_bytes);
	fprintf(out, ",\"queued_frames\":%" PRIu64 "}", port_queued_frames(port));
}

static void node_json(FILE *out, const struct node *node)
{
	fprintf(out, "{\"name\":");
	stats_quoted(out, node->name);
	fprintf(out, ",\"kind\":\"%s\",\"ports\":[", node->kind);
	for (unsigned i = 0; i < node->port_count; i++) {
		if (i)
			fputc(',', out);
		port_json(out, &node->ports[i]);
	}
	fputc(']', out);
	if (node->ops->json)
		node->ops->json(node, out);
	fputc('}', out);
}

void stats_json(FILE *out, const struct bed *bed)
{
	static const char *const CLOCKS[] = { "step", "clamp", "lockstep", "wall" };
	const struct clock *clock = &bed->clock;
	bool disturbed = clock->kind == CLOCK_WALL && clock->gaps > 0;

	fprintf(out, "{\"clock\":\"%s\",\"now_ps\":%" PRIu64 ",\"rounds\":%" PRIu64 ",\"idle_rounds\":%" PRIu64, CLOCKS[clock->kind],
		clock->now_ps, bed->rounds, bed->idle_rounds);
	fprintf(out, ",\"worst_gap_ps\":%" PRIu64 ",\"gaps\":%" PRIu64 ",\"disturbed\":%s", clock->worst_gap_ps, clock->gaps,
		disturbed ? "true" : "false");
	fprintf(out, ",\"lockstep_yields\":%" PRIu64 ",\"lost_processes\":%u", bed->lockstep.yields, bed->lockstep.lost);
	fprintf(out, ",\"leaked_frames\":%u,\"nodes\":[", bed->leaked_frames);
	for (unsigned i = 0; i < bed->graph.node_count; i++) {
		if (i)
			fputc(',', out);
		node_json(out, bed->graph.nodes[i]);
	}
	fprintf(out, "]}\n");
}
