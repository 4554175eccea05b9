/* The PFC watchdog: a peer that pauses and never resumes. Detection after 200 us here (SONiC: 200 ms), the end 100 us after the last PAUSE. */
#include "lab.h"

#define US PS_PER_US

static struct lab lab;

static void make(enum watchdog_action action)
{
	struct port_config ports[LAB_PORTS] = { lab_port(), lab_port(), lab_port() };

	for (unsigned i = 0; i < LAB_PORTS; i++) {
		ports[i].pfc.watchdog_detect_ps = 200 * US;
		ports[i].pfc.watchdog_restore_ps = 100 * US;
		ports[i].watchdog_action = action;
	}
	lab_make(&lab, ports, false);
}

/* Pauses port 1 again and again, and leaves frames waiting behind it. */
static void storm(uint64_t until_ps)
{
	for (uint64_t at = lab.now_ps; at < until_ps; at += 20 * US) {
		lab_pause(&lab, 1, 3, 65535, at);
		lab_run(&lab, at + 20 * US);
	}
}

static void a_storm_is_found_and_what_waits_is_dropped(void)
{
	make(WATCHDOG_DROP);
	for (unsigned i = 0; i < 9; i++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 20 * US);
	storm(200 * US);
	/* The gate closed at 10.1 us. */
	CHECK_EQ(lab.ports[1].count.storms, 0);
	CHECK_EQ(port_queued_bytes(&lab.ports[1], 3), 9000);
	storm(220 * US);
	CHECK_EQ(lab.ports[1].count.storms, 1);
	CHECK_EQ(lab.ports[1].count.drops[DROP_WATCHDOG], 9);
	/* Their room is free again: the upstream end is let go. */
	CHECK_EQ(lab.ports[0].count.resume_sent[3], 1);

	/* During the storm frames are dropped at once, PAUSEs change nothing; other priorities pass. */
	lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), lab.now_ps);
	lab_send(&lab, 0, lab_frame(&lab, 1, 4, 1000), lab.now_ps);
	storm(260 * US);
	CHECK_EQ(lab.ports[1].count.drops[DROP_WATCHDOG], 10);
	CHECK_EQ(lab.ports[1].count.tx_frames, 1);
	CHECK(lab.ports[1].count.pauses_ignored > 0);

	/* The last PAUSE came in at 250.1 us. */
	lab_run(&lab, 350 * US);
	CHECK_EQ(lab.ports[1].count.storms_over, 0);
	lab_run(&lab, 351 * US);
	CHECK_EQ(lab.ports[1].count.storms_over, 1);
	lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), lab.now_ps);
	lab_run(&lab, 400 * US);
	CHECK_EQ(lab.ports[1].count.tx_frames, 2);
	lab_close(&lab);
}

static void a_storm_may_also_be_ignored(void)
{
	make(WATCHDOG_FORWARD);
	for (unsigned i = 0; i < 9; i++)
		lab_send(&lab, 0, lab_frame(&lab, 1, 3, 1000), 20 * US);
	storm(240 * US);
	CHECK_EQ(lab.ports[1].count.storms, 1);
	CHECK_EQ(lab.ports[1].count.tx_frames, 9);
	CHECK_EQ(lab.ports[1].count.drops[DROP_WATCHDOG], 0);
	lab_close(&lab);
}

static void nothing_waits_no_storm(void)
{
	make(WATCHDOG_DROP);
	storm(500 * US);
	CHECK_EQ(lab.ports[1].count.storms, 0);
	lab_close(&lab);
}

int main(void)
{
	lab_open();
	RUN(a_storm_is_found_and_what_waits_is_dropped);
	RUN(a_storm_may_also_be_ignored);
	RUN(nothing_waits_no_storm);
	return 0;
}
