//! What the TCD paper (SIGCOMM 2021, §4.4) says about links under credits that come back every Tc: a port is ON for Rd·Tc/Ri of
//! each Tc (Eqn 4), and a buffer of C·Tc and what the loop adds holds line rate.
use backwater_control::detector::credits_on_period;
use backwater_control::flow_control::{CreditReturn, Unit, feasibility, longest_period};
use backwater_fabric::{Spec, Switching};
use backwater_topology::generate;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use scene::{chain, flow, infiniband, run, run_until, us};

const LINE: Rate = Rate::from_gbps(32);
const DELAY: Span = Span::from_us(4);
const MTU: Bytes = Bytes::new(2048);
const FRAME: Bytes = Bytes::new(8);

fn every(spec: &mut Spec, period: Span) {
    spec.switch.credits.as_mut().unwrap().returned = CreditReturn::Periodic(period);
}

/// `senders` hosts into one 32 Gbps port, which serves their ingress ports in turn: one that sends at `input` whenever it may
/// and does not catch up, the others at line rate.
fn into_one_port(senders: u32, input: Rate) -> Spec {
    let paced = Pacing::Constant { rate: input, jitter_ppm: 0, catch_up: false };
    let flows = (1..=senders).map(|src| {
        let pacing = if src == 1 { paced } else { Pacing::LineRate };
        flow(src, 0, u64::MAX, Time::ZERO, pacing)
    });
    infiniband(generate::star(senders + 1, LINE, DELAY).unwrap(), flows.collect())
}

#[test]
fn the_on_periods_of_a_port_under_credits_are_those_of_equation_4_within_one_percent() {
    for (senders, gbps, tc) in [
        (2, 20, 50),
        (2, 24, 50),
        (2, 32, 50),
        (4, 10, 50),
        (4, 16, 50),
        (4, 32, 50),
        (2, 32, 20),
        (4, 32, 60),
    ] {
        let (input, drain) = (Rate::from_gbps(gbps), Rate::from_bps(LINE.as_bps() / u64::from(senders)));
        let mut spec = into_one_port(senders, input);
        every(&mut spec, Span::from_us(tc));
        let outcome = run_until(spec, us(10_000));
        // The first milliseconds fill the buffers; host 1 sends by its only port.
        let node = outcome.flows[0].src;
        let changes = outcome.pauses_at((node, 0));
        let steady = changes.windows(2).filter(|pair| pair[0].time > us(3_000) && !pair[0].paused);
        let on: Vec<Span> = steady.map(|pair| pair[1].time.since(pair[0].time)).collect();
        assert!(on.len() as u64 >= 6_900 / tc, "{} ON periods of {tc} us in 7 ms", on.len());
        let mean = on.iter().map(|on| on.as_us_f64()).sum::<f64>() / on.len() as f64;
        let model = credits_on_period(Span::from_us(tc), input, drain);
        let case = format!("{senders} senders, {gbps}G, {tc} us: {mean} us, model {model}");
        assert!((mean / model.as_us_f64() - 1.0).abs() < 0.01, "{case}");
        // Credits are whole packets here: a period has one more or one less.
        let packet = input.serialize(MTU);
        assert!(on.iter().all(|on| *on <= model + packet && *on + packet >= model), "{case}: {on:?}");
        // max(Ton) = Tc
        assert!(on.iter().all(|on| *on < Span::from_us(tc)), "{case}");
    }
}

#[test]
fn a_port_that_gets_what_it_sends_is_on_all_the_time() {
    for gbps in [4, 8, 15, 16] {
        let mut spec = into_one_port(2, Rate::from_gbps(gbps));
        every(&mut spec, Span::from_us(50));
        let outcome = run_until(spec, us(5_000));
        assert_eq!(outcome.pauses_at((outcome.flows[0].src, 0)), []);
    }
}

/// A flow of full packets over three links with `buffer` at each, alone in the network.
fn alone(rate: Rate, delay: Span, bytes: u64, mtu: Bytes, buffer: Bytes, returned: CreditReturn) -> Spec {
    let flows = vec![flow(0, 1, bytes, Time::ZERO, Pacing::LineRate)];
    let mut spec = infiniband(chain(&[(rate, delay); 3]), flows);
    spec.packet.payload = mtu;
    let credits = spec.switch.credits.as_mut().unwrap();
    (credits.buffer, credits.returned, credits.frame) = (buffer, returned, FRAME);
    spec
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn one_flow_holds_line_rate_with_the_buffer_that_the_feasibility_rule_asks_for(
        gbps in prop_oneof![Just(10_u64), Just(32), Just(100)],
        mtu in prop_oneof![Just(256_u64), Just(1_000), Just(2_048), Just(4_096)],
        delay in (100..5_000_u64).prop_map(Span::from_ns),
        period in (1_000..65_000_u64).prop_map(Span::from_ns),
        at_once in prop::bool::weighted(0.2),
        cut_through in any::<bool>(),
        unit in prop_oneof![Just(Unit::BLOCK), Just(Unit::FLIT)],
        seed in any::<u64>(),
    ) {
        let (rate, mtu) = (Rate::from_gbps(gbps), Bytes::new(mtu));
        let returned = if at_once { CreditReturn::AtOnce } else { CreditReturn::Periodic(period) };
        let buffer = feasibility(rate, delay, returned, mtu, FRAME, unit).needed;
        let packets = 5 * rate.bytes_in(period + delay * 2).get() / mtu.get() + 100;
        let mut spec = alone(rate, delay, packets * mtu.get(), mtu, buffer, returned);
        spec.switch.credits.as_mut().unwrap().unit = unit;
        spec.seed = seed;
        if !cut_through {
            spec.switch.switching = Switching::StoreAndForward;
        }
        let outcome = run(spec);
        prop_assert_eq!(&outcome.records.pauses, &[]);
        // Updates of the other direction take their 8 B of each link in every period, and no time else is lost.
        let record = outcome.flows[0];
        let fct = record.finish.since(record.start);
        let updates = if at_once { 0 } else { fct.as_ps() / period.as_ps() + 2 };
        prop_assert!(fct <= record.ideal_fct + rate.serialize(FRAME) * (3 * updates), "{fct} {}", record.ideal_fct);
    }

    #[test]
    fn with_280_kb_one_flow_holds_line_rate_for_every_period_that_the_rule_allows(
        share in 0.01..=1.0_f64,
        gbps in prop_oneof![Just(32_u64), Just(40)],
        seed in any::<u64>(),
    ) {
        let (rate, buffer) = (Rate::from_gbps(gbps), Bytes::from_kb(280));
        let longest = longest_period(rate, DELAY, buffer, MTU, FRAME, Unit::BLOCK).unwrap();
        let period = Span::from_ps((longest.as_ps() as f64 * share) as u64);
        let mut spec = alone(rate, DELAY, 2_048 * 1_000, MTU, buffer, CreditReturn::Periodic(period));
        spec.seed = seed;
        prop_assert_eq!(run(spec).records.pauses, []);
    }
}

#[test]
fn with_twice_the_longest_period_a_flow_alone_starves_and_gets_no_more_than_its_buffer_in_each() {
    let buffer = Bytes::from_kb(280);
    let longest = longest_period(LINE, DELAY, buffer, MTU, FRAME, Unit::BLOCK).unwrap();
    for seed in 1..=5 {
        let mut spec = alone(LINE, DELAY, u64::MAX, MTU, buffer, CreditReturn::Periodic(longest * 2));
        spec.seed = seed;
        let outcome = run_until(spec, us(6_000));
        let host = outcome.flows[0].src;
        assert!(outcome.pauses_at((host, 0)).len() >= 2 * 40);
        let periods = 6_000.0 / (longest * 2).as_us_f64();
        let received = outcome.flows[0].received.get() as f64;
        assert!(received <= (periods + 2.0) * 280_000.0, "{received}");
        // 280 KB in 120 us are 58 percent of the line.
        let line = LINE.bytes_in(Span::from_us(6_000)).get() as f64;
        assert!(received < 0.6 * line, "{}", received / line);
    }
}

#[test]
fn a_buffer_of_c_tc_alone_starves_a_flow_that_nothing_delays() {
    // TCD §4.4: B must be larger than C·Tc. 50 us at 4 B/ns.
    let period = Span::from_us(50);
    let spec = alone(LINE, DELAY, 2_048 * 2_000, MTU, Bytes::new(200_000), CreditReturn::Periodic(period));
    let outcome = run(spec);
    assert!(!outcome.records.pauses.is_empty());
    let record = outcome.flows[0];
    assert!(record.finish.since(record.start) > record.ideal_fct + Span::from_us(50));
}

#[test]
fn where_updates_get_lost_a_link_starves_for_the_share_p_to_the_m_if_its_buffer_lasts_m_periods() {
    // Between two updates that come through lie k periods with probability (1 - p) p^(k-1), and the link stands still for k - m of
    // them: (p^m / (1-p)) of the 1 / (1-p) that pass in the mean. The first that comes through makes up for all that were lost.
    let (period, delay) = (Span::from_us(50), Span::from_ns(100));
    for (loss, periods) in [(0.2_f64, 1_u64), (0.5, 1), (0.5, 2), (0.5, 3), (0.6, 2)] {
        let round = delay * 2 + LINE.serialize(MTU) + LINE.serialize(FRAME);
        let buffer = LINE.bytes_in(period * periods + round);
        let flows = vec![flow(0, 1, u64::MAX, Time::ZERO, Pacing::LineRate)];
        let mut spec = infiniband(chain(&[(LINE, delay)]), flows);
        let credits = spec.switch.credits.as_mut().unwrap();
        (credits.buffer, credits.unchanged, credits.loss_ppm) = (buffer, true, (loss * 1e6) as u32);
        let outcome = run_until(spec, us(100_000));
        let line = LINE.bytes_in(Span::from_ms(100)).get() as f64;
        let starved = 1.0 - outcome.flows[0].received.get() as f64 / line;
        // 2000 periods: the standard deviation of the share is 0.02 at most.
        let model = loss.powi(periods as i32);
        assert!((starved - model).abs() < 0.05, "{loss}, {periods} periods: {starved} instead of {model}");
    }
}

#[test]
fn updates_take_their_share_of_the_wire_whether_they_arrive_or_not() {
    // 2000 B in every 5 us are a tenth of 32 Gbps. The buffer holds all that can be sent in 1 ms: no update is needed.
    for loss_ppm in [0, 500_000, 1_000_000] {
        let flows = vec![flow(0, 1, u64::MAX, Time::ZERO, Pacing::LineRate)];
        let mut spec = infiniband(chain(&[(LINE, DELAY)]), flows);
        every(&mut spec, Span::from_us(5));
        let credits = spec.switch.credits.as_mut().unwrap();
        (credits.unchanged, credits.loss_ppm) = (true, loss_ppm);
        (credits.buffer, credits.frame) = (Bytes::new(10_000_000), Bytes::new(2000));
        let received = run_until(spec, us(1_000)).flows[0].received.get() as f64;
        let share = received / LINE.bytes_in(Span::from_us(1_000) - DELAY).get() as f64;
        assert!((share - 0.9).abs() < 0.003, "{loss_ppm}: {share}");
    }
}
