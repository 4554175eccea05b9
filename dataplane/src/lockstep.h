/* Several processes, one time: a page of shared memory holds the clock of each, and none gets further ahead of the slowest than
 * the lookahead, which is at most the propagation delay between them.
 *
 * All must have joined before any leaves time zero. One that ends cleanly leaves (its clock is "for ever"); one that was killed
 * is found by the lock that the kernel took from it, and counted in `lost` by each of the others, which go on and can say so.
 * Started again it joins at the time of the slowest. A page that a run left behind does not disturb the next one. */
#ifndef BACKWATER_LOCKSTEP_H
#define BACKWATER_LOCKSTEP_H

#include <stdbool.h>
#include <stdint.h>

#define LOCKSTEP_MOST 64
#define LOCKSTEP_PATH 108

struct lockstep_page;

struct lockstep {
	struct lockstep_page *page;
	int file;
	char path[LOCKSTEP_PATH];
	unsigned self;
	unsigned processes;
	uint64_t lookahead_ps;
	/* Number of the run on this page, and the time at which this process joined it. */
	uint32_t run;
	uint64_t start_ps;
	/* The least clock of the others when last looked at. */
	uint64_t horizon_ps;
	unsigned held_back;
	uint64_t yields;
	unsigned lost;
	/* Of a process that was killed: how often its number had been taken. */
	uint32_t buried[LOCKSTEP_MOST];
	/* Set from a signal handler: a process that waits for the others must still end when it is told to. */
	const volatile bool *stop;
};

/* Opens or makes the page in the file `path` (beneath /dev/shm, say), and joins as number `self` of `processes`. 0, or -errno,
 * which lockstep_why has words for. */
int lockstep_join(struct lockstep *lockstep, const char *path, unsigned self, unsigned processes, uint64_t lookahead_ps);

const char *lockstep_why(int error);

/* Waits until all have joined, at most `timeout_ms`; false if they have not. */
bool lockstep_wait_for_all(struct lockstep *lockstep, unsigned timeout_ms);

/* Publishes and returns the time that may be reached now: at most `wanted_ps`, at least `now_ps`. Yields the core if held back. */
uint64_t lockstep_advance(struct lockstep *lockstep, uint64_t now_ps, uint64_t wanted_ps);

/* The others need not wait for this process any more; the last one removes the file. Returns when they have left, too, or after `patience_ms`: whoever closes
 * its devices earlier takes memory away from beneath those that still send (memif's). */
void lockstep_leave(struct lockstep *lockstep, unsigned patience_ms);

#endif
