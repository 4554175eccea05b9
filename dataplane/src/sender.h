/* A node that sends paced flows of RoCEv2 packets, and counts the congestion notifications (CNPs) that come back.
 *
 * There is no congestion control: the flows of the testbed (TCD, §5.1.1) have fixed rates. What flow control holds up a flow
 * loses, unless `catch_up` is set: at most one packet of it waits in the queue of the NIC. */
#ifndef BACKWATER_SENDER_H
#define BACKWATER_SENDER_H

#include "node.h"
#include "port.h"
#include "roce.h"

struct flow_config {
	const char *name;
	struct roce_path path;
	/* Of what the packets occupy on the wire (with preamble, check sequence and gap); 0: whatever the link allows. */
	uint64_t rate_bps;
	uint64_t start_ps;
	/* No packet is due from then on; UINT64_MAX: ever. */
	uint64_t stop_ps;
	/* Payload to send; 0: no end. The last packet is as large as the others. */
	uint64_t size_bytes;
	uint32_t payload_bytes;
	uint32_t jitter_ppm;
	bool catch_up;
};

/* Flows of one sender. */
#define SENDER_FLOWS_MOST 64

struct sender_config {
	const char *name;
	struct port_config port;
	unsigned flow_count;
	const struct flow_config *flows;
	uint64_t seed;
};

/* NULL if there is no memory. The names must outlive it. Its node is its first member: (struct node *)sender. */
struct node *sender_make(const struct sender_config *config, struct rte_mempool *pool);

#endif
