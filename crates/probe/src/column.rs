//! What one column is: its name, unit, meaning, type, and how its values are taken from records.
use crate::names::{Labels, NameError, Names};
use crate::repeated::{Meaning, Packer, Repeated};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, DataType, DoubleType, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::writer::{SerializedColumnWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnDescPtr, Type, TypePtr};
use std::io::Write;
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

/// What a value is stored as.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Bool,
    U8,
    U16,
    U32,
    U64,
    F64,
    /// Text, one of a few.
    Word,
    /// Text, one of as many as the network has.
    Name,
}

impl<R> Take<R> {
    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Self::Bool(_) => Kind::Bool,
            Self::U8(_) => Kind::U8,
            Self::U16(_) => Kind::U16,
            Self::U32(_) => Kind::U32,
            Self::U64(_) | Self::MaybeU64(_) => Kind::U64,
            Self::F64(_) | Self::MaybeF64(_) => Kind::F64,
            Self::Node(_)
            | Self::MaybeNode(_)
            | Self::Port(_)
            | Self::MaybePort(_)
            | Self::Traffic(_)
            | Self::FlowTraffic(_)
            | Self::RankTraffic(_)
            | Self::RankRole(_)
            | Self::Series(_) => Kind::Name,
            Self::Word(..) => Kind::Word,
        }
    }
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
    /// Whether a value may be absent.
    pub const fn nullable(&self) -> bool {
        matches!(self.take, Take::MaybeU64(_) | Take::MaybeF64(_) | Take::MaybeNode(_) | Take::MaybePort(_))
    }

    /// The type in a reader's words, such as `uint64 or null` or `text`.
    pub const fn type_name(&self) -> &'static str {
        match (self.take.kind(), self.nullable()) {
            (Kind::Bool, _) => "bool",
            (Kind::U8, _) => "uint8",
            (Kind::U16, _) => "uint16",
            (Kind::U32, _) => "uint32",
            (Kind::U64, false) => "uint64",
            (Kind::U64, true) => "uint64 or null",
            (Kind::F64, false) => "float64",
            (Kind::F64, true) => "float64 or null",
            (Kind::Word | Kind::Name, false) => "text",
            (Kind::Word | Kind::Name, true) => "text or null",
        }
    }

    /// The column as Parquet's schema has it.
    pub(crate) fn schema(&self) -> ParquetResult<TypePtr> {
        let integer = |bits| Some(LogicalType::integer(bits, false));
        let (physical, logical) = match self.take.kind() {
            Kind::Bool => (Physical::BOOLEAN, None),
            Kind::U8 => (Physical::INT32, integer(8)),
            Kind::U16 => (Physical::INT32, integer(16)),
            Kind::U32 => (Physical::INT32, integer(32)),
            Kind::U64 => (Physical::INT64, integer(64)),
            Kind::F64 => (Physical::DOUBLE, None),
            Kind::Word | Kind::Name => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = if self.nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let one = Type::primitive_type_builder(self.name, physical);
        Ok(Arc::new(one.with_logical_type(logical).with_repetition(repetition).build()?))
    }

    /// The column's values over `rows`.
    pub(crate) fn values<'a>(&self, rows: &[R], names: &'a Names) -> Result<Values<'a>, NameError> {
        let iter = rows.iter();
        let integers = |keys| Values::Repeated(Repeated { keys, present: None, meaning: Meaning::Integers });
        Ok(match self.take {
            Take::Bool(f) => Values::Bool(iter.map(f).collect()),
            Take::U8(f) => integers(iter.map(|r| u32::from(f(r))).collect()),
            Take::U16(f) => integers(iter.map(|r| u32::from(f(r))).collect()),
            Take::U32(f) => integers(iter.map(f).collect()),
            Take::U64(f) => Values::I64(iter.map(|r| f(r).cast_signed()).collect()),
            Take::MaybeU64(f) => Values::I64(Chunk::some(iter.map(|r| f(r).map(u64::cast_signed)))),
            Take::F64(f) => Values::F64(iter.map(f).collect()),
            Take::MaybeF64(f) => Values::F64(Chunk::some(iter.map(f))),
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
                let (column, known) = (self.name, words.len());
                let known_code = |code: u8| (usize::from(code) < known).then_some(u32::from(code));
                let key = |code| known_code(code).ok_or(NameError::Word { code, column, known });
                let keys = iter.map(|r| key(f(r))).collect::<Result<_, _>>()?;
                Values::Repeated(Repeated { keys, present: None, meaning: Meaning::Words(words) })
            }
        })
    }
}

fn named(
    labels: &Labels,
    keys: impl Iterator<Item = Result<u32, NameError>>,
) -> Result<Values<'_>, NameError> {
    let keys = keys.collect::<Result<_, _>>()?;
    Ok(Values::Repeated(Repeated { keys, present: None, meaning: Meaning::Labels(labels) }))
}

fn maybe_named(
    labels: &Labels,
    keys: impl Iterator<Item = Result<Option<u32>, NameError>>,
) -> Result<Values<'_>, NameError> {
    let keys = keys.collect::<Result<Vec<_>, _>>()?;
    let present = Some(keys.iter().map(|key| u32::from(key.is_some())).collect());
    let keys = keys.into_iter().flatten().collect();
    Ok(Values::Repeated(Repeated { keys, present, meaning: Meaning::Labels(labels) }))
}

/// Values of one column, in the types that Parquet stores.
pub(crate) enum Values<'a> {
    Bool(Chunk<bool>),
    I64(Chunk<i64>),
    F64(Chunk<f64>),
    Repeated(Repeated<'a>),
}

/// The values that are there and, where one may be absent, whether each is: 1 or 0.
pub(crate) struct Chunk<T> {
    values: Vec<T>,
    present: Option<Vec<i16>>,
}

impl<T> FromIterator<T> for Chunk<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self { values: values.into_iter().collect(), present: None }
    }
}

impl<T> Chunk<T> {
    fn some(values: impl Iterator<Item = Option<T>>) -> Self {
        let mut present = Vec::with_capacity(values.size_hint().0);
        let values = values.inspect(|value| present.push(i16::from(value.is_some()))).flatten().collect();
        Self { values, present: Some(present) }
    }

    fn write<D: DataType<T = T>>(&self, column: Option<SerializedColumnWriter<'_>>) -> ParquetResult<()> {
        let mut column = column.expect("the schema has every column");
        column.typed::<D>().write_batch(&self.values, self.present.as_deref(), None)?;
        column.close()
    }
}

impl Values<'_> {
    /// Writes them as the whole of the next column of `group`, which `column` describes.
    pub(crate) fn write<W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        column: &ColumnDescPtr,
        packer: &mut Packer,
    ) -> ParquetResult<()> {
        match self {
            Self::Bool(chunk) => chunk.write::<BoolType>(group.next_column()?),
            Self::I64(chunk) => chunk.write::<Int64Type>(group.next_column()?),
            Self::F64(chunk) => chunk.write::<DoubleType>(group.next_column()?),
            Self::Repeated(repeated) => repeated.write(group, column, packer),
        }
    }
}
