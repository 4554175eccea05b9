/* PFC step by step, with numbers to check by eye: 1000 B take 800 ns, a PAUSE (60 B) takes 48 ns, a link takes 10 us. */
#include "lab.h"

#define US PS_PER_US
#define NS PS_PER_NS
#define FRAME_PS (800 * NS)

static struct lab lab;

static void make(uint16_t quanta)
{
	struct port_config ports[LAB_PORTS] = { lab_port(), lab_port(), lab_port() };

	for (unsigned i = 0; i < LAB_PORTS; i++)
		ports[i].pfc.pause_quanta = quanta;
	lab_make(&lab, ports, false);
}

/* What a frame at port 0 says about priority 3: quanta, or -1 if it is no PFC frame. */
static int64_t next_pause(uint64_t *sent_ps)
{
	struct rte_mbuf *mbuf = lab_next(&lab, 0, sent_ps);
	struct bw_frame frame;
	int64_t quanta = -1;

	if (mbuf && bw_frame_parse(rte_pktmbuf_mtod(mbuf, uint8_t *), rte_pktmbuf_data_len(mbuf), &frame, NULL, 0) &&
	    frame.kind == BW_FRAME_KIND_PFC && frame.pfc.enabled == 1 << 3)
		quanta = frame.pfc.quanta[3];
	rte_pktmbuf_free(mbuf);
	return quanta;
}

static void a_frame_passes_an_idle_switch_in_its_own_time(void)
{
	uint64_t sent;

	make(65535);
	lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 0);
	lab_run(&lab, 30 * US);
	struct rte_mbuf *mbuf = lab_next(&lab, 1, &sent);

	CHECK(mbuf);
	/* Its last bit is in after 0.8 + 10 us: then its first one leaves. */
	CHECK_EQ(sent, FRAME_PS + 10 * US);
	rte_pktmbuf_free(mbuf);
	lab_close(&lab);
}

/* The other end of port 1 pauses for good; port 0 sends at line rate until the PAUSE gets there. */
static void xoff_pause_headroom_resume(void)
{
	uint64_t sent, begin = 11 * US;

	make(65535);
	lab_pause(&lab, 1, 3, 65535, 0);
	lab_run(&lab, begin);
	CHECK_EQ(lab.ports[1].closed, 1 << 3);
	/* Frames 1 to 9 arrive at begin + 10 us + 0.8 us each; 9000 B > 8000 B. */
	uint64_t xoff_at = begin + 10 * US + 9 * FRAME_PS;
	/* The PAUSE leaves at once, takes 48 ns, and is there 10 us later: frames that start before are still coming. */
	uint64_t stop_at = xoff_at + 48 * NS + 10 * US;
	unsigned frames = 0;

	for (uint64_t start = begin; start < stop_at; start += FRAME_PS, frames++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), start);
	lab_run(&lab, stop_at + 20 * US);
	CHECK_EQ(next_pause(&sent), 65535);
	CHECK_EQ(sent, xoff_at);
	/* 17.2 + 10.048 us at 0.8 us each. */
	CHECK_EQ(frames, 35);
	CHECK_EQ(lab.ports[0].count.ingress_most_bytes, 35000);
	/* Headroom: C * tau = 1.25 B/ns * 20 048 ns = 25 060 B, and up to two frames that cannot be cut. */
	CHECK(35000 - 8000 >= 25060 && 35000 - 8000 <= 25060 + 2000);
	CHECK_EQ(lab.ports[0].count.pause_sent[3], 1);

	/* The other end lets go. At 5000 B left, with the start of the 30th frame, a RESUME is sent. */
	uint64_t resume_at = lab.now_ps;

	lab_pause(&lab, 1, 3, 0, resume_at);
	uint64_t open_at = resume_at + 100 * NS + 10 * US;

	lab_run(&lab, resume_at + 60 * US);
	CHECK_EQ(next_pause(&sent), 0);
	/* The RESUME (48 ns) is seen at the next step of 100 ns. */
	CHECK_EQ(sent, open_at + 29 * FRAME_PS);
	CHECK_EQ(lab.ports[1].count.tx_frames, 35);
	CHECK_EQ(lab.ports[0].ingress[3].pfc.bytes, 0);
	CHECK_EQ(lab.ports[1].count.off_periods[3], 1);
	lab_close(&lab);
}

static void a_pause_ends_by_itself_when_its_quanta_are_over(void)
{
	uint64_t sent;

	make(65535);
	lab_pause(&lab, 1, 3, 100, 0);
	lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 0);
	lab_run(&lab, 40 * US);
	struct rte_mbuf *mbuf = lab_next(&lab, 1, &sent);

	CHECK(mbuf);
	/* There at 10.048 us, seen at 10.1 us, lasts 100 * 512 bit / 10 Gbps = 5.12 us. */
	CHECK_EQ(sent, 10100 * NS + 5120 * NS);
	CHECK_EQ(lab.ports[1].count.pause_expired, 1);
	CHECK_EQ(lab.ports[1].count.paused_ps[3], 5120 * NS);
	rte_pktmbuf_free(mbuf);
	lab_close(&lab);
}

static void a_pause_that_is_still_needed_is_sent_again_at_half_its_time(void)
{
	uint64_t sent, first;

	make(100);
	lab_pause(&lab, 1, 3, 65535, 0);
	lab_run(&lab, 11 * US);
	for (unsigned i = 0; i < 9; i++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 11 * US);
	lab_run(&lab, 60 * US);
	CHECK_EQ(next_pause(&first), 100);
	/* Half of 5.12 us, at the next step. */
	for (unsigned i = 1; i <= 5; i++) {
		CHECK_EQ(next_pause(&sent), 100);
		CHECK_EQ(sent - first, 2600 * NS * i);
	}
	lab_close(&lab);
}

static void other_priorities_pass_a_closed_gate(void)
{
	uint64_t sent;

	make(65535);
	lab_pause(&lab, 1, 3, 65535, 0);
	lab_run(&lab, 11 * US);
	lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 11 * US);
	lab_send(&lab, 0, lab_frame(&lab, 1, 5, 1000), 11 * US);
	lab_run(&lab, 50 * US);
	struct rte_mbuf *mbuf = lab_next(&lab, 1, &sent);

	CHECK(mbuf);
	CHECK_EQ(rte_pktmbuf_mtod(mbuf, uint8_t *)[15] >> 5, 5);
	rte_pktmbuf_free(mbuf);
	CHECK(!lab_next(&lab, 1, &sent));
	CHECK_EQ(port_queued_bytes(&lab.ports[1], 3), 1000);
	lab_close(&lab);
}

int main(void)
{
	lab_open();
	RUN(a_frame_passes_an_idle_switch_in_its_own_time);
	RUN(xoff_pause_headroom_resume);
	RUN(a_pause_ends_by_itself_when_its_quanta_are_over);
	RUN(a_pause_that_is_still_needed_is_sent_again_at_half_its_time);
	RUN(other_priorities_pass_a_closed_gate);
	return 0;
}
