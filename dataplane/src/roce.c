/* See roce.h. */
#include "roce.h"

#include <string.h>

#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_net_crc.h>

#define IP_AT 14
#define UDP_AT 34
#define BTH_AT 42
#define PROTOCOL_UDP 17
#define TIME_TO_LIVE 64
#define BTH_BECN 0x40
#define DEFAULT_PARTITION 0xFFFF
/* In place of the local route header that RoCEv2 has not. */
#define PSEUDO_BYTES 8
/* From the pseudo header up to and including the variant octet of the BTH. */
#define MASKED_BYTES (PSEUDO_BYTES + 20 + 8 + 5)

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put24(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 16);
	put16(at + 1, (uint16_t)value);
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, (uint16_t)(value >> 16));
	put16(at + 2, (uint16_t)value);
}

static uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t get24(const uint8_t *at)
{
	return (uint32_t)at[0] << 16 | get16(at + 1);
}

static uint32_t get32(const uint8_t *at)
{
	return (uint32_t)get16(at) << 16 | get16(at + 2);
}

void roce_init(void)
{
	rte_net_crc_set_alg(RTE_NET_CRC_SSE42);
}

/* The ICRC of the frame whose IP header is at `ip` and that has `bytes` from there to the end of the payload. There are at least
 * 8 octets in front of `ip`. What may change on the way counts as ones: type of service, time to live, both checksums and
 * the octet of the BTH with FECN and BECN. They are put aside for the calculation. */
static uint32_t icrc(uint8_t *ip, uint32_t bytes)
{
	uint8_t kept[MASKED_BYTES];
	uint8_t *from = ip - PSEUDO_BYTES;

	memcpy(kept, from, sizeof(kept));
	memset(from, 0xFF, PSEUDO_BYTES);
	ip[1] = 0xFF;
	ip[8] = 0xFF;
	memset(ip + 10, 0xFF, 2);
	memset(ip + 26, 0xFF, 2);
	ip[32] = 0xFF;
	uint32_t check = rte_net_crc_calc(from, PSEUDO_BYTES + bytes, RTE_NET_CRC32_ETH);

	memcpy(from, kept, sizeof(kept));
	return check;
}

/* Least significant octet first, as Ethernet sends its check sequence. */
static void put_icrc(uint8_t *bytes, uint32_t frame_bytes)
{
	uint32_t check = icrc(bytes + IP_AT, frame_bytes - IP_AT - ROCE_ICRC_BYTES);

	for (int i = 0; i < 4; i++)
		bytes[frame_bytes - ROCE_ICRC_BYTES + i] = (uint8_t)(check >> 8 * i);
}

static uint32_t padding(uint32_t payload_bytes)
{
	return -payload_bytes & 3;
}

uint32_t roce_frame_bytes(uint32_t payload_bytes)
{
	return ROCE_HEADER_BYTES + payload_bytes + padding(payload_bytes) + ROCE_ICRC_BYTES;
}

static void put_ip(uint8_t *ip, const struct roce_path *path, uint16_t total_bytes)
{
	ip[0] = 0x45;
	ip[1] = (uint8_t)(path->priority << 5 | path->code);
	put16(ip + 2, total_bytes);
	/* Don't fragment. */
	ip[6] = 0x40;
	ip[8] = TIME_TO_LIVE;
	ip[9] = PROTOCOL_UDP;
	put32(ip + 12, path->from_ip);
	put32(ip + 16, path->to_ip);
	uint16_t sum = rte_ipv4_cksum((const struct rte_ipv4_hdr *)ip);

	memcpy(ip + 10, &sum, sizeof(sum));
}

void roce_template(uint8_t *bytes, const struct roce_path *path, uint8_t opcode, uint32_t payload_bytes)
{
	uint32_t frame_bytes = roce_frame_bytes(payload_bytes);

	memset(bytes, 0, frame_bytes);
	memcpy(bytes, path->to_mac, 6);
	memcpy(bytes + 6, path->from_mac, 6);
	put16(bytes + 12, RTE_ETHER_TYPE_IPV4);
	put_ip(bytes + IP_AT, path, (uint16_t)(frame_bytes - IP_AT));
	put16(bytes + UDP_AT, path->udp_source);
	put16(bytes + UDP_AT + 2, ROCE_UDP_PORT);
	put16(bytes + UDP_AT + 4, (uint16_t)(frame_bytes - UDP_AT));
	bytes[BTH_AT] = opcode;
	bytes[BTH_AT + 1] = (uint8_t)(padding(payload_bytes) << 4);
	put16(bytes + BTH_AT + 2, DEFAULT_PARTITION);
	put24(bytes + BTH_AT + 5, path->queue_pair);
	for (uint32_t i = 0; i < payload_bytes; i++)
		bytes[ROCE_HEADER_BYTES + i] = (uint8_t)i;
}

void roce_number(uint8_t *bytes, uint32_t frame_bytes, uint32_t psn)
{
	put24(bytes + BTH_AT + 9, psn & ROCE_PSN_MASK);
	put_icrc(bytes, frame_bytes);
}

void roce_write_cnp(uint8_t *bytes, const struct roce_path *path)
{
	uint32_t frame_bytes = roce_frame_bytes(ROCE_CNP_PAYLOAD_BYTES);

	roce_template(bytes, path, ROCE_CNP, ROCE_CNP_PAYLOAD_BYTES);
	memset(bytes + ROCE_HEADER_BYTES, 0, ROCE_CNP_PAYLOAD_BYTES);
	bytes[BTH_AT + 4] = BTH_BECN;
	put_icrc(bytes, frame_bytes);
}

bool roce_read(struct rte_mbuf *mbuf, const struct frame *frame, struct roce_view *view)
{
	if (!frame->ip_offset || frame->ipv6)
		return false;
	uint8_t *ip = rte_pktmbuf_mtod_offset(mbuf, uint8_t *, frame->ip_offset);
	uint32_t present = rte_pktmbuf_data_len(mbuf) - frame->ip_offset;
	uint32_t total = get16(ip + 2);

	/* No options, no fragment, all there (behind it there may be padding). */
	if (ip[0] != 0x45 || ip[9] != PROTOCOL_UDP || (get16(ip + 6) & 0x3FFF) || total > present ||
	    total < ROCE_HEADER_BYTES - IP_AT + ROCE_ICRC_BYTES)
		return false;
	if (get16(ip + 22) != ROCE_UDP_PORT || get16(ip + 24) != total - 20)
		return false;
	const uint8_t *bth = ip + 28;
	const uint8_t *check = ip + total - ROCE_ICRC_BYTES;
	uint32_t payload = total - (ROCE_HEADER_BYTES - IP_AT) - ROCE_ICRC_BYTES;
	uint32_t pad = bth[1] >> 4 & 3;

	if (pad > payload)
		return false;
	*view = (struct roce_view){
		.from_ip = get32(ip + 12),
		.to_ip = get32(ip + 16),
		.udp_source = get16(ip + 20),
		.queue_pair = get24(bth + 5),
		.psn = get24(bth + 9),
		.payload_bytes = payload - pad,
		.opcode = bth[0],
		.code = ip[1] & 3,
		.intact = icrc(ip, total - ROCE_ICRC_BYTES) ==
			  ((uint32_t)check[0] | (uint32_t)check[1] << 8 | (uint32_t)check[2] << 16 | (uint32_t)check[3] << 24),
	};
	return true;
}
