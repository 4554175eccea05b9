//! PHOLD, the classical benchmark of discrete-event cores, on the engine: it knows no networking, and both
//! engines and any number of threads tell the same story, in one go or in stretches, with copies made on the way, and with bytes
//! beside some of the messages.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use backwater_engine::{
    Class, Engine, Home, Key, Kind, Limits, Link, MAX_EXTENSION, Message, Node, Place, Post, Processes, Stop,
    Stream, Ties, Together, Trajectory, stream, uniform,
};
use backwater_units::{Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use proptest::prelude::*;
use rand_core::Rng;

const LOOKAHEAD: u64 = 1000;
/// The port of what is no line.
const TASK: u16 = Ties::RANKS - 1;

#[derive(Clone, Copy, BorshSerialize, BorshDeserialize)]
struct Ball {
    time: u64,
    port: u16,
    /// How often it has been thrown by its thrower: with the port, its name.
    number: u64,
}

impl Message for Ball {
    fn time(&self) -> u64 {
        self.time
    }
    fn class(&self) -> Class {
        Class::Arrival
    }
    fn port(&self) -> u16 {
        self.port
    }
}

/// A node holds each ball for a random time and throws it to a random node. Port `i` is the line from node `i`;
/// a line carries one ball at a time, so that keys are unique.
#[derive(Clone)]
struct Juggler {
    /// Balls in 100 that travel with bytes beside them.
    laden: u32,
    /// The bytes beside balls that are not caught yet.
    beside: BTreeMap<(u16, u64), Vec<u8>>,
    id: u32,
    nodes: u32,
    /// To whom it throws, and how long a ball takes at least; to each, if it is empty.
    ways: Vec<(u32, u64)>,
    ties: Ties,
    random: Stream,
    /// (release time, rank): what is held
    held: Vec<Key>,
    line_free: Vec<u64>,
    throws_left: u64,
    thrown: u64,
    /// What it has to do beside juggling, if that is what the goal waits for.
    task: Option<Task>,
    places: Vec<Place>,
    trajectory: Trajectory,
}

impl Juggler {
    fn new(seed: u64, id: u32, nodes: u32, balls: u16, throws: u64) -> Self {
        let ties = Ties::new(seed, id);
        let held = (0..balls).map(|b| Key::new(u64::from(b) * 7, Class::Timer, ties.rank(b))).collect();
        Self {
            laden: 0,
            beside: BTreeMap::new(),
            id,
            nodes,
            ways: Vec::new(),
            ties,
            random: stream(seed, 1, u64::from(id)),
            held,
            line_free: vec![0; nodes as usize],
            throws_left: throws,
            thrown: 0,
            task: None,
            places: Vec::new(),
            trajectory: Trajectory::default(),
        }
    }
}

/// Something that takes some steps, each of which says when the next one is over. The goal waits for the last.
#[derive(Clone, Copy, Debug)]
struct Task {
    due: u64,
    pause: u64,
    steps: u64,
}

impl Task {
    /// The next step is over: whether it was the last one.
    fn step(&mut self) -> bool {
        self.steps -= 1;
        self.due = if self.steps == 0 { u64::MAX } else { self.due + self.pause };
        self.steps == 0
    }
}

impl Node for Juggler {
    type Message = Ball;
    type World = ();
    type Scratch = ();

    fn local_key(&self) -> Key {
        let step = self.task.filter(|task| task.steps > 0);
        // No line has this port.
        let step = step.map(|task| Key::new(task.due, Class::Timer, self.ties.rank(TASK)));
        self.held.iter().copied().chain(step).min().unwrap_or(Key::NEVER)
    }
    fn busy_until(&self, _now: u64, (): &()) -> u64 {
        self.task.filter(|task| task.steps > 0).map_or(0, |task| task.due)
    }
    fn fire<P: Post<Ball>>(&mut self, key: Key, (): &(), post: &mut P) {
        if let Some(task) = self.task.as_mut().filter(|_| key.rank() == self.ties.rank(TASK)) {
            self.trajectory.note(key.time, TASK.into(), 4);
            if task.step() {
                post.complete();
            }
            return;
        }
        let i = self.held.iter().position(|k| *k == key).expect("announced");
        self.held.swap_remove(i);
        self.trajectory.note(key.time, u64::from(self.ties.port(key.rank())), 1);
        if self.task.is_none() {
            post.complete();
        }
        post.recorded(1);
        if self.throws_left == 0 {
            return;
        }
        self.throws_left -= 1;
        self.thrown += 1;
        let mut draw = |most: u64| ((u64::from(self.random.next_u32()) * most) >> 32) as u32;
        let (to, least) = if self.ways.is_empty() {
            (draw(self.nodes.into()), LOOKAHEAD)
        } else {
            self.ways[draw(self.ways.len() as u64) as usize]
        };
        let far = if self.random.next_u32().is_multiple_of(50) { 200 * LOOKAHEAD } else { 0 };
        let delay = least + far + (uniform(&mut self.random) * 3.0 * LOOKAHEAD as f64) as u64;
        let time = (key.time + delay).max(self.line_free[to as usize] + 1);
        self.line_free[to as usize] = time;
        let (place, ball) =
            (self.places[to as usize], Ball { time: 0, port: self.id as u16, number: self.thrown });
        if self.laden == 0 || self.random.next_u32() % 100 >= self.laden {
            post.send(place, time, &ball, |ball| ball.time = time);
        } else {
            let bytes: Vec<u8> = (0..self.random.next_u32() as usize % MAX_EXTENSION)
                .map(|_| self.random.next_u32() as u8)
                .collect();
            post.send_with(place, time, &ball, &bytes, |ball| ball.time = time);
        }
    }
    fn extension(&mut self, ball: &Ball, extension: &[u8]) {
        let before = self.beside.insert((ball.port, ball.number), extension.to_vec());
        assert!(before.is_none() && !extension.is_empty());
    }
    fn receive<P: Post<Ball>>(&mut self, ball: &Ball, (): &(), _post: &mut P) {
        self.trajectory.note(ball.time, u64::from(ball.port), 2);
        if let Some(bytes) = self.beside.remove(&(ball.port, ball.number)) {
            for (at, byte) in (0..).zip(&bytes) {
                self.trajectory.note(at, u64::from(*byte), 3);
            }
            // What was beside it decides what happens next.
            self.throws_left += u64::from(bytes.first().is_some_and(|byte| byte % 8 == 0));
        }
        let rank = self.ties.rank(ball.port);
        let mut hold = ball.time + u64::from(self.random.next_u32() % 500);
        while self.held.contains(&Key::new(hold, Class::Timer, rank)) {
            hold += 1;
        }
        self.held.push(Key::new(hold, Class::Timer, rank));
    }
    fn placed(&mut self, places: &[Place]) {
        self.places = places.to_vec();
    }
    fn rank(&self, port: u16) -> u16 {
        self.ties.rank(port)
    }
    fn trajectory(&self) -> &Trajectory {
        &self.trajectory
    }
}

fn jugglers(seed: u64, nodes: u32, balls: u16, throws: u64) -> Vec<Juggler> {
    (0..nodes).map(|id| Juggler::new(seed, id, nodes, balls, throws)).collect()
}

/// Those of which `laden` in 100 throws carry something.
fn laden_jugglers(laden: u32, seed: u64, nodes: u32, balls: u16, throws: u64) -> Vec<Juggler> {
    let load = |juggler| Juggler { laden, ..juggler };
    jugglers(seed, nodes, balls, throws).into_iter().map(load).collect()
}

/// Nodes in rows of four, and the rows in a row or a circle, with links between them that are `far` times as long. By node its ways.
fn rows(nodes: u32, far: u64) -> Vec<Vec<(u32, u64)>> {
    let mut ways = vec![Vec::new(); nodes as usize];
    let mut link = |a: u32, b: u32, delay| {
        if a != b {
            ways[a as usize].push((b, delay));
            ways[b as usize].push((a, delay));
        }
    };
    for first in (0..nodes).step_by(4) {
        let last = (first + 3).min(nodes - 1);
        (first..last).for_each(|node| link(node, node + 1, LOOKAHEAD));
        if last + 1 < nodes || far.is_multiple_of(2) {
            link(last, (last + 1) % nodes, far * LOOKAHEAD);
        }
    }
    ways
}

fn links(ways: &[Vec<(u32, u64)>]) -> Vec<Link> {
    let of = |(node, ways): (u32, &Vec<(u32, u64)>)| {
        let link = move |(to, delay): &(u32, u64)| Link { nodes: (node, *to), delay: Span::from_ps(*delay) };
        ways.iter().map(link).collect::<Vec<_>>()
    };
    (0..).zip(ways).flat_map(of).collect()
}

/// Groups of some nodes, and nodes of no group.
fn homes(nodes: u32) -> Vec<Home> {
    (0..nodes).map(|node| Home { group: (node % 3 > 0).then_some(node / 5), work: 1 }).collect()
}

fn engine(kind: Kind, nodes: Vec<Juggler>) -> Engine<Juggler> {
    let homes = homes(nodes.len() as u32);
    Engine::new(kind, nodes, &homes, Span::from_ps(LOOKAHEAD), Span::from_ps(4 * LOOKAHEAD))
}

/// Processes that count how often they have sent something.
#[derive(Debug)]
struct Counting {
    of: Arc<dyn Processes>,
    sent: AtomicU64,
}

impl Processes for Counting {
    fn rank(&self) -> usize {
        self.of.rank()
    }
    fn count(&self) -> usize {
        self.of.count()
    }
    fn exchange(
        &self,
        peers: &[usize],
        to: &mut [Vec<u8>],
        meanwhile: &mut dyn FnMut(),
        from: &mut [Vec<u8>],
    ) {
        self.sent.fetch_add(1, Relaxed);
        self.of.exchange(peers, to, meanwhile, from);
    }
    fn share(&self, own: &[u8], meanwhile: &mut dyn FnMut(), all: &mut Vec<u8>) {
        self.of.share(own, meanwhile, all);
    }
}

/// What so many processes of so many threads tell that have the nodes of these rows, and how often each has sent something.
fn among<T: Send>(
    (count, threads): (usize, usize),
    ways: &[Vec<(u32, u64)>],
    juggler: impl Fn(u32) -> Juggler + Sync,
    story: impl Fn(Engine<Juggler>) -> T + Sync,
) -> Vec<(T, u64)> {
    let homes: Vec<Home> =
        (0..ways.len() as u32).map(|node| Home { group: Some(node / 4), work: 1 }).collect();
    let (width, reach) = (Span::from_ps(LOOKAHEAD), Span::from_ps(4 * LOOKAHEAD));
    Together::run(count, |of| {
        let processes = Arc::new(Counting { of, sent: AtomicU64::new(0) });
        let kind = Kind::Windows { threads };
        let engine = Engine::among(processes.clone(), kind, &juggler, &homes, || links(ways), width, reach);
        (story(engine), processes.sent.load(Relaxed))
    })
}

fn outcome(kind: Kind, nodes: Vec<Juggler>, limits: &Limits<'_>) -> (Stop, u64, u64) {
    let mut engine = engine(kind, nodes);
    let stop = engine.run(&(), limits);
    (stop, engine.digest(), engine.events())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn both_engines_and_any_thread_count_give_one_trajectory(
        seed in any::<u64>(), nodes in 1u32..20, balls in 1u16..6, throws in 1u64..200, until in 1u64..400_000,
        laden in prop_oneof![Just(0), Just(100), 0_u32..100],
    ) {
        for limits in [Limits::default(), Limits { until, ..Limits::default() }] {
            let make = || laden_jugglers(laden, seed, nodes, balls, throws);
            let reference = outcome(Kind::Heap, make(), &limits);
            for threads in [1, 2, 3] {
                prop_assert_eq!(reference, outcome(Kind::Windows { threads }, make(), &limits));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn a_run_may_stop_anywhere_and_a_copy_of_it_runs_on_as_it_does(
        seed in any::<u64>(), nodes in 1u32..12, laden in 0_u32..100, mut stops in prop::collection::vec(1u64..60_000, 1..8),
    ) {
        stops.sort_unstable();
        let make = || laden_jugglers(laden, seed, nodes, 3, 60);
        let whole = outcome(Kind::Heap, make(), &Limits::default());
        for kind in [Kind::Heap, Kind::Windows { threads: 1 }, Kind::Windows { threads: 3 }] {
            let mut engine = engine(kind, make());
            for until in &stops {
                let limits = Limits { until: *until, ..Limits::default() };
                engine.run(&(), &limits);
                prop_assert_eq!(
                    (engine.digest(), engine.events()),
                    { let (_, digest, events) = outcome(Kind::Heap, make(), &limits); (digest, events) }
                );
                let mut copy = engine.clone();
                let stop = copy.run(&(), &Limits::default());
                prop_assert_eq!((stop, copy.digest(), copy.events()), whole);
            }
        }
    }

    #[test]
    fn nothing_comes_of_a_pause_at_any_instant(
        seed in any::<u64>(), nodes in 1u32..12, laden in 0_u32..100, mut pauses in prop::collection::vec(1u64..60_000, 1..8),
        (goal, parts) in (1u64..400, 1u64..4),
    ) {
        pauses.sort_unstable();
        let make = |kind| engine(kind, laden_jugglers(laden, seed, nodes, 3, 60)).with_grid(Span::from_ps(parts * LOOKAHEAD));
        let story = |engine: &Engine<Juggler>| (engine.digest(), engine.events(), engine.now(), engine.stats().windows);
        for goal in [goal, u64::MAX] {
            let limits = Limits { goal, ..Limits::default() };
            for kind in [Kind::Heap, Kind::Windows { threads: 1 }, Kind::Windows { threads: 3 }] {
                let mut whole = make(kind);
                let stop = whole.run(&(), &limits);
                let mut paused = make(kind);
                for pause in &pauses {
                    let stop = paused.run(&(), &Limits { pause: *pause, ..limits });
                    // Nor if the nodes change threads there.
                    paused.deal_at_random(seed ^ pause);
                    prop_assert!(stop != Stop::Paused || paused.now() == Time::from_ps(*pause), "{:?}", paused.now());
                    if stop != Stop::Paused {
                        break;
                    }
                }
                prop_assert_eq!((stop, story(&whole)), (paused.run(&(), &limits), story(&paused)));
            }
        }
    }

    #[test]
    fn any_number_of_processes_and_threads_gives_one_trajectory(
        seed in any::<u64>(), nodes in 4u32..24, laden in 0_u32..100, mut stops in prop::collection::vec(1u64..60_000, 0..4),
        goal in 1u64..400, far in 0u64..100,
    ) {
        stops.sort_unstable();
        // Each throws to each, or along links, of which some are longer.
        let ways = if far == 0 { vec![Vec::new(); nodes as usize] } else { rows(nodes, far) };
        let juggler =
            |id: u32| Juggler { laden, ways: ways[id as usize].clone(), ..Juggler::new(seed, id, nodes, 3, 60) };
        // Stretches that end at a time, with a goal, and when nothing is left.
        let story = |mut engine: Engine<Juggler>| {
            let mut story = Vec::new();
            let stretches = stops.iter().map(|until| (*until, u64::MAX)).chain([(u64::MAX, goal), (u64::MAX, u64::MAX)]);
            for (until, goal) in stretches {
                let stop = engine.run(&(), &Limits { until, goal, ..Limits::default() });
                story.push((stop, engine.now(), engine.digest(), engine.events(), engine.stats().windows));
            }
            story
        };
        let whole = story(engine(Kind::Windows { threads: 1 }, (0..nodes).map(juggler).collect()));
        for (count, threads) in [(1, 2), (1, 5), (2, 1), (2, 2), (3, 1), (4, 1), (4, 3)] {
            let found = Together::run(count, |processes| {
                let own = processes.rank();
                let homes = if far == 0 {
                    homes(nodes)
                } else {
                    (0..nodes).map(|node| Home { group: Some(node / 4), work: 1 }).collect()
                };
                let mut built = 0;
                let build = |id| {
                    built += 1;
                    juggler(id)
                };
                let (width, reach) = (Span::from_ps(LOOKAHEAD), Span::from_ps(4 * LOOKAHEAD));
                let kind = Kind::Windows { threads };
                let engine = Engine::among(processes, kind, build, &homes, || links(&ways), width, reach);
                assert!(built < nodes || count == 1, "process {own} has built nodes of others");
                story(engine)
            });
            for each in found {
                prop_assert_eq!(&whole, &each, "{} processes, {} threads", count, threads);
            }
        }
    }

    #[test]
    fn a_run_ends_in_the_window_in_which_the_last_node_is_done(
        seed in any::<u64>(), nodes in 4u32..24, far in 1u64..100, drawn in prop::collection::vec((1u64..60_000, 1u64..20_000, 1u64..6), 24),
        mut stops in prop::collection::vec(1u64..60_000, 0..3), goal in 1u64..24,
    ) {
        stops.sort_unstable();
        let ways = rows(nodes, far);
        let juggler = |id: u32| {
            let (due, pause, steps) = drawn[id as usize];
            let task = Some(Task { due, pause, steps });
            Juggler { task, ways: ways[id as usize].clone(), ..Juggler::new(seed, id, nodes, 3, 60) }
        };
        // When its last step is over follows from what a task is.
        let ends = drawn[..nodes as usize].iter().map(|(due, pause, steps)| due + pause * (steps - 1));
        let ends = ends.collect::<Vec<_>>();
        let last = ends.iter().copied().max().expect("there are nodes");
        // A goal that is reached before all are done, and one that is reached by that.
        for (goal, goal_is_all) in [(goal.min(u64::from(nodes)), false), (nodes.into(), true)] {
            let story = |mut engine: Engine<Juggler>| {
                let mut story = Vec::new();
                for until in stops.iter().copied().chain([u64::MAX]) {
                    let stop = engine.run(&(), &Limits { until, goal, goal_is_all, ..Limits::default() });
                    story.push((stop, engine.now(), engine.digest(), engine.events(), engine.stats().windows));
                }
                story
            };
            let whole = story(engine(Kind::Windows { threads: 1 }, (0..nodes).map(juggler).collect()));
            if goal_is_all && stops.iter().all(|stop| *stop <= last) {
                let window = Time::from_ps((last / LOOKAHEAD + 1) * LOOKAHEAD);
                let (stop, now, ..) = whole[stops.len()];
                prop_assert_eq!((stop, now), (Stop::Goal, window));
            }
            for shared in [(1, 2), (1, 4), (2, 1), (2, 2), (3, 1), (4, 1)] {
                for (each, _) in among(shared, &ways, juggler, story) {
                    prop_assert_eq!(&whole, &each, "{:?} processes and threads", shared);
                }
            }
        }
    }

    #[test]
    fn processes_stop_together_wherever_the_turns_of_each_end(
        seed in any::<u64>(), nodes in 4u32..24, far in 1u64..100, pause in 500_u64..5_000, records in 1_u64..60,
        goal in prop::sample::select(vec![u64::MAX - 1, u64::MAX]),
    ) {
        let ways = rows(nodes, far);
        let juggler = |id: u32| Juggler { ways: ways[id as usize].clone(), ..Juggler::new(seed, id, nodes, 3, 20) };
        let whole = outcome(Kind::Windows { threads: 1 }, (0..nodes).map(juggler).collect(), &Limits::default());
        let story = |mut engine: Engine<Juggler>| {
            let (mut stops, mut until) = (Vec::new(), pause);
            loop {
                engine.deal_at_random(seed ^ stops.len() as u64);
                let limits = Limits { until, records, goal, goal_is_all: true, ..Limits::default() };
                let stop = engine.run(&(), &limits);
                stops.push((stop, engine.now()));
                until += if stop == Stop::Until { pause } else { 0 };
                if stop == Stop::Idle {
                    break (stops, engine.digest(), engine.events());
                }
            }
        };
        for shared in [(2, 1), (3, 2)] {
            let mut found = among(shared, &ways, juggler, story).into_iter().map(|(found, _)| found);
            let first = found.next().expect("the first process");
            prop_assert_eq!((whole.1, whole.2), (first.1, first.2), "{:?} processes and threads", shared);
            for each in found {
                prop_assert_eq!(&first, &each, "{:?} processes and threads", shared);
            }
        }
    }

    #[test]
    fn messages_are_kept_alike_on_every_engine(seed in any::<u64>(), nodes in 1u32..12, from in 0_u64..60_000) {
        let kept = |kind| {
            let mut engine = engine(kind, laden_jugglers(10, seed, nodes, 3, 60));
            engine.keep_messages(from);
            for until in [10_000, 20_500, u64::MAX] {
                engine.run(&(), &Limits { until, ..Limits::default() });
                engine.deal_at_random(seed ^ until);
            }
            let mut kept: Vec<(u64, u32, u16)> =
                engine.kept_messages().iter().map(|(node, ball)| (ball.time, *node, ball.port)).collect();
            kept.sort_unstable();
            kept
        };
        let reference = kept(Kind::Heap);
        prop_assert!(reference.iter().all(|(time, ..)| *time >= from));
        prop_assert_eq!(&reference, &kept(Kind::Windows { threads: 1 }));
        prop_assert_eq!(&reference, &kept(Kind::Windows { threads: 3 }));
    }
}

#[test]
fn a_run_in_stretches_is_the_run_in_one_go() {
    let whole = outcome(Kind::Windows { threads: 1 }, jugglers(3, 10, 4, 100), &Limits::default());
    let mut engine = engine(Kind::Windows { threads: 2 }, jugglers(3, 10, 4, 100));
    for goal in (10..).step_by(37) {
        if engine.run(&(), &Limits { goal, ..Limits::default() }) == Stop::Idle {
            break;
        }
    }
    assert_eq!((engine.digest(), engine.events()), (whole.1, whole.2));
}

#[test]
fn every_ball_that_is_thrown_arrives() {
    let (stop, _, events) = outcome(Kind::Windows { threads: 1 }, jugglers(5, 8, 3, 50), &Limits::default());
    assert_eq!(stop, Stop::Idle);
    // 8·3 balls are released once at the start; each of the 8·50 throws makes one arrival and one release,
    // unless a node ran out of balls before it ran out of throws.
    assert!((8 * 3..=8 * 3 + 2 * 8 * 50).contains(&events));
    assert_eq!((events - 24) % 2, 0);
}

#[test]
fn threads_do_not_wait_for_each_other_where_windows_hold_next_to_nothing() {
    // One ball per node, thrown a few times in thousands of windows: a window is over before threads have met.
    let nodes = || jugglers(7, 4, 1, 20_000);
    let whole = outcome(Kind::Windows { threads: 1 }, nodes(), &Limits::default());
    let mut several = engine(Kind::Windows { threads: 4 }, nodes());
    assert_eq!(several.run(&(), &Limits::default()), whole.0);
    assert_eq!((several.digest(), several.events()), (whole.1, whole.2));
    let stats = several.stats();
    assert!(stats.windows > 20_000, "{}", stats.windows);
    assert!(stats.shared < stats.windows / 10, "{} of {} windows", stats.shared, stats.windows);
}

#[test]
fn processes_meet_once_for_as_many_windows_as_the_links_between_them_take() {
    // Nodes in two rows, with links of 50 windows between these. They know from the beginning when they are done, the last one after
    // 10 000 windows.
    let ways = rows(8, 50);
    let juggler = |id: u32| {
        let task = Some(Task { due: u64::from(id + 1) * 1_250 * LOOKAHEAD, pause: 0, steps: 1 });
        Juggler { task, ways: ways[id as usize].clone(), ..Juggler::new(2, id, 8, 3, 5_000) }
    };
    let sent = |goal_is_all| {
        let story = |mut engine: Engine<Juggler>| {
            let limits = Limits { goal: 8, goal_is_all, ..Limits::default() };
            (engine.run(&(), &limits), engine.now(), engine.stats().windows)
        };
        let found = among((2, 1), &ways, juggler, story);
        let ((stop, now, windows), sent) = found[0];
        assert_eq!((stop, now), (Stop::Goal, Time::from_ps(10_001 * LOOKAHEAD)));
        (sent, windows)
    };
    let ((each, windows), (all, same)) = (sent(false), sent(true));
    assert_eq!(windows, same);
    assert!(windows > 4_000, "{windows}");
    // 200 times 50 windows, and what processes ask each other at the beginning and at the end.
    assert!((200..220).contains(&all), "{all}");
    // Otherwise they meet after each window in which something is due.
    assert!((windows..windows + 20).contains(&each), "{each} of {windows}");
}

#[test]
fn a_profile_counts_all_windows_and_changes_nothing() {
    let nodes = || jugglers(11, 12, 4, 2_000);
    let whole = outcome(Kind::Windows { threads: 1 }, nodes(), &Limits::default());
    for threads in [1, 2, 3] {
        let mut profiled = engine(Kind::Windows { threads }, nodes());
        profiled.begin_profile(&homes(12));
        // In stretches, with nodes that change threads between them.
        for until in [1_000_000, 2_000_500, u64::MAX] {
            profiled.run(&(), &Limits { until, ..Limits::default() });
            profiled.deal_at_random(until);
        }
        assert_eq!((profiled.digest(), profiled.events()), (whole.1, whole.2));
        let profile = profiled.profile().expect("it was begun");
        assert_eq!(profile.shards.iter().map(|shard| shard.nodes).sum::<usize>(), 12);
        // A window that was cut is run in two parts.
        let windows = profiled.stats().windows;
        assert!((windows..=windows + 2).contains(&profile.windows), "{} of {windows}", profile.windows);
        // Each ball that was thrown took effect once, and is the only kind of message.
        assert_eq!(profile.messages, profiled.nodes().iter().map(|node| node.thrown).sum::<u64>());
        let counted: Vec<usize> = profile.predictions.iter().map(|each| each.threads).collect();
        assert_eq!(counted, if threads == 3 { vec![2, 3, 4, 8] } else { vec![2, 4, 8] });
        for each in &profile.predictions {
            assert!((1.0..=each.threads as f64).contains(&each.imbalance), "{each:?}");
        }
    }
}
