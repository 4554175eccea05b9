/* See stats.h: JSON. */
#include <inttypes.h>

#include "stats.h"

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

struct writer {
	struct teller teller;
	FILE *out;
	unsigned flows;
};

static void number(struct teller *teller, const char *name, const char *help, enum number_kind kind, int64_t value)
{
	(void)help, (void)kind;
	fprintf(((struct writer *)teller)->out, ",\"%s\":%" PRId64, name, value);
}

static void list(struct teller *teller, const char *name, const char *help, const uint64_t *first, unsigned count, unsigned stride)
{
	FILE *out = ((struct writer *)teller)->out;

	(void)help;
	fprintf(out, ",\"%s\":[", name);
	for (unsigned i = 0; i < count; i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", first[(size_t)i * stride]);
	fputc(']', out);
}

static void begin(struct teller *teller, const char *side)
{
	struct writer *writer = (struct writer *)teller;

	writer->flows = 0;
	fprintf(writer->out, ",\"%s\":[", side);
}

static void flow(struct teller *teller, const char *name)
{
	struct writer *writer = (struct writer *)teller;

	fputs(writer->flows++ ? "},{\"flow\":" : "{\"flow\":", writer->out);
	stats_quoted(writer->out, name);
}

static void end(struct teller *teller)
{
	struct writer *writer = (struct writer *)teller;

	fputs(writer->flows ? "}]" : "]", writer->out);
}

static struct writer writer_to(FILE *out)
{
	return (struct writer){ .teller = { .number = number, .list = list, .begin = begin, .flow = flow, .end = end }, .out = out };
}

static void field_json(FILE *out, const struct stats_field *field, const struct port *port, uint64_t now_ps)
{
	/* Reasons are no numbers: they stand by their names. */
	bool is_object = field->count == DROP_REASON_COUNT;

	fprintf(out, ",\"%s\":", field->name);
	if (field->count == 1) {
		fprintf(out, "%" PRIu64, stats_value(field, port, 0, now_ps));
		return;
	}
	fputc(is_object ? '{' : '[', out);
	for (unsigned i = 0; i < field->count; i++) {
		fputs(i ? "," : "", out);
		if (is_object)
			fprintf(out, "\"%s\":", field->label.value(i));
		fprintf(out, "%" PRIu64, stats_value(field, port, i, now_ps));
	}
	fputc(is_object ? '}' : ']', out);
}

static void port_json(FILE *out, const struct port *port, uint64_t now_ps)
{
	fprintf(out, "{\"name\":");
	stats_quoted(out, port->config.name);
	fprintf(out, ",\"up\":%s", port->wire.down ? "false" : "true");
	for (unsigned i = 0; i < STATS_FIELD_COUNT; i++)
		field_json(out, &STATS_FIELDS[i], port, now_ps);
	fprintf(out, ",\"queued_frames\":%" PRIu64 "}", port_queued_frames(port));
}

void stats_json_node(FILE *out, const struct node *node)
{
	struct writer writer = writer_to(out);

	tell_gauge(&writer.teller, NODE_UNACCOUNTED, "", counted_signed(&node->unaccounted_frames));
	node->ops->tell(node, &writer.teller);
}

static void node_json(FILE *out, const struct node *node, uint64_t now_ps)
{
	fprintf(out, "{\"name\":");
	stats_quoted(out, node->name);
	fprintf(out, ",\"kind\":\"%s\",\"ports\":[", node->kind);
	for (unsigned i = 0; i < node->port_count; i++) {
		if (i)
			fputc(',', out);
		port_json(out, &node->ports[i], now_ps);
	}
	fputc(']', out);
	stats_json_node(out, node);
	fputc('}', out);
}

void stats_json(FILE *out, const struct bed *bed)
{
	struct writer writer = writer_to(out);
	uint64_t now_ps = counted(&bed->clock.now_ps);

	fprintf(out, "{\"clock\":\"%s\",\"now_ps\":%" PRIu64 ",\"disturbed\":%s", stats_clock(bed), now_ps,
		stats_disturbed(bed) ? "true" : "false");
	stats_tell(bed, &writer.teller);
	fprintf(out, ",\"nodes\":[");
	for (unsigned i = 0; i < bed->graph.node_count; i++) {
		if (i)
			fputc(',', out);
		node_json(out, bed->graph.nodes[i], now_ps);
	}
	fprintf(out, "]}\n");
}
