/* See credits.h. */
#include "credits.h"

#include <string.h>

#include "frame.h"
#include "pfc.h"

/* Never forwarded by bridges, like PAUSE. */
static const uint8_t LINK_ADDRESS[6] = { 0x01, 0x80, 0xC2, 0x00, 0x00, 0x01 };
#define HEADER_BYTES 18
#define LANE_BYTES 16

void credit_sender_init(struct credit_sender *sender, uint64_t peer_buffer_bytes)
{
	uint64_t blocks = peer_buffer_bytes / CREDIT_BLOCK_BYTES;

	*sender = (struct credit_sender){ .limit = blocks, .buffer = blocks };
}

void credit_receiver_init(struct credit_receiver *receiver, uint64_t buffer_bytes)
{
	*receiver = (struct credit_receiver){ .buffer = buffer_bytes / CREDIT_BLOCK_BYTES };
}

bool credit_arrive(struct credit_receiver *receiver, uint64_t blocks)
{
	receiver->received += blocks;
	if (receiver->held + blocks > receiver->buffer)
		return false;
	receiver->held += blocks;
	return true;
}

uint64_t credit_limit(const struct credit_receiver *receiver)
{
	return receiver->received + receiver->buffer - receiver->held;
}

enum credit_verdict credit_update(struct credit_sender *sender, struct credit_receiver *receiver, uint64_t fctbs, uint64_t fccl)
{
	if (fccl < sender->limit || fctbs < receiver->received)
		return CREDIT_PAST;
	if (fccl - sender->sent > sender->buffer && fccl > sender->sent)
		return CREDIT_FUTURE;
	/* What it says to have sent, it was allowed to send. */
	if (fctbs > credit_limit(receiver))
		return CREDIT_FUTURE;
	sender->limit = fccl;
	if (fctbs == receiver->received)
		return CREDIT_FINE;
	receiver->received = fctbs;
	return CREDIT_RESYNC;
}

static uint64_t read_long(const uint8_t *bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | bytes[i];
	return value;
}

static void write_long(uint8_t *bytes, uint64_t value)
{
	for (int i = 7; i >= 0; i--, value >>= 8)
		bytes[i] = (uint8_t)value;
}

bool credit_read(const struct rte_mbuf *mbuf, struct credit_message *message)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint32_t length = rte_pktmbuf_data_len(mbuf);

	if (length < HEADER_BYTES || memcmp(bytes, LINK_ADDRESS, 6) != 0 || bytes[14] != CREDIT_VERSION || bytes[16] || bytes[17])
		return false;
	message->lanes = bytes[15];
	if (length < HEADER_BYTES + LANE_BYTES * (uint32_t)__builtin_popcount(message->lanes))
		return false;
	bytes += HEADER_BYTES;
	for (unsigned i = 0; i < PRIORITIES; i++) {
		if (!(message->lanes >> i & 1))
			continue;
		message->fctbs[i] = read_long(bytes);
		message->fccl[i] = read_long(bytes + 8);
		bytes += LANE_BYTES;
	}
	return true;
}

void credit_write(struct rte_mbuf *mbuf, const uint8_t source[6], const struct credit_message *message)
{
	uint16_t length = (uint16_t)(HEADER_BYTES + LANE_BYTES * __builtin_popcount(message->lanes));
	uint8_t *bytes;

	if (length < LEAST_FRAME_BYTES)
		length = LEAST_FRAME_BYTES;
	bytes = frame_blank(mbuf, length);
	memcpy(bytes, LINK_ADDRESS, 6);
	memcpy(bytes + 6, source, 6);
	bytes[12] = 0x88;
	bytes[13] = 0xB5;
	bytes[14] = CREDIT_VERSION;
	bytes[15] = message->lanes;
	bytes += HEADER_BYTES;
	for (unsigned i = 0; i < PRIORITIES; i++) {
		if (!(message->lanes >> i & 1))
			continue;
		write_long(bytes, message->fctbs[i]);
		write_long(bytes + 8, message->fccl[i]);
		bytes += LANE_BYTES;
	}
}
