/* Credit-based flow control of one port: what each virtual lane may send, and what it lets the other end send, in blocks of 64 B.
 *
 * InfiniBand Architecture Specification vol. 1, 7.9, with counters of 64 bits: 12 bits cannot express 800 KB. Messages go over
 * Ethernet (EtherType 0x88B5) every Tc and carry for each lane FCTBS (blocks sent since the start) and FCCL (blocks that may be
 * sent since the start). No buffer allows an FCCL of more than FCTBS and the whole buffer, or one that falls; messages that
 * say so are refused. ABR follows FCTBS, so what was lost on the way does not cost its room for ever.
 *
 * (tshark calls PFC "Class Based Flow Control [CBFC]": not this.) */
#ifndef BACKWATER_CREDITS_H
#define BACKWATER_CREDITS_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "counters.h"

#define CREDIT_BLOCK_BYTES 64
#define CREDIT_VERSION 1

struct credits_config {
	/* Tc, and when the first message goes. */
	uint64_t period_ps, phase_ps;
	/* What a lane of this port holds, and what one at the other end does. */
	uint64_t buffer_bytes, peer_buffer_bytes;
};

static inline uint64_t credit_blocks(uint64_t bytes)
{
	return (bytes + CREDIT_BLOCK_BYTES - 1) / CREDIT_BLOCK_BYTES;
}

/* What this end may send on one lane. */
struct credit_sender {
	uint64_t sent, limit, buffer;
};

/* What the other end may send. */
struct credit_receiver {
	uint64_t received, held, buffer;
};

void credit_sender_init(struct credit_sender *sender, uint64_t peer_buffer_bytes);
void credit_receiver_init(struct credit_receiver *receiver, uint64_t buffer_bytes);

static inline bool credit_fits(const struct credit_sender *sender, uint64_t blocks)
{
	return sender->limit - sender->sent >= blocks;
}

/* A packet arrived; false if there was no room for it, which a correct other end never lets happen. Then it is not held. */
bool credit_arrive(struct credit_receiver *receiver, uint64_t blocks);
uint64_t credit_limit(const struct credit_receiver *receiver);

enum credit_verdict { CREDIT_FINE, CREDIT_RESYNC, CREDIT_PAST, CREDIT_FUTURE };

/* Takes both registers of a message if both are possible, or neither. CREDIT_RESYNC: fine, and blocks were lost on the way. */
enum credit_verdict credit_update(struct credit_sender *sender, struct credit_receiver *receiver, uint64_t fctbs, uint64_t fccl);

struct credit_message {
	uint8_t lanes;
	uint64_t fctbs[PRIORITIES], fccl[PRIORITIES];
};

/* Layout behind the Ethernet header, big-endian: version (1 octet), lanes (1), zero (2), then for each lane of `lanes`, lowest first, FCTBS
 * (8) and FCCL (8). False if the frame is too short, of another version or another destination. */
bool credit_read(const struct rte_mbuf *mbuf, struct credit_message *message);
void credit_write(struct rte_mbuf *mbuf, const uint8_t source[6], const struct credit_message *message);

#endif
