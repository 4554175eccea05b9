/* Threads that call MPI. Ranks 0 and 1, 2 and 3 are pairs.
 *
 * Without an argument one thread calls at a time (MPI_THREAD_SERIALIZED): each of three threads exchanges 64 B with the same thread of the other
 * rank, TURNS times, under a lock that it keeps for all of them.
 * With `wait` (MPI_THREAD_MULTIPLE) a second thread waits for a message of 64 B, which the other rank sends when the first thread has exchanged
 * 64 B with it.
 * With `storm` (MPI_THREAD_MULTIPLE) the three threads exchange their messages at the same time.
 */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define TURNS 200

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begins;
static int peer, storm;

static void exchange(int tag)
{
	char from[64] = {0}, to[64];
	MPI_Request open[2];
	MPI_Irecv(to, 64, MPI_CHAR, peer, tag, MPI_COMM_WORLD, &open[0]);
	MPI_Isend(from, 64, MPI_CHAR, peer, tag, MPI_COMM_WORLD, &open[1]);
	MPI_Waitall(2, open, MPI_STATUSES_IGNORE);
}

static void *exchanges(void *tag)
{
	if (!storm)
		pthread_mutex_lock(&turn);
	for (int number = 0; number < TURNS; number++)
		exchange(*(int *)tag);
	if (!storm)
		pthread_mutex_unlock(&turn);
	return NULL;
}

static void *receives(void *tag)
{
	char to[64];
	pthread_barrier_wait(&begins);
	MPI_Recv(to, 64, MPI_CHAR, peer, *(int *)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return NULL;
}

int main(int argc, char **argv)
{
	static int tags[3] = {1, 2, 3};
	int rank, given, waits = argc > 1 && !strcmp(argv[1], "wait");
	pthread_t threads[3];
	storm = argc > 1 && !waits;
	MPI_Init_thread(&argc, &argv, storm || waits ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED, &given);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	peer = rank ^ 1;
	if (waits && rank % 2 == 0) {
		pthread_barrier_init(&begins, NULL, 2);
		pthread_create(&threads[0], NULL, receives, &tags[0]);
		pthread_barrier_wait(&begins);
		usleep(200000);
		exchange(2);
		pthread_join(threads[0], NULL);
	} else if (waits) {
		char from[64] = {0};
		exchange(2);
		MPI_Send(from, 64, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
	} else {
		/* One after another where one at a time may call: else ranks could wait for each other. */
		for (int number = 0; number < 3; number++) {
			pthread_create(&threads[number], NULL, exchanges, &tags[number]);
			if (!storm)
				pthread_join(threads[number], NULL);
		}
		for (int number = 0; number < 3 && storm; number++)
			pthread_join(threads[number], NULL);
	}
	MPI_Finalize();
	return 0;
}
