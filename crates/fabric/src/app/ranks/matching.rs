//! Which message is for which receive: by source and tag, messages in the order in which they came, receives in the order in which
//! they were posted (MPI 4.1, section 3.5).
use std::collections::{BTreeMap, VecDeque};

use backwater_traffic::program::{ANY, INTERNAL};
use borsh::{BorshDeserialize, BorshSerialize};

use super::recorder::After;

/// A receive that waits for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(super) struct Posted {
    pub(super) from: u32,
    pub(super) tag: u32,
    /// Bytes that it has room for.
    pub(super) room: u64,
    pub(super) set: u8,
    /// What its post came after.
    pub(super) after: After,
}

/// A message that has come in, or asks for a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(super) struct Came {
    pub(super) from: u32,
    pub(super) op: u32,
    pub(super) tag: u32,
    pub(super) size: u64,
    /// Its data is here; else the sender waits to hear that there is a receive.
    pub(super) eager: bool,
    /// What brought it.
    pub(super) after: After,
}

/// A receive whose data has been asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
struct Cleared {
    from: u32,
    op: u32,
    set: u8,
}

/// The receives and messages of one rank.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Matching {
    posted: VecDeque<Posted>,
    /// By sender, each with its place in the order of arrival: a rank that many send to may fall far behind some of them.
    unexpected: BTreeMap<u32, VecDeque<(u64, Came)>>,
    arrived: u64,
    waiting: usize,
    cleared: VecDeque<Cleared>,
}

/// Collective operations keep out of the way of what asks for any tag, as the contexts of MPI do.
const fn tag_fits(wanted: u32, tag: u32) -> bool {
    wanted == tag || (wanted == ANY && tag < INTERNAL)
}

impl Matching {
    /// A message comes in: the receive that it is for, or it waits for one.
    pub(super) fn came(&mut self, came: Came) -> Option<Posted> {
        let fits = |posted: &Posted| {
            (posted.from == ANY || posted.from == came.from) && tag_fits(posted.tag, came.tag)
        };
        let place = self.posted.iter().position(fits);
        if place.is_none() {
            self.unexpected.entry(came.from).or_default().push_back((self.arrived, came));
            self.arrived += 1;
            self.waiting += 1;
        }
        place.and_then(|place| self.posted.remove(place))
    }

    /// A receive is posted: the message that it gets, or it waits for one.
    pub(super) fn post(&mut self, posted: Posted) -> Option<Came> {
        let found = match posted.from {
            ANY => self.first_of_any(posted.tag),
            from => {
                self.unexpected.get(&from).and_then(|queue| first_of(queue, posted.tag)).map(|at| (from, at))
            }
        };
        let Some((from, place)) = found else {
            self.posted.push_back(posted);
            return None;
        };
        let taken = self.unexpected.get_mut(&from).and_then(|queue| queue.remove(place));
        self.waiting -= usize::from(taken.is_some());
        taken.map(|(_, came)| came)
    }

    /// The message of this tag that came first: its sender, and its place among those of that one.
    fn first_of_any(&self, tag: u32) -> Option<(u32, usize)> {
        let firsts = self.unexpected.iter().filter_map(|(from, queue)| {
            let place = first_of(queue, tag)?;
            Some((queue[place].0, (*from, place)))
        });
        firsts.min().map(|(_, place)| place)
    }

    /// The data of a message that asked is asked for, for a receive of this set.
    pub(super) fn clear(&mut self, came: &Came, set: u8) {
        self.cleared.push_back(Cleared { from: came.from, op: came.op, set });
    }

    /// That data has come: the set of its receive.
    pub(super) fn data(&mut self, from: u32, op: u32) -> u8 {
        let place = self.cleared.iter().position(|cleared| cleared.from == from && cleared.op == op);
        let cleared = place.and_then(|place| self.cleared.remove(place));
        cleared.expect("data comes only where it was asked for").set
    }

    /// Messages that no receive has been posted for.
    pub(super) const fn unexpected(&self) -> usize {
        self.waiting
    }

    /// The receive that waits for longest, with those of these sets only.
    pub(super) fn first_posted(&self, sets: u64) -> Option<&Posted> {
        self.posted.iter().find(|posted| sets & 1 << posted.set != 0)
    }

    /// Whether the data of a receive of these sets has been asked for, and the rank that it comes from.
    pub(super) fn first_cleared(&self, sets: u64) -> Option<u32> {
        self.cleared.iter().find(|cleared| sets & 1 << cleared.set != 0).map(|cleared| cleared.from)
    }
}

/// The place of the first message of a tag.
fn first_of(queue: &VecDeque<(u64, Came)>, tag: u32) -> Option<usize> {
    queue.iter().position(|(_, came)| tag_fits(tag, came.tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn receive(from: u32, tag: u32, set: u8) -> Posted {
        Posted { from, tag, room: 8, set, after: After::NOTHING }
    }

    const fn message(from: u32, tag: u32, op: u32) -> Came {
        Came { from, op, tag, size: 8, eager: true, after: After::NOTHING }
    }

    #[test]
    fn of_two_receives_that_fit_the_one_posted_first_gets_the_message() {
        let mut matching = Matching::default();
        matching.post(receive(ANY, 5, 0));
        matching.post(receive(2, ANY, 1));
        assert_eq!(matching.came(message(2, 5, 0)).map(|posted| posted.set), Some(0));
        assert_eq!(matching.came(message(2, 5, 0)).map(|posted| posted.set), Some(1));
        assert_eq!(matching.came(message(2, 5, 0)), None);
    }

    #[test]
    fn of_two_messages_that_fit_the_one_that_came_first_is_received_but_tags_may_overtake() {
        let mut matching = Matching::default();
        for (tag, op) in [(1, 10), (2, 11), (1, 12)] {
            matching.came(message(3, tag, op));
        }
        assert_eq!(matching.post(receive(3, 2, 0)).map(|came| came.op), Some(11));
        assert_eq!(matching.post(receive(ANY, ANY, 0)).map(|came| came.op), Some(10));
        assert_eq!(matching.post(receive(4, 1, 0)), None);
        assert_eq!(matching.post(receive(3, 1, 0)).map(|came| came.op), Some(12));
        assert_eq!(matching.unexpected(), 0);
    }

    #[test]
    fn of_the_messages_of_all_senders_any_takes_the_one_that_came_first_and_none_of_a_collective() {
        let mut matching = Matching::default();
        for (from, tag, op) in [(9, INTERNAL | 1, 20), (7, 1, 21), (2, 1, 22), (9, 1, 23)] {
            matching.came(message(from, tag, op));
        }
        let taken = [0, 1, 2].map(|set| matching.post(receive(ANY, ANY, set)).map(|came| came.op));
        assert_eq!(taken, [Some(21), Some(22), Some(23)]);
        assert_eq!(matching.post(receive(ANY, ANY, 3)), None);
        assert_eq!(matching.came(message(1, INTERNAL, 24)), None);
    }

    #[test]
    fn data_that_was_asked_for_goes_to_the_receive_that_asked() {
        let mut matching = Matching::default();
        matching.clear(&message(3, 1, 10), 4);
        matching.clear(&message(3, 2, 11), 5);
        assert_eq!((matching.data(3, 11), matching.data(3, 10)), (5, 4));
    }
}
