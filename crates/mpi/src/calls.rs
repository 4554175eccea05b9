//! The calls in C, and what keeps their promises.
#![expect(unsafe_code, reason = "functions of C")]
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use backwater_engine::Processes;

use crate::Refused;

unsafe extern "C" {
    fn backwater_mpi_join(rank: *mut i32, count: *mut i32) -> i32;
    fn backwater_mpi_listen(from: i32) -> i32;
    fn backwater_mpi_send(to: i32, bytes: *const u8, length: i32);
    fn backwater_mpi_next(from: i32) -> i32;
    fn backwater_mpi_take(from: i32, bytes: *mut u8, length: i32);
    fn backwater_mpi_sent(to: i32);
    fn backwater_mpi_share(own: *const u8, length: i32, all: *mut u8);
    fn backwater_mpi_shared();
    fn backwater_mpi_leave();
    fn backwater_mpi_abort(code: i32);
}

/// The processes of MPI's world.
#[derive(Debug)]
struct World {
    rank: usize,
    count: usize,
    /// MPI is called from one thread at a time.
    turn: Mutex<()>,
}

pub(crate) fn join() -> Result<Arc<dyn Processes>, Refused> {
    let (mut rank, mut count) = (0, 0);
    // SAFETY: both numbers are there to be written.
    if unsafe { backwater_mpi_join(&raw mut rank, &raw mut count) } == 0 {
        return Err(Refused::Threads);
    }
    Ok(Arc::new(World { rank: rank as usize, count: count as usize, turn: Mutex::new(()) }))
}

pub(crate) fn leave() {
    // SAFETY: called once, after `join`, when nothing is under way.
    unsafe { backwater_mpi_leave() }
}

pub(crate) fn abort(code: i32) {
    // SAFETY: it does not return.
    unsafe { backwater_mpi_abort(code) }
}

impl Processes for World {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.count
    }

    fn exchange(
        &self,
        peers: &[usize],
        to: &mut [Vec<u8>],
        meanwhile: &mut dyn FnMut(),
        from: &mut [Vec<u8>],
    ) {
        let turn = self.turn();
        for peer in peers {
            // SAFETY: nothing of ours is lent.
            assert!(unsafe { backwater_mpi_listen(int(*peer)) } != 0, "there is memory for messages");
        }
        for peer in peers {
            let bytes = &to[*peer];
            // SAFETY: the bytes are neither changed nor freed before `backwater_mpi_sent` below.
            unsafe { backwater_mpi_send(int(*peer), bytes.as_ptr(), int(bytes.len())) };
        }
        drop(turn);
        meanwhile();
        let _turn = self.turn();
        for peer in peers {
            // SAFETY: the buffer has room for the message, whose length MPI tells.
            unsafe {
                let length = backwater_mpi_next(int(*peer));
                from[*peer].resize(length as usize, 0);
                backwater_mpi_take(int(*peer), from[*peer].as_mut_ptr(), length);
            }
        }
        for peer in peers {
            // SAFETY: `backwater_mpi_send` was called above.
            unsafe { backwater_mpi_sent(int(*peer)) };
        }
    }

    fn share(&self, own: &[u8], meanwhile: &mut dyn FnMut(), all: &mut Vec<u8>) {
        all.resize(own.len() * self.count, 0);
        let turn = self.turn();
        // SAFETY: all tell as many bytes, and both buffers stay as they are until `backwater_mpi_shared` below.
        unsafe { backwater_mpi_share(own.as_ptr(), int(own.len()), all.as_mut_ptr()) };
        drop(turn);
        meanwhile();
        let _turn = self.turn();
        // SAFETY: it was begun above.
        unsafe { backwater_mpi_shared() };
    }
}

impl World {
    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A rank, or the length of a message, as MPI counts.
fn int(number: usize) -> i32 {
    i32::try_from(number).expect("a message of less than 2 GiB")
}
