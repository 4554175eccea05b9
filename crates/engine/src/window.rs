//! The fast engine: shards in step, window by window, on as many threads as pay.
use std::collections::BTreeSet;
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use borsh::{BorshDeserialize, BorshSerialize};

use crate::deal::deal;
use crate::engine::{Limits, Link, Stop};
use crate::extension::Mail;
use crate::meeting::{Meeting, Word};
use crate::processes::{read, write};
use crate::profile::{Profile, Profiler, expected};
use crate::shard::{Shard, Window};
use crate::{Home, Node, Place, Processes, mix};

/// So many windows lie between two meetings at most: one has a bit in [`Notice::ran`].
const LONGEST_LEG: u64 = 64;

/// What a shard, or a process, tells the others at the end of a leg.
#[derive(Clone, Copy, BorshSerialize, BorshDeserialize)]
struct Notice {
    /// The first window in which something is due.
    next: u64,
    completed: u64,
    recorded: u64,
    /// The windows of the leg in which something was due: a bit for each.
    ran: u64,
    failed: bool,
    stop: bool,
    look: bool,
}

impl Default for Notice {
    fn default() -> Self {
        Self { next: u64::MAX, completed: 0, recorded: 0, ran: 0, failed: false, stop: false, look: false }
    }
}

#[derive(Default)]
struct StoredNotice {
    next: AtomicU64,
    completed: AtomicU64,
    recorded: AtomicU64,
    ran: AtomicU64,
    failed: AtomicBool,
    stop: AtomicBool,
    look: AtomicBool,
}

impl Word for Notice {
    type Store = StoredNotice;
    fn store(&self, to: &StoredNotice) {
        to.next.store(self.next, Relaxed);
        to.completed.store(self.completed, Relaxed);
        to.recorded.store(self.recorded, Relaxed);
        to.ran.store(self.ran, Relaxed);
        to.failed.store(self.failed, Relaxed);
        to.stop.store(self.stop, Relaxed);
        to.look.store(self.look, Relaxed);
    }
    fn load(from: &StoredNotice) -> Self {
        Self {
            next: from.next.load(Relaxed),
            completed: from.completed.load(Relaxed),
            recorded: from.recorded.load(Relaxed),
            ran: from.ran.load(Relaxed),
            failed: from.failed.load(Relaxed),
            stop: from.stop.load(Relaxed),
            look: from.look.load(Relaxed),
        }
    }
    fn and(self, other: Self) -> Self {
        Self {
            next: self.next.min(other.next),
            completed: self.completed + other.completed,
            recorded: self.recorded + other.recorded,
            ran: self.ran | other.ran,
            failed: self.failed || other.failed,
            stop: self.stop || other.stop,
            look: self.look || other.look,
        }
    }
}

/// The mail of one leg from one shard to another. It changes hands whole: the sender gives the list that it has filled for the one
/// that the receiver has emptied. They never come at the same time, so that the lock is always free.
#[derive(Default)]
#[repr(align(128))]
struct Pigeonhole<M> {
    is_full: AtomicBool,
    mail: Mutex<Mail<M>>,
}

/// The mail of one leg. Two of them alternate, so that one meeting per leg is enough.
struct Board<M> {
    /// `holes[from * shards + to]`, `from` a shard of this process or, behind these, a process with links to it, `to` a shard of any
    /// process.
    holes: Vec<Pigeonhole<M>>,
    shards: usize,
}

/// The buffers for the other processes, and from them.
#[derive(Default)]
struct Post {
    to: Vec<Vec<u8>>,
    from: Vec<Vec<u8>>,
    /// The notices of all, where they do not come with the mail.
    notices: Vec<u8>,
}

/// Which windows a decision can follow: one that ends before the goal can be reached is followed by the next one. What else ends a
/// stretch may be known somewhat later.
#[derive(Clone, Copy, Default)]
struct Free {
    /// The first window in which the goal may be reached.
    until: u64,
    /// So many windows after that one it is asked again, and so many have been.
    after: u64,
    waited: u64,
}

impl Free {
    /// If it grows by less, it is asked more seldom.
    const LITTLE: u64 = 8;
    const SELDOM: u64 = 1 << 12;
}

/// The shards and how far they have come.
#[derive(Clone)]
pub(crate) struct Windows<N: Node> {
    /// Those of this process.
    pub(crate) shards: Vec<Shard<N>>,
    /// Where the nodes of all processes are.
    pub(crate) places: Vec<Place>,
    processes: Arc<dyn Processes>,
    /// Those with links to this one.
    peers: Vec<usize>,
    /// Each process has links to each other one.
    all_are_peers: bool,
    /// Between nodes; empty if each may send to each.
    links: Vec<Link>,
    /// By node the region that it is in.
    regions: Vec<u32>,
    /// So many windows shards cannot see each other.
    span: u64,
    free: Free,
    pub(crate) width: u64,
    /// The next window to run; `u64::MAX` if nothing is pending.
    pub(crate) window: u64,
    pub(crate) recorded: u64,
    pub(crate) count: u64,
    /// Of them those that were run on several threads.
    pub(crate) shared: u64,
    ways: Ways,
    homes: Vec<Home>,
    /// The events of each node when the nodes were dealt out last.
    seen: Vec<u64>,
    /// What is counted, if the run is profiled.
    profiler: Option<Box<Profiler>>,
    /// Those that this process may use; asked once, as the system reads files for the answer.
    cores: usize,
}

impl<N: Node> Windows<N> {
    /// The nodes on so many shards of each process, each with an inbox of so many slots. Only those of this process are built.
    pub(crate) fn new(
        processes: Arc<dyn Processes>,
        mut build: impl FnMut(u32) -> N,
        homes: &[Home],
        links: impl FnOnce() -> Vec<Link>,
        shards: usize,
        slots: usize,
        width: u64,
    ) -> Self {
        let (all, first) = (shards * processes.count(), processes.rank() * shards);
        let links = if all > 1 { links() } else { Vec::new() };
        let regions = regions(&links, homes.len(), width);
        let (homes, dealt) = if all > 1 {
            let work: Vec<u64> = homes.iter().map(|home| u64::from(home.work)).collect();
            (homes.to_vec(), deal(homes, &work, &regions, all))
        } else {
            (Vec::new(), vec![0; homes.len()])
        };
        let process = |node: u32| usize::from(dealt[node as usize]) / shards;
        let count = processes.count();
        let mut is_border = vec![links.is_empty() && count > 1; dealt.len()];
        let mut linked: BTreeSet<(usize, usize)> = BTreeSet::new();
        for Link { nodes: (a, b), .. } in &links {
            let ends = (process(*a), process(*b));
            if ends.0 != ends.1 {
                (is_border[*a as usize], is_border[*b as usize]) = (true, true);
                linked.extend([ends, (ends.1, ends.0)]);
            }
        }
        let all_are_peers = links.is_empty() || linked.len() == count * (count - 1);
        let is_peer = |other: &usize| all_are_peers || linked.contains(&(processes.rank(), *other));
        let peers = processes.others().into_iter().filter(is_peer).collect();
        let places = places(&dealt, all, |node| is_border[node]);
        let span = span(&links, &places, width);
        let own = first..first + shards;
        let mut nodes: Vec<Vec<Option<N>>> = own.clone().map(|_| Vec::new()).collect();
        let mut borders = vec![0; shards];
        for (number, place) in (0..).zip(&places).filter(|(_, place)| own.contains(&place.shard())) {
            let mut node = build(number);
            node.placed(&places);
            let (nodes, border) = (&mut nodes[place.shard() - first], &mut borders[place.shard() - first]);
            nodes.resize_with(nodes.len().max(place.index() + 1), || None);
            nodes[place.index()] = Some(node);
            *border += usize::from(is_border[number as usize]);
        }
        let shards: Vec<Shard<N>> = own
            .zip(nodes.into_iter().zip(borders))
            .map(|(me, (nodes, border))| {
                Shard::new(me, all, nodes.into_iter().flatten().collect(), border, slots)
            })
            .collect();
        let soonest = shards.iter().flat_map(|shard| &shard.next).copied().min().unwrap_or(u64::MAX);
        let window = if soonest == u64::MAX { u64::MAX } else { soonest / width };
        let cores = if shards.len() > 1 { available_parallelism().map_or(1, NonZero::get) } else { 1 };
        let (ways, seen) = (Ways::default(), vec![0; homes.len()]);
        Self {
            shards,
            places,
            processes,
            peers,
            all_are_peers,
            links,
            regions,
            span,
            free: Free::default(),
            width,
            window,
            recorded: 0,
            count: 0,
            shared: 0,
            ways,
            homes,
            seen,
            profiler: None,
            cores,
        }
    }

    /// Deals the nodes out again by what there was to do for each since they were dealt out last, if that makes them more even. Nothing
    /// comes of it but where they run.
    fn deal_again(&mut self) {
        if self.window == u64::MAX || self.processes.count() > 1 {
            return;
        }
        let shards = self.shards.len();
        let events: Vec<u64> =
            self.places.iter().map(|place| self.at(*place).trajectory().events()).collect();
        let work: Vec<u64> = events.iter().zip(&self.seen).map(|(now, then)| now - then).collect();
        self.seen = events;
        let work = expected(&self.homes, &work);
        let dealt = deal(&self.homes, &work, &self.regions, shards);
        let busiest = |shard_of: &dyn Fn(usize) -> usize| {
            let mut loads = vec![0; shards];
            work.iter().enumerate().for_each(|(node, work)| loads[shard_of(node)] += work);
            loads.into_iter().max().unwrap_or(0)
        };
        let before = busiest(&|node| self.places[node].shard());
        if busiest(&|node| dealt[node].into()) < before - before / 50 {
            self.move_to(&dealt);
        }
    }

    /// For tests: to shards drawn from `seed`. From now on turns are short, and others in each process, as they are where time is short.
    pub(crate) fn deal_at_random(&mut self, seed: u64) {
        self.ways.longest = Some(1 + mix(seed, 1, self.processes.rank() as u64) % 3);
        if self.processes.count() == 1 && self.window < u64::MAX {
            let shards = self.shards.len() as u64;
            let dealt: Vec<u16> =
                (0..self.places.len() as u64).map(|node| (mix(seed, 0, node) % shards) as u16).collect();
            self.move_to(&dealt);
        }
    }

    /// Moves each node, and what waits for it, to its shard. All are of one process.
    fn move_to(&mut self, dealt: &[u16]) {
        let numbers = self.numbers();
        let is_open = |shard: &&Shard<N>| !shard.open.is_empty();
        let open_until = self.shards.iter().filter(is_open).map(|shard| shard.open_until).max().unwrap_or(0);
        let mut mail = Mail::default();
        let mut nodes: Vec<Option<N>> = self.places.iter().map(|_| None).collect();
        let (mut open, mut kept) = (Vec::new(), Vec::new());
        for (shard, numbers) in self.shards.iter_mut().zip(&numbers) {
            // One period is open. Others are over: a shard that has been idle since has not closed them yet.
            if shard.open_until < open_until {
                shard.close_period();
            }
            open.extend(shard.open.drain(..).map(|index| numbers[index as usize]));
            kept.extend(shard.kept.drain(..).map(|(index, message)| (numbers[index as usize], message)));
            shard.inbox.take_all(self.window, |window, index, message, extension| {
                mail.push(window, numbers[index] as usize, message, extension);
            });
            for (number, node) in numbers.iter().zip(shard.nodes.drain(..)) {
                nodes[*number as usize] = Some(node);
            }
        }
        self.places = places(dealt, self.shards.len(), |_| false);
        self.span = span(&self.links, &self.places, self.width);
        let places = &self.places;
        let mut dealt: Vec<Vec<N>> = self.shards.iter().map(|_| Vec::new()).collect();
        for (place, node) in places.iter().zip(nodes) {
            let mut node = node.expect("each node has a place");
            node.placed(places);
            dealt[place.shard()].push(node);
        }
        let at = |number: u32| places[number as usize];
        for number in open {
            self.shards[at(number).shard()].open.push(at(number).index() as u32);
        }
        for (number, message) in kept {
            self.shards[at(number).shard()].kept.push((at(number).index() as u32, message));
        }
        for (shard, nodes) in self.shards.iter_mut().zip(dealt) {
            shard.settle(nodes, open_until);
        }
        mail.drain(|window, number, message, extension| {
            let to = at(number as u32);
            let inbox = &mut self.shards[to.shard()].inbox;
            inbox.put(self.window, window - self.window, to.index(), message, extension);
        });
        self.count_anew();
    }

    /// The number of the first shard of this process.
    pub(crate) fn first(&self) -> usize {
        self.processes.rank() * self.shards.len()
    }

    /// The nodes of this process, with their places.
    pub(crate) fn own(&self) -> impl Iterator<Item = (u32, Place)> {
        let own = self.first()..self.first() + self.shards.len();
        (0..).zip(self.places.iter().copied()).filter(move |(_, place)| own.contains(&place.shard()))
    }

    /// The place of a node, if it is of this process.
    pub(crate) fn own_place(&self, node: u32) -> Option<Place> {
        let own = self.first()..self.first() + self.shards.len();
        Some(self.places[node as usize]).filter(|place| own.contains(&place.shard()))
    }

    /// The node at a place of this process.
    pub(crate) fn at(&self, place: Place) -> &N {
        &self.shards[place.shard() - self.first()].nodes[place.index()]
    }

    /// The same to be changed.
    pub(crate) fn at_mut(&mut self, place: Place) -> &mut N {
        let first = self.first();
        &mut self.shards[place.shard() - first].nodes[place.index()]
    }

    /// The number of each node of this process, by shard and its place there.
    pub(crate) fn numbers(&self) -> Vec<Vec<u32>> {
        let mut numbers: Vec<Vec<u32>> = self.shards.iter().map(|shard| vec![0; shard.nodes.len()]).collect();
        for (node, place) in self.own() {
            numbers[place.shard() - self.first()][place.index()] = node;
        }
        numbers
    }

    /// A node may have an event of its own sooner than it had.
    pub(crate) fn changed(&mut self, node: u32) {
        let Some(place) = self.own_place(node) else { return };
        let first = self.first();
        let next = self.shards[place.shard() - first].changed(place.index());
        if next < u64::MAX {
            self.window = self.window.min(next / self.width);
        }
    }

    /// From now on counts what there is to do, and where time goes. `homes` says where each node belongs. Of one process.
    pub(crate) fn begin_profile(&mut self, homes: &[Home]) {
        let cores = available_parallelism().map_or(1, NonZero::get);
        self.profiler = Some(Box::new(Profiler::new(homes.to_vec(), self.shards.len(), cores)));
        self.count_anew();
    }

    /// What has been counted.
    pub(crate) fn profile(&self) -> Option<Profile> {
        let meters = self.shards.iter().filter_map(|shard| shard.meter.as_deref());
        self.profiler.as_ref().map(|profiler| profiler.profile(meters))
    }

    /// Gathers what the shards have counted in windows that took `wall`.
    fn gather(&mut self, wall: Duration) {
        let Some(mut profiler) = self.profiler.take() else { return };
        profiler.gather(self.shards.iter_mut().filter_map(|shard| shard.meter.as_deref_mut()), wall);
        if profiler.is_due() {
            profiler.deal(self.places.iter().map(|place| self.at(*place).trajectory().events()).collect());
        }
        self.profiler = Some(profiler);
        self.count_anew();
    }

    /// Shards have other nodes, or other deals are predicted.
    fn count_anew(&mut self) {
        let Some(profiler) = &self.profiler else { return };
        let numbers = self.numbers();
        for (shard, numbers) in self.shards.iter_mut().zip(&numbers) {
            shard.meter = Some(profiler.meter(numbers, &shard.nodes, shard.meter.take()));
        }
    }

    /// From when on the goal may be reached, by what all processes know.
    fn busy_until(&self, world: &N::World) -> u64 {
        let now = self.window.saturating_mul(self.width);
        let nodes = self.shards.iter().flat_map(|shard| &shard.nodes);
        let own = nodes.map(|node| node.busy_until(now, world)).max().unwrap_or(0);
        self.processes.gather(vec![own]).into_iter().max().unwrap_or(0)
    }

    /// Asks for that where it is due and helps; not if this process `lags` behind the others.
    fn free(&mut self, world: &N::World, limits: &Limits<'_>, lags: bool) -> Free {
        let waits = (self.span > 1 || self.processes.count() > 1) && self.profiler.is_none();
        if !waits || limits.goal == u64::MAX || !limits.goal_is_all {
            let until = if waits && limits.goal == u64::MAX { u64::MAX } else { 0 };
            return Free { until, after: u64::MAX, waited: 0 };
        }
        if !lags
            && self.window >= self.free.until
            // Where a process whose turn goes on would stop, nobody asks.
            && self.window.saturating_mul(self.width) < limits.end()
            && self.free.waited >= self.free.after
        {
            let until = self.busy_until(world) / self.width;
            let grows = until >= self.window.saturating_add(Free::LITTLE);
            let after = if grows { 0 } else { (2 * self.free.after).clamp(Free::LITTLE, Free::SELDOM) };
            self.free = Free { until, after, waited: 0 };
        }
        self.free
    }

    /// The end of the next window to run at `now`; `u64::MAX`: nothing is pending.
    pub(crate) fn next_window_end(&self, now: u64) -> u64 {
        self.window.checked_add(1).map_or(u64::MAX, |next| next.max(now / self.width + 1) * self.width)
    }

    /// Runs until a limit is met, always to the end of a window (or to `limits.until`).
    pub(crate) fn run(&mut self, world: &N::World, limits: &Limits<'_>) -> Stop {
        let (shards, count) = (self.shards.len(), self.processes.count());
        let tellers = shards + self.peers.len();
        let boards: [Board<N::Message>; 2] = std::array::from_fn(|_| Board {
            holes: (0..tellers * shards * count)
                .map(|_| Pigeonhole { is_full: AtomicBool::new(false), mail: Mutex::default() })
                .collect(),
            shards: shards * count,
        });
        let post = Post { to: vec![Vec::new(); count], from: vec![Vec::new(); count], notices: Vec::new() };
        let (post, heard) = (Mutex::new(post), Mutex::default());
        // What a process has been given to do since the last stretch, the others do not know.
        self.window = self.processes.gather(vec![self.window]).into_iter().min().unwrap_or(u64::MAX);
        let (mut pending, mut recorded) = (None, self.recorded);
        loop {
            let mut turn = if shards == 1 { Turn::whole() } else { self.ways.turn() };
            if self.profiler.is_some() {
                turn.most = turn.most.min(Profiler::TURN);
            }
            turn.most = turn.most.min(self.ways.longest.unwrap_or(u64::MAX));
            let started = Instant::now();
            let (mut stop, mut legs) = (None, 0);
            while stop.is_none()
                && legs < turn.most
                && turn.patience.is_none_or(|patience| started.elapsed() < patience)
            {
                let free = self.free(world, limits, pending.is_some());
                let meeting = Meeting::new(if turn.way == Way::Shared { shards } else { 1 }, self.cores);
                let step = Step {
                    boards: &boards,
                    post: &post,
                    heard: &heard,
                    processes: &*self.processes,
                    peers: &self.peers,
                    all_are_peers: self.all_are_peers,
                    shards,
                    meeting: &meeting,
                    width: self.width,
                    span: if self.profiler.is_some() { 1 } else { self.span },
                    free,
                    first: self.window,
                    pending,
                    most: turn.most - legs,
                    until: turn.patience.map(|patience| started + patience),
                    recorded_before: self.recorded,
                    world,
                    limits,
                };
                let mut outcome = match turn.way {
                    Way::Alone => step.alone(&mut self.shards),
                    Way::Shared => step.shared(&mut self.shards),
                };
                step.settle(&mut outcome);
                (self.window, pending) = (outcome.window, outcome.pending);
                self.count += outcome.windows;
                if turn.way == Way::Shared {
                    self.shared += outcome.windows;
                }
                self.free.waited += outcome.bound;
                // Known since an earlier turn, if this one has run nothing: when turns end is up to the clock of each process.
                recorded = outcome.recorded.unwrap_or(recorded);
                if outcome.stop.is_some_and(|stop| !matches!(stop, Stop::Look | Stop::Paused)) {
                    self.recorded = recorded;
                }
                (stop, legs) = (outcome.stop, legs + outcome.legs);
            }
            let time = started.elapsed();
            self.gather(time);
            if shards > 1 && self.ways.took(turn, time, legs) {
                self.deal_again();
            }
            if let Some(stop) = stop {
                return stop;
            }
        }
    }
}

/// By node a node of its region, the same for all: nodes of different regions do not see each other for two windows at least. Empty if
/// each may send to each.
fn regions(links: &[Link], nodes: usize, width: u64) -> Vec<u32> {
    let mut regions: Vec<u32> = if links.is_empty() { Vec::new() } else { (0..nodes as u32).collect() };
    let of = |regions: &[u32], mut node: u32| {
        while regions[node as usize] != node {
            node = regions[node as usize];
        }
        node
    };
    for Link { nodes: (a, b), .. } in links.iter().filter(|link| link.delay.as_ps() < 2 * width) {
        let ends = (of(&regions, *a), of(&regions, *b));
        regions[ends.0.max(ends.1) as usize] = ends.0.min(ends.1);
        // Shorter ways for the next who ask.
        (regions[*a as usize], regions[*b as usize]) = (ends.0.min(ends.1), ends.0.min(ends.1));
    }
    (0..regions.len() as u32).map(|node| of(&regions, node)).collect()
}

/// So many windows shards cannot see each other: the shortest link between two of them.
fn span(links: &[Link], places: &[Place], width: u64) -> u64 {
    if links.is_empty() {
        return 1;
    }
    let shard = |node: u32| places[node as usize].shard();
    let apart = links.iter().filter(|link| shard(link.nodes.0) != shard(link.nodes.1));
    let shortest = apart.map(|link| link.delay.as_ps()).min().unwrap_or(u64::MAX);
    (shortest / width).clamp(1, LONGEST_LEG)
}

/// Where each node is, one after the other on its shard: first those at the border to other processes.
fn places(dealt: &[u16], shards: usize, is_border: impl Fn(usize) -> bool) -> Vec<Place> {
    let mut sizes = vec![0; shards];
    let mut places = vec![Place::default(); dealt.len()];
    for borders in [true, false] {
        for (node, shard) in dealt.iter().enumerate().filter(|(node, _)| is_border(*node) == borders) {
            let size = &mut sizes[usize::from(*shard)];
            places[node] = Place::new((*shard).into(), *size);
            *size += 1;
        }
    }
    places
}

/// Who runs the shards through a window: the calling thread one after the other, or each a thread of its own. The trajectory is the
/// same, so the quicker one may do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Alone,
    Shared,
}

/// So many legs are run in one way before the next is chosen.
#[derive(Clone, Copy, Debug)]
struct Turn {
    way: Way,
    most: u64,
    /// A turn of one thread is over when it has taken so long, too.
    patience: Option<Duration>,
    is_trial: bool,
}

impl Turn {
    const fn whole() -> Self {
        Self { way: Way::Alone, most: u64::MAX, patience: None, is_trial: false }
    }
}

/// What the ways took when they were tried last. Windows of a few events are over before threads have met.
#[derive(Clone, Debug, Default)]
struct Ways {
    /// Nanoseconds per leg; 0 if never tried.
    alone: f64,
    shared: f64,
    turns: u64,
    /// For tests: so many legs are in a turn at most.
    longest: Option<u64>,
}

impl Ways {
    const TURN: u64 = 4096;
    /// Or as many as take about so long, as the next ones may be much busier.
    const STRETCH: Duration = Duration::from_millis(10);
    /// Turns that try a way are shorter: so many windows, or so long on one thread.
    const TRY: u64 = 256;
    const PATIENCE: Duration = Duration::from_millis(1);
    /// What was slower is tried again after so many turns.
    const AGAIN: u64 = 64;
    /// Windows that take so many nanoseconds on one thread are worth sharing: threads have met in a tenth of it.
    const SURE: f64 = 100_000.0;

    fn turn(&self) -> Turn {
        let most = (Self::STRETCH.as_nanos() as f64 / self.shared).min(Self::TURN as f64) as u64;
        let shared = Turn { way: Way::Shared, most: most.max(Self::TRY), patience: None, is_trial: false };
        match self.turns % Self::AGAIN {
            0 => Turn { way: Way::Alone, most: Self::TRY, patience: Some(Self::PATIENCE), is_trial: true },
            1 => Turn { most: Self::TRY, is_trial: true, ..shared },
            _ if self.shared < self.alone || self.alone >= Self::SURE => shared,
            _ => Turn { way: Way::Alone, most: Self::TURN, patience: Some(Self::STRETCH), is_trial: false },
        }
    }

    /// Whether the nodes are to be dealt out again now: after the first turns, and ever more seldom. A turn that a limit cut short says
    /// little, and does not count.
    fn took(&mut self, turn: Turn, time: Duration, legs: u64) -> bool {
        if legs == 0 {
            return false;
        }
        if legs < turn.most.min(Self::TRY) && turn.patience.is_none_or(|patience| time < patience) {
            return false;
        }
        let each = time.as_nanos() as f64 / legs as f64;
        match turn.way {
            Way::Alone => self.alone = each,
            Way::Shared => self.shared = each,
        }
        self.turns += 1;
        !turn.is_trial && (self.turns - 2).is_power_of_two() || self.turns == 2
    }
}

/// The windows from one meeting to the next.
#[derive(Clone, Copy)]
struct Leg {
    first: u64,
    last: u64,
    /// Nothing that is noted in it need be known before the next one begins.
    is_free: bool,
    /// Something is due in its first window somewhere.
    is_due: bool,
}

/// A leg of one shard whose last window, if something is due in that, is being run.
struct Begun {
    /// [`Notice::ran`]
    ran: u64,
    /// The first window for which something was sent to another process.
    next: u64,
}

#[derive(Default)]
struct Outcome {
    /// None: the windows of this turn have been run, or it must be asked how many are free.
    stop: Option<Stop>,
    window: u64,
    windows: u64,
    legs: u64,
    /// Windows that were not free.
    bound: u64,
    /// Records stored in all shards up to the end of the last window, if one was run.
    recorded: Option<u64>,
    /// What this process has noted in the leg that began in this window, and the others do not know.
    pending: Option<(u64, Notice)>,
    /// They must know it now.
    settles: bool,
}

impl Outcome {
    /// What this process has noted in the last leg, if the others do not know it.
    fn noted(&self) -> Notice {
        self.pending.map_or_else(Notice::default, |(_, notice)| notice)
    }
}

struct Step<'a, N: Node> {
    boards: &'a [Board<N::Message>; 2],
    post: &'a Mutex<Post>,
    /// What all processes had noted a leg ago.
    heard: &'a Mutex<Notice>,
    processes: &'a dyn Processes,
    peers: &'a [usize],
    all_are_peers: bool,
    /// Shards of this process, and of each other one.
    shards: usize,
    meeting: &'a Meeting<Notice>,
    width: u64,
    span: u64,
    free: Free,
    first: u64,
    pending: Option<(u64, Notice)>,
    /// Legs at most, and until when.
    most: u64,
    until: Option<Instant>,
    recorded_before: u64,
    world: &'a N::World,
    limits: &'a Limits<'a>,
}

impl<N: Node> Step<'_, N> {
    /// Each shard on a thread of its own.
    fn shared(&self, shards: &mut [Shard<N>]) -> Outcome {
        let (first, rest) = shards.split_first_mut().expect("at least one shard");
        std::thread::scope(|scope| {
            for (i, shard) in rest.iter_mut().enumerate() {
                scope.spawn(move || self.life(i + 1, shard));
            }
            self.life(0, first)
        })
    }

    /// The life of one shard between two stops. Every shard comes to the same decision from the same notice.
    fn life(&self, me: usize, shard: &mut Shard<N>) -> Outcome {
        let mut outcome = Outcome { window: self.first, pending: self.pending, ..Outcome::default() };
        let mut member = self.meeting.join(me);
        while let Some(leg) = self.next(&mut outcome) {
            let board = &self.boards[(outcome.legs & 1) as usize];
            if self.overlaps(&leg) {
                let begun = self.begin(me, shard, board, &leg);
                member.meet(Notice::default());
                let mut word = Notice::default();
                let mut rest = || word = self.finish(me, shard, board, &leg, &begun);
                if me == 0 {
                    let all = self.exchange(board, outcome.noted(), &mut rest);
                    *self.heard.lock().expect("no shard panicked") = all;
                } else {
                    rest();
                }
                let own = member.meet(word);
                self.collect(me, shard, board, 0..board.tellers(), leg.last);
                let heard = *self.heard.lock().expect("no shard panicked");
                self.hear(me, own, heard, &leg, &mut outcome);
                continue;
            }
            let begun = self.begin(me, shard, board, &leg);
            let word = self.finish(me, shard, board, &leg, &begun);
            let mut notice = if let Some(meter) = &mut shard.meter {
                meter.mailed();
                meter.waits(|| member.meet(word))
            } else {
                member.meet(word)
            };
            if self.processes.count() == 1 {
                self.collect(me, shard, board, 0..self.shards, leg.last);
            } else {
                let mut near = || self.collect(me, shard, board, 0..self.shards, leg.last);
                let word = if me == 0 {
                    self.exchange(board, notice, &mut near)
                } else {
                    near();
                    Notice::default()
                };
                notice = member.meet(word);
                self.collect(me, shard, board, self.shards..board.tellers(), leg.last);
            }
            if let Some(meter) = &mut shard.meter {
                meter.mailed();
            }
            self.decide(me, notice, &leg, &mut outcome);
        }
        outcome
    }

    /// All shards in turn on this thread.
    fn alone(&self, shards: &mut [Shard<N>]) -> Outcome {
        let mut outcome = Outcome { window: self.first, pending: self.pending, ..Outcome::default() };
        let mut begun = Vec::new();
        while let Some(leg) = self.next(&mut outcome) {
            let board = &self.boards[(outcome.legs & 1) as usize];
            for (me, shard) in shards.iter_mut().enumerate() {
                begun.push(self.begin(me, shard, board, &leg));
            }
            let mut own = Notice::default();
            let mut finish = |shards: &mut [Shard<N>]| {
                for (me, (shard, begun)) in shards.iter_mut().zip(begun.drain(..)).enumerate() {
                    own = own.and(self.finish(me, shard, board, &leg, &begun));
                    if let Some(meter) = &mut shard.meter {
                        meter.mailed();
                    }
                }
                own
            };
            let collect = |shards: &mut [Shard<N>], tellers: Range<usize>| {
                for (me, shard) in shards.iter_mut().enumerate() {
                    if let Some(meter) = &mut shard.meter {
                        meter.begin();
                    }
                    self.collect(me, shard, board, tellers.clone(), leg.last);
                    if let Some(meter) = &mut shard.meter {
                        meter.mailed();
                    }
                }
            };
            if self.overlaps(&leg) {
                let heard = self.exchange(board, outcome.noted(), &mut || {
                    finish(shards);
                });
                collect(shards, 0..board.tellers());
                self.hear(0, own, heard, &leg, &mut outcome);
            } else {
                let own = finish(shards);
                let notice = self.exchange(board, own, &mut || collect(shards, 0..self.shards));
                collect(shards, self.shards..board.tellers());
                self.decide(0, notice, &leg, &mut outcome);
            }
            if self.until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
        }
        outcome
    }

    /// The windows to run now, unless this is the end of the stretch or of the turn, or must be asked how many are free.
    fn next(&self, outcome: &mut Outcome) -> Option<Leg> {
        let (index, lags) = (outcome.window, outcome.pending.is_some());
        if outcome.stop.is_some() || outcome.settles || outcome.legs >= self.most {
            return None;
        }
        let stop = if index == u64::MAX {
            Some(Stop::Idle)
        } else if index.saturating_mul(self.width) >= self.limits.end() {
            Some(self.limits.stop())
        } else {
            None
        };
        let whole = (self.limits.end() / self.width).min(self.free.until);
        let is_free = stop.is_none() && index < whole;
        if lags && !is_free {
            // Who lags behind does not know whether this window is the next one.
            outcome.settles = true;
            return None;
        }
        outcome.stop = stop;
        if stop.is_some()
            || index >= self.free.until && outcome.bound >= self.free.after.saturating_sub(self.free.waited)
        {
            return None;
        }
        outcome.legs += 1;
        outcome.bound += u64::from(!is_free);
        let last = if is_free { index + self.span.min(whole - index) - 1 } else { index };
        Some(Leg { first: index, last, is_free, is_due: !lags })
    }

    /// A window, as far as it is run.
    fn window(&self, index: u64) -> Window {
        let start = index * self.width;
        let grid_end = start + self.width;
        Window { index, start, grid_end, end: grid_end.min(self.limits.end()) }
    }

    /// Whether nodes that no other process sees are run while messages are on their way to these.
    fn overlaps(&self, leg: &Leg) -> bool {
        leg.is_free && self.processes.count() > 1
    }

    /// Runs what is due in the windows of a leg, in the last one only at the nodes that other processes see, and puts what was sent to
    /// these where it is sent from.
    fn begin(&self, me: usize, shard: &mut Shard<N>, board: &Board<N::Message>, leg: &Leg) -> Begun {
        let (mut ran, mut due) = (u64::from(leg.is_due), leg.first);
        if leg.first < leg.last || !leg.is_due {
            due = shard.next_window(leg.first, self.width);
            while due < leg.last {
                shard.run(self.window(due), self.world);
                ran |= 1 << (due - leg.first);
                due = shard.next_window(due + 1, self.width);
            }
        }
        if due <= leg.last {
            ran |= 1 << (due - leg.first);
            shard.begin(self.window(due));
            shard.run_nodes(0..shard.border, self.world);
        }
        let own = self.own();
        let before = self.publish(me, shard, board, 0..own.start);
        let after = self.publish(me, shard, board, own.end..shard.mail.len());
        Begun { ran, next: before.min(after) }
    }

    /// Runs the rest of the last window, puts what the shard sent where the others find it, and notes how it stands.
    fn finish(
        &self,
        me: usize,
        shard: &mut Shard<N>,
        board: &Board<N::Message>,
        leg: &Leg,
        begun: &Begun,
    ) -> Notice {
        shard.run_nodes(shard.border..shard.nodes.len(), self.world);
        shard.end();
        let near = self.publish(me, shard, board, self.own());
        Notice {
            next: shard.next_window(leg.last, self.width).min(near).min(begun.next),
            completed: shard.tally.completed,
            recorded: shard.tally.recorded,
            ran: begun.ran,
            failed: shard.tally.failed,
            stop: me == 0 && self.limits.interrupted(),
            look: me == 0 && self.limits.looked_at(),
        }
    }

    /// The shards of this process.
    fn own(&self) -> Range<usize> {
        let rank = self.processes.rank();
        rank * self.shards..(rank + 1) * self.shards
    }

    /// Puts what the shard sent to these where they find it; the first window that it is for.
    fn publish(&self, me: usize, shard: &mut Shard<N>, board: &Board<N::Message>, to: Range<usize>) -> u64 {
        let mut next = u64::MAX;
        for (to, mail) in to.clone().zip(&mut shard.mail[to]) {
            if !mail.is_empty() {
                let process = to / self.shards;
                let is_there = process == self.processes.rank() || self.peers.contains(&process);
                assert!(is_there, "messages go along links");
                next = next.min(mail.first_window());
                let hole = board.hole(me, to);
                std::mem::swap(&mut *hole.mail.lock().expect("no shard panicked"), mail);
                hole.is_full.store(true, Relaxed);
            }
        }
        next
    }

    /// What follows from what all shards noted, which are all of all processes.
    fn decide(&self, me: usize, notice: Notice, leg: &Leg, outcome: &mut Outcome) {
        let window = self.window(leg.last);
        self.count(me, &notice, leg.first, outcome);
        let is_cut = !window.is_whole() && self.limits.stop() == Stop::Paused;
        outcome.recorded = Some(notice.recorded);
        outcome.window = notice.next;
        outcome.stop = if notice.failed {
            Some(Stop::Failed)
        } else if is_cut {
            // What is known at the end of a window is known at the end of this one, even if nothing more happens in it.
            outcome.window = window.index;
            outcome.windows -= 1;
            Some(Stop::Paused)
        } else if notice.completed >= self.limits.goal {
            Some(Stop::Goal)
        } else if !window.is_whole() {
            Some(Stop::Until)
        } else {
            self.stop(&notice)
        };
    }

    /// Whether what was noted ends the stretch at the end of any window.
    fn stop(&self, notice: &Notice) -> Option<Stop> {
        if notice.failed {
            Some(Stop::Failed)
        } else if notice.stop {
            Some(Stop::Interrupted)
        } else if notice.recorded.saturating_sub(self.recorded_before) >= self.limits.records {
            Some(Stop::Records)
        } else if notice.look {
            Some(Stop::Look)
        } else {
            None
        }
    }

    /// Counts the windows of a leg that were run, and shows how far the run has come.
    fn count(&self, me: usize, notice: &Notice, first: u64, outcome: &mut Outcome) {
        outcome.windows += u64::from(notice.ran.count_ones());
        if let (0, Some(last)) = (me, notice.ran.checked_ilog2()) {
            self.limits.report(self.window(first + u64::from(last)).end);
        }
    }

    /// The shards of this process have noted `own` in a leg, and all had noted `heard` in the one before it.
    fn hear(&self, me: usize, own: Notice, heard: Notice, leg: &Leg, outcome: &mut Outcome) {
        outcome.window = leg.last + 1;
        if let Some((first, _)) = outcome.pending {
            self.count(me, &heard, first, outcome);
            outcome.settles = self.stop(&heard).is_some();
            // Nothing was due in this leg either, then.
            outcome.window = outcome.window.max(heard.next);
        }
        outcome.pending = Some((leg.first, own));
    }

    /// Lets all processes know what each has noted last, where they must.
    fn settle(&self, outcome: &mut Outcome) {
        if !std::mem::take(&mut outcome.settles) {
            return;
        }
        let Some((first, own)) = outcome.pending.take() else { return };
        let all = self.processes.gather(vec![own]).into_iter();
        let notice = all.reduce(Notice::and).unwrap_or_default();
        self.count(0, &notice, first, outcome);
        (outcome.window, outcome.recorded) = (notice.next, Some(notice.recorded));
        outcome.stop = self.stop(&notice);
    }

    /// Takes in the mail of `tellers`.
    fn collect(
        &self,
        me: usize,
        shard: &mut Shard<N>,
        board: &Board<N::Message>,
        tellers: Range<usize>,
        current: u64,
    ) {
        let to = self.processes.rank() * self.shards + me;
        let inbox = &mut shard.inbox;
        let full = |hole: &&Pigeonhole<_>| hole.is_full.load(Relaxed);
        for hole in tellers.map(|from| board.hole(from, to)).filter(full) {
            hole.is_full.store(false, Relaxed);
            let mut mail = hole.mail.lock().expect("no shard panicked");
            if let Some(meter) = &mut shard.meter {
                meter.spent.messages += mail.count() as u64;
            }
            debug_assert!(
                mail.first_window() > current,
                "a message takes effect sooner than its link allows"
            );
            if mail.is_plain() {
                for (window, node, messages) in mail.pieces() {
                    inbox.put_all(current, window - current, node, messages);
                }
                mail.clear();
            } else {
                mail.drain(|window, node, message, extension| {
                    inbox.put(current, window - current, node, message, extension);
                });
            }
        }
    }

    /// Sends the processes with links to this one what is on the board for them, and all processes a notice of this one, and puts on the
    /// board what comes; `meanwhile` is done until it has come. The notice of all processes.
    fn exchange(&self, board: &Board<N::Message>, notice: Notice, meanwhile: &mut dyn FnMut()) -> Notice {
        if self.processes.count() == 1 {
            meanwhile();
            return notice;
        }
        // Notices travel with the mail where that reaches all.
        let together = self.all_are_peers;
        let of = |process: usize| process * self.shards..(process + 1) * self.shards;
        let mut post = self.post.lock().expect("no shard panicked");
        let Post { to, from, notices } = &mut *post;
        for peer in self.peers {
            let bytes = &mut to[*peer];
            bytes.clear();
            if together {
                write(&notice, bytes);
            }
            for (from, to) in (0..self.shards).flat_map(|from| of(*peer).map(move |to| (from, to))) {
                let hole = board.hole(from, to);
                hole.is_full.store(false, Relaxed);
                hole.mail.lock().expect("no shard panicked").put(bytes);
            }
        }
        let mut all = notice;
        if together {
            self.processes.exchange(self.peers, to, meanwhile, from);
        } else {
            let mut own = Vec::new();
            write(&notice, &mut own);
            self.processes.share(
                &own,
                &mut || self.processes.exchange(self.peers, to, meanwhile, from),
                notices,
            );
            let each = notices.chunks_exact(own.len()).map(|bytes| read::<Notice>(&mut &bytes[..]));
            all = each.reduce(Notice::and).unwrap_or_default();
        }
        for (peer, teller) in self.peers.iter().zip(self.shards..) {
            let bytes = &mut &from[*peer][..];
            if together {
                all = all.and(read(bytes));
            }
            for to in (0..self.shards).flat_map(|_| of(self.processes.rank())) {
                let hole = board.hole(teller, to);
                hole.mail.lock().expect("no shard panicked").take(bytes);
                hole.is_full.store(true, Relaxed);
            }
            assert!(bytes.is_empty(), "the processes are of one build");
        }
        all
    }
}

impl<M> Board<M> {
    fn hole(&self, from: usize, to: usize) -> &Pigeonhole<M> {
        &self.holes[from * self.shards + to]
    }

    /// The shards of this process and the processes with links to it.
    const fn tellers(&self) -> usize {
        self.holes.len() / self.shards
    }
}
