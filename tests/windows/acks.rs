//! DCTCP, Swift and HPCC do at each of hundreds of ACKs what an independent program (`oracle/acks.py`, from the papers' text, with the
//! deviations that each controller's file lists) does.
use backwater_control::CodePoint;
use backwater_control::reaction::{
    Controller, Dctcp, DctcpConfig, Feedback, Hpcc, HpccConfig, IntHop, Swift, SwiftConfig,
};
use backwater_units::{Rate, Span, Time};
use scene::Oracle;

const MSS: u32 = 1048;
const LINE: Rate = Rate::from_gbps(40);

static ORACLE: Oracle = Oracle::new("windows", "acks");

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
    for (line, (told, wanted)) in rows(ORACLE.case("dctcp")).iter().enumerate() {
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
    for (line, (told, wanted)) in rows(ORACLE.case("swift")).iter().enumerate() {
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
    for (line, (told, wanted)) in rows(ORACLE.case("hpcc")).iter().enumerate() {
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
fn traces_begin_with_the_acks_that_are_kept_to_be_checked_by_hand() {
    assert_eq!(ORACLE.kept(), ["dctcp", "swift"]);
}
