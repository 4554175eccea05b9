/* Frames that nobody should send. Nothing crashes, nothing is lost without a reason (lab_close checks the balance). */
#include <string.h>

#include "lab.h"

#define US PS_PER_US

static struct lab lab;

static void make(bool learning)
{
	struct port_config ports[LAB_PORTS] = { lab_port(), lab_port(), lab_port() };

	lab_make(&lab, ports, learning);
}

static void send_raw(unsigned port, const uint8_t *bytes, uint16_t length)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(lab.pool);

	CHECK(mbuf);
	memcpy(frame_blank(mbuf, length), bytes, length);
	lab_send(&lab, port, mbuf, lab.now_ps);
	lab_run(&lab, lab.now_ps + 12 * US);
}

static uint64_t dropped(enum drop_reason reason)
{
	return lab.ports[0].count.drops[reason];
}

static void runts_are_dropped_whatever_they_are_cut_from(void)
{
	uint8_t frame[64] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x08, 0x00, 0x45 };

	make(false);
	send_raw(0, frame, 1);
	send_raw(0, frame, 13);
	/* An IPv4 header that is cut off, one that is none, a tag without an end. */
	send_raw(0, frame, 33);
	frame[14] = 0x65;
	send_raw(0, frame, 64);
	frame[14] = 0x44;
	send_raw(0, frame, 64);
	frame[12] = 0x81;
	send_raw(0, frame, 17);
	CHECK_EQ(dropped(DROP_RUNT), 6);
	lab_close(&lab);
}

static void mac_control_that_is_not_pfc_is_dropped(void)
{
	uint8_t frame[60] = { 1, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 0x00, 0x01, 0xFF, 0xFF };

	make(false);
	/* Plain PAUSE, opcode 0, opcode 0xFFFF, no opcode at all. */
	send_raw(0, frame, 60);
	frame[15] = 0;
	send_raw(0, frame, 60);
	frame[14] = frame[15] = 0xFF;
	send_raw(0, frame, 60);
	send_raw(0, frame, 14);
	CHECK_EQ(dropped(DROP_MAC_CONTROL), 4);
	CHECK_EQ(lab.ports[0].closed, 0);
	lab_close(&lab);
}

static void pfc_frames_that_are_malformed_are_dropped(void)
{
	uint8_t frame[60] = { 1, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 0x01, 0x01, 0x00, 0xFF };

	make(false);
	memset(frame + 18, 0xFF, 16);
	send_raw(0, frame, 33);
	send_raw(0, frame, 18);
	frame[16] = 1; /* a ninth priority */
	send_raw(0, frame, 60);
	frame[16] = 0;
	frame[0] = 0xFF; /* another destination */
	send_raw(0, frame, 60);
	CHECK_EQ(dropped(DROP_PFC), 4);
	CHECK_EQ(lab.ports[0].closed, 0);
	frame[0] = 1;
	send_raw(0, frame, 34); /* not padded, but whole */
	CHECK_EQ(lab.ports[0].closed, 0xFF);
	lab_close(&lab);
}

static void pauses_for_priorities_without_pfc_are_counted_and_not_obeyed(void)
{
	struct port_config ports[LAB_PORTS] = { lab_port(), lab_port(), lab_port() };

	ports[1].lossless = 1 << 3;
	ports[2].flow_control = FLOW_NONE;
	lab_make(&lab, ports, false);
	lab_pause(&lab, 1, 4, 65535, 0);
	lab_pause(&lab, 2, 3, 65535, 0);
	lab_run(&lab, 12 * US);
	CHECK_EQ(lab.ports[1].count.pause_unknown_priority, 1);
	CHECK_EQ(lab.ports[2].count.pause_unknown_priority, 1);
	CHECK_EQ(lab.ports[1].closed | lab.ports[2].closed, 0);
	lab_close(&lab);
}

static void what_bridges_do_not_forward_is_dropped(void)
{
	uint8_t frame[60] = { 1, 0x80, 0xC2, 0, 0, 0, 2, 0, 0, 0, 0, 9, 0x00, 0x26 };

	make(true);
	send_raw(0, frame, 60); /* spanning tree */
	frame[5] = 0x0E; /* LLDP, PTP */
	send_raw(0, frame, 60);
	CHECK_EQ(dropped(DROP_RESERVED), 2);
	frame[5] = 0x10;
	send_raw(0, frame, 60); /* an ordinary group: flooded */
	CHECK_EQ(lab.ports[1].count.tx_frames + lab.ports[2].count.tx_frames, 2);
	frame[6] = 0x03; /* a group cannot send */
	send_raw(0, frame, 60);
	CHECK_EQ(dropped(DROP_SOURCE), 1);
	lab_close(&lab);
}

static void unknown_and_own_destinations(void)
{
	uint8_t frame[60] = { 2, 0, 0, 0, 0, 0x77, 2, 0, 0, 0, 0, 9, 0x12, 0x34 };

	make(false);
	send_raw(0, frame, 60);
	CHECK_EQ(dropped(DROP_UNKNOWN_PORT), 1);
	frame[5] = 0;
	send_raw(0, frame, 60);
	CHECK_EQ(dropped(DROP_SAME_PORT), 1);
	lab_close(&lab);
}

static void an_unknown_destination_is_flooded_until_it_is_learnt(void)
{
	uint8_t there[60] = { 2, 0, 0, 0, 0, 0xB, 2, 0, 0, 0, 0, 0xA, 0x12, 0x34 };
	uint8_t back[60] = { 2, 0, 0, 0, 0, 0xA, 2, 0, 0, 0, 0, 0xB, 0x12, 0x34 };

	make(true);
	send_raw(0, there, 60);
	CHECK_EQ(lab.ports[1].count.tx_frames + lab.ports[2].count.tx_frames, 2);
	CHECK_EQ(lab.ports[0].count.flood_copies, 1);
	send_raw(2, back, 60);
	CHECK_EQ(lab.ports[0].count.tx_frames, 1);
	send_raw(0, there, 60);
	CHECK_EQ(lab.ports[2].count.tx_frames, 2);
	CHECK_EQ(lab.ports[1].count.tx_frames, 1);
	lab_close(&lab);
}

static void an_empty_pool_costs_copies_and_delays_pauses_and_nothing_else(void)
{
	static struct rte_mbuf *all[2048];
	unsigned taken = 0;
	uint64_t sent;

	make(false);
	lab_pause(&lab, 1, 3, 65535, 0);
	lab_run(&lab, 11 * US);
	for (unsigned i = 0; i < 9; i++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 11 * US);
	while (taken < RTE_DIM(all) && (all[taken] = rte_pktmbuf_alloc(lab.pool)))
		taken++;
	lab_run(&lab, 40 * US);
	CHECK_EQ(lab.ports[0].count.pause_sent[3], 0);
	CHECK(lab.ports[0].count.control_retries > 0);
	/* One comes back: now the PAUSE goes. */
	rte_pktmbuf_free(all[--taken]);
	lab_run(&lab, 60 * US);
	CHECK_EQ(lab.ports[0].count.pause_sent[3], 1);
	rte_pktmbuf_free(lab_next(&lab, 0, &sent));
	rte_pktmbuf_free_bulk(all, taken);
	lab_close(&lab);
}

static void a_flood_without_buffers_reaches_one_port(void)
{
	static struct rte_mbuf *all[2048];
	unsigned taken = 0;

	make(true);
	struct rte_mbuf *frame = lab_frame(&lab, 1, 3, 100);

	while (taken < RTE_DIM(all) && (all[taken] = rte_pktmbuf_alloc(lab.pool)))
		taken++;
	lab_send(&lab, 0, frame, 0);
	lab_run(&lab, 20 * US);
	CHECK_EQ(lab.ports[1].count.drops[DROP_NO_MBUF], 1);
	CHECK_EQ(lab.ports[2].count.tx_frames, 1);
	rte_pktmbuf_free_bulk(all, taken);
	lab_close(&lab);
}

/* Two ports get each frame, one is paused: the frames stay in the ingress buffer, once each, and who sends them is held back before
 * anything is lost. */
static void a_flood_holds_its_ingress_buffer_until_the_last_copy_has_left(void)
{
	struct port_config ports[LAB_PORTS] = { lab_port(), lab_port(), lab_port() };
	uint64_t sent, paused_ps = 0, arrived[LAB_PORTS] = { 0 };
	struct rte_mbuf *mbuf;

	ports[0].ingress_limit_bytes = 33000;
	lab_make(&lab, ports, true);
	lab_pause(&lab, 1, 3, 65535, 0);
	lab_run(&lab, 11 * US);
	/* 8.8 us of frames: with the ninth xoff (8000 B) is exceeded, and the far end, 10 us away, obeys. */
	for (unsigned i = 0; i < 11; i++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 11 * US);
	lab_run(&lab, 60 * US);
	CHECK_EQ(lab.ports[0].ingress[3].pfc.bytes, 11000);
	CHECK_EQ(lab.ports[0].count.pause_sent[3], 1);
	CHECK_EQ(lab.ports[2].count.tx_frames, 11);
	CHECK_EQ(lab.ports[0].count.flood_copies, 11);
	while ((mbuf = lab_next(&lab, 0, &paused_ps)))
		rte_pktmbuf_free(mbuf);
	CHECK(paused_ps > 0);
	/* The paused port goes on: the buffer is free, and nobody has lost anything. */
	lab_pause(&lab, 1, 3, 0, 60 * US);
	lab_run(&lab, 120 * US);
	CHECK_EQ(lab.ports[0].ingress[3].pfc.bytes, 0);
	CHECK_EQ(lab.ports[0].count.resume_sent[3], 1);
	for (unsigned i = 1; i < LAB_PORTS; i++) {
		for (; (mbuf = lab_next(&lab, i, &sent)); arrived[i]++)
			rte_pktmbuf_free(mbuf);
		CHECK_EQ(arrived[i], 11);
	}
	for (unsigned i = 0; i < LAB_PORTS; i++)
		for (unsigned j = 0; j < DROP_REASON_COUNT; j++)
			CHECK_EQ(lab.ports[i].count.drops[j], 0);
	lab_close(&lab);
}

/* The same under credits; then both ports drop what they have. */
static void a_flood_holds_credits_until_the_last_copy_has_left(void)
{
	struct port_config ports[LAB_PORTS] = { lab_port(), lab_port(), lab_port() };

	ports[0].flow_control = FLOW_CREDITS;
	lab_make(&lab, ports, true);
	lab_pause(&lab, 1, 3, 65535, 0);
	lab_run(&lab, 11 * US);
	for (unsigned i = 0; i < 3; i++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 11 * US);
	lab_run(&lab, 40 * US);
	CHECK_EQ(lab.ports[0].ingress[3].credit.held, 48);
	CHECK_EQ(lab.ports[2].count.tx_frames, 3);
	lab.ports[1].wire.down = true;
	port_link_down(&lab.ports[1], lab.now_ps);
	CHECK_EQ(lab.ports[1].count.drops[DROP_LINK_DOWN], 3);
	CHECK_EQ(lab.ports[0].ingress[3].credit.held, 0);
	lab_close(&lab);
}

static void who_does_not_obey_a_pause_loses_what_exceeds_the_headroom(void)
{
	struct port_config ports[LAB_PORTS] = { lab_port(), lab_port(), lab_port() };

	ports[0].ingress_limit_bytes = 33000;
	lab_make(&lab, ports, false);
	lab_pause(&lab, 1, 3, 65535, 0);
	lab_run(&lab, 11 * US);
	for (unsigned i = 0; i < 100; i++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 11 * US);
	lab_run(&lab, 200 * US);
	CHECK_EQ(lab.ports[0].ingress[3].pfc.bytes, 33000);
	CHECK_EQ(dropped(DROP_HEADROOM), 67);
	lab_close(&lab);
}

/* Whoever comes up next knows nothing of what was before: registers begin anew, and what is still queued elsewhere is no longer held. */
static void a_link_that_goes_down_begins_its_credits_anew(void)
{
	struct port_config ports[LAB_PORTS] = { lab_port(), lab_port(), lab_port() };
	struct port *port;

	ports[0].flow_control = FLOW_CREDITS;
	lab_make(&lab, ports, false);
	port = &lab.ports[0];
	lab_pause(&lab, 1, 3, 65535, 0);
	lab_run(&lab, 11 * US);
	for (unsigned i = 0; i < 3; i++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 11 * US);
	lab_send(&lab, 2, lab_frame(&lab, 0, 3, 1000), 11 * US);
	lab_run(&lab, 26 * US);
	CHECK_EQ(port->ingress[3].credit.held, 48);
	CHECK_EQ(port->ingress[3].credit.sent, 16);
	/* One is on its way to the port when its link goes down. */
	lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 26 * US);
	port_link_down(port, lab.now_ps);
	CHECK_EQ(port->count.undelivered_frames, 1);
	CHECK_EQ(port->ingress[3].credit.held + port->ingress[3].credit.sent + port->ingress[3].credit.received, 0);
	CHECK_EQ(port->ingress[3].credit.limit, 50);
	port_link_up(port, lab.now_ps);
	/* A new one comes and has to wait; those of the old one leave, and free nothing that they do not hold. */
	lab_pause(&lab, 2, 3, 65535, lab.now_ps);
	lab_send(&lab, 0, lab_frame(&lab, 2, 3, 1000), lab.now_ps);
	lab_run(&lab, lab.now_ps + 12 * US);
	lab_pause(&lab, 1, 3, 0, lab.now_ps);
	lab_run(&lab, lab.now_ps + 20 * US);
	CHECK_EQ(lab.ports[1].count.tx_frames, 3);
	CHECK_EQ(port->ingress[3].credit.received, 16);
	CHECK_EQ(port->ingress[3].credit.held, 16);
	CHECK_EQ(dropped(DROP_HEADROOM), 0);
	lab_close(&lab);
}

/* PFC: a peer that comes back does not know that it is held back. */
static void a_link_that_comes_up_is_paused_again(void)
{
	make(false);
	lab_pause(&lab, 1, 3, 65535, 0);
	lab_run(&lab, 11 * US);
	for (unsigned i = 0; i < 9; i++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 11 * US);
	lab_run(&lab, 40 * US);
	CHECK_EQ(lab.ports[0].count.pause_sent[3], 1);
	lab.ports[0].wire.down = true;
	port_link_down(&lab.ports[0], lab.now_ps);
	lab_run(&lab, 50 * US);
	CHECK_EQ(lab.ports[0].count.tx_control, 1);
	lab.ports[0].wire.down = false;
	port_link_up(&lab.ports[0], lab.now_ps);
	lab_run(&lab, 51 * US);
	CHECK_EQ(lab.ports[0].count.pause_sent[3], 2);
	lab_close(&lab);
}

static void a_lossy_priority_drops_at_its_egress_queue(void)
{
	struct port_config ports[LAB_PORTS] = { lab_port(), lab_port(), lab_port() };

	for (unsigned i = 0; i < LAB_PORTS; i++) {
		ports[i].lossless = 1 << 3;
		ports[i].lossy_queue_bytes = 4000;
	}
	lab_make(&lab, ports, false);
	for (unsigned i = 0; i < 20; i++) {
		lab_send(&lab, 0, lab_frame(&lab, 1, 0, 1000), 0);
		lab_send(&lab, 2, lab_frame(&lab, 1, 0, 1000), 0);
	}
	lab_run(&lab, 60 * US);
	/* Twice as much comes in as goes out, for 16 us: of 40, 20 leave meanwhile, four wait, and the first two came at once. */
	CHECK_EQ(lab.ports[1].count.queue_most_bytes, 4000);
	CHECK_EQ(lab.ports[1].count.tx_frames + lab.ports[1].count.drops[DROP_QUEUE], 40);
	CHECK(lab.ports[1].count.drops[DROP_QUEUE] >= 15 && lab.ports[1].count.drops[DROP_QUEUE] <= 17);
	CHECK_EQ(lab.ports[0].count.pause_sent[0], 0);
	lab_close(&lab);
}

static void a_link_that_goes_down_loses_what_waits_for_it(void)
{
	make(false);
	lab_pause(&lab, 1, 3, 65535, 0);
	lab_run(&lab, 11 * US);
	for (unsigned i = 0; i < 9; i++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 11 * US);
	lab_run(&lab, 40 * US);
	lab.ports[1].wire.down = true;
	port_link_down(&lab.ports[1], lab.now_ps);
	CHECK_EQ(lab.ports[1].count.drops[DROP_LINK_DOWN], 9);
	CHECK_EQ(lab.ports[0].ingress[3].pfc.bytes, 0);
	lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), lab.now_ps);
	lab_run(&lab, lab.now_ps + 12 * US);
	CHECK_EQ(lab.ports[1].count.drops[DROP_LINK_DOWN], 10);
	lab_close(&lab);
}

/* Whoever is looked for behind links that are down is not unknown: the links are to blame. */
static void nothing_is_flooded_to_links_that_are_down(void)
{
	uint8_t frame[60] = { 2, 0, 0, 0, 0, 0x77, 2, 0, 0, 0, 0, 9, 0x12, 0x34 };

	make(true);
	lab.ports[1].wire.down = true;
	send_raw(0, frame, 60);
	CHECK_EQ(lab.ports[2].count.tx_frames, 1);
	CHECK_EQ(lab.ports[1].count.drops[DROP_LINK_DOWN], 0);
	lab.ports[2].wire.down = true;
	send_raw(0, frame, 60);
	CHECK_EQ(dropped(DROP_UNKNOWN_PORT), 0);
	CHECK_EQ(lab.ports[1].count.drops[DROP_LINK_DOWN] + lab.ports[2].count.drops[DROP_LINK_DOWN], 1);
	lab_close(&lab);
}

/* A hundred thousand frames of random bytes behind headers that are nearly right. */
static void noise(void)
{
	static const uint16_t TYPES[] = { 0x0800, 0x86DD, 0x8100, 0x88A8, 0x8808, 0x88B5, 0x0806, 0x1234 };
	uint64_t random = 88172645463325252u;
	struct rte_mbuf *mbuf;
	uint64_t sent;

	make(true);
	lab.ports[1].flow_control = FLOW_CREDITS;
	for (unsigned i = 0; i < 100000; i++) {
		uint8_t frame[80];

		for (unsigned j = 0; j < sizeof(frame); j += 8) {
			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			memcpy(frame + j, &random, 8);
		}
		uint16_t type = TYPES[frame[20] & 7];
		uint16_t length = 1 + frame[21] % sizeof(frame);

		frame[6] &= frame[22] & 1 ? 0xFE : 0xFF;
		frame[12] = (uint8_t)(type >> 8);
		frame[13] = (uint8_t)type;
		if (frame[23] & 3)
			memcpy(frame, (uint8_t[]){ 1, 0x80, 0xC2, 0, 0, 1 }, 6);
		if (frame[24] & 1)
			memcpy(frame + 14, type == 0x8808 ? (uint8_t[]){ 1, 1, 0 } : (uint8_t[]){ 1, 8, 0 }, 3);
		if (!(mbuf = rte_pktmbuf_alloc(lab.pool)))
			mbuf = rte_pktmbuf_alloc(lab.pool);
		if (mbuf) {
			memcpy(frame_blank(mbuf, length), frame, length);
			lab_send(&lab, i % LAB_PORTS, mbuf, lab.now_ps);
		}
		lab_run(&lab, lab.now_ps + LAB_STEP_PS);
		for (unsigned j = 0; j < LAB_PORTS; j++)
			while ((mbuf = lab_next(&lab, j, &sent)))
				rte_pktmbuf_free(mbuf);
	}
	lab.ports[1].flow_control = FLOW_PFC;
	lab_close(&lab);
}

int main(void)
{
	lab_open();
	RUN(runts_are_dropped_whatever_they_are_cut_from);
	RUN(mac_control_that_is_not_pfc_is_dropped);
	RUN(pfc_frames_that_are_malformed_are_dropped);
	RUN(pauses_for_priorities_without_pfc_are_counted_and_not_obeyed);
	RUN(what_bridges_do_not_forward_is_dropped);
	RUN(unknown_and_own_destinations);
	RUN(an_unknown_destination_is_flooded_until_it_is_learnt);
	RUN(an_empty_pool_costs_copies_and_delays_pauses_and_nothing_else);
	RUN(a_flood_without_buffers_reaches_one_port);
	RUN(a_flood_holds_its_ingress_buffer_until_the_last_copy_has_left);
	RUN(a_flood_holds_credits_until_the_last_copy_has_left);
	RUN(who_does_not_obey_a_pause_loses_what_exceeds_the_headroom);
	RUN(a_link_that_goes_down_begins_its_credits_anew);
	RUN(a_link_that_comes_up_is_paused_again);
	RUN(a_lossy_priority_drops_at_its_egress_queue);
	RUN(a_link_that_goes_down_loses_what_waits_for_it);
	RUN(nothing_is_flooded_to_links_that_are_down);
	RUN(noise);
	return 0;
}
