//! Digests written down: the same in debug and release builds (CI runs both), on every machine. A change of the model
//! changes them on purpose; then the new ones, which the failure shows, are to be explained in the commit.
use backwater_fabric::Spec;
use backwater_topology::generate;
use backwater_traffic::Pacing;
use backwater_units::{Rate, Span, Time};
use scene::{FAST, authors, flow, host, hpcc_ns3, red, tcd, try_run, us};

fn check(name: &str, spec: Spec, until: Option<Time>, expected: u64) {
    let outcome = try_run(spec, FAST, until).unwrap_or_else(|violation| panic!("{violation}"));
    let digest = outcome.totals.digest;
    assert_eq!(digest, expected, "{name}: the digest is now {digest:#018x}");
}

#[test]
fn tcd_in_the_papers_figure_2_has_its_digest() {
    let net = generate::tcd_figure_2(Rate::from_gbps(40), Span::from_us(4), None, false).unwrap();
    let constant = Pacing::Constant { rate: Rate::from_gbps(5), jitter_ppm: 100_000, catch_up: true };
    let mut flows = vec![
        flow(host(&net, "S1"), host(&net, "R1"), u64::MAX, us(0), Pacing::Controlled),
        flow(host(&net, "S0"), host(&net, "R0"), u64::MAX, us(100), constant),
    ];
    for burst in 0..15 {
        let source = host(&net, &format!("A{burst}"));
        flows.push(flow(source, host(&net, "R1"), 640_000, us(100), Pacing::Controlled));
    }
    check("figure 2", authors(net, flows, tcd()), Some(us(2_000)), 0x7a46_ef11_5001_56ca);
}

#[test]
fn a_permutation_over_a_fat_tree_with_acknowledgements_has_its_digest() {
    let net = generate::fat_tree(4, Rate::from_gbps(100), Span::from_us(1)).unwrap();
    let flows =
        (0..16).map(|src| flow(src, (src + 7) % 16, 1_000_000, Time::ZERO, Pacing::Controlled)).collect();
    check("permutation", hpcc_ns3(net, flows, 32 << 20), None, 0x3e2d_0fa3_e99d_9500);
}

#[test]
fn an_incast_under_dcqcn_and_ecn_has_its_digest() {
    let net = generate::leaf_spine(4, 2, 4, Rate::from_gbps(40), None, Span::from_us(1)).unwrap();
    let flows = (1..16).map(|src| flow(src, 0, 300_000, us(u64::from(src)), Pacing::Controlled)).collect();
    check("incast", authors(net, flows, red()), None, 0xd4f4_86ca_42ef_a3a0);
}
