//! Where the time of a run went, and what other numbers of threads would bring.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::deal::deal;
use crate::meeting::{Meeting, Word};
use crate::{Home, Message, Node};

/// Numbers of threads that are predicted, besides that of the run.
const PREDICTED: [usize; 8] = [2, 4, 8, 16, 32, 64, 128, 256];
const MOST: usize = PREDICTED.len() + 1;
/// So long a message takes to another shard where the run has sent none: what it took on the machine of docs/performance.md.
const MAIL_NS: f64 = 15.0;

/// What the thread of one shard did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Nodes of the shard, at the end.
    pub nodes: usize,
    /// CPU time in which it ran its nodes.
    pub work: Duration,
    /// CPU time in which it gave away and took in messages.
    pub mail: Duration,
    /// Time in which it waited for other threads.
    pub wait: Duration,
    /// Messages that it took in from other shards.
    pub messages: u64,
}

/// What so many threads would take for the same windows, each on a core of its own.
#[derive(Clone, Copy, Debug)]
pub struct Prediction {
    /// How many.
    pub threads: usize,
    /// Running the busiest shard of each window.
    pub work: Duration,
    /// Messages between shards, where they are shared out evenly.
    pub mail: Duration,
    /// Meeting at the end of each window.
    pub meet: Duration,
    /// The work of the busiest shard of a window over the mean of all: 1 if all have as much.
    pub imbalance: f64,
    /// Of all messages those between shards.
    pub away: f64,
}

impl Prediction {
    /// All together.
    pub fn wall(&self) -> Duration {
        self.work + self.mail + self.meet
    }
}

/// What a profiled run has taken.
#[derive(Clone, Debug)]
pub struct Profile {
    /// By shard.
    pub shards: Vec<Spent>,
    /// Windows that were run.
    pub windows: u64,
    /// How long they took, with all threads and with what it takes to count.
    pub wall: Duration,
    /// The busiest shard of each window over the mean of all, by counted work.
    pub imbalance: f64,
    /// Messages that took effect.
    pub messages: u64,
    /// Time of two threads of this machine to meet.
    pub meeting: Duration,
    /// By number of threads.
    pub predictions: Vec<Prediction>,
}

/// Where a node is in the loads of a window, for each number of threads.
type Cells = [u16; MOST];

/// How nodes would be dealt out to each number of threads.
#[derive(Clone, Debug)]
struct Deals {
    threads: Vec<usize>,
    /// By node.
    cells: Vec<Cells>,
    /// Cells of all numbers together.
    size: usize,
}

impl Deals {
    fn new(threads: &[usize], homes: &[Home], work: &[u64]) -> Self {
        let (mut cells, mut size) = (vec![[0; MOST]; homes.len()], 0);
        for (number, count) in threads.iter().enumerate() {
            for (cell, shard) in cells.iter_mut().zip(deal(homes, work, &[], *count)) {
                cell[number] = size as u16 + shard;
            }
            size += count;
        }
        Self { threads: threads.to_vec(), cells, size }
    }
}

/// What one shard counts while a run is profiled.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    pub(crate) spent: Spent,
    deals: Arc<Deals>,
    /// The numbers of the shard's nodes.
    numbers: Vec<u32>,
    /// Events of each when they were counted last.
    seen: Vec<u64>,
    /// Nodes that have something to do in this window.
    visited: Vec<u32>,
    /// The loads of the windows since they were gathered last, one window after the other.
    loads: Vec<u32>,
    messages: u64,
    away: [u64; MOST],
    since: f64,
}

impl Meter {
    /// Mail begins.
    pub(crate) fn begin(&mut self) {
        self.since = cpu();
    }

    /// A window begins: notes which nodes have something to do before `end`, and where their messages come from.
    pub(crate) fn begin_window<N: Node>(
        &mut self,
        nodes: &[N],
        next: &[u64],
        lists: &[Vec<N::Message>],
        end: u64,
    ) {
        for (index, ((node, next), arrivals)) in nodes.iter().zip(next).zip(lists).enumerate() {
            if !arrivals.is_empty() || *next < end {
                self.visited.push(index as u32);
                self.count(index, node, arrivals);
            }
        }
        self.since = cpu();
    }

    /// Those nodes have been run: a visit and an event are as much work.
    pub(crate) fn worked<N: Node>(&mut self, nodes: &[N]) {
        self.spent.work += Duration::from_secs_f64(cpu() - self.since);
        let (deals, first) = (&*self.deals, self.loads.len());
        self.loads.resize(first + deals.size, 0);
        for index in self.visited.drain(..).map(|index| index as usize) {
            let events = nodes[index].trajectory().events();
            let work = (events - self.seen[index]) as u32 + 1;
            self.seen[index] = events;
            for cell in &deals.cells[self.numbers[index] as usize][..deals.threads.len()] {
                self.loads[first + usize::from(*cell)] += work;
            }
        }
        self.since = cpu();
    }

    /// Or mail.
    pub(crate) fn mailed(&mut self) {
        let now = cpu();
        self.spent.mail += Duration::from_secs_f64(now - self.since);
        self.since = now;
    }

    /// Waits for other threads in `meet`.
    pub(crate) fn waits<T>(&mut self, meet: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let met = meet();
        self.spent.wait += started.elapsed();
        self.since = cpu();
        met
    }

    /// Counts messages, and those of them that come from other shards, for each number of threads.
    fn count<N: Node>(&mut self, index: usize, node: &N, arrivals: &[N::Message]) {
        let deals = &*self.deals;
        let own = deals.cells[self.numbers[index] as usize];
        self.messages += arrivals.len() as u64;
        for message in arrivals {
            let Some(from) = node.neighbour(message.port()) else { continue };
            let other = &deals.cells[from as usize];
            for number in 0..deals.threads.len() {
                self.away[number] += u64::from(own[number] != other[number]);
            }
        }
    }
}

/// What all shards have counted.
#[derive(Clone, Debug)]
pub(crate) struct Profiler {
    homes: Vec<Home>,
    deals: Arc<Deals>,
    /// The number of the run's own threads among those that are predicted; none if it has one.
    own: Option<usize>,
    /// The busiest shard of each window, summed up, by number of threads.
    busiest: [u64; MOST],
    all: u64,
    /// By node, since the nodes were dealt out last.
    work: Vec<u64>,
    gathered: u64,
    windows: u64,
    wall: Duration,
    cores: usize,
}

impl Profiler {
    /// Windows after which what was counted is gathered, so that it stays small.
    pub(crate) const TURN: u64 = 512;

    pub(crate) fn new(homes: Vec<Home>, shards: usize, cores: usize) -> Self {
        let mut threads: Vec<usize> =
            PREDICTED.iter().copied().chain((shards > 1).then_some(shards)).collect();
        threads.sort_unstable();
        threads.dedup();
        threads.retain(|threads| *threads <= homes.len());
        let work: Vec<u64> = homes.iter().map(|home| home.work.into()).collect();
        let own = threads.iter().position(|threads| *threads == shards);
        let deals = Arc::new(Deals::new(&threads, &homes, &work));
        let work = vec![0; homes.len()];
        Self {
            homes,
            deals,
            own,
            busiest: [0; MOST],
            all: 0,
            work,
            gathered: 0,
            windows: 0,
            wall: Duration::ZERO,
            cores,
        }
    }

    /// For a shard with the nodes of these numbers; what its shard had counted before.
    pub(crate) fn meter<N: Node>(
        &self,
        numbers: &[u32],
        nodes: &[N],
        before: Option<Box<Meter>>,
    ) -> Box<Meter> {
        let seen = nodes.iter().map(|node| node.trajectory().events()).collect();
        let deals = Arc::clone(&self.deals);
        let (mut spent, messages, away) =
            before.map_or_else(Default::default, |meter| (meter.spent, meter.messages, meter.away));
        spent.nodes = nodes.len();
        Box::new(Meter {
            spent,
            deals,
            numbers: numbers.to_vec(),
            seen,
            visited: Vec::new(),
            loads: Vec::new(),
            messages,
            away,
            since: 0.0,
        })
    }

    /// Sums up what the shards have counted in windows that took `wall`.
    pub(crate) fn gather<'a>(&mut self, meters: impl Iterator<Item = &'a mut Meter>, wall: Duration) {
        self.wall += wall;
        let size = self.deals.size;
        let mut sums: Vec<u64> = Vec::new();
        for meter in meters {
            sums.resize(meter.loads.len(), 0);
            sums.iter_mut().zip(&meter.loads).for_each(|(sum, load)| *sum += u64::from(*load));
            meter.loads.clear();
        }
        for window in sums.chunks(size.max(1)) {
            let mut rest = window;
            for (busiest, threads) in self.busiest.iter_mut().zip(&self.deals.threads) {
                let (loads, others) = rest.split_at(*threads);
                *busiest += loads.iter().copied().max().unwrap_or(0);
                rest = others;
            }
            let first = self.deals.threads.first().copied().unwrap_or(0);
            self.all += window[..first].iter().sum::<u64>();
        }
        self.windows += (sums.len() / size.max(1)) as u64;
        self.gathered += 1;
    }

    /// Whether it is time to deal the nodes out again, as a run on several threads does: after the first windows, and ever more seldom.
    pub(crate) const fn is_due(&self) -> bool {
        self.gathered.is_power_of_two()
    }

    /// Deals them out by the events of each node so far.
    pub(crate) fn deal(&mut self, events: Vec<u64>) {
        let work: Vec<u64> = events.iter().zip(&self.work).map(|(now, then)| now - then).collect();
        self.work = events;
        self.deals = Arc::new(Deals::new(&self.deals.threads, &self.homes, &expected(&self.homes, &work)));
    }

    pub(crate) fn profile<'a>(&self, meters: impl Iterator<Item = &'a Meter>) -> Profile {
        let meters: Vec<&Meter> = meters.collect();
        let sum = |of: &dyn Fn(&Meter) -> f64| meters.iter().map(|meter| of(meter)).sum::<f64>();
        let work = sum(&|meter| meter.spent.work.as_secs_f64());
        let (messages, taken) =
            (sum(&|meter| meter.messages as f64), sum(&|meter| meter.spent.messages as f64));
        let each = work / (self.all.max(1) as f64);
        let mail_s = sum(&|meter| meter.spent.mail.as_secs_f64());
        let letter = if taken >= 10_000.0 { mail_s / taken } else { MAIL_NS * 1e-9 };
        let meeting = meeting(self.cores);
        let imbalance = |number: usize, threads: usize| {
            (self.busiest[number] * threads as u64) as f64 / self.all.max(1) as f64
        };
        let predict = |(number, threads): (usize, &usize)| {
            let away = sum(&|meter| meter.away[number] as f64);
            // A tree of four: with five threads the first waits for four, with 21 these for four each.
            let levels = (3.0 * *threads as f64 - 2.0).log(4.0).ceil();
            Prediction {
                threads: *threads,
                work: Duration::from_secs_f64(self.busiest[number] as f64 * each),
                mail: Duration::from_secs_f64(away * letter / *threads as f64),
                meet: meeting.mul_f64(levels * self.windows as f64),
                imbalance: imbalance(number, *threads),
                away: away / messages.max(1.0),
            }
        };
        Profile {
            shards: meters.iter().map(|meter| meter.spent).collect(),
            windows: self.windows,
            wall: self.wall,
            imbalance: self.own.map_or(1.0, |number| imbalance(number, self.deals.threads[number])),
            messages: messages as u64,
            meeting,
            predictions: self.deals.threads.iter().enumerate().map(predict).collect(),
        }
    }
}

/// What there will be to do for each node, after what there was: what was idle may not be so for ever, so that an eighth of the work is
/// shared out as it was guessed.
pub(crate) fn expected(homes: &[Home], work: &[u64]) -> Vec<u64> {
    let all: u64 = work.iter().sum();
    let guessed: u64 = homes.iter().map(|home| u64::from(home.work)).sum();
    let part = |home: &Home| (u128::from(all) * u128::from(home.work) / u128::from(guessed.max(1))) as u64;
    work.iter().zip(homes).map(|(work, home)| work * 8 + part(home)).collect()
}

/// How long two threads with a core each take to meet: the quickest of many rounds, as others may have the cores, and no longer than
/// they wait awake for each other.
fn meeting(cores: usize) -> Duration {
    /// Whether that was enough.
    #[derive(Clone, Copy, Default)]
    struct Enough(bool);
    impl Word for Enough {
        type Store = AtomicBool;
        fn store(&self, to: &AtomicBool) {
            to.store(self.0, Relaxed);
        }
        fn load(from: &AtomicBool) -> Self {
            Self(from.load(Relaxed))
        }
        fn and(self, other: Self) -> Self {
            Self(self.0 || other.0)
        }
    }
    /// Together, as in one of them the other may have been there already.
    const ROUNDS: u32 = 20;
    const AWAKE: Duration = Duration::from_micros(20);
    const LONG: Duration = Duration::from_millis(50);
    if cores < 2 {
        return Duration::from_micros(1);
    }
    let meeting: Meeting<Enough> = Meeting::new(2, cores);
    let life = |me: usize| {
        let (mut member, begun, mut least) = (meeting.join(me), Instant::now(), AWAKE);
        loop {
            let started = Instant::now();
            for _ in 1..ROUNDS {
                member.meet(Enough(false));
            }
            let enough = member.meet(Enough(me == 0 && begun.elapsed() > LONG));
            least = least.min(started.elapsed() / ROUNDS);
            if enough.0 {
                return least;
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| life(1));
        life(0)
    })
}

/// CPU time of this thread, in seconds.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
