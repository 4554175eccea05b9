/* A port of a node: the wire, an egress queue for each priority, flow control both ways, the accounting of what came in here.
 *
 *   wire ─▶ port_receive ─▶ the node ─▶ port_enqueue (of another port) ─▶ queue ─▶ gate ─▶ detector ─▶ port_transmit ─▶ wire
 *               │ control frames end here        ▲                                      │
 *               └ ingress bytes += ──────────────┼───────────── ingress bytes −= ◀──────┘
 */
#ifndef BACKWATER_PORT_H
#define BACKWATER_PORT_H

#include "backwater.h"
#include "counters.h"
#include "frame.h"
#include "wire.h"

/* What one credit stands for: the block of the InfiniBand specification. */
#define CREDIT_UNIT_BYTES 64

enum watchdog_action { WATCHDOG_DROP, WATCHDOG_FORWARD };

struct credits_config {
	/* Tc, and when the first message goes. */
	uint64_t period_ps, phase_ps;
	/* What a lane of this port holds, and what one at the other end does. */
	uint64_t buffer_bytes, peer_buffer_bytes;
};

enum flow_control { FLOW_NONE, FLOW_PFC, FLOW_CREDITS };

#define PORT_NAME_BYTES 32

struct port_config {
	char name[PORT_NAME_BYTES];
	uint8_t mac[6];
	/* The link: see wire.h. A rate of 0 leaves the pace to the device. */
	uint64_t rate_bps, delay_ps;
	uint32_t overhead_bytes;
	enum flow_control flow_control;
	/* Priorities (virtual lanes) under flow control, one bit each. The others are lossy. */
	uint8_t lossless;
	/* All zero: no watchdog, which is the default. There is one if `watchdog_detect_ps` is not 0; it works as that of SONiC (pfcwd) does, which
	 * has 200 ms, 200 ms, drop. `pause_ps` is filled in by port_init. */
	struct bw_pfc_config pfc;
	enum watchdog_action watchdog_action;
	struct credits_config credits;
	/* What an ingress priority under PFC may hold (xoff and headroom), and an egress queue of a lossy one. 0: as many as there are mbufs. */
	uint64_t ingress_limit_bytes, lossy_queue_bytes;
	/* The rate that times PAUSEs and that credits are compared with, where the wire has none of its own. */
	uint64_t nominal_bps;
	/* NULL: nothing is marked. Shared by all ports with the same parameters; outlives them. */
	const struct bw_detector *detector;
};

/* In which priorities a node holds back an upstream port: shared by its ports. */
struct holds {
	unsigned ports[PRIORITIES];
	uint64_t last_ps[PRIORITIES];
};

/* One priority of the egress side. */
struct lane {
	struct fifo queue;
	uint64_t bytes;
	uint32_t packets;
	/* Since when the first frame could have left: it came into an empty queue, or the gate opened. */
	uint64_t ready_ps;
	uint64_t closed_since_ps;
	struct bw_pfc_gate gate;
	struct bw_registers registers;
	uint8_t state;
};

/* One priority of the ingress side; of a virtual lane both directions. */
struct ingress {
	struct bw_pfc_ingress pfc;
	struct bw_credit_lane credit;
	/* Credit messages refused since the last that was taken. */
	unsigned refused;
};

struct port {
	struct wire wire;
	/* Bit p: frames wait in priority p; its gate is closed; it is in a storm; a PAUSE or RESUME for it is to be sent. */
	uint8_t backlog, closed, storming, pfc_due;
	bool credits_due;
	uint8_t holding;
	/* Of credits: how often the registers have begun anew. Frames of an earlier epoch hold nothing any more. */
	uint16_t epoch;
	enum flow_control flow_control;
	uint64_t control_ready_ps, next_credits_ps, next_refresh_ps;
	struct lane lanes[PRIORITIES];
	struct ingress ingress[PRIORITIES];
	struct port_config config;
	struct port_counters count;
	struct holds *holds;
	struct rte_mempool *pool;
	uint64_t random;
	/* Of the node's own: what a switch wants to know about the port (its number). */
	unsigned index;
};

/* To be followed by wire_join() or wire_attach() on port->wire. `holds` is shared by the ports of a node; frames that the
 * port itself makes (PFC, credits) come from `pool`; `seed` is for detectors that draw lots. */
void port_init(struct port *port, const struct port_config *config, struct holds *holds, struct rte_mempool *pool, uint64_t seed);

/* Frames for the node; what is for the port itself is taken in, what cannot be passed on is counted and freed. */
unsigned port_receive(struct port *port, uint64_t now_ps, struct rte_mbuf **frames, unsigned most);

/* Why the egress queue of a priority would not take a frame of so many bytes now; DROP_REASON_COUNT if it would. */
enum drop_reason port_refusal(const struct port *port, unsigned priority, uint32_t bytes);

/* Takes a frame into the egress queue of its priority, or counts it as dropped and frees it. Returns whether it was taken. */
bool port_enqueue(struct port *port, struct rte_mbuf *mbuf, uint64_t now_ps);

/* Sends what may be sent by now; returns how many frames. */
unsigned port_transmit(struct port *port, uint64_t now_ps);

/* A frame ends at this node, where it came in by `port`: its place in the ingress buffer is free, and so is the frame. */
void port_consume(struct port *port, struct rte_mbuf *mbuf, uint64_t now_ps);

/* One of those that share the place of a flooded frame has left; the last one frees it. */
void port_leave_shared(struct rte_mbuf *shared, uint64_t now_ps);

/* The same for one that is dropped here, for a reason, at the port where the reason lies. */
void port_drop(struct port *port, struct rte_mbuf *mbuf, enum drop_reason reason, uint64_t now_ps);

static inline uint64_t port_queued_bytes(const struct port *port, unsigned priority)
{
	return port->lanes[priority].bytes;
}

/* Frames in all egress queues and in the batch that the device has not taken yet. */
uint64_t port_queued_frames(const struct port *port);

/* Frames that the device of the port lost, as far as that is known (bed_read_devices()). */
uint64_t port_lost_at_device(const struct port *port);

/* The link has gone: what waits for it is dropped, what is on its wire counted as unsent and undelivered, no gate is closed any more, and
 * credits begin anew: whoever comes next does not know of what was before. */
void port_link_down(struct port *port, uint64_t now_ps);

/* It is there again: PAUSEs that are still needed are sent, and credits. */
void port_link_up(struct port *port, uint64_t now_ps);

/* Frees what is queued, counted as dropped by the shutdown. */
void port_empty(struct port *port);

/* Frees every frame of the port, counted as dropped by the shutdown, and what is on the wire from and to it, counted as unsent and as
 * undelivered. */
void port_drain(struct port *port);

#endif
