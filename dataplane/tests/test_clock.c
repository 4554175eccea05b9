/* Clocks: what a tick adds, and who waits for whom. */
#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "clock.h"
#include "lockstep.h"

#define HZ UINT64_C(2000000000)

static void a_step_adds_the_same_each_time(void)
{
	struct clock clock;

	clock_start(&clock, CLOCK_STEP, 30 * PS_PER_NS, HZ, 0);
	CHECK_EQ(clock_tick(&clock, 12345), 30000);
	CHECK_EQ(clock_tick(&clock, 7), 60000);
}

static void a_clamped_clock_follows_the_counter_up_to_its_cap(void)
{
	struct clock clock;

	clock_start(&clock, CLOCK_CLAMP, 200 * PS_PER_NS, HZ, 1000);
	/* 2 GHz: 100 cycles are 50 ns. */
	CHECK_EQ(clock_tick(&clock, 1100), 50 * PS_PER_NS);
	/* A stall of 10 ms. */
	CHECK_EQ(clock_tick(&clock, 1100 + 20000000), 250 * PS_PER_NS);
	CHECK_EQ(clock.gaps, 1);
	CHECK_EQ(clock.worst_gap_ps, 10 * PS_PER_MS);
	/* The stall is not made up for. */
	CHECK_EQ(clock_tick(&clock, 1200 + 20000000), 300 * PS_PER_NS);
}

static void a_wall_clock_counts_its_stalls(void)
{
	struct clock clock;

	clock_start(&clock, CLOCK_WALL, PS_PER_MS, HZ, 0);
	CHECK_EQ(clock_tick(&clock, 4000000), 2 * PS_PER_MS);
	CHECK_EQ(clock.gaps, 1);
}

static void time_never_goes_back(void)
{
	struct clock clock;

	clock_start(&clock, CLOCK_WALL, PS_PER_MS, HZ, 1000);
	CHECK_EQ(clock_tick(&clock, 2000), 500 * PS_PER_NS);
	CHECK_EQ(clock_tick(&clock, 1500), 500 * PS_PER_NS);
	CHECK_EQ(clock_tick(&clock, 2200), 600 * PS_PER_NS);
}

static void the_cap_leaves_room_for_line_rate(void)
{
	/* The study: 0.2 us at 10 Gbps and 1 us at 1 Gbps; a round of n nodes stays within half of the allowance of 4 us * (10G / C). */
	CHECK_EQ(clock_safe_cap_ps(UINT64_C(10000000000), 7), 200 * PS_PER_NS);
	CHECK_EQ(clock_safe_cap_ps(UINT64_C(1000000000), 7), PS_PER_US);
	CHECK_EQ(clock_safe_cap_ps(UINT64_C(10000000000), 20), 100 * PS_PER_NS);
}

static const char *page_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/dev/shm/backwater-test-%d", (int)getpid());
	return path;
}

static void none_gets_further_ahead_than_the_lookahead(void)
{
	struct lockstep one, two;

	CHECK_EQ(lockstep_join(&one, page_path(), 0, 2, 2 * PS_PER_US), 0);
	CHECK(!lockstep_wait_for_all(&one, 5));
	CHECK_EQ(lockstep_join(&two, page_path(), 1, 2, 2 * PS_PER_US), 0);
	CHECK(lockstep_wait_for_all(&one, 1000));
	CHECK_EQ(lockstep_advance(&one, 0, PS_PER_US), PS_PER_US);
	CHECK_EQ(lockstep_advance(&one, PS_PER_US, 5 * PS_PER_US), 2 * PS_PER_US);
	CHECK_EQ(lockstep_advance(&one, 2 * PS_PER_US, 5 * PS_PER_US), 2 * PS_PER_US);
	CHECK_EQ(one.yields, 1);
	CHECK_EQ(lockstep_advance(&two, 0, 3 * PS_PER_US), 3 * PS_PER_US);
	CHECK_EQ(lockstep_advance(&one, 2 * PS_PER_US, 9 * PS_PER_US), 5 * PS_PER_US);
	/* Who leaves holds nobody up. */
	lockstep_leave(&two, 0);
	CHECK_EQ(lockstep_advance(&one, 5 * PS_PER_US, 90 * PS_PER_US), 90 * PS_PER_US);
	CHECK_EQ(one.lost, 0);
	lockstep_leave(&one, 0);
	CHECK(access(page_path(), F_OK) != 0);
}

static void who_was_killed_holds_nobody_up(void)
{
	struct lockstep one;
	const char *path = page_path();
	pid_t child = fork();

	if (child == 0) {
		struct lockstep two;

		lockstep_join(&two, path, 1, 2, PS_PER_US);
		_exit(0);
	}
	CHECK_EQ(lockstep_join(&one, path, 0, 2, PS_PER_US), 0);
	waitpid(child, NULL, 0);
	uint64_t now = 0;

	for (int i = 0; i < 20000 && !one.lost; i++)
		now = lockstep_advance(&one, now, now + PS_PER_US);
	CHECK_EQ(one.lost, 1);
	lockstep_leave(&one, 0);
	CHECK(access(path, F_OK) != 0);
}

static void who_comes_to_its_end_waits_for_the_others(void)
{
	struct lockstep one, two;
	const char *path = page_path();
	struct timespec before, after;
	int ends[2];
	char word;

	CHECK_EQ(pipe2(ends, O_NONBLOCK), 0);
	CHECK_EQ(lockstep_join(&one, path, 0, 2, PS_PER_US), 0);
	pid_t child = fork();

	if (child == 0) {
		lockstep_join(&two, path, 1, 2, PS_PER_US);
		nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
		CHECK_EQ(write(ends[1], "x", 1), 1);
		lockstep_leave(&two, 0);
		_exit(0);
	}
	CHECK(lockstep_wait_for_all(&one, 10000));
	lockstep_leave(&one, 100000);
	CHECK_EQ(read(ends[0], &word, 1), 1);
	waitpid(child, NULL, 0);
	close(ends[0]);
	close(ends[1]);

	CHECK_EQ(lockstep_join(&one, path, 0, 2, PS_PER_US), 0);
	CHECK_EQ(lockstep_join(&two, path, 1, 2, PS_PER_US), 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	lockstep_leave(&one, 20);
	clock_gettime(CLOCK_MONOTONIC, &after);
	CHECK((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 >= 20);
	CHECK_EQ(lockstep_advance(&two, 0, PS_PER_US), PS_PER_US);
	lockstep_leave(&two, 0);
	CHECK(access(path, F_OK) != 0);
}

static void a_page_that_a_dead_process_left_does_not_count(void)
{
	struct lockstep one;
	const char *path = page_path();
	pid_t child = fork();

	if (child == 0) {
		struct lockstep two;

		lockstep_join(&two, path, 1, 2, PS_PER_US);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	CHECK_EQ(lockstep_join(&one, path, 0, 2, PS_PER_US), 0);
	CHECK(!lockstep_wait_for_all(&one, 5));
	lockstep_leave(&one, 0);
	CHECK(access(path, F_OK) != 0);
}

int main(void)
{
	RUN(a_step_adds_the_same_each_time);
	RUN(a_clamped_clock_follows_the_counter_up_to_its_cap);
	RUN(a_wall_clock_counts_its_stalls);
	RUN(time_never_goes_back);
	RUN(the_cap_leaves_room_for_line_rate);
	RUN(none_gets_further_ahead_than_the_lookahead);
	RUN(who_was_killed_holds_nobody_up);
	RUN(who_comes_to_its_end_waits_for_the_others);
	RUN(a_page_that_a_dead_process_left_does_not_count);
	return 0;
}
