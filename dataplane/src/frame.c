/* See frame.h. */
#include "frame.h"

#include <string.h>

#include <rte_ip.h>
#include <rte_lcore.h>

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86DD
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_QINQ 0x88A8

static uint16_t word_at(const struct rte_mbuf *mbuf, uint32_t offset)
{
	const uint8_t *byte = rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, offset);

	return (uint16_t)(byte[0] << 8 | byte[1]);
}

bool frame_read(struct rte_mbuf *mbuf, struct frame *frame)
{
	uint32_t length = rte_pktmbuf_data_len(mbuf);
	uint32_t offset = 2 * RTE_ETHER_ADDR_LEN;
	bool tagged = false;

	frame->ip_offset = 0;
	frame->priority = 0;
	frame->ipv6 = false;
	if (length < RTE_ETHER_HDR_LEN)
		return false;
	frame->ethertype = word_at(mbuf, offset);
	for (int tags = 0; tags < 2 && (frame->ethertype == ETHERTYPE_VLAN || frame->ethertype == ETHERTYPE_QINQ); tags++) {
		if (length < offset + 6)
			return false;
		if (!tagged)
			frame->priority = (uint8_t)(word_at(mbuf, offset + 2) >> 13);
		tagged = true;
		offset += 4;
		frame->ethertype = word_at(mbuf, offset);
	}
	offset += 2;
	if (frame->ethertype == ETHERTYPE_IPV4) {
		const uint8_t *ip = rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, offset);

		if (length < offset + sizeof(struct rte_ipv4_hdr) || ip[0] >> 4 != 4 || (ip[0] & 15) < 5)
			return false;
		frame->ip_offset = (uint16_t)offset;
		if (!tagged)
			frame->priority = ip[1] >> 5;
	} else if (frame->ethertype == ETHERTYPE_IPV6) {
		const uint8_t *ip = rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, offset);

		if (length < offset + sizeof(struct rte_ipv6_hdr) || ip[0] >> 4 != 6)
			return false;
		frame->ip_offset = (uint16_t)offset;
		frame->ipv6 = true;
		if (!tagged)
			frame->priority = (ip[0] & 15) >> 1;
	}
	return true;
}

uint8_t frame_code_point(const struct rte_mbuf *mbuf, const struct frame *frame)
{
	if (!frame->ip_offset)
		return 0;
	const uint8_t *ip = rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, frame->ip_offset);

	return frame->ipv6 ? ip[1] >> 4 & 3 : ip[1] & 3;
}

void frame_set_code_point(struct rte_mbuf *mbuf, const struct frame *frame, uint8_t code)
{
	uint8_t *ip = rte_pktmbuf_mtod_offset(mbuf, uint8_t *, frame->ip_offset);

	if (frame->ipv6) {
		ip[1] = (uint8_t)((ip[1] & 0xCF) | code << 4);
		return;
	}
	/* RFC 1624, equation 3: HC' = ~(~HC + ~m + m'), on the word that holds version, length and the ECN field. */
	uint16_t before = (uint16_t)(ip[0] << 8 | ip[1]);

	ip[1] = (uint8_t)((ip[1] & 0xFC) | code);
	uint16_t after = (uint16_t)(ip[0] << 8 | ip[1]);
	uint32_t sum = (uint16_t)~(ip[10] << 8 | ip[11]);

	sum += (uint16_t)~before;
	sum += after;
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	ip[10] = (uint8_t)(~sum >> 8);
	ip[11] = (uint8_t)~sum;
}

uint8_t *frame_blank(struct rte_mbuf *mbuf, uint16_t bytes)
{
	mbuf->data_len = bytes;
	mbuf->pkt_len = bytes;
	return memset(rte_pktmbuf_mtod(mbuf, uint8_t *), 0, bytes);
}

struct rte_mempool *frame_pool(const char *name, unsigned count, unsigned data_bytes)
{
	_Static_assert(sizeof(struct frame) % RTE_MBUF_PRIV_ALIGN == 0, "the private area of an mbuf comes in units of 8");
	if (data_bytes < FRAME_LEAST_ROOM_BYTES)
		data_bytes = FRAME_LEAST_ROOM_BYTES;
	return rte_pktmbuf_pool_create(name, count, 64, sizeof(struct frame), (uint16_t)(RTE_PKTMBUF_HEADROOM + data_bytes),
				       (int)rte_socket_id());
}
