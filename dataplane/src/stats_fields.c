/* See stats.h: what there is to be written, for all who write it. */
#include <stdio.h>

#include "stats.h"

const char *stats_state(unsigned state)
{
	static const char *const NAMES[] = { "non-congestion", "congestion", "undetermined", "judging" };

	return NAMES[state & 3];
}

static const char *reason(unsigned number)
{
	return drop_reason_name(number);
}

static const char *priority(unsigned number)
{
	static const char *const NUMBERS[PRIORITIES] = { "0", "1", "2", "3", "4", "5", "6", "7" };

	return NUMBERS[number % PRIORITIES];
}

#define LABEL_REASON { "reason", reason }
#define LABEL_STATE { "state", stats_state }
#define LABEL_PRIORITY { "priority", priority }
#define ONE(field, kind, help) { #field, help, offsetof(struct port_counters, field), 1, { NULL, NULL }, NUMBER_##kind },
#define MANY(field, n, label, kind, help) { #field, help, offsetof(struct port_counters, field), n, label, NUMBER_##kind },

const struct stats_field STATS_FIELDS[] = { PORT_COUNTERS(ONE, MANY) };
const unsigned STATS_FIELD_COUNT = sizeof(STATS_FIELDS) / sizeof(STATS_FIELDS[0]);

/* The gate may open while this is read: then it is read once more. */
static uint64_t paused_ps(const struct port *port, unsigned priority, uint64_t now_ps)
{
	const uint64_t *counter = &port->count.paused_ps[priority];
	uint64_t since_ps, before_ps;
	bool closed;

	do {
		before_ps = counted(counter);
		closed = __atomic_load_n(&port->closed, __ATOMIC_RELAXED) >> priority & 1;
		since_ps = counted(&port->lanes[priority].closed_since_ps);
	} while (counted(counter) != before_ps);
	return before_ps + (closed && now_ps > since_ps ? now_ps - since_ps : 0);
}

uint64_t stats_value(const struct stats_field *field, const struct port *port, unsigned index, uint64_t now_ps)
{
	const uint64_t *values = (const uint64_t *)(const void *)((const char *)&port->count + field->offset);

	if (values == port->count.paused_ps)
		return paused_ps(port, index, now_ps);
	return counted(&values[index]);
}

void stats_tell(const struct bed *bed, struct teller *teller)
{
	const struct clock *clock = &bed->clock;

	tell_counter(teller, "rounds", "Rounds of the nodes.", counted(&bed->rounds));
	tell_counter(teller, "idle_rounds", "Rounds in which nothing moved.", counted(&bed->idle_rounds));
	tell_gauge(teller, "worst_gap_ps", "The longest time between two visits.", (int64_t)counted(&clock->worst_gap_ps));
	tell_counter(teller, "gaps", "Times between two visits that were longer than the clock allows.", counted(&clock->gaps));
	tell_counter(teller, "lockstep_yields", "Times this process was held back by slower ones.", counted(&bed->lockstep.yields));
	tell_gauge(teller, "lost_processes", "Processes of the lockstep that were killed.", bed->lockstep.lost);
	tell_gauge(teller, "leaked_frames", "Packet buffers that were not given back, known at the end.", bed->leaked_frames);
	tell_gauge(teller, "unaccounted_frames", "Frames of nodes and links that no counter accounts for: 0, or there is a bug.",
		   counted_signed(&bed->unaccounted_frames));
}

bool stats_disturbed(const struct bed *bed)
{
	return bed->clock.kind == CLOCK_WALL && counted(&bed->clock.gaps) > 0;
}

const char *stats_clock(const struct bed *bed)
{
	static const char *const CLOCKS[] = { "step", "clamp", "lockstep", "wall" };

	return CLOCKS[bed->clock.kind];
}
