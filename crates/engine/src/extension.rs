//! Bytes that travel beside messages. Few messages have any, so that these have a place of their own and the others pay nothing.

use crate::Plain;

/// Most bytes beside one message: four cache lines, which hold what eight switches write of a port in full.
pub const MAX_EXTENSION: usize = 256;

/// No extension.
const NONE: u32 = u32::MAX;

/// Extensions one after the other, by number.
#[derive(Clone, Debug, Default)]
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

    fn clear(&mut self) {
        self.ends.clear();
        self.bytes.clear();
    }

    fn memory(&self) -> usize {
        self.ends.capacity() * size_of::<u32>() + self.bytes.capacity()
    }
}

/// A message with the window and the node that it is for.
#[derive(Clone, Copy, Debug)]
struct Parcel<M> {
    window: u64,
    node: u32,
    extension: u32,
    message: M,
}

/// Messages on a long way: to another shard, or to a window that has no list yet.
#[derive(Clone, Debug)]
pub(crate) struct Mail<M> {
    parcels: Vec<Parcel<M>>,
    extensions: Arena,
}

impl<M> Default for Mail<M> {
    fn default() -> Self {
        Self { parcels: Vec::new(), extensions: Arena::default() }
    }
}

impl<M: Copy> Mail<M> {
    pub(crate) fn push(&mut self, window: u64, node: usize, message: M, extension: &[u8]) {
        let extension = self.extensions.put(extension);
        self.parcels.push(Parcel { window, node: node as u32, extension, message });
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.parcels.is_empty()
    }

    /// The earliest window; `u64::MAX` if it is empty.
    pub(crate) fn first_window(&self) -> u64 {
        self.parcels.iter().map(|parcel| parcel.window).min().unwrap_or(u64::MAX)
    }

    /// All messages, with the places of their nodes.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (usize, &M)> {
        self.parcels.iter().map(|parcel| (parcel.node as usize, &parcel.message))
    }

    /// Empties it: `f` gets window, node, message and extension of each.
    pub(crate) fn drain(&mut self, mut f: impl FnMut(u64, usize, M, &[u8])) {
        for parcel in self.parcels.drain(..) {
            f(parcel.window, parcel.node as usize, parcel.message, self.extensions.get(parcel.extension));
        }
        self.extensions.clear();
    }

    /// Empties it into bytes for another process.
    pub(crate) fn put(&mut self, to: &mut Vec<u8>)
    where
        M: Plain,
    {
        self.parcels.len().put(to);
        self.drain(|window, node, message, extension| {
            (window, node as u32, extension.len() as u16).put(to);
            to.extend_from_slice(extension);
            message.put(to);
        });
    }

    /// Adds what another process has put.
    pub(crate) fn take(&mut self, from: &mut &[u8]) -> Option<()>
    where
        M: Plain,
    {
        for _ in 0..usize::take(from)? {
            let (window, node, length) = <(u64, u32, u16)>::take(from)?;
            let (extension, rest) = from.split_at_checked(length.into())?;
            *from = rest;
            self.push(window, node as usize, M::take(from)?, extension);
        }
        Some(())
    }

    pub(crate) fn memory(&self) -> usize {
        self.parcels.capacity() * size_of::<Parcel<M>>() + self.extensions.memory()
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
