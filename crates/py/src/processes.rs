//! The processes that share a run, where a launcher of MPI has started several.
use crate::errors::bad_input;
use backwater::Processes;
use backwater_mpi::Refused;
use pyo3::prelude::*;
use std::sync::{Arc, OnceLock};

/// The others, once they have been joined.
static JOINED: OnceLock<Arc<dyn Processes>> = OnceLock::new();

/// Those that share what this one runs, if it has joined some.
pub(crate) fn joined() -> Option<Arc<dyn Processes>> {
    JOINED.get().cloned()
}

/// Joins the other processes, if a launcher of MPI has started several: the rank of this one, and how many there are.
#[pyfunction]
pub(crate) fn join_processes(py: Python<'_>) -> PyResult<(usize, usize)> {
    if JOINED.get().is_none() {
        match py.detach(backwater_mpi::join) {
            Ok(None) => return Ok((0, 1)),
            Ok(Some(processes)) => drop(JOINED.set(processes)),
            Err(Refused::NotBuilt(count)) => {
                return Err(bad_input(format!(
                    "error: {count} processes were started to share this run, and this build of Backwater has no MPI\n  help: build it \
                     with `make mpi`, or start one process"
                )));
            }
            Err(Refused::Threads) => {
                return Err(bad_input(
                    "error: this MPI cannot be called from one thread after the other (MPI_THREAD_SERIALIZED)\n  help: take an MPI \
                     that was built with threads, or start one process",
                ));
            }
        }
    }
    Ok(JOINED.get().map_or((0, 1), |processes| (processes.rank(), processes.count())))
}

/// Leaves the other processes, when all are done.
#[pyfunction]
pub(crate) fn leave_processes(py: Python<'_>) {
    if JOINED.get().is_some() {
        py.detach(backwater_mpi::leave);
    }
}

/// Ends all processes with this exit code, if there are others.
#[pyfunction]
pub(crate) fn abort_processes(code: i32) {
    if JOINED.get().is_some() {
        backwater_mpi::abort(code);
    }
}
