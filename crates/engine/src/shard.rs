//! The nodes that one thread runs, and how it runs them through a window.
use std::ops::Range;

use crate::extension::Mail;
use crate::inbox::{Inbox, Slot};
use crate::profile::Meter;
use crate::{Class, Key, Message, Node, Place, Post};

/// What has happened on a shard since the run began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) completed: u64,
    pub(crate) recorded: u64,
    pub(crate) failed: bool,
}

const INDEX_BITS: u32 = 24;

/// The shard in the upper 8 bits, the index in the shard in the lower 24.
impl Place {
    pub(crate) const fn new(shard: usize, index: usize) -> Self {
        Self((shard as u32) << INDEX_BITS | index as u32)
    }
    #[inline]
    pub(crate) const fn shard(self) -> usize {
        (self.0 >> INDEX_BITS) as usize
    }
    #[inline]
    pub(crate) const fn index(self) -> usize {
        (self.0 & ((1 << INDEX_BITS) - 1)) as usize
    }
}

#[derive(Clone)]
pub(crate) struct Shard<N: Node> {
    pub(crate) nodes: Vec<N>,
    /// Time of each node's earliest local event.
    pub(crate) next: Vec<u64>,
    /// The earliest of them.
    earliest: u64,
    /// The first nodes, which have links to other processes.
    pub(crate) border: usize,
    pub(crate) inbox: Inbox<N::Message>,
    pub(crate) mail: Vec<Mail<N::Message>>,
    deferred: Mail<N::Message>,
    /// None between two windows.
    opened: Option<Opened<N::Message>>,
    pub(crate) tally: Counts,
    /// From when on messages are kept as they take effect, and those that were, with their nodes.
    pub(crate) keep_from: u64,
    pub(crate) kept: Vec<(u32, N::Message)>,
    me: usize,
    /// Periods of the grid, in picoseconds: a whole number of windows.
    grid: u64,
    /// Nodes that had an event in a period that is not closed yet, and its end. Empty where a period is one window.
    pub(crate) open: Vec<u32>,
    pub(crate) open_until: u64,
    keys: Keys,
    scratch: N::Scratch,
    /// What it counts, if the run is profiled.
    pub(crate) meter: Option<Box<Meter>>,
}

/// The arrivals of a window in order, as [`in_order`] needs them: memory that is used again and again.
#[derive(Clone, Default)]
pub struct Keys {
    list: Vec<u64>,
    dealt: Vec<u64>,
    /// Where the next key of each bucket goes.
    ends: Vec<u32>,
}

/// So many keys are sorted sooner by comparing them.
const FEW: usize = 40;
/// Of so many in one bucket, too.
const CROWDED: u32 = 16;

impl Keys {
    /// Sorts keys whose times are less than `length`. Arrivals are spread over the window, so that buckets of time put them in order but
    /// for neighbours.
    fn sort(&mut self, length: u64) {
        if self.list.len() <= FEW || !self.deal(length) {
            self.list.sort_unstable();
            return;
        }
        std::mem::swap(&mut self.list, &mut self.dealt);
        let keys = &mut *self.list;
        for from in 1..keys.len() {
            let (key, mut to) = (keys[from], from);
            while to > 0 && keys[to - 1] > key {
                keys[to] = keys[to - 1];
                to -= 1;
            }
            keys[to] = key;
        }
    }

    /// Deals the keys to buckets; false if too many would be in one.
    fn deal(&mut self, length: u64) -> bool {
        let buckets = self.list.len().next_power_of_two() / 2;
        let bits = u64::BITS - length.leading_zeros() + INDEX + Key::ORDER_BITS;
        let shift = bits.saturating_sub(buckets.trailing_zeros());
        self.ends.clear();
        self.ends.resize(buckets, 0);
        for key in &self.list {
            self.ends[(key >> shift) as usize] += 1;
        }
        let mut begin = 0;
        for end in &mut self.ends {
            if *end > CROWDED {
                return false;
            }
            begin += std::mem::replace(end, begin);
        }
        self.dealt.resize(self.list.len(), 0);
        for key in &self.list {
            let end = &mut self.ends[(key >> shift) as usize];
            self.dealt[*end as usize] = *key;
            *end += 1;
        }
        true
    }
}

/// One window: `[start, grid_end)` on the grid, of which the part before `end` is run.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub(crate) index: u64,
    /// First picosecond.
    pub start: u64,
    pub(crate) grid_end: u64,
    /// First picosecond that is not run.
    pub end: u64,
}

impl Window {
    /// One of a node that is run by itself, to its end.
    #[must_use]
    pub const fn alone(start: u64, end: u64) -> Self {
        Self { index: start / (end - start), start, grid_end: end, end }
    }

    /// Whether the window is run to its end on the grid, so that all messages in it are.
    #[inline]
    pub const fn is_whole(&self) -> bool {
        self.end == self.grid_end
    }
}

/// A window that is being run.
#[derive(Clone)]
struct Opened<M> {
    window: Window,
    /// What takes effect in it.
    slot: Slot<M>,
    /// Of a window that is run in part what takes effect later.
    rest: Option<Box<Slot<M>>>,
}

struct WindowPost<'a, M> {
    /// The next two windows: where almost every message goes.
    near: [&'a mut Slot<M>; 2],
    /// Those beyond them.
    deferred: &'a mut Mail<M>,
    mail: &'a mut [Mail<M>],
    tally: &'a mut Counts,
    /// The place of this shard's first node.
    here: u32,
    index: u64,
    end: u64,
    width: u64,
    two_widths: u64,
}

impl<M: Copy> WindowPost<'_, M> {
    /// Another shard, or later than the next two windows.
    #[cold]
    #[inline(never)]
    fn send_away(&mut self, to: Place, late: u64, message: M, extension: &[u8]) {
        // Without a division where almost all of it goes.
        let beyond = if late < self.two_widths { u64::from(late >= self.width) } else { late / self.width };
        let window = self.index + 1 + beyond;
        let here = to.shard() == Place(self.here).shard();
        let mail = if here { &mut *self.deferred } else { &mut self.mail[to.shard()] };
        mail.push(window, to.index(), message, extension);
    }
}

impl<M: Message> Post<M> for WindowPost<'_, M> {
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: where packets wait, the call costs 4 instructions a hop"
    )]
    fn send(&mut self, to: Place, time: u64, message: &M, patch: impl FnOnce(&mut M)) {
        assert!(time >= self.end, "a message takes effect sooner than the lookahead allows");
        let late = time - self.end;
        // One comparison finds out both whether the node lives on this shard and where.
        let index = (to.0 ^ self.here) as usize;
        let slot = &mut *self.near[usize::from(late >= self.width)];
        if let Some(list) = slot.lists.get_mut(index)
            && late < self.two_widths
        {
            slot.used = true;
            patch(list.push_mut(*message));
        } else {
            let mut message = *message;
            patch(&mut message);
            self.send_away(to, late, message, &[]);
        }
    }
    #[inline(never)]
    fn send_with(&mut self, to: Place, time: u64, message: &M, extension: &[u8], patch: impl FnOnce(&mut M)) {
        assert!(time >= self.end, "a message takes effect sooner than the lookahead allows");
        let late = time - self.end;
        let mut message = *message;
        patch(&mut message);
        if to.shard() == Place(self.here).shard() && late < self.two_widths {
            self.near[usize::from(late >= self.width)].put(to.index(), message, extension);
        } else {
            self.send_away(to, late, message, extension);
        }
    }
    #[inline]
    fn complete(&mut self) {
        self.tally.completed += 1;
    }
    fn fail(&mut self) {
        self.tally.failed = true;
    }
    #[inline]
    fn recorded(&mut self, records: u64) {
        self.tally.recorded += records;
    }
}

impl<N: Node> Shard<N> {
    pub(crate) fn new(me: usize, shards: usize, nodes: Vec<N>, border: usize, slots: usize) -> Self {
        let next: Vec<u64> = nodes.iter().map(|node| node.local_key().time).collect();
        Self {
            earliest: next.iter().copied().min().unwrap_or(u64::MAX),
            next,
            border,
            inbox: Inbox::new(nodes.len(), slots),
            mail: (0..shards).map(|_| Mail::default()).collect(),
            deferred: Mail::default(),
            opened: None,
            tally: Counts::default(),
            keep_from: u64::MAX,
            kept: Vec::new(),
            me,
            grid: 1,
            open: Vec::new(),
            open_until: u64::MAX,
            keys: Keys::default(),
            scratch: N::Scratch::default(),
            meter: None,
            nodes,
        }
    }

    /// Gives it other nodes, with what is under way to them. The periods that are open end at `open_until`.
    pub(crate) fn settle(&mut self, nodes: Vec<N>, open_until: u64) {
        self.inbox = self.inbox.like(nodes.len());
        self.nodes = nodes;
        self.look_again();
        self.open_until = if self.open.is_empty() { u64::MAX } else { open_until };
    }

    /// When its nodes have their next events.
    fn look_again(&mut self) {
        self.next = self.nodes.iter().map(|node| node.local_key().time).collect();
        self.earliest = self.next.iter().copied().min().unwrap_or(u64::MAX);
    }

    /// A node may have an event of its own sooner than it had: when.
    pub(crate) fn changed(&mut self, node: usize) -> u64 {
        let next = self.nodes[node].local_key().time;
        self.next[node] = next;
        self.earliest = self.earliest.min(next);
        next
    }

    /// From now on periods take `grid`.
    pub(crate) const fn set_grid(&mut self, grid: u64) {
        self.grid = grid;
    }

    /// That node has had an event in the period that ends then.
    pub(crate) fn set_open(&mut self, node: u32, until: u64) {
        self.open.push(node);
        self.open_until = until;
    }

    /// Begins with its nodes as they are now: nothing is under way, nothing was counted.
    pub(crate) fn begin_from(&mut self, places: &[Place]) {
        self.nodes.iter_mut().for_each(|node| node.placed(places));
        self.look_again();
        self.inbox = self.inbox.like(self.nodes.len());
        self.open.clear();
        (self.open_until, self.tally) = (u64::MAX, Counts::default());
    }

    /// Closes the open period of its nodes.
    #[cold]
    pub(crate) fn close_period(&mut self) {
        self.open.sort_unstable();
        self.open.dedup();
        for node in self.open.drain(..) {
            self.nodes[node as usize].close_period();
        }
        self.open_until = u64::MAX;
    }

    /// Runs every node that has something to do in `window`.
    pub(crate) fn run(&mut self, window: Window, world: &N::World) {
        self.begin(window);
        self.run_nodes(0..self.nodes.len(), world);
        self.end();
    }

    /// Begins `window`: what takes effect in it is there.
    pub(crate) fn begin(&mut self, window: Window) {
        if window.start >= self.open_until {
            self.close_period();
        }
        let mut slot = self.inbox.open(window.index);
        let rest = if window.is_whole() { None } else { Some(Box::new(slot.split_off(window.end))) };
        if !slot.beside.is_empty() {
            hand_over(&mut self.nodes, &mut slot);
        }
        if window.end > self.keep_from {
            let all = (0..).zip(&slot.lists).flat_map(|(node, list)| list.iter().map(move |it| (node, *it)));
            self.kept.extend(all.filter(|(_, message)| message.time() >= self.keep_from));
        }
        if let Some(meter) = &mut self.meter {
            meter.begin_window(&self.nodes, &self.next, &slot.lists, window.end);
        }
        self.earliest = u64::MAX;
        self.opened = Some(Opened { window, slot, rest });
    }

    /// Runs those of these nodes that have something to do in the window that has begun, if one has.
    pub(crate) fn run_nodes(&mut self, which: Range<usize>, world: &N::World) {
        let Some(Opened { window, slot, .. }) = &mut self.opened else { return };
        let window = *window;
        let closes = closes(&window, self.grid);
        let mut post = WindowPost {
            near: self.inbox.near(window.index),
            deferred: &mut self.deferred,
            mail: &mut self.mail,
            tally: &mut self.tally,
            here: Place::new(self.me, 0).0,
            index: window.index,
            end: window.grid_end,
            width: window.grid_end - window.start,
            two_widths: 2 * (window.grid_end - window.start),
        };
        let (nodes, next) = (&mut self.nodes[which.clone()], &mut self.next[which.clone()]);
        let nodes = nodes.iter_mut().zip(next).zip(&mut slot.lists[which.clone()]);
        let mut earliest = self.earliest;
        for (number, ((node, next), arrivals)) in which.zip(nodes) {
            if arrivals.is_empty() && *next >= window.end {
                earliest = earliest.min(*next);
                continue;
            }
            node.run(arrivals, window, &mut self.keys, &mut self.scratch, world, &mut post);
            if closes {
                node.close_period();
            } else {
                self.open.push(number as u32);
            }
            *next = node.local_key().time;
            earliest = earliest.min(*next);
            arrivals.clear();
        }
        self.earliest = earliest;
    }

    /// Ends the window that has begun, if one has, and in which all nodes have been run.
    pub(crate) fn end(&mut self) {
        let Some(Opened { window, mut slot, rest }) = self.opened.take() else { return };
        if let Some(meter) = &mut self.meter {
            meter.worked(&self.nodes);
        }
        if !self.open.is_empty() {
            self.open_until = window.grid_end.next_multiple_of(self.grid);
            if closes(&window, self.grid) {
                self.close_period();
            }
        }
        slot.used = false;
        self.inbox.give_back(window.index, rest.map_or(slot, |rest| *rest));
        let inbox = &mut self.inbox;
        self.deferred.drain(|at, node, message, extension| {
            inbox.put(window.index, at - window.index, node, message, extension);
        });
    }

    /// The first window from `current`, which has just been run, in which something is due here.
    pub(crate) fn next_window(&self, current: u64, width: u64) -> u64 {
        let local = if self.earliest == u64::MAX { u64::MAX } else { self.earliest / width };
        local.min(self.inbox.next_window(current))
    }
}

/// Whether a period of the grid is over at the end of a window.
const fn closes(window: &Window, grid: u64) -> bool {
    window.is_whole() && window.grid_end.is_multiple_of(grid)
}

/// Gives every node what came beside the messages of the window, in the order in which these take effect.
#[cold]
#[inline(never)]
fn hand_over<N: Node>(nodes: &mut [N], slot: &mut Slot<N::Message>) {
    let Slot { lists, beside, .. } = slot;
    let key = |nodes: &[N], node: usize, index: usize| {
        let message = &lists[node][index];
        Key::new(message.time(), message.class(), nodes[node].rank(message.port()))
    };
    let keys = beside.sorted(|node, index| key(nodes, node, index));
    keys.drain(|node, index, extension| nodes[node].extension(&lists[node][index], extension));
}

const INDEX: u32 = 24;
const LONGEST_WINDOW: u64 = 1 << (64 - INDEX - Key::ORDER_BITS);

/// The widest window whose arrivals can be put in order with one 64-bit key each (268 µs).
pub(crate) const fn widest() -> u64 {
    LONGEST_WINDOW
}

/// Runs the node's arrivals and local events of the window in key order.
///
/// # Panics
/// If more than 2²⁴ messages take effect at one node in one window.
pub fn in_order<N: Node, P: Post<N::Message>>(
    node: &mut N,
    arrivals: &[N::Message],
    window: Window,
    keys: &mut Keys,
    world: &N::World,
    post: &mut P,
) {
    assert!(arrivals.len() < 1 << INDEX, "more messages for one node in one window than a key can number");
    keys.list.clear();
    keys.list.extend(arrivals.iter().enumerate().map(|(i, message)| {
        let order = Key::new(0, message.class(), node.rank(message.port())).order;
        (message.time() - window.start) << (INDEX + Key::ORDER_BITS) | u64::from(order) << INDEX | i as u64
    }));
    keys.sort(window.grid_end - window.start);
    let mut local = node.local_key();
    for &key in &keys.list {
        let message = &arrivals[(key & ((1 << INDEX) - 1)) as usize];
        let at = Key { time: message.time(), order: (key >> INDEX) as u16 & ((1 << Key::ORDER_BITS) - 1) };
        if at.time >= window.end {
            break;
        }
        while local.time < at.time || (local.time == at.time && local.order < at.order) {
            node.fire(local, world, post);
            local = node.local_key();
        }
        node.receive(message, world, post);
        local = node.local_key();
    }
    while local.time < window.end {
        node.fire(local, world, post);
        local = node.local_key();
    }
}

/// The same in another order of what happens at one instant: timers, then messages, then wakes. The `arrivals` are in order, and before the
/// end of the window.
pub fn in_order_wakes_last<'a, N: Node, P: Post<N::Message>>(
    node: &mut N,
    arrivals: impl IntoIterator<Item = &'a N::Message>,
    window: Window,
    world: &N::World,
    post: &mut P,
) where
    N::Message: 'a,
{
    for message in arrivals {
        loop {
            let local = node.local_key();
            let time = message.time();
            if local.time > time || (local.time == time && local.class() == Class::Wake) {
                break;
            }
            node.fire(local, world, post);
        }
        node.receive(message, world, post);
    }
    loop {
        let local = node.local_key();
        if local.time >= window.end {
            break;
        }
        node.fire(local, world, post);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_in_order_however_they_are_spread() {
        let mut random = 1_u64;
        for length in [1, 2, 63, 1_000_000, LONGEST_WINDOW] {
            for count in [0, 1, 40, 41, 64, 65, 1000] {
                // Over all of the window, over its first thousandth, and all at once.
                for spread in [length, length / 1000 + 1, 1] {
                    let mut keys = Keys::default();
                    for index in 0..count {
                        random = random
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1_442_695_040_888_963_407);
                        let (time, order) = ((random >> 20) % spread, random >> 52);
                        keys.list.push(time << (INDEX + Key::ORDER_BITS) | order << INDEX | index);
                    }
                    let mut expected = keys.list.clone();
                    expected.sort_unstable();
                    keys.sort(length);
                    assert_eq!(keys.list, expected, "{count} within {spread} of {length}");
                }
            }
        }
    }
}
