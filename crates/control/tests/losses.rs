//! What controllers do about losses, by hand: Swift (SIGCOMM 2020, Algorithm 1) and DCTCP (RFC 8257 §3.5: as TCP, RFC 5681 §3.1) cut their
//! windows; the papers of the others have no losses.
use backwater_control::CodePoint;
use backwater_control::reaction::{
    Controller, DcqcnConfig, DcqcnHpccConfig, DctcpConfig, Feedback, HpccConfig, IbCcConfig, Reaction,
    ReactionConfig, SwiftConfig, TimelyConfig,
};
use backwater_units::{Rate, Span, Time};

const MSS: u32 = 1000;
const LINE: Rate = Rate::from_gbps(40);

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// An ACK that acknowledges nothing new, after a round trip of 4 us.
fn told() -> Feedback<'static> {
    Feedback {
        acked: 0,
        newly: 0,
        sent: 10_000,
        echo: CodePoint::Capable,
        rtt: Span::from_us(4),
        hops: 1,
        int: &[],
        before: &[],
    }
}

#[test]
fn swift_cuts_its_window_once_a_round_trip_by_its_largest_factor() {
    // The target is two hops of 5 us and more: 4 us are less, so that the ACK only tells the round trip.
    let config = ReactionConfig::Swift(SwiftConfig::standard(MSS, 80_000, Span::from_us(5)));
    let mut flow = Reaction::new(&config, LINE);
    flow.on_feedback(&config, us(0), &told());
    assert!((flow.window() - 80_000.0).abs() < 1e-6);
    // A factor of 1 - 0.5.
    let windows = [1, 4, 5, 8, 9].map(|now| {
        flow.on_nack(&config, us(now));
        flow.window().round() as u64
    });
    assert_eq!(windows, [40_000, 40_000, 20_000, 20_000, 10_000]);
    flow.on_timeout(&config);
    assert_eq!(flow.window().round() as u64, 5_000, "a timeout is longer than a round trip");
    (0..40).for_each(|_| flow.on_timeout(&config));
    assert_eq!(flow.window().round() as u64, 1_000, "a packet may always be under way");
    // 0.001 packets, the least, in 4 us: 2 Mbps.
    assert_eq!(flow.rate(), Rate::from_mbps(2));
}

#[test]
fn dctcp_halves_its_window_down_to_a_packet() {
    let config = ReactionConfig::Dctcp(DctcpConfig::paper(MSS, 80_000));
    let mut flow = Reaction::new(&config, LINE);
    flow.on_nack(&config, us(1));
    assert_eq!(flow.window().round() as u64, 40_000);
    flow.on_timeout(&config);
    assert_eq!(flow.window().round() as u64, 20_000);
    (0..40).for_each(|_| flow.on_timeout(&config));
    assert_eq!(flow.window().round() as u64, 1_000);
}

#[test]
fn the_others_do_nothing() {
    let configs = [
        ReactionConfig::LineRate(()),
        ReactionConfig::Dcqcn(DcqcnConfig::standard()),
        ReactionConfig::DcqcnHpcc(DcqcnHpccConfig::hpcc(LINE)),
        ReactionConfig::Timely(TimelyConfig::authors(LINE, Span::from_us(4))),
        ReactionConfig::Hpcc(HpccConfig::paper(MSS, LINE, Span::from_us(20))),
        ReactionConfig::IbCc(IbCcConfig::standard()),
    ];
    for config in configs {
        let mut flow = Reaction::new(&config, LINE);
        let before = (flow.window().to_bits(), flow.rate(), flow.gap(MSS));
        flow.on_nack(&config, us(1));
        flow.on_timeout(&config);
        assert_eq!((flow.window().to_bits(), flow.rate(), flow.gap(MSS)), before, "{config:?}");
    }
}
