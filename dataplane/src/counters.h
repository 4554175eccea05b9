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
	X(DROP_PFC, "pfc", "PFC frame that is too short, tagged, has another destination or an impossible class vector") \
	X(DROP_CREDIT, "credit", "credit message that cannot be read") \
	X(DROP_CREDIT_LANE, "credit_lane", "credit message for a virtual lane without credits") \
	X(DROP_CREDIT_PAST, "credit_past", "credit message with registers behind those already seen") \
	X(DROP_CREDIT_FUTURE, "credit_future", "credit message with registers that no buffer allows") \
	X(DROP_UNKNOWN_PORT, "unknown_destination", "no entry for the destination, and no port to flood to") \
	X(DROP_SAME_PORT, "same_port", "destination is where the frame came from") \
	X(DROP_HEADROOM, "headroom", "ingress buffer of its priority is full") \
	X(DROP_QUEUE, "queue", "egress queue of a lossy priority is full") \
	X(DROP_TOO_LONG, "too_long", "longer than the egress device can send") \
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

/* What a port counts. ONE(field, kind, help); MANY(field, how many, label, kind, help). JSON and Prometheus both have all of them: the
 * structure, and what they write, are made of this list. */
#define PORT_COUNTERS(ONE, MANY) \
	ONE(rx_frames, COUNTER, "Frames that came in.") \
	ONE(rx_bytes, COUNTER, "Bytes that came in, without preamble and check sequence.") \
	ONE(rx_control, COUNTER, "PFC frames and credit messages taken in.") \
	ONE(tx_frames, COUNTER, "Frames sent on, without control frames.") \
	ONE(tx_bytes, COUNTER, "Bytes sent on.") \
	ONE(tx_control, COUNTER, "PFC frames and credit messages sent.") \
	ONE(made_frames, COUNTER, "Frames that the node made itself, without control frames.") \
	ONE(consumed_frames, COUNTER, "Frames that ended here, at a host.") \
	MANY(drops, DROP_REASON_COUNT, LABEL_REASON, COUNTER, "Frames dropped, by reason.") \
	ONE(flood_copies, COUNTER, "Copies made to flood frames to unknown destinations.") \
	ONE(unsent_frames, COUNTER, "Frames counted as sent that the link had not taken when it went down or the run ended.") \
	ONE(undelivered_frames, COUNTER, "Frames on their way here when the link went down or the run ended.") \
	ONE(marked_ue, COUNTER, "Packets marked UE (undetermined).") \
	ONE(marked_ce, COUNTER, "Packets marked CE (congestion).") \
	MANY(departures_in_state, 4, LABEL_STATE, COUNTER, "Packets sent, by the state that the detector saw the port in.") \
	MANY(pause_sent, PRIORITIES, LABEL_PRIORITY, COUNTER, "PAUSEs sent.") \
	MANY(resume_sent, PRIORITIES, LABEL_PRIORITY, COUNTER, "RESUMEs sent.") \
	MANY(pause_received, PRIORITIES, LABEL_PRIORITY, COUNTER, "PAUSEs received.") \
	MANY(resume_received, PRIORITIES, LABEL_PRIORITY, COUNTER, "RESUMEs received.") \
	MANY(off_periods, PRIORITIES, LABEL_PRIORITY, COUNTER, "Times the gate closed.") \
	MANY(paused_ps, PRIORITIES, LABEL_PRIORITY, COUNTER, "How long the gate was closed, with the OFF period that is not over.") \
	ONE(pause_unknown_priority, COUNTER, "PAUSEs for priorities without PFC.") \
	ONE(pause_expired, COUNTER, "PAUSEs that ended without a RESUME.") \
	ONE(storms, COUNTER, "PFC storms that the watchdog found.") \
	ONE(storms_over, COUNTER, "PFC storms that ended.") \
	ONE(pauses_ignored, COUNTER, "PAUSEs that came during a storm.") \
	ONE(credit_sent, COUNTER, "Credit messages sent.") \
	ONE(credit_received, COUNTER, "Credit messages obeyed.") \
	ONE(credit_resyncs, COUNTER, "Credit messages that reported lost packets.") \
	ONE(credit_restarts, COUNTER, "Times a peer had begun anew and its registers were taken over.") \
	ONE(link_downs, COUNTER, "Times the link went down.") \
	ONE(device_missed, COUNTER, "Frames that the device had no place for: lost.") \
	ONE(device_no_buffer, COUNTER, "Times the device found no packet buffer for a frame, which then waits or is missed.") \
	ONE(device_rx_errors, COUNTER, "Frames that came in damaged, or too long for the device: lost.") \
	ONE(device_tx_errors, COUNTER, "Frames that the device took and did not send: lost.") \
	ONE(tx_retries, COUNTER, "Batches that the device did not take at once.") \
	ONE(control_retries, COUNTER, "Control frames that waited for a packet buffer.") \
	ONE(ingress_most_bytes, GAUGE, "Most bytes that one ingress priority has held.") \
	ONE(queue_most_bytes, GAUGE, "Most bytes that one egress queue has held.")

/* Every frame that came in is counted once in rx_frames, and once more in rx_control (taken in), in drops, in consumed_frames (the end
 * of its way), or as passed on. Of each node:
 *
 *   rx_frames + flood_copies + made_frames = rx_control + drops + consumed_frames + tx_frames + frames still queued
 *
 * where control frames of the node itself are in tx_control, not in tx_frames; and of each link inside the process, at the end:
 *
 *   tx_frames + tx_control - unsent_frames of one port = rx_frames + undelivered_frames of the other
 *
 * balance.h adds them up. */
struct port_counters {
#define ONE(field, kind, help) uint64_t field;
#define MANY(field, n, label, kind, help) uint64_t field[n];
	PORT_COUNTERS(ONE, MANY)
#undef ONE
#undef MANY
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

static inline int64_t counted_signed(const int64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

#endif
