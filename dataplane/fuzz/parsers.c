/* See parsers.h. */
#include "parsers.h"

#include <string.h>

#include "lab.h"
#include "roce.h"

#include "backwater.h"

/* An mbuf of no pool, as frame_pool() makes them: what the data plane remembers lies behind it. */
struct box {
	struct rte_mbuf mbuf;
	struct frame frame;
};
_Static_assert(offsetof(struct box, frame) == sizeof(struct rte_mbuf), "where frame_of() looks");

static struct lab lab;
/* Frames that this switch was sent. */
static uint64_t sent;
/* Frames wait for ever at a port whose neighbour has no credits to give: with fewer buffers than this the switch is made anew. */
#define BUFFERS_LEAST 16

static uint8_t *copied(const uint8_t *bytes, size_t length)
{
	uint8_t *buffer = malloc(length);

	CHECK(buffer || !length);
	if (length)
		memcpy(buffer, bytes, length);
	return buffer;
}

static uint8_t *put(struct box *box, const uint8_t *bytes, size_t length)
{
	memset(box, 0, sizeof(*box));
	box->mbuf.buf_addr = copied(bytes, length);
	box->mbuf.buf_len = box->mbuf.data_len = (uint16_t)length;
	box->mbuf.pkt_len = (uint32_t)length;
	box->mbuf.nb_segs = 1;
	return box->mbuf.buf_addr;
}

/* One's complement sum of ten words. */
static uint16_t sum_of(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	return sum == 0xFFFF ? 0 : (uint16_t)sum;
}

/* A mark is read back, keeps the checksum as right as it was, and changes nothing else. */
static void try_marks(struct box *box, const uint8_t *bytes, size_t length)
{
	uint8_t *now = box->mbuf.buf_addr;
	size_t at = box->frame.ip_offset;

	for (uint8_t code = 0; code < 4; code++) {
		frame_set_code_point(&box->mbuf, &box->frame, code);
		CHECK_EQ(frame_code_point(&box->mbuf, &box->frame), code);
		CHECK(box->frame.ipv6 || sum_of(now + at) == sum_of(bytes + at));
		for (size_t i = 0; i < length; i++)
			CHECK(now[i] == bytes[i] || i == at + 1 || (!box->frame.ipv6 && (i == at + 10 || i == at + 11)));
	}
	memcpy(now, bytes, length);
}

/* Where both readers take a frame for RoCEv2 they see the same in it. The one in C wants no options and a UDP length that is that of IP; the
 * one in Rust also looks at checksum, version and opcode. */
static void agree(const struct frame *frame, const struct roce_view *view, const struct bw_frame *other, bool intact)
{
	CHECK_EQ(frame->ip_offset, other->ip_offset);
	CHECK_EQ(view->opcode, other->roce.opcode);
	CHECK_EQ(view->psn, other->roce.psn);
	CHECK_EQ(view->queue_pair, other->roce.destination_qp);
	CHECK_EQ(view->code, other->roce.code);
	CHECK_EQ(view->udp_source, other->roce.udp_source);
	CHECK_EQ(view->payload_bytes, other->payload_bytes + (other->roce.opcode == BW_OPCODE_ACKNOWLEDGE ? 4 : 0));
	CHECK_EQ(view->intact, intact);
}

/* Through the interface to Rust; true if it is a frame. */
static bool try_rust(const uint8_t *buffer, size_t length, struct bw_frame *frame)
{
	/* Of any length, also none. */
	size_t room = length % 90;
	char *text = malloc(room);
	bool good = bw_frame_parse(buffer, length, frame, text, room);
	size_t told = bw_frame_describe(buffer, length, text, room);

	CHECK(!room || (told < room && text[told] == 0));
	free(text);
	return good;
}

void parsers_try(const uint8_t *bytes, size_t length)
{
	static struct box box;
	uint8_t *buffer = put(&box, bytes, length);
	bool whole = frame_read(&box.mbuf, &box.frame);
	struct bw_frame other;
	struct roce_view view;
	bool known = try_rust(buffer, length, &other);
	bool intact = bw_roce_icrc_good(buffer, length);

	CHECK(box.frame.priority < PRIORITIES);
	CHECK(!known || other.ip_offset == 0 || whole);
	if (whole && box.frame.ip_offset)
		try_marks(&box, bytes, length);
	if (whole && roce_read(&box.mbuf, &box.frame, &view)) {
		const uint8_t *ip = bytes + box.frame.ip_offset;

		CHECK(ip[0] == 0x45 && !(ip[6] & 0x3F) && !ip[7]);
		CHECK(view.payload_bytes < length);
		if (known && other.kind == BW_FRAME_KIND_ROCE)
			agree(&box.frame, &view, &other, intact);
	}
	/* Reading has changed nothing. */
	CHECK(!length || !memcmp(buffer, bytes, length));
	if (length > 14)
		bw_frame_set_code(buffer + 14, length - 14, 3);
	free(buffer);
}

void parsers_try_segments(const uint8_t *bytes, size_t length, size_t first)
{
	static struct box head, tail, alone;
	struct roce_view view;

	put(&head, bytes, first);
	put(&tail, bytes + first, length - first);
	put(&alone, bytes, first);
	head.mbuf.next = &tail.mbuf;
	head.mbuf.nb_segs = 2;
	head.mbuf.pkt_len = (uint32_t)length;
	bool whole = frame_read(&head.mbuf, &head.frame);

	CHECK_EQ(whole, frame_read(&alone.mbuf, &alone.frame));
	if (whole) {
		CHECK_EQ(head.frame.ip_offset, alone.frame.ip_offset);
		CHECK_EQ(head.frame.ethertype, alone.frame.ethertype);
		CHECK_EQ(roce_read(&head.mbuf, &head.frame, &view), roce_read(&alone.mbuf, &alone.frame, &view));
		if (head.frame.ip_offset)
			frame_set_code_point(&head.mbuf, &head.frame, 3);
	}
	free(head.mbuf.buf_addr);
	free(tail.mbuf.buf_addr);
	free(alone.mbuf.buf_addr);
}

static void make(void)
{
	static struct port_config ports[LAB_PORTS];

	for (unsigned i = 0; i < LAB_PORTS; i++)
		ports[i] = lab_port();
	ports[1].flow_control = FLOW_CREDITS;
	ports[2].flow_control = FLOW_NONE;
	lab_make(&lab, ports, true);
	sent = 0;
}

void parsers_open(void)
{
	lab_open();
	roce_init();
	make();
}

/* A buffer from outside that goes with its mbuf. */
struct outside {
	struct rte_mbuf_ext_shared_info shared;
	uint8_t *buffer;
};

static void free_outside(void *buffer, void *opaque)
{
	free(buffer);
	free(opaque);
}

static struct rte_mbuf *from_outside(const uint8_t *bytes, size_t length)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(lab.pool);
	struct outside *outside = calloc(1, sizeof(*outside));

	CHECK(mbuf && outside);
	outside->shared.free_cb = free_outside;
	outside->shared.fcb_opaque = outside;
	rte_mbuf_ext_refcnt_set(&outside->shared, 1);
	outside->buffer = copied(bytes, length);
	rte_pktmbuf_attach_extbuf(mbuf, outside->buffer, RTE_BAD_IOVA, (uint16_t)length, &outside->shared);
	mbuf->data_off = 0;
	mbuf->data_len = (uint16_t)length;
	mbuf->pkt_len = (uint32_t)length;
	return mbuf;
}

void parsers_switch(const uint8_t *bytes, size_t length, unsigned port)
{
	struct rte_mbuf *mbuf;
	uint64_t sent_ps;

	if (!length)
		return;
	if (rte_mempool_avail_count(lab.pool) < BUFFERS_LEAST) {
		parsers_close();
		make();
	}
	lab_send(&lab, port % LAB_PORTS, from_outside(bytes, length), lab.now_ps);
	sent++;
	/* It arrives after 10 us and its own length; nobody looks before. */
	lab.now_ps += 20 * PS_PER_US;
	lab_run(&lab, lab.now_ps + LAB_STEP_PS);
	for (unsigned i = 0; i < LAB_PORTS; i++)
		while ((mbuf = lab_next(&lab, i, &sent_ps)))
			rte_pktmbuf_free(mbuf);
}

void parsers_close(void)
{
	uint64_t received = 0;

	for (unsigned i = 0; i < LAB_PORTS; i++)
		received += lab.ports[i].count.rx_frames;
	CHECK_EQ(received, sent);
	lab_close(&lab);
}
