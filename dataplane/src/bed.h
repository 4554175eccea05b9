/* The testbed of this process: nodes, the clock, the pool of frames, and the loop that visits them all. */
#ifndef BACKWATER_BED_H
#define BACKWATER_BED_H

#include <stdbool.h>

#include "clock.h"
#include "lockstep.h"
#include "node.h"
#include "port.h"

#define BED_DEVICES_MOST 64
#define BED_LINKS_MOST 128

struct bed {
	struct graph graph;
	struct clock clock;
	struct lockstep lockstep;
	struct rte_mempool *pool;
	uint64_t seed;
	unsigned frame_bytes;
	/* 0: until told to stop. */
	uint64_t duration_ps;
	/* Set by a signal, or by a node that is done. */
	volatile bool stop;
	/* Ports on devices, whose links are looked at now and then; and pairs of ports in this process. */
	struct port *devices[BED_DEVICES_MOST];
	unsigned device_count;
	struct port *links[BED_LINKS_MOST][2];
	unsigned link_count;
	/* Rounds of the graph, and those in which nothing moved; frames still in use after the end (leaks). */
	uint64_t rounds, idle_rounds;
	unsigned leaked_frames;
	/* Frames that no counter of a node accounts for, or none of a link at the end: 0 (balance.h). */
	int64_t unaccounted_frames;
};

/* False, with a message on stderr, if the pool or the lockstep page cannot be had. DPDK is running. */
bool bed_init(struct bed *bed, unsigned frames, unsigned frame_bytes, uint64_t seed);

/* Adds a node; false if there are too many. */
bool bed_add(struct bed *bed, struct node *node);

/* Joins two ports of this process. */
bool bed_join(struct bed *bed, struct port *one, struct port *other);

/* Puts a port on a device (see device.h), which is started: memif servers before clients. */
bool bed_attach(struct bed *bed, struct port *port, const char *device);

/* Waits for links and for the other processes of a lockstep. False, with a message on stderr, if they do not come. */
bool bed_wait(struct bed *bed, unsigned timeout_ms);

/* Takes over what the devices have lost so far. Not from two threads at a time. */
void bed_read_devices(struct bed *bed);

/* Visits the nodes until the time is over or `stop` is set. */
void bed_run(struct bed *bed);

/* Stops the devices and frees every frame; then `leaked_frames` is known and the counters can still be read. */
void bed_stop(struct bed *bed);

/* Frees the nodes. */
void bed_close(struct bed *bed);

#endif
