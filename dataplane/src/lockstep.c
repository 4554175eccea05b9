/* See lockstep.h. */
#include "lockstep.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How often a process that is held back looks whether the others are still alive. */
#define LOOKS_PER_CHECK 256

/* One cache line for each process. */
struct slot {
	uint64_t now_ps;
	int32_t pid;
	uint32_t joined;
} __attribute__((aligned(64)));

struct lockstep_page {
	struct slot slots[LOCKSTEP_MOST];
};

/* Opens the file and locks it; -errno. The last one of an earlier run may have removed it between the two. */
static int open_page(const char *path, int flags)
{
	for (;;) {
		struct stat found;
		int file = open(path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);

		if (file < 0)
			return -errno;
		if (flock(file, LOCK_EX) == 0 && fstat(file, &found) == 0 && found.st_nlink)
			return file;
		close(file);
	}
}

int lockstep_join(struct lockstep *lockstep, const char *path, unsigned self, unsigned processes, uint64_t lookahead_ps)
{
	if (processes < 1 || processes > LOCKSTEP_MOST || self >= processes || lookahead_ps == 0 || strlen(path) >= LOCKSTEP_PATH)
		return -EINVAL;
	int file = open_page(path, O_CREAT);

	if (file < 0)
		return file;
	void *page = MAP_FAILED;

	if (ftruncate(file, sizeof(struct lockstep_page)) == 0)
		page = mmap(NULL, sizeof(struct lockstep_page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (page == MAP_FAILED) {
		int error = -errno;

		close(file);
		return error;
	}
	*lockstep = (struct lockstep){
		.page = page, .self = self, .processes = processes, .lookahead_ps = lookahead_ps,
	};
	strcpy(lockstep->path, path);
	struct slot *slot = &lockstep->page->slots[self];

	__atomic_store_n(&slot->now_ps, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->pid, getpid(), __ATOMIC_RELAXED);
	__atomic_store_n(&slot->joined, 1, __ATOMIC_RELEASE);
	/* The mapping would keep the lock. */
	flock(file, LOCK_UN);
	close(file);
	return 0;
}

/* A page may be left over from an earlier run: what a dead process wrote does not count. */
static bool is_there(const struct slot *slot)
{
	return __atomic_load_n(&slot->joined, __ATOMIC_ACQUIRE) != 0 &&
	       (kill(__atomic_load_n(&slot->pid, __ATOMIC_RELAXED), 0) == 0 || errno != ESRCH);
}

bool lockstep_wait_for_all(struct lockstep *lockstep, unsigned timeout_ms)
{
	for (unsigned waited_ms = 0;; waited_ms++) {
		unsigned joined = 0;

		for (unsigned i = 0; i < lockstep->processes; i++)
			joined += is_there(&lockstep->page->slots[i]);
		if (joined == lockstep->processes)
			return true;
		if (waited_ms >= timeout_ms || (lockstep->stop && *lockstep->stop))
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

/* The processes that were killed no longer hold anybody up. */
static void bury_the_dead(struct lockstep *lockstep)
{
	for (unsigned i = 0; i < lockstep->processes; i++) {
		struct slot *slot = &lockstep->page->slots[i];

		if (i == lockstep->self || __atomic_load_n(&slot->now_ps, __ATOMIC_ACQUIRE) == UINT64_MAX)
			continue;
		if (kill(__atomic_load_n(&slot->pid, __ATOMIC_RELAXED), 0) < 0 && errno == ESRCH) {
			__atomic_store_n(&slot->now_ps, UINT64_MAX, __ATOMIC_RELEASE);
			lockstep->lost++;
		}
	}
}

static uint64_t slowest_other(const struct lockstep *lockstep)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < lockstep->processes; i++) {
		if (i == lockstep->self)
			continue;
		uint64_t now = __atomic_load_n(&lockstep->page->slots[i].now_ps, __ATOMIC_ACQUIRE);

		if (now < least)
			least = now;
	}
	return least;
}

uint64_t lockstep_advance(struct lockstep *lockstep, uint64_t now_ps, uint64_t wanted_ps)
{
	uint64_t lookahead = lockstep->lookahead_ps;

	if (lockstep->horizon_ps != UINT64_MAX && wanted_ps > lockstep->horizon_ps + lookahead) {
		lockstep->horizon_ps = slowest_other(lockstep);
		if (lockstep->horizon_ps != UINT64_MAX && wanted_ps > lockstep->horizon_ps + lookahead) {
			uint64_t limit = lockstep->horizon_ps + lookahead;

			wanted_ps = limit > now_ps ? limit : now_ps;
		}
	}
	__atomic_store_n(&lockstep->page->slots[lockstep->self].now_ps, wanted_ps, __ATOMIC_RELEASE);
	if (wanted_ps == now_ps) {
		lockstep->yields++;
		if (++lockstep->held_back % LOOKS_PER_CHECK == 0)
			bury_the_dead(lockstep);
		sched_yield();
	}
	return wanted_ps;
}

/* Under the lock, so that nobody of a next run joins a page that is removed. */
static void remove_if_last(struct lockstep *lockstep)
{
	int file = open_page(lockstep->path, 0);
	bool last = true;

	if (file < 0)
		return;
	for (unsigned i = 0; i < LOCKSTEP_MOST && last; i++) {
		const struct slot *slot = &lockstep->page->slots[i];

		last = !is_there(slot) || __atomic_load_n(&slot->now_ps, __ATOMIC_ACQUIRE) == UINT64_MAX;
	}
	if (last)
		unlink(lockstep->path);
	close(file);
}

void lockstep_leave(struct lockstep *lockstep, unsigned patience_ms)
{
	if (!lockstep->page)
		return;
	__atomic_store_n(&lockstep->page->slots[lockstep->self].now_ps, UINT64_MAX, __ATOMIC_RELEASE);
	for (unsigned waited_ms = 0; waited_ms < patience_ms && slowest_other(lockstep) != UINT64_MAX; waited_ms++) {
		if (lockstep->stop && *lockstep->stop)
			break;
		bury_the_dead(lockstep);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	remove_if_last(lockstep);
	munmap(lockstep->page, sizeof(struct lockstep_page));
	lockstep->page = NULL;
}
