/* What the counters say, in three forms. All read while the data plane writes: each number is whole, two may be of different moments. */
#ifndef BACKWATER_STATS_H
#define BACKWATER_STATS_H

#include <stdio.h>

#include "bed.h"

/* One JSON object, one line. */
void stats_json(FILE *out, const struct bed *bed);

/* The text format of Prometheus, version 0.0.4. */
void stats_prometheus(FILE *out, const struct bed *bed);

/* A table for people: one row for each port. */
void stats_table(FILE *out, const struct bed *bed);

/* `text` in quotes, with what JSON and Prometheus both want escaped. */
void stats_quoted(FILE *out, const char *text);

/* The name of a state of a detector. */
const char *stats_state(unsigned state);

#endif
