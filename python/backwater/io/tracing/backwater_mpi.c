/* Records what the ranks of an MPI program call, and how long they compute between the calls.
 *
 * Where there is no Backwater:
 *
 *     mpicc -shared -fPIC -O2 -pthread -o libbackwater_mpi.so backwater_mpi.c
 *     BACKWATER_MPI_FOLDER=/scratch/records LD_PRELOAD=$PWD/libbackwater_mpi.so mpirun -n 4 ./app
 *
 * and later, where there is one: backwater import mpi /scratch/records
 *
 * The folder must exist, and be the same for all ranks (on several machines: shared, or copied together). Without
 * BACKWATER_MPI_FOLDER nothing is recorded. BACKWATER_MPI_LIMIT is how many calls of a rank are recorded (1000000).
 *
 * Each rank writes one file, rank-<number>.bwmpi: a line of text, then records. A record is a kind, and then numbers:
 * how long the rank computed before the call and how long the call took, both in nanoseconds, and what is said beside
 * each kind below. Numbers are of 7 bits a byte, the lowest first; the highest bit says that more follow. Ranks are
 * those of MPI_COMM_WORLD. The file is mapped into memory, so that a rank that is killed leaves all that it recorded:
 * behind it are bytes of 0, and there is no END.
 *
 * The standard lets a library stand before MPI: it defines MPI_Send, and calls PMPI_Send (MPI 4.1, chapter 15).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum kind {
	/* calls, nanoseconds of recording, nanoseconds in calls that are no records, calls of other threads */
	END = 1,
	/* number, identity (0: unknown), members, each member; their numbers: 0 is MPI_COMM_WORLD */
	COMM,
	/* no record follows: there are as many as BACKWATER_MPI_LIMIT says */
	LIMIT,
	/* mode, communicator, peer, tag, bytes */
	SEND,
	/* communicator, peer, tag, room in bytes */
	RECV,
	/* request, mode, communicator, peer, tag, bytes */
	ISEND,
	/* request, communicator, peer + 1 (0: any), tag + 1 (0: any), room in bytes */
	IRECV,
	/* communicator, receiver + 1 (0: none), tag, bytes, sender + 1 (0: none), tag, room in bytes */
	SENDRECV,
	/* requests, then of each: number, how it ended; if it has received: from whom, tag */
	DONE,
	/* request */
	FREE,
	/* operation, communicator, bytes, root */
	COLLECTIVE,
	/* operation, communicator, root, numbers, bytes to each, numbers, bytes from each */
	UNEVEN,
	/* request, operation, communicator, bytes, root */
	ICOLLECTIVE,
	/* request + 1 (0: none), target, bytes */
	PUT,
	GET,
	/* all puts and gets of the rank are complete */
	FLUSH,
	/* communicator: the same, and all of it meet */
	FENCE,
	/* letters of the name, the name: what has no other record */
	OTHER,
	/* no record follows: a thread called MPI while another one was in a call */
	THREADS,
};

enum mode { STANDARD, SYNCHRONOUS, BUFFERED, READY };
enum ended { SENT, RECEIVED, CANCELLED };
/* What a request does; the last one is of a call that is no record. */
enum does { SENDS, RECEIVES, OF_ALL, NOTHING };
enum operation { BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, ALLTOALL, REDUCE_SCATTER };

#define CHUNK ((size_t)1 << 20)

struct communicator {
	uint64_t number;
	int size;
	int *members; /* the other side, if it is an intercommunicator */
	int inter;
	struct communicator *next;
};

/* MPI may give many requests that are complete when they begin one handle. So those of a handle are a list, the oldest first. */
struct request {
	struct request *older, *newer;
	const void *at; /* where the program was given the handle: tells those of a handle apart */
	uint64_t number;
	enum does does;
	int persistent, active;
	struct communicator *comm;
	/* What a persistent request does. */
	enum mode mode;
	int peer, tag;
	uint64_t bytes;
};

struct handle {
	uint64_t key; /* 0: this place is free */
	struct request *oldest, *newest;
};

static struct {
	_Atomic int on;
	int rank, size;
	/* The file. */
	int file;
	unsigned char *map;
	size_t mapped_at, used;
	/* The record in the making. */
	unsigned char *record;
	size_t length, room;
	/* When the last call was left; computing before calls that are no records; what reading the clock takes. */
	uint64_t left, pending, clock;
	uint64_t calls, limit, recording, quiet, foreign, requests, communicators;
	int comm_key, win_key;
	struct communicator *comms, *world;
	/* By hash, in a table of a power of two of places. */
	struct handle *table;
	size_t places, taken;
	/* The first thread; the one that left a call last; whether one called while another one was in a call. */
	pthread_t thread, last;
	int together;
	MPI_Group world_group;
} own = {.file = -1};

/* Of all above; recursive, as a record may need several of the functions below. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* What cannot be done any more is said once; the file then has no end, and the reader says so. */
static void give_up(const char *what)
{
	fprintf(stderr, "backwater: rank %d is recorded no further: %s: %s\n", own.rank, what, strerror(errno));
	own.on = 0;
}

static void *more(void *old, size_t bytes)
{
	void *memory = realloc(old, bytes);
	if (!memory) {
		fprintf(stderr, "backwater: rank %d: no memory for a record\n", own.rank);
		abort();
	}
	return memory;
}

/* ---- The file ---- */

static int next_chunk(void)
{
	if (own.map) {
		munmap(own.map, CHUNK);
		own.map = NULL;
		own.mapped_at += CHUNK;
	}
	/* Without room on the disk the mapping would end the program. */
	int error = posix_fallocate(own.file, (off_t)own.mapped_at, (off_t)CHUNK);
	if (error) {
		errno = error;
		give_up("its file cannot grow");
		return 0;
	}
	void *map = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, own.file, (off_t)own.mapped_at);
	if (map == MAP_FAILED) {
		give_up("its file cannot be mapped");
		return 0;
	}
	own.map = map;
	own.used = 0;
	return 1;
}

static void append(const unsigned char *bytes, size_t length)
{
	while (length) {
		if ((!own.map || own.used == CHUNK) && !next_chunk())
			return;
		size_t part = CHUNK - own.used < length ? CHUNK - own.used : length;
		memcpy(own.map + own.used, bytes, part);
		own.used += part;
		bytes += part;
		length -= part;
	}
}

static void close_file(void)
{
	off_t length = (off_t)(own.mapped_at + own.used);
	if (own.map)
		munmap(own.map, CHUNK);
	own.map = NULL;
	if (own.file >= 0 && (ftruncate(own.file, length) || close(own.file)))
		fprintf(stderr, "backwater: rank %d: its file cannot be closed: %s\n", own.rank, strerror(errno));
	own.file = -1;
}

/* ---- Records ---- */

static void put(uint64_t number)
{
	if (own.length + 10 > own.room)
		own.record = more(own.record, own.room = 2 * own.room + 64);
	for (; number > 127; number >>= 7)
		own.record[own.length++] = (unsigned char)(number | 128);
	own.record[own.length++] = (unsigned char)number;
}

/* A rank of a program makes one call after another. Threads that make them at the same time have no such order. */
static void look_at_threads(uint64_t entered)
{
	own.together |= entered < own.left && !pthread_equal(pthread_self(), own.last);
}

/* The time for which the rank has computed until it entered a call. A call within a call, as of MPI's own files, leaves none. */
static uint64_t computed(uint64_t entered)
{
	return entered > own.left + own.clock ? entered - own.left - own.clock : 0;
}

static void begin(enum kind kind, uint64_t entered, uint64_t left)
{
	pthread_mutex_lock(&lock);
	look_at_threads(entered);
	own.length = 0;
	put(kind);
	put(own.pending + computed(entered));
	put(left - entered);
	own.pending = 0;
	own.foreign += !pthread_equal(pthread_self(), own.thread);
}

/* The last record of a rank that is recorded no further. */
static void stop_at(enum kind kind)
{
	own.length = 0;
	put(kind);
	put(0);
	put(0);
	append(own.record, own.length);
	own.on = 0;
}

static void leave(void)
{
	own.left = now();
	own.last = pthread_self();
	pthread_mutex_unlock(&lock);
}

static void finish(uint64_t left)
{
	if (own.on && own.together) {
		stop_at(THREADS);
	} else if (own.on) {
		append(own.record, own.length);
		if (++own.calls >= own.limit)
			stop_at(LIMIT);
	}
	own.recording += now() - left;
	leave();
}

/* A call that is no record. */
static void pass(uint64_t entered, uint64_t left)
{
	pthread_mutex_lock(&lock);
	look_at_threads(entered);
	if (own.on && own.together)
		stop_at(THREADS);
	own.pending += computed(entered);
	own.quiet += left - entered;
	leave();
}

static void other(const char *name, uint64_t entered, uint64_t left)
{
	begin(OTHER, entered, left);
	put(strlen(name));
	for (; *name; name++)
		put((unsigned char)*name);
	finish(left);
}

/* ---- Communicators ---- */

/* A communicator that all its members know by an identity; 0: they could not agree on one. */
static struct communicator *define(MPI_Comm comm, uint64_t identity)
{
	struct communicator *made = more(NULL, sizeof *made);
	MPI_Group group;
	PMPI_Comm_test_inter(comm, &made->inter);
	if (made->inter)
		PMPI_Comm_remote_group(comm, &group);
	else
		PMPI_Comm_group(comm, &group);
	PMPI_Group_size(group, &made->size);
	size_t bytes = (size_t)(made->size ? made->size : 1) * sizeof(int);
	int *places = more(NULL, bytes);
	made->members = more(NULL, bytes);
	for (int place = 0; place < made->size; place++)
		places[place] = place;
	PMPI_Group_translate_ranks(group, made->size, places, own.world_group, made->members);
	free(places);
	PMPI_Group_free(&group);
	PMPI_Comm_set_attr(comm, own.comm_key, made);
	pthread_mutex_lock(&lock);
	made->number = own.communicators++;
	made->next = own.comms;
	own.comms = made;
	own.length = 0;
	put(COMM);
	put(0);
	put(0);
	put(made->number);
	put(identity);
	put((uint64_t)made->size);
	for (int place = 0; place < made->size; place++)
		put(made->members[place] < 0 ? (uint64_t)own.size : (uint64_t)made->members[place]);
	if (own.on)
		append(own.record, own.length);
	pthread_mutex_unlock(&lock);
	return made;
}

static struct communicator *known(MPI_Comm comm)
{
	if (comm == MPI_COMM_WORLD)
		return own.world;
	struct communicator *found = NULL;
	int there = 0;
	PMPI_Comm_get_attr(comm, own.comm_key, &found, &there);
	return there ? found : define(comm, 0);
}

/* A rank of a communicator in MPI_COMM_WORLD; behind the last one: it is none of that. */
static int world_rank(const struct communicator *comm, int rank)
{
	if (rank < 0 || rank >= comm->size || comm->members[rank] < 0)
		return own.size;
	return comm->members[rank];
}

/* A new communicator gets an identity from its first member: what it counts is its own. */
static void made_communicator(int result, MPI_Comm *comm, uint64_t entered)
{
	uint64_t left = now();
	if (result == MPI_SUCCESS && *comm != MPI_COMM_NULL) {
		static _Atomic uint64_t count;
		int rank, inter;
		PMPI_Comm_test_inter(*comm, &inter);
		uint64_t identity = 0;
		if (!inter) {
			PMPI_Comm_rank(*comm, &rank);
			if (rank == 0)
				identity = ((uint64_t)own.rank + 1) << 32 | ++count;
			PMPI_Bcast(&identity, 1, MPI_UINT64_T, 0, *comm);
		}
		define(*comm, identity);
	}
	pass(entered, left);
}

/* ---- Requests ---- */

static uint64_t key_of(MPI_Request request)
{
	uint64_t key = 0;
	memcpy(&key, &request, sizeof request < sizeof key ? sizeof request : sizeof key);
	return key + 1 ? key + 1 : 1;
}

/* Where a handle is in the table, or belongs. */
static size_t place_of(uint64_t key)
{
	size_t place = (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (own.places - 1);
	while (own.table[place].key && own.table[place].key != key)
		place = (place + 1) & (own.places - 1);
	return place;
}

/* Among how many of a handle the one is looked for whose handle stood there; else it is the oldest: the program has copied handles. */
#define NEAR 256

static struct request *find(MPI_Request handle, const void *at)
{
	if (!own.places || handle == MPI_REQUEST_NULL)
		return NULL;
	struct request *oldest = own.table[place_of(key_of(handle))].oldest, *found = oldest;
	for (int looked = 0; found && found->at != at && looked < NEAR; looked++)
		found = found->newer;
	return found && found->at == at ? found : oldest;
}

static struct request *add(MPI_Request handle, const void *at, enum does does, struct communicator *comm)
{
	if (2 * own.taken >= own.places) {
		struct handle *before = own.table;
		size_t places = own.places;
		own.places = places ? 2 * places : 256;
		own.table = more(NULL, own.places * sizeof *own.table);
		memset(own.table, 0, own.places * sizeof *own.table);
		for (size_t place = 0; place < places; place++)
			if (before[place].key)
				own.table[place_of(before[place].key)] = before[place];
		free(before);
	}
	uint64_t key = key_of(handle);
	struct handle *of = &own.table[place_of(key)];
	struct request *made = more(NULL, sizeof *made);
	*made = (struct request){.at = at, .does = does, .comm = comm, .active = 1, .older = of->newest};
	if (of->key)
		of->newest->newer = made;
	else
		of->oldest = made;
	own.taken += !of->key;
	of->key = key;
	of->newest = made;
	return made;
}

/* Takes a request out. If it was the last one of its handle, what would not be found any more behind the gap moves up. */
static void forget(MPI_Request handle, struct request *gone)
{
	size_t mask = own.places - 1, gap = place_of(key_of(handle));
	struct handle *of = &own.table[gap];
	*(gone->older ? &gone->older->newer : &of->oldest) = gone->newer;
	*(gone->newer ? &gone->newer->older : &of->newest) = gone->older;
	free(gone);
	if (of->oldest)
		return;
	*of = (struct handle){0};
	own.taken--;
	for (size_t place = (gap + 1) & mask; own.table[place].key; place = (place + 1) & mask) {
		struct handle moved = own.table[place];
		own.table[place] = (struct handle){0};
		own.table[place_of(moved.key)] = moved;
	}
}

/* ---- Beginning and end ---- */

static void start_recording(void)
{
	const char *folder = getenv("BACKWATER_MPI_FOLDER"), *limit = getenv("BACKWATER_MPI_LIMIT");
	char name[4096], host[256] = "unknown", head[512];
	if (!folder || own.on)
		return;
	PMPI_Comm_rank(MPI_COMM_WORLD, &own.rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &own.size);
	own.limit = limit ? strtoull(limit, NULL, 10) : 1000000;
	if (!own.limit)
		own.limit = 1;
	int length = snprintf(name, sizeof name, "%s/rank-%d.bwmpi", folder, own.rank);
	if (length < 0 || (size_t)length >= sizeof name) {
		errno = ENAMETOOLONG;
		give_up(folder);
		return;
	}
	own.file = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (own.file < 0) {
		give_up(name);
		return;
	}
	uint64_t before = now();
	for (int turn = 0; turn < 1000; turn++)
		now();
	own.clock = (now() - before) / 1000;
	gethostname(host, sizeof host - 1);
	length = snprintf(head, sizeof head, "backwater-mpi 1 rank %d of %d host %s cpus %ld clock-ns %llu limit %llu\n",
			  own.rank, own.size, host, sysconf(_SC_NPROCESSORS_ONLN), (unsigned long long)own.clock,
			  (unsigned long long)own.limit);
	pthread_mutexattr_t recursive;
	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&lock, &recursive);
	pthread_mutexattr_destroy(&recursive);
	own.on = 1;
	own.thread = own.last = pthread_self();
	append((const unsigned char *)head, (size_t)length);
	PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &own.comm_key, NULL);
	PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &own.win_key, NULL);
	PMPI_Comm_group(MPI_COMM_WORLD, &own.world_group);
	own.world = define(MPI_COMM_WORLD, 1);
	own.left = now();
}

int MPI_Init(int *argc, char ***argv)
{
	int result = PMPI_Init(argc, argv);
	if (result == MPI_SUCCESS)
		start_recording();
	return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int result = PMPI_Init_thread(argc, argv, required, provided);
	if (result == MPI_SUCCESS)
		start_recording();
	return result;
}

static void stop_recording(void)
{
	if (own.on) {
		uint64_t entered = now();
		begin(END, entered, entered);
		put(own.calls);
		put(own.recording);
		put(own.quiet);
		put(own.foreign);
		finish(entered);
	}
	own.on = 0;
	close_file();
	if (own.world) {
		PMPI_Group_free(&own.world_group);
		PMPI_Comm_free_keyval(&own.comm_key);
		PMPI_Win_free_keyval(&own.win_key);
	}
	for (struct communicator *next; own.comms; own.comms = next) {
		next = own.comms->next;
		free(own.comms->members);
		free(own.comms);
	}
	own.world = NULL;
	for (size_t place = 0; place < own.places; place++)
		for (struct request *next, *request = own.table[place].key ? own.table[place].oldest : NULL; request; request = next) {
			next = request->newer;
			free(request);
		}
	free(own.table);
	free(own.record);
	own.table = NULL;
	own.record = NULL;
	own.places = own.taken = own.room = 0;
}

int MPI_Finalize(void)
{
	stop_recording();
	return PMPI_Finalize();
}

/* ---- Messages ---- */

static uint64_t bytes_of(int count, MPI_Datatype type)
{
	MPI_Count size = 0;
	if (count > 0 && type != MPI_DATATYPE_NULL)
		PMPI_Type_size_x(type, &size);
	return size > 0 ? (uint64_t)count * (uint64_t)size : 0;
}

static void sent(enum mode mode, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, uint64_t entered)
{
	uint64_t left = now();
	struct communicator *of = known(comm);
	begin(SEND, entered, left);
	put(mode);
	put(of->number);
	put((uint64_t)world_rank(of, to));
	put((uint64_t)tag);
	put(bytes_of(count, type));
	finish(left);
}

#define SENDS(name, mode)                                                                                              \
	int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)               \
	{                                                                                                              \
		uint64_t entered = now();                                                                              \
		int result = PMPI_##name(buffer, count, type, to, tag, comm);                                          \
		if (own.on && result == MPI_SUCCESS && to != MPI_PROC_NULL)                                            \
			sent(mode, count, type, to, tag, comm, entered);                                               \
		return result;                                                                                         \
	}
SENDS(Send, STANDARD)
SENDS(Ssend, SYNCHRONOUS)
SENDS(Bsend, BUFFERED)
SENDS(Rsend, READY)

static void received(int count, MPI_Datatype type, const MPI_Status *status, const struct communicator *of,
		     uint64_t entered)
{
	uint64_t left = now();
	begin(RECV, entered, left);
	put(of->number);
	put((uint64_t)world_rank(of, status->MPI_SOURCE));
	put((uint64_t)status->MPI_TAG);
	put(bytes_of(count, type));
	finish(left);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
	MPI_Status mine, *seen = status == MPI_STATUS_IGNORE ? &mine : status;
	uint64_t entered = now();
	int result = PMPI_Recv(buffer, count, type, from, tag, comm, seen);
	if (own.on && result == MPI_SUCCESS && from != MPI_PROC_NULL)
		received(count, type, seen, known(comm), entered);
	return result;
}

static void exchanged(int sent, MPI_Datatype sent_type, int to, int sent_tag, int room, MPI_Datatype type, int from,
		      const MPI_Status *status, MPI_Comm comm, uint64_t entered)
{
	uint64_t left = now();
	struct communicator *of = known(comm);
	int sends = to != MPI_PROC_NULL, receives = from != MPI_PROC_NULL;
	begin(SENDRECV, entered, left);
	put(of->number);
	put(sends ? (uint64_t)world_rank(of, to) + 1 : 0);
	put(sends ? (uint64_t)sent_tag : 0);
	put(sends ? bytes_of(sent, sent_type) : 0);
	put(receives ? (uint64_t)world_rank(of, status->MPI_SOURCE) + 1 : 0);
	put(receives ? (uint64_t)status->MPI_TAG : 0);
	put(receives ? bytes_of(room, type) : 0);
	finish(left);
}

int MPI_Sendrecv(const void *buffer, int count, MPI_Datatype type, int to, int tag, void *room, int room_count,
		 MPI_Datatype room_type, int from, int room_tag, MPI_Comm comm, MPI_Status *status)
{
	MPI_Status mine, *seen = status == MPI_STATUS_IGNORE ? &mine : status;
	uint64_t entered = now();
	int result = PMPI_Sendrecv(buffer, count, type, to, tag, room, room_count, room_type, from, room_tag, comm, seen);
	if (own.on && result == MPI_SUCCESS)
		exchanged(count, type, to, tag, room_count, room_type, from, seen, comm, entered);
	return result;
}

int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int to, int tag, int from, int room_tag,
			 MPI_Comm comm, MPI_Status *status)
{
	MPI_Status mine, *seen = status == MPI_STATUS_IGNORE ? &mine : status;
	uint64_t entered = now();
	int result = PMPI_Sendrecv_replace(buffer, count, type, to, tag, from, room_tag, comm, seen);
	if (own.on && result == MPI_SUCCESS)
		exchanged(count, type, to, tag, count, type, from, seen, comm, entered);
	return result;
}

/* ---- Requests ---- */

/* A request that sends or receives has begun. `peer` and `tag` as in the call. */
static void posted(struct request *request, enum mode mode, int peer, int tag, uint64_t bytes, uint64_t entered,
		   uint64_t left)
{
	const struct communicator *of = request->comm;
	int receives = request->does == RECEIVES;
	request->active = 1;
	request->number = own.requests++;
	begin(receives ? IRECV : ISEND, entered, left);
	put(request->number);
	if (!receives)
		put(mode);
	put(of->number);
	if (receives) {
		put(peer == MPI_ANY_SOURCE ? 0 : (uint64_t)world_rank(of, peer) + 1);
		put(tag == MPI_ANY_TAG ? 0 : (uint64_t)tag + 1);
	} else {
		put((uint64_t)world_rank(of, peer));
		put((uint64_t)tag);
	}
	put(bytes);
	finish(left);
}

/* A call that posts a request with this handle; `at`: where the program was given it. To and from nobody is no record. */
static void posts(MPI_Request handle, const void *at, enum does does, enum mode mode, int count, MPI_Datatype type, int peer,
		  int tag, struct communicator *of, uint64_t entered)
{
	uint64_t left = now();
	pthread_mutex_lock(&lock);
	if (peer == MPI_PROC_NULL) {
		add(handle, at, NOTHING, of);
		pass(entered, left);
	} else {
		posted(add(handle, at, does, of), mode, peer, tag, bytes_of(count, type), entered, left);
	}
	pthread_mutex_unlock(&lock);
}

#define ISENDS(name, mode)                                                                                             \
	int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,               \
		       MPI_Request *request)                                                                           \
	{                                                                                                              \
		uint64_t entered = now();                                                                              \
		int result = PMPI_##name(buffer, count, type, to, tag, comm, request);                                 \
		if (own.on && result == MPI_SUCCESS)                                                                   \
			posts(*request, request, SENDS, mode, count, type, to, tag, known(comm), entered);             \
		return result;                                                                                         \
	}
ISENDS(Isend, STANDARD)
ISENDS(Issend, SYNCHRONOUS)
ISENDS(Ibsend, BUFFERED)
ISENDS(Irsend, READY)

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
	uint64_t entered = now();
	int result = PMPI_Irecv(buffer, count, type, from, tag, comm, request);
	if (own.on && result == MPI_SUCCESS)
		posts(*request, request, RECEIVES, STANDARD, count, type, from, tag, known(comm), entered);
	return result;
}

static void persistent(MPI_Request handle, const void *at, enum does does, enum mode mode, int count, MPI_Datatype type,
		       int peer, int tag, MPI_Comm comm, uint64_t entered)
{
	uint64_t left = now();
	struct communicator *of = known(comm);
	pthread_mutex_lock(&lock);
	struct request *made = add(handle, at, does, of);
	made->persistent = 1;
	made->active = 0;
	made->mode = mode;
	made->peer = peer;
	made->tag = tag;
	made->bytes = bytes_of(count, type);
	pass(entered, left);
	pthread_mutex_unlock(&lock);
}

#define SEND_INITS(name, mode)                                                                                         \
	int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,               \
		       MPI_Request *request)                                                                           \
	{                                                                                                              \
		uint64_t entered = now();                                                                              \
		int result = PMPI_##name(buffer, count, type, to, tag, comm, request);                                 \
		if (own.on && result == MPI_SUCCESS && to != MPI_PROC_NULL)                                            \
			persistent(*request, request, SENDS, mode, count, type, to, tag, comm, entered);               \
		return result;                                                                                         \
	}
SEND_INITS(Send_init, STANDARD)
SEND_INITS(Ssend_init, SYNCHRONOUS)
SEND_INITS(Bsend_init, BUFFERED)
SEND_INITS(Rsend_init, READY)

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
	uint64_t entered = now();
	int result = PMPI_Recv_init(buffer, count, type, from, tag, comm, request);
	if (own.on && result == MPI_SUCCESS && from != MPI_PROC_NULL)
		persistent(*request, request, RECEIVES, STANDARD, count, type, from, tag, comm, entered);
	return result;
}

static void started(int count, const MPI_Request *requests, uint64_t entered)
{
	uint64_t left = now();
	pthread_mutex_lock(&lock);
	for (int index = 0; index < count; index++) {
		struct request *request = find(requests[index], &requests[index]);
		if (request)
			posted(request, request->mode, request->peer, request->tag, request->bytes, entered, left);
		entered = left = own.left + own.clock;
	}
	pthread_mutex_unlock(&lock);
}

int MPI_Start(MPI_Request *request)
{
	uint64_t entered = now();
	int result = PMPI_Start(request);
	if (own.on && result == MPI_SUCCESS)
		started(1, request, entered);
	return result;
}

int MPI_Startall(int count, MPI_Request *requests)
{
	uint64_t entered = now();
	int result = PMPI_Startall(count, requests);
	if (own.on && result == MPI_SUCCESS)
		started(count, requests, entered);
	return result;
}

static void freed(MPI_Request handle, const void *at, uint64_t entered)
{
	uint64_t left = now();
	pthread_mutex_lock(&lock);
	struct request *gone = find(handle, at);
	if (gone && gone->active && gone->does != NOTHING) {
		begin(FREE, entered, left);
		put(gone->number);
		finish(left);
	} else {
		pass(entered, left);
	}
	if (gone)
		forget(handle, gone);
	pthread_mutex_unlock(&lock);
}

int MPI_Request_free(MPI_Request *request)
{
	uint64_t entered = now();
	MPI_Request before = *request;
	int result = PMPI_Request_free(request);
	if (own.on && result == MPI_SUCCESS)
		freed(before, request, entered);
	return result;
}

/* Of a call that waits or tests: the requests before it, as the call sets them to MPI_REQUEST_NULL, where they stand, and statuses. */
struct watch {
	uint64_t entered;
	int count;
	const char *at;
	size_t apart;
	MPI_Request *before;
	MPI_Status *statuses, *made;
	MPI_Request few[16];
	MPI_Status some[16];
};

/* `given`: where the program wants the statuses, or what stands for nowhere. */
static void watch(struct watch *watch, int count, const MPI_Request *requests, MPI_Status *given)
{
	watch->entered = now();
	watch->count = count;
	watch->at = (const char *)requests;
	watch->apart = sizeof *requests;
	watch->before = watch->few;
	watch->made = NULL;
	watch->statuses = given == MPI_STATUSES_IGNORE || given == MPI_STATUS_IGNORE ? watch->some : given;
	if (count > 16) {
		watch->before = more(NULL, (size_t)count * sizeof *watch->before);
		if (watch->statuses == watch->some)
			watch->statuses = watch->made = more(NULL, (size_t)count * sizeof *watch->statuses);
	}
	for (int index = 0; index < count; index++)
		watch->before[index] = requests[index];
}

/* A request that has ended, as it is recorded. */
struct end {
	uint64_t number;
	enum ended how;
	int from, tag;
};

/* Takes the request of a handle out, if it has begun; returns whether its end is recorded. */
static int take(MPI_Request handle, const void *at, const MPI_Status *status, struct end *end)
{
	struct request *request = find(handle, at);
	int cancelled = 0;
	if (!request || !request->active)
		return 0;
	enum does does = request->does;
	if (does == SENDS || does == RECEIVES)
		PMPI_Test_cancelled(status, &cancelled);
	*end = (struct end){request->number, cancelled ? CANCELLED : does == RECEIVES ? RECEIVED : SENT, 0, 0};
	if (end->how == RECEIVED) {
		end->from = world_rank(request->comm, status->MPI_SOURCE);
		end->tag = status->MPI_TAG;
	}
	request->active = 0;
	if (!request->persistent)
		forget(handle, request);
	return does != NOTHING;
}

/* Those that have been completed, `done` of them, `which` or all; their statuses stand in this order. */
static void completed(struct watch *watch, int done, const int *which, int result)
{
	uint64_t left = now();
	struct end few[16], *ends = done > 16 ? more(NULL, (size_t)done * sizeof *ends) : few;
	int count = 0;
	pthread_mutex_lock(&lock);
	for (int index = 0; index < done && own.on && result == MPI_SUCCESS; index++) {
		int place = which ? which[index] : index;
		const char *at = watch->at + (size_t)place * watch->apart;
		count += take(watch->before[place], at, &watch->statuses[index], &ends[count]);
	}
	if (count) {
		begin(DONE, watch->entered, left);
		put((uint64_t)count);
		for (int index = 0; index < count; index++) {
			put(ends[index].number);
			put(ends[index].how);
			if (ends[index].how == RECEIVED) {
				put((uint64_t)ends[index].from);
				put((uint64_t)ends[index].tag);
			}
		}
		finish(left);
	} else if (own.on) {
		pass(watch->entered, left);
	}
	pthread_mutex_unlock(&lock);
	if (ends != few)
		free(ends);
	if (watch->before != watch->few) {
		free(watch->before);
		free(watch->made);
	}
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	struct watch seen;
	watch(&seen, 1, request, status);
	int result = PMPI_Wait(request, seen.statuses);
	completed(&seen, 1, NULL, result);
	return result;
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
	struct watch seen;
	watch(&seen, count, requests, statuses);
	int result = PMPI_Waitall(count, requests, seen.statuses);
	completed(&seen, count, NULL, result);
	return result;
}

int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status)
{
	struct watch seen;
	watch(&seen, count, requests, status);
	int result = PMPI_Waitany(count, requests, index, seen.statuses);
	completed(&seen, *index != MPI_UNDEFINED, index, result);
	return result;
}

int MPI_Waitsome(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses)
{
	struct watch seen;
	watch(&seen, count, requests, statuses);
	int result = PMPI_Waitsome(count, requests, done, indices, seen.statuses);
	completed(&seen, *done == MPI_UNDEFINED ? 0 : *done, indices, result);
	return result;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	struct watch seen;
	watch(&seen, 1, request, status);
	int result = PMPI_Test(request, flag, seen.statuses);
	completed(&seen, *flag != 0, NULL, result);
	return result;
}

int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
	struct watch seen;
	watch(&seen, count, requests, statuses);
	int result = PMPI_Testall(count, requests, flag, seen.statuses);
	completed(&seen, *flag ? count : 0, NULL, result);
	return result;
}

int MPI_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
	struct watch seen;
	watch(&seen, count, requests, status);
	int result = PMPI_Testany(count, requests, index, flag, seen.statuses);
	completed(&seen, *flag && *index != MPI_UNDEFINED, index, result);
	return result;
}

int MPI_Testsome(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses)
{
	struct watch seen;
	watch(&seen, count, requests, statuses);
	int result = PMPI_Testsome(count, requests, done, indices, seen.statuses);
	completed(&seen, *done == MPI_UNDEFINED ? 0 : *done, indices, result);
	return result;
}

/* A message that was probed is out of its communicator, which its receive names no more. One matched at a time is enough for what
 * programs do; of several the last one counts, and another communicator of the same ranks would change tags only. */
static struct communicator *matched;

int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
	uint64_t entered = now();
	int result = PMPI_Mprobe(from, tag, comm, message, status);
	if (own.on && result == MPI_SUCCESS) {
		uint64_t left = now();
		matched = known(comm);
		pass(entered, left);
	}
	return result;
}

int MPI_Improbe(int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
	uint64_t entered = now();
	int result = PMPI_Improbe(from, tag, comm, flag, message, status);
	if (own.on && result == MPI_SUCCESS) {
		uint64_t left = now();
		if (*flag)
			matched = known(comm);
		pass(entered, left);
	}
	return result;
}

int MPI_Mrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
	MPI_Status mine, *seen = status == MPI_STATUS_IGNORE ? &mine : status;
	uint64_t entered = now();
	int is_null = *message == MPI_MESSAGE_NO_PROC;
	int result = PMPI_Mrecv(buffer, count, type, message, seen);
	if (own.on && result == MPI_SUCCESS && matched && !is_null)
		received(count, type, seen, matched, entered);
	return result;
}

int MPI_Imrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request)
{
	uint64_t entered = now();
	int is_null = *message == MPI_MESSAGE_NO_PROC;
	int result = PMPI_Imrecv(buffer, count, type, message, request);
	if (own.on && result == MPI_SUCCESS && matched) {
		int from = is_null ? MPI_PROC_NULL : MPI_ANY_SOURCE;
		posts(*request, request, RECEIVES, STANDARD, count, type, from, MPI_ANY_TAG, matched, entered);
	}
	return result;
}

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status *status)
{
	uint64_t entered = now();
	int result = PMPI_Probe(from, tag, comm, status);
	if (own.on)
		pass(entered, now());
	return result;
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
	uint64_t entered = now();
	int result = PMPI_Iprobe(from, tag, comm, flag, status);
	if (own.on)
		pass(entered, now());
	return result;
}

/* ---- Collectives ---- */

/* `at`: where the program was given the handle of one that does not block, else NULL. */
static void collective(enum operation operation, MPI_Comm comm, uint64_t bytes, int root, MPI_Request handle, const void *at,
		       int result, uint64_t entered)
{
	uint64_t left = now();
	if (result != MPI_SUCCESS)
		return;
	struct communicator *of = known(comm);
	pthread_mutex_lock(&lock);
	struct request *made = at ? add(handle, at, of->inter ? NOTHING : OF_ALL, NULL) : NULL;
	if (of->inter) {
		other("collective of an intercommunicator", entered, left);
	} else {
		if (made)
			made->number = own.requests++;
		begin(made ? ICOLLECTIVE : COLLECTIVE, entered, left);
		if (made)
			put(made->number);
		put(operation);
		put(of->number);
		put(bytes);
		put((uint64_t)(root < 0 ? 0 : world_rank(of, root)));
		finish(left);
	}
	pthread_mutex_unlock(&lock);
}

#define COMMAS(...) __VA_ARGS__
#define COMMA ,

/* A collective: its name, its operation, its parameters, its arguments, what each rank gives or gets, its root. The second form with `I`
 * before the name does not block. */
#define COLLECTIVES(name, iname, operation, parameters, arguments, bytes, root)                                        \
	int MPI_##name(COMMAS parameters, MPI_Comm comm)                                                               \
	{                                                                                                              \
		uint64_t entered = now();                                                                              \
		int result = PMPI_##name(COMMAS arguments, comm);                                                      \
		if (own.on)                                                                                            \
			collective(operation, comm, bytes, root, MPI_REQUEST_NULL, NULL, result, entered);             \
		return result;                                                                                         \
	}                                                                                                              \
	int MPI_##iname(COMMAS parameters, MPI_Comm comm, MPI_Request *request)                                        \
	{                                                                                                              \
		uint64_t entered = now();                                                                              \
		int result = PMPI_##iname(COMMAS arguments, comm, request);                                            \
		if (own.on)                                                                                            \
			collective(operation, comm, bytes, root, *request, request, result, entered);                  \
		return result;                                                                                         \
	}

static int is_root(MPI_Comm comm, int root)
{
	int rank;
	PMPI_Comm_rank(comm, &rank);
	return rank == root;
}

static int size_of(MPI_Comm comm)
{
	int size;
	PMPI_Comm_size(comm, &size);
	return size;
}

int MPI_Barrier(MPI_Comm comm)
{
	uint64_t entered = now();
	int result = PMPI_Barrier(comm);
	if (own.on)
		collective(BARRIER, comm, 0, -1, MPI_REQUEST_NULL, NULL, result, entered);
	return result;
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	uint64_t entered = now();
	int result = PMPI_Ibarrier(comm, request);
	if (own.on)
		collective(BARRIER, comm, 0, -1, *request, request, result, entered);
	return result;
}

COLLECTIVES(Bcast, Ibcast, BCAST, (void *buffer, int count, MPI_Datatype type, int root), (buffer, count, type, root),
	    bytes_of(count, type), root)
COLLECTIVES(Reduce, Ireduce, REDUCE,
	    (const void *buffer, void *sum, int count, MPI_Datatype type, MPI_Op op, int root),
	    (buffer, sum, count, type, op, root), bytes_of(count, type), root)
COLLECTIVES(Allreduce, Iallreduce, ALLREDUCE, (const void *buffer, void *sum, int count, MPI_Datatype type, MPI_Op op),
	    (buffer, sum, count, type, op), bytes_of(count, type), -1)
COLLECTIVES(Reduce_scatter_block, Ireduce_scatter_block, REDUCE_SCATTER,
	    (const void *buffer, void *sum, int count, MPI_Datatype type, MPI_Op op), (buffer, sum, count, type, op),
	    bytes_of(count, type) * (uint64_t)size_of(comm), -1)
/* What is received is said where MPI_IN_PLACE stands for what is sent, and the other way round. */
COLLECTIVES(Gather, Igather, GATHER,
	    (const void *buffer, int count, MPI_Datatype type, void *room, int rooms, MPI_Datatype room_type, int root),
	    (buffer, count, type, room, rooms, room_type, root),
	    is_root(comm, root) ? bytes_of(rooms, room_type) : bytes_of(count, type), root)
COLLECTIVES(Scatter, Iscatter, SCATTER,
	    (const void *buffer, int count, MPI_Datatype type, void *room, int rooms, MPI_Datatype room_type, int root),
	    (buffer, count, type, room, rooms, room_type, root),
	    is_root(comm, root) ? bytes_of(count, type) : bytes_of(rooms, room_type), root)
COLLECTIVES(Allgather, Iallgather, ALLGATHER,
	    (const void *buffer, int count, MPI_Datatype type, void *room, int rooms, MPI_Datatype room_type),
	    (buffer, count, type, room, rooms, room_type), bytes_of(rooms, room_type), -1)
COLLECTIVES(Alltoall, Ialltoall, ALLTOALL,
	    (const void *buffer, int count, MPI_Datatype type, void *room, int rooms, MPI_Datatype room_type),
	    (buffer, count, type, room, rooms, room_type), bytes_of(rooms, room_type), -1)

/* Of several sizes: those to each member, and those from each. `types` has one for each of them, or one for all. */
static void each(int numbers, const int *counts, const MPI_Datatype *types, int several)
{
	put((uint64_t)numbers);
	for (int index = 0; index < numbers; index++)
		put(bytes_of(counts[index], types[several ? index : 0]));
}

static int begin_uneven(enum operation operation, MPI_Comm comm, int root, uint64_t entered, uint64_t left)
{
	struct communicator *of = known(comm);
	if (of->inter) {
		other("collective of an intercommunicator", entered, left);
		return 0;
	}
	begin(UNEVEN, entered, left);
	put(operation);
	put(of->number);
	put((uint64_t)(root < 0 ? 0 : world_rank(of, root)));
	return of->size;
}

static void gathered(int count, MPI_Datatype type, const int *counts, MPI_Datatype room_type, int root, MPI_Comm comm,
		     uint64_t entered)
{
	uint64_t left = now();
	int size = begin_uneven(GATHER, comm, root, entered, left), own_root = size && is_root(comm, root);
	if (!size)
		return;
	each(own_root ? 0 : 1, &count, &type, 0);
	each(own_root ? size : 0, counts, &room_type, 0);
	finish(left);
}

static void scattered(const int *counts, MPI_Datatype type, int count, MPI_Datatype room_type, int root, MPI_Comm comm,
		      uint64_t entered)
{
	uint64_t left = now();
	int size = begin_uneven(SCATTER, comm, root, entered, left), own_root = size && is_root(comm, root);
	if (!size)
		return;
	each(own_root ? size : 0, counts, &type, 0);
	each(own_root ? 0 : 1, &count, &room_type, 0);
	finish(left);
}

static void gathered_by_all(const int *counts, MPI_Datatype type, MPI_Comm comm, uint64_t entered)
{
	uint64_t left = now();
	int size = begin_uneven(ALLGATHER, comm, -1, entered, left);
	if (!size)
		return;
	each(0, NULL, NULL, 0);
	each(size, counts, &type, 0);
	finish(left);
}

static void sum_scattered(const int *counts, MPI_Datatype type, MPI_Comm comm, uint64_t entered)
{
	uint64_t left = now();
	int size = begin_uneven(REDUCE_SCATTER, comm, -1, entered, left);
	if (!size)
		return;
	each(size, counts, &type, 0);
	each(0, NULL, NULL, 0);
	finish(left);
}

/* `several`: there is a type for each. */
static void all_to_all(int in_place, const int *counts, const MPI_Datatype *types, const int *room_counts,
		       const MPI_Datatype *room_types, int several, MPI_Comm comm, uint64_t entered)
{
	uint64_t left = now();
	int size = begin_uneven(ALLTOALL, comm, -1, entered, left);
	if (!size)
		return;
	each(size, in_place ? room_counts : counts, in_place ? room_types : types, several);
	each(size, room_counts, room_types, several);
	finish(left);
}

/* A collective of several sizes: its name, its parameters, its arguments, what is recorded. */
#define UNEVENS(name, parameters, arguments, record)                                                                   \
	int MPI_##name parameters                                                                                      \
	{                                                                                                              \
		uint64_t entered = now();                                                                              \
		int result = PMPI_##name arguments;                                                                    \
		if (own.on && result == MPI_SUCCESS)                                                                   \
			record;                                                                                        \
		return result;                                                                                         \
	}
UNEVENS(Gatherv,
	(const void *buffer, int count, MPI_Datatype type, void *room, const int *counts, const int *at,
	 MPI_Datatype room_type, int root, MPI_Comm comm),
	(buffer, count, type, room, counts, at, room_type, root, comm),
	gathered(count, type, counts, room_type, root, comm, entered))
UNEVENS(Scatterv,
	(const void *buffer, const int *counts, const int *at, MPI_Datatype type, void *room, int count,
	 MPI_Datatype room_type, int root, MPI_Comm comm),
	(buffer, counts, at, type, room, count, room_type, root, comm),
	scattered(counts, type, count, room_type, root, comm, entered))
UNEVENS(Allgatherv,
	(const void *buffer, int count, MPI_Datatype type, void *room, const int *counts, const int *at,
	 MPI_Datatype room_type, MPI_Comm comm),
	(buffer, count, type, room, counts, at, room_type, comm), gathered_by_all(counts, room_type, comm, entered))
UNEVENS(Reduce_scatter, (const void *buffer, void *sum, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
	(buffer, sum, counts, type, op, comm), sum_scattered(counts, type, comm, entered))
UNEVENS(Alltoallv,
	(const void *buffer, const int *counts, const int *at, MPI_Datatype type, void *room, const int *room_counts,
	 const int *room_at, MPI_Datatype room_type, MPI_Comm comm),
	(buffer, counts, at, type, room, room_counts, room_at, room_type, comm),
	all_to_all(buffer == MPI_IN_PLACE, counts, &type, room_counts, &room_type, 0, comm, entered))
UNEVENS(Alltoallw,
	(const void *buffer, const int *counts, const int *at, const MPI_Datatype *types, void *room,
	 const int *room_counts, const int *room_at, const MPI_Datatype *room_types, MPI_Comm comm),
	(buffer, counts, at, types, room, room_counts, room_at, room_types, comm),
	all_to_all(buffer == MPI_IN_PLACE, counts, types, room_counts, room_types, 1, comm, entered))

/* ---- Windows ---- */

static void made_window(MPI_Comm comm, MPI_Win win, int result, uint64_t entered)
{
	uint64_t left = now();
	if (!own.on)
		return;
	if (result == MPI_SUCCESS)
		PMPI_Win_set_attr(win, own.win_key, known(comm));
	pass(entered, left);
}

int MPI_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
	uint64_t entered = now();
	int result = PMPI_Win_create(base, size, unit, info, comm, win);
	made_window(comm, *win, result, entered);
	return result;
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win)
{
	uint64_t entered = now();
	int result = PMPI_Win_allocate(size, unit, info, comm, base, win);
	made_window(comm, *win, result, entered);
	return result;
}

int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win)
{
	uint64_t entered = now();
	int result = PMPI_Win_allocate_shared(size, unit, info, comm, base, win);
	made_window(comm, *win, result, entered);
	return result;
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
	uint64_t entered = now();
	int result = PMPI_Win_create_dynamic(info, comm, win);
	made_window(comm, *win, result, entered);
	return result;
}

static struct communicator *behind(MPI_Win win)
{
	struct communicator *found = NULL;
	int there = 0;
	PMPI_Win_get_attr(win, own.win_key, &found, &there);
	return there ? found : NULL;
}

/* `at`: where the program was given the handle of one with a request, else NULL. */
static void remote(enum kind kind, MPI_Win win, int target, uint64_t bytes, MPI_Request handle, const void *at, int result,
		   uint64_t entered)
{
	uint64_t left = now();
	struct communicator *of = own.on && result == MPI_SUCCESS ? behind(win) : NULL;
	if (!of)
		return;
	pthread_mutex_lock(&lock);
	struct request *made = at ? add(handle, at, target == MPI_PROC_NULL ? NOTHING : OF_ALL, NULL) : NULL;
	if (target == MPI_PROC_NULL) {
		pass(entered, left);
	} else {
		if (made)
			made->number = own.requests++;
		begin(kind, entered, left);
		put(made ? made->number + 1 : 0);
		put((uint64_t)world_rank(of, target));
		put(bytes);
		finish(left);
	}
	pthread_mutex_unlock(&lock);
}

int MPI_Put(const void *buffer, int count, MPI_Datatype type, int target, MPI_Aint at, int target_count,
	    MPI_Datatype target_type, MPI_Win win)
{
	uint64_t entered = now();
	int result = PMPI_Put(buffer, count, type, target, at, target_count, target_type, win);
	remote(PUT, win, target, bytes_of(count, type), MPI_REQUEST_NULL, NULL, result, entered);
	return result;
}

int MPI_Rput(const void *buffer, int count, MPI_Datatype type, int target, MPI_Aint at, int target_count,
	     MPI_Datatype target_type, MPI_Win win, MPI_Request *request)
{
	uint64_t entered = now();
	int result = PMPI_Rput(buffer, count, type, target, at, target_count, target_type, win, request);
	remote(PUT, win, target, bytes_of(count, type), *request, request, result, entered);
	return result;
}

int MPI_Get(void *buffer, int count, MPI_Datatype type, int target, MPI_Aint at, int target_count,
	    MPI_Datatype target_type, MPI_Win win)
{
	uint64_t entered = now();
	int result = PMPI_Get(buffer, count, type, target, at, target_count, target_type, win);
	remote(GET, win, target, bytes_of(count, type), MPI_REQUEST_NULL, NULL, result, entered);
	return result;
}

int MPI_Rget(void *buffer, int count, MPI_Datatype type, int target, MPI_Aint at, int target_count,
	     MPI_Datatype target_type, MPI_Win win, MPI_Request *request)
{
	uint64_t entered = now();
	int result = PMPI_Rget(buffer, count, type, target, at, target_count, target_type, win, request);
	remote(GET, win, target, bytes_of(count, type), *request, request, result, entered);
	return result;
}

int MPI_Accumulate(const void *buffer, int count, MPI_Datatype type, int target, MPI_Aint at, int target_count,
		   MPI_Datatype target_type, MPI_Op op, MPI_Win win)
{
	uint64_t entered = now();
	int result = PMPI_Accumulate(buffer, count, type, target, at, target_count, target_type, op, win);
	remote(PUT, win, target, bytes_of(count, type), MPI_REQUEST_NULL, NULL, result, entered);
	return result;
}

int MPI_Raccumulate(const void *buffer, int count, MPI_Datatype type, int target, MPI_Aint at, int target_count,
		    MPI_Datatype target_type, MPI_Op op, MPI_Win win, MPI_Request *request)
{
	uint64_t entered = now();
	int result = PMPI_Raccumulate(buffer, count, type, target, at, target_count, target_type, op, win, request);
	remote(PUT, win, target, bytes_of(count, type), *request, request, result, entered);
	return result;
}

/* What puts and gets at once is a put, and then a get. */
static void fetched(MPI_Win win, int target, uint64_t sent, uint64_t got, MPI_Request handle, const void *at, int result,
		    uint64_t entered)
{
	if (!own.on)
		return;
	pthread_mutex_lock(&lock);
	if (sent)
		remote(PUT, win, target, sent, MPI_REQUEST_NULL, NULL, result, entered);
	remote(GET, win, target, got, handle, at, result, sent ? own.left + own.clock : entered);
	pthread_mutex_unlock(&lock);
}

int MPI_Get_accumulate(const void *buffer, int count, MPI_Datatype type, void *room, int rooms, MPI_Datatype room_type,
		       int target, MPI_Aint at, int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win)
{
	uint64_t entered = now();
	int result = PMPI_Get_accumulate(buffer, count, type, room, rooms, room_type, target, at, target_count, target_type,
					 op, win);
	fetched(win, target, op == MPI_NO_OP ? 0 : bytes_of(count, type), bytes_of(rooms, room_type), MPI_REQUEST_NULL,
		NULL, result, entered);
	return result;
}

int MPI_Rget_accumulate(const void *buffer, int count, MPI_Datatype type, void *room, int rooms, MPI_Datatype room_type,
			int target, MPI_Aint at, int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
			MPI_Request *request)
{
	uint64_t entered = now();
	int result = PMPI_Rget_accumulate(buffer, count, type, room, rooms, room_type, target, at, target_count, target_type,
					  op, win, request);
	fetched(win, target, op == MPI_NO_OP ? 0 : bytes_of(count, type), bytes_of(rooms, room_type), *request, request,
		result, entered);
	return result;
}

int MPI_Fetch_and_op(const void *buffer, void *room, MPI_Datatype type, int target, MPI_Aint at, MPI_Op op, MPI_Win win)
{
	uint64_t entered = now();
	int result = PMPI_Fetch_and_op(buffer, room, type, target, at, op, win);
	fetched(win, target, op == MPI_NO_OP ? 0 : bytes_of(1, type), bytes_of(1, type), MPI_REQUEST_NULL, NULL, result,
		entered);
	return result;
}

int MPI_Compare_and_swap(const void *buffer, const void *compare, void *room, MPI_Datatype type, int target, MPI_Aint at,
			 MPI_Win win)
{
	uint64_t entered = now();
	int result = PMPI_Compare_and_swap(buffer, compare, room, type, target, at, win);
	fetched(win, target, 2 * bytes_of(1, type), bytes_of(1, type), MPI_REQUEST_NULL, NULL, result, entered);
	return result;
}

static void flushed(int result, uint64_t entered)
{
	uint64_t left = now();
	if (!own.on || result != MPI_SUCCESS)
		return;
	begin(FLUSH, entered, left);
	finish(left);
}

#define FLUSHES(name, parameters, arguments)                                                                           \
	int MPI_##name parameters                                                                                      \
	{                                                                                                              \
		uint64_t entered = now();                                                                              \
		int result = PMPI_##name arguments;                                                                    \
		flushed(result, entered);                                                                              \
		return result;                                                                                         \
	}
FLUSHES(Win_flush, (int target, MPI_Win win), (target, win))
FLUSHES(Win_flush_all, (MPI_Win win), (win))
FLUSHES(Win_flush_local, (int target, MPI_Win win), (target, win))
FLUSHES(Win_flush_local_all, (MPI_Win win), (win))
FLUSHES(Win_unlock, (int target, MPI_Win win), (target, win))
FLUSHES(Win_unlock_all, (MPI_Win win), (win))
FLUSHES(Win_complete, (MPI_Win win), (win))

static void fenced(MPI_Win win, int result, uint64_t entered)
{
	uint64_t left = now();
	struct communicator *of = own.on && result == MPI_SUCCESS ? behind(win) : NULL;
	if (of) {
		begin(FENCE, entered, left);
		put(of->number);
		finish(left);
	}
}

int MPI_Win_fence(int promises, MPI_Win win)
{
	uint64_t entered = now();
	int result = PMPI_Win_fence(promises, win);
	fenced(win, result, entered);
	return result;
}

/* ---- Calls that are no records: their time is no computing ---- */

#define PASSES(name, parameters, arguments)                                                                            \
	int MPI_##name parameters                                                                                      \
	{                                                                                                              \
		uint64_t entered = now();                                                                              \
		int result = PMPI_##name arguments;                                                                    \
		if (own.on)                                                                                            \
			pass(entered, now());                                                                          \
		return result;                                                                                         \
	}
PASSES(Win_free, (MPI_Win *win), (win))
PASSES(Win_lock, (int type, int target, int promises, MPI_Win win), (type, target, promises, win))
PASSES(Win_lock_all, (int promises, MPI_Win win), (promises, win))
PASSES(Win_sync, (MPI_Win win), (win))
PASSES(Win_set_info, (MPI_Win win, MPI_Info info), (win, info))
PASSES(Comm_free, (MPI_Comm *comm), (comm))
PASSES(Comm_disconnect, (MPI_Comm *comm), (comm))
PASSES(Comm_set_info, (MPI_Comm comm, MPI_Info info), (comm, info))
PASSES(Buffer_detach, (void *buffer, int *size), (buffer, size))
PASSES(Request_get_status, (MPI_Request request, int *flag, MPI_Status *status), (request, flag, status))
PASSES(Open_port, (MPI_Info info, char *port), (info, port))
PASSES(Close_port, (const char *port), (port))
PASSES(Publish_name, (const char *service, MPI_Info info, const char *port), (service, info, port))
PASSES(Unpublish_name, (const char *service, MPI_Info info, const char *port), (service, info, port))
PASSES(Lookup_name, (const char *service, MPI_Info info, char *port), (service, info, port))

/* A call with a request whose end is no record; `name`: of a call that is counted. */
static void no_record(MPI_Request handle, const void *at, const char *name, uint64_t entered)
{
	uint64_t left = now();
	pthread_mutex_lock(&lock);
	add(handle, at, NOTHING, NULL);
	if (name)
		other(name, entered, left);
	else
		pass(entered, left);
	pthread_mutex_unlock(&lock);
}

/* The communicator is there when its request has ended. Its members agree on no identity: that would need a message. */
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *made, MPI_Request *request)
{
	uint64_t entered = now();
	int result = PMPI_Comm_idup(comm, made, request);
	if (own.on && result == MPI_SUCCESS)
		no_record(*request, request, NULL, entered);
	return result;
}

#define MAKES(name, parameters, arguments)                                                                             \
	int MPI_##name parameters                                                                                      \
	{                                                                                                              \
		uint64_t entered = now();                                                                              \
		int result = PMPI_##name arguments;                                                                    \
		if (own.on)                                                                                            \
			made_communicator(result, made, entered);                                                      \
		return result;                                                                                         \
	}
MAKES(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
MAKES(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made))
MAKES(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made), (comm, color, key, made))
MAKES(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made), (comm, type, key, info, made))
MAKES(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made))
MAKES(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made), (comm, group, tag, made))
MAKES(Cart_create, (MPI_Comm comm, int n, const int *dims, const int *periods, int reorder, MPI_Comm *made),
      (comm, n, dims, periods, reorder, made))
MAKES(Cart_sub, (MPI_Comm comm, const int *remain, MPI_Comm *made), (comm, remain, made))
MAKES(Graph_create, (MPI_Comm comm, int n, const int *index, const int *edges, int reorder, MPI_Comm *made),
      (comm, n, index, edges, reorder, made))
MAKES(Dist_graph_create,
      (MPI_Comm comm, int n, const int *nodes, const int *degrees, const int *targets, const int *weights, MPI_Info info,
       int reorder, MPI_Comm *made),
      (comm, n, nodes, degrees, targets, weights, info, reorder, made))
MAKES(Dist_graph_create_adjacent,
      (MPI_Comm comm, int in, const int *sources, const int *from, int out, const int *targets, const int *to,
       MPI_Info info, int reorder, MPI_Comm *made),
      (comm, in, sources, from, out, targets, to, info, reorder, made))
MAKES(Intercomm_create, (MPI_Comm comm, int leader, MPI_Comm peers, int remote_leader, int tag, MPI_Comm *made),
      (comm, leader, peers, remote_leader, tag, made))
MAKES(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *made), (comm, high, made))

/* ---- Calls that have no other record ---- */

#define OTHERS(name, parameters, arguments)                                                                            \
	int MPI_##name parameters                                                                                      \
	{                                                                                                              \
		uint64_t entered = now();                                                                              \
		int result = PMPI_##name arguments;                                                                    \
		if (own.on)                                                                                            \
			other("MPI_" #name, entered, now());                                                           \
		return result;                                                                                         \
	}

/* The same, with a request. */
#define OTHERS_TO_COME(name, parameters, arguments)                                                                    \
	int MPI_##name(COMMAS parameters, MPI_Request *request)                                                        \
	{                                                                                                              \
		uint64_t entered = now();                                                                              \
		int result = PMPI_##name(COMMAS arguments, request);                                                   \
		if (own.on && result == MPI_SUCCESS)                                                                   \
			no_record(*request, request, "MPI_" #name, entered);                                           \
		return result;                                                                                         \
	}

/* Both; the second form with `I` before the name does not block. */
#define OTHERS_BOTH(name, iname, parameters, arguments)                                                                \
	OTHERS(name, parameters, arguments)                                                                            \
	OTHERS_TO_COME(iname, parameters, arguments)

#define SCANS (const void *buffer, void *sum, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
#define EQUALS                                                                                                         \
	(const void *buffer, int count, MPI_Datatype type, void *room, int rooms, MPI_Datatype room_type, MPI_Comm comm)
#define GATHERS                                                                                                        \
	(const void *buffer, int count, MPI_Datatype type, void *room, const int *counts, const int *at,               \
	 MPI_Datatype room_type, MPI_Comm comm)
#define DIFFERS                                                                                                        \
	(const void *buffer, const int *counts, const int *at, MPI_Datatype type, void *room, const int *room_counts,  \
	 const int *room_at, MPI_Datatype room_type, MPI_Comm comm)
#define OF_TYPES(place)                                                                                                \
	(const void *buffer, const int *counts, const place *at, const MPI_Datatype *types, void *room,                \
	 const int *room_counts, const place *room_at, const MPI_Datatype *room_types, MPI_Comm comm)

OTHERS_BOTH(Scan, Iscan, SCANS, (buffer, sum, count, type, op, comm))
OTHERS_BOTH(Exscan, Iexscan, SCANS, (buffer, sum, count, type, op, comm))
OTHERS_TO_COME(Igatherv,
	       (const void *buffer, int count, MPI_Datatype type, void *room, const int *counts, const int *at,
		MPI_Datatype room_type, int root, MPI_Comm comm),
	       (buffer, count, type, room, counts, at, room_type, root, comm))
OTHERS_TO_COME(Iscatterv,
	       (const void *buffer, const int *counts, const int *at, MPI_Datatype type, void *room, int count,
		MPI_Datatype room_type, int root, MPI_Comm comm),
	       (buffer, counts, at, type, room, count, room_type, root, comm))
OTHERS_TO_COME(Iallgatherv, GATHERS, (buffer, count, type, room, counts, at, room_type, comm))
OTHERS_TO_COME(Ialltoallv, DIFFERS, (buffer, counts, at, type, room, room_counts, room_at, room_type, comm))
OTHERS_TO_COME(Ialltoallw, OF_TYPES(int), (buffer, counts, at, types, room, room_counts, room_at, room_types, comm))
OTHERS_TO_COME(Ireduce_scatter,
	       (const void *buffer, void *sum, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
	       (buffer, sum, counts, type, op, comm))
OTHERS_BOTH(Neighbor_allgather, Ineighbor_allgather, EQUALS, (buffer, count, type, room, rooms, room_type, comm))
OTHERS_BOTH(Neighbor_allgatherv, Ineighbor_allgatherv, GATHERS, (buffer, count, type, room, counts, at, room_type, comm))
OTHERS_BOTH(Neighbor_alltoall, Ineighbor_alltoall, EQUALS, (buffer, count, type, room, rooms, room_type, comm))
OTHERS_BOTH(Neighbor_alltoallv, Ineighbor_alltoallv, DIFFERS,
	    (buffer, counts, at, type, room, room_counts, room_at, room_type, comm))
OTHERS_BOTH(Neighbor_alltoallw, Ineighbor_alltoallw, OF_TYPES(MPI_Aint),
	    (buffer, counts, at, types, room, room_counts, room_at, room_types, comm))
OTHERS(Win_post, (MPI_Group group, int promises, MPI_Win win), (group, promises, win))
OTHERS(Win_start, (MPI_Group group, int promises, MPI_Win win), (group, promises, win))
OTHERS(Win_wait, (MPI_Win win), (win))

/* One that succeeds is an MPI_Win_wait. */
int MPI_Win_test(MPI_Win win, int *flag)
{
	uint64_t entered = now();
	int result = PMPI_Win_test(win, flag);
	if (own.on && result == MPI_SUCCESS && *flag)
		other("MPI_Win_test", entered, now());
	else if (own.on)
		pass(entered, now());
	return result;
}

OTHERS(Comm_spawn,
       (const char *command, char **arguments, int most, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made,
	int *errors),
       (command, arguments, most, info, root, comm, made, errors))
OTHERS(Comm_spawn_multiple,
       (int count, char **commands, char ***arguments, const int *most, const MPI_Info *infos, int root, MPI_Comm comm,
	MPI_Comm *made, int *errors),
       (count, commands, arguments, most, infos, root, comm, made, errors))
#define MEETS_OTHERS (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made)
OTHERS(Comm_accept, MEETS_OTHERS, (port, info, root, comm, made))
OTHERS(Comm_connect, MEETS_OTHERS, (port, info, root, comm, made))
OTHERS(Comm_join, (int socket, MPI_Comm *made), (socket, made))

/* Files: what all members do together. What one does alone is computing. */
#define READS (MPI_File file, void *buffer, int count, MPI_Datatype type, MPI_Status *status)
#define READS_AT (MPI_File file, MPI_Offset at, void *buffer, int count, MPI_Datatype type, MPI_Status *status)
#define WRITES (MPI_File file, const void *buffer, int count, MPI_Datatype type, MPI_Status *status)
#define WRITES_AT (MPI_File file, MPI_Offset at, const void *buffer, int count, MPI_Datatype type, MPI_Status *status)
#define READS_TO_COME (MPI_File file, void *buffer, int count, MPI_Datatype type)
#define READS_AT_TO_COME (MPI_File file, MPI_Offset at, void *buffer, int count, MPI_Datatype type)
#define WRITES_TO_COME (MPI_File file, const void *buffer, int count, MPI_Datatype type)
#define WRITES_AT_TO_COME (MPI_File file, MPI_Offset at, const void *buffer, int count, MPI_Datatype type)
OTHERS(File_open, (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file), (comm, name, mode, info, file))
OTHERS(File_close, (MPI_File *file), (file))
OTHERS(File_sync, (MPI_File file), (file))
OTHERS(File_set_size, (MPI_File file, MPI_Offset size), (file, size))
OTHERS(File_preallocate, (MPI_File file, MPI_Offset size), (file, size))
OTHERS(File_set_atomicity, (MPI_File file, int flag), (file, flag))
OTHERS(File_set_info, (MPI_File file, MPI_Info info), (file, info))
OTHERS(File_set_view,
       (MPI_File file, MPI_Offset at, MPI_Datatype type, MPI_Datatype seen, const char *form, MPI_Info info),
       (file, at, type, seen, form, info))
OTHERS(File_seek_shared, (MPI_File file, MPI_Offset at, int from), (file, at, from))
OTHERS(File_read_all, READS, (file, buffer, count, type, status))
OTHERS(File_read_at_all, READS_AT, (file, at, buffer, count, type, status))
OTHERS(File_read_ordered, READS, (file, buffer, count, type, status))
OTHERS(File_write_all, WRITES, (file, buffer, count, type, status))
OTHERS(File_write_at_all, WRITES_AT, (file, at, buffer, count, type, status))
OTHERS(File_write_ordered, WRITES, (file, buffer, count, type, status))
OTHERS(File_read_all_begin, READS_TO_COME, (file, buffer, count, type))
OTHERS(File_read_all_end, (MPI_File file, void *buffer, MPI_Status *status), (file, buffer, status))
OTHERS(File_read_at_all_begin, READS_AT_TO_COME, (file, at, buffer, count, type))
OTHERS(File_read_at_all_end, (MPI_File file, void *buffer, MPI_Status *status), (file, buffer, status))
OTHERS(File_read_ordered_begin, READS_TO_COME, (file, buffer, count, type))
OTHERS(File_read_ordered_end, (MPI_File file, void *buffer, MPI_Status *status), (file, buffer, status))
OTHERS(File_write_all_begin, WRITES_TO_COME, (file, buffer, count, type))
OTHERS(File_write_all_end, (MPI_File file, const void *buffer, MPI_Status *status), (file, buffer, status))
OTHERS(File_write_at_all_begin, WRITES_AT_TO_COME, (file, at, buffer, count, type))
OTHERS(File_write_at_all_end, (MPI_File file, const void *buffer, MPI_Status *status), (file, buffer, status))
OTHERS(File_write_ordered_begin, WRITES_TO_COME, (file, buffer, count, type))
OTHERS(File_write_ordered_end, (MPI_File file, const void *buffer, MPI_Status *status), (file, buffer, status))
/* In no MPI before 3.1. */
#if MPI_VERSION > 3 || (MPI_VERSION == 3 && MPI_SUBVERSION >= 1)
OTHERS_TO_COME(File_iread_all, READS_TO_COME, (file, buffer, count, type))
OTHERS_TO_COME(File_iread_at_all, READS_AT_TO_COME, (file, at, buffer, count, type))
OTHERS_TO_COME(File_iwrite_all, WRITES_TO_COME, (file, buffer, count, type))
OTHERS_TO_COME(File_iwrite_at_all, WRITES_AT_TO_COME, (file, at, buffer, count, type))
#endif

/* ---- Fortran: mpif.h and `use mpi`, by the names that compilers for Linux give them ----
 *
 * MPI's own bindings for Fortran know the constants of Fortran (MPI_IN_PLACE, MPI_BOTTOM), so they are called, and what is recorded is
 * recorded here. They are there in programs that call them; elsewhere these are not called either.
 */

#define COMM_OF(comm) PMPI_Comm_f2c(*(comm))
#define TYPE_OF(type) PMPI_Type_f2c(*(type))
#define STATUS_INTS ((int)(sizeof(MPI_Status) / sizeof(MPI_Fint)))

/* Where Open MPI's Fortran has MPI_IN_PLACE. */
extern MPI_Fint mpi_fortran_in_place_ __attribute__((weak));

/* Open MPI's `use mpi_f08` calls what is behind mpi_send_ by this name. */
#define FOR_MODULE(name, parameters) void ompi_##name##_f parameters __attribute__((alias("mpi_" #name "_")));

#define FORTRAN(name, parameters, arguments, record)                                                                   \
	FOR_MODULE(name, (COMMAS parameters, MPI_Fint *error))                                                         \
	extern void pmpi_##name##_(COMMAS parameters, MPI_Fint *error) __attribute__((weak));                          \
	void mpi_##name##_(COMMAS parameters, MPI_Fint *error);                                                        \
	void mpi_##name##_(COMMAS parameters, MPI_Fint *error)                                                         \
	{                                                                                                              \
		uint64_t entered = now();                                                                              \
		pmpi_##name##_(COMMAS arguments, error);                                                               \
		if (own.on && *error == MPI_SUCCESS) {                                                                 \
			record;                                                                                        \
		}                                                                                                      \
	}

extern void pmpi_init_(MPI_Fint *error) __attribute__((weak));
void mpi_init_(MPI_Fint *error);
FOR_MODULE(init, (MPI_Fint *error))
void mpi_init_(MPI_Fint *error)
{
	pmpi_init_(error);
	if (*error == MPI_SUCCESS)
		start_recording();
}

extern void pmpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error) __attribute__((weak));
void mpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error);
FOR_MODULE(init_thread, (MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error))
void mpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error)
{
	pmpi_init_thread_(required, provided, error);
	if (*error == MPI_SUCCESS)
		start_recording();
}

extern void pmpi_finalize_(MPI_Fint *error) __attribute__((weak));
void mpi_finalize_(MPI_Fint *error);
FOR_MODULE(finalize, (MPI_Fint *error))
void mpi_finalize_(MPI_Fint *error)
{
	stop_recording();
	pmpi_finalize_(error);
}

#define MESSAGE (void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *peer, MPI_Fint *tag, MPI_Fint *comm)
#define MESSAGE_TO_COME                                                                                                \
	(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *peer, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *request)

#define FORTRAN_SENDS(name, iname, init, mode)                                                                         \
	FORTRAN(name, MESSAGE, (buffer, count, type, peer, tag, comm),                                                 \
		if (*peer != MPI_PROC_NULL) sent(mode, *count, TYPE_OF(type), *peer, *tag, COMM_OF(comm), entered))    \
	FORTRAN(iname, MESSAGE_TO_COME, (buffer, count, type, peer, tag, comm, request),                               \
		fortran_posts(request, SENDS, mode, peer, tag, count, type, comm, entered))                            \
	FORTRAN(init, MESSAGE_TO_COME, (buffer, count, type, peer, tag, comm, request),                                \
		if (*peer != MPI_PROC_NULL) persistent(PMPI_Request_f2c(*request), request, SENDS, mode, *count,       \
						       TYPE_OF(type), *peer, *tag, COMM_OF(comm), entered))

static void fortran_posts(const MPI_Fint *request, enum does does, enum mode mode, const MPI_Fint *peer, const MPI_Fint *tag,
			  const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *comm, uint64_t entered)
{
	posts(PMPI_Request_f2c(*request), request, does, mode, *count, TYPE_OF(type), *peer, *tag, known(COMM_OF(comm)),
	      entered);
}

FORTRAN_SENDS(send, isend, send_init, STANDARD)
FORTRAN_SENDS(ssend, issend, ssend_init, SYNCHRONOUS)
FORTRAN_SENDS(bsend, ibsend, bsend_init, BUFFERED)
FORTRAN_SENDS(rsend, irsend, rsend_init, READY)
FORTRAN(irecv, MESSAGE_TO_COME, (buffer, count, type, peer, tag, comm, request),
	fortran_posts(request, RECEIVES, STANDARD, peer, tag, count, type, comm, entered))
FORTRAN(recv_init, MESSAGE_TO_COME, (buffer, count, type, peer, tag, comm, request),
	if (*peer != MPI_PROC_NULL) persistent(PMPI_Request_f2c(*request), request, RECEIVES, STANDARD, *count, TYPE_OF(type),
					       *peer, *tag, COMM_OF(comm), entered))

/* A status is wanted, even if the program wants none. */
#define SEEN(status) MPI_Fint mine[STATUS_INTS], *seen = (status) == MPI_F_STATUS_IGNORE ? mine : (status)

static MPI_Status status_of(const MPI_Fint *fortran)
{
	MPI_Status status;
	PMPI_Status_f2c(fortran, &status);
	return status;
}

extern void pmpi_recv_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *peer, MPI_Fint *tag, MPI_Fint *comm,
		       MPI_Fint *status, MPI_Fint *error) __attribute__((weak));
void mpi_recv_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *peer, MPI_Fint *tag, MPI_Fint *comm,
	       MPI_Fint *status, MPI_Fint *error);
FOR_MODULE(recv,
	 (void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *peer, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *status, MPI_Fint *error))
void mpi_recv_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *peer, MPI_Fint *tag, MPI_Fint *comm,
	       MPI_Fint *status, MPI_Fint *error)
{
	SEEN(status);
	uint64_t entered = now();
	pmpi_recv_(buffer, count, type, peer, tag, comm, seen, error);
	if (own.on && *error == MPI_SUCCESS && *peer != MPI_PROC_NULL) {
		MPI_Status came = status_of(seen);
		received(*count, TYPE_OF(type), &came, known(COMM_OF(comm)), entered);
	}
}

extern void pmpi_sendrecv_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag, void *room,
			   MPI_Fint *rooms, MPI_Fint *room_type, MPI_Fint *from, MPI_Fint *room_tag, MPI_Fint *comm,
			   MPI_Fint *status, MPI_Fint *error) __attribute__((weak));
void mpi_sendrecv_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag, void *room, MPI_Fint *rooms,
		   MPI_Fint *room_type, MPI_Fint *from, MPI_Fint *room_tag, MPI_Fint *comm, MPI_Fint *status,
		   MPI_Fint *error);
FOR_MODULE(sendrecv,
	 (void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag, void *room, MPI_Fint *rooms, MPI_Fint *room_type, MPI_Fint *from, MPI_Fint *room_tag, MPI_Fint *comm, MPI_Fint *status, MPI_Fint *error))
void mpi_sendrecv_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag, void *room, MPI_Fint *rooms,
		   MPI_Fint *room_type, MPI_Fint *from, MPI_Fint *room_tag, MPI_Fint *comm, MPI_Fint *status,
		   MPI_Fint *error)
{
	SEEN(status);
	uint64_t entered = now();
	pmpi_sendrecv_(buffer, count, type, to, tag, room, rooms, room_type, from, room_tag, comm, seen, error);
	if (own.on && *error == MPI_SUCCESS) {
		MPI_Status came = status_of(seen);
		exchanged(*count, TYPE_OF(type), *to, *tag, *rooms, TYPE_OF(room_type), *from, &came, COMM_OF(comm), entered);
	}
}

extern void pmpi_sendrecv_replace_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag,
				   MPI_Fint *from, MPI_Fint *room_tag, MPI_Fint *comm, MPI_Fint *status, MPI_Fint *error)
	__attribute__((weak));
void mpi_sendrecv_replace_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag, MPI_Fint *from,
			   MPI_Fint *room_tag, MPI_Fint *comm, MPI_Fint *status, MPI_Fint *error);
FOR_MODULE(sendrecv_replace,
	 (void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag, MPI_Fint *from, MPI_Fint *room_tag, MPI_Fint *comm, MPI_Fint *status, MPI_Fint *error))
void mpi_sendrecv_replace_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag, MPI_Fint *from,
			   MPI_Fint *room_tag, MPI_Fint *comm, MPI_Fint *status, MPI_Fint *error)
{
	SEEN(status);
	uint64_t entered = now();
	pmpi_sendrecv_replace_(buffer, count, type, to, tag, from, room_tag, comm, seen, error);
	if (own.on && *error == MPI_SUCCESS) {
		MPI_Status came = status_of(seen);
		MPI_Datatype of = TYPE_OF(type);
		exchanged(*count, of, *to, *tag, *count, of, *from, &came, COMM_OF(comm), entered);
	}
}

/* The same watch as in C; statuses come in Fortran's form, into `fortran` if the program wants none. */
static MPI_Fint *fortran_watch(struct watch *seen, MPI_Fint count, const MPI_Fint *requests, MPI_Fint *statuses, int ignored,
			       MPI_Fint **fortran)
{
	MPI_Request none = MPI_REQUEST_NULL, few[16], *handles = few;
	if (count > 16)
		handles = more(NULL, (size_t)count * sizeof *handles);
	for (MPI_Fint index = 0; index < count; index++)
		handles[index] = PMPI_Request_f2c(requests[index]);
	watch(seen, count, count > 0 ? handles : &none, MPI_STATUSES_IGNORE);
	seen->at = (const char *)requests;
	seen->apart = sizeof *requests;
	if (handles != few)
		free(handles);
	*fortran = ignored ? more(NULL, (size_t)(count + 1) * sizeof(MPI_Status)) : NULL;
	return ignored ? *fortran : statuses;
}

static void fortran_completed(struct watch *seen, int done, const MPI_Fint *which, const MPI_Fint *statuses, int error,
			      MPI_Fint *fortran)
{
	int few[16] = {0}, *indices = done > 16 ? more(NULL, (size_t)done * sizeof *indices) : few;
	for (int index = 0; index < done; index++) {
		seen->statuses[index] = status_of(statuses + index * STATUS_INTS);
		indices[index] = which ? which[index] - 1 : index;
	}
	completed(seen, done, indices, error);
	if (indices != few)
		free(indices);
	free(fortran);
}

/* A call that waits or tests: its parameters, its arguments with `seen` for statuses, how many requests, how many are done, which. */
#define FORTRAN_WAITS(name, parameters, arguments, count, requests, statuses, none, done, which)                       \
	extern void pmpi_##name##_(COMMAS parameters, MPI_Fint *error) __attribute__((weak));                          \
	void mpi_##name##_(COMMAS parameters, MPI_Fint *error);                                                        \
	FOR_MODULE(name, (COMMAS parameters, MPI_Fint *error))                                                         \
	void mpi_##name##_(COMMAS parameters, MPI_Fint *error)                                                         \
	{                                                                                                              \
		struct watch watched;                                                                                  \
		MPI_Fint *fortran;                                                                                     \
		MPI_Fint *seen = fortran_watch(&watched, count, requests, statuses, (statuses) == (none), &fortran);   \
		pmpi_##name##_(COMMAS arguments, error);                                                               \
		fortran_completed(&watched, done, which, seen, *error, fortran);                                       \
	}
#define NONE MPI_F_STATUS_IGNORE
#define NONES MPI_F_STATUSES_IGNORE
FORTRAN_WAITS(wait, (MPI_Fint *request, MPI_Fint *status), (request, seen), 1, request, status, NONE, 1, NULL)
FORTRAN_WAITS(waitall, (MPI_Fint *count, MPI_Fint *requests, MPI_Fint *statuses), (count, requests, seen), *count, requests,
	      statuses, NONES, *count, NULL)
FORTRAN_WAITS(waitany, (MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, MPI_Fint *status),
	      (count, requests, index, seen), *count, requests, status, NONE, *index != MPI_UNDEFINED, index)
FORTRAN_WAITS(waitsome, (MPI_Fint *count, MPI_Fint *requests, MPI_Fint *done, MPI_Fint *which, MPI_Fint *statuses),
	      (count, requests, done, which, seen), *count, requests, statuses, NONES, *done == MPI_UNDEFINED ? 0 : *done,
	      which)
FORTRAN_WAITS(test, (MPI_Fint *request, MPI_Fint *flag, MPI_Fint *status), (request, flag, seen), 1, request, status, NONE,
	      *flag != 0, NULL)
FORTRAN_WAITS(testall, (MPI_Fint *count, MPI_Fint *requests, MPI_Fint *flag, MPI_Fint *statuses),
	      (count, requests, flag, seen), *count, requests, statuses, NONES, *flag ? *count : 0, NULL)
FORTRAN_WAITS(testany, (MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, MPI_Fint *flag, MPI_Fint *status),
	      (count, requests, index, flag, seen), *count, requests, status, NONE,
	      *flag && *index != MPI_UNDEFINED, index)
FORTRAN_WAITS(testsome, (MPI_Fint *count, MPI_Fint *requests, MPI_Fint *done, MPI_Fint *which, MPI_Fint *statuses),
	      (count, requests, done, which, seen), *count, requests, statuses, NONES, *done == MPI_UNDEFINED ? 0 : *done,
	      which)

static void fortran_started(MPI_Fint count, const MPI_Fint *requests, uint64_t entered)
{
	pthread_mutex_lock(&lock);
	for (MPI_Fint index = 0; index < count; index++) {
		MPI_Request handle = PMPI_Request_f2c(requests[index]);
		started(1, &handle, index ? own.left + own.clock : entered);
	}
	pthread_mutex_unlock(&lock);
}
FORTRAN(start, (MPI_Fint *request), (request), fortran_started(1, request, entered))
FORTRAN(startall, (MPI_Fint *count, MPI_Fint *requests), (count, requests), fortran_started(*count, requests, entered))

extern void pmpi_request_free_(MPI_Fint *request, MPI_Fint *error) __attribute__((weak));
void mpi_request_free_(MPI_Fint *request, MPI_Fint *error);
FOR_MODULE(request_free, (MPI_Fint *request, MPI_Fint *error))
void mpi_request_free_(MPI_Fint *request, MPI_Fint *error)
{
	uint64_t entered = now();
	MPI_Request before = PMPI_Request_f2c(*request);
	pmpi_request_free_(request, error);
	if (own.on && *error == MPI_SUCCESS)
		freed(before, request, entered);
}

FORTRAN(probe, (MPI_Fint *from, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *status), (from, tag, comm, status),
	pass(entered, now()))
FORTRAN(iprobe, (MPI_Fint *from, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *flag, MPI_Fint *status),
	(from, tag, comm, flag, status), pass(entered, now()))

#define FORTRAN_COLLECTIVES(name, operation, parameters, arguments, bytes, root)                                       \
	FORTRAN(name, parameters, arguments,                                                                           \
		collective(operation, COMM_OF(comm), bytes, root, MPI_REQUEST_NULL, NULL, MPI_SUCCESS, entered))       \
	FORTRAN(i##name, (COMMAS parameters, MPI_Fint *request), (COMMAS arguments, request),                          \
		collective(operation, COMM_OF(comm), bytes, root, PMPI_Request_f2c(*request), request, MPI_SUCCESS,    \
			   entered))
#define TWO_SIDES                                                                                                      \
	void *buffer, MPI_Fint *count, MPI_Fint *type, void *room, MPI_Fint *rooms, MPI_Fint *room_type
#define SUM void *buffer, void *sum, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op
FORTRAN_COLLECTIVES(barrier, BARRIER, (MPI_Fint *comm), (comm), 0, -1)
FORTRAN_COLLECTIVES(bcast, BCAST, (void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm),
		    (buffer, count, type, root, comm), bytes_of(*count, TYPE_OF(type)), *root)
FORTRAN_COLLECTIVES(reduce, REDUCE, (SUM, MPI_Fint *root, MPI_Fint *comm), (buffer, sum, count, type, op, root, comm),
		    bytes_of(*count, TYPE_OF(type)), *root)
FORTRAN_COLLECTIVES(allreduce, ALLREDUCE, (SUM, MPI_Fint *comm), (buffer, sum, count, type, op, comm),
		    bytes_of(*count, TYPE_OF(type)), -1)
FORTRAN_COLLECTIVES(reduce_scatter_block, REDUCE_SCATTER, (SUM, MPI_Fint *comm), (buffer, sum, count, type, op, comm),
		    bytes_of(*count, TYPE_OF(type)) * (uint64_t)size_of(COMM_OF(comm)), -1)
FORTRAN_COLLECTIVES(gather, GATHER, (TWO_SIDES, MPI_Fint *root, MPI_Fint *comm),
		    (buffer, count, type, room, rooms, room_type, root, comm),
		    is_root(COMM_OF(comm), *root) ? bytes_of(*rooms, TYPE_OF(room_type)) : bytes_of(*count, TYPE_OF(type)),
		    *root)
FORTRAN_COLLECTIVES(scatter, SCATTER, (TWO_SIDES, MPI_Fint *root, MPI_Fint *comm),
		    (buffer, count, type, room, rooms, room_type, root, comm),
		    is_root(COMM_OF(comm), *root) ? bytes_of(*count, TYPE_OF(type)) : bytes_of(*rooms, TYPE_OF(room_type)),
		    *root)
FORTRAN_COLLECTIVES(allgather, ALLGATHER, (TWO_SIDES, MPI_Fint *comm), (buffer, count, type, room, rooms, room_type, comm),
		    bytes_of(*rooms, TYPE_OF(room_type)), -1)
FORTRAN_COLLECTIVES(alltoall, ALLTOALL, (TWO_SIDES, MPI_Fint *comm), (buffer, count, type, room, rooms, room_type, comm),
		    bytes_of(*rooms, TYPE_OF(room_type)), -1)
FORTRAN(gatherv,
	(void *buffer, MPI_Fint *count, MPI_Fint *type, void *room, MPI_Fint *counts, MPI_Fint *at, MPI_Fint *room_type,
	 MPI_Fint *root, MPI_Fint *comm),
	(buffer, count, type, room, counts, at, room_type, root, comm),
	gathered(*count, TYPE_OF(type), counts, TYPE_OF(room_type), *root, COMM_OF(comm), entered))
FORTRAN(scatterv,
	(void *buffer, MPI_Fint *counts, MPI_Fint *at, MPI_Fint *type, void *room, MPI_Fint *count, MPI_Fint *room_type,
	 MPI_Fint *root, MPI_Fint *comm),
	(buffer, counts, at, type, room, count, room_type, root, comm),
	scattered(counts, TYPE_OF(type), *count, TYPE_OF(room_type), *root, COMM_OF(comm), entered))
FORTRAN(allgatherv,
	(void *buffer, MPI_Fint *count, MPI_Fint *type, void *room, MPI_Fint *counts, MPI_Fint *at, MPI_Fint *room_type,
	 MPI_Fint *comm),
	(buffer, count, type, room, counts, at, room_type, comm),
	gathered_by_all(counts, TYPE_OF(room_type), COMM_OF(comm), entered))
FORTRAN(reduce_scatter,
	(void *buffer, void *sum, MPI_Fint *counts, MPI_Fint *type, MPI_Fint *op, MPI_Fint *comm),
	(buffer, sum, counts, type, op, comm), sum_scattered(counts, TYPE_OF(type), COMM_OF(comm), entered))
FORTRAN(alltoallv,
	(void *buffer, MPI_Fint *counts, MPI_Fint *at, MPI_Fint *type, void *room, MPI_Fint *room_counts, MPI_Fint *room_at,
	 MPI_Fint *room_type, MPI_Fint *comm),
	(buffer, counts, at, type, room, room_counts, room_at, room_type, comm),
	MPI_Datatype types[2] = {TYPE_OF(type) COMMA TYPE_OF(room_type)};
	all_to_all(buffer == (void *)&mpi_fortran_in_place_, counts, types, room_counts, types + 1, 0, COMM_OF(comm), entered))

#define FORTRAN_MAKES(name, parameters, arguments)                                                                     \
	FORTRAN(name, parameters, arguments, MPI_Comm fresh = COMM_OF(made);                                           \
		made_communicator(MPI_SUCCESS, &fresh, entered))
FORTRAN_MAKES(comm_dup, (MPI_Fint *comm, MPI_Fint *made), (comm, made))
FORTRAN_MAKES(comm_split, (MPI_Fint *comm, MPI_Fint *color, MPI_Fint *key, MPI_Fint *made), (comm, color, key, made))
FORTRAN_MAKES(comm_split_type, (MPI_Fint *comm, MPI_Fint *type, MPI_Fint *key, MPI_Fint *info, MPI_Fint *made),
	      (comm, type, key, info, made))
FORTRAN_MAKES(comm_create, (MPI_Fint *comm, MPI_Fint *group, MPI_Fint *made), (comm, group, made))
FORTRAN_MAKES(cart_create,
	      (MPI_Fint *comm, MPI_Fint *n, MPI_Fint *dims, MPI_Fint *periods, MPI_Fint *reorder, MPI_Fint *made),
	      (comm, n, dims, periods, reorder, made))
FORTRAN_MAKES(cart_sub, (MPI_Fint *comm, MPI_Fint *remain, MPI_Fint *made), (comm, remain, made))
FORTRAN(comm_free, (MPI_Fint *comm), (comm), pass(entered, now()))
FORTRAN_MAKES(comm_create_group, (MPI_Fint *comm, MPI_Fint *group, MPI_Fint *tag, MPI_Fint *made), (comm, group, tag, made))
FORTRAN_MAKES(comm_dup_with_info, (MPI_Fint *comm, MPI_Fint *info, MPI_Fint *made), (comm, info, made))
FORTRAN_MAKES(graph_create,
	      (MPI_Fint *comm, MPI_Fint *n, MPI_Fint *index, MPI_Fint *edges, MPI_Fint *reorder, MPI_Fint *made),
	      (comm, n, index, edges, reorder, made))
FORTRAN_MAKES(dist_graph_create,
	      (MPI_Fint *comm, MPI_Fint *n, MPI_Fint *nodes, MPI_Fint *degrees, MPI_Fint *targets, MPI_Fint *weights,
	       MPI_Fint *info, MPI_Fint *reorder, MPI_Fint *made),
	      (comm, n, nodes, degrees, targets, weights, info, reorder, made))
FORTRAN_MAKES(dist_graph_create_adjacent,
	      (MPI_Fint *comm, MPI_Fint *in, MPI_Fint *sources, MPI_Fint *from, MPI_Fint *out, MPI_Fint *targets,
	       MPI_Fint *to, MPI_Fint *info, MPI_Fint *reorder, MPI_Fint *made),
	      (comm, in, sources, from, out, targets, to, info, reorder, made))
FORTRAN_MAKES(intercomm_create,
	      (MPI_Fint *comm, MPI_Fint *leader, MPI_Fint *peers, MPI_Fint *remote_leader, MPI_Fint *tag, MPI_Fint *made),
	      (comm, leader, peers, remote_leader, tag, made))
FORTRAN_MAKES(intercomm_merge, (MPI_Fint *comm, MPI_Fint *high, MPI_Fint *made), (comm, high, made))
FORTRAN(comm_idup, (MPI_Fint *comm, MPI_Fint *made, MPI_Fint *request), (comm, made, request),
	no_record(PMPI_Request_f2c(*request), request, NULL, entered))

FORTRAN(mprobe, (MPI_Fint *from, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *message, MPI_Fint *status),
	(from, tag, comm, message, status), matched = known(COMM_OF(comm));
	pass(entered, now()))
FORTRAN(improbe, (MPI_Fint *from, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *flag, MPI_Fint *message, MPI_Fint *status),
	(from, tag, comm, flag, message, status), if (*flag) matched = known(COMM_OF(comm));
	pass(entered, now()))

extern void pmpi_mrecv_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *message, MPI_Fint *status,
			MPI_Fint *error) __attribute__((weak));
void mpi_mrecv_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *message, MPI_Fint *status, MPI_Fint *error);
FOR_MODULE(mrecv,
	   (void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *message, MPI_Fint *status, MPI_Fint *error))
void mpi_mrecv_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *message, MPI_Fint *status, MPI_Fint *error)
{
	SEEN(status);
	uint64_t entered = now();
	int is_null = PMPI_Message_f2c(*message) == MPI_MESSAGE_NO_PROC;
	pmpi_mrecv_(buffer, count, type, message, seen, error);
	if (own.on && *error == MPI_SUCCESS && matched && !is_null) {
		MPI_Status came = status_of(seen);
		received(*count, TYPE_OF(type), &came, matched, entered);
	}
}

/* A message from nobody is not looked for here, as the call has taken its handle. It is received from nobody. */
FORTRAN(imrecv, (void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *message, MPI_Fint *request),
	(buffer, count, type, message, request),
	if (matched) posts(PMPI_Request_f2c(*request), request, RECEIVES, STANDARD, *count, TYPE_OF(type), MPI_ANY_SOURCE,
			   MPI_ANY_TAG, matched, entered))

static void fortran_all_to_all(int in_place, const MPI_Fint *counts, const MPI_Fint *types, const MPI_Fint *room_counts,
			       const MPI_Fint *room_types, MPI_Comm comm, uint64_t entered)
{
	int size = known(comm)->size;
	MPI_Datatype *both = more(NULL, 2 * (size_t)size * sizeof *both);
	for (int index = 0; index < size; index++) {
		both[index] = in_place ? MPI_DATATYPE_NULL : PMPI_Type_f2c(types[index]);
		both[size + index] = PMPI_Type_f2c(room_types[index]);
	}
	all_to_all(in_place, counts, both, room_counts, both + size, 1, comm, entered);
	free(both);
}
FORTRAN(alltoallw,
	(void *buffer, MPI_Fint *counts, MPI_Fint *at, MPI_Fint *types, void *room, MPI_Fint *room_counts, MPI_Fint *room_at,
	 MPI_Fint *room_types, MPI_Fint *comm),
	(buffer, counts, at, types, room, room_counts, room_at, room_types, comm),
	fortran_all_to_all(buffer == (void *)&mpi_fortran_in_place_, counts, types, room_counts, room_types, COMM_OF(comm),
			   entered))

/* Windows. */

#define WIN_OF(win) PMPI_Win_f2c(*(win))
#define MADE made_window(COMM_OF(comm), WIN_OF(win), MPI_SUCCESS, entered)
#define ALLOCATES                                                                                                      \
	(MPI_Aint *size, MPI_Fint *unit, MPI_Fint *info, MPI_Fint *comm, void *base, MPI_Fint *win),                   \
		(size, unit, info, comm, base, win), MADE
#define FORTRAN_WITH(name, what) FORTRAN(name, what)
FORTRAN(win_create, (void *base, MPI_Aint *size, MPI_Fint *unit, MPI_Fint *info, MPI_Fint *comm, MPI_Fint *win),
	(base, size, unit, info, comm, win), MADE)
FORTRAN(win_create_dynamic, (MPI_Fint *info, MPI_Fint *comm, MPI_Fint *win), (info, comm, win), MADE)
FORTRAN_WITH(win_allocate, ALLOCATES)
FORTRAN_WITH(win_allocate_cptr, ALLOCATES)
FORTRAN_WITH(win_allocate_shared, ALLOCATES)
FORTRAN_WITH(win_allocate_shared_cptr, ALLOCATES)

/* Beside each name the same with a request. */
#define FORTRAN_REMOTE(name, kind, parameters, arguments)                                                              \
	FORTRAN(name, parameters, arguments,                                                                           \
		remote(kind, WIN_OF(win), *target, bytes_of(*count, TYPE_OF(type)), MPI_REQUEST_NULL, NULL,            \
		       MPI_SUCCESS, entered))                                                                          \
	FORTRAN(r##name, (COMMAS parameters, MPI_Fint *request), (COMMAS arguments, request),                          \
		remote(kind, WIN_OF(win), *target, bytes_of(*count, TYPE_OF(type)), PMPI_Request_f2c(*request),        \
		       request, MPI_SUCCESS, entered))
#define PLACE MPI_Fint *target, MPI_Aint *at, MPI_Fint *there, MPI_Fint *there_type
FORTRAN_REMOTE(put, PUT, (void *buffer, MPI_Fint *count, MPI_Fint *type, PLACE, MPI_Fint *win),
	       (buffer, count, type, target, at, there, there_type, win))
FORTRAN_REMOTE(get, GET, (void *buffer, MPI_Fint *count, MPI_Fint *type, PLACE, MPI_Fint *win),
	       (buffer, count, type, target, at, there, there_type, win))
FORTRAN_REMOTE(accumulate, PUT, (void *buffer, MPI_Fint *count, MPI_Fint *type, PLACE, MPI_Fint *op, MPI_Fint *win),
	       (buffer, count, type, target, at, there, there_type, op, win))

static uint64_t given(const MPI_Fint *op, int count, const MPI_Fint *type)
{
	return PMPI_Op_f2c(*op) == MPI_NO_OP ? 0 : bytes_of(count, TYPE_OF(type));
}
FORTRAN(get_accumulate, (TWO_SIDES, PLACE, MPI_Fint *op, MPI_Fint *win),
	(buffer, count, type, room, rooms, room_type, target, at, there, there_type, op, win),
	fetched(WIN_OF(win), *target, given(op, *count, type), bytes_of(*rooms, TYPE_OF(room_type)), MPI_REQUEST_NULL, NULL,
		MPI_SUCCESS, entered))
FORTRAN(rget_accumulate, (TWO_SIDES, PLACE, MPI_Fint *op, MPI_Fint *win, MPI_Fint *request),
	(buffer, count, type, room, rooms, room_type, target, at, there, there_type, op, win, request),
	fetched(WIN_OF(win), *target, given(op, *count, type), bytes_of(*rooms, TYPE_OF(room_type)),
		PMPI_Request_f2c(*request), request, MPI_SUCCESS, entered))
FORTRAN(fetch_and_op,
	(void *buffer, void *room, MPI_Fint *type, MPI_Fint *target, MPI_Aint *at, MPI_Fint *op, MPI_Fint *win),
	(buffer, room, type, target, at, op, win),
	fetched(WIN_OF(win), *target, given(op, 1, type), bytes_of(1, TYPE_OF(type)), MPI_REQUEST_NULL, NULL, MPI_SUCCESS,
		entered))
FORTRAN(compare_and_swap,
	(void *buffer, void *compare, void *room, MPI_Fint *type, MPI_Fint *target, MPI_Aint *at, MPI_Fint *win),
	(buffer, compare, room, type, target, at, win),
	fetched(WIN_OF(win), *target, 2 * bytes_of(1, TYPE_OF(type)), bytes_of(1, TYPE_OF(type)), MPI_REQUEST_NULL, NULL,
		MPI_SUCCESS, entered))

FORTRAN(win_flush, (MPI_Fint *target, MPI_Fint *win), (target, win), flushed(MPI_SUCCESS, entered))
FORTRAN(win_flush_all, (MPI_Fint *win), (win), flushed(MPI_SUCCESS, entered))
FORTRAN(win_flush_local, (MPI_Fint *target, MPI_Fint *win), (target, win), flushed(MPI_SUCCESS, entered))
FORTRAN(win_flush_local_all, (MPI_Fint *win), (win), flushed(MPI_SUCCESS, entered))
FORTRAN(win_unlock, (MPI_Fint *target, MPI_Fint *win), (target, win), flushed(MPI_SUCCESS, entered))
FORTRAN(win_unlock_all, (MPI_Fint *win), (win), flushed(MPI_SUCCESS, entered))
FORTRAN(win_complete, (MPI_Fint *win), (win), flushed(MPI_SUCCESS, entered))
FORTRAN(win_fence, (MPI_Fint *promises, MPI_Fint *win), (promises, win), fenced(WIN_OF(win), MPI_SUCCESS, entered))

/* Calls that are no records, and those that have no other record: of all arguments only the request matters. */

#define PARAMETERS_1 void *a
#define PARAMETERS_2 void *a, void *b
#define PARAMETERS_3 void *a, void *b, void *c
#define PARAMETERS_4 void *a, void *b, void *c, void *d
#define PARAMETERS_5 void *a, void *b, void *c, void *d, void *e
#define PARAMETERS_6 void *a, void *b, void *c, void *d, void *e, void *f
#define PARAMETERS_7 void *a, void *b, void *c, void *d, void *e, void *f, void *g
#define PARAMETERS_8 void *a, void *b, void *c, void *d, void *e, void *f, void *g, void *h
#define PARAMETERS_9 void *a, void *b, void *c, void *d, void *e, void *f, void *g, void *h, void *i
#define PARAMETERS_10 void *a, void *b, void *c, void *d, void *e, void *f, void *g, void *h, void *i, void *j
#define ARGUMENTS_1 a
#define ARGUMENTS_2 a, b
#define ARGUMENTS_3 a, b, c
#define ARGUMENTS_4 a, b, c, d
#define ARGUMENTS_5 a, b, c, d, e
#define ARGUMENTS_6 a, b, c, d, e, f
#define ARGUMENTS_7 a, b, c, d, e, f, g
#define ARGUMENTS_8 a, b, c, d, e, f, g, h
#define ARGUMENTS_9 a, b, c, d, e, f, g, h, i
#define ARGUMENTS_10 a, b, c, d, e, f, g, h, i, j

/* Their names, and how many arguments they have before the error. */
#define FORTRAN_PASSES(name, n) FORTRAN(name, (PARAMETERS_##n), (ARGUMENTS_##n), pass(entered, now()))
#define FORTRAN_OTHERS(name, fortran, n)                                                                               \
	FORTRAN(fortran, (PARAMETERS_##n), (ARGUMENTS_##n), other("MPI_" #name, entered, now()))
#define FORTRAN_OTHERS_TO_COME(name, fortran, n)                                                                       \
	FORTRAN(fortran, (PARAMETERS_##n, MPI_Fint *request), (ARGUMENTS_##n, request),                                \
		no_record(PMPI_Request_f2c(*request), request, "MPI_" #name, entered))
FORTRAN_PASSES(win_free, 1)
FORTRAN_PASSES(win_lock, 4)
FORTRAN_PASSES(win_lock_all, 2)
FORTRAN_PASSES(win_sync, 1)
FORTRAN_PASSES(win_set_info, 2)
FORTRAN_PASSES(comm_disconnect, 1)
FORTRAN_PASSES(comm_set_info, 2)
FORTRAN_PASSES(buffer_detach, 2)
FORTRAN_PASSES(request_get_status, 3)
FORTRAN_OTHERS(Scan, scan, 6)
FORTRAN_OTHERS(Exscan, exscan, 6)
FORTRAN_OTHERS_TO_COME(Iscan, iscan, 6)
FORTRAN_OTHERS_TO_COME(Iexscan, iexscan, 6)
FORTRAN_OTHERS_TO_COME(Igatherv, igatherv, 9)
FORTRAN_OTHERS_TO_COME(Iscatterv, iscatterv, 9)
FORTRAN_OTHERS_TO_COME(Iallgatherv, iallgatherv, 8)
FORTRAN_OTHERS_TO_COME(Ialltoallv, ialltoallv, 9)
FORTRAN_OTHERS_TO_COME(Ialltoallw, ialltoallw, 9)
FORTRAN_OTHERS_TO_COME(Ireduce_scatter, ireduce_scatter, 6)
FORTRAN_OTHERS(Neighbor_allgather, neighbor_allgather, 7)
FORTRAN_OTHERS(Neighbor_allgatherv, neighbor_allgatherv, 8)
FORTRAN_OTHERS(Neighbor_alltoall, neighbor_alltoall, 7)
FORTRAN_OTHERS(Neighbor_alltoallv, neighbor_alltoallv, 9)
FORTRAN_OTHERS(Neighbor_alltoallw, neighbor_alltoallw, 9)
FORTRAN_OTHERS_TO_COME(Ineighbor_allgather, ineighbor_allgather, 7)
FORTRAN_OTHERS_TO_COME(Ineighbor_allgatherv, ineighbor_allgatherv, 8)
FORTRAN_OTHERS_TO_COME(Ineighbor_alltoall, ineighbor_alltoall, 7)
FORTRAN_OTHERS_TO_COME(Ineighbor_alltoallv, ineighbor_alltoallv, 9)
FORTRAN_OTHERS_TO_COME(Ineighbor_alltoallw, ineighbor_alltoallw, 9)
FORTRAN_OTHERS(Win_post, win_post, 3)
FORTRAN_OTHERS(Win_start, win_start, 3)
FORTRAN_OTHERS(Win_wait, win_wait, 1)
FORTRAN(win_test, (MPI_Fint *win, MPI_Fint *flag), (win, flag), if (*flag) other("MPI_Win_test", entered, now());
	else pass(entered, now()))
FORTRAN_OTHERS(Comm_join, comm_join, 2)
FORTRAN_OTHERS(File_close, file_close, 1)
FORTRAN_OTHERS(File_sync, file_sync, 1)
FORTRAN_OTHERS(File_set_size, file_set_size, 2)
FORTRAN_OTHERS(File_preallocate, file_preallocate, 2)
FORTRAN_OTHERS(File_set_atomicity, file_set_atomicity, 2)
FORTRAN_OTHERS(File_set_info, file_set_info, 2)
FORTRAN_OTHERS(File_seek_shared, file_seek_shared, 3)
FORTRAN_OTHERS(File_read_all, file_read_all, 5)
FORTRAN_OTHERS(File_read_at_all, file_read_at_all, 6)
FORTRAN_OTHERS(File_read_ordered, file_read_ordered, 5)
FORTRAN_OTHERS(File_write_all, file_write_all, 5)
FORTRAN_OTHERS(File_write_at_all, file_write_at_all, 6)
FORTRAN_OTHERS(File_write_ordered, file_write_ordered, 5)
FORTRAN_OTHERS(File_read_all_begin, file_read_all_begin, 4)
FORTRAN_OTHERS(File_read_all_end, file_read_all_end, 3)
FORTRAN_OTHERS(File_read_at_all_begin, file_read_at_all_begin, 5)
FORTRAN_OTHERS(File_read_at_all_end, file_read_at_all_end, 3)
FORTRAN_OTHERS(File_read_ordered_begin, file_read_ordered_begin, 4)
FORTRAN_OTHERS(File_read_ordered_end, file_read_ordered_end, 3)
FORTRAN_OTHERS(File_write_all_begin, file_write_all_begin, 4)
FORTRAN_OTHERS(File_write_all_end, file_write_all_end, 3)
FORTRAN_OTHERS(File_write_at_all_begin, file_write_at_all_begin, 5)
FORTRAN_OTHERS(File_write_at_all_end, file_write_at_all_end, 3)
FORTRAN_OTHERS(File_write_ordered_begin, file_write_ordered_begin, 4)
FORTRAN_OTHERS(File_write_ordered_end, file_write_ordered_end, 3)
FORTRAN_OTHERS_TO_COME(File_iread_all, file_iread_all, 4)
FORTRAN_OTHERS_TO_COME(File_iread_at_all, file_iread_at_all, 5)
FORTRAN_OTHERS_TO_COME(File_iwrite_all, file_iwrite_all, 4)
FORTRAN_OTHERS_TO_COME(File_iwrite_at_all, file_iwrite_at_all, 5)

/* Those with a text: how long it is stands behind the error. */
#define FORTRAN_OTHERS_OF_TEXT(name, fortran, n)                                                                       \
	extern void pmpi_##fortran##_(PARAMETERS_##n, MPI_Fint *error, size_t length) __attribute__((weak));           \
	void mpi_##fortran##_(PARAMETERS_##n, MPI_Fint *error, size_t length);                                         \
	FOR_MODULE(fortran, (PARAMETERS_##n, MPI_Fint *error, size_t length))                                          \
	void mpi_##fortran##_(PARAMETERS_##n, MPI_Fint *error, size_t length)                                          \
	{                                                                                                              \
		uint64_t entered = now();                                                                              \
		pmpi_##fortran##_(ARGUMENTS_##n, error, length);                                                       \
		if (own.on && *error == MPI_SUCCESS)                                                                   \
			other("MPI_" #name, entered, now());                                                           \
	}
FORTRAN_OTHERS_OF_TEXT(File_open, file_open, 5)
FORTRAN_OTHERS_OF_TEXT(File_set_view, file_set_view, 6)
FORTRAN_OTHERS_OF_TEXT(Comm_accept, comm_accept, 5)
FORTRAN_OTHERS_OF_TEXT(Comm_connect, comm_connect, 5)

/* ---- `use mpi_f08` of Open MPI ----
 *
 * It calls what FOR_MODULE names, but for these, which have logicals: they call pmpi_test_, behind which nothing can stand. Their error is NULL where
 * the program asks for none.
 */

#define MODULE(name, n)                                                                                                \
	void mpi_##name##_f08_(PARAMETERS_##n, MPI_Fint *error);                                                       \
	void mpi_##name##_f08_(PARAMETERS_##n, MPI_Fint *error)                                                        \
	{                                                                                                              \
		MPI_Fint mine;                                                                                         \
		mpi_##name##_(ARGUMENTS_##n, error ? error : &mine);                                                   \
	}
MODULE(cart_create, 6)
MODULE(cart_sub, 3)
MODULE(dist_graph_create, 9)
MODULE(dist_graph_create_adjacent, 10)
MODULE(graph_create, 6)
MODULE(intercomm_merge, 3)
MODULE(improbe, 6)
MODULE(iprobe, 5)
MODULE(test, 3)
MODULE(testall, 4)
MODULE(testany, 5)
MODULE(testsome, 5)
MODULE(request_get_status, 3)
MODULE(win_test, 2)
MODULE(file_set_atomicity, 2)
