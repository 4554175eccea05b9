/* One end of a link: rate and delay, over a ring in this process or over a device.
 *
 * Rate: a frame that starts at t ends at t + (bytes + overhead) / rate, and the next starts no earlier. Nodes are only visited now and
 * then, so a frame may start in the past, but no earlier than it could (port.c) and no earlier than the allowance (4 us at
 * 10 Gbps): what a stall of the machine costs beyond that is lost, and no burst above line rate makes up for it.
 * Delay: a frame can be received `delay` after its last bit was sent. In a ring it carries its time of arrival; what comes from a
 * device arrives `delay` after it was found there.
 * A rate of 0 emulates nothing: the device sets the pace, and a frame that it refuses is offered again (back-pressure). */
#ifndef BACKWATER_WIRE_H
#define BACKWATER_WIRE_H

#include "frame.h"

struct capture_interface;

#define WIRE_BURST 32
/* Preamble and start (8), frame check sequence (4), inter-packet gap (12): what Ethernet adds to a frame's bytes. IEEE Std 802.3. */
#define ETHERNET_OVERHEAD_BYTES 24

struct wire {
	uint64_t rate_bps, delay_ps;
	uint32_t overhead_bytes;
	/* Exact picoseconds per byte, or 0 where they are no whole number. */
	uint64_t byte_ps;
	uint64_t allowance_ps;
	uint64_t busy_until_ps;
	/* Frames on their way to this end, by time of arrival. */
	struct fifo arriving;
	/* Frames sent, not yet taken by the ring or the device. */
	struct rte_mbuf *batch[WIRE_BURST];
	unsigned batched;
	/* Either rings, or a device and a queue of it. */
	struct rte_ring *outbound, *inbound;
	uint16_t device;
	bool is_device, down;
	/* What can be sent over it. */
	uint32_t longest_bytes;
	uint64_t *retries;
	/* Where frames are captured; NULL: nowhere (capture.h). */
	const struct capture_interface *tap;
};

/* `retries` counts batches that were not taken whole. */
void wire_init(struct wire *wire, uint64_t rate_bps, uint64_t delay_ps, uint32_t overhead_bytes, uint64_t *retries);

/* Joins two ends in this process. 0, or -rte_errno. Both have the same delay; `name` is unique in the process. */
int wire_join(struct wire *one, struct wire *other, const char *name);

/* Puts an end on a started device, which can send frames of up to `longest_bytes`. */
void wire_attach(struct wire *wire, uint16_t device, uint32_t longest_bytes);

/* (bytes + overhead) at the rate of the wire, rounded up. 0 without a rate. */
uint64_t wire_time_ps(const struct wire *wire, uint32_t bytes);

/* 40 000 bit times: 4 us at 10 Gbps. */
uint64_t wire_allowance_ps(uint64_t rate_bps);

/* Whether a frame can start now; `*start_ps` is when it does, not before `ready_ps`. */
bool wire_can_start(const struct wire *wire, uint64_t now_ps, uint64_t ready_ps, uint64_t *start_ps);

/* Starts a frame at the time that wire_can_start() gave; the wire owns it from now on. */
void wire_send(struct wire *wire, struct rte_mbuf *mbuf, uint64_t start_ps);

/* Offers what was sent to the ring or device; true if all was taken. */
bool wire_flush(struct wire *wire);

/* Takes up to `most` frames that have arrived by now. */
unsigned wire_receive(struct wire *wire, uint64_t now_ps, struct rte_mbuf **frames, unsigned most);

/* Frees what this end could not hand over, and what is on the wire towards it; how many of either. */
void wire_drain(struct wire *wire, unsigned *unsent, unsigned *undelivered);

/* Frees the rings of a joined pair, once both ends are drained. */
void wire_part(struct wire *one, struct wire *other);

#endif
