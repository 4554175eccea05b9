/* A stencil on a line of ranks that is closed to a ring: what is sent is known.
 *
 * 1. The first rank tells all how many steps there are: a broadcast of 16 B.
 * 2. In each of STEPS steps, on a Cartesian communicator: two receives and two sends of 1024 B posted, computing of WORK us, a wait for all;
 *    a Sendrecv of 64 B to the next rank of MPI_COMM_WORLD, without one at the ends; an allreduce of 8 B.
 * 3. In each of STEPS steps: the same two exchanges of 256 B by persistent requests, waited for one by one from the last to the first.
 * 4. A put of 512 B to the next rank between two fences. A reduction of 4096 B to the last rank.
 */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static void compute(long us)
{
	struct timespec from, at;
	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &at);
	while ((at.tv_sec - from.tv_sec) * 1000000000L + at.tv_nsec - from.tv_nsec < us * 1000);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	int size, rank, left, right, given[4] = {argc > 1 ? atoi(argv[1]) : 5, argc > 2 ? atoi(argv[2]) : 100, 0, 0};
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Bcast(given, 4, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Comm ring;
	int periodic = 1;
	MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
	MPI_Cart_shift(ring, 0, 1, &left, &right);
	static double out[2][128], in[2][128], sum, all, big[512], total[512], window[64];
	int up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, down = rank > 0 ? rank - 1 : MPI_PROC_NULL;
	for (int step = 0; step < given[0]; step++) {
		MPI_Request open[4];
		MPI_Irecv(in[0], 128, MPI_DOUBLE, left, 1, ring, &open[0]);
		MPI_Irecv(in[1], 128, MPI_DOUBLE, right, 2, ring, &open[1]);
		MPI_Isend(out[0], 128, MPI_DOUBLE, right, 1, ring, &open[2]);
		MPI_Isend(out[1], 128, MPI_DOUBLE, left, 2, ring, &open[3]);
		compute(given[1]);
		MPI_Waitall(4, open, MPI_STATUSES_IGNORE);
		MPI_Sendrecv(out[0], 8, MPI_DOUBLE, up, 3, in[0], 8, MPI_DOUBLE, down, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Request kept[4];
	MPI_Recv_init(in[0], 32, MPI_DOUBLE, left, 1, ring, &kept[0]);
	MPI_Recv_init(in[1], 32, MPI_DOUBLE, right, 2, ring, &kept[1]);
	MPI_Send_init(out[0], 32, MPI_DOUBLE, right, 1, ring, &kept[2]);
	MPI_Send_init(out[1], 32, MPI_DOUBLE, left, 2, ring, &kept[3]);
	for (int step = 0; step < given[0]; step++) {
		MPI_Startall(4, kept);
		for (int one = 3; one >= 0; one--)
			MPI_Wait(&kept[one], MPI_STATUS_IGNORE);
	}
	for (int one = 0; one < 4; one++)
		MPI_Request_free(&kept[one]);
	MPI_Win win;
	MPI_Win_create(window, sizeof window, 1, MPI_INFO_NULL, ring, &win);
	MPI_Win_fence(0, win);
	MPI_Put(out[0], 64, MPI_DOUBLE, right, 0, 64, MPI_DOUBLE, win);
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	MPI_Reduce(big, total, 512, MPI_DOUBLE, MPI_SUM, size - 1, MPI_COMM_WORLD);
	MPI_Comm_free(&ring);
	MPI_Finalize();
	return 0;
}
