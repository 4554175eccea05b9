//! Bytes that travel beside messages. Few messages have any, so that these have a place of their own and the others pay nothing.
use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};

use crate::processes::{read, write};

/// Most bytes beside one message: four cache lines, which hold what eight switches write of a port in full.
pub const MAX_EXTENSION: usize = 256;

/// No extension.
const NONE: u32 = u32::MAX;

/// Extensions one after the other, by number.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Arena {
    /// Where each ends; it begins where the one before it ends.
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl Arena {
    /// Keeps `extension` and returns its number; nothing to keep is [`NONE`].
    ///
    /// # Panics
    /// If it is longer than [`MAX_EXTENSION`].
    fn put(&mut self, extension: &[u8]) -> u32 {
        assert!(extension.len() <= MAX_EXTENSION, "an extension has at most {MAX_EXTENSION} bytes");
        if extension.is_empty() {
            return NONE;
        }
        self.bytes.extend_from_slice(extension);
        self.ends.push(self.bytes.len() as u32);
        self.ends.len() as u32 - 1
    }

    fn get(&self, number: u32) -> &[u8] {
        let Some(end) = self.ends.get(number as usize) else { return &[] };
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.bytes[begin as usize..*end as usize]
    }

    /// Adds those of another one, behind its own.
    fn append(&mut self, other: &Self) {
        let first = self.bytes.len() as u32;
        self.ends.extend(other.ends.iter().map(|end| first + end));
        self.bytes.extend_from_slice(&other.bytes);
    }

    fn clear(&mut self) {
        self.ends.clear();
        self.bytes.clear();
    }

    fn memory(&self) -> usize {
        self.ends.capacity() * size_of::<u32>() + self.bytes.capacity()
    }
}

/// Messages one after the other that are for one node in one window.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
struct Run {
    window: u64,
    node: u32,
    /// Its messages end here; they begin where those of the run before it end.
    end: u32,
}

/// Messages on a long way: to another shard, or to a window that has no list yet. They lie in memory as they were sent, so that those
/// that a port sends one after the other are read as one piece.
#[derive(Clone, Debug)]
pub(crate) struct Mail<M> {
    runs: Vec<Run>,
    messages: Vec<M>,
    /// Which messages have something beside them, in their order.
    laden: Vec<u32>,
    extensions: Arena,
}

impl<M> Default for Mail<M> {
    fn default() -> Self {
        Self { runs: Vec::new(), messages: Vec::new(), laden: Vec::new(), extensions: Arena::default() }
    }
}

impl<M: Copy> Mail<M> {
    #[inline]
    pub(crate) fn push(&mut self, window: u64, node: usize, message: M, extension: &[u8]) {
        if !extension.is_empty() {
            self.laden.push(self.messages.len() as u32);
            self.extensions.put(extension);
        }
        self.messages.push(message);
        let (node, end) = (node as u32, self.messages.len() as u32);
        match self.runs.last_mut() {
            Some(run) if run.window == window && run.node == node => run.end = end,
            _ => self.runs.push(Run { window, node, end }),
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// How many messages.
    pub(crate) const fn count(&self) -> usize {
        self.messages.len()
    }

    /// The earliest window; `u64::MAX` if it is empty.
    pub(crate) fn first_window(&self) -> u64 {
        self.runs.iter().map(|run| run.window).min().unwrap_or(u64::MAX)
    }

    /// All messages, with the places of their nodes.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (usize, &M)> {
        self.pieces().flat_map(|(_, node, piece)| piece.iter().map(move |message| (node, message)))
    }

    /// Whether nothing is beside its messages.
    pub(crate) const fn is_plain(&self) -> bool {
        self.laden.is_empty()
    }

    /// Its messages in pieces that are for one window and node.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (u64, usize, &[M])> {
        let mut begin = 0;
        self.runs.iter().map(move |run| {
            let piece = &self.messages[begin..run.end as usize];
            begin = run.end as usize;
            (run.window, run.node as usize, piece)
        })
    }

    /// `f` gets window, node, message and extension of each.
    pub(crate) fn each<'a>(&'a self, f: &mut impl FnMut(u64, usize, &'a M, &'a [u8])) {
        let (mut index, mut laden) = (0, (0..).zip(&self.laden).peekable());
        for (window, node, piece) in self.pieces() {
            for message in piece {
                let beside = laden.next_if(|(_, at)| **at == index);
                f(window, node, message, self.extensions.get(beside.map_or(NONE, |(number, _)| number)));
                index += 1;
            }
        }
    }

    /// Empties it: `f` gets window, node, message and extension of each.
    pub(crate) fn drain(&mut self, mut f: impl FnMut(u64, usize, M, &[u8])) {
        self.each(&mut |window, node, message, extension| f(window, node, *message, extension));
        self.clear();
    }

    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.messages.clear();
        self.laden.clear();
        self.extensions.clear();
    }

    /// Empties it into bytes for another process.
    pub(crate) fn put(&mut self, to: &mut Vec<u8>)
    where
        M: BorshSerialize,
    {
        let Self { runs, messages, laden, extensions } = &*self;
        write(&(runs, laden, extensions), to);
        to.reserve(messages.len() * size_of::<M>());
        for message in messages {
            write(message, to);
        }
        self.clear();
    }

    /// Adds what another process has put.
    pub(crate) fn take(&mut self, from: &mut &[u8])
    where
        M: BorshDeserialize,
    {
        let (runs, laden, extensions): (Vec<Run>, Vec<u32>, Arena) = read(from);
        let first = self.messages.len() as u32;
        let count = runs.last().map_or(0, |run| run.end);
        self.runs.extend(runs.into_iter().map(|run| Run { end: first + run.end, ..run }));
        self.laden.extend(laden.into_iter().map(|at| first + at));
        self.extensions.append(&extensions);
        self.messages.extend((0..count).map(|_| read::<M>(from)));
    }

    pub(crate) fn memory(&self) -> usize {
        self.runs.capacity() * size_of::<Run>()
            + self.messages.capacity() * size_of::<M>()
            + self.laden.capacity() * size_of::<u32>()
            + self.extensions.memory()
    }
}

/// The extensions of the messages of one window, by node and position in its list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beside {
    of: Vec<(u32, u32, u32)>,
    extensions: Arena,
}

impl Beside {
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Notes the extension of message number `index` of `node`, if it has one.
    pub(crate) fn put(&mut self, node: usize, index: usize, extension: &[u8]) {
        let number = self.extensions.put(extension);
        if number != NONE {
            self.of.push((node as u32, index as u32, number));
        }
    }

    /// Each extension, by node and position of its message.
    pub(crate) fn by_message(&self) -> BTreeMap<(u32, u32), &[u8]> {
        let of = self.of.iter();
        of.map(|(node, index, number)| ((*node, *index), self.extensions.get(*number))).collect()
    }

    /// Brings each node's extensions into the order that `key` gives to its messages by their positions.
    pub(crate) fn sorted<K: Ord>(&mut self, key: impl Fn(usize, usize) -> K) -> &mut Self {
        self.of.sort_by_key(|(node, index, _)| (*node, key(*node as usize, *index as usize)));
        self
    }

    /// Empties it: `f` gets node, position and extension of each.
    pub(crate) fn drain(&mut self, mut f: impl FnMut(usize, usize, &[u8])) {
        for (node, index, number) in self.of.drain(..) {
            f(node as usize, index as usize, self.extensions.get(number));
        }
        self.extensions.clear();
    }

    pub(crate) fn memory(&self) -> usize {
        self.of.capacity() * size_of::<(u32, u32, u32)>() + self.extensions.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_gives_each_message_back_with_what_was_beside_it() {
        let mut mail = Mail::default();
        for number in 0..10_u8 {
            mail.push(5, 3, number, &vec![number; usize::from(number % 3)]);
        }
        let mut seen = 0;
        mail.drain(|window, node, number, extension| {
            assert_eq!((window, node, number), (5, 3, seen));
            assert_eq!(extension, vec![number; usize::from(number % 3)]);
            seen += 1;
        });
        assert_eq!((seen, mail.is_empty(), mail.first_window()), (10, true, u64::MAX));
    }

    #[test]
    #[should_panic(expected = "at most 256 bytes")]
    fn an_extension_that_is_too_long_is_refused() {
        Mail::default().push(0, 0, (), &[0; MAX_EXTENSION + 1]);
    }
}
