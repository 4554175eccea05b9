/* PFC of one port: when it holds back the other end (ingress), and when the other end holds it back (gate).
 *
 * IEEE Std 802.1Q-2018, clause 36 and annex O; the frame is that of IEEE Std 802.3, annex 31D. A PAUSE lasts for a time in quanta of
 * 512 bits and is sent again at half of it for as long as it is needed; a gate opens at the RESUME (time 0), or when the time is
 * over. The watchdog is that of SONiC (pfcwd): a priority that waits behind a closed gate for `detect` is in a storm until no
 * PAUSE has come for `restore`. */
#ifndef BACKWATER_PFC_H
#define BACKWATER_PFC_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "counters.h"

#define PFC_QUANTUM_BITS 512
#define PFC_OPCODE 0x0101
/* Ethernet header, opcode, class vector, eight times; padded to the least frame without its check sequence. */
#define PFC_MEANT_BYTES (14 + 2 + 2 + 2 * PRIORITIES)
#define LEAST_FRAME_BYTES 60

enum watchdog_action { WATCHDOG_DROP, WATCHDOG_FORWARD };

struct pfc_config {
	/* Of one ingress priority: PAUSE above xoff, RESUME at or below xon. */
	uint64_t xoff_bytes, xon_bytes;
	/* The time in a PAUSE, 1 to 65 535 quanta. */
	uint16_t quanta;
	/* 0: no watchdog. SONiC: 200 ms, 200 ms, drop. */
	uint64_t watchdog_detect_ps, watchdog_restore_ps;
	enum watchdog_action watchdog_action;
};

/* The bytes of one ingress priority. */
struct pfc_ingress {
	uint64_t bytes;
	uint64_t refresh_at_ps;
	bool holding;
};

/* Bytes arrive or leave; true if a PAUSE (arrival) or a RESUME (departure) is due. */
bool pfc_arrive(struct pfc_ingress *ingress, const struct pfc_config *config, uint32_t bytes);
bool pfc_depart(struct pfc_ingress *ingress, const struct pfc_config *config, uint32_t bytes);

/* The gate of one egress priority. */
struct pfc_gate {
	bool closed, storm;
	uint64_t opens_at_ps, closed_since_ps, last_pause_ps;
};

enum gate_change { GATE_SAME, GATE_OPENED, GATE_CLOSED };

/* A PAUSE for `lasts_ps` (0: a RESUME) arrived. In a storm it changes nothing. */
enum gate_change pfc_gate_pause(struct pfc_gate *gate, uint64_t now_ps, uint64_t lasts_ps);

/* Time passes; GATE_OPENED if the pause is over without a RESUME. */
enum gate_change pfc_gate_expire(struct pfc_gate *gate, uint64_t now_ps);

enum storm_change { STORM_SAME, STORM_BEGINS, STORM_ENDS };

/* `waiting`: frames are queued behind the gate. A storm opens the gate. */
enum storm_change pfc_watchdog(struct pfc_gate *gate, const struct pfc_config *config, uint64_t now_ps, bool waiting);

/* What a PFC frame says: for each priority of `vector` a time in quanta. */
struct pfc_message {
	uint8_t vector;
	uint16_t quanta[PRIORITIES];
};

/* False unless the frame is long enough, goes to the PAUSE address and its class vector has eight bits. */
bool pfc_read(const struct rte_mbuf *mbuf, struct pfc_message *message);

/* Puts a PFC frame into an empty mbuf. */
void pfc_write(struct rte_mbuf *mbuf, const uint8_t source[6], const struct pfc_message *message);

#endif
