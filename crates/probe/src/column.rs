//! What one column is: its name, unit, meaning, Arrow type, and how its array is taken from records.
use crate::names::{NameError, Names};
use arrow_array::types::UInt32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, StringArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field};
use std::sync::Arc;

/// How a column's value is taken from a record `R`; the variant is also the column's type.
pub enum Take<R: 'static> {
    /// A truth value.
    Bool(fn(&R) -> bool),
    /// An 8-bit number.
    U8(fn(&R) -> u8),
    /// A 16-bit number.
    U16(fn(&R) -> u16),
    /// A 32-bit number.
    U32(fn(&R) -> u32),
    /// A 64-bit number.
    U64(fn(&R) -> u64),
    /// A 64-bit number, or null.
    MaybeU64(fn(&R) -> Option<u64>),
    /// A real number.
    F64(fn(&R) -> f64),
    /// A real number, or null.
    MaybeF64(fn(&R) -> Option<f64>),
    /// The name of a node, from its index.
    Node(fn(&R) -> u32),
    /// The name of a node, or null.
    MaybeNode(fn(&R) -> Option<u32>),
    /// The label of an egress port, from its node and port index.
    Port(fn(&R) -> (u32, u16)),
    /// The label of an egress port, or null.
    MaybePort(fn(&R) -> Option<(u32, u16)>),
    /// The name of a traffic entry, from its index.
    Traffic(fn(&R) -> u16),
    /// The name of a flow's traffic entry, from the flow index.
    FlowTraffic(fn(&R) -> u32),
    /// The name of a rank's traffic entry, from the rank.
    RankTraffic(fn(&R) -> u32),
    /// The role of a rank, from the rank.
    RankRole(fn(&R) -> u32),
    /// The name of what ranks measure, from its index.
    Series(fn(&R) -> u16),
    /// One of a fixed list of words, from its position in the list.
    Word(&'static [&'static str], fn(&R) -> u8),
}

/// One column of a table of records `R`.
pub struct Column<R: 'static> {
    /// Name; a quantity's name ends in its unit.
    pub name: &'static str,
    /// Unit, or what kind of number it is: `ps`, `bytes`, `bps`, `count`, `index`, `ratio`, `name`, `word`, `flag`.
    pub unit: &'static str,
    /// What the value means, in one sentence.
    pub doc: &'static str,
    /// Where it comes from.
    pub take: Take<R>,
}

/// Writes one column in a table declaration.
pub(crate) const fn column<R>(
    name: &'static str,
    unit: &'static str,
    doc: &'static str,
    take: Take<R>,
) -> Column<R> {
    Column { name, unit, doc, take }
}

impl<R> Column<R> {
    /// The Arrow type: names and words are dictionary-encoded text.
    pub fn data_type(&self) -> DataType {
        match self.take {
            Take::Bool(_) => DataType::Boolean,
            Take::U8(_) => DataType::UInt8,
            Take::U16(_) => DataType::UInt16,
            Take::U32(_) => DataType::UInt32,
            Take::U64(_) | Take::MaybeU64(_) => DataType::UInt64,
            Take::F64(_) | Take::MaybeF64(_) => DataType::Float64,
            Take::Node(_)
            | Take::MaybeNode(_)
            | Take::Port(_)
            | Take::MaybePort(_)
            | Take::Traffic(_)
            | Take::FlowTraffic(_)
            | Take::RankTraffic(_)
            | Take::RankRole(_)
            | Take::Series(_)
            | Take::Word(..) => DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8)),
        }
    }

    /// Whether a value may be absent.
    pub const fn nullable(&self) -> bool {
        matches!(self.take, Take::MaybeU64(_) | Take::MaybeF64(_) | Take::MaybeNode(_) | Take::MaybePort(_))
    }

    /// The type in a reader's words, such as `uint64 or null` or `text`.
    pub fn type_name(&self) -> &'static str {
        match self.take {
            Take::Bool(_) => "bool",
            Take::U8(_) => "uint8",
            Take::U16(_) => "uint16",
            Take::U32(_) => "uint32",
            Take::U64(_) => "uint64",
            Take::MaybeU64(_) => "uint64 or null",
            Take::F64(_) => "float64",
            Take::MaybeF64(_) => "float64 or null",
            Take::MaybeNode(_) | Take::MaybePort(_) => "text or null",
            Take::Node(_)
            | Take::Port(_)
            | Take::Traffic(_)
            | Take::FlowTraffic(_)
            | Take::RankTraffic(_)
            | Take::RankRole(_)
            | Take::Series(_)
            | Take::Word(..) => "text",
        }
    }

    /// The Arrow field; unit and meaning travel with the file as field metadata.
    pub fn field(&self) -> Field {
        let metadata = [("unit", self.unit), ("doc", self.doc)].map(|(k, v)| (k.to_owned(), v.to_owned()));
        Field::new(self.name, self.data_type(), self.nullable()).with_metadata(metadata)
    }

    /// The column's values over `rows`.
    ///
    /// # Errors
    /// If a row mentions an index without a name.
    pub fn array(&self, rows: &[R], names: &Names) -> Result<ArrayRef, NameError> {
        let iter = rows.iter();
        Ok(match self.take {
            Take::Bool(f) => Arc::new(iter.map(f).map(Some).collect::<BooleanArray>()),
            Take::U8(f) => Arc::new(UInt8Array::from_iter_values(iter.map(f))),
            Take::U16(f) => Arc::new(UInt16Array::from_iter_values(iter.map(f))),
            Take::U32(f) => Arc::new(UInt32Array::from_iter_values(iter.map(f))),
            Take::U64(f) => Arc::new(UInt64Array::from_iter_values(iter.map(f))),
            Take::MaybeU64(f) => Arc::new(iter.map(f).collect::<UInt64Array>()),
            Take::F64(f) => Arc::new(Float64Array::from_iter_values(iter.map(f))),
            Take::MaybeF64(f) => Arc::new(iter.map(f).collect::<Float64Array>()),
            Take::Node(f) => named(names.node_names(), iter.map(|r| names.node_key(f(r))))?,
            Take::MaybeNode(f) => {
                let key = |r| f(r).map(|node| names.node_key(node)).transpose();
                maybe_named(names.node_names(), iter.map(key))?
            }
            Take::Port(f) => {
                let key = |r| {
                    let (node, port) = f(r);
                    names.port_key(node, port)
                };
                named(names.port_labels(), iter.map(key))?
            }
            Take::MaybePort(f) => {
                let key = |r| f(r).map(|(node, port)| names.port_key(node, port)).transpose();
                maybe_named(names.port_labels(), iter.map(key))?
            }
            Take::Traffic(f) => named(names.traffic_names(), iter.map(|r| names.traffic_key(f(r))))?,
            Take::FlowTraffic(f) => named(names.traffic_names(), iter.map(|r| names.flow_traffic_key(f(r))))?,
            Take::RankTraffic(f) => named(names.traffic_names(), iter.map(|r| names.rank_traffic_key(f(r))))?,
            Take::RankRole(f) => named(names.role_names(), iter.map(|r| names.rank_role_key(f(r))))?,
            Take::Series(f) => named(names.series_names(), iter.map(|r| names.series_key(f(r))))?,
            Take::Word(words, f) => {
                let values = Arc::new(StringArray::from(words.to_vec()));
                let (column, known) = (self.name, words.len());
                let known_code = |code: u8| (usize::from(code) < known).then_some(u32::from(code));
                let key = |code| known_code(code).ok_or(NameError::Word { code, column, known });
                named(&values, iter.map(|r| key(f(r))))?
            }
        })
    }
}

/// A dictionary array whose keys are known to lie within `values`.
fn named(
    values: &Arc<StringArray>,
    keys: impl Iterator<Item = Result<u32, NameError>>,
) -> Result<ArrayRef, NameError> {
    let keys = UInt32Array::from(keys.collect::<Result<Vec<u32>, _>>()?);
    Ok(Arc::new(DictionaryArray::<UInt32Type>::new(keys, Arc::clone(values) as ArrayRef)))
}

/// The same with nulls.
fn maybe_named(
    values: &Arc<StringArray>,
    keys: impl Iterator<Item = Result<Option<u32>, NameError>>,
) -> Result<ArrayRef, NameError> {
    let keys = UInt32Array::from(keys.collect::<Result<Vec<Option<u32>>, _>>()?);
    Ok(Arc::new(DictionaryArray::<UInt32Type>::new(keys, Arc::clone(values) as ArrayRef)))
}
