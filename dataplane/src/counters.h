/* What is counted, per port. Written by the one thread of the data plane, read by others at any time: plain words, relaxed. */
#ifndef BACKWATER_COUNTERS_H
#define BACKWATER_COUNTERS_H

#include <stdint.h>

#define PRIORITIES 8

/* Why a frame went no further. X(symbol, name in JSON and Prometheus, sentence) */
#define DROP_REASONS(X) \
	X(DROP_RUNT, "runt", "shorter than its headers") \
	X(DROP_SOURCE, "source", "source address is a group address") \
	X(DROP_RESERVED, "reserved", "sent to an address that bridges do not forward (01:80:C2:00:00:0X)") \
	X(DROP_MAC_CONTROL, "mac_control", "MAC control frame that is not PFC") \
	X(DROP_PFC, "pfc", "PFC frame that is too short, has another destination or an impossible class vector") \
	X(DROP_CREDIT, "credit", "credit message that cannot be read") \
	X(DROP_CREDIT_LANE, "credit_lane", "credit message for a virtual lane without credits") \
	X(DROP_CREDIT_PAST, "credit_past", "credit message with registers behind those already seen") \
	X(DROP_CREDIT_FUTURE, "credit_future", "credit message with registers that no buffer allows") \
	X(DROP_UNKNOWN_PORT, "unknown_destination", "no entry for the destination, and no port to flood to") \
	X(DROP_SAME_PORT, "same_port", "destination is where the frame came from") \
	X(DROP_HEADROOM, "headroom", "ingress buffer of its priority is full") \
	X(DROP_QUEUE, "queue", "egress queue of a lossy priority is full") \
	X(DROP_WATCHDOG, "watchdog", "priority is in a PFC storm") \
	X(DROP_NO_MBUF, "no_mbuf", "no packet buffer for a copy (flooding)") \
	X(DROP_LINK_DOWN, "link_down", "egress link is down") \
	X(DROP_SHUTDOWN, "shutdown", "still queued when the program ended")

enum drop_reason {
#define X(symbol, name, sentence) symbol,
	DROP_REASONS(X)
#undef X
	DROP_REASON_COUNT
};

const char *drop_reason_name(enum drop_reason reason);
const char *drop_reason_sentence(enum drop_reason reason);

/* Every frame that came in is counted once in rx_frames, and once more in rx_control (taken in), in drops, or as passed on:
 *
 *   sum of rx_frames + flood_copies = sum of rx_control + drops + tx_frames + frames still queued + made - of the node's own
 *
 * where control frames of this node are in tx_control, not in tx_frames. switch_balance() adds it up. */
struct port_counters {
	uint64_t rx_frames, rx_bytes, rx_control;
	uint64_t tx_frames, tx_bytes, tx_control;
	uint64_t drops[DROP_REASON_COUNT];
	uint64_t flood_copies;
	/* Marks set here, by meaning, and departures by the state the detector saw (non-congestion, congestion, undetermined, judging). */
	uint64_t marked_ue, marked_ce;
	uint64_t departures_in_state[4];
	/* PFC frames by what they say. A frame may do several; these count (frame, priority). */
	uint64_t pause_sent[PRIORITIES], resume_sent[PRIORITIES];
	uint64_t pause_received[PRIORITIES], resume_received[PRIORITIES];
	uint64_t pause_unknown_priority, pause_expired;
	uint64_t off_periods[PRIORITIES];
	uint64_t paused_ps[PRIORITIES];
	/* PFC watchdog: storms found, storms over, PAUSEs not obeyed meanwhile. */
	uint64_t storms, storms_over, pauses_ignored;
	uint64_t credit_sent, credit_received, credit_resyncs;
	/* The device did not take a frame at once; no buffer for a control frame. Both are tried again, nothing is lost. */
	uint64_t tx_retries, control_retries;
	/* Most bytes of one ingress priority and of one egress queue. */
	uint64_t ingress_most_bytes, queue_most_bytes;
};

/* One writer. */
static inline void count(uint64_t *counter, uint64_t by)
{
	__atomic_store_n(counter, *counter + by, __ATOMIC_RELAXED);
}

static inline void count_most(uint64_t *counter, uint64_t value)
{
	if (value > *counter)
		__atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

static inline uint64_t counted(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

#endif
