/* The detectors on a port, step by step: which packets are marked, by arithmetic. Packets of 1000 B leave every 800 ns. */
#include <string.h>

#include <rte_ip.h>

#include "lab.h"

#define US PS_PER_US
#define NS PS_PER_NS

/* As backwater.h numbers them. */
enum kind { RED = 1, NP_ECN = 2, TCD = 3 };
#define RISE_BP 3
#define NON_CONGESTION 0

static struct lab lab;
static struct bw_detector detector;

/* RED as a step at 5000 B; for TCD max(Ton) 8 us, T 8 us, drained at 1000 B, dead band 2000 B. */
static void make(enum kind kind)
{
	struct bw_detector_config config = {
		.kind = kind, .trend = RISE_BP, .kmin_bytes = 5000, .kmax_bytes = 5000, .pmax = 1,
		.max_ton_ps = 8 * US, .period_ps = 8 * US, .low_bytes = 1000, .delta_bytes = 2000, .clock_ps = 1,
	};
	struct port_config ports[LAB_PORTS] = { lab_port(), lab_port(), lab_port() };
	char why[128];

	CHECK(bw_detector_init(&detector, &config, why, sizeof(why)));
	for (unsigned i = 0; i < LAB_PORTS; i++) {
		ports[i].pfc.xoff_bytes = 1000000;
		ports[i].pfc.xon_bytes = 900000;
		ports[i].detector = &detector;
	}
	lab_make(&lab, ports, false);
}

/* Twenty packets wait behind a PAUSE; after the RESUME they leave. The code points in order, as digits. */
static const char *after_a_pause(void)
{
	static char codes[21];
	struct rte_mbuf *mbuf;
	uint64_t sent;
	unsigned n = 0;

	lab_pause(&lab, 1, 3, 65535, 0);
	lab_run(&lab, 11 * US);
	for (unsigned i = 0; i < 20; i++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 11 * US);
	lab_pause(&lab, 1, 3, 0, 40 * US);
	lab_run(&lab, 90 * US);
	while ((mbuf = lab_next(&lab, 1, &sent))) {
		CHECK(n < 20);
		codes[n++] = (char)('0' + (rte_pktmbuf_mtod(mbuf, uint8_t *)[15] & 3));
		rte_pktmbuf_free(mbuf);
	}
	codes[n] = 0;
	return codes;
}

#define CHECK_CODES(wanted) \
	do { \
		const char *got_ = after_a_pause(); \
		if (strcmp(got_, wanted) != 0) { \
			fprintf(stderr, "%s: codes are %s, not %s\n", __func__, got_, wanted); \
			exit(1); \
		} \
	} while (0)

static void red_marks_as_long_as_more_than_k_is_queued(void)
{
	make(RED);
	/* The first leaves 19 000 B behind it, the 14th 6000 B, the 15th 5000 B: no more than K. */
	CHECK_CODES("33333333333333111111");
	CHECK_EQ(lab.ports[1].count.marked_ce, 14);
	lab_close(&lab);
}

static void np_ecn_does_not_mark_what_was_paused(void)
{
	make(NP_ECN);
	CHECK_CODES("11111111111111111111");
	lab_close(&lab);
}

static void tcd_marks_ue_for_max_ton_after_the_resume_and_then_waits_for_a_trend(void)
{
	make(TCD);
	/* Packet k leaves 0.8 k us after the RESUME: the first ten within 8 us. Then the queue falls: no verdict is CE. */
	CHECK_CODES("22222222221111111111");
	CHECK_EQ(lab.ports[1].count.marked_ue, 10);
	CHECK_EQ(lab.ports[1].count.marked_ce, 0);
	CHECK_EQ(lab.ports[1].count.departures_in_state[2], 10);
	CHECK_EQ(lab.ports[1].lanes[3].state, NON_CONGESTION);
	lab_close(&lab);
}

static void tcd_without_a_pause_is_red(void)
{
	make(TCD);
	/* Twice line rate, 20 packets: the queue grows by one packet every 800 ns, and passes 5000 B. */
	for (unsigned i = 0; i < 10; i++) {
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 0);
		lab_send(&lab, 2, lab_frame(&lab, 1, 3, 1000), 0);
	}
	lab_run(&lab, 60 * US);
	/* At the k-th departure 2k arrived and k left: k more wait, up to 10 at the tenth; more than five from the sixth to the 14th. */
	CHECK_EQ(lab.ports[1].count.marked_ue, 0);
	CHECK_EQ(lab.ports[1].count.marked_ce, 9);
	lab_close(&lab);
}

static void a_packet_that_is_not_capable_is_left_alone(void)
{
	struct rte_mbuf *mbuf;
	uint64_t sent;

	make(RED);
	for (unsigned i = 0; i < 20; i++) {
		mbuf = lab_frame(&lab, 1, 3, 1000);
		rte_pktmbuf_mtod(mbuf, uint8_t *)[15] &= 0xFC;
		lab_send(&lab, i % 2 ? 0 : 2, mbuf, 0);
	}
	lab_run(&lab, 60 * US);
	while ((mbuf = lab_next(&lab, 1, &sent))) {
		CHECK_EQ(rte_pktmbuf_mtod(mbuf, uint8_t *)[15] & 3, 0);
		rte_pktmbuf_free(mbuf);
	}
	CHECK_EQ(lab.ports[1].count.marked_ce, 0);
	lab_close(&lab);
}

static void a_mark_keeps_the_header_checksum_right(void)
{
	struct rte_mbuf *mbuf;
	uint64_t sent;
	unsigned marked = 0;

	make(RED);
	for (unsigned i = 0; i < 20; i++) {
		mbuf = lab_frame(&lab, 1, 3, 1000);
		struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(mbuf, struct rte_ipv4_hdr *, 14);

		ip->packet_id = (uint16_t)(i * 7919);
		ip->hdr_checksum = rte_ipv4_cksum(ip);
		lab_send(&lab, i % 2 ? 0 : 2, mbuf, 0);
	}
	lab_run(&lab, 60 * US);
	while ((mbuf = lab_next(&lab, 1, &sent))) {
		struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(mbuf, struct rte_ipv4_hdr *, 14);

		marked += (ip->type_of_service & 3) == 3;
		/* DPDK's own checksum over the whole header, computed anew. */
		uint16_t carried = ip->hdr_checksum;

		ip->hdr_checksum = 0;
		CHECK_EQ(rte_ipv4_cksum(ip), carried);
		rte_pktmbuf_free(mbuf);
	}
	CHECK(marked > 0);
	lab_close(&lab);
}

int main(void)
{
	lab_open();
	RUN(red_marks_as_long_as_more_than_k_is_queued);
	RUN(np_ecn_does_not_mark_what_was_paused);
	RUN(tcd_marks_ue_for_max_ton_after_the_resume_and_then_waits_for_a_trend);
	RUN(tcd_without_a_pause_is_red);
	RUN(a_packet_that_is_not_capable_is_left_alone);
	RUN(a_mark_keeps_the_header_checksum_right);
	return 0;
}
