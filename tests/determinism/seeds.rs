//! The seed decides what is random, all of it and nothing else.
use backwater_fabric::{Kind, Spec};
use backwater_topology::generate;
use backwater_traffic::Pacing;
use backwater_units::{Rate, Span, Time};
use scene::{FAST, authors, flow, red, try_run};

fn digest(spec: Spec) -> u64 {
    try_run(spec, FAST, None).unwrap_or_else(|violation| panic!("{violation}")).totals.digest
}

/// A permutation over a fat tree: the ways are drawn.
fn permutation(seed: u64) -> Spec {
    let net = generate::fat_tree(4, Rate::from_gbps(40), Span::from_us(1)).unwrap();
    let flows =
        (0..16).map(|src| flow(src, (src + 5) % 16, 200_000, Time::ZERO, Pacing::Controlled)).collect();
    let mut spec = authors(net, flows, red());
    spec.seed = seed;
    spec
}

#[test]
fn the_same_seed_gives_the_same_digest_twice() {
    assert_eq!(digest(permutation(5)), digest(permutation(5)));
}

#[test]
fn other_seeds_take_other_ways_and_give_other_digests() {
    let mut digests: Vec<u64> = (0..20).map(|seed| digest(permutation(seed))).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 20);
}

#[test]
fn where_nothing_is_random_the_seed_changes_nothing() {
    let lone = |seed| {
        let net = generate::star(2, Rate::from_gbps(40), Span::from_us(1)).unwrap();
        let mut spec = authors(net, vec![flow(0, 1, 100_000, Time::ZERO, Pacing::LineRate)], red());
        spec.seed = seed;
        digest(spec)
    };
    assert_eq!(lone(1), lone(2));
}

#[test]
fn more_threads_than_nodes_are_no_harm() {
    let one = digest(permutation(1));
    let many = try_run(permutation(1), Kind::Windows { threads: 200 }, None);
    assert_eq!(many.unwrap_or_else(|violation| panic!("{violation}")).totals.digest, one);
}
