/* The calls of MPI that the processes of a run need. MPI's types differ from one MPI to the next; here they stay behind plain numbers,
 * so that whatever mpi.h there is decides. Errors of MPI end all processes, as its standard says of the handler that is set at first. */
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* So often a process looks for a message awake; then it lets others have its core so often, and then sleeps between two looks. Who waits
 * awake on a machine that is shared takes the core from the one that it waits for. */
enum { SPINS = 2000, YIELDS = 200 };
static const struct timespec nap = { 0, 20000 };

/* Bytes that come into memory that waits for them, for each other process, so that they are on their way while the receiver works. A
 * longer message comes in two: these, and the rest, which may be empty. Chosen, not measured. */
enum { HEAD = 1 << 16 };

/* What is under way to and from one other process. */
struct peer {
	MPI_Request sent[2];
	MPI_Request heard;
	unsigned char *head;
};
static struct peer *peers;
static MPI_Request shared;

/* Waits a moment, after so many looks. */
static void rest(int looks)
{
	if (looks >= SPINS + YIELDS)
		nanosleep(&nap, NULL);
	else if (looks >= SPINS)
		sched_yield();
}

/* Waits for something that was begun. */
static void finish(MPI_Request *request, MPI_Status *status)
{
	int done = 0;
	for (int looks = 0; !done; looks++) {
		MPI_Test(request, &done, status);
		if (!done)
			rest(looks);
	}
}

/* Joins the processes; 0 if this MPI cannot be called from one thread after the other. */
int backwater_mpi_join(int *rank, int *count)
{
	int given;
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given) != MPI_SUCCESS || given < MPI_THREAD_SERIALIZED)
		return 0;
	MPI_Comm_rank(MPI_COMM_WORLD, rank);
	MPI_Comm_size(MPI_COMM_WORLD, count);
	peers = malloc((size_t)*count * sizeof *peers);
	if (!peers)
		return 0;
	for (int other = 0; other < *count; other++)
		peers[other] = (struct peer){ { MPI_REQUEST_NULL, MPI_REQUEST_NULL }, MPI_REQUEST_NULL, NULL };
	return 1;
}

/* Begins to hear what another process sends next; 0 without memory. */
int backwater_mpi_listen(int from)
{
	struct peer *peer = &peers[from];
	if (!peer->head)
		peer->head = malloc(HEAD);
	if (!peer->head)
		return 0;
	MPI_Irecv(peer->head, HEAD, MPI_BYTE, from, 0, MPI_COMM_WORLD, &peer->heard);
	return 1;
}

/* Begins to send; the bytes stay as they are until backwater_mpi_sent. */
void backwater_mpi_send(int to, const unsigned char *bytes, int length)
{
	int head = length < HEAD ? length : HEAD;
	MPI_Isend(bytes, head, MPI_BYTE, to, 0, MPI_COMM_WORLD, &peers[to].sent[0]);
	if (head == HEAD)
		MPI_Isend(bytes + HEAD, length - HEAD, MPI_BYTE, to, 0, MPI_COMM_WORLD, &peers[to].sent[1]);
}

/* The length of what another process has sent, when it is there. */
int backwater_mpi_next(int from)
{
	MPI_Status status;
	int found = 0, length, more;
	finish(&peers[from].heard, &status);
	MPI_Get_count(&status, MPI_BYTE, &length);
	if (length < HEAD)
		return length;
	for (int looks = 0; !found; looks++) {
		MPI_Iprobe(from, 0, MPI_COMM_WORLD, &found, &status);
		if (!found)
			rest(looks);
	}
	MPI_Get_count(&status, MPI_BYTE, &more);
	return length + more;
}

/* Takes it. */
void backwater_mpi_take(int from, unsigned char *bytes, int length)
{
	memcpy(bytes, peers[from].head, (size_t)(length < HEAD ? length : HEAD));
	if (length >= HEAD)
		MPI_Recv(bytes + HEAD, length - HEAD, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Waits until all is there that was sent to a process. */
void backwater_mpi_sent(int to)
{
	finish(&peers[to].sent[0], MPI_STATUS_IGNORE);
	finish(&peers[to].sent[1], MPI_STATUS_IGNORE);
}

/* Begins to tell all processes so many bytes, and to hear as many of each; both stay as they are until backwater_mpi_shared. */
void backwater_mpi_share(const unsigned char *own, int length, unsigned char *all)
{
	MPI_Iallgather(own, length, MPI_BYTE, all, length, MPI_BYTE, MPI_COMM_WORLD, &shared);
}

/* Waits until all have told theirs. */
void backwater_mpi_shared(void)
{
	finish(&shared, MPI_STATUS_IGNORE);
}

/* Leaves the others, which leave as well. */
void backwater_mpi_leave(void)
{
	MPI_Finalize();
}

/* Ends all processes. */
void backwater_mpi_abort(int code)
{
	MPI_Abort(MPI_COMM_WORLD, code);
}
