/* See lockstep.h. */
#include "lockstep.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How often a process that is held back looks whether the others are still alive. */
#define LOOKS_PER_CHECK 256

/* "BWLOCKS1": a file without it was not made by us. */
#define MAGIC UINT64_C(0x31534b434f4c5742)
/* A predecessor that has left closes its devices before its number is free. */
#define PATIENCE_MS 5000
/* The clock of a process that has left. */
#define LEFT UINT64_MAX

/* One cache line for each process. Whether it lives is not written here: it holds a lock on the byte of its number, which the
 * kernel takes away when the process ends, however it ends. */
struct slot {
	uint64_t now_ps;
	/* The run that it joined, and how often the number was taken. */
	uint32_t run, times;
} __attribute__((aligned(64)));

struct lockstep_page {
	uint64_t magic;
	uint32_t run;
	struct slot slots[LOCKSTEP_MOST];
};

static void pause_1_ms(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

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

/* A lock of the open file, not of the process: two that join in one process are two, and closing another one loses nothing. */
static bool own_byte(int file, unsigned number, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = number, .l_len = 1 };

	return fcntl(file, F_OFD_SETLK, &lock) == 0;
}

static bool is_alive(const struct lockstep *lockstep, unsigned number)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = number, .l_len = 1 };

	return number == lockstep->self || (fcntl(lockstep->file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK);
}

static uint64_t now_of(const struct lockstep *lockstep, unsigned number)
{
	return __atomic_load_n(&lockstep->page->slots[number].now_ps, __ATOMIC_ACQUIRE);
}

static bool is_of_this_run(const struct lockstep *lockstep, unsigned number)
{
	return __atomic_load_n(&lockstep->page->slots[number].run, __ATOMIC_ACQUIRE) == lockstep->run;
}

/* Under way: alive, of the page's run, and not at its end. */
static bool is_under_way(const struct lockstep *lockstep, unsigned number)
{
	return is_alive(lockstep, number) && is_of_this_run(lockstep, number) && now_of(lockstep, number) != LEFT;
}

/* Maps the page, which is all zero when it is new; -errno. */
static int map_page(struct lockstep *lockstep, int file)
{
	struct stat found;

	if (fstat(file, &found) < 0)
		return -errno;
	if (found.st_size && found.st_size != sizeof(struct lockstep_page))
		return -EMEDIUMTYPE;
	if (ftruncate(file, sizeof(struct lockstep_page)) < 0)
		return -errno;
	lockstep->page = mmap(NULL, sizeof(struct lockstep_page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (lockstep->page == MAP_FAILED)
		return -errno;
	if (found.st_size && lockstep->page->magic != MAGIC) {
		munmap(lockstep->page, sizeof(struct lockstep_page));
		return -EMEDIUMTYPE;
	}
	lockstep->page->magic = MAGIC;
	return 0;
}

/* With the file locked: a run begins with the first that finds nobody under way. Who joins later, because it was started again,
 * begins at the time of the slowest. */
static void begin(struct lockstep *lockstep)
{
	struct lockstep_page *page = lockstep->page;
	struct slot *slot = &page->slots[lockstep->self];
	bool others = false;
	uint64_t slowest = LEFT;

	lockstep->run = page->run;
	for (unsigned i = 0; i < LOCKSTEP_MOST; i++) {
		if (i == lockstep->self || !is_under_way(lockstep, i))
			continue;
		others = true;
		slowest = now_of(lockstep, i) < slowest ? now_of(lockstep, i) : slowest;
	}
	if (!others)
		lockstep->run = ++page->run;
	lockstep->start_ps = others ? slowest : 0;
	__atomic_store_n(&slot->now_ps, lockstep->start_ps, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->times, slot->times + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->run, lockstep->run, __ATOMIC_RELEASE);
}

/* One attempt; -EBUSY if a process that has left still has the number, -EADDRINUSE if one under way has it. */
static int try_to_join(struct lockstep *lockstep)
{
	int file = open_page(lockstep->path, O_CREAT);
	int error;

	if (file < 0)
		return file;
	error = map_page(lockstep, file);
	if (error) {
		close(file);
		return error;
	}
	lockstep->file = file;
	if (own_byte(file, lockstep->self, F_WRLCK)) {
		begin(lockstep);
		/* The lock of the whole file only; the mapping would keep it. */
		flock(file, LOCK_UN);
		return 0;
	}
	error = now_of(lockstep, lockstep->self) == LEFT ? -EBUSY : -EADDRINUSE;
	munmap(lockstep->page, sizeof(struct lockstep_page));
	flock(file, LOCK_UN);
	close(file);
	return error;
}

int lockstep_join(struct lockstep *lockstep, const char *path, unsigned self, unsigned processes, uint64_t lookahead_ps)
{
	int error = -EBUSY;

	if (processes < 1 || processes > LOCKSTEP_MOST || self >= processes || lookahead_ps == 0 || strlen(path) >= LOCKSTEP_PATH)
		return -EINVAL;
	*lockstep = (struct lockstep){ .self = self, .processes = processes, .lookahead_ps = lookahead_ps };
	strcpy(lockstep->path, path);
	for (unsigned waited_ms = 0; error == -EBUSY && waited_ms < PATIENCE_MS; waited_ms++) {
		if (waited_ms)
			pause_1_ms();
		error = try_to_join(lockstep);
	}
	if (error)
		lockstep->page = NULL;
	return error;
}

const char *lockstep_why(int error)
{
	switch (-error) {
	case EADDRINUSE:
		return "another process that runs has this number; give each its own clock.process, and each run its own clock.page";
	case EBUSY:
		return "a process that has left still has this number; end it";
	case EMEDIUMTYPE:
		return "this is another file, which is left alone; name one that is not there, such as /dev/shm/backwater";
	default:
		return strerror(-error);
	}
}

bool lockstep_wait_for_all(struct lockstep *lockstep, unsigned timeout_ms)
{
	for (unsigned waited_ms = 0;; waited_ms++) {
		unsigned joined = 0;

		/* Who has left was there; who was killed is waited for: it may be started again. */
		for (unsigned i = 0; i < lockstep->processes; i++)
			joined += is_of_this_run(lockstep, i) && (now_of(lockstep, i) == LEFT || is_alive(lockstep, i));
		if (joined == lockstep->processes)
			return true;
		if (waited_ms >= timeout_ms || (lockstep->stop && *lockstep->stop))
			return false;
		pause_1_ms();
	}
}

static bool is_buried(const struct lockstep *lockstep, unsigned number)
{
	return lockstep->buried[number] == __atomic_load_n(&lockstep->page->slots[number].times, __ATOMIC_ACQUIRE);
}

/* The processes that were killed no longer hold this one up; each of the others finds that out, and counts it, for itself. */
static void bury_the_dead(struct lockstep *lockstep)
{
	for (unsigned i = 0; i < lockstep->processes; i++) {
		uint32_t times = __atomic_load_n(&lockstep->page->slots[i].times, __ATOMIC_ACQUIRE);

		if (!is_of_this_run(lockstep, i) || is_buried(lockstep, i) || is_alive(lockstep, i))
			continue;
		/* Who leaves says so before it lets go of its lock. */
		if (now_of(lockstep, i) == LEFT)
			continue;
		lockstep->buried[i] = times;
		lockstep->lost++;
	}
}

static uint64_t slowest_other(const struct lockstep *lockstep)
{
	uint64_t least = LEFT;

	for (unsigned i = 0; i < lockstep->processes; i++) {
		uint64_t now = now_of(lockstep, i);

		if (now < least && i != lockstep->self && !is_buried(lockstep, i))
			least = now;
	}
	return least;
}

/* The clock of the slowest as it was when last looked at, looked at again where that would hold this one up. One that is alone
 * looks each time: another may be started again. */
static uint64_t limit(struct lockstep *lockstep, uint64_t wanted_ps)
{
	uint64_t lookahead = lockstep->lookahead_ps;

	if (lockstep->horizon_ps == LEFT || wanted_ps > lockstep->horizon_ps + lookahead)
		lockstep->horizon_ps = slowest_other(lockstep);
	return lockstep->horizon_ps == LEFT ? LEFT : lockstep->horizon_ps + lookahead;
}

uint64_t lockstep_advance(struct lockstep *lockstep, uint64_t now_ps, uint64_t wanted_ps)
{
	uint64_t most = limit(lockstep, wanted_ps);

	if (wanted_ps > most)
		wanted_ps = most > now_ps ? most : now_ps;
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
	for (unsigned i = 0; i < LOCKSTEP_MOST && last; i++)
		last = !is_under_way(lockstep, i);
	if (last)
		unlink(lockstep->path);
	close(file);
}

void lockstep_leave(struct lockstep *lockstep, unsigned patience_ms)
{
	if (!lockstep->page)
		return;
	__atomic_store_n(&lockstep->page->slots[lockstep->self].now_ps, LEFT, __ATOMIC_RELEASE);
	for (unsigned waited_ms = 0; waited_ms < patience_ms && slowest_other(lockstep) != LEFT; waited_ms++) {
		if (lockstep->stop && *lockstep->stop)
			break;
		bury_the_dead(lockstep);
		pause_1_ms();
	}
	remove_if_last(lockstep);
	own_byte(lockstep->file, lockstep->self, F_UNLCK);
	munmap(lockstep->page, sizeof(struct lockstep_page));
	close(lockstep->file);
	lockstep->page = NULL;
}
