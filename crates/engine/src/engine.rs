//! The front of the engines: build, run in stretches, look at the nodes in between.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use backwater_units::{Span, Time};

#[cfg(feature = "reference")]
use crate::Place;
#[cfg(feature = "reference")]
use crate::heap::Heap;
use crate::shard::{Shard, widest};
use crate::window::Windows;
use crate::{Alone, Home, Node, Processes, Profile, Trajectory};

/// So many threads, of all processes together, share the nodes at most: a place has eight bits for the shard.
pub const MOST_SHARDS: usize = 255;

/// Which engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Node windows on `threads` threads, or on one of them where windows hold too little to share.
    Windows {
        /// Threads, at least 1; more than nodes are not used.
        threads: usize,
    },
    /// The reference: a global heap, for tests and benches (feature `reference`).
    #[cfg(feature = "reference")]
    Heap,
}

/// Two nodes that send messages to each other.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Both.
    pub nodes: (u32, u32),
    /// How long after it was sent a message takes effect at the soonest.
    pub delay: Span,
}

/// Where a stretch of a run ends at the latest.
pub struct Limits<'a> {
    /// No event at or after this picosecond is run.
    pub until: u64,
    /// Stop before this picosecond, and nothing comes of it: who runs on has run as if there had been no stop.
    pub pause: u64,
    /// Stop at the end of the window in which this many [`crate::Post::complete`] were counted since the start.
    pub goal: u64,
    /// Whether the goal is reached only when no node is busy any more ([`Node::busy_until`]): the sooner that is known, the less threads
    /// and processes wait for each other.
    pub goal_is_all: bool,
    /// Stop when this many records have been stored since the last stop: at the end of the window, or some windows later.
    pub records: u64,
    /// Set from outside to stop at the end of the current window.
    pub interrupt: Option<&'a AtomicBool>,
    /// Where the current time is shown (picoseconds), for progress displays.
    pub now: Option<&'a AtomicU64>,
    /// Set from outside to stop for a look at the end of the current window. Whoever looks clears it and runs on: nothing else comes of it.
    pub look: Option<&'a AtomicBool>,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self {
            until: u64::MAX,
            pause: u64::MAX,
            goal: u64::MAX,
            goal_is_all: false,
            records: u64::MAX,
            interrupt: None,
            now: None,
            look: None,
        }
    }
}

impl Limits<'_> {
    pub(crate) fn interrupted(&self) -> bool {
        self.interrupt.is_some_and(|flag| flag.load(Relaxed))
    }
    pub(crate) fn looked_at(&self) -> bool {
        self.look.is_some_and(|flag| flag.load(Relaxed))
    }
    /// First picosecond that is not run.
    pub(crate) fn end(&self) -> u64 {
        self.until.min(self.pause)
    }
    /// What it means that the end was reached.
    pub(crate) const fn stop(&self) -> Stop {
        if self.until <= self.pause { Stop::Until } else { Stop::Paused }
    }
    pub(crate) fn report(&self, now: u64) {
        if let Some(shown) = self.now {
            shown.store(now, Relaxed);
        }
    }
}

/// Why a stretch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// `limits.until` was reached.
    Until,
    /// `limits.pause` was reached: call [`Engine::run`] again.
    Paused,
    /// `limits.goal` was reached.
    Goal,
    /// `limits.records` was reached: take the records and call [`Engine::run`] again.
    Records,
    /// `limits.interrupt` was set.
    Interrupted,
    /// `limits.look` was set: look, clear it, and call [`Engine::run`] again.
    Look,
    /// A node called [`crate::Post::fail`].
    Failed,
    /// No event is pending anywhere.
    Idle,
}

/// Figures about the engine itself.
#[derive(Clone, Copy, Debug)]
pub struct Stats {
    /// Windows run (0 for the heap).
    pub windows: u64,
    /// Of them those that several threads ran together: the others held too little for that to pay.
    pub shared: u64,
    /// Length of a window.
    pub window: Span,
    /// Bytes held for messages under way, in this process.
    pub message_bytes: usize,
}

#[derive(Clone)]
pub(crate) enum Inner<N: Node> {
    Windows(Windows<N>),
    #[cfg(feature = "reference")]
    Heap(Heap<N>),
}

/// A model being run. Between two stretches it can be copied, and both run on alike.
#[derive(Clone)]
pub struct Engine<N: Node> {
    pub(crate) inner: Inner<N>,
    pub(crate) now: u64,
    pub(crate) grid: u64,
    /// The last goal that was reached.
    pub(crate) reached: u64,
    pub(crate) processes: Arc<dyn Processes>,
}

impl<N: Node> Engine<N> {
    /// An engine over `nodes` (node 0, 1, …). No message takes effect sooner than `lookahead` after it is sent
    /// and, typically, not later than `reach`. `homes[i]` says where node `i` belongs.
    ///
    /// # Panics
    /// If `lookahead` is zero, there is no node, or there are more than 2²⁴ nodes.
    pub fn new(kind: Kind, nodes: Vec<N>, homes: &[Home], lookahead: Span, reach: Span) -> Self {
        assert_eq!(homes.len(), nodes.len(), "one home per node");
        let mut nodes = nodes.into_iter();
        let build = |_| nodes.next().expect("one process has all nodes");
        Self::among(Arc::new(Alone), kind, build, homes, Vec::new, lookahead, reach)
    }

    /// The same with the nodes dealt out to processes: each builds only its own ones, in the order of their numbers. What each of
    /// them calls is what all call, with the same limits. Nodes send only along `links`; without any each may send to each. They are asked
    /// for if several threads or processes share the nodes: these wait only for those with which they have links, and longer ones let
    /// them wait more seldom.
    ///
    /// # Panics
    /// As [`Self::new`]; and if there are more processes than nodes, or several with the heap.
    pub fn among(
        processes: Arc<dyn Processes>,
        kind: Kind,
        build: impl FnMut(u32) -> N,
        homes: &[Home],
        links: impl FnOnce() -> Vec<Link>,
        lookahead: Span,
        reach: Span,
    ) -> Self {
        assert!(lookahead > Span::ZERO, "the lookahead must be positive");
        let total = homes.len();
        assert!(total > 0 && total < 1 << 24, "between 1 and 2^24 nodes");
        let count = processes.count();
        assert!(count <= total.min(MOST_SHARDS), "no more processes than nodes, and at most {MOST_SHARDS}");
        let width = Self::width_for(lookahead).as_ps();
        let inner = match kind {
            #[cfg(feature = "reference")]
            Kind::Heap => {
                assert_eq!(count, 1, "the heap is in one process");
                let mut nodes: Vec<N> = (0..total as u32).map(build).collect();
                let places: Vec<Place> = (0..nodes.len()).map(|i| Place::new(0, i)).collect();
                for node in &mut nodes {
                    node.placed(&places);
                }
                Inner::Heap(Heap::new(nodes, width))
            }
            Kind::Windows { threads } => {
                let slots = Self::live(lookahead, reach);
                // Every process has as many shards as the one with the fewest: all must know where each node is.
                let threads = threads.clamp(1, (MOST_SHARDS / count).min(total / count));
                let of_this = processes.gather(vec![threads]).into_iter().min().unwrap_or(1);
                let windows =
                    Windows::new(Arc::clone(&processes), build, homes, links, of_this, slots, width);
                Inner::Windows(windows)
            }
        };
        Self { inner, now: 0, grid: 1, reached: 0, processes }.with_grid(Span::from_ps(width))
    }

    /// So many windows hold messages at once if none takes effect later than `reach` after it is sent.
    pub fn live(lookahead: Span, reach: Span) -> usize {
        (reach.as_ps() / Self::width_for(lookahead).as_ps() + 2).min(64) as usize
    }

    /// The width of windows for a `lookahead`: longer ones could not be put in order.
    pub fn width_for(lookahead: Span) -> Span {
        Span::from_ps(lookahead.as_ps().min(widest()))
    }

    /// Gives the model a grid of its own, whatever the windows are: [`Node::close_period`], the goal and the end of a run in which
    /// nothing is pending fall on multiples of `grid`, a whole number of windows. Without it, it is a window.
    ///
    /// # Panics
    /// If it is no whole number of windows.
    #[must_use]
    pub fn with_grid(mut self, grid: Span) -> Self {
        self.grid = grid.as_ps();
        let width = self.stats().window.as_ps();
        assert!(self.grid > 0 && self.grid.is_multiple_of(width), "a whole number of windows");
        match &mut self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(heap) => heap.grid = grid.as_ps(),
            Inner::Windows(windows) => {
                windows.shards.iter_mut().for_each(|shard| shard.set_grid(grid.as_ps()));
            }
        }
        self
    }

    /// The periods of the grid.
    pub const fn grid(&self) -> Span {
        Span::from_ps(self.grid)
    }

    /// Runs on until one of the limits is met.
    pub fn run(&mut self, world: &N::World, limits: &Limits<'_>) -> Stop {
        let reached = AtomicU64::new(self.now);
        let shown = limits.now.unwrap_or(&reached);
        let limits = Limits { now: Some(shown), ..*limits };
        // A goal that was reached before a pause is still to be followed by the rest of its period.
        let mut stop = if self.reached >= limits.goal { Stop::Goal } else { self.stretch(world, &limits) };
        let end = self.now.next_multiple_of(self.grid).min(limits.until);
        if stop == Stop::Goal {
            self.reached = limits.goal;
        }
        if stop == Stop::Goal && self.now < end {
            let rest = Limits { until: end, goal: u64::MAX, records: u64::MAX, look: None, ..limits };
            stop = match self.stretch(world, &rest) {
                Stop::Until | Stop::Idle => Stop::Goal,
                sooner => sooner,
            };
        }
        if stop == Stop::Idle && limits.pause < end {
            stop = Stop::Paused;
        }
        match stop {
            Stop::Goal | Stop::Idle => self.now = self.now.max(end),
            Stop::Paused => self.now = self.now.max(limits.pause),
            _ => {}
        }
        if !matches!(stop, Stop::Records | Stop::Look | Stop::Paused) {
            self.close_period();
        }
        stop
    }

    /// Runs on until one of the limits is met, at the end of whatever window that is.
    fn stretch(&mut self, world: &N::World, limits: &Limits<'_>) -> Stop {
        let stop = match &mut self.inner {
            Inner::Windows(windows) => windows.run(world, limits),
            #[cfg(feature = "reference")]
            Inner::Heap(heap) => heap.run(world, limits),
        };
        self.now = match stop {
            Stop::Until => self.now.max(limits.until),
            Stop::Paused => self.now.max(limits.pause),
            _ => self.now.max(limits.now.map_or(0, |now| now.load(Relaxed))),
        };
        stop
    }

    /// Closes the open period of all nodes, for a run that was paused and does not go on.
    pub fn close_period(&mut self) {
        match &mut self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(heap) => heap.close_period(),
            Inner::Windows(windows) => windows.shards.iter_mut().for_each(Shard::close_period),
        }
    }

    /// Lets time pass to `time` when nothing is pending ([`Stop::Idle`]).
    pub fn pass_to(&mut self, time: u64) {
        self.now = self.now.max(time);
    }

    /// Keeps a copy of every message that takes effect at `from` (picoseconds) or later.
    pub fn keep_messages(&mut self, from: u64) {
        match &mut self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(heap) => heap.keep_from = from,
            Inner::Windows(windows) => windows.shards.iter_mut().for_each(|shard| shard.keep_from = from),
        }
    }

    /// The messages kept in this process since the last call, each with the node at which it took effect, in no particular order.
    pub fn kept_messages(&mut self) -> Vec<(u32, N::Message)> {
        match &mut self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(heap) => std::mem::take(&mut heap.kept),
            Inner::Windows(windows) => {
                let numbers = windows.numbers();
                let kept = windows.shards.iter_mut().zip(&numbers).flat_map(|(shard, numbers)| {
                    shard.kept.drain(..).map(|(index, message)| (numbers[index as usize], message))
                });
                kept.collect()
            }
        }
    }

    /// The messages for nodes of this process that have not taken effect, with the nodes that they are for, in no order.
    pub fn messages(&self) -> Vec<(u32, N::Message)> {
        match &self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(heap) => heap.pending().collect(),
            Inner::Windows(windows) => {
                let numbers = windows.numbers();
                let all = windows.shards.iter().zip(&numbers).flat_map(|(shard, numbers)| {
                    shard.inbox.messages().map(|(index, message)| (numbers[index], *message))
                });
                all.collect()
            }
        }
    }

    /// Calls `f` with each message that has not taken effect and the node that it is for, in no order.
    pub fn each_message(&self, mut f: impl FnMut(&N, &N::Message)) {
        match &self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(heap) => {
                heap.pending().for_each(|(node, message)| f(&heap.nodes[node as usize], &message));
            }
            Inner::Windows(windows) => {
                for shard in &windows.shards {
                    shard.inbox.messages().for_each(|(index, message)| f(&shard.nodes[index], message));
                }
            }
        }
    }

    /// The end of the next window in which something happens: all messages that take effect before it have been sent. `u64::MAX`:
    /// nothing is pending.
    pub fn next_window_end(&self) -> u64 {
        match &self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(heap) => heap.next_window_end(self.now),
            Inner::Windows(windows) => windows.next_window_end(self.now),
        }
    }

    /// For tests: the first message on a short way that is such a one never takes effect. Whether there was one.
    #[doc(hidden)]
    pub fn forget(&mut self, is_such: impl Fn(&N::Message) -> bool) -> bool {
        match &mut self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(_) => false,
            Inner::Windows(windows) => windows.shards.iter_mut().any(|shard| shard.inbox.forget(&is_such)),
        }
    }

    /// For tests: moves the nodes of a run on several threads to shards drawn from `seed`, between two stretches.
    #[doc(hidden)]
    pub fn deal_at_random(&mut self, seed: u64) {
        match &mut self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(_) => {}
            Inner::Windows(windows) => windows.deal_at_random(seed),
        }
    }

    /// The time reached: the end of the last window run, or `until`.
    pub fn now(&self) -> Time {
        Time::from_ps(self.now)
    }

    /// The processes that share the nodes.
    pub fn processes(&self) -> &dyn Processes {
        &*self.processes
    }

    /// All nodes of this process, in node order.
    pub fn nodes(&self) -> Vec<&N> {
        match &self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(heap) => heap.nodes.iter().collect(),
            Inner::Windows(windows) => windows.own().map(|(_, place)| windows.at(place)).collect(),
        }
    }

    /// A node, if this process has it.
    pub fn node(&self, node: u32) -> Option<&N> {
        match &self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(heap) => heap.nodes.get(node as usize),
            Inner::Windows(windows) => windows.own_place(node).map(|place| windows.at(place)),
        }
    }

    /// Calls `f` with every node of this process, in node order, between two stretches.
    pub fn each_node(&mut self, mut f: impl FnMut(u32, &mut N)) {
        match &mut self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(heap) => heap.nodes.iter_mut().enumerate().for_each(|(i, node)| f(i as u32, node)),
            Inner::Windows(windows) => {
                for (number, place) in windows.own().collect::<Vec<_>>() {
                    f(number, windows.at_mut(place));
                }
            }
        }
    }

    /// A node, to be changed between two stretches, if this process has it.
    pub fn node_mut(&mut self, node: u32) -> Option<&mut N> {
        match &mut self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(heap) => heap.nodes.get_mut(node as usize),
            Inner::Windows(windows) => windows.own_place(node).map(|place| windows.at_mut(place)),
        }
    }

    /// The model has given a node an event of its own between two stretches, at the present time or later.
    pub fn changed(&mut self, node: u32) {
        match &mut self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(heap) => heap.announce(node),
            Inner::Windows(windows) => windows.changed(node),
        }
    }

    /// The digest of what happened so far, in all processes.
    pub fn digest(&self) -> u64 {
        if self.processes.count() == 1 {
            return Trajectory::fold(self.nodes().iter().map(|node| node.trajectory()));
        }
        let own = match &self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(_) => unreachable!("the heap is in one process"),
            Inner::Windows(windows) => {
                windows.own().map(|(number, place)| (number, *windows.at(place).trajectory())).collect()
            }
        };
        let mut all: Vec<(u32, Trajectory)> = self.processes.gather(own);
        all.sort_unstable_by_key(|(number, _)| *number);
        Trajectory::fold(all.iter().map(|(_, trajectory)| trajectory))
    }

    /// Events noted in the trajectory so far, in all processes.
    pub fn events(&self) -> u64 {
        self.processes.sum(self.nodes().iter().map(|node| node.trajectory().events()).sum())
    }

    /// From now on counts what there is to do and where time goes, in a run of one process. `homes[i]` says where node `i` belongs.
    ///
    /// # Panics
    /// If there is not one home per node.
    pub fn begin_profile(&mut self, homes: &[Home]) {
        match &mut self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(_) => {}
            Inner::Windows(windows) => windows.begin_profile(homes),
        }
    }

    /// What was counted, if anything is.
    pub fn profile(&self) -> Option<Profile> {
        match &self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(_) => None,
            Inner::Windows(windows) => windows.profile(),
        }
    }

    /// Figures about the engine.
    pub fn stats(&self) -> Stats {
        match &self.inner {
            #[cfg(feature = "reference")]
            Inner::Heap(heap) => Stats {
                windows: 0,
                shared: 0,
                window: Span::from_ps(heap.width),
                message_bytes: heap.message_bytes(),
            },
            Inner::Windows(windows) => Stats {
                windows: windows.count,
                shared: windows.shared,
                window: Span::from_ps(windows.width),
                message_bytes: windows.shards.iter().map(|shard| shard.inbox.memory()).sum(),
            },
        }
    }
}
