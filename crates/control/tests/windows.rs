//! DCTCP, Swift and HPCC at the edges: windows have a least and a most, parameters out of range are refused. That each ACK does what the
//! paper says is tested beside an independent program, in `tests/windows`.
use backwater_control::CodePoint;
use backwater_control::reaction::{
    Controller, DctcpConfig, Feedback, HpccConfig, IntHop, Reaction, ReactionConfig, SwiftConfig,
};
use backwater_units::{Rate, Span, Time};

const MSS: u32 = 1048;
const LINE: Rate = Rate::from_gbps(40);

#[test]
fn a_window_holds_one_packet_at_least_so_that_an_ack_can_open_it() {
    let configs = [
        ReactionConfig::Dctcp(DctcpConfig::paper(MSS, 100_000)),
        ReactionConfig::Swift(SwiftConfig::standard(MSS, 100_000, Span::from_us(1))),
        ReactionConfig::Hpcc(HpccConfig::paper(MSS, LINE, Span::from_us(20))),
    ];
    for config in configs {
        let mut flow = Reaction::new(&config, LINE);
        let hop =
            |at: u64| IntHop { id: 1, rate: LINE, at: Time::from_ps(at), sent: at / 100, queue: 50_000_000 };
        for round in 1..2_000_u64 {
            let now = round * 1_000_000_000;
            let (int, before) = ([hop(now)], [hop(now - 1_000_000)]);
            let ack = Feedback {
                acked: round * u64::from(MSS),
                newly: u64::from(MSS),
                sent: round * u64::from(MSS),
                echo: CodePoint::Congestion,
                rtt: Span::from_us(900),
                hops: 1,
                int: &int,
                before: &before,
            };
            flow.on_feedback(&config, Time::from_ps(now), &ack);
        }
        assert!(flow.window() >= f64::from(MSS), "{config:?}: {}", flow.window());
        assert!(flow.rate() >= Rate::from_bps(1) && flow.gap(MSS) > Span::ZERO);
    }
}

/// A port that is full and has a queue of 10 round trips, seen by each of so many ACKs, a round trip apart.
fn crowded(config: &ReactionConfig, acks: u64) -> Reaction {
    let mut flow = Reaction::new(config, LINE);
    let hop = |at: u64| IntHop { id: 1, rate: LINE, at: Time::from_ps(at), sent: at / 200, queue: 1_000_000 };
    for round in 1..=acks {
        let now = round * 20_000_000;
        let (int, before) = ([hop(now)], [hop(now - 20_000_000)]);
        let (newly, sent) = (u64::from(MSS), (round + 1) * u64::from(MSS));
        let ack = Feedback {
            acked: round * newly,
            newly,
            sent,
            echo: CodePoint::Congestion,
            rtt: Span::from_us(900),
            hops: 1,
            int: &int,
            before: &before,
        };
        flow.on_feedback(config, Time::from_ps(now), &ack);
    }
    flow
}

#[test]
fn windows_go_no_lower_than_their_least() {
    let dctcp = DctcpConfig { min: 30_000, ..DctcpConfig::paper(MSS, 100_000) };
    let dctcp = crowded(&ReactionConfig::Dctcp(dctcp), 200);
    assert!((dctcp.window() - 30_000.0).abs() < 1e-9, "{}", dctcp.window());
    // 20 us at 5 B/ns are 100 kB; a least window of 25 kB is a least rate of 10 Gbps.
    let hpcc = HpccConfig { min: 25_000.0, ..HpccConfig::paper(MSS, LINE, Span::from_us(20)) };
    let hpcc = crowded(&ReactionConfig::Hpcc(hpcc), 200);
    assert_eq!((hpcc.window().round() as u64, hpcc.rate()), (25_000, Rate::from_gbps(10)));
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    let dctcp = DctcpConfig::paper(MSS, 100_000);
    let swift = SwiftConfig::standard(MSS, 100_000, Span::from_us(1));
    let hpcc = HpccConfig::paper(MSS, LINE, Span::from_us(20));
    let wrong = [
        (ReactionConfig::Dctcp(DctcpConfig { g: 0.0, ..dctcp }), "g"),
        (ReactionConfig::Dctcp(DctcpConfig { alpha_initial: 1.5, ..dctcp }), "alpha-initial"),
        (ReactionConfig::Dctcp(DctcpConfig { add: 0, ..dctcp }), "add"),
        (ReactionConfig::Dctcp(DctcpConfig { min: 0, ..dctcp }), "min-window"),
        (ReactionConfig::Dctcp(DctcpConfig { min: 100_001, ..dctcp }), "min-window"),
        (ReactionConfig::Dctcp(DctcpConfig { min: 1, initial: 10, ..dctcp }), "window"),
        (ReactionConfig::Dctcp(DctcpConfig { max: 10, ..dctcp }), "max-window"),
        (ReactionConfig::Swift(SwiftConfig { add: 0.0, ..swift }), "add"),
        (ReactionConfig::Swift(SwiftConfig { beta: 1.1, ..swift }), "beta"),
        (ReactionConfig::Swift(SwiftConfig { max_mdf: 1.0, ..swift }), "max-mdf"),
        (ReactionConfig::Swift(SwiftConfig { base_target: Span::ZERO, ..swift }), "base-target"),
        (ReactionConfig::Swift(SwiftConfig { low: 0.0, ..swift }), "fs-min-window"),
        (ReactionConfig::Swift(SwiftConfig { high: 0.05, ..swift }), "fs-max-window"),
        (ReactionConfig::Swift(SwiftConfig { min: 0.0, ..swift }), "min-window"),
        (ReactionConfig::Hpcc(HpccConfig { eta: 0.0, ..hpcc }), "eta"),
        (ReactionConfig::Hpcc(HpccConfig { add: 0.0, ..hpcc }), "wai"),
        (ReactionConfig::Hpcc(HpccConfig { base_rtt: Span::ZERO, ..hpcc }), "base-rtt"),
        (ReactionConfig::Hpcc(HpccConfig { initial: 10, ..hpcc }), "base-rtt"),
        (ReactionConfig::Hpcc(HpccConfig { min: 100_001.0, ..hpcc }), "min-window"),
        (ReactionConfig::Hpcc(HpccConfig { min: f64::NAN, ..hpcc }), "min-window"),
    ];
    for (config, parameter) in wrong {
        assert_eq!(config.validate(1_000).map_err(|error| error.parameter), Err(parameter), "{config:?}");
    }
}
