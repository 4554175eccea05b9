/* Credits step by step. A lane's buffer is 3200 B: 50 blocks of 64 B; a packet of 1000 B takes 16. Messages every 60 us. */
#include <string.h>

#include "lab.h"

#define US PS_PER_US
#define NS PS_PER_NS
#define FRAME_PS (800 * NS)

static struct lab lab;

static void make(void)
{
	struct port_config ports[LAB_PORTS] = { lab_port(), lab_port(), lab_port() };

	for (unsigned i = 0; i < LAB_PORTS; i++)
		ports[i].flow_control = FLOW_CREDITS;
	lab_make(&lab, ports, false);
}

static void message(unsigned port, uint8_t lanes, uint64_t fctbs, uint64_t fccl, uint64_t at_ps)
{
	static const uint8_t MAC[6] = { 2, 0, 0, 0, 0, 9 };
	struct bw_credit_frame message = { .lanes = lanes };
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(lab.pool);

	for (unsigned i = 0; i < PRIORITIES; i++) {
		message.fctbs[i] = fctbs;
		message.fccl[i] = fccl;
	}
	mbuf->data_len = (uint16_t)bw_credit_frame_write(rte_pktmbuf_mtod(mbuf, uint8_t *), 256, MAC, &message);
	mbuf->pkt_len = mbuf->data_len;
	lab_send(&lab, port, mbuf, at_ps);
}

/* Credit messages and data that arrived at the far end of a port. */
static unsigned data_frames(unsigned port, struct bw_credit_frame *last, uint64_t *last_sent)
{
	struct rte_mbuf *mbuf;
	struct bw_frame frame;
	uint64_t sent;
	unsigned data = 0;

	while ((mbuf = lab_next(&lab, port, &sent))) {
		if (bw_frame_parse(rte_pktmbuf_mtod(mbuf, uint8_t *), rte_pktmbuf_data_len(mbuf), &frame, NULL, 0) &&
		    frame.kind == BW_FRAME_KIND_CREDIT)
			*last = frame.credit, *last_sent = sent;
		else
			data++;
		rte_pktmbuf_free(mbuf);
	}
	return data;
}

static void packets_wait_for_credit_and_leave_with_the_message_that_brings_it(void)
{
	struct bw_credit_frame last;
	uint64_t sent;

	make();
	for (unsigned i = 0; i < 3; i++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 0);
	/* To the other direction the far end may send 50 blocks as well: three packets, and it has to wait for the next. */
	lab_run(&lab, 50 * US);
	CHECK_EQ(data_frames(1, &last, &sent), 3);
	CHECK_EQ(lab.ports[1].ingress[3].credit.sent, 48);

	/* From elsewhere one more: 64 > 50, so the gate is closed. */
	lab_send(&lab, 2, lab_frame(&lab, 1, 3, 1000), 50 * US);
	lab_run(&lab, 65 * US);
	CHECK_EQ(data_frames(1, &last, &sent), 0);
	CHECK_EQ(lab.ports[1].closed, 1 << 3);
	CHECK_EQ(lab.ports[1].count.off_periods[3], 1);

	/* One packet has left there: FCCL 66 makes room for 64. The message (60 B) is in at 80.048 us, seen at 80.1 us. */
	message(1, 1 << 3, 0, 66, 70 * US);
	lab_run(&lab, 80 * US);
	CHECK_EQ(lab.ports[1].closed, 1 << 3);
	lab_run(&lab, 80 * US + 100 * NS);
	CHECK_EQ(lab.ports[1].closed, 0);
	CHECK_EQ(lab.ports[1].ingress[3].credit.sent, 64);
	lab_close(&lab);
}

static void a_message_tells_what_was_sent_and_what_may_be(void)
{
	struct bw_credit_frame last;
	uint64_t sent = 0;

	make();
	for (unsigned i = 0; i < 3; i++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 0);
	lab_run(&lab, 75 * US);
	/* At 60 us port 0 has received 48 blocks and passed them on: 48 + 50 may be sent in all. It has sent none itself. */
	CHECK_EQ(data_frames(0, &last, &sent), 0);
	CHECK_EQ(sent, 60 * US);
	CHECK_EQ(last.lanes, 0xFF);
	CHECK_EQ(last.fctbs[3], 0);
	CHECK_EQ(last.fccl[3], 98);
	CHECK_EQ(last.fccl[0], 50);
	/* Port 1 has sent them. */
	CHECK_EQ(data_frames(1, &last, &sent), 3);
	CHECK_EQ(last.fctbs[3], 48);
	CHECK_EQ(last.fccl[3], 50);
	lab_close(&lab);
}

static void a_packet_that_holds_its_place_is_not_offered_twice(void)
{
	struct bw_credit_frame last;
	uint64_t sent = 0;

	make();
	for (unsigned i = 0; i < 3; i++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 0);
	lab_send(&lab, 2, lab_frame(&lab, 1, 3, 1000), 0);
	lab_run(&lab, 75 * US);
	/* The far end of port 1 has room for three of the four; 16 blocks still wait, those of port 0's third packet. */
	CHECK_EQ(data_frames(1, &last, &sent), 3);
	data_frames(0, &last, &sent);
	CHECK_EQ(last.fccl[3], 48 + 50 - 16);
	lab_close(&lab);
}

static void messages_from_the_past_and_the_future_change_nothing(void)
{
	make();
	/* Nothing was sent: more than the whole buffer cannot have become free. */
	message(1, 1 << 3, 0, 51, 0);
	message(1, 1 << 3, 0, UINT64_MAX, 0);
	/* It cannot have sent more than it was allowed. */
	message(1, 1 << 3, 51, 50, 0);
	/* What was given is not taken back. */
	message(1, 1 << 3, 0, 49, 0);
	lab_run(&lab, 20 * US);
	CHECK_EQ(lab.ports[1].count.drops[DROP_CREDIT_FUTURE], 3);
	CHECK_EQ(lab.ports[1].count.drops[DROP_CREDIT_PAST], 1);
	CHECK_EQ(lab.ports[1].count.credit_received, 0);
	CHECK_EQ(lab.ports[1].ingress[3].credit.limit, 50);
	CHECK_EQ(lab.ports[1].ingress[3].credit.received, 0);
	lab_close(&lab);
}

static void what_was_lost_on_the_way_does_not_cost_its_room(void)
{
	make();
	/* The far end has sent 16 blocks that never came. */
	message(0, 1 << 3, 16, 50, 0);
	lab_run(&lab, 20 * US);
	CHECK_EQ(lab.ports[0].count.credit_resyncs, 1);
	CHECK_EQ(bw_credit_granted(&lab.ports[0].ingress[3].credit), 66);
	lab_close(&lab);
}

static void who_sends_without_credit_loses_the_packet_and_not_the_switch(void)
{
	make();
	/* Nothing leaves port 1 beyond 50 blocks, nothing more fits port 0 beyond another 50. */
	for (unsigned i = 0; i < 8; i++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 0);
	lab_run(&lab, 30 * US);
	CHECK_EQ(lab.ports[1].count.tx_frames, 3);
	CHECK_EQ(lab.ports[0].count.drops[DROP_HEADROOM], 8 - 3 - 3);
	lab_close(&lab);
}

static void lanes_and_messages_that_do_not_exist_are_refused(void)
{
	struct port_config ports[LAB_PORTS] = { lab_port(), lab_port(), lab_port() };

	ports[0].flow_control = ports[1].flow_control = FLOW_CREDITS;
	ports[0].lossless = 1 << 3;
	lab_make(&lab, ports, false);
	message(0, 1 << 4, 0, 50, 0);
	/* Port 2 has PFC. */
	message(2, 1 << 3, 0, 50, 0);
	/* Of another version, cut off, and with something in the reserved bytes. */
	for (unsigned i = 0; i < 3; i++) {
		static const uint8_t MAC[6] = { 2, 0, 0, 0, 0, 9 };
		struct bw_credit_frame whole = { .lanes = 1 << 3 };
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(lab.pool);

		mbuf->data_len = (uint16_t)bw_credit_frame_write(rte_pktmbuf_mtod(mbuf, uint8_t *), 256, MAC, &whole);
		mbuf->pkt_len = mbuf->data_len;
		uint8_t *bytes = rte_pktmbuf_mtod(mbuf, uint8_t *);

		if (i == 0)
			bytes[14] = 2;
		else if (i == 1)
			bytes[15] = 0xFF;
		else
			bytes[16] = 1;
		lab_send(&lab, 1, mbuf, 0);
	}
	lab_run(&lab, 20 * US);
	CHECK_EQ(lab.ports[0].count.drops[DROP_CREDIT_LANE], 1);
	CHECK_EQ(lab.ports[2].count.drops[DROP_CREDIT_LANE], 1);
	CHECK_EQ(lab.ports[1].count.drops[DROP_CREDIT], 3);
	lab_close(&lab);
}

int main(void)
{
	lab_open();
	RUN(packets_wait_for_credit_and_leave_with_the_message_that_brings_it);
	RUN(a_message_tells_what_was_sent_and_what_may_be);
	RUN(a_packet_that_holds_its_place_is_not_offered_twice);
	RUN(messages_from_the_past_and_the_future_change_nothing);
	RUN(what_was_lost_on_the_way_does_not_cost_its_room);
	RUN(who_sends_without_credit_loses_the_packet_and_not_the_switch);
	RUN(lanes_and_messages_that_do_not_exist_are_refused);
	return 0;
}
