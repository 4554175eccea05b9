/* A master and its workers: rank 0 hands out TASKS tasks of 100 B, tag 1, to whoever has sent a result of 400 B, tag 2, and at the end an empty
 * message, tag 3, to each. The master receives from any rank; a worker receives any tag. With a third argument that worker kills itself
 * when it has done its second task.
 */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>

static void master(int tasks, int workers)
{
	static char task[100], result[1000];
	int given = 0, left = workers;
	for (int worker = 1; worker <= workers; worker++, given++)
		MPI_Send(task, 100, MPI_CHAR, worker, 1, MPI_COMM_WORLD);
	while (left) {
		MPI_Status status;
		MPI_Request open;
		int there = 0;
		MPI_Irecv(result, 1000, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &open);
		while (!there)
			MPI_Test(&open, &there, &status);
		if (given < tasks) {
			MPI_Send(task, 100, MPI_CHAR, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
			given++;
		} else {
			MPI_Ssend(task, 0, MPI_CHAR, status.MPI_SOURCE, 3, MPI_COMM_WORLD);
			left--;
		}
	}
}

static void worker(int dies)
{
	static char task[100], result[400];
	for (int done = 0;; done++) {
		MPI_Status status;
		MPI_Recv(task, 100, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		if (status.MPI_TAG == 3)
			return;
		MPI_Send(result, 400, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
		if (dies && done == 1)
			raise(SIGKILL);
	}
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	int size, rank, tasks = argc > 1 ? atoi(argv[1]) : 12, dies = argc > 2 ? atoi(argv[2]) : 0;
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		master(tasks, size - 1);
	else
		worker(rank == dies);
	MPI_Finalize();
	return 0;
}
