/* See stats.h: the text format of Prometheus. One family after the other, as the format wants it. */
#include <inttypes.h>
#include <string.h>

#include "stats.h"

#define FAMILIES_MOST 64

/* Numbers that nodes tell. A family is looked for in all nodes before the next one begins. */
struct family {
	const char *side, *name, *help;
	enum number_kind kind;
};

struct scrape {
	struct teller teller;
	FILE *out;
	const struct node *node;
	const char *side, *flow;
	struct family families[FAMILIES_MOST];
	unsigned family_count;
	/* NULL: families are being collected. */
	const struct family *wanted;
};

static const char *suffix(enum number_kind kind)
{
	return kind == NUMBER_GAUGE ? "" : "_total";
}

static void head(FILE *out, const char *side, const char *name, enum number_kind kind, const char *help)
{
	fprintf(out, "# HELP backwater_%s%s%s %s\n", side, name, suffix(kind), help);
	fprintf(out, "# TYPE backwater_%s%s%s %s\n", side, name, suffix(kind), kind == NUMBER_GAUGE ? "gauge" : "counter");
}

/* Up to the labels of node and port, which others may follow. */
static void begin_sample(FILE *out, const char *name, enum number_kind kind, const struct node *node, const struct port *port)
{
	fprintf(out, "backwater_port_%s%s{node=", name, suffix(kind));
	stats_quoted(out, node->name);
	fprintf(out, ",port=");
	stats_quoted(out, port->config.name);
}

static bool is_family(const struct family *family, const struct scrape *scrape, const char *name)
{
	return strcmp(family->name, name) == 0 && strcmp(family->side, scrape->side) == 0;
}

static void collect(struct scrape *scrape, const char *name, const char *help, enum number_kind kind)
{
	for (unsigned i = 0; i < scrape->family_count; i++)
		if (is_family(&scrape->families[i], scrape, name))
			return;
	if (scrape->family_count < FAMILIES_MOST)
		scrape->families[scrape->family_count++] = (struct family){ scrape->side, name, help, kind };
}

static void number(struct teller *teller, const char *name, const char *help, enum number_kind kind, int64_t value)
{
	struct scrape *scrape = (struct scrape *)teller;
	FILE *out = scrape->out;

	if (!scrape->wanted) {
		collect(scrape, name, help, kind);
		return;
	}
	if (!is_family(scrape->wanted, scrape, name))
		return;
	fprintf(out, "backwater_%s%s%s", scrape->side, name, suffix(kind));
	if (scrape->node) {
		fputs("{node=", out);
		stats_quoted(out, scrape->node->name);
		if (scrape->flow) {
			fputs(",flow=", out);
			stats_quoted(out, scrape->flow);
		}
		fputc('}', out);
	}
	fprintf(out, " %" PRId64 "\n", value);
}

static void list(struct teller *teller, const char *name, const char *help, const uint64_t *first, unsigned count, unsigned stride)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += counted(&first[(size_t)i * stride]);
	number(teller, name, help, NUMBER_COUNTER, (int64_t)sum);
}

static void begin(struct teller *teller, const char *side)
{
	((struct scrape *)teller)->side = strcmp(side, "sent") == 0 ? "sent_" : "received_";
}

static void flow(struct teller *teller, const char *name)
{
	((struct scrape *)teller)->flow = name;
}

static void end(struct teller *teller)
{
	((struct scrape *)teller)->flow = NULL;
	((struct scrape *)teller)->side = "node_";
}

static void tell_all(struct scrape *scrape, const struct bed *bed)
{
	scrape->node = NULL;
	scrape->side = "";
	stats_tell(bed, &scrape->teller);
	scrape->side = "node_";
	for (unsigned i = 0; i < bed->graph.node_count; i++) {
		scrape->node = bed->graph.nodes[i];
		tell_gauge(&scrape->teller, NODE_UNACCOUNTED, "Frames of the node that no counter accounts for: 0, or there is a bug.",
			   counted_signed(&scrape->node->unaccounted_frames));
		scrape->node->ops->tell(scrape->node, &scrape->teller);
	}
}

static void told(FILE *out, const struct bed *bed)
{
	struct scrape scrape = { .teller = { .number = number, .list = list, .begin = begin, .flow = flow, .end = end }, .out = out };

	tell_all(&scrape, bed);
	for (unsigned i = 0; i < scrape.family_count; i++) {
		scrape.wanted = &scrape.families[i];
		head(out, scrape.wanted->side, scrape.wanted->name, scrape.wanted->kind, scrape.wanted->help);
		tell_all(&scrape, bed);
	}
}

/* What has a number for each priority, and is in the JSON at the end no more. */
static void per_priority(FILE *out, const char *name, const struct node *node, const struct port *port, uint64_t (*value)(const struct port *, unsigned))
{
	for (unsigned i = 0; i < PRIORITIES; i++) {
		begin_sample(out, name, NUMBER_GAUGE, node, port);
		fprintf(out, ",priority=\"%u\"} %" PRIu64 "\n", i, value(port, i));
	}
}

static uint64_t queue_bytes(const struct port *port, unsigned priority)
{
	return counted(&port->lanes[priority].bytes);
}

static uint64_t gate_open(const struct port *port, unsigned priority)
{
	return !(port->closed >> priority & 1);
}

static uint64_t state(const struct port *port, unsigned priority)
{
	return port->lanes[priority].state;
}

static const struct live {
	const char *name, *help;
	/* NULL: of the whole port. */
	uint64_t (*value)(const struct port *port, unsigned priority);
} LIVE[] = {
	{ "queue_bytes", "Bytes in the egress queue.", queue_bytes },
	{ "gate_open", "1 if flow control lets the priority send (ON), 0 if not (OFF).", gate_open },
	{ "state", "0 non-congestion, 1 congestion, 2 undetermined, 3 judging.", state },
};

static void counters(FILE *out, const struct stats_field *field, const struct node *node, const struct port *port, uint64_t now_ps)
{
	for (unsigned i = 0; i < field->count; i++) {
		begin_sample(out, field->name, field->kind, node, port);
		if (field->label.name)
			fprintf(out, ",%s=\"%s\"", field->label.name, field->label.value(i));
		fprintf(out, "} %" PRIu64 "\n", stats_value(field, port, i, now_ps));
	}
}

static void whole_port(FILE *out, const struct node *node, const struct port *port, bool up)
{
	begin_sample(out, up ? "up" : "queued_frames", NUMBER_GAUGE, node, port);
	fprintf(out, "} %" PRIu64 "\n", up ? !port->wire.down : port_queued_frames(port));
}

#define EACH_PORT(bed, node, port) \
	for (unsigned i_ = 0; i_ < (bed)->graph.node_count; i_++) \
		for (const struct node *node = (bed)->graph.nodes[i_]; node; node = NULL) \
			for (const struct port *port = node->ports; port < node->ports + node->port_count; port++)

void stats_prometheus(FILE *out, const struct bed *bed)
{
	uint64_t now_ps = counted(&bed->clock.now_ps);

	for (unsigned i = 0; i < STATS_FIELD_COUNT; i++) {
		head(out, "port_", STATS_FIELDS[i].name, STATS_FIELDS[i].kind, STATS_FIELDS[i].help);
		EACH_PORT(bed, node, port)
			counters(out, &STATS_FIELDS[i], node, port, now_ps);
	}
	for (unsigned i = 0; i < sizeof(LIVE) / sizeof(LIVE[0]); i++) {
		head(out, "port_", LIVE[i].name, NUMBER_GAUGE, LIVE[i].help);
		EACH_PORT(bed, node, port)
			per_priority(out, LIVE[i].name, node, port, LIVE[i].value);
	}
	head(out, "port_", "up", NUMBER_GAUGE, "1 if the link is up.");
	EACH_PORT(bed, node, port)
		whole_port(out, node, port, true);
	head(out, "port_", "queued_frames", NUMBER_GAUGE, "Frames that wait in all queues of the port.");
	EACH_PORT(bed, node, port)
		whole_port(out, node, port, false);
	told(out, bed);
	head(out, "", "clock_info", NUMBER_GAUGE, "The clock of the run.");
	fprintf(out, "backwater_clock_info{kind=\"%s\"} 1\n", stats_clock(bed));
	head(out, "", "disturbed", NUMBER_GAUGE, "1 if the machine disturbed a run by the wall clock.");
	fprintf(out, "backwater_disturbed %d\n", stats_disturbed(bed));
	head(out, "", "time_seconds", NUMBER_GAUGE, "Time of the run on its own clock.");
	fprintf(out, "backwater_time_seconds %.9f\n", (double)now_ps / 1e12);
}
