//! PCN: what the receiver says of a period, and what the sender does about it, by the rules of its authors' code.
use backwater_control::CodePoint::{self, Capable, Congestion, Undetermined};
use backwater_control::notify::{Action, Advice, Mode, Notify, NotifyConfig};
use backwater_control::reaction::{Controller, Pcn, PcnConfig};
use backwater_units::{Rate, Span, Time};

const NP: NotifyConfig = NotifyConfig { interval: Span::from_us(50), mode: Mode::Advice, fraction: 0.95 };
const LINE: Rate = Rate::from_gbps(40);

fn ns(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

/// `count` packets of 1000 B, `gap` ns apart, the first at `begin`; of them `marked` with CE.
fn period(np: &mut Notify, begin: u64, gap: u64, count: u64, marked: u64) -> Advice {
    for packet in 0..count {
        let code = if packet < marked { Congestion } else { Capable };
        let action = np.on_packet(&NP, ns(begin + packet * gap), code, 1_000);
        assert_eq!(
            action == Action::Nothing,
            packet > 0,
            "the first of a period sets the timer, nothing else does"
        );
    }
    np.advise(&NP)
}

#[test]
fn a_fifth_of_a_40_gbps_link_is_advised_as_8_gbps_and_is_congested_from_95_percent_of_marks_on() {
    // A packet each µs: 50 of them in 50 µs, 8000 bits each.
    for (marked, code) in [(50, Congestion), (48, Congestion), (47, Capable), (0, Capable)] {
        let advice = period(&mut Notify::default(), 0, 1_000, 50, marked);
        assert_eq!(advice, Advice { code, rate: Rate::from_gbps(8) }, "{marked} of 50");
    }
}

#[test]
fn periods_are_counted_from_the_first_packet_and_what_comes_at_their_border_belongs_to_the_one_before() {
    let mut np = Notify::default();
    assert_eq!(np.on_packet(&NP, ns(7_000), Capable, 1_000), Action::Arm(ns(57_000)));
    assert_eq!(np.on_packet(&NP, ns(57_000), Capable, 1_000), Action::Nothing);
    assert_eq!(np.advise(&NP).rate, Rate::from_bps(16_000 * 20_000));
    // Three periods without a packet say nothing.
    assert_eq!(np.on_packet(&NP, ns(220_000), Capable, 1_000), Action::Arm(ns(257_000)));
}

#[test]
fn the_rate_of_a_single_packet_of_a_period_follows_from_the_smoothed_time_between_packets() {
    let mut np = Notify::default();
    let mut alone = |at: u64| period(&mut np, at, 0, 1, 0).rate;
    // Before the second packet it is the period: 8000 bit in 50 µs.
    assert_eq!(alone(0), Rate::from_mbps(160));
    // (50 + 80) / 2 = 65 µs; (65 + 80) / 2 = 72.5 µs.
    assert_eq!(alone(80_000), Rate::from_bps(8_000 * 1_000_000 / 65));
    assert_eq!(alone(160_000), Rate::from_bps(8_000 * 10_000_000 / 725));
    // After 10 ms nothing is known of it.
    assert_eq!(alone(10_160_000), Rate::from_mbps(160));
}

#[test]
fn bytes_count_not_packets_and_ue_is_no_mark() {
    let mut np = Notify::default();
    np.on_packet(&NP, ns(0), Undetermined, 1_500);
    np.on_packet(&NP, ns(100), Undetermined, 500);
    assert_eq!(np.advise(&NP), Advice { code: Capable, rate: Rate::from_mbps(320) });
}

fn told(flow: &mut Pcn, cnps: &[(CodePoint, u64)]) -> Vec<u64> {
    let config = PcnConfig::authors();
    let one = |&(code, mbps): &(CodePoint, u64)| {
        flow.on_advice(&config, Time::ZERO, code, Rate::from_mbps(mbps));
        flow.rate().as_bps()
    };
    cnps.iter().map(one).collect()
}

#[test]
fn a_congested_flow_goes_to_127_of_128_parts_of_the_advised_rate_at_once_and_never_up() {
    let mut flow = Pcn::new(&PcnConfig::authors(), LINE);
    // 12.8 Gbps · 127/128 = 12.7 Gbps; 25.6 Gbps would be more than that; 6.4 Gbps is less.
    let rates = told(&mut flow, &[(Congestion, 12_800), (Congestion, 25_600), (Congestion, 6_400)]);
    assert_eq!(rates, [12_700_000_000, 12_700_000_000, 6_350_000_000]);
}

#[test]
fn a_flow_without_congestion_rises_by_steps_that_grow_from_w_min_to_w_max() {
    let mut flow = Pcn::new(&PcnConfig::authors(), LINE);
    told(&mut flow, &[(Congestion, 12_800)]);
    // w = 1/128: 12.7 · 127/128 + 40/128 Gbps; then w = 1/128 · (127/128 + 1/4).
    let w = (127.0 / 128.0 + 0.25) / 128.0;
    let first: f64 = 12.7e9 * 127.0 / 128.0 + 40e9 / 128.0;
    let second = first.floor() * (1.0 - w) + 40e9 * w;
    assert_eq!(told(&mut flow, &[(Capable, 1), (Capable, 1)]), [first as u64, second as u64]);
    // The steps grow to a quarter of what is missing, and the rate to that of the line.
    told(&mut flow, &[(Capable, 1); 200]);
    assert!((flow.weight() - 0.25).abs() < 1e-6, "{}", flow.weight());
    assert!(LINE.as_bps() - flow.rate().as_bps() < 10);
    // Congestion makes them small again.
    told(&mut flow, &[(Congestion, 12_800)]);
    assert!((flow.weight() - 1.0 / 128.0).abs() < f64::EPSILON && flow.rate() == Rate::from_mbps(12_700));
}

#[test]
fn weights_by_which_no_rate_would_rise_or_any_would_reach_the_line_at_once_are_refused() {
    let authors = PcnConfig::authors();
    assert_eq!(authors.validate(), Ok(()));
    let refused = |config: PcnConfig| config.validate().unwrap_err().parameter;
    assert_eq!(refused(PcnConfig { w_min: 0.0, ..authors }), "w-min");
    assert_eq!(refused(PcnConfig { w_min: f64::NAN, ..authors }), "w-min");
    assert_eq!(refused(PcnConfig { w_max: 1.0, ..authors }), "w-max");
    assert_eq!(refused(PcnConfig { w_max: 1.0 / 256.0, ..authors }), "w-max");
}
