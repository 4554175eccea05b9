/* Time for every node: picoseconds since the start of the run. A node never asks the machine for the time; it is told `now`.
 *
 *   step      each tick adds a constant: the same run every time (golden tests)
 *   clamp     the time-stamp counter, but a tick adds at most `cap`: a stall of the machine freezes the whole testbed at once
 *   lockstep  clamp, and never further ahead of the slowest process than the lookahead (lockstep.h)
 *   wall      the time-stamp counter as it is; `worst_gap_ps` tells whether the run was disturbed
 */
#ifndef BACKWATER_CLOCK_H
#define BACKWATER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define PS_PER_NS UINT64_C(1000)
#define PS_PER_US UINT64_C(1000000)
#define PS_PER_MS UINT64_C(1000000000)
#define PS_PER_S UINT64_C(1000000000000)

enum clock_kind { CLOCK_STEP, CLOCK_CLAMP, CLOCK_LOCKSTEP, CLOCK_WALL };

struct lockstep;

struct clock {
	enum clock_kind kind;
	uint64_t now_ps;
	/* step: what a tick adds; clamp and lockstep: the most that a tick adds. */
	uint64_t cap_ps;
	uint64_t last_tsc;
	/* Picoseconds per cycle of the counter in units of 2^-32. */
	uint64_t scale_q32;
	/* The longest time between two ticks, and how often one was cut to the cap (clamp) or exceeded it (wall). */
	uint64_t worst_gap_ps;
	uint64_t gaps;
	struct lockstep *lockstep;
};

/* `cap_ps` as above; under `wall` a gap longer than it counts as a disturbance. */
void clock_start(struct clock *clock, enum clock_kind kind, uint64_t cap_ps, uint64_t tsc_hz, uint64_t tsc);

/* One visit of one node. `tsc` is the counter now (ignored under step). Returns the time, which never goes back. */
uint64_t clock_tick(struct clock *clock, uint64_t tsc);

/* The largest cap with which links of `rate_bps` still reach line rate when `nodes` nodes take turns: a round of the graph must
 * pass less virtual time than the serialiser may catch up (wire.h). */
uint64_t clock_safe_cap_ps(uint64_t rate_bps, unsigned nodes);

#endif
