//! One Parquet file being written: a buffer of records, an encoder, and the table's share of the budget.
use crate::column::Column;
use crate::columns::Table;
use crate::error::SinkError;
use crate::names::Names;
use crate::plan::{FILE_OVERHEAD, TablePlan, bytes_per_row};
use crate::repeated::Packer;
use backwater_codes::{Code, Remark};
use backwater_units::{Bytes, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{
    FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use std::any::Any;
use std::fs::File;
use std::io::{Read, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the bytes go: a file, or in tests a disk that fills up.
pub(crate) type Part = Box<dyn Write + Send>;

/// Rows per Parquet row group, at most: with [`ROW_GROUP_BYTES`] of records it bounds the memory of a table.
const ROW_GROUP_ROWS: usize = 64 * 1024;
/// Records that wait to be encoded, at most.
const ROW_GROUP_BYTES: usize = 4 * 1024 * 1024;
/// Where fewer rows than these fit, the share is used up: more and more of it would go to the ends of row groups.
const LEAST_ROWS: u64 = 8 * 1024;
/// Footer and index bytes of one column in one row group (measured: about 90).
const COLUMN_CHUNK_OVERHEAD: u64 = 256;
/// Schema with units and meanings, magic numbers and version (measured: at most 9 KB).
const SCHEMA_OVERHEAD: u64 = 16 * 1024;

/// A table writer of any record type, as the sink keeps them.
pub(crate) trait AnyWriter: Any + Send {
    /// Whether the table still takes rows.
    fn is_open(&self) -> bool;
    /// The table takes one more row than was planned.
    fn make_room(&mut self);
    /// Writes how far the table has come: [`Saved`].
    fn save(&mut self, out: &mut Vec<u8>) -> Result<(), SinkError>;
    /// Goes on from what [`Self::save`] has written of the same table. Nothing was appended to this one.
    fn load(&mut self, from: &mut &[u8]) -> Result<(), SinkError>;
    /// Completes the `.part` file.
    fn finish(self: Box<Self>, names: &Names) -> Result<Finished, SinkError>;
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
    writer: SerializedFileWriter<Part>,
    part: PathBuf,
    batch: Vec<R>,
    rows: u64,
    share: u64,
    lost: Option<Lost>,
}

/// How far a table has come.
#[derive(BorshSerialize, BorshDeserialize)]
struct Saved<R> {
    /// Its row groups, as a whole file.
    file: Vec<u8>,
    batch: Vec<R>,
    rows: u64,
    share: u64,
    lost: Option<Lost>,
}

/// What the budget cost.
#[derive(Clone, Copy, BorshSerialize, BorshDeserialize)]
struct Lost {
    rows: u64,
    since: Option<Time>,
}

impl<R: Table> TableWriter<R> {
    /// Rows that wait to become a row group.
    const GROUP: usize = {
        let rows = ROW_GROUP_BYTES / size_of::<R>();
        if rows < ROW_GROUP_ROWS { rows } else { ROW_GROUP_ROWS }
    };

    pub(crate) fn new(part: &Path, file: Part, plan: &TablePlan) -> Result<Self, SinkError> {
        let writer = schema::<R>()
            .and_then(|schema| SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties::<R>())))
            .map_err(SinkError::parquet(R::ID.name(), part))?;
        let (part, batch, share) = (part.to_owned(), Vec::new(), plan.share.get());
        Ok(Self { writer, part, batch, rows: 0, share, lost: None })
    }

    pub(crate) fn append(&mut self, mut rows: &[R], names: &Names) -> Result<(), SinkError> {
        while !rows.is_empty() {
            if let Some(lost) = &mut self.lost {
                lost.rows += rows.len() as u64;
                return Ok(());
            }
            let (now, later) = rows.split_at(rows.len().min(Self::GROUP - self.batch.len()));
            self.batch.extend_from_slice(now);
            rows = later;
            if self.batch.len() == Self::GROUP {
                self.write_rows(names)?;
            }
        }
        Ok(())
    }

    /// Encodes the rows that wait, or as many of them as the share still holds.
    fn write_rows(&mut self, names: &Names) -> Result<(), SinkError> {
        let mut rows = mem::take(&mut self.batch);
        let mut rest = rows.as_slice();
        while !rest.is_empty() {
            let fit = self.room() / bytes_per_row::<R>();
            if fit < LEAST_ROWS.min(rest.len() as u64) {
                let since = rest[fit as usize].time();
                self.lost = Some(Lost { rows: rest.len() as u64 - fit, since });
                self.write_group(&rest[..fit as usize], names)?;
                break;
            }
            let (now, later) = rest.split_at(rest.len().min(fit as usize));
            self.write_group(now, names)?;
            rest = later;
        }
        rows.clear();
        self.batch = rows;
        Ok(())
    }

    fn write_group(&mut self, rows: &[R], names: &Names) -> Result<(), SinkError> {
        if rows.is_empty() {
            return Ok(());
        }
        let refused = || SinkError::parquet(R::ID.name(), &self.part);
        let descriptions = self.writer.schema_descr().columns().to_vec();
        let mut packer = Packer::new().map_err(ParquetError::from).map_err(refused())?;
        let mut group = self.writer.next_row_group().map_err(refused())?;
        for (column, description) in R::COLUMNS.iter().zip(&descriptions) {
            let values = column
                .values(rows, names)
                .map_err(|source| SinkError::Name { table: R::ID.name(), source })?;
            values.write(&mut group, description, &mut packer).map_err(refused())?;
        }
        group.close().map_err(refused())?;
        self.rows += rows.len() as u64;
        Ok(())
    }

    /// Bytes that further rows may take, with what the file's end will need set aside.
    fn room(&self) -> u64 {
        let encoded = self.writer.bytes_written() as u64;
        let chunks = (self.writer.flushed_row_groups().len() as u64 + 1) * R::COLUMNS.len() as u64;
        let end = SCHEMA_OVERHEAD + chunks * COLUMN_CHUNK_OVERHEAD;
        self.share.saturating_sub(encoded).saturating_sub(end)
    }

    /// The row groups so far, as a whole file.
    fn so_far(&mut self) -> ParquetResult<Vec<u8>> {
        self.writer.flush()?;
        let mut file = Vec::with_capacity(self.writer.bytes_written());
        File::open(&self.part)?.take(self.writer.bytes_written() as u64).read_to_end(&mut file)?;
        let schema = Arc::new(self.writer.schema_descr().clone());
        let facts = FileMetaData::new(
            WriterVersion::PARQUET_1_0.as_num(),
            self.rows.cast_signed(),
            None,
            None,
            schema,
            None,
        );
        let metadata = ParquetMetaData::new(facts, self.writer.flushed_row_groups().to_vec());
        ParquetMetaDataWriter::new(&mut file, &metadata).finish()?;
        Ok(file)
    }

    /// Copies the row groups of a file.
    fn copy(&mut self, file: Vec<u8>) -> ParquetResult<()> {
        let file = bytes::Bytes::from(file);
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file)?;
        for group in metadata.row_groups() {
            let mut copy = self.writer.next_row_group()?;
            for column in group.columns() {
                let close = ColumnCloseResult {
                    bytes_written: column.compressed_size() as u64,
                    rows_written: group.num_rows() as u64,
                    metadata: column.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                copy.append_column(&file, close)?;
            }
            copy.close()?;
        }
        Ok(())
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

    fn make_room(&mut self) {
        self.share += bytes_per_row::<R>();
    }

    fn save(&mut self, out: &mut Vec<u8>) -> Result<(), SinkError> {
        let file = self.so_far().map_err(SinkError::parquet(R::ID.name(), &self.part))?;
        let (batch, rows, share, lost) = (self.batch.clone(), self.rows, self.share, self.lost);
        let saved = Saved { file, batch, rows, share, lost };
        saved.serialize(out).map_err(SinkError::io("save", &self.part))
    }

    fn load(&mut self, from: &mut &[u8]) -> Result<(), SinkError> {
        let saved = Saved::<R>::deserialize(from).map_err(SinkError::io("load", &self.part))?;
        self.copy(saved.file).map_err(SinkError::parquet(R::ID.name(), &self.part))?;
        (self.batch, self.rows, self.share, self.lost) = (saved.batch, saved.rows, saved.share, saved.lost);
        Ok(())
    }

    fn finish(mut self: Box<Self>, names: &Names) -> Result<Finished, SinkError> {
        self.write_rows(names)?;
        self.writer.finish().map_err(SinkError::parquet(R::ID.name(), &self.part))?;
        Ok(Finished { rows: self.rows, bytes: self.writer.bytes_written() as u64, caveat: self.caveat() })
    }
}

fn schema<R: Table>() -> ParquetResult<Type> {
    let columns = R::COLUMNS.iter().map(Column::schema).collect::<ParquetResult<_>>()?;
    Type::group_type_builder(R::ID.name()).with_fields(columns).build()
}

/// Unit and meaning of each column, as a JSON object: they travel with the file.
fn meanings<R: Table>() -> String {
    let one = |c: &Column<R>| (c.name.to_owned(), serde_json::json!({ "unit": c.unit, "doc": c.doc }));
    serde_json::Value::Object(R::COLUMNS.iter().map(one).collect()).to_string()
}

/// Times grow from row to row or lie near each other, so their differences are small (flows: a quarter smaller than
/// with dictionaries, marks a fifth); all else repeats, so dictionaries win (samples: half the size). Zstd level 1
/// costs no more than Snappy here and saves another 4 to 18 %.
fn properties<R: Table>() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_key_value_metadata(Some(vec![KeyValue::new("columns".to_owned(), meanings::<R>())]));
    for column in R::COLUMNS.iter().filter(|column| column.unit == "ps") {
        let path = ColumnPath::from(column.name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}
