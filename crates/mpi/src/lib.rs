//! For runs that several processes share, on one machine or on many: how these talk, by MPI. Without the feature `mpi` there is one process,
//! and nothing of MPI is linked.
//!
//! A few calls in C stand between this and MPI. The `mpi` crate would do the same, but is made with bindgen, which needs libclang wherever
//! Backwater is built; `mpicc` is there wherever an MPI is.
use std::sync::Arc;

use backwater_engine::Processes;

#[cfg(feature = "mpi")]
mod calls;

/// What launchers of MPI tell each process: how many there are.
const LAUNCHERS: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "PMIX_SIZE"];

/// Why the processes cannot talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// So many were launched, and this build knows no MPI.
    NotBuilt(usize),
    /// This MPI cannot be called from one thread after the other.
    Threads,
}

/// How many processes a launcher says that there are; 1 without a launcher.
fn launched() -> usize {
    let said = LAUNCHERS.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
    said.unwrap_or(1)
}

/// Joins the other processes, if a launcher has started several. To be called once.
///
/// # Errors
/// Several were launched, and cannot talk.
pub fn join() -> Result<Option<Arc<dyn Processes>>, Refused> {
    match launched() {
        0 | 1 => Ok(None),
        #[cfg(feature = "mpi")]
        _ => calls::join().map(Some),
        #[cfg(not(feature = "mpi"))]
        count => Err(Refused::NotBuilt(count)),
    }
}

/// Leaves the other processes when all are done.
pub fn leave() {
    #[cfg(feature = "mpi")]
    calls::leave();
}

/// Ends this process and all others.
pub fn abort(code: i32) {
    #[cfg(feature = "mpi")]
    calls::abort(code);
    #[cfg(not(feature = "mpi"))]
    std::process::exit(code);
}
