/* A switch on a bench: two or more ports whose far ends the test holds in its hands, and a clock that it moves by hand. Links of 10 Gbps
 * without overhead, so that 1000 B take 800 ns, and 10 us of delay. */
#ifndef BACKWATER_LAB_H
#define BACKWATER_LAB_H

#include "check.h"
#include "clock.h"
#include "switch.h"

#define LAB_PORTS 3
#define LAB_RATE UINT64_C(10000000000)
#define LAB_DELAY_PS (10 * PS_PER_US)
#define LAB_STEP_PS (100 * PS_PER_NS)

struct lab {
	struct bridge *bridge;
	struct port *ports;
	struct wire ends[LAB_PORTS];
	uint64_t retries, now_ps;
	struct rte_mempool *pool;
	unsigned frames;
};

/* Starts DPDK once per program. */
void lab_open(void);

/* A switch with static forwarding: address 02:00:00:00:00:0n leads to port n. */
void lab_make(struct lab *lab, const struct port_config *ports, bool learning);

/* What every port has unless the test says otherwise: PFC on all priorities, xoff 8000 B, xon 5000 B, 65 535 quanta. */
struct port_config lab_port(void);

/* A frame of `bytes` for port `to` in a priority, ECN capable; NULL if the pool is empty. */
struct rte_mbuf *lab_frame(struct lab *lab, unsigned to, unsigned priority, uint16_t bytes);

/* The far end of `port` sends a frame as soon as the wire is free, not before `at_ps`. */
void lab_send(struct lab *lab, unsigned port, struct rte_mbuf *mbuf, uint64_t at_ps);

/* The far end of `port` sends a PFC frame at `at_ps`. */
void lab_pause(struct lab *lab, unsigned port, unsigned priority, uint16_t quanta, uint64_t at_ps);

/* Lets time pass until `until_ps`, in steps of 100 ns. */
void lab_run(struct lab *lab, uint64_t until_ps);

/* The next frame that has arrived at the far end of `port` by now, or NULL; `*sent_ps` is when its first bit left the switch. */
struct rte_mbuf *lab_next(struct lab *lab, unsigned port, uint64_t *sent_ps);

/* Everything is freed, every frame accounted for. */
void lab_close(struct lab *lab);

#endif
