/* Frames against those that scapy builds (vectors.py), and what is no RoCEv2 frame. */
#include <string.h>

#include "eal.h"
#include "roce.h"

static const char DATA[] = "02000000000202000000000108004561003400004000401126560a0000010a000002c00112b7002000000420ffff"
			   "0000010100abcdef000102030405000081540247";
static const char CNP[] = "020000000001020000000002080045c0003c00004000401125ef0a0000020a000001c00112b7002800008100ffff"
			  "400001010000000000000000000000000000000000000000bf04bd0c";

static const struct roce_path THERE = {
	.from_mac = { 2, 0, 0, 0, 0, 1 },
	.to_mac = { 2, 0, 0, 0, 0, 2 },
	.from_ip = 0x0A000001,
	.to_ip = 0x0A000002,
	.udp_source = 0xC001,
	.queue_pair = 0x101,
	.priority = 3,
	.code = 1,
};

static uint32_t from_hex(const char *hex, uint8_t *bytes)
{
	uint32_t length = 0;
	unsigned octet;

	for (; sscanf(hex, "%2x", &octet) == 1; hex += 2)
		bytes[length++] = (uint8_t)octet;
	return length;
}

static void data_frames_are_those_of_scapy(void)
{
	uint8_t wanted[128], got[128];
	uint32_t length = from_hex(DATA, wanted);

	CHECK_EQ(roce_frame_bytes(6), length);
	roce_template(got, &THERE, ROCE_SEND_ONLY, 6);
	roce_number(got, length, 0xABCDEF);
	CHECK(!memcmp(got, wanted, length));
}

static void notifications_are_those_of_scapy(void)
{
	uint8_t wanted[128], got[128];
	uint32_t length = from_hex(CNP, wanted);
	struct roce_path back = THERE;

	memcpy(back.from_mac, THERE.to_mac, 6);
	memcpy(back.to_mac, THERE.from_mac, 6);
	back.from_ip = THERE.to_ip;
	back.to_ip = THERE.from_ip;
	back.priority = 6;
	back.code = 0;
	CHECK_EQ(roce_frame_bytes(ROCE_CNP_PAYLOAD_BYTES), length);
	roce_write_cnp(got, &back);
	CHECK(!memcmp(got, wanted, length));
}

/* Reads `length` octets of `bytes` as a frame. */
static bool reads(struct rte_mempool *pool, const uint8_t *bytes, uint32_t length, struct roce_view *view)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	uint8_t before[256];
	bool is_roce;

	CHECK(mbuf != NULL);
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)length), bytes, length);
	is_roce = frame_read(mbuf, frame_of(mbuf)) && roce_read(mbuf, frame_of(mbuf), view);
	memcpy(before, rte_pktmbuf_mtod(mbuf, const void *), length);
	/* Reading leaves the frame as it was. */
	CHECK(!memcmp(before, bytes, length));
	rte_pktmbuf_free(mbuf);
	return is_roce;
}

static void a_frame_is_read_as_it_was_written(struct rte_mempool *pool)
{
	uint8_t bytes[128];
	uint32_t length = from_hex(DATA, bytes);
	struct roce_view view;

	CHECK(reads(pool, bytes, length, &view));
	CHECK(view.intact);
	CHECK_EQ(view.opcode, ROCE_SEND_ONLY);
	CHECK_EQ(view.psn, 0xABCDEF);
	CHECK_EQ(view.queue_pair, 0x101);
	CHECK_EQ(view.payload_bytes, 6);
	CHECK_EQ(view.code, 1);
	CHECK_EQ(view.from_ip, 0x0A000001);
}

/* What switches on the way may change: ECN and DSCP, time to live, both checksums, FECN and BECN. */
static void what_changes_on_the_way_does_not_damage(struct rte_mempool *pool)
{
	static const int FREE[] = { 15, 22, 24, 25, 40, 41, 46 };
	uint8_t bytes[128];
	uint32_t length = from_hex(DATA, bytes);
	struct roce_view view;

	for (unsigned i = 0; i < sizeof(FREE) / sizeof(FREE[0]); i++)
		bytes[FREE[i]] ^= 0x03;
	CHECK(reads(pool, bytes, length, &view));
	CHECK(view.intact);
}

static void a_flipped_bit_shows(struct rte_mempool *pool)
{
	uint8_t bytes[128];
	uint32_t length = from_hex(DATA, bytes);
	struct roce_view view;

	/* From the destination queue pair on to the end. */
	for (uint32_t i = 47; i < length; i++) {
		bytes[i] ^= 0x10;
		CHECK(reads(pool, bytes, length, &view));
		CHECK(!view.intact);
		bytes[i] ^= 0x10;
	}
}

static void what_is_cut_short_is_no_frame(struct rte_mempool *pool)
{
	uint8_t bytes[128];
	uint32_t length = from_hex(DATA, bytes);
	struct roce_view view;

	for (uint32_t cut = 14; cut < length; cut++)
		CHECK(!reads(pool, bytes, cut, &view));
}

static void other_packets_are_no_roce(struct rte_mempool *pool)
{
	static const struct {
		int at;
		uint8_t value;
	} CHANGES[] = {
		{ 14, 0x46 }, /* IP options */
		{ 20, 0x20 }, /* a fragment */
		{ 23, 6 }, /* TCP */
		{ 36, 0x13 }, /* another port */
		{ 39, 1 }, /* UDP length that is not that of IP */
		{ 17, 10 }, /* IP length shorter than the headers */
	};
	uint8_t bytes[128];
	struct roce_view view;

	for (unsigned i = 0; i < sizeof(CHANGES) / sizeof(CHANGES[0]); i++) {
		uint32_t length = from_hex(DATA, bytes);

		bytes[CHANGES[i].at] = CHANGES[i].value;
		CHECK(!reads(pool, bytes, length, &view));
	}
}

int main(void)
{
	struct rte_mempool *pool = start_eal(255);

	roce_init();
	RUN(data_frames_are_those_of_scapy);
	RUN(notifications_are_those_of_scapy);
#define RUN_WITH(test) (test(pool), printf("ok %s\n", #test))
	RUN_WITH(a_frame_is_read_as_it_was_written);
	RUN_WITH(what_changes_on_the_way_does_not_damage);
	RUN_WITH(a_flipped_bit_shows);
	RUN_WITH(what_is_cut_short_is_no_frame);
	RUN_WITH(other_packets_are_no_roce);
	return 0;
}
