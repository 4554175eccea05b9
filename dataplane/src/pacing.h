/* When the packets of a flow are due: exact integer arithmetic, no drift. */
#ifndef BACKWATER_PACING_H
#define BACKWATER_PACING_H

#include <stdint.h>

/* 1 in parts of a million. */
#define PACING_WHOLE 1000000u

struct pacing {
	/* A gap is whole_ps + part / rate_bps; `carry` / rate_bps is what has been owed so far. */
	uint64_t whole_ps, part, rate_bps, carry;
	/* Gaps vary evenly within ± this. */
	uint32_t jitter_ppm;
	uint64_t random;
	uint64_t due_ps;
};

/* Packets of `wire_bytes` (with all that Ethernet adds) at `rate_bps` > 0; the first is due at `start_ps`. */
void pacing_init(struct pacing *pacing, uint64_t rate_bps, uint32_t wire_bytes, uint64_t start_ps, uint32_t jitter_ppm, uint64_t seed);

/* The packet that was due at due_ps has left; the next is due one gap later. */
void pacing_next(struct pacing *pacing);

/* The packet that was due has been held up: the next is due one gap after `now_ps`. What was missed is not made up for. */
void pacing_resume(struct pacing *pacing, uint64_t now_ps);

#endif
