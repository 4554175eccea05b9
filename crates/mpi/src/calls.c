/* The calls of MPI that the processes of a run need. MPI's types differ from one MPI to the next; here they stay behind plain numbers,
 * so that whatever mpi.h there is decides. Errors of MPI end all processes, as its standard says of the handler that is set at first. */
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

/* So often a process looks for a message awake; then it lets others have its core so often, and then sleeps between two looks. Who waits
 * awake on a machine that is shared takes the core from the one that it waits for. */
enum { SPINS = 2000, YIELDS = 200 };
static const struct timespec nap = { 0, 20000 };

static MPI_Request *requests;

/* Joins the processes; 0 if this MPI cannot be called from one thread after the other. */
int backwater_mpi_join(int *rank, int *count)
{
	int given;
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given) != MPI_SUCCESS || given < MPI_THREAD_SERIALIZED)
		return 0;
	MPI_Comm_rank(MPI_COMM_WORLD, rank);
	MPI_Comm_size(MPI_COMM_WORLD, count);
	requests = malloc((size_t)*count * sizeof *requests);
	if (!requests)
		return 0;
	for (int other = 0; other < *count; other++)
		requests[other] = MPI_REQUEST_NULL;
	return 1;
}

/* Begins to send; the bytes stay as they are until backwater_mpi_sent. */
void backwater_mpi_send(int to, const unsigned char *bytes, int length)
{
	MPI_Isend(bytes, length, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[to]);
}

/* The length of the next message of another process, when it is there. */
int backwater_mpi_next(int from)
{
	MPI_Status status;
	int found = 0, length;
	for (int looks = 0; !found; looks++) {
		MPI_Iprobe(from, 0, MPI_COMM_WORLD, &found, &status);
		if (!found && looks >= SPINS + YIELDS)
			nanosleep(&nap, NULL);
		else if (!found && looks >= SPINS)
			sched_yield();
	}
	MPI_Get_count(&status, MPI_BYTE, &length);
	return length;
}

/* Takes it. */
void backwater_mpi_take(int from, unsigned char *bytes, int length)
{
	MPI_Recv(bytes, length, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Waits until everything is sent. */
void backwater_mpi_sent(int count)
{
	MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
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
