/* See pacing.h. */
#include "pacing.h"

#include "clock.h"

#define BITS_PER_BYTE 8

void pacing_init(struct pacing *pacing, uint64_t rate_bps, uint32_t wire_bytes, uint64_t start_ps, uint32_t jitter_ppm, uint64_t seed)
{
	uint64_t total = (uint64_t)wire_bytes * BITS_PER_BYTE * PS_PER_S;

	*pacing = (struct pacing){
		.whole_ps = total / rate_bps,
		.part = total % rate_bps,
		.rate_bps = rate_bps,
		.jitter_ppm = jitter_ppm,
		/* xorshift64* must not start at 0. */
		.random = seed * UINT64_C(0x9E3779B97F4A7C15) | 1,
		.due_ps = start_ps,
	};
}

/* Even in [0, 2^32). */
static uint32_t draw(struct pacing *pacing)
{
	pacing->random ^= pacing->random >> 12;
	pacing->random ^= pacing->random << 25;
	pacing->random ^= pacing->random >> 27;
	return (uint32_t)(pacing->random * UINT64_C(0x2545F4914F6CDD1D) >> 32);
}

void pacing_next(struct pacing *pacing)
{
	uint64_t gap_ps = pacing->whole_ps;

	pacing->carry += pacing->part;
	if (pacing->carry >= pacing->rate_bps) {
		pacing->carry -= pacing->rate_bps;
		gap_ps++;
	}
	if (pacing->jitter_ppm) {
		uint64_t half_ps = pacing->whole_ps / PACING_WHOLE * pacing->jitter_ppm +
				   pacing->whole_ps % PACING_WHOLE * pacing->jitter_ppm / PACING_WHOLE;
		unsigned __int128 spread = (unsigned __int128)draw(pacing) * (2 * half_ps + 1);

		gap_ps = gap_ps - half_ps + (uint64_t)(spread >> 32);
	}
	pacing->due_ps += gap_ps;
}

void pacing_resume(struct pacing *pacing, uint64_t now_ps)
{
	pacing->due_ps = now_ps;
	pacing_next(pacing);
}
