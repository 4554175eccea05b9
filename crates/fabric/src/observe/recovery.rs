//! Where the time of a flow goes whose queue pair sends packets again: until the copy of its last packet left that its receiver took.
//!
//! The parts of [`SourceDelay`] are those of packets that leave for the first time. What passes until a copy has left is in none of
//! them: waiting for a NACK or a timeout, and sending again. Copies have no name on the wire, as in a network: which one arrived is
//! told by when each of them left and by where others were lost.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use backwater_engine::Engine;

use crate::link::drops::LostLast;
use crate::link::ports::Ports;
use crate::node::FabricNode;
use crate::observe::source_delay::SourceDelay;
use borsh::{BorshDeserialize, BorshSerialize};

/// What the source knows of a flow, in picoseconds.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Recovery {
    /// Spent until copies had left.
    spent: u64,
    /// The same, when the last packet left for the first time.
    before_last: u64,
    /// The parts of the source's delay when the latest packet had left: paced, held, queued.
    known: [u64; 3],
    /// When the latest copy that the queue pair sent was off the wire. Its first sender has it.
    until: u64,
    /// When the last packet started to leave for the first time.
    last: Option<u64>,
    /// And again.
    copies: Vec<u64>,
}

/// A packet that leaves: whether it is a copy, when it starts, and how long it takes on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaves {
    pub(crate) again: bool,
    pub(crate) now: u64,
    pub(crate) wire: u64,
    /// Whether it is its flow's last.
    pub(crate) last: bool,
}

/// A copy that was lost, and the node where that was.
pub(crate) type Lost = (u32, LostLast);

/// Flows of which packets were sent again, by number; empty where nothing is.
///
/// A source notes it before the copy leaves: where two copies can meet, all know it. Others may know it sooner or later, as threads
/// have it, so that it may save a search and decide nothing.
#[derive(Debug, Default)]
pub(crate) struct Repeated(Vec<AtomicBool>);

impl Repeated {
    /// Of so many flows.
    pub(crate) fn new(flows: usize) -> Self {
        Self((0..flows).map(|_| AtomicBool::new(false)).collect())
    }

    /// Where other processes have sources, nobody knows what these note: it may have been of all.
    pub(crate) fn unknown(&self) {
        self.0.iter().for_each(|flow| flow.store(true, Relaxed));
    }

    /// There are flows besides.
    pub(crate) fn add(&mut self, flows: usize) {
        self.0.extend((0..flows).map(|_| AtomicBool::new(false)));
    }

    /// As they are, by flow.
    pub(crate) fn all(&self) -> Vec<bool> {
        self.0.iter().map(|flow| flow.load(Relaxed)).collect()
    }

    /// What [`Self::all`] gave of the same flows; whether there are as many.
    pub(crate) fn set(&self, all: &[bool]) -> bool {
        self.0.iter().zip(all).for_each(|(flow, repeated)| flow.store(*repeated, Relaxed));
        self.0.len() == all.len()
    }

    /// A packet of a flow is sent again.
    pub(crate) fn note(&self, flow: u32) {
        self.0[flow as usize].store(true, Relaxed);
    }

    /// Whether that may have been.
    pub(crate) fn has(&self, flow: u32) -> bool {
        self.0[flow as usize].load(Relaxed)
    }
}

impl Clone for Repeated {
    fn clone(&self) -> Self {
        Self(self.0.iter().map(|flow| AtomicBool::new(flow.load(Relaxed))).collect())
    }
}

impl Recovery {
    /// The latest copy that the queue pair sent was off the wire at `until`.
    pub(crate) const fn copied(&mut self, until: u64) {
        self.until = until;
    }

    /// When that was.
    pub(crate) const fn copied_until(&self) -> u64 {
        self.until
    }

    /// A packet leaves, whose wait is in `delay` already. The queue pair was busy with copies until `until`.
    pub(crate) fn leaves(&mut self, packet: &Leaves, delay: &mut SourceDelay, until: u64) {
        let [_, paced, held, queued] = delay.parts();
        let [paced_before, held_before, queued_before] = self.known;
        let ready = packet.now - (held - held_before) - (queued - queued_before);
        let since = ready - (paced - paced_before);
        if packet.again {
            self.spent += packet.now + packet.wire - since;
            delay.set(self.known);
        } else {
            let copies = until.min(ready).saturating_sub(since);
            self.spent += copies;
            delay.set([paced - copies, held, queued]);
            self.known = [paced - copies, held, queued];
        }
        if packet.last {
            if self.last.is_some() {
                self.copies.push(packet.now);
            } else {
                (self.last, self.before_last) = (Some(packet.now), self.spent);
            }
        }
    }

    /// What was spent until the copy of the last packet left that was at its receiver at `arrived`; in all of a flow that has not ended.
    /// The first switch is `next`, and knows a packet `passes` after it has started to leave.
    pub(crate) fn until_counted(&self, lost: &[Lost], arrived: u64, (next, passes): (u32, u64)) -> u64 {
        let (Some(first), true) = (self.last, arrived < u64::MAX) else { return self.spent };
        let mut alive: Vec<u64> = std::iter::once(first).chain(self.copies.iter().copied()).collect();
        for (node, lost) in lost.iter().filter(|(_, lost)| lost.at <= arrived) {
            let under_way = alive.partition_point(|left| left + passes <= lost.at);
            let just_came = alive.iter().position(|left| *node == next && left + passes == lost.at);
            // Those that stand in the node came before it. Of others the oldest is the likeliest.
            let at = just_came.unwrap_or((lost.ahead as usize).min(under_way.saturating_sub(1)));
            if alive.len() > 1 && at < under_way {
                alive.remove(at);
            }
        }
        self.before_last + alive[0].min(arrived) - first
    }
}

/// The copies of last packets that were lost, by flow, in the order of time.
pub(crate) fn lost(engine: &Engine<FabricNode>) -> BTreeMap<u32, Vec<Lost>> {
    let mut all: BTreeMap<u32, Vec<Lost>> = BTreeMap::new();
    let of = |ports: &Ports| ports.lost_last().iter().map(|lost| (ports.node(), *lost)).collect::<Vec<_>>();
    let mut lost: Vec<Lost> =
        engine.processes().gather(engine.nodes().iter().flat_map(|node| of(node.ports())).collect());
    lost.sort_by_key(|(node, _)| *node);
    for (node, lost) in lost {
        all.entry(lost.flow).or_default().push((node, lost));
    }
    for of in all.values_mut() {
        of.sort_by_key(|(_, lost)| lost.at);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: (u32, u64) = (7, 20);

    /// A source whose packets take 10 on the wire.
    #[derive(Default)]
    struct Source {
        delay: SourceDelay,
        recovery: Recovery,
        copied: u64,
    }

    impl Source {
        fn sends(&mut self, due: u64, now: u64, again: bool, last: bool) {
            self.delay.sent(due, now, 10, 0);
            self.recovery.leaves(&Leaves { again, now, wire: 10, last }, &mut self.delay, self.copied);
            if again {
                self.copied = now + 10;
            }
        }

        /// Its start is 100: the parts, and what packets but the last take on the wire, end where that leaves.
        fn ends(&self, lost: &[Lost], arrived: u64, packets: u64) -> u64 {
            let parts: u64 = self.delay.parts().iter().sum();
            100 + parts + self.recovery.until_counted(lost, arrived, FIRST) + (packets - 1) * 10
        }
    }

    fn three() -> Source {
        let mut source = Source::default();
        source.delay.start(100, 0);
        for (number, now) in [100, 110, 125].into_iter().enumerate() {
            source.sends(now, now, false, number == 2);
        }
        source
    }

    const fn lost(node: u32, at: u64, ahead: u32) -> Lost {
        (node, LostLast { flow: 0, seq: 2, at, ahead })
    }

    #[test]
    fn repeated_is_what_was_noted_whoever_has_a_copy_of_the_list() {
        let mut repeated = Repeated::new(2);
        repeated.note(1);
        let before = repeated.clone();
        repeated.add(1);
        repeated.note(2);
        repeated.note(0);
        assert_eq!([0, 1, 2].map(|flow| repeated.has(flow)), [true; 3]);
        assert_eq!([0, 1].map(|flow| before.has(flow)), [false, true]);
    }

    #[test]
    fn copies_are_in_no_part_but_their_own() {
        let mut source = three();
        assert_eq!((source.delay.parts(), source.ends(&[], 200, 3)), ([0, 5, 0, 0], 125));
        // A NACK: the second and the third are sent again, the third twice.
        source.sends(300, 300, true, false);
        source.sends(310, 315, true, true);
        source.sends(800, 800, true, true);
        assert_eq!(source.delay.parts(), [0, 5, 0, 0]);
        let once = [lost(9, 180, 0)];
        assert_eq!(source.ends(&once, 400, 3), 315);
        assert_eq!(source.ends(&[once[0], lost(9, 370, 0)], 900, 3), 800);
    }

    #[test]
    fn new_packets_behind_copies_of_others_wait_for_these() {
        let mut source = three();
        source.copied = 150;
        // Due at 160: until 150 the queue pair sent others again, and 10 are pacing.
        source.sends(160, 160, false, true);
        assert_eq!((source.delay.parts(), source.recovery.spent), ([0, 15, 0, 0], 15));
    }

    #[test]
    fn the_copy_that_counts_is_the_first_one_that_was_not_lost() {
        let mut source = three();
        for now in [300, 500] {
            source.sends(now, now, true, true);
        }
        // The second one is lost at the first switch, where it comes after 20: the first one was on its way all the time.
        assert_eq!(source.ends(&[lost(7, 320, 0)], 600, 3), 125);
        // Farther away one is lost that came behind another.
        assert_eq!(source.ends(&[lost(9, 400, 1)], 600, 3), 125);
        // What is lost after the arrival does not matter; of others the oldest is taken for the one that was lost.
        assert_eq!(source.ends(&[lost(9, 400, 0), lost(9, 601, 0)], 600, 3), 300);
        assert_eq!(source.ends(&[lost(9, 400, 0), lost(9, 590, 0)], 600, 3), 500);
    }
}
