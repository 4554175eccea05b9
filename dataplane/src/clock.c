/* See clock.h. */
#include "clock.h"

#include "lockstep.h"
#include "wire.h"

void clock_start(struct clock *clock, enum clock_kind kind, uint64_t cap_ps, uint64_t tsc_hz, uint64_t tsc)
{
	*clock = (struct clock){
		.kind = kind,
		.cap_ps = cap_ps,
		.last_tsc = tsc,
		.scale_q32 = (uint64_t)(((unsigned __int128)PS_PER_S << 32) / (tsc_hz ? tsc_hz : 1)),
	};
}

static uint64_t elapsed_ps(struct clock *clock, uint64_t tsc)
{
	/* The counters of two cores may differ by a few cycles: never backwards. */
	uint64_t cycles = tsc > clock->last_tsc ? tsc - clock->last_tsc : 0;

	clock->last_tsc += cycles;
	return (uint64_t)(((unsigned __int128)cycles * clock->scale_q32) >> 32);
}

uint64_t clock_tick(struct clock *clock, uint64_t tsc)
{
	if (clock->kind == CLOCK_STEP)
		return clock->now_ps += clock->cap_ps;

	uint64_t gap = elapsed_ps(clock, tsc);

	if (gap > clock->worst_gap_ps)
		clock->worst_gap_ps = gap;
	if (gap > clock->cap_ps) {
		clock->gaps++;
		if (clock->kind != CLOCK_WALL)
			gap = clock->cap_ps;
	}
	uint64_t wanted = clock->now_ps + gap;

	if (clock->kind == CLOCK_LOCKSTEP)
		wanted = lockstep_advance(clock->lockstep, clock->now_ps, wanted);
	return clock->now_ps = wanted;
}

uint64_t clock_safe_cap_ps(uint64_t rate_bps, unsigned nodes)
{
	/* 0.2 us at 10 Gbps and 1 us at 1 Gbps, as measured; never more than half the allowance per round. */
	uint64_t by_rate = rate_bps >= 10 * UINT64_C(1000000000) ? 200 * PS_PER_NS : PS_PER_US;
	uint64_t by_round = wire_allowance_ps(rate_bps) / (2 * (nodes ? nodes : 1));

	return by_rate < by_round ? by_rate : by_round;
}
