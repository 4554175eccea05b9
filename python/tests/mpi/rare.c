/* Calls that a program has nothing for, each once, of 4 B or 8 B a rank: sums to each that do not block, all to all of several sizes and
 * types, and among neighbours on a ring, and a file that all write. A copy of MPI_COMM_WORLD, made without blocking, has a sum of 4 B. Then rank 0
 * asks for a message of 8 B, until it is there, which rank 1 sends after 1 s.
 */
#include <mpi.h>
#include <unistd.h>

static void wait_for(MPI_Request open)
{
	MPI_Wait(&open, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	int rank, size, periodic = 1, mine = 1, flag = 0, data[64] = {0}, room[64];
	MPI_Request open;
	MPI_Comm ring, copy;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int ones[64], places[64];
	MPI_Aint bytes[64];
	MPI_Datatype types[64];
	for (int index = 0; index < 64; index++) {
		ones[index] = 1;
		places[index] = index;
		bytes[index] = 4 * index;
		types[index] = MPI_INT;
	}
	int offsets[64];
	for (int index = 0; index < 64; index++)
		offsets[index] = 4 * index;

	MPI_Ireduce_scatter(data, room, ones, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &open);
	wait_for(open);
	MPI_Iexscan(data, room, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &open);
	wait_for(open);
	MPI_Ialltoallw(data, ones, offsets, types, room, ones, offsets, types, MPI_COMM_WORLD, &open);
	wait_for(open);

	MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
	MPI_Neighbor_allgatherv(data, 1, MPI_INT, room, ones, places, MPI_INT, ring);
	MPI_Neighbor_alltoallw(data, ones, bytes, types, room, ones, bytes, types, ring);
	MPI_Ineighbor_allgather(data, 1, MPI_INT, room, 1, MPI_INT, ring, &open);
	wait_for(open);
	MPI_Ineighbor_allgatherv(data, 1, MPI_INT, room, ones, places, MPI_INT, ring, &open);
	wait_for(open);
	MPI_Ineighbor_alltoall(data, 1, MPI_INT, room, 1, MPI_INT, ring, &open);
	wait_for(open);
	MPI_Ineighbor_alltoallv(data, ones, places, MPI_INT, room, ones, places, MPI_INT, ring, &open);
	wait_for(open);
	MPI_Ineighbor_alltoallw(data, ones, bytes, types, room, ones, bytes, types, ring, &open);
	wait_for(open);

	MPI_File file;
	MPI_File_open(MPI_COMM_WORLD, argc > 1 ? argv[1] : "rare.bin", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	MPI_File_write_at_all(file, 4 * rank, &mine, 1, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_close(&file);

	MPI_Comm_idup(MPI_COMM_WORLD, &copy, &open);
	wait_for(open);
	MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_SUM, copy);
	MPI_Comm_free(&copy);
	if (rank == 0) {
		MPI_Irecv(data, 2, MPI_INT, 1, 7, MPI_COMM_WORLD, &open);
		while (!flag)
			MPI_Request_get_status(open, &flag, MPI_STATUS_IGNORE);
		wait_for(open);
	} else if (rank == 1) {
		sleep(1);
		MPI_Send(data, 2, MPI_INT, 0, 7, MPI_COMM_WORLD);
	}
	MPI_Comm_free(&ring);
	MPI_Finalize();
	return 0;
}
