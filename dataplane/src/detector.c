/* See detector.h. */
#include "detector.h"

uint8_t detector_on_dequeue(const struct detector *detector, struct detector_registers *registers,
			    const struct detector_departure *departure, uint32_t draw, uint8_t *state)
{
	(void)detector, (void)registers, (void)draw, (void)state;
	return departure->code;
}

void detector_on_resume(const struct detector *detector, struct detector_registers *registers, uint64_t now_ps, uint64_t queue_bytes,
			uint32_t packets)
{
	(void)detector, (void)registers, (void)now_ps, (void)queue_bytes, (void)packets;
}
