//! Digests written down: the same in debug and release builds (CI runs both), on every machine. A change of the model
//! changes them on purpose; then the new ones, which the failure shows, are to be explained in the commit.
use backwater_control::detector::{Detector, Fecn, Tcd, Trend};
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::{IbCcConfig, ReactionConfig};
use backwater_fabric::Spec;
use backwater_topology::{Network, Routes, Routing, generate};
use backwater_traffic::generate::{Arrivals, Hot, MpiIo};
use backwater_traffic::{Flow, Group, Pacing, connect, sort};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{
    FAST, Scheme, authors, burst, flow, host, hpcc_ns3, infiniband, isolation, per_port, red, tcd, tree,
    try_run, us,
};

fn check(name: &str, spec: Spec, until: Option<Time>, expected: u64) {
    let outcome = try_run(spec, FAST, until).unwrap_or_else(|violation| panic!("{violation}"));
    let digest = outcome.totals.digest;
    assert_eq!(digest, expected, "{name}: the digest is now {digest:#018x}");
}

/// A long flow, a paced one and 15 bursts of 640 KB in the paper's Figure 2.
fn figure_2(rate: Rate) -> (Network, Vec<Flow>) {
    let net = generate::tcd_figure_2(rate, Span::from_us(4), None, false).unwrap();
    let constant = Pacing::Constant { rate: Rate::from_gbps(5), jitter_ppm: 100_000, catch_up: true };
    let mut flows = vec![
        flow(host(&net, "S1"), host(&net, "R1"), u64::MAX, us(0), Pacing::Controlled),
        flow(host(&net, "S0"), host(&net, "R0"), u64::MAX, us(100), constant),
    ];
    for burst in 0..15 {
        let source = host(&net, &format!("A{burst}"));
        flows.push(flow(source, host(&net, "R1"), 640_000, us(100), Pacing::Controlled));
    }
    (net, flows)
}

/// A fabric with InfiniBand's congestion control.
fn ib_cc(network: Network, flows: Vec<Flow>, detector: Detector, reaction: IbCcConfig) -> Spec {
    let mut spec = infiniband(network, flows);
    spec.switch.detectors = per_port(&spec.network, |_| detector);
    spec.pairs[0].reaction = ReactionConfig::IbCc(reaction);
    spec.pairs[0].notify = Some(NotifyConfig::each_mark());
    spec
}

#[test]
fn tcd_in_the_papers_figure_2_has_its_digest() {
    let (net, flows) = figure_2(Rate::from_gbps(40));
    check("figure 2", authors(net, flows, tcd()), Some(us(2_000)), 0x7a46_ef11_5001_56ca);
}

#[test]
fn fecn_in_the_papers_figure_2_over_infiniband_has_its_digest() {
    let (net, flows) = figure_2(Rate::from_gbps(32));
    let spec = ib_cc(net, flows, Detector::Fecn(Fecn::standard()), IbCcConfig::standard());
    check("figure 2 over InfiniBand", spec, Some(us(2_000)), 0xa674_bb0b_f790_d1bb);
}

#[test]
fn mpi_and_io_messages_over_a_fat_tree_of_infiniband_with_tcd_have_their_digest() {
    let net = generate::fat_tree(4, Rate::from_gbps(32), Span::from_us(1)).unwrap();
    let routes = Routes::new(&net, Routing::DModK).unwrap();
    let mix = MpiIo {
        racks: (0..4).map(|pod| (4 * pod..4 * pod + 4).collect()).collect(),
        io_servers_per_rack: 1,
        io_clients: 6,
        mpi_clients: 3,
        io_messages: 18,
        mpi_messages: 300,
        connections: 2,
        arrivals: Arrivals::Poisson(Span::from_ms(1)),
        hot: Hot::default(),
    };
    let group = Group { id: 0, priority: 3, pacing: Pacing::Controlled, start: Time::ZERO };
    let mut flows = mix.flows(&group, 1);
    sort(&mut flows);
    connect(&mut flows, 0);
    let tcd = Tcd::credits(Trend::RiseBp, Span::from_us(50), Bytes::from_kb(50), Bytes::new(2048));
    let mut spec = ib_cc(net, flows, Detector::Tcd(tcd), IbCcConfig::with_tcd());
    spec.routes = routes;
    check("messages", spec, None, 0x4cb5_d4ec_4a54_0220);
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

/// Sixteen hosts that send to four, all of what they can, and sixteen others that send to sixteen others.
fn four_trees() -> Vec<Flow> {
    let hosts = |first| -> Vec<u32> { (first..64).step_by(4).collect() };
    let mut flows = burst(&hosts(2), &hosts(1), 80, us(0), us(200));
    flows.extend(burst(&hosts(3), &[0, 16, 32, 48], 100, us(0), us(150)));
    flows
}

#[test]
fn four_trees_under_isolation_with_and_without_dcqcn_have_their_digests() {
    let digests = [Scheme::Dcqcn, Scheme::CiDcqcn, Scheme::IciPlus].map(|scheme| {
        let spec = isolation(tree(), four_trees(), scheme);
        try_run(spec, FAST, Some(us(200))).unwrap_or_else(|violation| panic!("{violation}")).totals.digest
    });
    let expected = [0x3442_2231_f319_ef1c, 0x1b66_0d97_ed39_cc7a, 0x87d1_a164_1b5c_95df];
    assert_eq!(digests, expected, "the digests are now {digests:#018x?}");
}
