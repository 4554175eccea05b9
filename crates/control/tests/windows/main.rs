//! DCTCP, Swift and HPCC do at each of hundreds of ACKs what an independent program (`oracle.py`, from the papers' text, with the deviations
//! that each controller's file lists) does.
use backwater_control::CodePoint;
use backwater_control::reaction::{
    Dctcp, DctcpConfig, Feedback, Hpcc, HpccConfig, IntHop, Reaction, ReactionConfig, Swift, SwiftConfig,
};
use backwater_units::{Rate, Span, Time};

const MSS: u32 = 1048;
const LINE: Rate = Rate::from_gbps(40);

/// The numbers that a line tells the controller, and those that it should answer.
fn rows(text: &str) -> Vec<(Vec<u64>, Vec<f64>)> {
    let row = |line: &str| {
        let (told, wanted) = line.split_once(" | ").expect("told | wanted");
        let told = told.split(' ').map(|word| word.parse().expect("a number")).collect();
        (told, wanted.split(' ').map(|word| word.parse().expect("a number")).collect())
    };
    text.lines().map(row).collect()
}

fn feedback<'a>(told: &[u64], int: &'a [IntHop], before: &'a [IntHop]) -> Feedback<'a> {
    Feedback {
        acked: told[1],
        newly: told[2],
        sent: told[3],
        echo: if told[4] == 1 { CodePoint::Congestion } else { CodePoint::Capable },
        rtt: Span::from_ps(told[5]),
        hops: told.get(6).copied().unwrap_or(1) as u32,
        int,
        before,
    }
}

#[track_caller]
fn same(line: usize, what: &str, ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-9 * theirs.abs(), "ACK {line}: {what} is {ours}, should be {theirs}");
}

#[test]
fn dctcp_cuts_and_grows_as_the_paper_says_at_each_of_900_acks() {
    let config = DctcpConfig { max: 400_000, ..DctcpConfig::paper(MSS, 100_000) };
    let mut flow = Dctcp::new(&config, LINE);
    for (line, (told, wanted)) in rows(include_str!("dctcp.csv")).iter().enumerate() {
        flow.on_feedback(&config, Time::from_ps(told[0]), &feedback(told, &[], &[]));
        same(line, "W", flow.bytes(), wanted[0]);
        same(line, "alpha", flow.alpha(), wanted[1]);
    }
}

#[test]
fn swift_follows_its_target_as_the_paper_says_at_each_of_900_acks() {
    let config = SwiftConfig {
        base_target: Span::from_us(6),
        hop: Span::from_ns(1_500),
        range: Span::from_us(30),
        initial: 100_000,
        max: 400_000,
        ..SwiftConfig::standard(MSS, 100_000, Span::from_ns(1_500))
    };
    let mut flow = Swift::new(&config, LINE);
    let mut paced = 0;
    for (line, (told, wanted)) in rows(include_str!("swift.csv")).iter().enumerate() {
        let ack = feedback(told, &[], &[]);
        same(line, "the target", config.target(flow.packets(), ack.hops), wanted[1]);
        flow.on_feedback(&config, Time::from_ps(told[0]), &ack);
        same(line, "W", flow.packets(), wanted[0]);
        // Rates are whole bit/s, gaps whole picoseconds.
        let rate = f64::from(MSS) * 8e12 / wanted[2];
        let gap = flow.gap(MSS).as_ps() as f64;
        let rounded = 1.0 + wanted[2] / (rate - 1.0);
        assert!((gap - wanted[2]).abs() <= rounded, "ACK {line}: {gap} for {}", wanted[2]);
        paced += u32::from(flow.packets() < 1.0);
    }
    assert!(paced > 50, "the script leads below one packet: {paced}");
}

#[test]
fn hpcc_is_algorithm_1_at_each_of_900_acks() {
    let config = HpccConfig::paper(MSS, LINE, Span::from_us(9));
    let mut flow = Hpcc::new(&config, LINE);
    let mut before: Vec<IntHop> = Vec::new();
    for (line, (told, wanted)) in rows(include_str!("hpcc.csv")).iter().enumerate() {
        let hop = |hop: &[u64]| IntHop {
            id: hop[0] as u32,
            rate: Rate::from_bps(hop[1]),
            at: Time::from_ps(hop[2]),
            sent: hop[3],
            queue: hop[4],
        };
        let int: Vec<IntHop> = told[7..].chunks_exact(5).map(hop).collect();
        flow.on_feedback(&config, Time::from_ps(told[0]), &feedback(told, &int, &before));
        same(line, "W", flow.bytes(), wanted[0]);
        same(line, "Wc", flow.reference(), wanted[1]);
        same(line, "U", flow.utilisation(), wanted[2]);
        before = int;
    }
}

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
        assert_eq!(config.validate().map_err(|error| error.parameter), Err(parameter), "{config:?}");
    }
}
