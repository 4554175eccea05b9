/* How nodes tell their numbers to whoever writes them down: JSON and Prometheus hear the same ones. */
#ifndef BACKWATER_TELL_H
#define BACKWATER_TELL_H

#include <stdint.h>

enum number_kind { NUMBER_COUNTER, NUMBER_GAUGE };

struct teller {
	/* A number of the node, or of the flow that was begun last. */
	void (*number)(struct teller *teller, const char *name, const char *help, enum number_kind kind, int64_t value);
	/* `count` counters that lie `stride` apart: JSON writes the list, Prometheus their sum. */
	void (*list)(struct teller *teller, const char *name, const char *help, const uint64_t *first, unsigned count, unsigned stride);
	/* Numbers of flows: what a sender `sent`, a receiver `received`; then the flows one by one; then the end. */
	void (*begin)(struct teller *teller, const char *side);
	void (*flow)(struct teller *teller, const char *name);
	void (*end)(struct teller *teller);
};

static inline void tell_counter(struct teller *teller, const char *name, const char *help, uint64_t value)
{
	teller->number(teller, name, help, NUMBER_COUNTER, (int64_t)value);
}

static inline void tell_gauge(struct teller *teller, const char *name, const char *help, int64_t value)
{
	teller->number(teller, name, help, NUMBER_GAUGE, value);
}

#endif
