//! How state is written that the library of snapshots has no form for.
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Read, Result, Write};

use borsh::{BorshDeserialize, BorshSerialize};

/// Entries in order, so that equal heaps are equal bytes.
pub(crate) fn save_heap<T, W>(heap: &BinaryHeap<Reverse<T>>, out: &mut W) -> Result<()>
where
    T: Ord + BorshSerialize,
    W: Write,
{
    let mut entries: Vec<&T> = heap.iter().map(|Reverse(entry)| entry).collect();
    entries.sort_unstable();
    entries.serialize(out)
}

pub(crate) fn load_heap<T, R>(from: &mut R) -> Result<BinaryHeap<Reverse<T>>>
where
    T: Ord + BorshDeserialize,
    R: Read,
{
    Ok(Vec::deserialize_reader(from)?.into_iter().map(Reverse).collect())
}
