/* The switch: takes frames in at all ports, looks up where they go, and lets all ports send. */
#ifndef BACKWATER_SWITCH_H
#define BACKWATER_SWITCH_H

#include "l2.h"
#include "node.h"
#include "port.h"

struct switch_config {
	const char *name;
	/* Learn addresses, and flood what is unknown. Else only l2_fix() tells where frames go, and the rest is dropped. */
	bool learning;
	uint64_t ageing_ps;
	unsigned port_count;
	const struct port_config *ports;
};

struct bridge {
	struct node node;
	struct l2_table table;
	struct holds holds;
	struct rte_mempool *pool;
	bool learning;
	uint64_t now_ps;
};

/* NULL if there is no memory. `name` must outlive it. */
struct bridge *switch_make(const struct switch_config *config, struct rte_mempool *pool, uint64_t seed);

#endif
