//! Long work in a thread of its own, while the caller's thread listens for Ctrl-C.
use backwater::Error;
use pyo3::prelude::*;
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How often Python is asked for signals and told of progress.
const TICK: Duration = Duration::from_millis(100);

/// Does `work` in a thread; `tick` is called ten times a second and may raise, which sets `stop`. Returns what became of the work, and
/// what was raised. `calls_python`: a function of the user's may be called, so the thread makes itself known to Python once.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    calls_python: bool,
    work: impl FnOnce() -> Result<T, Error> + Send,
    mut tick: impl FnMut(Python<'_>) -> PyResult<()> + Send,
) -> (Result<T, Error>, Option<PyErr>) {
    py.detach(|| {
        thread::scope(|scope| {
            let (done, news) = channel::<()>();
            let worker = scope.spawn(move || {
                // Owned here, so that the channel closes when this thread ends.
                let _done = done;
                if calls_python { Python::attach(|py| py.detach(work)) } else { work() }
            });
            let mut raised = None;
            while news.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if raised.is_none()
                    && let Err(error) = Python::attach(|py| py.check_signals().and_then(|()| tick(py)))
                {
                    raised = Some(error);
                    stop.store(true, Ordering::Relaxed);
                }
            }
            (worker.join().unwrap_or_else(|panic| Err(Error::bug(panicked(panic.as_ref())))), raised)
        })
    })
}

/// Does work that leaves nothing behind in a thread of its own. What Python raises meanwhile goes to the caller at once, who does not wait
/// for the work: after Ctrl-C it has no use.
#[allow(
    clippy::redundant_closure_for_method_calls,
    reason = "the method itself is not general enough over lifetimes"
)]
pub(crate) fn unless_interrupted<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> PyResult<Result<T, Error>> {
    py.detach(|| {
        let (done, news) = channel();
        let worker = thread::spawn(move || drop(done.send(work())));
        loop {
            match news.recv_timeout(TICK) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
                Err(RecvTimeoutError::Disconnected) => {
                    let panic = worker.join().err();
                    let told = panic.map_or_else(|| "no answer".to_owned(), |panic| panicked(panic.as_ref()));
                    return Ok(Err(Error::bug(told)));
                }
            }
        }
    })
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let message = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    format!("the simulator stopped itself: {message} (a bug; please report it with the scenario)")
}
