//! The fast engine: shards in step, window by window, on as many threads as pay.
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use borsh::{BorshDeserialize, BorshSerialize};

use crate::deal::deal;
use crate::engine::{Limits, Stop};
use crate::extension::Mail;
use crate::meeting::{Meeting, Word};
use crate::processes::{read, write};
use crate::profile::{Profile, Profiler, expected};
use crate::shard::{Shard, Window};
use crate::{Home, Node, Place, Processes, mix};

/// What a shard, or a process, tells the others at the end of a window.
#[derive(Clone, Copy, BorshSerialize, BorshDeserialize)]
struct Notice {
    /// The first window in which something is due.
    next: u64,
    completed: u64,
    recorded: u64,
    failed: bool,
    stop: bool,
    look: bool,
}

impl Default for Notice {
    fn default() -> Self {
        Self { next: u64::MAX, completed: 0, recorded: 0, failed: false, stop: false, look: false }
    }
}

#[derive(Default)]
struct StoredNotice {
    next: AtomicU64,
    completed: AtomicU64,
    recorded: AtomicU64,
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
        to.failed.store(self.failed, Relaxed);
        to.stop.store(self.stop, Relaxed);
        to.look.store(self.look, Relaxed);
    }
    fn load(from: &StoredNotice) -> Self {
        Self {
            next: from.next.load(Relaxed),
            completed: from.completed.load(Relaxed),
            recorded: from.recorded.load(Relaxed),
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
            failed: self.failed || other.failed,
            stop: self.stop || other.stop,
            look: self.look || other.look,
        }
    }
}

/// The mail of one window from one shard to another. It changes hands whole: the sender gives the list that it has filled for the one
/// that the receiver has emptied. They never come at the same time, so that the lock is always free.
#[derive(Default)]
#[repr(align(128))]
struct Pigeonhole<M> {
    is_full: AtomicBool,
    mail: Mutex<Mail<M>>,
}

/// The mail of one window. Two of them alternate, so that one meeting per window is enough.
struct Board<M> {
    /// `holes[from * shards + to]`, `from` a shard of this process or, behind these, another process, `to` a shard of any process.
    holes: Vec<Pigeonhole<M>>,
    shards: usize,
}

/// The buffers for the other processes, and from them.
#[derive(Default)]
struct Post {
    to: Vec<Vec<u8>>,
    from: Vec<Vec<u8>>,
}

/// The shards and how far they have come.
#[derive(Clone)]
pub(crate) struct Windows<N: Node> {
    /// Those of this process.
    pub(crate) shards: Vec<Shard<N>>,
    /// Where the nodes of all processes are.
    pub(crate) places: Vec<Place>,
    processes: Arc<dyn Processes>,
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
        shards: usize,
        slots: usize,
        width: u64,
    ) -> Self {
        let (all, first) = (shards * processes.count(), processes.rank() * shards);
        let (homes, dealt) = if all > 1 {
            let work: Vec<u64> = homes.iter().map(|home| u64::from(home.work)).collect();
            (homes.to_vec(), deal(homes, &work, all))
        } else {
            (Vec::new(), vec![0; homes.len()])
        };
        let places = places(&dealt, all);
        let own = first..first + shards;
        let mut nodes: Vec<Vec<N>> = own.clone().map(|_| Vec::new()).collect();
        for (number, place) in (0..).zip(&places).filter(|(_, place)| own.contains(&place.shard())) {
            let mut node = build(number);
            node.placed(&places);
            nodes[place.shard() - first].push(node);
        }
        let shards: Vec<Shard<N>> =
            own.zip(nodes).map(|(me, nodes)| Shard::new(me, all, nodes, slots)).collect();
        let soonest = shards.iter().flat_map(|shard| &shard.next).copied().min().unwrap_or(u64::MAX);
        let window = if soonest == u64::MAX { u64::MAX } else { soonest / width };
        let cores = if shards.len() > 1 { available_parallelism().map_or(1, NonZero::get) } else { 1 };
        let (ways, seen) = (Ways::default(), vec![0; homes.len()]);
        Self {
            shards,
            places,
            processes,
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
        let dealt = deal(&self.homes, &work, shards);
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

    /// For tests: to shards drawn from `seed`.
    pub(crate) fn deal_at_random(&mut self, seed: u64) {
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
        self.places = places(dealt, self.shards.len());
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
    fn first(&self) -> usize {
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
        let shard = &mut self.shards[place.shard() - first];
        let next = shard.nodes[place.index()].local_key().time;
        shard.next[place.index()] = next;
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

    /// Runs until a limit is met, always to the end of a window (or to `limits.until`).
    pub(crate) fn run(&mut self, world: &N::World, limits: &Limits<'_>) -> Stop {
        let (shards, count) = (self.shards.len(), self.processes.count());
        let tellers = shards + count - 1;
        let boards: [Board<N::Message>; 2] = std::array::from_fn(|_| Board {
            holes: (0..tellers * shards * count)
                .map(|_| Pigeonhole { is_full: AtomicBool::new(false), mail: Mutex::default() })
                .collect(),
            shards: shards * count,
        });
        let post = Mutex::new(Post { to: vec![Vec::new(); count], from: vec![Vec::new(); count] });
        // What a process has been given to do since the last stretch, the others do not know.
        self.window = self.processes.gather(vec![self.window]).into_iter().min().unwrap_or(u64::MAX);
        loop {
            let mut turn = if shards == 1 { Turn::whole() } else { self.ways.turn() };
            if self.profiler.is_some() {
                turn.most = turn.most.min(Profiler::TURN);
            }
            let meeting = Meeting::new(if turn.way == Way::Shared { shards } else { 1 }, self.cores);
            let step = Step {
                boards: &boards,
                post: &post,
                processes: &*self.processes,
                shards,
                meeting: &meeting,
                width: self.width,
                first: self.window,
                turn,
                recorded_before: self.recorded,
                world,
                limits,
            };
            let started = Instant::now();
            let outcome = match turn.way {
                Way::Alone => step.alone(&mut self.shards),
                Way::Shared => step.shared(&mut self.shards),
            };
            self.window = outcome.window;
            self.count += outcome.windows;
            if turn.way == Way::Shared {
                self.shared += outcome.windows;
            }
            if outcome.stop.is_some_and(|stop| !matches!(stop, Stop::Look | Stop::Paused)) {
                self.recorded = outcome.recorded.unwrap_or(self.recorded);
            }
            let time = started.elapsed();
            self.gather(time);
            if shards > 1 && self.ways.took(turn, time, outcome.windows) {
                self.deal_again();
            }
            if let Some(stop) = outcome.stop {
                return stop;
            }
        }
    }
}

/// Where each node is, one after the other on its shard.
fn places(dealt: &[u16], shards: usize) -> Vec<Place> {
    let mut sizes = vec![0; shards];
    let place = |shard: &u16| {
        let size = &mut sizes[usize::from(*shard)];
        *size += 1;
        Place::new((*shard).into(), *size - 1)
    };
    dealt.iter().map(place).collect()
}

/// Who runs the shards through a window: the calling thread one after the other, or each a thread of its own. The trajectory is the
/// same, so the quicker one may do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Alone,
    Shared,
}

/// So many windows are run in one way before the next is chosen.
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
    /// Nanoseconds per window; 0 if never tried.
    alone: f64,
    shared: f64,
    turns: u64,
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
    fn took(&mut self, turn: Turn, time: Duration, windows: u64) -> bool {
        if windows == 0 {
            return false;
        }
        if windows < turn.most.min(Self::TRY) && turn.patience.is_none_or(|patience| time < patience) {
            return false;
        }
        let each = time.as_nanos() as f64 / windows as f64;
        match turn.way {
            Way::Alone => self.alone = each,
            Way::Shared => self.shared = each,
        }
        self.turns += 1;
        !turn.is_trial && (self.turns - 2).is_power_of_two() || self.turns == 2
    }
}

struct Outcome {
    /// None: the windows of this turn have been run.
    stop: Option<Stop>,
    window: u64,
    windows: u64,
    /// Records stored in all shards up to the end of the last window, if one was run.
    recorded: Option<u64>,
}

struct Step<'a, N: Node> {
    boards: &'a [Board<N::Message>; 2],
    post: &'a Mutex<Post>,
    processes: &'a dyn Processes,
    /// Shards of this process, and of each other one.
    shards: usize,
    meeting: &'a Meeting<Notice>,
    width: u64,
    first: u64,
    turn: Turn,
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
        let mut outcome = Outcome { stop: None, window: self.first, windows: 0, recorded: None };
        let mut member = self.meeting.join(me);
        while let Some(window) = self.next(&mut outcome) {
            shard.run(window, self.world);
            outcome.windows += 1;
            let board = &self.boards[(outcome.windows & 1) as usize];
            let word = self.publish(me, shard, board, window.index);
            let mut notice = if let Some(meter) = &mut shard.meter {
                meter.mailed();
                meter.waits(|| member.meet(word))
            } else {
                member.meet(word)
            };
            if self.processes.count() == 1 {
                self.collect(me, shard, board, 0..self.shards, window.index);
            } else {
                let mut near = || self.collect(me, shard, board, 0..self.shards, window.index);
                let word = if me == 0 {
                    self.exchange(board, notice, &mut near)
                } else {
                    near();
                    Notice::default()
                };
                notice = member.meet(word);
                self.collect(me, shard, board, self.shards..board.tellers(), window.index);
            }
            if let Some(meter) = &mut shard.meter {
                meter.mailed();
            }
            self.decide(me, notice, window, &mut outcome);
        }
        outcome
    }

    /// All shards in turn on this thread.
    fn alone(&self, shards: &mut [Shard<N>]) -> Outcome {
        let mut outcome = Outcome { stop: None, window: self.first, windows: 0, recorded: None };
        let started = Instant::now();
        while let Some(window) = self.next(&mut outcome) {
            outcome.windows += 1;
            let board = &self.boards[(outcome.windows & 1) as usize];
            let mut notice = Notice::default();
            for (me, shard) in shards.iter_mut().enumerate() {
                shard.run(window, self.world);
                notice = notice.and(self.publish(me, shard, board, window.index));
                if let Some(meter) = &mut shard.meter {
                    meter.mailed();
                }
            }
            let notice = self.exchange(board, notice, &mut || {
                for (me, shard) in shards.iter_mut().enumerate() {
                    if let Some(meter) = &mut shard.meter {
                        meter.begin();
                    }
                    self.collect(me, shard, board, 0..self.shards, window.index);
                    if let Some(meter) = &mut shard.meter {
                        meter.mailed();
                    }
                }
            });
            for (me, shard) in shards.iter_mut().enumerate() {
                self.collect(me, shard, board, self.shards..board.tellers(), window.index);
            }
            self.decide(0, notice, window, &mut outcome);
            if self.turn.patience.is_some_and(|patience| started.elapsed() >= patience) {
                break;
            }
        }
        outcome
    }

    /// The window to run now, unless this is the end of the stretch or of the turn.
    fn next(&self, outcome: &mut Outcome) -> Option<Window> {
        if outcome.stop.is_some() {
            return None;
        }
        let index = outcome.window;
        if index == u64::MAX {
            outcome.stop = Some(Stop::Idle);
            return None;
        }
        let start = index * self.width;
        if start >= self.limits.end() {
            outcome.stop = Some(self.limits.stop());
            return None;
        }
        let grid_end = start + self.width;
        let end = grid_end.min(self.limits.end());
        (outcome.windows < self.turn.most).then_some(Window { index, start, grid_end, end })
    }

    /// What follows from what all shards noted.
    fn decide(&self, me: usize, notice: Notice, window: Window, outcome: &mut Outcome) {
        if me == 0 {
            self.limits.report(window.end);
        }
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
        } else if notice.stop {
            Some(Stop::Interrupted)
        } else if notice.recorded - self.recorded_before >= self.limits.records {
            Some(Stop::Records)
        } else if notice.look {
            Some(Stop::Look)
        } else {
            None
        };
    }

    /// Puts what the shard sent where the others find it, and notes how it stands.
    fn publish(&self, me: usize, shard: &mut Shard<N>, board: &Board<N::Message>, window: u64) -> Notice {
        let mut next = shard.next_window(window, self.width);
        for (to, mail) in shard.mail.iter_mut().enumerate() {
            if !mail.is_empty() {
                next = next.min(mail.first_window());
                let hole = board.hole(me, to);
                std::mem::swap(&mut *hole.mail.lock().expect("no shard panicked"), mail);
                hole.is_full.store(true, Relaxed);
            }
        }
        Notice {
            next,
            completed: shard.tally.completed,
            recorded: shard.tally.recorded,
            failed: shard.tally.failed,
            stop: me == 0 && self.limits.interrupted(),
            look: me == 0 && self.limits.looked_at(),
        }
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

    /// Sends the other processes what is on the board for them and the notice of all shards here, and puts there what they send;
    /// `meanwhile` is done until it has come. The notice of all processes.
    fn exchange(&self, board: &Board<N::Message>, notice: Notice, meanwhile: &mut dyn FnMut()) -> Notice {
        let (count, own) = (self.processes.count(), self.processes.rank());
        if count == 1 {
            meanwhile();
            return notice;
        }
        let of = |process: usize| process * self.shards..(process + 1) * self.shards;
        let mut post = self.post.lock().expect("no shard panicked");
        let Post { to, from } = &mut *post;
        for (process, bytes) in to.iter_mut().enumerate().filter(|(process, _)| *process != own) {
            bytes.clear();
            write(&notice, bytes);
            for (from, to) in (0..self.shards).flat_map(|from| of(process).map(move |to| (from, to))) {
                let hole = board.hole(from, to);
                hole.is_full.store(false, Relaxed);
                hole.mail.lock().expect("no shard panicked").put(bytes);
            }
        }
        self.processes.exchange(to, meanwhile, from);
        let others = from.iter().enumerate().filter(|(process, _)| *process != own);
        others.zip(self.shards..).fold(notice, |notice, ((_, bytes), teller)| {
            let bytes = &mut &bytes[..];
            let other = read(bytes);
            for to in (0..self.shards).flat_map(|_| of(own)) {
                let hole = board.hole(teller, to);
                hole.mail.lock().expect("no shard panicked").take(bytes);
                hole.is_full.store(true, Relaxed);
            }
            assert!(bytes.is_empty(), "the processes are of one build");
            notice.and(other)
        })
    }
}

impl<M> Board<M> {
    fn hole(&self, from: usize, to: usize) -> &Pigeonhole<M> {
        &self.holes[from * self.shards + to]
    }

    /// The shards of this process and the other processes.
    const fn tellers(&self) -> usize {
        self.holes.len() / self.shards
    }
}
