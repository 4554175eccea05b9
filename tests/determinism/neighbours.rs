//! Threads wait for those with links to their nodes, for each by how long these are, and seldom meet all. Which threads have links follows
//! from the network and from how its nodes are dealt out; the run is that of one thread.
use backwater_fabric::{Kind, Spec, Totals};
use backwater_topology::{Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Rate, Span, Time};
use scene::{flow, ideal, ring, try_run, us, with_links};

const RATE: Rate = Rate::from_gbps(100);

fn totals(spec: Spec, threads: usize, until: Option<Time>) -> Totals {
    try_run(spec, Kind::Windows { threads }, until).unwrap_or_else(|violation| panic!("{violation}")).totals
}

/// Every host to the one `ahead` of it.
fn around(network: &Network, ahead: u32, bytes: u64) -> Vec<Flow> {
    let hosts = network.hosts().len() as u32;
    let flow = |src| flow(src, (src + ahead) % hosts, bytes, Time::ZERO, Pacing::LineRate);
    (0..hosts).map(flow).collect()
}

/// Of the pairs of so many threads those with links, and those of them with longer ones, before nodes are dealt out again.
fn pairs(network: &Network, threads: usize) -> (usize, usize) {
    let flows = around(network, 1, 10_000);
    let totals = totals(ideal(network.clone(), flows), threads, Some(us(20)));
    (totals.linked, totals.far)
}

#[test]
fn each_thread_of_a_fat_tree_has_links_with_each_other_one_and_all_are_alike() {
    // Some switches of the top tier, of which each has a link to each pod, are with every thread.
    for (k, most) in [(4, 4), (8, 8), (16, 16)] {
        let network = generate::fat_tree(k, RATE, Span::from_us(1)).unwrap();
        for threads in [2, 4, 8, 16].into_iter().filter(|threads| *threads <= most) {
            assert_eq!(
                pairs(&network, threads),
                (threads * (threads - 1) / 2, 0),
                "k = {k}, {threads} threads"
            );
        }
    }
}

#[test]
fn threads_with_rows_of_a_torus_have_links_with_two_others() {
    let network = generate::grid(&[8, 8], true, 1, [RATE; 2], Span::from_us(1)).unwrap();
    for (threads, linked) in [(2, 1), (4, 4), (8, 8)] {
        assert_eq!(pairs(&network, threads), (linked, 0), "{threads} threads");
    }
}

/// Four switches in a circle, each with a host: a thread for each. Two of the links between them are much longer than the others.
fn sites() -> Network {
    let near = ring(4, RATE, Span::from_us(1));
    with_links(&near, |number, link| {
        if near.is_switch(link.a) && near.is_switch(link.b) {
            link.delay = Span::from_us(if number % 2 == 0 { 2 } else { 40 });
        }
    })
}

#[test]
fn threads_far_from_each_other_wait_for_each_other_more_seldom() {
    let network = sites();
    assert_eq!(pairs(&network, 4), (4, 2));
    let whole = totals(ideal(network.clone(), around(&network, 1, 4_000_000)), 1, None);
    for threads in [2, 3, 4] {
        let found = totals(ideal(network.clone(), around(&network, 1, 4_000_000)), threads, None);
        assert_eq!((found.digest, found.events, found.now), (whole.digest, whole.events, whole.now));
    }
}

#[test]
fn threads_that_share_busy_windows_meet_once_for_many_of_them() {
    let network = generate::fat_tree(4, RATE, Span::from_us(1)).unwrap();
    let spec = || ideal(network.clone(), around(&network, 5, 8_000_000));
    let (one, two) = (totals(spec(), 1, None), totals(spec(), 2, None));
    assert_eq!((one.digest, one.windows), (two.digest, two.windows));
    assert!(two.shared >= 256, "{} of {} windows", two.shared, two.windows);
    assert!(two.meetings * 8 < two.shared, "{} in {} windows", two.meetings, two.shared);
}
