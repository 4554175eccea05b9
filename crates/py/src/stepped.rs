//! A run that Python steps.
use crate::errors::{bad_input, raise};
use crate::watching::watched;
use backwater::{Error, Injection, Watch, Which};
use backwater_units::{Bytes, Span, Time};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// A flow that has ended: its number, its traffic entry, its source and destination, its bytes, when it started, and when it ended, in
/// picoseconds; None: its queue pair has given it up.
type Ended = (u32, String, String, String, u64, u64, Option<u64>);
/// A flow to come: traffic entry, source, destination, bytes, start in picoseconds, priority.
type ToCome = (Option<Asked>, Asked, Asked, u64, u64, Option<u8>);

/// A host or a traffic entry, as Python gives it.
#[derive(FromPyObject)]
enum Asked {
    Number(u32),
    Name(String),
}

impl From<Asked> for Which {
    fn from(asked: Asked) -> Self {
        match asked {
            Asked::Number(number) => Self::Number(number),
            Asked::Name(name) => Self::Name(name),
        }
    }
}

/// As Python gives it.
#[derive(FromPyObject)]
enum Instant {
    Ps(u64),
    Words(String),
}

/// A run that stands between two steps. Ctrl-C ends a step, and with it the run: `stop` writes what it has.
#[pyclass(frozen)]
pub(crate) struct SteppedRun {
    stands: Mutex<Option<backwater::SteppedRun>>,
    watch: Arc<Watch>,
    calls_python: bool,
}

impl SteppedRun {
    pub(crate) const fn new(run: backwater::SteppedRun, watch: Arc<Watch>, calls_python: bool) -> Self {
        Self { stands: Mutex::new(Some(run)), watch, calls_python }
    }

    /// The run; nobody else steps it meanwhile.
    fn held(&self) -> PyResult<MutexGuard<'_, Option<backwater::SteppedRun>>> {
        let held = self.stands.try_lock();
        match held {
            Ok(held) => Ok(held),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(bad_input("error: another thread steps this run\n  help: wait for it"))
            }
        }
    }

    /// Does something with the run while Python goes on.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut backwater::SteppedRun) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let mut held = self.held()?;
        let run = held.as_mut().ok_or_else(finished)?;
        let (done, raised) = watched(py, &self.watch.interrupt, self.calls_python, || work(run), |_| Ok(()));
        let done = done.map_err(|error| raise(py, error))?;
        raised.map_or(Ok(done), Err)
    }

    /// The same with what it becomes.
    fn last(
        &self,
        py: Python<'_>,
        work: impl FnOnce(backwater::SteppedRun) -> Result<backwater::Results, Error> + Send,
    ) -> PyResult<String> {
        let run = self.held()?.take().ok_or_else(finished)?;
        let (done, raised) = watched(py, &self.watch.interrupt, self.calls_python, || work(run), |_| Ok(()));
        let done = done.map_err(|error| raise(py, error))?;
        raised.map_or_else(|| Ok(done.json().to_string()), Err)
    }
}

fn finished() -> PyErr {
    bad_input("error: this run is finished\n  help: begin another one")
}

#[pymethods]
impl SteppedRun {
    /// Runs to `until`, or to the end if that comes first; or to the first end of a flow.
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn step(&self, py: Python<'_>, until: Instant, to_completion: bool) -> PyResult<()> {
        let until = match &until {
            Instant::Ps(ps) => Time::from_ps(*ps),
            Instant::Words(words) => {
                words.parse::<Span>().map(|span| Time::ZERO + span).map_err(|error| {
                    let help = "help: give a text such as \"1ms\", or whole picoseconds";
                    bad_input(format!("error: step: until = {words:?}: {error}\n  {help}"))
                })?
            }
        };
        self.with(py, |run| if to_completion { run.step_to_completion(until) } else { run.step(until) })
    }

    /// Saves it where it stands, into this file.
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn save(&self, py: Python<'_>, file: PathBuf) -> PyResult<()> {
        self.with(py, |run| run.save(&file))
    }

    /// The instant that it has come to, in picoseconds, and whether it is over.
    fn stands(&self) -> PyResult<(u64, bool)> {
        let held = self.held()?;
        let run = held.as_ref().ok_or_else(finished)?;
        Ok((run.now().as_ps(), run.is_over()))
    }

    /// The flows that have ended since the last call.
    fn completions(&self) -> PyResult<Vec<Ended>> {
        let mut held = self.held()?;
        let run = held.as_mut().ok_or_else(finished)?;
        let told = |run: &mut backwater::SteppedRun| {
            let ended = run.completions()?;
            let told = ended.into_iter().map(|one| {
                let (src, dst) = (run.host_name(one.src)?.to_owned(), run.host_name(one.dst)?.to_owned());
                let traffic = run.entry_name(one.group)?.to_owned();
                let finish = one.finish.map(Time::as_ps);
                Ok::<Ended, Error>((one.flow, traffic, src, dst, one.size.get(), one.start.as_ps(), finish))
            });
            told.collect::<Result<Vec<_>, _>>()
        };
        told(run).map_err(|error| bad_input(error.to_string()))
    }

    /// Adds flows that start now or later; returns the number of the first one, the others follow.
    fn inject(&self, py: Python<'_>, flows: Vec<ToCome>) -> PyResult<u32> {
        self.with(py, |run| {
            let flows = flows.into_iter().map(|(traffic, src, dst, size, start, priority)| Injection {
                traffic: traffic.map(Which::from),
                src: src.into(),
                dst: dst.into(),
                size: Bytes::new(size),
                start: Time::from_ps(start),
                priority,
            });
            run.inject(&flows.collect::<Vec<_>>()).map(|numbers| numbers.start)
        })
    }

    /// Runs to the end; its run.json.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        self.last(py, backwater::SteppedRun::finish)
    }

    /// Ends it where it stands; its run.json.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        self.last(py, backwater::SteppedRun::stop)
    }

    /// The same of one that is not finished, and has not failed; whatever keeps it from being written is not told.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let left = self.held()?.take();
        py.detach(|| drop(left));
        Ok(())
    }
}
