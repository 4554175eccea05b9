/* Clocks: what a tick adds, and who waits for whom. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
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

/* Joins as another process does that is killed right after, and says so. */
static pid_t joined_and_killed(unsigned self, unsigned processes)
{
	const char *path = page_path();
	pid_t child = fork();

	if (child == 0) {
		struct lockstep lockstep;

		CHECK_EQ(lockstep_join(&lockstep, path, self, processes, PS_PER_US), 0);
		kill(getpid(), SIGKILL);
	}
	return child;
}

static void until_it_ended(pid_t child)
{
	siginfo_t told;

	/* It stays a zombie. */
	CHECK_EQ(waitid(P_PID, (id_t)child, &told, WEXITED | WNOWAIT), 0);
}

static void look_for_the_dead(struct lockstep *lockstep)
{
	uint64_t now = 0;

	for (int i = 0; i < 1000 && !lockstep->lost; i++)
		now = lockstep_advance(lockstep, now, now + PS_PER_US);
}

static void who_was_killed_holds_nobody_up_and_is_counted_by_each(void)
{
	struct lockstep one, two;

	CHECK_EQ(lockstep_join(&one, page_path(), 0, 3, PS_PER_US), 0);
	CHECK_EQ(lockstep_join(&two, page_path(), 2, 3, PS_PER_US), 0);
	pid_t child = joined_and_killed(1, 3);

	until_it_ended(child);
	look_for_the_dead(&one);
	look_for_the_dead(&two);
	CHECK_EQ(one.lost, 1);
	CHECK_EQ(two.lost, 1);
	/* Counted once, and held up by the living only. */
	uint64_t at = lockstep_advance(&one, 2 * PS_PER_US, 90 * PS_PER_US);

	CHECK(at < 90 * PS_PER_US);
	CHECK_EQ(one.lost, 1);
	waitpid(child, NULL, 0);
	lockstep_leave(&one, 0);
	lockstep_leave(&two, 0);
	CHECK(access(page_path(), F_OK) != 0);
}

static void who_is_started_again_joins_at_the_time_of_the_slowest(void)
{
	struct lockstep one, two, again;

	CHECK_EQ(lockstep_join(&one, page_path(), 0, 3, PS_PER_US), 0);
	CHECK_EQ(lockstep_join(&two, page_path(), 2, 3, PS_PER_US), 0);
	pid_t child = joined_and_killed(1, 3);

	waitpid(child, NULL, 0);
	look_for_the_dead(&one);
	CHECK_EQ(lockstep_advance(&two, 0, PS_PER_US), PS_PER_US);
	CHECK_EQ(lockstep_advance(&one, PS_PER_US, 9 * PS_PER_US), 2 * PS_PER_US);
	CHECK_EQ(lockstep_join(&again, page_path(), 1, 3, PS_PER_US), 0);
	CHECK_EQ(again.start_ps, PS_PER_US);
	/* It holds them up as before. */
	CHECK_EQ(lockstep_advance(&two, PS_PER_US, 2 * PS_PER_US), 2 * PS_PER_US);
	CHECK_EQ(lockstep_advance(&two, 2 * PS_PER_US, 3 * PS_PER_US), 2 * PS_PER_US);
	lockstep_leave(&two, 0);
	lockstep_leave(&again, 0);
	lockstep_leave(&one, 0);
	CHECK(access(page_path(), F_OK) != 0);
}

static void a_number_that_is_taken_is_refused(void)
{
	struct lockstep one, other;

	CHECK_EQ(lockstep_join(&one, page_path(), 0, 2, PS_PER_US), 0);
	CHECK_EQ(lockstep_join(&other, page_path(), 0, 2, PS_PER_US), -EADDRINUSE);
	CHECK(strstr(lockstep_why(-EADDRINUSE), "clock.process") != NULL);
	/* And nothing is changed by that. */
	CHECK_EQ(lockstep_join(&other, page_path(), 1, 2, PS_PER_US), 0);
	CHECK(lockstep_wait_for_all(&one, 1000));
	lockstep_leave(&one, 0);
	lockstep_leave(&other, 0);
}

static void another_file_is_left_alone(void)
{
	const char words[] = "somebody's thesis";
	char found[sizeof(words)] = "";
	struct lockstep one;
	int file = open(page_path(), O_CREAT | O_RDWR | O_TRUNC, 0600);

	CHECK_EQ(write(file, words, sizeof(words)), sizeof(words));
	CHECK_EQ(lockstep_join(&one, page_path(), 0, 1, PS_PER_US), -EMEDIUMTYPE);
	CHECK_EQ(pread(file, found, sizeof(found), 0), sizeof(words));
	CHECK_EQ(strcmp(found, words), 0);
	close(file);
	unlink(page_path());
}

/* A run's page that could not be removed. */
static void who_has_left_an_earlier_run_is_not_there_for_the_next(void)
{
	struct lockstep one, two;
	char kept[80];

	snprintf(kept, sizeof(kept), "%s-kept", page_path());
	CHECK_EQ(lockstep_join(&one, page_path(), 0, 2, PS_PER_US), 0);
	CHECK_EQ(lockstep_join(&two, page_path(), 1, 2, PS_PER_US), 0);
	CHECK_EQ(link(page_path(), kept), 0);
	lockstep_leave(&one, 0);
	lockstep_leave(&two, 0);
	CHECK_EQ(rename(kept, page_path()), 0);
	CHECK_EQ(lockstep_join(&one, page_path(), 0, 2, PS_PER_US), 0);
	CHECK(!lockstep_wait_for_all(&one, 5));
	CHECK_EQ(lockstep_join(&two, page_path(), 1, 2, PS_PER_US), 0);
	CHECK(lockstep_wait_for_all(&one, 5));
	CHECK_EQ(lockstep_advance(&one, 0, 9 * PS_PER_US), PS_PER_US);
	lockstep_leave(&one, 0);
	lockstep_leave(&two, 0);
	CHECK(access(page_path(), F_OK) != 0);
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

	waitpid(joined_and_killed(1, 2), NULL, 0);
	CHECK_EQ(lockstep_join(&one, page_path(), 0, 2, PS_PER_US), 0);
	CHECK(!lockstep_wait_for_all(&one, 5));
	lockstep_leave(&one, 0);
	CHECK(access(page_path(), F_OK) != 0);
}

int main(void)
{
	RUN(a_step_adds_the_same_each_time);
	RUN(a_clamped_clock_follows_the_counter_up_to_its_cap);
	RUN(a_wall_clock_counts_its_stalls);
	RUN(time_never_goes_back);
	RUN(the_cap_leaves_room_for_line_rate);
	RUN(none_gets_further_ahead_than_the_lookahead);
	RUN(who_was_killed_holds_nobody_up_and_is_counted_by_each);
	RUN(who_is_started_again_joins_at_the_time_of_the_slowest);
	RUN(a_number_that_is_taken_is_refused);
	RUN(another_file_is_left_alone);
	RUN(who_has_left_an_earlier_run_is_not_there_for_the_next);
	RUN(who_comes_to_its_end_waits_for_the_others);
	RUN(a_page_that_a_dead_process_left_does_not_count);
	return 0;
}
