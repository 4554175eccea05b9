/* See stats.h: the text format of Prometheus. One family after the other, as the format wants it. */
#include <inttypes.h>
#include <stddef.h>

#include "stats.h"

struct family {
	const char *name, *help;
	size_t offset;
	bool by_priority, is_gauge;
};

#define COUNTER(field, help) { "backwater_port_" #field "_total", help, offsetof(struct port_counters, field), false, false }
#define PER_PRIORITY(field, help) { "backwater_port_" #field "_total", help, offsetof(struct port_counters, field), true, false }
#define GAUGE(field, help) { "backwater_port_" #field, help, offsetof(struct port_counters, field), false, true }

static const struct family FAMILIES[] = {
	COUNTER(rx_frames, "Frames that came in."),
	COUNTER(rx_bytes, "Bytes that came in, without preamble and check sequence."),
	COUNTER(rx_control, "PFC frames and credit messages taken in."),
	COUNTER(tx_frames, "Frames sent on, without control frames."),
	COUNTER(tx_bytes, "Bytes sent on."),
	COUNTER(tx_control, "PFC frames and credit messages sent."),
	COUNTER(flood_copies, "Copies made to flood frames to unknown destinations."),
	COUNTER(marked_ue, "Packets marked UE (undetermined)."),
	COUNTER(marked_ce, "Packets marked CE (congestion)."),
	PER_PRIORITY(pause_sent, "PAUSEs sent."),
	PER_PRIORITY(resume_sent, "RESUMEs sent."),
	PER_PRIORITY(pause_received, "PAUSEs received."),
	PER_PRIORITY(resume_received, "RESUMEs received."),
	PER_PRIORITY(off_periods, "Times the gate closed."),
	COUNTER(pause_unknown_priority, "PAUSEs for priorities without PFC."),
	COUNTER(pause_expired, "PAUSEs that ended without a RESUME."),
	COUNTER(storms, "PFC storms that the watchdog found."),
	COUNTER(storms_over, "PFC storms that ended."),
	COUNTER(pauses_ignored, "PAUSEs that came during a storm."),
	COUNTER(credit_sent, "Credit messages sent."),
	COUNTER(credit_received, "Credit messages obeyed."),
	COUNTER(credit_resyncs, "Credit messages that told of lost packets."),
	COUNTER(tx_retries, "Batches that the device did not take at once."),
	COUNTER(control_retries, "Control frames that waited for a packet buffer."),
	GAUGE(ingress_most_bytes, "Most bytes that one ingress priority has held."),
	GAUGE(queue_most_bytes, "Most bytes that one egress queue has held."),
};

static void head(FILE *out, const char *name, const char *help, bool is_gauge)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, is_gauge ? "gauge" : "counter");
}

static void labels(FILE *out, const char *name, const struct node *node, const struct port *port)
{
	fprintf(out, "%s{node=", name);
	stats_quoted(out, node->name);
	fprintf(out, ",port=");
	stats_quoted(out, port->config.name);
}

static void sample(FILE *out, const struct family *family, const struct node *node, const struct port *port)
{
	const uint64_t *values = (const uint64_t *)(const void *)((const char *)&port->count + family->offset);

	for (unsigned i = 0; i < (family->by_priority ? PRIORITIES : 1); i++) {
		labels(out, family->name, node, port);
		if (family->by_priority)
			fprintf(out, ",priority=\"%u\"", i);
		fprintf(out, "} %" PRIu64 "\n", counted(&values[i]));
	}
}

static void drops(FILE *out, const struct node *node, const struct port *port)
{
	for (unsigned i = 0; i < DROP_REASON_COUNT; i++) {
		labels(out, "backwater_port_drops_total", node, port);
		fprintf(out, ",reason=\"%s\"} %" PRIu64 "\n", drop_reason_name(i), counted(&port->count.drops[i]));
	}
}

static void queued(FILE *out, const struct node *node, const struct port *port)
{
	for (unsigned i = 0; i < PRIORITIES; i++) {
		labels(out, "backwater_port_queue_bytes", node, port);
		fprintf(out, ",priority=\"%u\"} %" PRIu64 "\n", i, counted(&port->lanes[i].bytes));
	}
}

static void gate(FILE *out, const struct node *node, const struct port *port)
{
	for (unsigned i = 0; i < PRIORITIES; i++) {
		labels(out, "backwater_port_gate_open", node, port);
		fprintf(out, ",priority=\"%u\"} %u\n", i, !(port->closed >> i & 1));
	}
}

static void state(FILE *out, const struct node *node, const struct port *port)
{
	for (unsigned i = 0; i < PRIORITIES; i++) {
		labels(out, "backwater_port_state", node, port);
		fprintf(out, ",priority=\"%u\"} %u\n", i, port->lanes[i].state);
	}
}

static void up(FILE *out, const struct node *node, const struct port *port)
{
	labels(out, "backwater_port_up", node, port);
	fprintf(out, "} %d\n", !port->wire.down);
}

typedef void write_port(FILE *out, const struct node *node, const struct port *port);

static void each_port(FILE *out, const struct bed *bed, write_port *write)
{
	for (unsigned i = 0; i < bed->graph.node_count; i++)
		for (unsigned j = 0; j < bed->graph.nodes[i]->port_count; j++)
			write(out, bed->graph.nodes[i], &bed->graph.nodes[i]->ports[j]);
}

void stats_prometheus(FILE *out, const struct bed *bed)
{
	for (size_t f = 0; f < sizeof(FAMILIES) / sizeof(FAMILIES[0]); f++) {
		head(out, FAMILIES[f].name, FAMILIES[f].help, FAMILIES[f].is_gauge);
		for (unsigned i = 0; i < bed->graph.node_count; i++)
			for (unsigned j = 0; j < bed->graph.nodes[i]->port_count; j++)
				sample(out, &FAMILIES[f], bed->graph.nodes[i], &bed->graph.nodes[i]->ports[j]);
	}
	head(out, "backwater_port_drops_total", "Frames dropped, by reason.", false);
	each_port(out, bed, drops);
	head(out, "backwater_port_queue_bytes", "Bytes in the egress queue.", true);
	each_port(out, bed, queued);
	head(out, "backwater_port_gate_open", "1 if flow control lets the priority send (ON), 0 if not (OFF).", true);
	each_port(out, bed, gate);
	head(out, "backwater_port_state", "0 non-congestion, 1 congestion, 2 undetermined, 3 judging.", true);
	each_port(out, bed, state);
	head(out, "backwater_port_up", "1 if the link is up.", true);
	each_port(out, bed, up);
	head(out, "backwater_lost_processes", "Processes of the lockstep that were killed.", true);
	fprintf(out, "backwater_lost_processes %u\n", bed->lockstep.lost);
	head(out, "backwater_time_seconds", "Time of the run on its own clock.", true);
	fprintf(out, "backwater_time_seconds %.9f\n", (double)counted(&bed->clock.now_ps) / 1e12);
}
