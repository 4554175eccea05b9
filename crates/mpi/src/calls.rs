//! The calls in C, and what keeps their promises.
#![expect(unsafe_code, reason = "functions of C")]
use std::sync::{Arc, Mutex, PoisonError};

use backwater_engine::Processes;

use crate::Refused;

unsafe extern "C" {
    fn backwater_mpi_join(rank: *mut i32, count: *mut i32) -> i32;
    fn backwater_mpi_send(to: i32, bytes: *const u8, length: i32);
    fn backwater_mpi_next(from: i32) -> i32;
    fn backwater_mpi_take(from: i32, bytes: *mut u8, length: i32);
    fn backwater_mpi_sent(count: i32);
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

    fn exchange(&self, to: &mut [Vec<u8>], meanwhile: &mut dyn FnMut(), from: &mut [Vec<u8>]) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let others = || (0..self.count).filter(|other| *other != self.rank);
        for other in others() {
            let bytes = &to[other];
            let length = i32::try_from(bytes.len()).expect("a message of less than 2 GiB");
            // SAFETY: the bytes are neither changed nor freed before `backwater_mpi_sent` below.
            unsafe { backwater_mpi_send(other as i32, bytes.as_ptr(), length) };
        }
        meanwhile();
        for other in others() {
            // SAFETY: the buffer has room for the message, whose length MPI tells.
            unsafe {
                let length = backwater_mpi_next(other as i32);
                from[other].resize(length as usize, 0);
                backwater_mpi_take(other as i32, from[other].as_mut_ptr(), length);
            }
        }
        // SAFETY: every other process has a request, and this one none.
        unsafe { backwater_mpi_sent(self.count as i32) };
    }
}
