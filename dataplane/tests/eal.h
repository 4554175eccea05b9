/* DPDK for a unit test: no huge pages, no devices, nothing shared with other tests. */
#ifndef BACKWATER_TEST_EAL_H
#define BACKWATER_TEST_EAL_H

#include <rte_eal.h>

#include "check.h"
#include "frame.h"

static inline struct rte_mempool *start_eal(unsigned frames)
{
	char *arguments[] = { "test", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry", "-l", "0", "--no-shconf", "--log-level=4", NULL };
	struct rte_mempool *pool;

	CHECK(rte_eal_init(10, arguments) >= 0);
	pool = frame_pool("test", frames, 2048);
	CHECK(pool != NULL);
	return pool;
}

#endif
