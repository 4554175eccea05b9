//! Who writes a sink: whoever has records, or a thread of its own.
use crate::columns::Table;
use crate::error::SinkError;
use crate::names::NameError;
use crate::sink::{Sink, Written};
use std::mem;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{JoinHandle, spawn};

/// Pieces of work that wait for the thread at most: with the batches in which records come, a few of these. Who has more waits for it.
const WAITING: usize = 32;

type Work = Box<dyn FnOnce(&mut Sink) -> Result<(), SinkError> + Send>;

/// Takes rows for a sink, and sees to it that they are written in the order in which they came.
pub struct Scribe {
    dir: PathBuf,
    state: State,
}

enum State {
    /// Who hands over rows waits until they are written.
    Here(Box<Sink>),
    /// A thread writes them.
    Away { work: SyncSender<Work>, thread: JoinHandle<Result<Box<Sink>, SinkError>> },
    /// It has failed and said why, or is finished.
    GivenUp,
}

impl Scribe {
    /// Writes as rows are handed over.
    pub fn here(sink: Sink) -> Self {
        Self { dir: sink.dir().to_owned(), state: State::Here(Box::new(sink)) }
    }

    /// Writes on a thread of its own. What the disk refuses is told to whoever hands over the next rows, or finishes.
    pub fn away(sink: Sink) -> Self {
        let (work, orders) = sync_channel::<Work>(WAITING);
        let (dir, mut sink) = (sink.dir().to_owned(), Box::new(sink));
        let thread = spawn(move || {
            for order in orders {
                order(&mut sink)?;
            }
            Ok(sink)
        });
        Self { dir, state: State::Away { work, thread } }
    }

    /// As [`Sink::append`].
    ///
    /// # Errors
    /// As [`Sink::append`]; of a thread what it met before.
    pub fn append<R: Table>(&mut self, rows: &[R]) -> Result<(), SinkError> {
        match &mut self.state {
            State::Here(sink) => sink.append(rows),
            State::Away { .. } if rows.is_empty() => Ok(()),
            State::Away { .. } => {
                let rows = rows.to_vec();
                self.order(Box::new(move |sink| sink.append(&rows)))
            }
            State::GivenUp => Err(self.given_up()),
        }
    }

    /// As [`Sink::add_flow`].
    ///
    /// # Errors
    /// As [`Sink::add_flow`]; of a thread what it met before.
    pub fn add_flow(&mut self, entry: u16) -> Result<(), SinkError> {
        let named = |source: NameError| SinkError::Name { table: "flows", source };
        match &mut self.state {
            State::Here(sink) => sink.add_flow(entry).map_err(named),
            State::Away { .. } => self.order(Box::new(move |sink| sink.add_flow(entry).map_err(named))),
            State::GivenUp => Err(self.given_up()),
        }
    }

    /// As [`Sink::save`], with all rows that were handed over.
    ///
    /// # Errors
    /// As [`Sink::save`]; of a thread what it met before.
    pub fn save(&mut self, out: &mut Vec<u8>) -> Result<(), SinkError> {
        if let State::Here(sink) = &mut self.state {
            return sink.save(out);
        }
        let mut saved = self.asked(|sink| {
            let mut saved = Vec::new();
            sink.save(&mut saved).map(|()| saved)
        })?;
        out.append(&mut saved);
        Ok(())
    }

    /// As [`Sink::load`].
    ///
    /// # Errors
    /// As [`Sink::load`].
    pub fn load(&mut self, from: &mut &[u8]) -> Result<(), SinkError> {
        if let State::Here(sink) = &mut self.state {
            return sink.load(from);
        }
        let bytes = from.to_vec();
        let left = self.asked(move |sink| {
            let mut rest = &bytes[..];
            sink.load(&mut rest).map(|()| rest.len())
        })?;
        *from = &from[from.len() - left..];
        Ok(())
    }

    /// What the thread answers, when it has done all that it was given before.
    fn asked<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Sink) -> Result<T, SinkError> + Send + 'static,
    ) -> Result<T, SinkError> {
        let (tell, told) = sync_channel(1);
        self.order(Box::new(move |sink| {
            // Who asks waits for it.
            let _ = tell.send(work(sink)?);
            Ok(())
        }))?;
        if let Ok(answer) = told.recv() {
            return Ok(answer);
        }
        if let State::Away { work, thread } = self.taken() {
            drop(work);
            joined(thread)?;
        }
        Err(self.given_up())
    }

    /// As [`Sink::finish`].
    ///
    /// # Errors
    /// As [`Sink::finish`]; of a thread what it met before.
    pub fn finish(mut self) -> Result<Written, SinkError> {
        match self.taken() {
            State::Here(sink) => sink.finish(),
            State::Away { work, thread } => {
                drop(work);
                joined(thread)?.finish()
            }
            State::GivenUp => Err(self.given_up()),
        }
    }

    /// Gives the thread something to do. It takes nothing more when it has failed.
    fn order(&mut self, order: Work) -> Result<(), SinkError> {
        if let State::Away { work, .. } = &self.state
            && work.send(order).is_err()
            && let State::Away { thread, .. } = self.taken()
        {
            joined(thread)?;
        }
        Ok(())
    }

    const fn taken(&mut self) -> State {
        mem::replace(&mut self.state, State::GivenUp)
    }

    fn given_up(&self) -> SinkError {
        SinkError::GivenUp { path: self.dir.clone() }
    }
}

fn joined(thread: JoinHandle<Result<Box<Sink>, SinkError>>) -> Result<Box<Sink>, SinkError> {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

impl Drop for Scribe {
    fn drop(&mut self) {
        // What an unfinished sink has written is gone when this is over.
        if let State::Away { work, thread } = self.taken() {
            drop(work);
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::TableId;
    use crate::{Demand, Names, Plan};
    use backwater_fabric::record::RateRecord;
    use backwater_units::{Bytes, Rate, Time};
    use std::fs::{self, File};
    use std::io::{self, ErrorKind, Write};
    use std::path::Path;

    fn rates() -> Vec<RateRecord> {
        let rate = |i: u64| Rate::from_bps(i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        (0..200_000).map(|i| RateRecord { time: Time::from_ps(i), flow: 0, rate: rate(i) }).collect()
    }

    /// A sink of rates on a disk with room for so many bytes.
    fn sink(dir: &Path, room: usize) -> Sink {
        struct Disk(File, usize);
        impl Write for Disk {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.1 = self.1.checked_sub(bytes.len()).ok_or(ErrorKind::StorageFull)?;
                self.0.write_all(bytes).map(|()| bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                self.0.flush()
            }
        }
        let nodes = ["S", "T"].map(str::to_owned).to_vec();
        let names = Names::new(nodes, &[vec![1], vec![0]], vec!["web".to_owned()], vec![0]).unwrap();
        let demand = Demand { table: TableId::Rates, rows: None };
        let plan = Plan::new(&[demand], Bytes::from_mb(50)).unwrap();
        Sink::create_with(dir, names, &plan, &|path| Ok(Box::new(Disk(File::create(path)?, room)))).unwrap()
    }

    #[test]
    fn a_thread_writes_the_same_file() {
        let file = |scribe: fn(Sink) -> Scribe| {
            let dir = tempfile::tempdir().unwrap();
            let mut scribe = scribe(sink(dir.path(), usize::MAX));
            for rows in rates().chunks(70_001) {
                scribe.append(rows).unwrap();
            }
            assert_eq!(scribe.finish().unwrap().tables[0].rows, 200_000);
            fs::read(dir.path().join(TableId::Rates.file())).unwrap()
        };
        assert!(file(Scribe::here) == file(Scribe::away));
    }

    #[test]
    fn what_the_disk_refuses_a_thread_is_told_once_and_no_file_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let mut scribe = Scribe::away(sink(dir.path(), 300_000));
        // The thread fails in one of the first appends, and no more than those that wait come between.
        let error = (0..200).find_map(|_| scribe.append(&rates()).err()).expect("the disk is full");
        assert!(matches!(error, SinkError::Io { action: "write", .. }), "{error}");
        assert!(matches!(scribe.append(&rates()), Err(SinkError::GivenUp { .. })));
        assert!(matches!(scribe.finish(), Err(SinkError::GivenUp { .. })));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        // Or when it is finished.
        let mut scribe = Scribe::away(sink(dir.path(), 300_000));
        scribe.append(&rates()).unwrap();
        assert!(matches!(scribe.finish(), Err(SinkError::Io { .. })));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_thread_that_is_let_go_of_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut scribe = Scribe::away(sink(dir.path(), usize::MAX));
        scribe.append(&rates()).unwrap();
        drop(scribe);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
