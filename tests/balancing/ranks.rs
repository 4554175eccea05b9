//! Messages of ranks where packets overtake each other: each is complete when all of its bytes are there, and they are matched in the order in
//! which they were sent.
use backwater_fabric::{Balancing, Kind, Spec};
use backwater_topology::{Network, generate};
use backwater_traffic::program::Op;
use backwater_units::{Rate, Span};
use scene::{
    COSTS, START, WAIT, compute, infiniband, irecv, isend, messages, run, stop, try_run, with_links,
};

const SPREAD: [Balancing; 3] =
    [Balancing::Spray, Balancing::Flowlet { gap: Span::from_ns(200) }, Balancing::Adaptive];

/// Two leaves with two hosts each, and four spines whose links have 0.1, 2.1, 4.1 and 6.1 us of cable.
fn uneven() -> Network {
    let network = generate::leaf_spine(2, 4, 2, Rate::from_gbps(100), None, Span::from_ns(100)).unwrap();
    let mut spine = 0;
    let mut delays = Vec::new();
    for link in network.links() {
        let ends = !network.is_switch(link.a) || !network.is_switch(link.b);
        delays.push(if ends { link.delay } else { Span::from_ns(100 + 2000 * (spine % 4)) });
        spine += u64::from(!ends);
    }
    with_links(&network, |at, link| link.delay = delays[at])
}

/// One rank sends messages of many sizes, eager and long, all with one tag; the other one takes them with room for exactly the size of each.
fn stream() -> [Vec<Op>; 2] {
    let sizes: Vec<u64> =
        (0..400).map(|number| [8, 3000, 1, 20_000, 64, 100_000, 2048, 500][number % 8]).collect();
    let sends = sizes.iter().map(|size| isend(1, *size, 7));
    let takes = sizes.iter().map(|size| irecv(0, *size, 7));
    [
        [START].into_iter().chain(sends).chain([WAIT, stop(0)]).collect(),
        takes.chain([WAIT, compute(10)]).collect(),
    ]
}

fn spec(balancing: Balancing) -> Spec {
    let [sender, receiver] = stream();
    let mut spec = messages(uneven(), &[(0, sender), (2, receiver)], COSTS);
    spec.switch.balancing = balancing;
    spec
}

#[test]
fn messages_whose_packets_overtake_each_other_arrive_whole_and_in_order() {
    let bytes: u64 = (0..400).map(|number| [8, 3000, 1, 20_000, 64, 100_000, 2048, 500][number % 8]).sum();
    for balancing in SPREAD {
        let outcome = run(spec(balancing));
        // A receive has room for its own message alone: were two exchanged, the larger one would break the run.
        let ranks = outcome.simulation.ranks();
        assert_eq!((ranks[1].received_messages, ranks[1].received_bytes.get()), (400, bytes));
        assert!(ranks.iter().all(|rank| rank.finish.is_some()), "{ranks:?}");
        let early: u64 = outcome.flows.iter().map(|flow| flow.early_packets).sum();
        assert!(early > 0 || matches!(balancing, Balancing::Flowlet { .. }), "{balancing:?}: {early} early");
    }
}

#[test]
fn spread_messages_run_the_same_on_every_engine() {
    for balancing in SPREAD {
        let kinds = [Kind::Heap, Kind::Windows { threads: 1 }, Kind::Windows { threads: 2 }];
        let digests = kinds.map(|kind| {
            try_run(spec(balancing), kind, None).unwrap_or_else(|it| panic!("{it}")).totals.digest
        });
        assert_eq!([digests[0]; 3], digests, "{balancing:?}");
    }
}

#[test]
fn under_credits_they_do_so_too() {
    let mut under_credits = spec(Balancing::Adaptive);
    let credits = infiniband(uneven(), Vec::new());
    under_credits.switch.pfc = None;
    under_credits.switch.credits = credits.switch.credits;
    under_credits.switch.queueing = credits.switch.queueing;
    let ranks = run(under_credits).simulation.ranks();
    assert_eq!(ranks[1].received_messages, 400);
}
