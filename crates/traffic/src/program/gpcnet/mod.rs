//! `GPCNeT` (Global Performance and Congestion Network Tests, version 1.3), its network load test as rank programs: most nodes
//! make congestion, the others measure what it does to latency, bandwidth and allreduce.
//!
//! | what | `GPCNeT` 1.3 | here |
//! |---|---|---|
//! | nodes that congest | 80 %, rounded down, drawn at random; at least 10 nodes in all | the same |
//! | slices | the j-th ranks of all test nodes are a communicator, those of all congestor nodes another one | the same |
//! | kinds of congestors | each congestor slice is split among four kinds by a shuffled order, the same in every slice | the same |
//! | shuffles | Sattolo's: a random cyclic permutation | the same, by other random numbers |
//! | congestor message | 512 doubles, 4096 B | the same |
//! | rings | 30 random ones per slice, the same in every measurement | scaled: 10 |
//! | latency test | 8 B, 200 turns to warm up and 200 timed in each ring | scaled: 5 and 20 |
//! | bandwidth test | 8 messages of 131 072 B to each neighbour and a barrier of the slice; 1 and 8 turns in each ring | scaled: 2 messages; 1 and 2 turns |
//! | allreduce test | 8 B, 1 and 200 | scaled: 1 and 50 |
//! | barriers, not timed | of all that test before each ring and around the allreduces, of the slice after each ring | the same |
//! | repetition of all that | for up to 10 s | scaled: once |
//! | congestors before a test | one pass of 256 × (1 + 512) iterations | scaled: 2 iterations, once for all tests |
//! | agreement of congestors that a pass is over | reductions of 8 B, one per 513 iterations | none: they go on |
//!
//! The congested tests run one after the other under the same congestors, which go on to the end of the run. A timed turn is one
//! line in the results; what `GPCNeT` makes of them (halves, averages, percentiles) is up to who reads them.
mod cast;
mod congestors;
mod victims;

use backwater_units::Bytes;

use super::{Application, Builder, MAX_OPS, MAX_RANKS, MAX_TOTAL, Member};
use cast::Cast;

/// The fewest nodes (`GPCNeT` 1.3).
pub const MIN_HOSTS: u32 = 10;

/// What congestors do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Congestor {
    /// All exchange a message with each other, pair by pair: the i-th partner of member r of n is r xor i if n is a power of two,
    /// else r + i to send to and r - i to receive from.
    AllToAll,
    /// All send a message to the first member.
    Incast,
    /// All put a message into the memory of the first member.
    PutIncast,
    /// All get a message from the memory of the first member.
    GetBroadcast,
}

impl Congestor {
    /// The default list of `GPCNeT` 1.3.
    pub const ALL: [Self; 4] = [Self::AllToAll, Self::Incast, Self::PutIncast, Self::GetBroadcast];

    /// Its name in scenarios, and the role of its ranks.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllToAll => "all-to-all",
            Self::Incast => "incast",
            Self::PutIncast => "put-incast",
            Self::GetBroadcast => "get-broadcast",
        }
    }
}

/// A test in which each rank exchanges messages with both neighbours in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingTest {
    /// Payload of a message.
    pub size: Bytes,
    /// Messages to each neighbour in a turn.
    pub messages: u32,
    /// Turns in each ring before those that are timed.
    pub warm_up: u32,
    /// Turns in each ring that are timed.
    pub timed: u32,
}

/// A test of allreduces in each slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumTest {
    /// Payload of each rank.
    pub size: Bytes,
    /// Allreduces before those that are timed.
    pub warm_up: u32,
    /// Allreduces that are timed.
    pub timed: u32,
}

/// The network load test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpcnet {
    /// Ranks at each host. `GPCNeT` takes what it is started with; 16 is the setting of the PFT paper, section IV-C.
    pub ranks_per_host: u32,
    /// Hosts that congest, in millionths, rounded down to whole hosts.
    pub congestor_share_ppm: u32,
    /// Kinds of congestors, each once; each has the same number of hosts, or one more.
    pub congestors: Vec<Congestor>,
    /// Payload of their messages.
    pub congestor_size: Bytes,
    /// Iterations of each congestor before the congested tests.
    pub warm_up_passes: u32,
    /// Random rings of each slice.
    pub rings: u32,
    /// Latency: what is timed is a turn of one message to and from each neighbour.
    pub latency: Option<RingTest>,
    /// Bandwidth: what is timed is a turn with a barrier of the slice after its messages.
    pub bandwidth: Option<RingTest>,
    /// Allreduce. Without any test the congestors run alone, to the end of the run.
    pub allreduce: Option<SumTest>,
    /// Whether to run the tests without congestors.
    pub isolated: bool,
    /// Whether to run them, after that, with congestors.
    pub congested: bool,
}

impl Default for Gpcnet {
    /// Scaled to what a simulator can do in minutes. Two messages to each neighbour keep a NIC busy as eight do: 16 ranks of a node send
    /// 8 MiB in a turn.
    fn default() -> Self {
        let full = Self::full();
        Self {
            warm_up_passes: 2,
            rings: 10,
            latency: full.latency.map(|test| RingTest { warm_up: 5, timed: 20, ..test }),
            bandwidth: full.bandwidth.map(|test| RingTest { messages: 2, timed: 2, ..test }),
            allreduce: full.allreduce.map(|test| SumTest { timed: 50, ..test }),
            ..full
        }
    }
}

impl Gpcnet {
    /// One measurement of `GPCNeT` 1.3, which repeats it for 10 s.
    pub fn full() -> Self {
        Self {
            ranks_per_host: 16,
            congestor_share_ppm: 800_000,
            congestors: Congestor::ALL.to_vec(),
            congestor_size: Bytes::new(4096),
            warm_up_passes: 256 * 513,
            rings: 30,
            latency: Some(RingTest { size: Bytes::new(8), messages: 1, warm_up: 200, timed: 200 }),
            bandwidth: Some(RingTest { size: Bytes::new(131_072), messages: 8, warm_up: 1, timed: 8 }),
            allreduce: Some(SumTest { size: Bytes::new(8), warm_up: 1, timed: 200 }),
            isolated: true,
            congested: true,
        }
    }

    /// Of so many hosts, those that congest.
    pub fn congestor_hosts(&self, hosts: u32) -> u32 {
        (u64::from(hosts) * u64::from(self.congestor_share_ppm) / 1_000_000) as u32
    }

    /// What is wrong, each with the key of the setting and a sentence that begins with its value; nothing: it can run on so many hosts.
    pub fn check(&self, hosts: u32) -> Vec<(&'static str, String)> {
        let mut wrong = Vec::new();
        let mut need = |good: bool, key, what: String| {
            if !good {
                wrong.push((key, what));
            }
        };
        need(hosts >= MIN_HOSTS, "hosts", format!("{hosts} hosts: GPCNeT needs at least {MIN_HOSTS}"));
        let (per_host, most) = (self.ranks_per_host, MAX_RANKS / hosts.max(1));
        need(
            (1..=most).contains(&per_host),
            "ranks-per-host",
            format!("{per_host}: allowed are 1 to {most}, {MAX_RANKS} ranks on {hosts} hosts"),
        );
        let congesting = self.congestor_hosts(hosts);
        let kinds = self.congestors.len() as u32;
        let (fewest, mostly) = (2 * kinds.max(1), hosts.saturating_sub(2));
        // Of too few hosts there is no share that fits.
        need(
            hosts < MIN_HOSTS || (fewest..=mostly).contains(&congesting),
            "congestor-share",
            format!(
                "{}: {congesting} of {hosts} hosts congest; allowed are {fewest} to {mostly}, two for each kind \
                 of congestor, and two are left for the tests",
                f64::from(self.congestor_share_ppm) / 1e6
            ),
        );
        let mut distinct = self.congestors.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let good = !distinct.is_empty() && distinct.len() == self.congestors.len();
        need(
            good,
            "congestors",
            "none, or one twice: name at least one kind, and each of them once".to_owned(),
        );
        let tests = self.latency.is_some() || self.bandwidth.is_some() || self.allreduce.is_some();
        let what = "none, and isolated: name at least one of latency, bandwidth, allreduce";
        need(tests || !self.isolated, "tests", what.to_owned());
        let measured = self.isolated || self.congested;
        need(measured, "congested", "false, and isolated too: nothing is left to measure".to_owned());
        let rung = self.latency.is_some() || self.bandwidth.is_some();
        need(!rung || self.rings > 0, "rings", "0: allowed are 1 and more".to_owned());
        let passes = self.warm_up_passes < super::FOREVER;
        need(
            passes,
            "warm-up-passes",
            format!("{}: allowed are up to {}", self.warm_up_passes, super::FOREVER - 1),
        );
        for (key, size, messages, [warm_up, timed]) in self.turns() {
            let fits = size <= crate::MAX_SIZE;
            need(fits, key, format!("size {size} is too much: allowed are up to 1000TB"));
            need(messages > 0, key, "messages 0: allowed are 1 and more".to_owned());
            need(
                (1..super::FOREVER).contains(&timed) && warm_up < super::FOREVER,
                key,
                format!("warm-up {warm_up}, timed {timed}: allowed are 1 timed turn and more"),
            );
        }
        if wrong.is_empty() {
            wrong.extend(self.too_long(hosts));
        }
        wrong
    }

    /// Key, size, messages and turns of all that exchanges messages.
    fn turns(&self) -> impl Iterator<Item = (&'static str, Bytes, u32, [u32; 2])> {
        let ring = |key, test: RingTest| (key, test.size, test.messages, [test.warm_up, test.timed]);
        let latency = self.latency.map(|test| ring("latency", test));
        let bandwidth = self.bandwidth.map(|test| ring("bandwidth", test));
        let sum = |test: SumTest| ("allreduce", test.size, 1, [test.warm_up, test.timed]);
        let congestor = ("congestor-size", self.congestor_size, 1, [0, 1]);
        let tests = latency.into_iter().chain(bandwidth).chain(self.allreduce.map(sum));
        tests.chain([congestor])
    }

    /// The most ops of a rank, and of all.
    fn length(&self, hosts: u32) -> (u64, u64) {
        let congesting = self.congestor_hosts(hosts);
        let tests = u64::from(hosts - congesting);
        let per_host = u64::from(self.ranks_per_host);
        // An exchange is three ops, and so is each round of a barrier or an allreduce; a turn has a loop around it and a stopwatch.
        let rounds = |n: u64| 3 * u64::from(n.next_power_of_two().trailing_zeros());
        let ring = |test: Option<RingTest>| test.map_or(0, |test| 8 * u64::from(test.messages) + 8);
        let everybody = rounds(tests * per_host);
        let barriers = 4 * rounds(tests) + 2 * everybody;
        let ring = ring(self.latency).saturating_add(ring(self.bandwidth)) + barriers;
        let phase =
            ring.saturating_mul(u64::from(self.rings)).saturating_add(2 * rounds(tests) + 3 * everybody + 16);
        let called = 2 * (u64::from(congesting) / tests + 1) + 1;
        let test = phase.saturating_mul(2).saturating_add(called);
        let members = u64::from(congesting.div_ceil(self.congestors.len() as u32));
        let congestor = 6 * members + 10;
        let all = test.saturating_mul(tests).saturating_add(congestor * u64::from(congesting));
        (test.max(congestor), all.saturating_mul(per_host))
    }

    /// Programs that would be too long to write down.
    fn too_long(&self, hosts: u32) -> Option<(&'static str, String)> {
        let (longest, all) = self.length(hosts);
        if longest > MAX_OPS as u64 {
            let rings = self.rings;
            let what = format!(
                "{rings}: a rank would make {longest} calls, allowed are {MAX_OPS}; take fewer rings"
            );
            return Some(("rings", what));
        }
        (all > MAX_TOTAL as u64).then(|| {
            let what = format!(
                "{}: all ranks would make {all} calls, allowed are {MAX_TOTAL}; take fewer ranks, hosts or rings",
                self.ranks_per_host
            );
            ("ranks-per-host", what)
        })
    }

    /// The programs of the ranks: rank `h * ranks_per_host + j` is the j-th of the h-th of so many hosts. `group` is the traffic entry.
    ///
    /// # Panics
    /// If [`Gpcnet::check`] finds something wrong.
    pub fn application(&self, hosts: u32, group: u16, seed: u64) -> Application {
        let wrong = self.check(hosts);
        assert!(wrong.is_empty(), "{wrong:?}");
        let cast = Cast::draw(self, hosts, group, seed);
        let ranks = hosts * self.ranks_per_host;
        let mut builders = vec![Builder::new(ranks); ranks as usize];
        let mut roles = vec![0; ranks as usize];
        self.victims(&cast, &mut builders);
        for (role, slices) in (1..).zip(&cast.congestors) {
            for rank in slices.iter().flatten() {
                roles[*rank as usize] = role;
            }
        }
        if self.congested {
            self.congest(&cast, &mut builders);
        }
        let member = |(builder, role): (Builder, u16)| {
            let ops = builder.finish().expect("calls that the checks allow");
            Member { role, ops, lines: Vec::new() }
        };
        let mut names = vec!["test".to_owned()];
        names.extend(self.congestors.iter().map(|kind| kind.name().to_owned()));
        let members = builders.into_iter().zip(roles).map(member).collect();
        Application { members, roles: names, series: self.series() }
    }
}

#[cfg(test)]
mod tests;
