//! DACK suppression and ACK coalescing (EC paper, sections II-G and II-H) in a network: who gets how many DACKs and IACKs, with the two
//! verbs and without, and what they cost on the wire.
use backwater_control::notify::put::{Fairness, TargetConfig};
use backwater_control::reaction::{DackConfig, PolicyConfig};
use backwater_fabric::record::{PutEvent, PutRecord};
use backwater_fabric::{EndpointSpec, Spec};
use backwater_traffic::{Flow, Full, Gaps, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{DELAY, LINE, Outcome, flow, lossy, run_until, slow, star, us};

/// The initiators of the richer and of the poorer stream.
const RICH: u32 = 1;
const POOR: u32 = 2;

/// 33 us: a target that drains 2112 B in 330 ns takes 100 packets.
const PERIOD: Span = Span::from_us(33);

/// From a time at which both streams go on as ever, so many periods.
const FROM: u64 = 3;
const PERIODS: u64 = 4;

/// A verb for each twentieth packet that a stream is away from the mean.
const VERBS: Fairness =
    Fairness::Verbs { period: PERIOD, difference_ppm: 25_000, hold: Span::from_us(25), strength_ppm: 50_000 };

/// The paper's words, with this for fairness: DACKs are frames of their own, an ACK lets one or two packets go.
fn paper(fairness: Fairness, flows: Vec<Flow>, permille: u64) -> Spec {
    let policy = PolicyConfig::Dack(DackConfig::paper());
    let mut spec = lossy(star(3, LINE, DELAY), flows, policy);
    spec.puts[0].target = TargetConfig { fairness, ..TargetConfig::paper() };
    spec.endpoints = vec![Some(slow(permille))];
    spec
}

/// A stream that has always something to send.
fn greedy() -> Flow {
    flow(RICH, 0, u64::MAX, Time::ZERO, Pacing::Controlled)
}

/// A stream whose application makes so many bits per second, and waits while 16 packets wait.
fn making(bps: u64) -> Flow {
    let (rate, full) = (Rate::from_bps(bps), Full::Wait);
    let pacing =
        Pacing::Supplied { rate, backlog: 16, until: Time::MAX, drawn: None, gaps: Gaps::Even, full };
    flow(POOR, 0, u64::MAX, Time::ZERO, pacing)
}

/// A greedy stream and one that makes a packet every 3.3 us, for ten periods, to a host that drains half of the link.
fn uneven(fairness: Fairness) -> Outcome {
    run_until(paper(fairness, vec![greedy(), making(LINE.as_bps() / 20)], 500), us(330))
}

/// What the target does of a stream, from the start of a period until that of another.
fn told(outcome: &Outcome, src: u32, from: u64, until: u64) -> Vec<PutRecord> {
    let time = |period: u64| Time::ZERO + PERIOD * period;
    let at_target = |put: &&PutRecord| {
        put.src == src && put.event.at_target() && put.time >= time(from) && put.time < time(until)
    };
    outcome.records.puts.iter().filter(at_target).copied().collect()
}

fn count(records: &[PutRecord], event: PutEvent) -> u64 {
    records.iter().filter(|put| put.event == event).count() as u64
}

/// Numbers of the IACKs of the whole run.
fn iacks(outcome: &Outcome, src: u32) -> Vec<PutRecord> {
    let mut found = told(outcome, src, 0, 100);
    found.retain(|put| put.event == PutEvent::IackSent);
    found
}

#[test]
fn without_the_verbs_every_packet_of_a_congested_target_costs_three_frames_of_32_bytes() {
    // A DACK as it enters, a DACK and an IACK as it comes to the threshold. The target takes 100 packets a period.
    let outcome = uneven(Fairness::None);
    let mut every = 0;
    for src in [RICH, POOR] {
        let told = told(&outcome, src, FROM, FROM + PERIODS);
        let packets = count(&told, PutEvent::Accepted);
        for (event, frames) in
            [(PutEvent::DackSent, 2 * packets), (PutEvent::IackSent, packets), (PutEvent::NackSent, 0)]
        {
            // One that belongs to a packet at either end of the time.
            assert!(count(&told, event).abs_diff(frames) <= 2, "{src}: {event:?} {}", count(&told, event));
        }
        every += packets;
    }
    assert!(every.abs_diff(100 * PERIODS) <= 1, "{every}");
}

#[test]
fn the_poorer_stream_gets_what_its_application_makes_with_the_verbs_alone() {
    // It has sent three packets when the first DACK comes, 9.4 us after the start, and keeps three on their way: each takes 8.3 us there
    // and back and waits behind some 60 KB, which are drained in 10 us. So it gets 3 in 18 us, of which it makes 5.5.
    let packets = |fairness| count(&told(&uneven(fairness), POOR, FROM, FROM + PERIODS), PutEvent::Accepted);
    let plain = packets(Fairness::None);
    assert!((4 * PERIODS..=7 * PERIODS).contains(&plain), "{plain}");
    assert!(packets(VERBS).abs_diff(10 * PERIODS) <= 1, "{}", packets(VERBS));
}

#[test]
fn the_poorer_stream_gets_two_iacks_a_period_without_a_dack() {
    // Some 90 and 10 packets are 40 from their mean: two verbs for either.
    let outcome = uneven(VERBS);
    for period in FROM..FROM + PERIODS {
        let told = told(&outcome, POOR, period, period + 1);
        let at = |event| told.iter().enumerate().filter(move |(_, put)| put.event == event).map(|(at, _)| at);
        let second = at(PutEvent::IackSent).nth(1).expect("two IACKs");
        assert!(at(PutEvent::DackSent).all(|at| at > second), "{period}: no DACK until then");
        for (number, iack) in at(PutEvent::IackSent).enumerate().skip(2) {
            assert_eq!(told[iack - 1].event, PutEvent::DackSent, "{period}: IACK {number}");
        }
        // Those of the two IACKs are missing, and of what entered meanwhile.
        let entered = told[..second].iter().filter(|put| put.event == PutEvent::Accepted).count() as u64;
        let (packets, iacks) = (count(&told, PutEvent::Accepted), count(&told, PutEvent::IackSent));
        assert_eq!(count(&told, PutEvent::DackSent), packets + iacks - 2 - entered, "{period}");
    }
    let numbers: Vec<u32> = iacks(&outcome, POOR).iter().map(|put| put.seq).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "each of its packets has an IACK");
}

#[test]
fn the_richer_stream_gets_two_iacks_a_period_that_stand_for_two() {
    let outcome = uneven(VERBS);
    let all = iacks(&outcome, RICH);
    for period in FROM..FROM + PERIODS {
        let own = |put: &PutRecord| put.time.since(Time::ZERO).as_ps() / PERIOD.as_ps() == period;
        let steps = all.windows(2).filter(|pair| own(&pair[1])).map(|pair| pair[1].seq - pair[0].seq);
        let steps: Vec<u32> = steps.collect();
        assert_eq!(steps.iter().filter(|&&step| step == 2).count(), 2, "{period}: {steps:?}");
        assert!(steps.iter().all(|&step| step <= 2));
        // Every IACK is still preceded by its DACK.
        let told = told(&outcome, RICH, period, period + 1);
        for at in (1..told.len()).filter(|&at| told[at].event == PutEvent::IackSent) {
            assert_eq!(told[at - 1].event, PutEvent::DackSent, "{period}");
        }
    }
}

#[test]
fn what_a_target_sends_back_is_32_bytes_for_each_ack() {
    for fairness in [Fairness::None, VERBS] {
        let outcome = uneven(fairness);
        let sent = [PutEvent::IackSent, PutEvent::DackSent, PutEvent::MarkedSent, PutEvent::NackSent];
        let frames = outcome.records.puts.iter().filter(|put| sent.contains(&put.event)).count() as u64;
        let bytes: u64 =
            outcome.ports.iter().filter(|port| port.node == 0).map(|port| port.bytes.get()).sum();
        assert_eq!(bytes, 32 * frames, "{fairness:?}");
    }
}

#[test]
fn two_streams_of_which_one_sent_more_before_it_was_halted_share_their_target_evenly_with_the_verbs_alone() {
    // One makes packets at a third of the link's rate, and has a third of the other's on their way when both are halted. Later each IACK
    // lets a packet of its own stream go, so that both keep what they have on their way, and their shares, but for the verbs.
    let period = us(250).since(Time::ZERO);
    let shares = |fairness| {
        // Room for what both send before they are halted: 128 000 B each at most, the limit of what is outstanding.
        let mut spec = paper(fairness, vec![greedy(), making(LINE.as_bps() / 3)], 500);
        spec.endpoints = vec![Some(EndpointSpec { depth: Bytes::new(400_000), ..slow(500) })];
        let outcome = run_until(spec, us(5_000));
        assert_eq!(outcome.records.puts.iter().filter(|put| put.event == PutEvent::Dropped).count(), 0);
        [1, 19].map(|number| {
            let within = |put: &&PutRecord| {
                put.event == PutEvent::Accepted
                    && put.time.since(Time::ZERO).as_ps() / period.as_ps() == number
            };
            let accepted: Vec<u32> = outcome.records.puts.iter().filter(within).map(|put| put.src).collect();
            accepted.iter().filter(|&&src| src == RICH).count() as f64 / accepted.len() as f64
        })
    };
    let [early, late] = shares(Fairness::None);
    assert!((0.7..=0.8).contains(&early) && (late - early).abs() < 0.01, "{early} and {late}");
    // Verbs rest once the difference of the shares is 2.5 % or less.
    let [_, late] = shares(Fairness::verbs());
    assert!((late - 0.5).abs() <= 0.0125 + 0.002, "{late}");
}
