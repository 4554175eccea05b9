/* The detector of an egress port, by way of the C interface of `crates/control`: the code that the simulator runs, per packet. */
#ifndef BACKWATER_DETECTOR_H
#define BACKWATER_DETECTOR_H

#include <stdint.h>

/* Its parameters: shared by all ports that use them. */
struct detector;

/* What it remembers about one egress port and priority. */
struct detector_registers {
	uint64_t words[4];
};

struct detector_departure {
	uint64_t now_ps;
	/* Left in the queue without the packet. */
	uint64_t queue_bytes;
	/* Last instant at which this node held back an upstream port in this priority; now if it does, 0 if it never did. */
	uint64_t last_hold_ps;
	uint32_t size_bytes;
	uint8_t code;
};

/* The packet's new code point; `*state` becomes what the port is held to be (0 non-congestion, 1 congestion, 2 undetermined, 3 judging). */
uint8_t detector_on_dequeue(const struct detector *detector, struct detector_registers *registers,
			    const struct detector_departure *departure, uint32_t draw, uint8_t *state);

/* The gate of the port opened, with so much in its queue. */
void detector_on_resume(const struct detector *detector, struct detector_registers *registers, uint64_t now_ps, uint64_t queue_bytes,
			uint32_t packets);

#endif
