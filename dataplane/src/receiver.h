/* A node that counts what arrives, per flow and window of time, by code point, and answers CE with CNPs.
 *
 * CNPs as in DCQCN (SIGCOMM 2015, §3.1, NP algorithm): for a packet with CE at once, then no more than one per interval for each flow.
 * UE is counted and not answered: what a source would do on UE is nothing (TCD §5.2.1), and a RoCEv2 CNP has no place for it. */
#ifndef BACKWATER_RECEIVER_H
#define BACKWATER_RECEIVER_H

#include "node.h"
#include "port.h"
#include "roce.h"

struct expected_flow {
	const char *name;
	uint32_t from_ip, queue_pair;
};

struct receiver_config {
	const char *name;
	struct port_config port;
	uint32_t ip;
	unsigned flow_count;
	const struct expected_flow *flows;
	uint64_t window_ps;
	/* Windows that are kept; what comes later counts in the last one. */
	unsigned window_count;
	/* 0: no CNPs. */
	uint64_t cnp_interval_ps;
	uint8_t cnp_priority;
};

/* NULL if there is no memory. The names must outlive it. */
struct node *receiver_make(const struct receiver_config *config, struct rte_mempool *pool);

#endif
