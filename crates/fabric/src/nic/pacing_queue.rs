//! Which queue pair of a NIC sends next: of those whose packet is due, the one whose turn it is (round robin), or the one
//! that has been due for longest.
use std::io::{Result, Write};

use backwater_units::relative;

use crate::reuse::relative as view;
use crate::spec::NicScheduler;
use borsh::{BorshDeserialize, BorshSerialize};

/// The queue pairs of a NIC that have something to send, by class.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct PacingQueue {
    lines: Vec<ClassQueue>,
    /// Bit per class: its line is not empty.
    sending: u8,
    in_turn: bool,
    /// By queue pair: its number in the order of their arrival, which is when they first have something to send.
    numbers: Vec<u32>,
    arrived: u32,
    /// The number from which on the next one in turn is looked for: the one after that of the queue pair that sent last.
    from: u32,
}

/// A queue pair whose next packet is due at `due`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Entry {
    pub(super) due: u64,
    /// Breaks ties of `due`: the queue pair's number where they take turns, else that of what it sends.
    number: u32,
    /// The sender whose packet it is.
    pub(super) pair: u32,
}

/// No number yet.
const NEW: u32 = u32::MAX;

impl PacingQueue {
    /// For so many queue pairs, of which the `standing` ones are there from the beginning.
    pub(crate) fn new(
        scheduler: NicScheduler,
        classes: usize,
        pairs: usize,
        standing: impl Iterator<Item = u32>,
    ) -> Self {
        let mut this = Self {
            lines: (0..classes).map(|_| ClassQueue::default()).collect(),
            sending: 0,
            in_turn: scheduler == NicScheduler::RoundRobin,
            numbers: vec![NEW; pairs],
            arrived: 0,
            from: 0,
        };
        for queue_pair in standing {
            this.arrive(queue_pair);
        }
        this
    }

    /// What stands in it, relative to an instant. Numbers count up: what counts is how far they are from the next one.
    pub(crate) fn relative<W: Write>(&self, out: &mut W) -> Result<()> {
        let Self { lines, sending, in_turn, numbers: _, arrived, from } = self;
        (sending, in_turn.then(|| from.wrapping_sub(*arrived))).serialize(out)?;
        for ClassQueue { later, ready } in lines {
            let mut entries = later.entries.clone();
            // The order of a heap says nothing more.
            entries.sort_unstable_by_key(|entry| (entry.due, entry.number));
            let mut at = 0;
            while let Some(number) = ready.at_or_after(at) {
                let (due, pair) = ready.places[number];
                entries.push(Entry { due, number: number as u32, pair });
                at = number + 1;
            }
            (ready.count, entries.len()).serialize(out)?;
            for Entry { due, number, pair } in entries {
                in_turn.then(|| number.wrapping_sub(*arrived)).serialize(out)?;
                relative::instant(&due, out)?;
                view::sender(pair, out)?;
            }
        }
        Ok(())
    }

    /// The number of a queue pair, as far from the next one that is given.
    pub(crate) fn relative_number(&self, queue_pair: u32) -> Option<u32> {
        let number = self.numbers[queue_pair as usize];
        (number != NEW).then(|| number.wrapping_sub(self.arrived))
    }

    /// There is one more queue pair, after all others.
    pub(crate) fn add(&mut self) {
        self.numbers.push(NEW);
    }

    /// The classes with queue pairs in line: a bit each.
    pub(crate) const fn sending(&self) -> u8 {
        self.sending
    }

    /// The number of a queue pair, which it gets when it is first asked for.
    fn arrive(&mut self, queue_pair: u32) -> u32 {
        let number = &mut self.numbers[queue_pair as usize];
        if *number == NEW {
            *number = self.arrived;
            self.arrived += 1;
        }
        *number
    }

    /// The sender `pair` of a queue pair that is not in line gets something to send.
    pub(crate) fn push(&mut self, class: u8, due: u64, pair: u32, queue_pair: u32) {
        let number = if self.in_turn { self.arrive(queue_pair) } else { pair };
        self.push_entry(class, Entry { due, number, pair });
    }

    /// The same of one that was in the line of another class.
    pub(crate) fn push_entry(&mut self, class: u8, entry: Entry) {
        self.lines[usize::from(class)].later.push(entry);
        self.sending |= 1 << class;
    }

    /// Which packet leaves next of those in the `open` classes, on a port that is free at `at`: class, when it is due, sender.
    /// If none is due by then, the one that is due first.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: as a call of its own it costs 3 instructions a hop, with that of `Controller::leaves`"
    )]
    pub(crate) fn next(&mut self, open: u8, at: u64) -> Option<(u8, u64, u32)> {
        let ready = self.sending & open;
        if ready & ready.wrapping_sub(1) != 0 {
            return self.next_of_several(ready, at);
        }
        if ready == 0 {
            return None;
        }
        let class = ready.trailing_zeros() as u8;
        let entry = self.next_of(class, at)?;
        Some((class, entry.due, entry.pair))
    }

    #[inline(never)]
    fn next_of_several(&mut self, mut ready: u8, at: u64) -> Option<(u8, u64, u32)> {
        let mut next = None;
        let mut earliest = (true, u64::MAX);
        while ready != 0 {
            let class = ready.trailing_zeros() as u8;
            ready &= ready - 1;
            let entry = self.next_of(class, at)?;
            let place = if self.in_turn && entry.due <= at {
                (false, u64::from(entry.number.wrapping_sub(self.from)))
            } else {
                (self.in_turn, entry.due)
            };
            if next.is_none() || place < earliest {
                earliest = place;
                next = Some((class, entry.due, entry.pair));
            }
        }
        next
    }

    #[inline]
    fn next_of(&mut self, class: u8, at: u64) -> Option<Entry> {
        let line = &mut self.lines[usize::from(class)];
        if self.in_turn {
            line.advance(at);
        }
        line.first(self.from)
    }

    /// When the first packet of those in the `open` classes is due; 0 stands for the past.
    #[inline]
    pub(crate) fn earliest(&self, open: u8) -> Option<u64> {
        let mut classes = self.sending & open;
        let mut earliest = None;
        while classes != 0 {
            let line = &self.lines[classes.trailing_zeros() as usize];
            classes &= classes - 1;
            let due = if line.ready.count > 0 { 0 } else { line.later.first()?.due };
            earliest = Some(earliest.map_or(due, |earlier: u64| earlier.min(due)));
        }
        earliest
    }

    /// What [`PacingQueue::next`] chose in this class has left, and the one after it is due at `due`.
    #[inline]
    pub(crate) fn sent(&mut self, class: u8, due: u64) {
        let line = &mut self.lines[usize::from(class)];
        if line.ready.count == 0 {
            self.from = line.later.replace_first(due).wrapping_add(1);
        } else {
            self.sent_in_turn(class, due);
        }
    }

    #[inline(never)]
    fn sent_in_turn(&mut self, class: u8, due: u64) {
        let line = &mut self.lines[usize::from(class)];
        let entry = line.take(self.from);
        self.from = entry.number.wrapping_add(1);
        line.later.push(Entry { due, ..entry });
    }

    /// The same; the queue pair goes on with what another sender has.
    pub(crate) fn sent_before(&mut self, class: u8, due: u64, pair: u32) {
        let line = &mut self.lines[usize::from(class)];
        let entry = line.take(self.from);
        self.from = entry.number.wrapping_add(1);
        let number = if self.in_turn { entry.number } else { pair };
        line.later.push(Entry { due, number, pair });
    }

    /// The same; the queue pair has nothing more to send.
    pub(crate) fn sent_last(&mut self, class: u8) {
        let line = &mut self.lines[usize::from(class)];
        self.from = line.take(self.from).number.wrapping_add(1);
        self.leave_if_empty(class);
    }

    /// Takes out what `which` says, in no order.
    pub(crate) fn take_if(&mut self, class: u8, which: impl Fn(u32) -> bool) -> Vec<Entry> {
        let line = &mut self.lines[usize::from(class)];
        while line.ready.count > 0 {
            let entry = line.ready.take(0);
            line.later.push(entry);
        }
        let taken = line.later.take_if(which);
        self.leave_if_empty(class);
        taken
    }

    fn leave_if_empty(&mut self, class: u8) {
        let line = &self.lines[usize::from(class)];
        if line.ready.count == 0 && line.later.first().is_none() {
            self.sending &= !(1 << class);
        }
    }
}

/// The queue pairs of one class. Those in `ready` are due; those in `later` are not, but for its first one while `ready` is empty.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
struct ClassQueue {
    later: PacingHeap,
    ready: Ready,
}

impl ClassQueue {
    /// Those that are due at `at` are ready. One alone stays where it is: there is nobody to take turns with.
    #[inline]
    fn advance(&mut self, at: u64) {
        let alone = self.ready.count == 0 && !self.later.has_two_due(at);
        if !alone && self.later.first().is_some_and(|first| first.due <= at) {
            self.get_ready(at);
        }
    }

    #[inline(never)]
    fn get_ready(&mut self, at: u64) {
        while let Some(entry) = self.later.first()
            && entry.due <= at
        {
            self.later.remove_first();
            self.ready.insert(entry);
        }
    }

    /// The next one in turn, from number `from` on; the one that is due first if none is ready.
    #[inline]
    fn first(&self, from: u32) -> Option<Entry> {
        if self.ready.count == 0 { self.later.first() } else { self.ready.first(from) }
    }

    /// Takes that one out.
    fn take(&mut self, from: u32) -> Entry {
        if self.ready.count > 0 {
            return self.ready.take(from);
        }
        let entry = self.later.first().expect("what was chosen is there");
        self.later.remove_first();
        entry
    }
}

/// Entries by number, and the first one from any number on: a bit for each, and above 64 of them one that says whether there are any.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
struct Ready {
    /// `due` and `pair` by number.
    places: Vec<(u64, u32)>,
    levels: Vec<Vec<u64>>,
    count: u32,
}

impl Ready {
    fn insert(&mut self, entry: Entry) {
        let mut at = entry.number as usize;
        if at >= self.places.len() {
            self.grow(at + 1);
        }
        self.places[at] = (entry.due, entry.pair);
        self.count += 1;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            let before = *word;
            *word |= 1 << (at % 64);
            if before != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// Makes room for so many numbers: no more than queue pairs, so that it comes to rest.
    #[cold]
    fn grow(&mut self, count: usize) {
        let count = count.next_power_of_two().max(64);
        self.places.resize(count, (0, 0));
        let mut bits = std::mem::take(&mut self.levels).into_iter().next().unwrap_or_default();
        bits.resize(count / 64, 0);
        while bits.len() > 1 {
            let word = |words: &[u64]| {
                (0..).zip(words).fold(0, |bits, (at, word)| bits | u64::from(*word != 0) << at)
            };
            let above = bits.chunks(64).map(word).collect();
            self.levels.push(std::mem::replace(&mut bits, above));
        }
        self.levels.push(bits);
    }

    /// The first one from `from` on, or from the beginning.
    fn first(&self, from: u32) -> Option<Entry> {
        let number = self.at_or_after(from as usize).or_else(|| self.at_or_after(0))?;
        let (due, pair) = self.places[number];
        Some(Entry { due, number: number as u32, pair })
    }

    fn at_or_after(&self, mut at: usize) -> Option<usize> {
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(at / 64)? & (u64::MAX << (at % 64));
            if word != 0 {
                at = at / 64 * 64 + word.trailing_zeros() as usize;
                return Some(
                    self.levels[..height]
                        .iter()
                        .rev()
                        .fold(at, |at, below| at * 64 + below[at].trailing_zeros() as usize),
                );
            }
            at = at / 64 + 1;
        }
        None
    }

    /// Takes that one out; there is one.
    fn take(&mut self, from: u32) -> Entry {
        let entry = self.first(from).expect("one is ready");
        self.count -= 1;
        let mut at = entry.number as usize;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                break;
            }
            at /= 64;
        }
        entry
    }
}

/// A binary heap whose first entry is replaced in place when its queue pair has sent.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
struct PacingHeap {
    entries: Vec<Entry>,
}

impl Entry {
    #[inline]
    const fn is_before(&self, other: &Self) -> bool {
        self.due < other.due || (self.due == other.due && self.number < other.number)
    }
}

impl PacingHeap {
    /// The earliest entry; of those due at the same time the one with the lowest number.
    #[inline]
    fn first(&self) -> Option<Entry> {
        self.entries.first().copied()
    }

    /// Whether more than one is due at `at`, given that the first one is.
    #[inline]
    fn has_two_due(&self, at: u64) -> bool {
        self.entries.iter().skip(1).take(2).any(|entry| entry.due <= at)
    }

    fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
        let mut child = self.entries.len() - 1;
        while child > 0 {
            let parent = (child - 1) / 2;
            if !self.entries[child].is_before(&self.entries[parent]) {
                break;
            }
            self.entries.swap(parent, child);
            child = parent;
        }
    }

    /// The first one has sent and is due again at `due`. Returns its number.
    #[inline]
    fn replace_first(&mut self, due: u64) -> u32 {
        let first = &mut self.entries[0];
        first.due = due;
        let number = first.number;
        self.sink();
        number
    }

    fn remove_first(&mut self) {
        self.entries.swap_remove(0);
        self.sink();
    }

    /// Takes out what `which` says, in no order.
    fn take_if(&mut self, which: impl Fn(u32) -> bool) -> Vec<Entry> {
        let (taken, kept) = self.entries.iter().partition(|entry| which(entry.pair));
        self.entries = kept;
        // What is in order is a heap.
        self.entries.sort_unstable_by_key(|entry| (entry.due, entry.number));
        taken
    }

    #[inline]
    fn sink(&mut self) {
        let count = self.entries.len();
        let mut parent = 0;
        loop {
            let left = 2 * parent + 1;
            if left >= count {
                return;
            }
            let right = left + 1;
            let child = if right < count && self.entries[right].is_before(&self.entries[left]) {
                right
            } else {
                left
            };
            if !self.entries[child].is_before(&self.entries[parent]) {
                return;
            }
            self.entries.swap(parent, child);
            parent = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u8 = u8::MAX;

    fn due(scheduler: NicScheduler, classes: usize, pairs: usize) -> PacingQueue {
        PacingQueue::new(scheduler, classes, pairs, std::iter::empty())
    }

    /// Serves `count` packets of queue pairs that are due again a packet of 100 later.
    fn serve(due: &mut PacingQueue, slots: std::ops::Range<u64>) -> Vec<u32> {
        slots
            .map(|slot| {
                let (class, at, pair) = due.next(ALL, slot * 100).expect("someone has something to send");
                assert!(at <= slot * 100);
                due.sent(class, slot * 100 + 100);
                pair
            })
            .collect()
    }

    #[test]
    fn three_queue_pairs_at_line_rate_share_the_link_in_turn() {
        for scheduler in [NicScheduler::RoundRobin, NicScheduler::LongestDue] {
            let mut due = due(scheduler, 1, 3);
            (0..3).for_each(|pair| due.push(0, 0, pair, pair));
            assert_eq!(serve(&mut due, 0..6), [0, 1, 2, 0, 1, 2]);
        }
    }

    #[test]
    fn a_queue_pair_that_arrives_is_the_last_of_the_round() {
        // It arrives while queue pair 0 has its turn. Due for longest are those that were there before it, in any case; and in
        // the round after it a slow one keeps its place, which those that are due for longest take from it.
        let mut turns = due(NicScheduler::RoundRobin, 1, 4);
        (0..3).for_each(|pair| turns.push(0, 0, pair, pair));
        assert_eq!(serve(&mut turns, 0..1), [0]);
        turns.push(0, 50, 3, 3);
        assert_eq!(serve(&mut turns, 1..9), [1, 2, 3, 0, 1, 2, 3, 0]);
    }

    #[test]
    fn the_turn_goes_on_after_the_one_that_sent_last_and_not_to_the_one_that_waits_longest() {
        let (mut turns, mut longest) =
            (due(NicScheduler::RoundRobin, 1, 3), due(NicScheduler::LongestDue, 1, 3));
        for due in [&mut turns, &mut longest] {
            for (pair, at) in [(0, 300), (1, 100), (2, 200)] {
                due.push(0, at, pair, pair);
            }
        }
        let order = |due: &mut PacingQueue| -> Vec<u32> {
            (0..3)
                .map(|_| {
                    let (class, _, pair) = due.next(ALL, 300).expect("three are due");
                    due.sent_last(class);
                    pair
                })
                .collect()
        };
        assert_eq!(turns.next(ALL, 99), Some((0, 100, 1)), "none is due: the first that will be");
        assert_eq!((order(&mut turns), order(&mut longest)), (vec![0, 1, 2], vec![1, 2, 0]));
        assert_eq!((turns.next(ALL, 300), turns.earliest(ALL)), (None, None));
    }

    #[test]
    fn a_queue_pair_that_comes_back_keeps_its_place_in_the_round() {
        let mut due = due(NicScheduler::RoundRobin, 1, 3);
        (0..3).for_each(|pair| due.push(0, 0, pair, pair));
        assert_eq!(due.next(ALL, 0), Some((0, 0, 0)));
        due.sent_last(0); // its window is full
        due.push(0, 150, 0, 0); // an ACK has opened it
        assert_eq!(serve(&mut due, 2..6), [1, 2, 0, 1]);
    }

    #[test]
    fn a_connection_has_one_turn_for_all_its_messages() {
        let mut due = due(NicScheduler::RoundRobin, 1, 2);
        due.push(0, 0, 0, 0);
        due.push(0, 0, 1, 1);
        assert_eq!(due.next(ALL, 0), Some((0, 0, 0)));
        due.sent_before(0, 0, 7);
        assert_eq!(due.next(ALL, 100), Some((0, 0, 1)));
        due.sent(0, 100);
        assert_eq!(due.next(ALL, 200), Some((0, 0, 7)));
    }

    #[test]
    fn queue_pairs_that_are_there_from_the_beginning_are_served_before_those_that_arrive() {
        let mut due = PacingQueue::new(NicScheduler::RoundRobin, 1, 3, [2, 0].into_iter());
        (0..3).for_each(|pair| due.push(0, 0, pair, pair));
        assert_eq!(serve(&mut due, 0..4), [2, 0, 1, 2]);
    }

    #[test]
    fn one_round_goes_over_all_classes_whose_gate_is_open() {
        let mut due = due(NicScheduler::RoundRobin, 3, 4);
        [1, 2, 1, 2].into_iter().zip(0..).for_each(|(class, pair)| due.push(class, 0, pair, pair));
        assert_eq!(serve(&mut due, 0..5), [0, 1, 2, 3, 0]);
        // While the gate of class 1 is closed the others go on from where they are, and then it is 2's turn again.
        let at = 500;
        for pair in [1, 3, 1] {
            assert_eq!(due.next(0b100, at).map(|(_, _, next)| next), Some(pair));
            due.sent(2, at);
        }
        assert_eq!(due.next(ALL, at).map(|(_, _, next)| next), Some(2));
    }

    #[test]
    fn a_finished_queue_pair_leaves_the_others_in_order() {
        let mut heap = PacingHeap::default();
        for (due, number) in [(30, 0), (10, 1), (20, 2), (5, 3)] {
            heap.push(Entry { due, number, pair: number });
        }
        let mut order = Vec::new();
        while let Some(entry) = heap.first() {
            order.push(entry.pair);
            heap.remove_first();
        }
        assert_eq!(order, [3, 1, 2, 0]);
    }

    #[test]
    fn queue_pairs_that_change_the_class_keep_their_place_in_time_and_in_the_round() {
        let drain = |due: &mut PacingQueue, class: u8, at: u64| {
            let mut order = Vec::new();
            while let Some((_, _, pair)) = due.next(1 << class, at) {
                order.push(pair);
                due.sent_last(class);
            }
            order
        };
        for (scheduler, left, moved) in [
            (NicScheduler::LongestDue, vec![7, 5, 3, 1], vec![8, 6, 9, 4, 2, 0]),
            // After 7, the last of the others, it is 8's turn.
            (NicScheduler::RoundRobin, vec![1, 3, 5, 7], vec![8, 9, 0, 2, 4, 6]),
        ] {
            let mut due = due(scheduler, 2, 10);
            (0..9).for_each(|pair| due.push(0, 100 - u64::from(pair), pair, pair));
            due.push(1, 95 - 1, 9, 9);
            assert!(due.next(1, 96).is_some());
            for entry in due.take_if(0, |pair| pair % 2 == 0) {
                due.push_entry(1, entry);
            }
            assert_eq!((drain(&mut due, 0, 200), drain(&mut due, 1, 200)), (left, moved), "{scheduler:?}");
        }
    }

    #[test]
    fn turns_of_ten_thousand_queue_pairs_are_those_of_a_list() {
        let numbers: Vec<u32> = (0..10_000).map(|i| i * 7919 % 10_000).filter(|n| n % 3 != 0).collect();
        let mut ready = Ready::default();
        for number in &numbers {
            ready.insert(Entry { due: 0, number: *number, pair: number + 1 });
        }
        let mut list = numbers.clone();
        list.sort_unstable();
        let mut from = 4321;
        while ready.count > 0 {
            let at = list.partition_point(|number| *number < from) % list.len();
            let entry = ready.take(from);
            assert_eq!((entry.number, entry.pair), (list[at], list[at] + 1));
            list.remove(at);
            from = (entry.number + 1237) % 11_000;
        }
        assert!(list.is_empty() && ready.levels.iter().flatten().all(|word| *word == 0));
    }
}
