//! Columns whose values repeat, as Parquet stores them: a page of the values, and pages of their numbers.
//!
//! Parquet's own writer finds the number of a value by its hash. Names and small integers are numbers already, so a table of numbers does
//! it here, at a tenth of the time.
//!
//! ```text
//! keys     7 7 9 7 12 7 …        node, port, word, or the integer itself
//! uniques  7 9 12                the dictionary page, in order of appearance
//! indices  0 0 1 0 2 0 …         the data page: runs, and packed bits
//! ```
use crate::names::Labels;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;
use zstd::bulk::Compressor;

/// Equal values that make a run, and values that are packed together.
const RUN: usize = 8;
/// A table of numbers has at most so many entries per row.
const ENTRIES_PER_ROW: usize = 16;

/// The values of one column over some rows.
pub(crate) struct Repeated<'a> {
    /// Of each row that has a value.
    pub(crate) keys: Vec<u32>,
    /// Whether each row has one, if it may have none: 1 or 0.
    pub(crate) present: Option<Vec<u32>>,
    /// What the keys stand for.
    pub(crate) meaning: Meaning<'a>,
}

/// What keys stand for.
pub(crate) enum Meaning<'a> {
    /// Themselves.
    Integers,
    /// Names, by their number.
    Labels(&'a Labels),
    /// Words, by their place in the list.
    Words(&'static [&'static str]),
}

impl Meaning<'_> {
    /// The text that a key stands for; `None` for integers.
    fn text(&self, key: u32) -> Option<&str> {
        match self {
            Self::Integers => None,
            Self::Labels(labels) => Some(labels.text(key)),
            Self::Words(words) => Some(words[key as usize]),
        }
    }
}

/// What compresses pages.
pub(crate) struct Packer(Compressor<'static>);

impl Packer {
    pub(crate) fn new() -> std::io::Result<Self> {
        Compressor::new(ZstdLevel::default().compression_level()).map(Self)
    }

    fn pack(&mut self, page: &[u8]) -> ParquetResult<Bytes> {
        self.0.compress(page).map(Bytes::from).map_err(|error| ParquetError::External(Box::new(error)))
    }
}

impl Repeated<'_> {
    /// Writes them as the whole of the next column of `group`, which `column` describes.
    pub(crate) fn write<W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        column: &ColumnDescPtr,
        packer: &mut Packer,
    ) -> ParquetResult<()> {
        let (uniques, indices) = numbered(&self.keys);
        let rows = self.present.as_ref().map_or(self.keys.len(), Vec::len);
        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let values = self.plain(&uniques);
        let dictionary = Page::DictionaryPage {
            buf: packer.pack(&values)?,
            num_values: uniques.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let first = pages.write_page(CompressedPage::new(dictionary, values.len()))?;
        let numbers = self.page(&indices, uniques.len());
        let data = Page::DataPage {
            buf: packer.pack(&numbers)?,
            num_values: rows as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let second = pages.write_page(CompressedPage::new(data, numbers.len()))?;
        pages.close()?;
        let signed = |count: usize| (count as u64).cast_signed();
        let used = |page_type, encoding| PageEncodingStats { page_type, encoding, count: 1 };
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_page_encoding_stats(vec![
                used(PageType::DICTIONARY_PAGE, Encoding::PLAIN),
                used(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY),
            ])
            .set_num_values(signed(rows))
            .set_total_compressed_size(signed(first.compressed_size + second.compressed_size))
            .set_total_uncompressed_size(signed(first.uncompressed_size + second.uncompressed_size))
            .set_dictionary_page_offset(Some(first.offset.cast_signed()))
            .set_data_page_offset(second.offset.cast_signed())
            .set_statistics(self.statistics(&uniques, rows))
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: first.bytes_written + second.bytes_written,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&Bytes::from(sink.into_inner()?), close)
    }

    /// The values of `uniques`, as the dictionary page has them.
    fn plain(&self, uniques: &[u32]) -> Vec<u8> {
        let mut values = Vec::with_capacity(4 * uniques.len());
        for &key in uniques {
            let text = self.meaning.text(key);
            values.extend_from_slice(&text.map_or(key, |text| text.len() as u32).to_le_bytes());
            values.extend_from_slice(text.unwrap_or_default().as_bytes());
        }
        values
    }

    /// The data page: which rows have a value, the width of a number, the numbers.
    fn page(&self, indices: &[u32], uniques: usize) -> Vec<u8> {
        let mut page = Vec::new();
        if let Some(present) = &self.present {
            let mut levels = Vec::new();
            hybrid(present, 1, &mut levels);
            page.extend_from_slice(&(levels.len() as u32).to_le_bytes());
            page.append(&mut levels);
        }
        let width = u32::BITS - (uniques.saturating_sub(1) as u32).leading_zeros();
        page.push(width as u8);
        hybrid(indices, width, &mut page);
        page
    }

    /// The least and the greatest value, by which readers skip what they need not read.
    fn statistics(&self, uniques: &[u32], rows: usize) -> Statistics {
        let nulls = Some((rows - self.keys.len()) as u64);
        if matches!(self.meaning, Meaning::Integers) {
            let [least, most] = [uniques.iter().min(), uniques.iter().max()];
            let signed = |key: Option<&u32>| key.map(|key| key.cast_signed());
            return Statistics::int32(signed(least), signed(most), None, nulls, false);
        }
        let texts = || uniques.iter().filter_map(|&key| self.meaning.text(key));
        let [least, most] = [texts().min(), texts().max()].map(|text| text.map(ByteArray::from));
        Statistics::byte_array(least, most, None, nulls, false)
    }
}

/// The keys that occur, and of each key its number among them.
fn numbered(keys: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let (Some(&least), Some(&most)) = (keys.iter().min(), keys.iter().max()) else {
        return Default::default();
    };
    let range = (most - least) as usize + 1;
    if range > ENTRIES_PER_ROW * keys.len().max(256) {
        // So far apart that the table would take longer than to search.
        let mut uniques = keys.to_vec();
        uniques.sort_unstable();
        uniques.dedup();
        let indices = keys.iter().map(|key| uniques.partition_point(|other| other < key) as u32).collect();
        return (uniques, indices);
    }
    let mut numbers = vec![u32::MAX; range];
    let mut uniques = Vec::new();
    let mut number = |&key: &u32| {
        let number = &mut numbers[(key - least) as usize];
        if *number == u32::MAX {
            *number = uniques.len() as u32;
            uniques.push(key);
        }
        *number
    };
    let indices = keys.iter().map(&mut number).collect();
    (uniques, indices)
}

/// Parquet's hybrid of runs and packed bits: `RUN` equal values or more are a run, others are packed in groups of `RUN`.
/// <https://parquet.apache.org/docs/file-format/data-pages/encodings/#RLE>
fn hybrid(values: &[u32], width: u32, out: &mut Vec<u8>) {
    let run_of = |values: &[u32]| values.iter().take_while(|value| **value == values[0]).count();
    let mut rest = values;
    while !rest.is_empty() {
        let run = run_of(rest);
        if run >= RUN || run == rest.len() {
            varint(run << 1, out);
            out.extend_from_slice(&rest[0].to_le_bytes()[..width.div_ceil(8) as usize]);
            rest = &rest[run..];
            continue;
        }
        let groups = rest.chunks(RUN);
        let groups = 1 + groups.skip(1).take_while(|group| group.len() < RUN || run_of(group) < RUN).count();
        let (packed, later) = rest.split_at(rest.len().min(groups * RUN));
        varint(groups << 1 | 1, out);
        pack(packed, width, out);
        rest = later;
    }
}

/// The lowest `width` bits of each value, the first one lowest; the last group is filled up with zeros.
fn pack(values: &[u32], width: u32, out: &mut Vec<u8>) {
    let end = out.len() + values.len().div_ceil(RUN) * width as usize;
    let (mut bits, mut held) = (0u64, 0);
    for &value in values {
        bits |= u64::from(value) << held;
        held += width;
        if held >= 32 {
            out.extend_from_slice(&(bits as u32).to_le_bytes());
            bits >>= 32;
            held -= 32;
        }
    }
    out.extend_from_slice(&bits.to_le_bytes());
    out.resize(end, 0);
}

fn varint(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests;
