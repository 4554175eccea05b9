//! Collective operations as messages, by named algorithms.
//!
//! | algorithm | messages of n members | source |
//! |---|---|---|
//! | dissemination | round k: i to i + 2^k | Hensgen, Finkel, Manber: Two Algorithms for Barrier Synchronization (1988) |
//! | binomial | a tree: halves, quarters, ... | Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH (2005), §4 |
//! | recursive-doubling | round k: i and i xor 2^k | the same, §4; a number of members that is no power of two folds the rest first (§4.4) |
//! | halving-doubling | a reduce-scatter by halves of halves, an allgather back; of others than a power of two the rest is folded first | the same, §4.5 (Rabenseifner's algorithm) |
//! | pairwise | round k: i to i + k, from i - k | the same, §4.3 |
//! | ring | every round: i to i + 1 | Patarasuk, Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations (2009) |
//! | hierarchical | of an all-reduce: a reduce-scatter by rings within groups of members, a ring all-reduce among those of one place in each group, an all-gather within groups; the first half of it is a reduce-scatter, the second an all-gather | Mikami et al.: Massively Distributed SGD (2018), 2D-Torus all-reduce |
//! | hierarchical | of an all-to-all: each hands what is for place q of any group to the member at place q of its own, who sends it on, in one message for each group | NVIDIA: Doubling all2all Performance with NCCL 2.12 (2022), PXN |
//! | linear | an all-to-all: each posts all that it sends at once; else the root sends one after the other | Open MPI's "basic linear" all-to-all (coll/base); NCCL's grouped sends |
//!
//! Within a round a member sends when it has sent and received all of the rounds before it; linear has one round, a hierarchical all-to-all
//! two of its kind. What it computes takes no time.
use std::str::FromStr;

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// Nobody goes on before all have come; messages of 1 B.
    Barrier,
    /// The root sends its bytes to all.
    Bcast,
    /// The bytes of all are added up at the root: so many each.
    Reduce,
    /// The same, and all get the sum.
    Allreduce,
    /// The root gets so many bytes of each.
    Gather,
    /// The root sends so many bytes, others, to each.
    Scatter,
    /// All get so many bytes of each.
    Allgather,
    /// Each sends so many bytes, others, to each.
    Alltoall,
    /// The bytes of all are added up; each gets a part of the sum.
    ReduceScatter,
}

/// How it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// See the table above.
    Dissemination,
    /// See the table above.
    Binomial,
    /// See the table above.
    RecursiveDoubling,
    /// See the table above.
    HalvingDoubling,
    /// See the table above.
    Pairwise,
    /// See the table above.
    Ring,
    /// See the table above.
    Linear,
    /// See the table above; so many members are a group.
    Hierarchical(u32),
}

const OPS: [(&str, Op); 9] = [
    ("barrier", Op::Barrier),
    ("bcast", Op::Bcast),
    ("reduce", Op::Reduce),
    ("allreduce", Op::Allreduce),
    ("gather", Op::Gather),
    ("scatter", Op::Scatter),
    ("allgather", Op::Allgather),
    ("alltoall", Op::Alltoall),
    ("reduce-scatter", Op::ReduceScatter),
];

const ALGORITHMS: [(&str, Algorithm); 8] = [
    ("dissemination", Algorithm::Dissemination),
    ("binomial", Algorithm::Binomial),
    ("recursive-doubling", Algorithm::RecursiveDoubling),
    ("halving-doubling", Algorithm::HalvingDoubling),
    ("pairwise", Algorithm::Pairwise),
    ("ring", Algorithm::Ring),
    ("linear", Algorithm::Linear),
    ("hierarchical", Algorithm::Hierarchical(0)),
];

fn parse<T: Copy>(table: &[(&str, T)], text: &str) -> Result<T, String> {
    let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
    let found = table.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    found.ok_or_else(|| format!("one of {}", names.join(", ")))
}

fn name<T: PartialEq>(table: &[(&'static str, T)], value: &T) -> &'static str {
    table.iter().find(|(_, known)| known == value).map_or("", |(name, _)| name)
}

impl FromStr for Op {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse(&OPS, text)
    }
}

impl FromStr for Algorithm {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse(&ALGORITHMS, text)
    }
}

impl Op {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        name(&OPS, &self)
    }

    /// The algorithms for it; the first is the default.
    pub const fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm::{
            Binomial, Dissemination, HalvingDoubling, Hierarchical, Linear, Pairwise, RecursiveDoubling, Ring,
        };
        match self {
            Self::Barrier => &[Dissemination, Binomial],
            Self::Bcast | Self::Reduce | Self::Gather | Self::Scatter => &[Binomial, Linear],
            Self::Allreduce => &[Ring, RecursiveDoubling, HalvingDoubling, Binomial, Hierarchical(0)],
            Self::Allgather => &[Ring, RecursiveDoubling, Hierarchical(0)],
            Self::Alltoall => &[Linear, Pairwise, Hierarchical(0)],
            Self::ReduceScatter => &[Ring, Hierarchical(0)],
        }
    }

    /// Whether one member is the root.
    pub const fn has_root(self) -> bool {
        matches!(self, Self::Bcast | Self::Reduce | Self::Gather | Self::Scatter)
    }
}

impl Algorithm {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hierarchical(_) => name(&ALGORITHMS, &Self::Hierarchical(0)),
            _ => name(&ALGORITHMS, &self),
        }
    }

    /// Whether it is one for `op`.
    pub fn is_for(self, op: Op) -> bool {
        op.algorithms().iter().any(|known| known.name() == self.name())
    }

    /// Messages of `op` among `n` members.
    pub fn messages(self, op: Op, n: u64) -> u64 {
        let around = n * n.saturating_sub(1);
        let rounds = u64::from(n.max(1).next_power_of_two().trailing_zeros());
        let tree = n.saturating_sub(1);
        match (op, self) {
            (Op::Allreduce, Self::RecursiveDoubling) | (_, Self::HalvingDoubling) => {
                let (whole, ways) = (1 << n.max(1).ilog2(), 1 + u64::from(self == Self::HalvingDoubling));
                ways * whole * u64::from(n.max(1).ilog2()) + 2 * (n.max(1) - whole)
            }
            (_, Self::Dissemination | Self::RecursiveDoubling) => n * rounds,
            (Op::Barrier | Op::Allreduce, Self::Binomial) => 2 * tree,
            (Op::Allreduce, Self::Ring) => 2 * around,
            (_, Self::Hierarchical(group)) => {
                let (group, ways) = (u64::from(group.max(1)), 1 + u64::from(op == Op::Allreduce));
                ways * n * (group - 1 + (n / group).saturating_sub(1))
            }
            (Op::Alltoall, Self::Linear) | (_, Self::Ring | Self::Pairwise) => around,
            (_, Self::Binomial | Self::Linear) => tree,
        }
    }

    /// Whether it does `op` among `n` members.
    pub const fn does(self, op: Op, n: usize) -> bool {
        match (op, self) {
            (Op::Allgather, Self::RecursiveDoubling) => n.is_power_of_two(),
            (_, Self::Hierarchical(group)) => group > 0 && n.is_multiple_of(group as usize),
            _ => true,
        }
    }
}

/// A message of a round: the member that sends, the one that receives, bytes.
pub(crate) type Sent = (usize, usize, u64);

/// What takes the rounds of a collective, one after the other. In a round a member sends when it has sent and received all of the rounds
/// before that it took part in.
pub(crate) trait Rounds {
    /// One round, in which no member sends twice.
    fn exchange(&mut self, sends: &[Sent]);
    /// One round in which each member posts all that it sends at once, in this order.
    fn flood(&mut self, sends: impl Iterator<Item = Sent> + Clone);
}

/// A collective being taken apart.
pub(crate) struct Parts<'a, R> {
    pub(crate) rounds: &'a mut R,
    /// Members.
    pub(crate) n: usize,
    pub(crate) bytes: u64,
    /// Of an all-to-all: bytes from each to each, instead of `bytes` for all; empty if they are even.
    pub(crate) uneven: &'a [u64],
    pub(crate) root: usize,
}

impl<R: Rounds> Parts<'_, R> {
    pub(crate) fn run(&mut self, op: Op, algorithm: Algorithm) {
        let (n, bytes) = (self.n, self.bytes);
        match (op, algorithm) {
            (Op::Barrier, Algorithm::Binomial) => {
                self.collect(|_| 1);
                self.spread(|_| 1);
            }
            (Op::Barrier, _) => self.disseminate(),
            (Op::Bcast, Algorithm::Binomial) => self.spread(|_| bytes),
            (Op::Reduce, Algorithm::Binomial) => self.collect(|_| bytes),
            (Op::Scatter, Algorithm::Binomial) => self.spread(|members| members * bytes),
            (Op::Gather, Algorithm::Binomial) => self.collect(|members| members * bytes),
            (Op::Bcast | Op::Scatter, _) => {
                for member in 1..n {
                    self.exchange(&[(self.root, (self.root + member) % n, bytes)]);
                }
            }
            (Op::Reduce | Op::Gather, _) => {
                let to_root = |member| ((self.root + member) % n, self.root, bytes);
                self.exchange(&(1..n).map(to_root).collect::<Vec<_>>());
            }
            (Op::Allreduce, Algorithm::Binomial) => {
                self.collect(|_| bytes);
                self.spread(|_| bytes);
            }
            (Op::Allreduce, Algorithm::RecursiveDoubling) => {
                self.folded(|this, n, member| {
                    for round in 0..n.ilog2() {
                        this.swap(n, round, bytes, member);
                    }
                });
            }
            (Op::Allreduce, Algorithm::HalvingDoubling) => self.folded(Self::halve_and_double),
            (Op::Allreduce, Algorithm::Hierarchical(group)) => {
                self.scatter_in(Grid::new(n, group));
                self.gather_in(Grid::new(n, group), |grid, member| grid.part(bytes, member));
            }
            (Op::ReduceScatter, Algorithm::Hierarchical(group)) => self.scatter_in(Grid::new(n, group)),
            (Op::Allgather, Algorithm::Hierarchical(group)) => {
                self.gather_in(Grid::new(n, group), |_, _| bytes);
            }
            (Op::Alltoall, Algorithm::Hierarchical(group)) => self.flood_in(Grid::new(n, group)),
            (Op::Allreduce, _) => {
                self.ring(|member, round| part(bytes, n, (member + n - round) % n));
                self.ring(|member, round| part(bytes, n, (member + 1 + n - round) % n));
            }
            (Op::ReduceScatter, _) => self.ring(|member, round| part(bytes, n, (member + n - round) % n)),
            (Op::Allgather, Algorithm::RecursiveDoubling) => {
                for round in 0..n.ilog2() {
                    self.swap(n, round, bytes << round, |member| member);
                }
            }
            (Op::Allgather, _) => self.ring(|_, _| bytes),
            (Op::Alltoall, Algorithm::Linear) => self.flood(),
            (Op::Alltoall, _) => {
                for round in 1..n {
                    let sends = (0..n).map(|from| {
                        let to = (from + round) % n;
                        (from, to, self.to_each(from, to))
                    });
                    let sends: Vec<_> = sends.collect();
                    self.exchange(&sends);
                }
            }
        }
    }

    fn exchange(&mut self, sends: &[Sent]) {
        self.rounds.exchange(sends);
    }

    fn disseminate(&mut self) {
        let n = self.n;
        let mut distance = 1;
        while distance < n {
            let sends = (0..n).map(|member| (member, (member + distance) % n, 1));
            self.exchange(&sends.collect::<Vec<_>>());
            distance *= 2;
        }
    }

    /// From the root down a binomial tree; `bytes` of so many members below and including one.
    fn spread(&mut self, bytes: impl Fn(u64) -> u64) {
        let n = self.n;
        let mut half = n.next_power_of_two() / 2;
        while half > 0 {
            let sends: Vec<_> = self.branches(half).collect();
            let sends = sends.into_iter().map(|(near, far, below)| (near, far, bytes(below)));
            self.exchange(&sends.collect::<Vec<_>>());
            half /= 2;
        }
    }

    /// Up a binomial tree to the root.
    fn collect(&mut self, bytes: impl Fn(u64) -> u64) {
        let n = self.n;
        let mut half = 1;
        while half < n {
            let sends: Vec<_> = self.branches(half).collect();
            let sends = sends.into_iter().map(|(near, far, below)| (far, near, bytes(below)));
            self.exchange(&sends.collect::<Vec<_>>());
            half *= 2;
        }
    }

    /// The branches of a level: the end near the root, the far one, and how many members are there and beyond.
    fn branches(&self, half: usize) -> impl Iterator<Item = (usize, usize, u64)> {
        let (n, root) = (self.n, self.root);
        let member = move |place: usize| (place + root) % n;
        (half..n)
            .step_by(2 * half)
            .map(move |far| (member(far - half), member(far), half.min(n - far) as u64))
    }

    /// Members but one rounds to the next member; bytes by member and round.
    fn ring(&mut self, bytes: impl Fn(usize, usize) -> u64) {
        let n = self.n;
        self.rings(n, |member| (member + 1) % n, bytes);
    }

    /// Rings of `size` members each, all at the same time: which one is next to a member, bytes by member and round.
    fn rings(&mut self, size: usize, next: impl Fn(usize) -> usize, bytes: impl Fn(usize, usize) -> u64) {
        for round in 0..size.saturating_sub(1) {
            let sends = (0..self.n).map(|member| (member, next(member), bytes(member, round)));
            self.exchange(&sends.collect::<Vec<_>>());
        }
    }

    /// A reduce-scatter in each group, and one of each part among those who have its sums: each member has the sum of its [`Grid::part`].
    fn scatter_in(&mut self, grid: Grid) {
        let (total, Grid { size, groups }) = (self.bytes, grid);
        self.rings(
            size,
            |member| grid.beside(member),
            |member, round| part(total, size, (grid.place(member) + size - round) % size),
        );
        self.rings(
            groups,
            |member| grid.across(member),
            |member, round| {
                part(grid.own(total, member), groups, (grid.group(member) + groups - round) % groups)
            },
        );
    }

    /// An all-gather among the members of one place, and one in each group; `bytes` is what each has at first.
    fn gather_in(&mut self, grid: Grid, bytes: impl Fn(Grid, usize) -> u64) {
        let Grid { size, groups } = grid;
        let of = |group: usize, place: usize| bytes(grid, group * size + place);
        self.rings(
            groups,
            |member| grid.across(member),
            |member, round| of((grid.group(member) + groups - round) % groups, grid.place(member)),
        );
        self.rings(
            size,
            |member| grid.beside(member),
            |member, round| {
                let place = (grid.place(member) + size - round) % size;
                (0..groups).map(|group| of(group, place)).sum()
            },
        );
    }

    /// Each hands what is for a place of any group to the member at that place of its own, and then sends on to the same place of the other
    /// groups what it has for them.
    fn flood_in(&mut self, grid: Grid) {
        let (n, bytes, uneven) = (self.n, self.bytes, self.uneven);
        let of = move |from: usize, to: usize| if uneven.is_empty() { bytes } else { uneven[from * n + to] };
        let Grid { size, groups } = grid;
        let handed = (1..size).flat_map(move |ahead| {
            (0..n).map(move |from| {
                let place = (grid.place(from) + ahead) % size;
                let to = grid.group(from) * size + place;
                (from, to, (0..groups).map(|group| of(from, group * size + place)).sum())
            })
        });
        if size > 1 {
            self.rounds.flood(handed);
        }
        let sent = (1..groups).flat_map(move |ahead| {
            (0..n).map(move |from| {
                let (own, to) = (grid.group(from) * size, (from + ahead * size) % n);
                (from, to, (own..own + size).map(|source| of(source, to)).sum())
            })
        });
        if groups > 1 {
            self.rounds.flood(sent);
        }
    }

    /// A round of recursive doubling among the first `n` of the members as `member` numbers them.
    fn swap(&mut self, n: usize, round: u32, bytes: u64, member: impl Fn(usize) -> usize) {
        let sends = (0..n).map(|place| (member(place), member(place ^ (1 << round)), bytes));
        self.exchange(&sends.collect::<Vec<_>>());
    }

    /// An allreduce among a power of two of the members, as `among` does it with their number and their names. The members beyond it
    /// hand theirs over first and get the sum last.
    fn folded(&mut self, among: impl Fn(&mut Self, usize, &dyn Fn(usize) -> usize)) {
        let (n, bytes) = (self.n, self.bytes);
        let whole = 1 << n.ilog2();
        let rest = n - whole;
        let folded: Vec<_> = (0..rest).map(|pair| (2 * pair, 2 * pair + 1, bytes)).collect();
        self.exchange(&folded);
        among(self, whole, &|place| if place < rest { 2 * place + 1 } else { place + rest });
        self.exchange(&folded.iter().map(|(from, to, bytes)| (*to, *from, *bytes)).collect::<Vec<_>>());
    }

    /// Rabenseifner's allreduce among `n`, a power of two: of what is left of its parts a place keeps the half that its number says and
    /// hands the other to a neighbour, twice as far away in each round; then everything back.
    fn halve_and_double(&mut self, n: usize, member: &dyn Fn(usize) -> usize) {
        let total = self.bytes;
        // The parts that a place has when `rounds` halves have been given away: from, to.
        let kept = |place: usize, rounds: u32| {
            (0..rounds).fold((0, n), |(from, to), round| {
                let middle = usize::midpoint(from, to);
                if place & (1 << round) == 0 { (from, middle) } else { (middle, to) }
            })
        };
        let bytes = |(from, to): (usize, usize)| cut(total, n, to) - cut(total, n, from);
        for round in 0..n.ilog2() {
            let sends = (0..n).map(|place| {
                let other = place ^ (1 << round);
                (member(place), member(other), bytes(kept(other, round + 1)))
            });
            self.exchange(&sends.collect::<Vec<_>>());
        }
        for round in (0..n.ilog2()).rev() {
            let sends = (0..n)
                .map(|place| (member(place), member(place ^ (1 << round)), bytes(kept(place, round + 1))));
            self.exchange(&sends.collect::<Vec<_>>());
        }
    }

    /// What one member sends to another in an all-to-all.
    fn to_each(&self, from: usize, to: usize) -> u64 {
        if self.uneven.is_empty() { self.bytes } else { self.uneven[from * self.n + to] }
    }

    /// All to all, to the next member first: not all members begin with the same one.
    fn flood(&mut self) {
        let (n, bytes, uneven) = (self.n, self.bytes, self.uneven);
        let sends = (1..n).flat_map(move |distance| {
            (0..n).map(move |from| {
                let to = (from + distance) % n;
                (from, to, if uneven.is_empty() { bytes } else { uneven[from * n + to] })
            })
        });
        self.rounds.flood(sends);
    }
}

/// Members in groups of neighbours: a place in each group.
#[derive(Clone, Copy)]
struct Grid {
    /// Members of a group.
    size: usize,
    groups: usize,
}

impl Grid {
    const fn new(n: usize, size: u32) -> Self {
        let size = size as usize;
        Self { size, groups: n / size }
    }

    const fn group(self, member: usize) -> usize {
        member / self.size
    }

    const fn place(self, member: usize) -> usize {
        member % self.size
    }

    /// The next one in its group.
    const fn beside(self, member: usize) -> usize {
        self.group(member) * self.size + (self.place(member) + 1) % self.size
    }

    /// The one at its place in the next group.
    const fn across(self, member: usize) -> usize {
        (self.group(member) + 1) % self.groups * self.size + self.place(member)
    }

    /// What a member has the sum of in its group when its reduce-scatter is done.
    fn own(self, total: u64, member: usize) -> u64 {
        part(total, self.size, (self.place(member) + 1) % self.size)
    }

    /// What it has the sum of when that of those of its place is done, too.
    fn part(self, total: u64, member: usize) -> u64 {
        part(self.own(total, member), self.groups, (self.group(member) + 1) % self.groups)
    }
}

/// Part `number` of `parts` nearly equal ones.
fn part(bytes: u64, parts: usize, number: usize) -> u64 {
    cut(bytes, parts, number + 1) - cut(bytes, parts, number)
}

/// Where part `number` of `parts` nearly equal ones begins.
fn cut(bytes: u64, parts: usize, number: usize) -> u64 {
    (u128::from(bytes) * number as u128 / parts as u128) as u64
}
