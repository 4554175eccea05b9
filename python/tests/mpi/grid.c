/* Collectives of sub-communicators: 2 x 2 ranks, rows {0,1} {2,3}, columns {0,2} {1,3}.
 *
 * 1. ROUNDS times: an all-to-all of 4096 B in the row, one of (rank + 1) * 100 B to each in the column.
 * 2. On a duplicate of MPI_COMM_WORLD rank 0 sends 11 B to rank 1 with tag 9, after 22 B with the same tag on MPI_COMM_WORLD; rank 1 receives
 *    those of the duplicate first.
 * 3. All four, in the order 3 2 1 0: an allgather of 128 B, in place; one of 32 B times the place and 1; a gather of 64 B, a scatter of 48 B; a gather of
 *    (rank + 1) * 8 B, a scatter of the same, at place 0, rank 3; a sum of 1600 B of which each gets a quarter, twice.
 * 4. A barrier that does not block, and a scan, which Backwater cannot express.
 */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	int size, rank, rounds = argc > 1 ? atoi(argv[1]) : 3;
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (size != 4)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Comm row, column, twin, back;
	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &column);
	MPI_Comm_dup(MPI_COMM_WORLD, &twin);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &back);
	static char out[8192], in[8192];
	int other = rank ^ 2;
	for (int round = 0; round < rounds; round++) {
		MPI_Alltoall(out, 4096, MPI_CHAR, in, 4096, MPI_CHAR, row);
		int mine = (rank + 1) * 100, theirs = (other + 1) * 100, at[2] = {0, 4096};
		int counts[2] = {mine, mine}, rooms[2] = {rank < 2 ? mine : theirs, rank < 2 ? theirs : mine};
		MPI_Alltoallv(out, counts, at, MPI_CHAR, in, rooms, at, MPI_CHAR, column);
	}
	if (rank == 0) {
		MPI_Send(out, 22, MPI_CHAR, 1, 9, MPI_COMM_WORLD);
		MPI_Send(out, 11, MPI_CHAR, 1, 9, twin);
	} else if (rank == 1) {
		MPI_Recv(in, 11, MPI_CHAR, 0, MPI_ANY_TAG, twin, MPI_STATUS_IGNORE);
		MPI_Recv(in, 100, MPI_CHAR, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	int place = 3 - rank, counts[4] = {32, 64, 96, 128}, at[4] = {0, 1000, 2000, 3000};
	int eighths[4] = {32, 24, 16, 8}, hundreds[4] = {100, 100, 100, 100};
	static float sums[400], parts[100];
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 128, MPI_CHAR, back);
	MPI_Allgatherv(out, counts[place], MPI_CHAR, in, counts, at, MPI_CHAR, back);
	MPI_Gather(place ? out : MPI_IN_PLACE, 64, MPI_CHAR, in, 64, MPI_CHAR, 0, back);
	MPI_Scatter(out, 48, MPI_CHAR, place ? in : MPI_IN_PLACE, 48, MPI_CHAR, 0, back);
	MPI_Gatherv(out, eighths[place], MPI_CHAR, in, eighths, at, MPI_CHAR, 0, back);
	MPI_Scatterv(out, eighths, at, MPI_CHAR, in, eighths[place], MPI_CHAR, 0, back);
	MPI_Reduce_scatter_block(sums, parts, 100, MPI_FLOAT, MPI_SUM, back);
	MPI_Reduce_scatter(sums, parts, hundreds, MPI_FLOAT, MPI_SUM, back);
	MPI_Request open;
	MPI_Ibarrier(row, &open);
	MPI_Wait(&open, MPI_STATUS_IGNORE);
	MPI_Scan(sums, parts, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Comm_free(&row);
	MPI_Comm_free(&column);
	MPI_Comm_free(&twin);
	MPI_Comm_free(&back);
	MPI_Finalize();
	return 0;
}
