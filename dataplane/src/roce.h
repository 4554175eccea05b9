/* RoCEv2 frames: Ethernet, IPv4, UDP to port 4791, base transport header (BTH), payload, invariant check sequence (ICRC).
 *
 * InfiniBand Architecture Specification vol. 1, 9.2 (BTH) and annex A17 (RoCEv2, its ICRC and its congestion notification packet).
 * The priority stands in the IP class selector (DSCP = 8 × priority), as switches that trust DSCP take it. */
#ifndef BACKWATER_ROCE_H
#define BACKWATER_ROCE_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"

#define ROCE_UDP_PORT 4791
/* RC SEND Only: each packet is a message of its own. */
#define ROCE_SEND_ONLY 0x04
#define ROCE_CNP 0x81
/* 14 + 20 + 8 + 12 before the payload, 4 after it. */
#define ROCE_HEADER_BYTES 54
#define ROCE_ICRC_BYTES 4
#define ROCE_CNP_PAYLOAD_BYTES 16
#define ROCE_PSN_MASK 0xFFFFFFu

/* Two ends and what identifies a flow between them. */
struct roce_path {
	uint8_t from_mac[6], to_mac[6];
	uint32_t from_ip, to_ip;
	uint16_t udp_source;
	uint32_t queue_pair;
	uint8_t priority;
	/* ECN bits: 0 not capable, 1 capable. */
	uint8_t code;
};

/* What stands in a frame. */
struct roce_view {
	uint32_t from_ip, to_ip, queue_pair, psn, payload_bytes;
	uint16_t udp_source;
	uint8_t opcode, code;
	/* Whether the ICRC is right. */
	bool intact;
};

/* Chooses the fastest code for check sequences that this processor has. */
void roce_init(void);

/* Bytes of a frame without its frame check sequence. The payload is padded to a multiple of four. */
uint32_t roce_frame_bytes(uint32_t payload_bytes);

/* Writes all of a frame but PSN and ICRC; `bytes` has room for roce_frame_bytes(). The payload counts up, so that a shift shows. */
void roce_template(uint8_t *bytes, const struct roce_path *path, uint8_t opcode, uint32_t payload_bytes);

/* Puts packet number `psn` (24 bits) into a frame, and then its ICRC. */
void roce_number(uint8_t *bytes, uint32_t frame_bytes, uint32_t psn);

/* A notification of congestion to the source of what `seen` arrived on: `path` is the way back. */
void roce_write_cnp(uint8_t *bytes, const struct roce_path *path);

/* Reads a frame in one segment whose headers were read into `frame`; false if it is no whole RoCEv2 over IPv4 without options. */
bool roce_read(struct rte_mbuf *mbuf, const struct frame *frame, struct roce_view *view);

#endif
