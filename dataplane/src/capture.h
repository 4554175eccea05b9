/* Frames into a pcapng file, stamped by the clock of the testbed in nanoseconds since the start of the run.
 *
 * DPDK's librte_pcapng stamps by the time-stamp counter and wants an ethdev for each interface; neither fits a testbed whose time
 * is its own and whose wires are rings. Format: draft-ietf-opsawg-pcapng; blocks SHB, IDB, EPB in the machine's byte order. */
#ifndef BACKWATER_CAPTURE_H
#define BACKWATER_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "bed.h"

struct capture;

/* Where frames of one port go: `struct wire` points to it. */
struct capture_interface {
	struct capture *file;
	uint32_t number;
};

/* Creates the file. Of each frame at most `snap_bytes` (0: all) are kept. NULL, and errno, if it cannot be written. */
struct capture *capture_open(const char *path, uint32_t snap_bytes);

/* Captures what all ports of the bed send, and what comes in from devices: each frame once per link. Call it when all nodes and
 * links are made. False if there is no memory. */
bool capture_bed(struct capture *capture, struct bed *bed);

/* One port, by a name that is shown beside its frames; NULL if there is no memory. For tests. */
struct capture_interface *capture_add(struct capture *capture, const char *name, uint64_t rate_bps);

/* A frame that started at `start_ps`; `inbound` if it came in. After the first write that failed nothing more is written. */
void capture_frame(const struct capture_interface *interface, const struct rte_mbuf *mbuf, uint64_t start_ps, bool inbound);

/* Writes what is still in memory. 0, or -errno of the first write that failed; frames written so far in `*frames`. */
int capture_close(struct capture *capture, uint64_t *frames);

#endif
