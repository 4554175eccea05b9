//! The reference engine: one global priority queue, the textbook way. Slow and short; the fast engine must give
//! the same trajectory.
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::engine::{Limits, Stop};
use crate::shard::Counts;
use crate::{Key, MAX_EXTENSION, Message, Node, Place, Post};

/// (time, order inside the node, node, message or `LOCAL`)
type Entry = Reverse<(u64, u16, u32, u32)>;
const LOCAL: u32 = u32::MAX;

#[derive(Clone)]
pub(crate) struct Heap<N: Node> {
    pub(crate) nodes: Vec<N>,
    entries: BinaryHeap<Entry>,
    messages: Vec<N::Message>,
    free: Vec<u32>,
    /// What travels beside some of the messages.
    extensions: BTreeMap<u32, Vec<u8>>,
    pub(crate) tally: Counts,
    recorded: u64,
    /// A time in the window in whose middle a pause was.
    cut: Option<u64>,
    pub(crate) width: u64,
    /// Periods of the grid.
    pub(crate) grid: u64,
    /// Nodes with an event in the period that ends then.
    touched: Vec<bool>,
    open_until: u64,
    /// From when on messages are kept as they take effect, and those that were, with their nodes.
    pub(crate) keep_from: u64,
    pub(crate) kept: Vec<(u32, N::Message)>,
}

struct HeapPost<'a, M> {
    sent: &'a mut Vec<(u32, M, Vec<u8>)>,
    tally: &'a mut Counts,
    earliest: u64,
}

impl<M: Message> Post<M> for HeapPost<'_, M> {
    fn send(&mut self, to: Place, time: u64, message: &M, patch: impl FnOnce(&mut M)) {
        self.send_with(to, time, message, &[], patch);
    }
    fn send_with(&mut self, to: Place, time: u64, message: &M, extension: &[u8], patch: impl FnOnce(&mut M)) {
        assert!(time >= self.earliest, "a message takes effect sooner than the lookahead allows");
        assert!(extension.len() <= MAX_EXTENSION, "an extension has at most {MAX_EXTENSION} bytes");
        let mut message = *message;
        patch(&mut message);
        self.sent.push((to.index() as u32, message, extension.to_vec()));
    }
    fn complete(&mut self) {
        self.tally.completed += 1;
    }
    fn fail(&mut self) {
        self.tally.failed = true;
    }
    fn recorded(&mut self, records: u64) {
        self.tally.recorded += records;
    }
}

impl<N: Node> Heap<N> {
    pub(crate) fn new(nodes: Vec<N>, width: u64) -> Self {
        let mut heap = Self {
            entries: BinaryHeap::new(),
            messages: Vec::new(),
            free: Vec::new(),
            extensions: BTreeMap::new(),
            tally: Counts::default(),
            recorded: 0,
            cut: None,
            width,
            grid: width,
            touched: vec![false; nodes.len()],
            open_until: u64::MAX,
            keep_from: u64::MAX,
            kept: Vec::new(),
            nodes,
        };
        for node in 0..heap.nodes.len() {
            heap.announce(node as u32);
        }
        heap
    }

    /// Bytes held for messages under way.
    pub(crate) fn message_bytes(&self) -> usize {
        self.messages.capacity() * size_of::<N::Message>() + self.entries.capacity() * size_of::<Entry>()
    }

    /// The messages that have not taken effect, with their nodes.
    pub(crate) fn pending(&self) -> impl Iterator<Item = (u32, N::Message)> {
        let entries = self.entries.iter().filter(|Reverse((_, _, _, message))| *message != LOCAL);
        entries.map(|Reverse((_, _, node, message))| (*node, self.messages[*message as usize]))
    }

    /// The node has another next event of its own, or the same.
    pub(crate) fn announce(&mut self, node: u32) {
        let key = self.nodes[node as usize].local_key();
        if key != Key::NEVER {
            self.entries.push(Reverse((key.time, key.order, node, LOCAL)));
        }
    }

    /// The end of the next window in which something happens at `now`; `u64::MAX`: nothing is pending.
    pub(crate) fn next_window_end(&self, now: u64) -> u64 {
        // What was moved since it was announced may make this too early, which does no harm.
        let next = self.entries.peek().map(|Reverse((time, ..))| *time);
        next.map_or(u64::MAX, |time| (time.max(now) / self.width + 1) * self.width)
    }

    /// Runs until a limit is met, always to the end of a window (or to `limits.until`).
    pub(crate) fn run(&mut self, world: &N::World, limits: &Limits<'_>) -> Stop {
        loop {
            let Some(time) = self.cut.or_else(|| self.next_time()) else {
                return Stop::Idle;
            };
            if time >= limits.end() {
                return limits.stop();
            }
            let grid_end = (time / self.width + 1) * self.width;
            let end = grid_end.min(limits.end());
            if time >= self.open_until {
                self.close_period();
            }
            self.open_until = grid_end.next_multiple_of(self.grid);
            self.run_to(end, world);
            if end >= self.open_until {
                self.close_period();
            }
            limits.report(end);
            if self.tally.failed {
                return Stop::Failed;
            } else if end < grid_end && limits.stop() == Stop::Paused {
                self.cut = Some(time);
                return Stop::Paused;
            }
            self.cut = None;
            if self.tally.completed >= limits.goal {
                return Stop::Goal;
            } else if end < grid_end {
                return Stop::Until;
            } else if limits.interrupted() {
                return Stop::Interrupted;
            } else if self.tally.recorded - self.recorded >= limits.records {
                self.recorded = self.tally.recorded;
                return Stop::Records;
            }
        }
    }

    /// Closes the open period of its nodes.
    pub(crate) fn close_period(&mut self) {
        for (node, touched) in self.nodes.iter_mut().zip(&mut self.touched) {
            if std::mem::take(touched) {
                node.close_period();
            }
        }
    }

    /// When something happens next. What was moved or is gone since it was announced is no event: a run does not last until then.
    fn next_time(&mut self) -> Option<u64> {
        while let Some(&Reverse((time, order, node, message))) = self.entries.peek() {
            if message != LOCAL || self.nodes[node as usize].local_key() == (Key { time, order }) {
                return Some(time);
            }
            self.entries.pop();
        }
        None
    }

    fn run_to(&mut self, end: u64, world: &N::World) {
        let mut sent = Vec::new();
        while let Some(&Reverse((time, order, node, message))) = self.entries.peek() {
            if time >= end {
                return;
            }
            self.entries.pop();
            let state = &mut self.nodes[node as usize];
            let mut post = HeapPost {
                sent: &mut sent,
                tally: &mut self.tally,
                earliest: (time / self.width + 1) * self.width,
            };
            if message == LOCAL {
                let key = Key { time, order };
                if state.local_key() != key {
                    continue; // moved or gone since it was announced
                }
                state.fire(key, world, &mut post);
            } else {
                let payload = self.messages[message as usize];
                self.free.push(message);
                if time >= self.keep_from {
                    self.kept.push((node, payload));
                }
                if let Some(extension) = self.extensions.remove(&message) {
                    state.extension(&payload, &extension);
                }
                state.receive(&payload, world, &mut post);
            }
            for (to, message, extension) in sent.drain(..) {
                let order = Key::new(0, message.class(), self.nodes[to as usize].rank(message.port())).order;
                let slot = self.free.pop().unwrap_or(self.messages.len() as u32);
                if slot as usize == self.messages.len() {
                    self.messages.push(message);
                } else {
                    self.messages[slot as usize] = message;
                }
                if !extension.is_empty() {
                    self.extensions.insert(slot, extension);
                }
                self.entries.push(Reverse((message.time(), order, to, slot)));
            }
            self.touched[node as usize] = true;
            self.announce(node);
        }
    }
}
