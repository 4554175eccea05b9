! A ring of ranks in Fortran, by `use mpi`, or with -DMODULE_2008 by `use mpi_f08`:
!
! 1. A broadcast of 16 B. Three times: receives from both neighbours and sends to both of 800 B, waited for together; a sum of 8 B in place.
! 2. A sendrecv of 40 B to the next rank, without one at the ends.
! 3. All others send 24 B to rank 0, which receives from any rank, any tag. A barrier.
! 4. Twice: persistent, 160 B to the next rank from the one before, waited for one at a time, whichever is done first.
! 5. Rank r has r + 1 numbers of 8 B for each: to all of its half (ranks 0 and 1, 2 and 3), in a communicator of its own; then gathered at rank 0.
! 6. On a Cartesian communicator: 24 B to the next rank, whose receive is tested until they are there. A sum of 8 B that does not block. A put of
!    80 B to the next rank between two fences. A scan of 8 B.
#ifdef MODULE_2008
#define REQUEST type(MPI_Request)
#define COMMUNICATOR type(MPI_Comm)
#define WINDOW type(MPI_Win)
#define STATUS type(MPI_Status)
#define OF(state, part) state%part
#else
#define REQUEST integer
#define COMMUNICATOR integer
#define WINDOW integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#define OF(state, part) state(part)
#endif
program ring
#ifdef MODULE_2008
  use mpi_f08
#else
  use mpi
#endif
  implicit none
  integer :: rank, ranks, error, left, right, up, down, step, one, n
  integer :: counts(4), at(4), rooms(2)
  REQUEST :: open(4), kept(2)
  COMMUNICATOR :: half, closed
  WINDOW :: exposed
  STATUS :: state
  logical :: there_now
  integer :: given(4) = 7
  double precision :: there(100, 2), here(100, 2), total

  call MPI_Init(error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)
  call MPI_Bcast(given, 4, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
  here = rank
  do step = 1, 3
    call MPI_Irecv(there(1, 1), 100, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, open(1), error)
    call MPI_Irecv(there(1, 2), 100, MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, open(2), error)
    call MPI_Isend(here(1, 1), 100, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, open(3), error)
    call MPI_Isend(here(1, 2), 100, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, open(4), error)
    call MPI_Waitall(4, open, MPI_STATUSES_IGNORE, error)
    total = 1
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    if (nint(total) /= ranks .or. nint(there(7, 1)) /= left) call MPI_Abort(MPI_COMM_WORLD, 2, error)
  end do
  up = merge(rank + 1, MPI_PROC_NULL, rank + 1 < ranks)
  down = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  call MPI_Sendrecv(here, 10, MPI_INTEGER, up, 3, there, 10, MPI_INTEGER, down, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  if (rank == 0) then
    do step = 2, ranks
      call MPI_Recv(there, 100, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, state, error)
      if (OF(state, MPI_TAG) /= 10 + OF(state, MPI_SOURCE)) call MPI_Abort(MPI_COMM_WORLD, 3, error)
    end do
  else
    call MPI_Send(here, 3, MPI_DOUBLE_PRECISION, 0, 10 + rank, MPI_COMM_WORLD, error)
  end if
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Recv_init(there, 20, MPI_DOUBLE_PRECISION, left, 4, MPI_COMM_WORLD, kept(1), error)
  call MPI_Send_init(here, 20, MPI_DOUBLE_PRECISION, right, 4, MPI_COMM_WORLD, kept(2), error)
  do step = 1, 2
    call MPI_Startall(2, kept, error)
    call MPI_Waitany(2, kept, one, state, error)
    call MPI_Waitany(2, kept, one, MPI_STATUS_IGNORE, error)
  end do
  call MPI_Request_free(kept(1), error)
  call MPI_Request_free(kept(2), error)
  call MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, half, error)
  n = rank + 1
  counts(1:2) = n
  at = [0, 10, 20, 30]
  rooms = [2 * (rank / 2) + 1, 2 * (rank / 2) + 2]
  call MPI_Alltoallv(here, counts, at, MPI_DOUBLE_PRECISION, there, rooms, at, MPI_DOUBLE_PRECISION, half, error)
  counts = [1, 2, 3, 4]
  call MPI_Gatherv(here, n, MPI_DOUBLE_PRECISION, there, counts, at, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  call MPI_Comm_free(half, error)

  call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., closed, error)
  call MPI_Irecv(there, 3, MPI_DOUBLE_PRECISION, left, 5, closed, open(1), error)
  call MPI_Send(here, 3, MPI_DOUBLE_PRECISION, right, 5, closed, error)
  there_now = .false.
  do while (.not. there_now)
    call MPI_Test(open(1), there_now, MPI_STATUS_IGNORE, error)
  end do
  call MPI_Iallreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, closed, open(1), error)
  call MPI_Wait(open(1), MPI_STATUS_IGNORE, error)
  call MPI_Win_create(there, 800_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, closed, exposed, error)
  call MPI_Win_fence(0, exposed, error)
  call MPI_Put(here, 10, MPI_DOUBLE_PRECISION, right, 0_MPI_ADDRESS_KIND, 10, MPI_DOUBLE_PRECISION, exposed, error)
  call MPI_Win_fence(0, exposed, error)
  if (nint(there(7, 1)) /= left) call MPI_Abort(MPI_COMM_WORLD, 4, error)
  call MPI_Win_free(exposed, error)
  call MPI_Scan(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, closed, error)
  call MPI_Comm_free(closed, error)
  call MPI_Finalize(error)
end program ring
