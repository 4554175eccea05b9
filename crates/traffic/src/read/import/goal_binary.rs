//! GOAL, the binary form that LogGOPSim's txt2bin writes.
//!
//! All numbers are little-endian. Header: u64 4223, u32 ranks, u8 largest cpu, u8 largest nic; then for each rank two u64, where
//! its part begins and ends, counted from behind the first eight bytes. A part: u32 operations, u32 roots, u32 for each root;
//! 39 bytes for each operation; then u32 numbers of operations that wait. An operation: u32 how many it waits for, u8 kind (1 send,
//! 2 receive, 3 compute), u32 peer, u64 bytes or nanoseconds, u32 tag, u8 cpu, u8 nic, then twice u32 how many wait for it and
//! u32 where in the list they stand: first those that wait for its end, then those that wait for its beginning.
use backwater_units::Span;

use super::goal::CPUS;
use super::schedule::{Operation, Schedule, What};
use super::{ImportError, Imported};
use crate::flow::MAX_SIZE;
use crate::trace::MAX_RANKS;

/// The first number of a file.
pub const GOAL_MAGIC: u64 = 4223;

const OPERATION: usize = 39;

/// Reads a binary GOAL schedule.
///
/// # Errors
/// The first thing that is wrong, with the byte, or with the rank and the number of the operation.
pub fn goal_binary(bytes: &[u8]) -> Result<Imported, ImportError> {
    let mut head = Bytes { bytes, at: 0 };
    if head.u64()? != GOAL_MAGIC {
        return Err(ImportError::in_the_file(format!(
            "it does not begin with {GOAL_MAGIC}, as binary GOAL does"
        )));
    }
    let ranks = head.u32()?;
    if !(2..=MAX_RANKS).contains(&ranks) {
        return Err(ImportError::in_the_file(format!("it has {ranks} ranks; allowed are 2 to {MAX_RANKS}")));
    }
    let many = head.u8()? > 0 || head.u8()? > 0;
    let mut schedule = Schedule::default();
    for rank in 0..ranks {
        let (begin, end) = (head.u64()?, head.u64()?);
        let part = part(bytes, begin, end).ok_or_else(|| {
            let what = format!(
                "its part is said to be from {begin} to {end}, but the file has {} bytes",
                bytes.len()
            );
            ImportError { place: format!("rank {rank}"), what }
        })?;
        schedule.ranks.push(operations(part, rank)?);
    }
    let notes = many.then(|| CPUS.to_owned()).into_iter().chain(schedule.note_on_room()).collect();
    Ok(Imported { trace: schedule.trace()?, notes })
}

fn part(bytes: &[u8], begin: u64, end: u64) -> Option<&[u8]> {
    let from = usize::try_from(begin).ok()?.checked_add(8)?;
    let to = usize::try_from(end).ok()?.checked_add(8)?;
    bytes.get(from..to)
}

/// A place in the bytes of a file, or of a rank's part.
struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], ImportError> {
        let taken = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let what = || format!("the file is cut off: {N} more bytes are expected");
        let taken = *taken.ok_or_else(|| ImportError { place: format!("byte {}", self.at), what: what() })?;
        self.at += N;
        Ok(taken)
    }
    fn u8(&mut self) -> Result<u8, ImportError> {
        Ok(self.take::<1>()?[0])
    }
    fn u32(&mut self) -> Result<u32, ImportError> {
        Ok(u32::from_le_bytes(self.take()?))
    }
    fn u64(&mut self) -> Result<u64, ImportError> {
        Ok(u64::from_le_bytes(self.take()?))
    }
}

fn operations(part: &[u8], rank: u32) -> Result<Vec<Operation>, ImportError> {
    let misfit =
        |number: u32, what: String| ImportError { place: format!("rank {rank}, operation {number}"), what };
    let mut bytes = Bytes { bytes: part, at: 0 };
    let (count, roots) = (bytes.u32()?, bytes.u32()?);
    let list = 8u64 + 4 * u64::from(roots) + OPERATION as u64 * u64::from(count);
    if list > part.len() as u64 {
        let what = format!("{count} operations and {roots} roots do not fit into its {} bytes", part.len());
        return Err(ImportError { place: format!("rank {rank}"), what });
    }
    bytes.at += 4 * roots as usize;
    let mut operations = Vec::with_capacity(count as usize);
    let mut waiting = Vec::new();
    for number in 0..count {
        let (_, kind, peer) = (bytes.u32()?, bytes.u8()?, bytes.u32()?);
        let (size, tag) = (bytes.u64()?, u64::from(bytes.u32()?));
        let (_cpu, _nic) = (bytes.u8()?, bytes.u8()?);
        if size > MAX_SIZE.get() {
            return Err(misfit(number, format!("{size} is too much: allowed are up to 1000TB, and 1000 s")));
        }
        let what = match kind {
            1 => What::Send { to: peer, bytes: size, tag },
            2 => What::Receive { from: peer, bytes: size, tag },
            3 => What::Compute(Span::from_ps(size.saturating_mul(1000))),
            _ => {
                return Err(misfit(
                    number,
                    format!("there is no kind {kind}; 1 is send, 2 receive, 3 compute"),
                ));
            }
        };
        operations.push(Operation { what, requires: Vec::new(), follows: Vec::new(), line: 0 });
        for begun in [false, true] {
            let (many, first) = (bytes.u32()?, bytes.u32()?);
            if many > 0 {
                waiting.push((number, begun, many, first));
            }
        }
    }
    let entries = (part.len() as u64 - list) / 4;
    let named: u64 = waiting.iter().map(|(.., many, _)| u64::from(*many)).sum();
    if named > entries {
        let what = format!("{named} dependencies are announced, but its list has room for {entries}");
        return Err(ImportError { place: format!("rank {rank}"), what });
    }
    for (number, begun, many, first) in waiting {
        let mut place = Bytes { bytes: part, at: list as usize + 4 * first as usize };
        for _ in 0..many {
            let waits = place.u32()?;
            let Some(operation) = operations.get_mut(waits as usize) else {
                return Err(misfit(
                    number,
                    format!("operation {waits} waits for it, but the rank has only {count}"),
                ));
            };
            if begun { operation.follows.push(number) } else { operation.requires.push(number) }
        }
    }
    Ok(operations)
}
