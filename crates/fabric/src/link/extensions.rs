//! What travels beside the frames that a node holds, by what a frame is: its kind, flow and number. So a frame may wait in any
//! queue of the node and be copied from one to the other, and frames without an extension have nothing to do with it.
use std::collections::BTreeMap;

use backwater_engine::MAX_EXTENSION;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::packet::Packet;

/// Kind, flow, number; and which of several frames that agree in all that, as a packet that is sent again may.
type Name = (u8, u32, u32, u32);

/// Bytes beside a frame.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Extension {
    len: u16,
    bytes: [u8; MAX_EXTENSION],
}

impl Extension {
    const EMPTY: Self = Self { len: 0, bytes: [0; MAX_EXTENSION] };

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Adds `part` at the end, if there is room for it.
    fn append(&mut self, part: &[u8]) {
        let end = usize::from(self.len) + part.len();
        if let Some(room) = self.bytes.get_mut(usize::from(self.len)..end) {
            room.copy_from_slice(part);
            self.len = end as u16;
        }
    }
}

/// The extensions of a node's frames.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Extensions {
    /// Their places in `held`.
    places: BTreeMap<Name, u32>,
    held: Vec<Extension>,
    free: Vec<u32>,
}

impl Extensions {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// From now on [`Self::is_empty`] is false: whoever asks before a frame leaves is to look at all of them.
    pub(crate) fn always(&mut self) {
        self.places.insert(NOBODY, u32::MAX);
    }

    /// What came beside a frame that is about to come; of several that are alike it is the last.
    pub(crate) fn put(&mut self, frame: &Packet, bytes: &[u8]) {
        let (kind, flow, seq, _) = name(frame);
        let last = self.places.range((kind, flow, seq, 0)..=(kind, flow, seq, u32::MAX)).next_back();
        let copy = last.map_or(0, |((.., copy), _)| copy + 1);
        let mut extension = Extension::EMPTY;
        extension.append(bytes);
        let place = self.free.pop().unwrap_or(self.held.len() as u32);
        match self.held.get_mut(place as usize) {
            Some(slot) => *slot = extension,
            None => self.held.push(extension),
        }
        self.places.insert((kind, flow, seq, copy), place);
    }

    /// The first of the frames that are alike.
    fn first(&self, frame: &Packet) -> Option<(Name, u32)> {
        let (kind, flow, seq, _) = name(frame);
        let mut alike = self.places.range((kind, flow, seq, 0)..=(kind, flow, seq, u32::MAX));
        alike.next().map(|(name, place)| (*name, *place))
    }

    /// Writes into a frame, after what is there.
    pub(crate) fn append(&mut self, frame: &Packet, part: &[u8]) {
        match self.first(frame) {
            Some((_, place)) => self.held[place as usize].append(part),
            None => self.put(frame, part),
        }
    }

    /// The frame leaves the node, or ends here.
    #[inline]
    pub(crate) fn take(&mut self, frame: &Packet) -> Option<Extension> {
        if self.is_empty() { None } else { self.take_held(frame) }
    }

    fn take_held(&mut self, frame: &Packet) -> Option<Extension> {
        let (name, place) = self.first(frame)?;
        self.places.remove(&name);
        self.free.push(place);
        Some(self.held[place as usize])
    }

    /// What came with `frame` goes back with its `answer`.
    #[cold]
    pub(crate) fn answer(&mut self, frame: &Packet, answer: &Packet) {
        if let Some(extension) = self.take(frame) {
            self.put(answer, extension.bytes());
        }
    }

    /// Bytes held.
    pub(crate) const fn memory(&self) -> usize {
        self.held.capacity() * size_of::<Extension>()
    }
}

/// No frame is so: it keeps the list from being empty.
const NOBODY: Name = (u8::MAX, u32::MAX, u32::MAX, u32::MAX);

const fn name(frame: &Packet) -> Name {
    (frame.kind as u8, frame.flow, frame.seq, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Kind;

    #[test]
    fn each_frame_takes_what_came_with_it_and_alike_ones_go_in_the_order_in_which_they_came() {
        let frame = |kind, flow, seq| Packet { flow, seq, kind, ..Packet::NONE };
        let (one, other, ack) = (frame(Kind::Data, 1, 7), frame(Kind::Data, 1, 8), frame(Kind::Ack, 1, 7));
        let mut extensions = Extensions::default();
        extensions.put(&one, &[1]);
        extensions.put(&other, &[2]);
        extensions.put(&one, &[3]);
        extensions.append(&one, &[4, 5]);
        let taken = |it: Option<Extension>| it.map(|it| it.bytes().to_vec());
        assert_eq!(taken(extensions.take(&ack)), None);
        assert_eq!(taken(extensions.take(&one)), Some(vec![1, 4, 5]));
        extensions.answer(&other, &ack);
        assert_eq!(taken(extensions.take(&other)), None);
        assert_eq!(taken(extensions.take(&one)), Some(vec![3]));
        assert_eq!(taken(extensions.take(&ack)), Some(vec![2]));
        assert!(extensions.is_empty());
    }

    #[test]
    fn a_part_for_which_there_is_no_room_is_not_written() {
        let mut extension = Extension::EMPTY;
        for part in 0..10_u8 {
            extension.append(&[part; 60]);
        }
        assert_eq!(extension.bytes().len(), 240);
    }
}
