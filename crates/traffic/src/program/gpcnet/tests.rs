//! What is known of `GPCNeT` 1.3, and that its programs fit together.
use std::collections::{BTreeMap, BTreeSet};

use super::super::testing::{Done, execute};
use super::super::{FOREVER, Op};
use super::*;

const HOSTS: u32 = 120;

fn paper() -> Application {
    Gpcnet::default().application(HOSTS, 0, 1)
}

/// Ranks of a role.
fn of_role(application: &Application, name: &str) -> Vec<u32> {
    let role = application.roles.iter().position(|role| role == name).expect("a role") as u16;
    (0..).zip(&application.members).filter(|(_, member)| member.role == role).map(|(rank, _)| rank).collect()
}

fn hosts_of(ranks: &[u32]) -> BTreeSet<u32> {
    ranks.iter().map(|rank| rank / 16).collect()
}

/// What a rank does in its loop without end.
fn forever(application: &Application, rank: u32) -> &[Op] {
    let ops = &application.members[rank as usize].ops;
    let begin = ops.iter().position(|op| matches!(op, Op::Loop { times: FOREVER, .. }));
    begin.map_or(&[], |begin| &ops[begin + 1..ops.len() - 1])
}

/// A small one that can be executed: 10 hosts, 3 ranks each.
fn small() -> Gpcnet {
    let bandwidth = RingTest { size: Bytes::new(100_000), messages: 3, warm_up: 1, timed: 2 };
    let bandwidth = Some(bandwidth);
    Gpcnet { ranks_per_host: 3, rings: 4, bandwidth, ..Gpcnet::default() }
}

fn run(application: &Application) -> Vec<Done> {
    let programs: Vec<Vec<Op>> = application.members.iter().map(|member| member.ops.clone()).collect();
    execute(&programs)
}

#[test]
fn of_120_nodes_96_congest_24_with_each_kind_and_24_test() {
    let application = paper();
    assert_eq!(application.members.len(), 1920);
    for role in ["test", "all-to-all", "incast", "put-incast", "get-broadcast"] {
        let ranks = of_role(&application, role);
        assert_eq!((ranks.len(), hosts_of(&ranks).len()), (24 * 16, 24), "{role}: whole nodes");
    }
}

#[test]
fn the_share_of_congestors_is_rounded_down() {
    for (hosts, congesting) in [(10, 8), (11, 8), (16, 12), (24, 19), (120, 96), (128, 102)] {
        assert_eq!(Gpcnet::default().congestor_hosts(hosts), congesting);
    }
}

#[test]
fn there_are_64_congestor_communicators_of_24_ranks_one_of_each_node_of_a_kind() {
    let application = paper();
    let mut communicators: BTreeSet<(u16, BTreeSet<u32>)> = BTreeSet::new();
    for rank in of_role(&application, "all-to-all") {
        let partners = forever(&application, rank).iter().filter_map(|op| match op {
            Op::Isend { to, .. } => Some(*to),
            _ => None,
        });
        communicators.insert((1, partners.collect()));
    }
    for (role, name) in (2..).zip(["incast", "put-incast", "get-broadcast"]) {
        let mut of_root: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for rank in of_role(&application, name) {
            let root = forever(&application, rank).iter().find_map(|op| match op {
                Op::Isend { to: root, .. } | Op::Put { to: root, .. } | Op::Get { from: root, .. } => {
                    Some(*root)
                }
                _ => None,
            });
            of_root.entry(root.unwrap_or(rank)).or_default().insert(rank);
        }
        communicators.extend(of_root.into_values().map(|ranks| (role, ranks)));
    }
    assert_eq!(communicators.len(), 64);
    for (_, ranks) in &communicators {
        assert_eq!(
            (ranks.len(), ranks.iter().map(|rank| rank / 16).collect::<BTreeSet<_>>().len()),
            (24, 24)
        );
        let slices: BTreeSet<u32> = ranks.iter().map(|rank| rank % 16).collect();
        assert_eq!(slices.len(), 1, "the j-th ranks of their nodes");
    }
}

#[test]
fn each_kind_of_incast_has_one_root_node_with_368_senders() {
    let application = paper();
    for name in ["incast", "put-incast", "get-broadcast"] {
        let (mut roots, mut senders) = (BTreeSet::new(), 0);
        for rank in of_role(&application, name) {
            for op in forever(&application, rank) {
                if let Op::Isend { to: root, size, .. }
                | Op::Put { to: root, size }
                | Op::Get { from: root, size } = op
                {
                    assert_eq!(*size, 4096);
                    assert_ne!(root / 16, rank / 16);
                    roots.insert(*root);
                    senders += 1;
                }
            }
        }
        assert_eq!((roots.len(), senders), (16, 23 * 16), "{name}");
        assert_eq!(
            hosts_of(&roots.into_iter().collect::<Vec<_>>()).len(),
            1,
            "the same permutation in each slice"
        );
    }
}

#[test]
fn the_root_of_an_incast_waits_for_one_message_of_each_member_in_every_iteration() {
    let application = paper();
    let receives =
        |rank: &u32| forever(&application, *rank).iter().filter(|op| matches!(op, Op::Irecv { .. })).count();
    let incast = of_role(&application, "incast");
    assert_eq!(incast.iter().filter(|rank| receives(rank) == 23).count(), 16);
    assert_eq!(incast.iter().filter(|rank| receives(rank) == 0).count(), 23 * 16);
}

#[test]
fn an_all_to_all_begins_with_itself_and_goes_on_with_the_next_of_24_or_the_xor_of_a_power_of_two() {
    // 120 hosts: 24 members. 10 hosts: 2 members of each kind.
    let application = paper();
    let ring: Vec<u32> = forever(&application, of_role(&application, "all-to-all")[0])
        .iter()
        .filter_map(|op| if let Op::Isend { to, .. } = op { Some(*to) } else { None })
        .collect();
    assert_eq!((ring.len(), ring[0]), (24, of_role(&application, "all-to-all")[0]));
    for rank in of_role(&application, "all-to-all") {
        let ops = forever(&application, rank);
        for (turn, exchange) in ops.chunks(3).enumerate() {
            let [Op::Irecv { from, .. }, Op::Isend { to, .. }, Op::Wait { .. }] = exchange else {
                panic!("{exchange:?} is no exchange")
            };
            // Who is to send to this rank in this turn sends to it in the same turn.
            assert!(matches!(forever(&application, *from)[3 * turn + 1], Op::Isend { to, .. } if to == rank));
            assert_eq!(to == &rank, turn == 0);
        }
    }
    let application =
        Gpcnet { ranks_per_host: 1, congestors: vec![Congestor::AllToAll], ..Gpcnet::default() };
    let application = application.application(10, 0, 1);
    for rank in of_role(&application, "all-to-all") {
        for exchange in forever(&application, rank).chunks(3) {
            let [Op::Irecv { from, .. }, Op::Isend { to, .. }, _] = exchange else { panic!("{exchange:?}") };
            assert_eq!(from, to, "8 members are a power of two");
        }
    }
}

#[test]
fn every_test_rank_is_timed_as_often_as_the_loop_counts_say() {
    for settings in [Gpcnet { ranks_per_host: 2, ..Gpcnet::default() }, small()] {
        let application = settings.application(10, 0, 5);
        let done = run(&application);
        let phases = ["isolated", "congested"];
        let names =
            phases.iter().flat_map(|phase| ["lat", "bw", "allreduce"].map(|test| format!("{phase}/{test}")));
        assert_eq!(application.series, names.collect::<Vec<_>>());
        for rank in of_role(&application, "test") {
            assert!(done[rank as usize].ended);
            let timed = &done[rank as usize].timed;
            for phase in 0..2 {
                let count = |test| timed.iter().filter(|(series, _)| *series == 3 * phase + test).count();
                let rings = settings.rings as usize;
                assert_eq!([count(0), count(1), count(2)], [20 * rings, 2 * rings, 50]);
                let labels: BTreeSet<u32> =
                    timed.iter().filter(|(series, _)| *series == 3 * phase).map(|(_, ring)| *ring).collect();
                assert_eq!(labels, (0..settings.rings).collect());
            }
        }
    }
}

#[test]
fn the_loop_counts_of_the_full_test_are_those_of_gpcnet() {
    let full = Gpcnet::full();
    let turns =
        |test: Option<RingTest>| test.map(|test| (test.size.get(), test.messages, test.warm_up, test.timed));
    assert_eq!(turns(full.latency), Some((8, 1, 200, 200)));
    assert_eq!(turns(full.bandwidth), Some((131_072, 8, 1, 8)));
    assert_eq!(full.allreduce, Some(SumTest { size: Bytes::new(8), warm_up: 1, timed: 200 }));
    assert_eq!((full.rings, full.congestor_size.get()), (30, 512 * 8));
    assert_eq!(full.check(HOSTS), []);
    assert_eq!(full.application(HOSTS, 0, 1).members.len(), 1920);
}

#[test]
fn a_bandwidth_turn_sends_16_messages_of_128_kib_and_ends_with_a_barrier_of_the_slice() {
    let application = Gpcnet::full().application(HOSTS, 0, 1);
    let ops = &application.members[of_role(&application, "test")[0] as usize].ops;
    let bw = application.series.iter().position(|name| name == "isolated/bw").expect("a series") as u16;
    let stop =
        ops.iter().position(|op| matches!(op, Op::Stop { series, .. } if *series == bw)).expect("a stop");
    let start = ops[..stop].iter().rposition(|op| matches!(op, Op::Start { .. })).expect("a start");
    let sent = |wanted: u64| {
        ops[start..stop].iter().filter(|op| matches!(op, Op::Isend { size, .. } if *size == wanted)).count()
    };
    // 24 ranks of the slice: 5 rounds of a barrier.
    assert_eq!((sent(131_072), sent(8)), (16, 5));
    assert!(matches!(ops[stop - 1], Op::Wait { sets: 0x8000_0000_0000_0000 }), "the barrier is timed, too");
}

#[test]
fn rings_are_the_same_with_and_without_congestors_and_differ_between_slices() {
    let application = paper();
    let tests = of_role(&application, "test");
    let neighbours = |rank: u32, phase: &str| -> Vec<(u32, u32)> {
        let ops = &application.members[rank as usize].ops;
        let lat =
            application.series.iter().position(|name| *name == format!("{phase}/lat")).expect("a series");
        let timed =
            (0..ops.len()).filter(|at| matches!(ops[*at], Op::Stop { series, .. } if series == lat as u16));
        let ring = timed.map(|at| match ops[at - 3..at - 1] {
            [Op::Isend { to: left, .. }, Op::Isend { to: right, .. }] => (left, right),
            _ => panic!("no turn in a ring"),
        });
        ring.collect()
    };
    let mut shapes = BTreeSet::new();
    for rank in &tests {
        let rings = neighbours(*rank, "isolated");
        assert_eq!((rings.len(), &rings), (10, &neighbours(*rank, "congested")));
        for (ring, (left, right)) in rings.iter().enumerate() {
            assert!(left != rank && right != rank && left / 16 != rank / 16);
            assert_eq!(neighbours(*right, "isolated")[ring].0, *rank, "the left one of the right one");
        }
        if rank / 16 == tests[0] / 16 {
            shapes.insert(rings.iter().map(|(left, right)| (left / 16, right / 16)).collect::<Vec<_>>());
        }
    }
    assert_eq!(shapes.len(), 16, "the 16 ranks of a node are in 16 slices");
}

#[test]
fn a_ring_is_one_circle_of_all_ranks_of_the_slice() {
    let cast = Cast::draw(&Gpcnet::default(), HOSTS, 0, 9);
    for (slice, rings) in cast.slices.iter().zip(&cast.rings) {
        for ring in rings {
            let mut seen = BTreeSet::new();
            let mut rank = slice[0];
            while seen.insert(rank) {
                rank = ring[slice.iter().position(|other| *other == rank).expect("a member")].1;
            }
            assert_eq!(seen.len(), 24);
        }
    }
}

#[test]
fn a_shuffle_is_a_uniformly_random_cyclic_permutation() {
    // Of four there are 3! cyclic permutations; none leaves anything in its place.
    let mut seen: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
    let mut random = backwater_engine::stream(1, 2, 3);
    for _ in 0..60_000 {
        let mut list = vec![0, 1, 2, 3];
        cast::shuffle(&mut list, &mut random);
        *seen.entry(list).or_default() += 1;
    }
    assert_eq!(seen.len(), 6);
    // 10 000 each, with a standard deviation of 91: five of them
    assert!(seen.values().all(|count| count.abs_diff(10_000) < 456), "{seen:?}");
    assert!(seen.keys().all(|list| (0..4).all(|place| list[place] as usize != place)));
}

#[test]
fn no_congestor_sends_anything_before_its_start_message_and_tests_wait_until_all_have_warmed_up() {
    let application = paper();
    let tests: BTreeSet<u32> = of_role(&application, "test").into_iter().collect();
    for (rank, member) in (0..).zip(&application.members).filter(|(rank, _)| !tests.contains(rank)) {
        assert!(matches!(member.ops[0], Op::Irecv { from, .. } if tests.contains(&from)), "rank {rank}");
        let loops: Vec<u32> = member
            .ops
            .iter()
            .filter_map(|op| if let Op::Loop { times, .. } = op { Some(*times) } else { None })
            .collect();
        assert!(loops.is_empty() || loops == [2, FOREVER], "two passes, then without end");
    }
    // 16 + 16 roots of one-sided operations have nothing to do; 1536 congestors are spread over 384 ranks.
    assert_eq!(
        application.members.iter().filter(|member| crate::program::is_endless(&member.ops)).count(),
        1536 - 32
    );
    for rank in tests {
        let ops = &application.members[rank as usize].ops;
        let called =
            ops.iter().filter(|op| matches!(op, Op::Isend { to, size: 8, tag: 2, .. } if *to != rank));
        assert_eq!(called.count(), 4);
    }
}

#[test]
fn without_congestors_or_without_a_phase_the_rest_is_the_same() {
    let alone = Gpcnet { congested: false, ..small() }.application(10, 0, 5);
    assert_eq!(alone.series, ["isolated/lat", "isolated/bw", "isolated/allreduce"]);
    for (rank, done) in run(&alone).iter().enumerate() {
        assert!(done.ended);
        let tests = alone.members[rank].role == 0;
        assert_eq!(done.sent.is_empty(), !tests, "congestors do nothing");
    }
    let beside = Gpcnet { isolated: false, bandwidth: None, ..small() }.application(10, 0, 5);
    assert_eq!(beside.series, ["congested/lat", "congested/allreduce"]);
    let done = run(&beside);
    assert!(of_role(&beside, "test").iter().all(|rank| done[*rank as usize].ended));
}

#[test]
fn without_tests_the_congestors_run_alone() {
    let nothing = Gpcnet { isolated: false, latency: None, bandwidth: None, allreduce: None, ..small() };
    assert!(nothing.check(10).is_empty());
    let application = nothing.application(10, 0, 5);
    assert!(application.series.is_empty());
    let done = run(&application);
    assert!(of_role(&application, "test").iter().all(|rank| done[*rank as usize].ended));
    assert!(of_role(&application, "incast").iter().any(|rank| !done[*rank as usize].sent.is_empty()));
}

#[test]
fn another_seed_or_entry_places_and_rings_differently() {
    let one = |group, seed| small().application(20, group, seed);
    assert_eq!(one(0, 1), one(0, 1));
    assert_ne!(one(0, 1), one(0, 2));
    assert_ne!(one(0, 1), one(1, 1));
}

#[test]
fn what_cannot_run_is_said_with_its_key() {
    let keys = |settings: Gpcnet, hosts| -> Vec<&str> {
        settings.check(hosts).iter().map(|(key, _)| *key).collect()
    };
    let good = Gpcnet::default;
    assert!(keys(good(), 10).is_empty());
    assert!(good().check(9)[0].1.contains("at least 10"));
    assert_eq!(keys(Gpcnet { ranks_per_host: 0, ..good() }, 10), ["ranks-per-host"]);
    assert_eq!(keys(Gpcnet { ranks_per_host: 7000, ..good() }, 10), ["ranks-per-host"]);
    assert_eq!(keys(Gpcnet { congestor_share_ppm: 950_000, ..good() }, 10), ["congestor-share"]);
    assert_eq!(keys(Gpcnet { congestor_share_ppm: 700_000, ..good() }, 10), ["congestor-share"]);
    assert_eq!(keys(Gpcnet { congestors: vec![], ..good() }, 10), ["congestors"]);
    assert_eq!(keys(Gpcnet { congestors: vec![Congestor::Incast; 2], ..good() }, 10), ["congestors"]);
    assert_eq!(keys(Gpcnet { isolated: false, congested: false, ..good() }, 10), ["congested"]);
    assert_eq!(keys(Gpcnet { rings: 0, ..good() }, 10), ["rings"]);
    assert_eq!(keys(Gpcnet { rings: 1 << 20, ..good() }, 10), ["rings"]);
    assert_eq!(keys(Gpcnet { ranks_per_host: 16, ..good() }, 4000), ["ranks-per-host"]);
    assert!(good().check(1024).is_empty(), "800 MB of ops suffice for 1024 hosts");
    let latency = Some(RingTest { size: Bytes::MAX, messages: 0, warm_up: 0, timed: 0 });
    assert_eq!(keys(Gpcnet { latency, ..good() }, 10), ["latency"; 3]);
    let none = Gpcnet { latency: None, bandwidth: None, allreduce: None, ..good() };
    assert_eq!(keys(none, 10), ["tests"]);
}

#[test]
fn the_announced_length_is_never_less_than_the_programs() {
    // What the check adds up decides what is refused; it must not be below what is written.
    for hosts in [10, 37, 120] {
        let application = Gpcnet::default().application(hosts, 0, 3);
        let written: usize = application.members.iter().map(|member| member.ops.len()).sum();
        assert!(Gpcnet::default().length(hosts).1 >= written as u64, "{hosts}");
        let longest = application.members.iter().map(|member| member.ops.len()).max();
        assert!(Some(Gpcnet::default().length(hosts).0 as usize) >= longest, "{hosts}");
    }
}

#[test]
fn all_that_test_begin_each_ring_together() {
    let application = paper();
    let ops = &application.members[of_role(&application, "test")[0] as usize].ops;
    let lat = |op: &Op| matches!(op, Op::Stop { series: 0, .. });
    let stops: Vec<usize> = (0..ops.len()).filter(|at| lat(&ops[*at])).collect();
    // Between two rings: the end of a loop, the slice's barrier among 24 (5 rounds) and that of all 384 (9 rounds), then what warms up.
    for pair in stops.windows(2) {
        let between = &ops[pair[0]..pair[1]];
        let internal = |op: &&Op| matches!(op, Op::Isend { tag, .. } if tag & super::super::INTERNAL != 0);
        assert_eq!(between.iter().filter(internal).count(), 5 + 9);
    }
}
