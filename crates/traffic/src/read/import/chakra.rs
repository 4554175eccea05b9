//! Chakra execution traces (MLCommons, schema 0.0.4): one file for each NPU, length-delimited protobuf messages: first the
//! metadata, then the nodes.
use std::collections::{BTreeMap, BTreeSet};

use backwater_units::{Bytes, Span};
use prost::Message as _;

use super::schedule::{Operation, Schedule, What};
use super::{ImportError, Imported};
use crate::flow::MAX_SIZE;
use crate::trace::{Collective, MAX_RANKS, Op, Ranks, Ready};

#[derive(Clone, PartialEq, prost::Message)]
struct GlobalMetadata {
    #[prost(string, tag = "1")]
    version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Node {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(int32, tag = "3")]
    kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    ctrl_deps: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    data_deps: Vec<u64>,
    #[prost(uint64, tag = "7")]
    duration_micros: u64,
    #[prost(message, repeated, tag = "10")]
    attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(oneof = "Value", tags = "7, 9, 11, 13, 15, 17, 29")]
    value: Option<Value>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Value {
    #[prost(int32, tag = "7")]
    Int32(i32),
    #[prost(int64, tag = "9")]
    Int64(i64),
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    #[prost(string, tag = "29")]
    Text(String),
}

/// How an attribute's size is read, said to the user.
const SIZES: &str = "comm_size of a collective is taken as what each rank contributes (allreduce, reduce-scatter, allgather, gather, \
                     reduce), what the root sends to all (bcast) or to each (scatter), and of alltoall as what a rank sends in all";

/// Reads the traces of all NPUs, `files[r]` that of rank r.
///
/// # Errors
/// The first thing that is wrong, with the rank and the byte or node.
pub fn chakra(files: &[&[u8]]) -> Result<Imported, ImportError> {
    if !(2..=MAX_RANKS as usize).contains(&files.len()) {
        let what = format!("there are {} files, one for each NPU; allowed are 2 to {MAX_RANKS}", files.len());
        return Err(ImportError::in_the_file(what));
    }
    let mut reader = Reader::default();
    for (rank, file) in (0..).zip(files) {
        reader.file(rank, file)?;
    }
    reader.finish()
}

/// A collective that some ranks have come to.
struct Met {
    kind: i64,
    bytes: u64,
    root: u64,
    /// The ranks and the numbers of their operations.
    by: Vec<(u32, usize)>,
}

#[derive(Default)]
struct Reader {
    schedule: Schedule,
    /// By process group and how many of it were before.
    met: BTreeMap<(String, usize), Met>,
    untimed: u64,
    memory: u64,
    others: BTreeSet<i32>,
}

impl Reader {
    fn file(&mut self, rank: u32, mut bytes: &[u8]) -> Result<(), ImportError> {
        let total = bytes.len();
        let broken = |left: usize, what: &str| ImportError {
            place: format!("rank {rank}, byte {}", total - left),
            what: format!("{what}; the files of a Chakra trace are length-delimited protobuf messages"),
        };
        GlobalMetadata::decode_length_delimited(&mut bytes)
            .map_err(|error| broken(bytes.len(), &format!("the metadata cannot be read ({error})")))?;
        let mut nodes: Vec<Node> = Vec::new();
        while !bytes.is_empty() {
            let left = bytes.len();
            let node = Node::decode_length_delimited(&mut bytes)
                .map_err(|error| broken(left, &format!("a node cannot be read ({error})")))?;
            nodes.push(node);
        }
        let mut numbers = BTreeMap::new();
        for (number, node) in (0u32..).zip(&nodes) {
            if numbers.insert(node.id, number).is_some() {
                return Err(misfit(rank, node, "there is another node with its id"));
            }
        }
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let mut operations = Vec::with_capacity(nodes.len());
        for (number, node) in nodes.iter().enumerate() {
            let what = self.what(rank, number, node, &mut counts)?;
            let mut requires: Vec<u32> = Vec::new();
            for id in node.data_deps.iter().chain(&node.ctrl_deps) {
                let other = numbers.get(id).copied();
                let other = other.ok_or_else(|| {
                    misfit(rank, node, &format!("it depends on node {id}, which is not there"))
                })?;
                if !requires.contains(&other) {
                    requires.push(other);
                }
            }
            operations.push(Operation { what, requires, follows: Vec::new(), line: 0 });
        }
        self.schedule.ranks.push(operations);
        Ok(())
    }

    fn what(
        &mut self,
        rank: u32,
        number: usize,
        node: &Node,
        counts: &mut BTreeMap<String, usize>,
    ) -> Result<What, ImportError> {
        let time = node.duration_micros.checked_mul(1_000_000).filter(|ps| *ps < 1 << 60);
        let time = Span::from_ps(
            time.ok_or_else(|| misfit(rank, node, "its duration is more than can be simulated"))?,
        );
        let needed = |name: &str| {
            number_of(node, name)
                .ok_or_else(|| misfit(rank, node, &format!("its attribute {name} is missing or no number")))
        };
        let bytes = || {
            let bytes = needed("comm_size")?;
            let fits = u64::try_from(bytes).ok().filter(|bytes| *bytes <= MAX_SIZE.get());
            fits.ok_or_else(|| {
                misfit(rank, node, &format!("comm_size {bytes} is not a size from 0 to 1000TB"))
            })
        };
        let peer = |name| {
            let peer = needed(name)?;
            u32::try_from(peer).map_err(|_| misfit(rank, node, &format!("{name} {peer} is no rank")))
        };
        let tag = number_of(node, "comm_tag").unwrap_or(0).cast_unsigned();
        match node.kind {
            5 => Ok(What::Send { to: peer("comm_dst")?, bytes: bytes()?, tag }),
            6 => Ok(What::Receive { from: peer("comm_src")?, bytes: bytes()?, tag }),
            7 => {
                let (kind, root) =
                    (needed("comm_type")?, number_of(node, "root").unwrap_or(0).cast_unsigned());
                let bytes = if kind == BARRIER { 1 } else { bytes()? };
                let group = text_of(node, "pg_name").unwrap_or_default();
                let count = counts.entry(group.clone()).or_default();
                let met =
                    self.met.entry((group, *count)).or_insert(Met { kind, bytes, root, by: Vec::new() });
                *count += 1;
                if (met.kind, met.bytes, met.root) != (kind, bytes, root) {
                    let what = format!(
                        "it is a collective of type {kind} and {bytes} B, but rank {} has one of type {} and {} B in this place",
                        met.by[0].0, met.kind, met.bytes
                    );
                    return Err(misfit(rank, node, &what));
                }
                met.by.push((rank, number));
                // Replaced when all who take part are known.
                Ok(What::Compute(Span::ZERO))
            }
            kind => {
                self.untimed += u64::from(kind == 4 && node.duration_micros == 0);
                self.memory += u64::from(kind == 2 || kind == 3);
                if !matches!(kind, 1..=4) {
                    self.others.insert(kind);
                }
                Ok(What::Compute(time))
            }
        }
    }

    fn finish(mut self) -> Result<Imported, ImportError> {
        let all: Vec<u32> = (0..self.schedule.ranks.len() as u32).collect();
        let mut groups: BTreeMap<Vec<u32>, u32> = [(all.clone(), 0)].into();
        let met = std::mem::take(&mut self.met);
        let any = !met.is_empty();
        for ((group, number), met) in met {
            let members: Vec<u32> = met.by.iter().map(|(rank, _)| *rank).collect();
            if group.is_empty() && members != all {
                let absent = all.iter().find(|rank| !members.contains(rank)).expect("one is missing");
                let what = format!(
                    "rank {absent} has no collective number {number}, which others wait in; name the ranks of smaller groups by pg_name"
                );
                return Err(ImportError::in_the_file(what));
            }
            // Alone there is nothing to do.
            if members.len() < 2 {
                continue;
            }
            let next = groups.len() as u32;
            let place = *groups.entry(members.clone()).or_insert(next);
            if place == next {
                self.schedule.groups.push(Ranks { id: u64::from(place), members: members.clone() });
            }
            let collective = collective(&met, place, self.schedule.collectives.len() as u64, &members)?;
            let id = self.schedule.collectives.len() as u32;
            for (rank, operation) in met.by {
                self.schedule.ranks[rank as usize][operation].what = What::Collective(id);
            }
            self.schedule.collectives.push(collective);
        }
        let notes = self.notes(any);
        Ok(Imported { trace: self.schedule.trace()?, notes })
    }

    fn notes(&self, collectives: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if collectives {
            notes.push(SIZES.to_owned());
        }
        if self.untimed > 0 {
            notes
                .push(format!("{} computations have no duration_micros and take no time here", self.untimed));
        }
        if self.memory > 0 {
            notes.push(format!(
                "{} loads and stores of memory take their duration and no network",
                self.memory
            ));
        }
        if !self.others.is_empty() {
            notes.push(format!("nodes of the types {:?} are taken as computations", self.others));
        }
        notes
    }
}

const BARRIER: i64 = 9;

fn collective(met: &Met, group: u32, id: u64, members: &[u32]) -> Result<Collective, ImportError> {
    let op = match met.kind {
        0 => Op::Allreduce,
        1 => Op::Reduce,
        2 => Op::Allgather,
        3 => Op::Gather,
        4 => Op::Scatter,
        5 => Op::Bcast,
        6 => Op::Alltoall,
        7 | 8 => Op::ReduceScatter,
        BARRIER => Op::Barrier,
        kind => {
            let place = format!("rank {}, operation {}", met.by[0].0, met.by[0].1);
            return Err(ImportError {
                place,
                what: format!("there is no collective of type {kind}; allowed are 0 to 9"),
            });
        }
    };
    let each = members.len() as u64;
    let bytes = if op == Op::Alltoall { met.bytes.div_ceil(each) } else { met.bytes };
    let root = members.iter().position(|rank| u64::from(*rank) == met.root);
    let root = if op.has_root() {
        root.ok_or_else(|| ImportError {
            place: format!("rank {}, operation {}", met.by[0].0, met.by[0].1),
            what: format!("its root {} is not in its group", met.root),
        })?
    } else {
        0
    };
    if bytes.saturating_mul(each) > MAX_SIZE.get() {
        let what = format!("{bytes} B of each of {each} ranks are more than 1000TB");
        return Err(ImportError { place: format!("rank {}, operation {}", met.by[0].0, met.by[0].1), what });
    }
    let joins = vec![Ready::AT_ONCE; members.len()];
    let (bytes, algorithm) = (Bytes::new(bytes.max(1)), op.algorithms()[0]);
    let (uneven, root) = (Vec::new(), root as u32);
    Ok(Collective { id, op, algorithm, bytes, uneven, group, root, joins, line: 0 })
}

fn misfit(rank: u32, node: &Node, what: &str) -> ImportError {
    let name: String = node.name.chars().take(40).collect();
    ImportError { place: format!("rank {rank}, node {} ({name})", node.id), what: what.to_owned() }
}

fn value<'a>(node: &'a Node, name: &str) -> Option<&'a Value> {
    node.attributes.iter().find(|attribute| attribute.name == name)?.value.as_ref()
}

fn number_of(node: &Node, name: &str) -> Option<i64> {
    match value(node, name)? {
        Value::Int32(number) | Value::Sint32(number) => Some(i64::from(*number)),
        Value::Int64(number) | Value::Sint64(number) => Some(*number),
        Value::Uint32(number) => Some(i64::from(*number)),
        Value::Uint64(number) => i64::try_from(*number).ok(),
        Value::Text(text) => text.parse().ok(),
    }
}

fn text_of(node: &Node, name: &str) -> Option<String> {
    match value(node, name)? {
        Value::Text(text) => Some(text.clone()),
        _ => number_of(node, name).map(|number| number.to_string()),
    }
}

#[cfg(test)]
pub(super) mod testing {
    //! Traces in the making.
    use super::{Attribute, GlobalMetadata, Node, Value};
    use prost::Message as _;

    pub(in super::super) fn attribute(name: &str, value: i64) -> (String, i64) {
        (name.to_owned(), value)
    }

    /// The bytes of one node, without their length.
    pub(in super::super) fn node(
        id: u64,
        kind: i32,
        duration_micros: u64,
        data_deps: &[u64],
        attributes: &[(String, i64)],
    ) -> Vec<u8> {
        let attribute = |(name, value): &(String, i64)| Attribute {
            name: name.clone(),
            value: Some(Value::Int64(*value)),
        };
        let attributes = attributes.iter().map(attribute).collect();
        let (name, data_deps, ctrl_deps) = (format!("n{id}"), data_deps.to_vec(), Vec::new());
        Node { id, name, kind, ctrl_deps, data_deps, duration_micros, attributes }.encode_to_vec()
    }

    /// The file of one NPU.
    pub(in super::super) fn npu(nodes: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = GlobalMetadata { version: "0.0.4".to_owned() }.encode_length_delimited_to_vec();
        for node in nodes {
            prost::encode_length_delimiter(node.len(), &mut bytes).expect("memory");
            bytes.extend(node);
        }
        bytes
    }
}
