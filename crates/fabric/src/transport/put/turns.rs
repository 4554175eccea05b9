//! Whose turn it is: the PUT streams of a host that may send a new packet, packet by packet in turn.
use crate::saved::{load_heap, save_heap};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use borsh::{BorshDeserialize, BorshSerialize};

/// Where a stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
enum Place {
    /// It has nothing to send, or may not.
    Away,
    Ready,
    /// Its next packet is there at that time.
    Later(u64),
}

/// Streams by number. One that is ready may have lost its right to send since: whoever serves it looks.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Turns {
    /// By class: (since when, stream).
    ready: Vec<VecDeque<(u64, u32)>>,
    /// Bit per class: a stream is ready.
    lined: u8,
    /// (when, stream, class); out of date if the stream stands elsewhere.
    #[borsh(serialize_with = "save_heap", deserialize_with = "load_heap")]
    later: BinaryHeap<Reverse<(u64, u32, u8)>>,
    places: Vec<Place>,
}

impl Turns {
    /// Of no stream yet.
    pub(crate) fn new(classes: usize) -> Self {
        Self { ready: vec![VecDeque::new(); classes], lined: 0, later: BinaryHeap::new(), places: Vec::new() }
    }

    /// There is one more stream, after all others.
    pub(crate) fn add_stream(&mut self) {
        self.places.push(Place::Away);
    }

    /// A stream may send a packet that is there at `due`. One that waits for its turn keeps it.
    pub(crate) fn add(&mut self, stream: u32, class: u8, due: u64, now: u64) {
        let place = &mut self.places[stream as usize];
        match *place {
            Place::Ready => {}
            Place::Later(at) if at <= due => {}
            _ if due <= now => {
                self.line_up(stream, class, now);
            }
            _ => {
                *place = Place::Later(due);
                self.later.push(Reverse((due, stream, class)));
            }
        }
    }

    /// Streams whose packet is there now get in line, in the order of those times.
    pub(crate) fn advance(&mut self, now: u64) {
        while let Some(&Reverse((due, stream, class))) = self.later.peek()
            && due <= now
        {
            self.later.pop();
            if self.places[stream as usize] == Place::Later(due) {
                self.line_up(stream, class, due);
            }
        }
    }

    fn line_up(&mut self, stream: u32, class: u8, since: u64) {
        self.places[stream as usize] = Place::Ready;
        self.ready[usize::from(class)].push_back((since, stream));
        self.lined |= 1 << class;
    }

    /// The stream that has waited for its turn for longest in one of these classes: since when, which, in which class.
    #[inline]
    pub(crate) fn first(&self, open: u8) -> Option<(u64, u32, u8)> {
        let mut classes = self.lined & open;
        let mut first = None;
        while classes != 0 {
            let class = classes.trailing_zeros() as u8;
            classes &= classes - 1;
            let (since, stream) = *self.ready[usize::from(class)].front()?;
            let own = (since, stream, class);
            first = Some(first.map_or(own, |other| own.min(other)));
        }
        first
    }

    /// The stream whose turn it was is not in line any more.
    pub(crate) fn leave(&mut self, class: u8) {
        let ready = &mut self.ready[usize::from(class)];
        if let Some((_, stream)) = ready.pop_front() {
            self.places[stream as usize] = Place::Away;
        }
        if ready.is_empty() {
            self.lined &= !(1 << class);
        }
    }

    /// A stream is not in line any more, wherever it stands.
    pub(crate) fn remove(&mut self, stream: u32) {
        self.places[stream as usize] = Place::Away;
        for (class, ready) in self.ready.iter_mut().enumerate() {
            ready.retain(|(_, other)| *other != stream);
            if ready.is_empty() {
                self.lined &= !(1 << class);
            }
        }
    }

    /// When the next stream gets in line.
    pub(crate) fn next(&mut self) -> Option<u64> {
        while let Some(&Reverse((due, stream, _))) = self.later.peek() {
            if self.places[stream as usize] == Place::Later(due) {
                return Some(due);
            }
            self.later.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(streams: usize, classes: usize) -> Turns {
        let mut turns = Turns::new(classes);
        (0..streams).for_each(|_| turns.add_stream());
        turns
    }

    fn served(turns: &mut Turns, count: usize) -> Vec<u32> {
        (0..count)
            .map(|_| {
                let (_, stream, _) = turns.first(2).expect("someone is in line");
                turns.leave(1);
                turns.add(stream, 1, 0, 100);
                stream
            })
            .collect()
    }

    #[test]
    fn streams_send_packet_by_packet_in_turn() {
        let mut turns = of(3, 2);
        for stream in [2, 0, 1] {
            turns.add(stream, 1, 0, 10);
        }
        turns.add(0, 1, 5, 10);
        assert_eq!(served(&mut turns, 7), [2, 0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn of_the_classes_that_may_send_the_stream_goes_first_that_has_waited_for_longest() {
        let mut turns = of(2, 3);
        turns.add(0, 2, 0, 10);
        turns.add(1, 1, 0, 20);
        assert_eq!(turns.first(0b110), Some((10, 0, 2)));
        assert_eq!(turns.first(0b010), Some((20, 1, 1)));
        turns.leave(2);
        assert_eq!((turns.first(0b110), turns.first(0b100)), (Some((20, 1, 1)), None));
    }

    #[test]
    fn a_stream_gets_in_line_when_its_packet_is_there() {
        let mut turns = of(3, 2);
        turns.add(0, 1, 90, 10);
        turns.add(1, 1, 40, 10);
        turns.add(1, 1, 60, 10);
        assert_eq!((turns.first(2), turns.next()), (None, Some(40)));
        turns.advance(50);
        assert_eq!((turns.first(2), turns.next()), (Some((40, 1, 1)), Some(90)));
        turns.add(0, 1, 0, 55);
        turns.advance(100);
        turns.leave(1);
        assert_eq!((turns.first(2), turns.next()), (Some((55, 0, 1)), None));
        turns.leave(1);
        assert_eq!(turns.first(2), None, "not in line twice");
    }
}
