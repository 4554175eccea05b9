//! One Parquet file being written: a buffer of records, an encoder, and the table's share of the budget.
use crate::columns::Table;
use crate::error::SinkError;
use crate::names::Names;
use crate::plan::{FILE_OVERHEAD, TablePlan, bytes_per_row};
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use backwater_codes::{Code, Remark};
use backwater_units::{Bytes, Time};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::any::Any;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the bytes go: a file, or in tests a disk that fills up.
pub(crate) type Part = Box<dyn Write + Send>;

/// Records per Arrow batch. Large enough that per-batch work vanishes, small enough for the cache.
const BATCH_ROWS: usize = 8 * 1024;
/// Rows per Parquet row group: bounds the memory of a table to a few megabytes.
const ROW_GROUP_ROWS: usize = 64 * 1024;
/// Footer and index bytes of one column in one row group (measured: about 90).
const COLUMN_CHUNK_OVERHEAD: u64 = 256;
/// Schema with units and meanings, magic numbers and version (measured: at most 9 KB).
const SCHEMA_OVERHEAD: u64 = 16 * 1024;

/// A table writer of any record type, as the sink keeps them.
pub(crate) trait AnyWriter: Any + Send {
    /// Whether the table still takes rows.
    fn is_open(&self) -> bool;
    /// Completes the `.part` file.
    fn finish(self: Box<Self>) -> Result<Finished, SinkError>;
}

/// A completed `.part` file.
pub(crate) struct Finished {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// What to say about rows that the budget left out.
    pub(crate) caveat: Option<Remark>,
}

/// Writes one table to `<file>.part`.
pub(crate) struct TableWriter<R: Table> {
    writer: ArrowWriter<Part>,
    schema: Arc<Schema>,
    names: Arc<Names>,
    part: PathBuf,
    batch: Vec<R>,
    rows: u64,
    share: u64,
    lost: Option<Lost>,
}

/// What the budget cost.
#[derive(Clone, Copy)]
struct Lost {
    rows: u64,
    since: Option<Time>,
}

impl<R: Table> TableWriter<R> {
    pub(crate) fn new(
        part: &Path,
        file: Part,
        plan: &TablePlan,
        names: Arc<Names>,
    ) -> Result<Self, SinkError> {
        let fields: Vec<_> = R::COLUMNS.iter().map(crate::column::Column::field).collect();
        let schema = Arc::new(Schema::new(fields));
        let options = ArrowWriterOptions::new().with_properties(properties::<R>());
        let writer = ArrowWriter::try_new_with_options(file, Arc::clone(&schema), options)
            .map_err(SinkError::parquet(R::ID.name(), part))?;
        let (part, batch, share) = (part.to_owned(), Vec::new(), plan.share.get());
        Ok(Self { writer, schema, names, part, batch, rows: 0, share, lost: None })
    }

    pub(crate) fn append(&mut self, mut rows: &[R]) -> Result<(), SinkError> {
        while !rows.is_empty() {
            if let Some(lost) = &mut self.lost {
                lost.rows += rows.len() as u64;
                return Ok(());
            }
            let (now, later) = rows.split_at(rows.len().min(BATCH_ROWS - self.batch.len()));
            self.batch.extend_from_slice(now);
            rows = later;
            if self.batch.len() == BATCH_ROWS {
                self.write_batch()?;
            }
        }
        Ok(())
    }

    /// Encodes the buffered rows, or as many of them as the share still holds.
    fn write_batch(&mut self) -> Result<(), SinkError> {
        let fit = self.room() / bytes_per_row::<R>();
        if fit < self.batch.len() as u64 {
            let since = self.batch[fit as usize].time();
            self.lost = Some(Lost { rows: self.batch.len() as u64 - fit, since });
            self.batch.truncate(fit as usize);
        }
        if self.batch.is_empty() {
            return Ok(());
        }
        let arrays = R::COLUMNS.iter().map(|column| column.array(&self.batch, &self.names));
        let arrays = arrays
            .collect::<Result<Vec<_>, _>>()
            .map_err(|source| SinkError::Name { table: R::ID.name(), source })?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays)
            .map_err(|e| SinkError::Encode { table: R::ID.name(), reason: e.to_string() })?;
        self.writer.write(&batch).map_err(SinkError::parquet(R::ID.name(), &self.part))?;
        self.rows += self.batch.len() as u64;
        self.batch.clear();
        Ok(())
    }

    /// Bytes that further rows may take, with what the file's end will need set aside.
    fn room(&self) -> u64 {
        let encoded = (self.writer.bytes_written() + self.writer.in_progress_size()) as u64;
        let chunks = (self.writer.flushed_row_groups().len() as u64 + 1) * R::COLUMNS.len() as u64;
        let end = SCHEMA_OVERHEAD + chunks * COLUMN_CHUNK_OVERHEAD;
        self.share.saturating_sub(encoded).saturating_sub(end)
    }

    fn caveat(&self) -> Option<Remark> {
        let Lost { rows, since } = self.lost?;
        let table = R::ID.name();
        let from = since.map_or(String::new(), |time| format!(" from {time} on"));
        let share = Bytes::new(self.share);
        let all = Bytes::new((self.rows + rows) * bytes_per_row::<R>() + FILE_OVERHEAD);
        let message = format!(
            "{table}: the results budget was used up after {} rows; the {rows} rows{from} are missing \
             (share of this table: {share}; all its rows take {all} at most). Raise probe.budget, or select fewer tables, ports or samples.",
            self.rows
        );
        Some(Remark::new(Code::Budget, table, message))
    }
}

impl<R: Table> AnyWriter for TableWriter<R> {
    fn is_open(&self) -> bool {
        self.lost.is_none()
    }

    fn finish(mut self: Box<Self>) -> Result<Finished, SinkError> {
        self.write_batch()?;
        self.writer.finish().map_err(SinkError::parquet(R::ID.name(), &self.part))?;
        Ok(Finished { rows: self.rows, bytes: self.writer.bytes_written() as u64, caveat: self.caveat() })
    }
}

/// Times grow from row to row or lie near each other, so their differences are small (flows: a quarter smaller than
/// with dictionaries, marks a fifth); all else repeats, so dictionaries win (samples: half the size). Zstd level 1
/// costs no more than Snappy here and saves another 4 to 18 %.
fn properties<R: Table>() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for column in R::COLUMNS.iter().filter(|column| column.unit == "ps") {
        let path = ColumnPath::from(column.name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}
