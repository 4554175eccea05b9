/* Messages of 32 B, whose requests MPI may have complete, and all alike, before they are waited for. Ranks 0 and 1, 2 and 3 are pairs.
 *
 * 1. Two receives and two sends, tags 1 and 2, waited for at once.
 * 2. Three sends, tags 3 to 5, waited for one by one from the last to the first, and received.
 * 3. Four sends, tags 6 to 9, among them one to nobody, a null request and a persistent one that has not begun: whichever is done first, by
 *    Waitany, Waitsome, Testany, Testsome in turn; what then is left, by Testall.
 * 4. Two sends, tags 10 and 11, whose requests are copied and waited for at once. A send, tag 12, whose request is freed.
 * 5. A receive, tag 13, that is cancelled. A persistent send and receive, tag 14, begun twice.
 */
#include <mpi.h>

#define BYTES 32

static char bytes[BYTES], room[16][BYTES];
static int peer;

static void send(int tag, MPI_Request *request)
{
	MPI_Isend(bytes, BYTES, MPI_CHAR, peer, tag, MPI_COMM_WORLD, request);
}

static void receive(int tag)
{
	MPI_Recv(room[0], BYTES, MPI_CHAR, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int left_of(int count, const MPI_Request *open)
{
	int left = 0;
	for (int index = 0; index < count; index++)
		left += open[index] != MPI_REQUEST_NULL;
	return left;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	int rank, index, count, flag, which[8];
	MPI_Request open[8], copied[2], kept[2];
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	peer = rank ^ 1;

	for (int way = 0; way < 2; way++)
		MPI_Irecv(room[way], BYTES, MPI_CHAR, peer, way + 1, MPI_COMM_WORLD, &open[way]);
	for (int way = 0; way < 2; way++)
		send(way + 1, &open[way + 2]);
	MPI_Waitall(4, open, MPI_STATUSES_IGNORE);

	for (int tag = 3; tag <= 5; tag++)
		send(tag, &open[tag - 3]);
	for (int tag = 5; tag >= 3; tag--) {
		MPI_Wait(&open[tag - 3], MPI_STATUS_IGNORE);
		receive(tag);
	}

	MPI_Send_init(bytes, BYTES, MPI_CHAR, peer, 14, MPI_COMM_WORLD, &kept[0]);
	MPI_Recv_init(room[1], BYTES, MPI_CHAR, peer, 14, MPI_COMM_WORLD, &kept[1]);
	MPI_Isend(bytes, BYTES, MPI_CHAR, MPI_PROC_NULL, 6, MPI_COMM_WORLD, &open[0]);
	open[1] = MPI_REQUEST_NULL;
	open[2] = kept[0];
	for (int tag = 6; tag <= 9; tag++)
		send(tag, &open[tag - 3]);
	for (int way = 0; left_of(7, open) > 1; way++) {
		if (way % 4 == 0)
			MPI_Waitany(7, open, &index, MPI_STATUS_IGNORE);
		else if (way % 4 == 1)
			MPI_Testany(7, open, &index, &flag, MPI_STATUS_IGNORE);
		else if (way % 4 == 2)
			MPI_Waitsome(2, open + way % 3 + 3, &count, which, MPI_STATUSES_IGNORE);
		else
			MPI_Testsome(7, open, &count, which, MPI_STATUSES_IGNORE);
	}
	do
		MPI_Testall(7, open, &flag, MPI_STATUSES_IGNORE);
	while (!flag);
	for (int tag = 6; tag <= 9; tag++)
		receive(tag);

	for (int copy = 0; copy < 2; copy++) {
		send(10 + copy, &open[0]);
		copied[copy] = open[0];
	}
	MPI_Waitall(2, copied, MPI_STATUSES_IGNORE);
	send(12, &open[0]);
	MPI_Request_free(&open[0]);
	for (int tag = 10; tag <= 12; tag++)
		receive(tag);

	MPI_Irecv(room[2], BYTES, MPI_CHAR, peer, 13, MPI_COMM_WORLD, &open[0]);
	MPI_Cancel(&open[0]);
	MPI_Wait(&open[0], MPI_STATUS_IGNORE);
	MPI_Startall(2, kept);
	MPI_Waitall(2, kept, MPI_STATUSES_IGNORE);
	MPI_Start(&kept[0]);
	MPI_Start(&kept[1]);
	MPI_Waitall(2, kept, MPI_STATUSES_IGNORE);
	MPI_Waitall(2, kept, MPI_STATUSES_IGNORE);
	MPI_Request_free(&kept[0]);
	MPI_Request_free(&kept[1]);
	MPI_Finalize();
	return 0;
}
