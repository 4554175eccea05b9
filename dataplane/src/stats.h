/* What the counters say, in three forms. All read while the data plane writes: each number is whole, two may be of different moments.
 *
 * JSON and Prometheus have the same numbers, from the same lists (counters.h, stats_tell(), and what each kind of node tells). Prometheus
 * has some more that mean something only while the run goes on: queues, gates, states. */
#ifndef BACKWATER_STATS_H
#define BACKWATER_STATS_H

#include <stddef.h>
#include <stdio.h>

#include "bed.h"
#include "tell.h"

/* One JSON object, one line. */
void stats_json(FILE *out, const struct bed *bed);

/* What a node tells of itself, as members of a JSON object, each beginning with a comma. */
void stats_json_node(FILE *out, const struct node *node);

/* The text format of Prometheus, version 0.0.4. */
void stats_prometheus(FILE *out, const struct bed *bed);

/* A table for people: one row for each port. */
void stats_table(FILE *out, const struct bed *bed);

/* `text` in quotes, with what JSON and Prometheus both want escaped. */
void stats_quoted(FILE *out, const char *text);

/* The name of a state of a detector. */
const char *stats_state(unsigned state);

/* A counter of a port, or several with a label each: "reason", "priority". */
struct stats_field {
	const char *name, *help;
	size_t offset;
	unsigned count;
	struct {
		const char *name;
		const char *(*value)(unsigned index);
	} label;
	enum number_kind kind;
};

extern const struct stats_field STATS_FIELDS[];
extern const unsigned STATS_FIELD_COUNT;

uint64_t stats_value(const struct stats_field *field, const struct port *port, unsigned index, uint64_t now_ps);

/* Numbers of the run itself. */
void stats_tell(const struct bed *bed, struct teller *teller);

/* Whether the machine disturbed a run by the wall clock. */
bool stats_disturbed(const struct bed *bed);

const char *stats_clock(const struct bed *bed);

#endif
