//! The results folder of one run: one table writer per selected table, published all at once.
use crate::columns::{Table, TableId, with_record};
use crate::error::SinkError;
use crate::names::{NameError, Names};
use crate::plan::{Plan, TablePlan};
use crate::run_json;
use crate::table_writer::{AnyWriter, Finished, Part, TableWriter};
use backwater_codes::Remark;
use borsh::BorshDeserialize;
use serde::Serialize;
use std::any::Any;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One finished table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableInfo {
    /// Table name.
    pub name: &'static str,
    /// File name in the results folder.
    pub file: String,
    /// Rows in the file.
    pub rows: u64,
    /// Size of the file.
    pub bytes: u64,
}

/// What [`Sink::finish`] left in the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The finished tables, in table order.
    pub tables: Vec<TableInfo>,
    /// What the user should know about rows that the budget left out.
    pub caveats: Vec<Remark>,
    /// How long it took to write them.
    pub took: Duration,
}

/// Writes the tables of one run.
///
/// Rows stream to `<table>.parquet.part`. [`Sink::finish`] completes and renames them, whatever was appended by
/// then: an interrupted run keeps valid tables. A sink dropped without `finish`, or after an error, removes
/// what it wrote, and results of an earlier run in the same folder stay as they were.
pub struct Sink {
    dir: PathBuf,
    made_dir: bool,
    names: Names,
    writers: [Option<Box<dyn AnyWriter>>; TableId::ALL.len()],
    parts: Vec<(TableId, PathBuf)>,
    failed: bool,
    /// Time spent so far.
    took: Duration,
}

/// Opens a file for writing; tests pass disks that fill up.
pub(crate) type Open<'a> = &'a dyn Fn(&Path) -> io::Result<Part>;

impl Sink {
    /// Opens the tables of `plan` in the folder `dir`, which is made if it is not there.
    ///
    /// # Errors
    /// [`SinkError::Io`] if the folder or a file cannot be made.
    pub fn create(dir: &Path, names: Names, plan: &Plan) -> Result<Self, SinkError> {
        Self::create_with(dir, names, plan, &|path| Ok(Box::new(File::create(path)?)))
    }

    pub(crate) fn create_with(dir: &Path, names: Names, plan: &Plan, open: Open) -> Result<Self, SinkError> {
        let made_dir = !dir.exists();
        fs::create_dir_all(dir).map_err(SinkError::io("make the results folder", dir))?;
        let (dir, writers) = (dir.to_owned(), std::array::from_fn(|_| None));
        let mut sink =
            Self { dir, made_dir, names, writers, parts: Vec::new(), failed: false, took: Duration::ZERO };
        for table in plan.tables() {
            sink.open(table, open)?;
        }
        Ok(sink)
    }

    fn open(&mut self, plan: &TablePlan, open: Open) -> Result<(), SinkError> {
        let part = self.dir.join(format!("{}.part", plan.table.file()));
        let file = open(&part).map_err(SinkError::io("create", &part))?;
        self.parts.push((plan.table, part.clone()));
        let writer: Box<dyn AnyWriter> =
            with_record!(plan.table, R => Box::new(TableWriter::<R>::new(&part, file, plan)?));
        self.writers[plan.table as usize] = Some(writer);
        Ok(())
    }

    /// The results folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether rows of this table are kept: it is selected and its share of the budget is not used up. A run
    /// may skip producing records that nobody keeps.
    pub fn wants(&self, table: TableId) -> bool {
        !self.failed && self.writers[table as usize].as_ref().is_some_and(|writer| writer.is_open())
    }

    /// Records may mention one more flow from now on, of this traffic entry; its row comes on top of the budget.
    ///
    /// # Errors
    /// If the entry has no name.
    pub fn add_flow(&mut self, entry: u16) -> Result<(), NameError> {
        self.names.add_flow(entry)?;
        if let Some(writer) = &mut self.writers[TableId::Flows as usize] {
            writer.make_room();
        }
        Ok(())
    }

    /// Appends rows to the table of their type; rows of a table that is not selected are not kept.
    ///
    /// # Errors
    /// [`SinkError::Io`] if the disk refuses, [`SinkError::Name`] if a row mentions something without a name. The
    /// sink then takes nothing more.
    pub fn append<R: Table>(&mut self, rows: &[R]) -> Result<(), SinkError> {
        self.check()?;
        let Some(writer) = &mut self.writers[R::ID as usize] else {
            return Ok(());
        };
        let writer: &mut dyn Any = writer.as_mut();
        let writer =
            writer.downcast_mut::<TableWriter<R>>().expect("a table's slot holds a writer of its record");
        let started = Instant::now();
        let appended = writer.append(rows, &self.names);
        self.took += started.elapsed();
        appended.inspect_err(|_| self.failed = true)
    }

    /// Writes how far the tables have come.
    ///
    /// # Errors
    /// [`SinkError::Io`] if what was written cannot be read.
    pub fn save(&mut self, out: &mut Vec<u8>) -> Result<(), SinkError> {
        self.check()?;
        for table in TableId::ALL {
            let writer = &mut self.writers[table as usize];
            out.push(u8::from(writer.is_some()));
            if let Some(writer) = writer {
                writer.save(out)?;
            }
        }
        Ok(())
    }

    /// Goes on from what [`Self::save`] has written of tables of the same plan. Nothing was appended to these.
    ///
    /// # Errors
    /// If the plan was another one; [`SinkError::Io`] if the disk refuses.
    pub fn load(&mut self, from: &mut &[u8]) -> Result<(), SinkError> {
        for table in TableId::ALL {
            let was = bool::deserialize(from).map_err(SinkError::io("load", &self.dir))?;
            match &mut self.writers[table as usize] {
                Some(writer) if was => writer.load(from)?,
                // Of what is recorded from now on there is nothing yet.
                _ if !was => {}
                _ => {
                    let error = io::Error::new(ErrorKind::InvalidData, "it has other tables");
                    return Err(SinkError::io("load", &self.dir)(error));
                }
            }
        }
        Ok(())
    }

    /// Completes every table and gives it its final name. Tables of an earlier run in the folder that this run
    /// does not write are removed, and so is its run.json: write the new one with [`run_json::write`].
    ///
    /// # Errors
    /// [`SinkError::Io`]; if a table cannot be completed, none appears.
    pub fn finish(mut self) -> Result<Written, SinkError> {
        self.check()?;
        let (mut written, started) = (Written::default(), Instant::now());
        for (table, _) in &self.parts {
            let writer = self.writers[*table as usize].take().expect("every part has a writer");
            let Finished { rows, bytes, caveat } = writer.finish(&self.names)?;
            written.tables.push(TableInfo { name: table.name(), file: table.file(), rows, bytes });
            written.caveats.extend(caveat);
        }
        self.publish()?;
        written.took = self.took + started.elapsed();
        Ok(written)
    }

    fn publish(&mut self) -> Result<(), SinkError> {
        // run.json goes first and comes back last, so that it never describes other tables than those beside it.
        remove(&self.dir.join(run_json::FILE))?;
        for table in TableId::ALL {
            if !self.parts.iter().any(|(part, _)| *part == table) {
                remove(&self.dir.join(table.file()))?;
            }
        }
        while let Some((table, part)) = self.parts.last() {
            fs::rename(part, self.dir.join(table.file())).map_err(SinkError::io("rename", part))?;
            self.parts.pop();
        }
        self.made_dir = false;
        Ok(())
    }

    fn check(&self) -> Result<(), SinkError> {
        if self.failed { Err(SinkError::GivenUp { path: self.dir.clone() }) } else { Ok(()) }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        // Best effort: whoever drops an unfinished sink already has the error that matters.
        for (_, part) in &self.parts {
            let _ = fs::remove_file(part);
        }
        if self.made_dir {
            let _ = fs::remove_dir(&self.dir);
        }
    }
}

fn remove(path: &Path) -> Result<(), SinkError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(SinkError::io("replace", path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
