//! OPT's limits and AIMD's window, in numbers worked out by hand from RFC 5681's formulas with the EC paper's 9 KB segments.
use backwater_control::reaction::{
    AckFacts, Aimd, AimdConfig, Controller, Load, OptConfig, Policy, PolicyConfig,
};
use backwater_units::{Rate, Time};

const CONFIG: AimdConfig = AimdConfig::standard();

fn ack(bytes: u64) -> AckFacts {
    AckFacts { packets: 1, bytes, ..AckFacts::default() }
}

fn new(bytes: u64) -> Load {
    Load { packets: 1, bytes, size: 2_112, again: false }
}

#[test]
fn slow_start_adds_what_is_acknowledged_but_no_more_than_a_segment_per_ack() {
    let mut aimd = Aimd::new(&CONFIG);
    assert_eq!(aimd.cwnd(), 8_992);
    aimd.on_ack(&CONFIG, Time::ZERO, &ack(2_112));
    assert_eq!(aimd.cwnd(), 11_104);
    aimd.on_ack(&CONFIG, Time::ZERO, &ack(20_000));
    assert_eq!(aimd.cwnd(), 20_096);
}

#[test]
fn from_ssthresh_on_an_ack_adds_mss_squared_over_cwnd() {
    let config = AimdConfig { initial: 128_000, ..CONFIG };
    let mut aimd = Aimd::new(&config);
    // 8992² / 128,000 = 631.68 and 8992² / 128,631 = 628.58
    aimd.on_ack(&config, Time::ZERO, &ack(2_112));
    assert_eq!(aimd.cwnd(), 128_631);
    aimd.on_ack(&config, Time::ZERO, &ack(2_112));
    assert_eq!(aimd.cwnd(), 129_259);
    assert_eq!(aimd.ssthresh(), 128_000);
}

#[test]
fn a_nack_halves_the_window_and_makes_it_the_end_of_slow_start_again_and_again() {
    let config = AimdConfig { initial: 128_631, ..CONFIG };
    let mut aimd = Aimd::new(&config);
    aimd.on_nack(&config, Time::ZERO);
    assert_eq!((aimd.cwnd(), aimd.ssthresh()), (64_315, 64_315));
    aimd.on_nack(&config, Time::ZERO);
    assert_eq!((aimd.cwnd(), aimd.ssthresh()), (32_157, 32_157));
    // No slow start: 8992² / 32,157 = 2,514.4
    aimd.on_ack(&config, Time::ZERO, &ack(2_112));
    assert_eq!(aimd.cwnd(), 34_671);
}

#[test]
fn by_rfc_5681_the_window_stays_at_two_segments_or_more_and_never_grows_by_more_than_one() {
    let config = AimdConfig::rfc5681();
    let mut aimd = Aimd::new(&AimdConfig { initial: 40_000, ..config });
    for window in [20_000, 17_984, 17_984] {
        aimd.on_nack(&config, Time::ZERO);
        assert_eq!(aimd.cwnd(), window);
    }
    // 8992² / 17,984 is half a segment.
    aimd.on_ack(&config, Time::ZERO, &ack(2_112));
    assert_eq!(aimd.cwnd(), 17_984 + 4_496);
}

#[test]
fn a_duplicate_ack_opens_nothing_and_a_timeout_closes_nothing() {
    let mut aimd = Aimd::new(&CONFIG);
    aimd.on_ack(&CONFIG, Time::ZERO, &AckFacts { repeat: true, ..AckFacts::default() });
    aimd.on_timeout(&CONFIG);
    assert_eq!(aimd.cwnd(), 8_992);
}

#[test]
fn the_window_limits_what_is_outstanding_with_the_new_packet() {
    let aimd = Aimd::new(&CONFIG);
    assert!(aimd.may_send(&CONFIG, &new(6_880)));
    assert!(!aimd.may_send(&CONFIG, &new(6_881)));
}

#[test]
fn however_small_the_window_one_packet_may_be_outstanding() {
    let mut aimd = Aimd::new(&CONFIG);
    (0..20).for_each(|_| aimd.on_nack(&CONFIG, Time::ZERO));
    assert_eq!(aimd.cwnd(), 0);
    assert!(aimd.may_send(&CONFIG, &new(0)));
    assert!(!aimd.may_send(&CONFIG, &new(1)));
    // Its ACK opens the window: 8992² / 32, as a window of one flit would.
    aimd.on_ack(&CONFIG, Time::ZERO, &ack(2_112));
    assert_eq!(aimd.cwnd(), 2_526_752);
}

#[test]
fn a_replay_is_unthrottled_as_in_the_authors_simulator_or_gated_by_the_window_as_the_paper_says() {
    let again = Load { packets: 60, bytes: 126_720, size: 2_112, again: true };
    let gated = AimdConfig { gates_replay: true, initial: 12_000, ..CONFIG };
    let mut aimd = Aimd::new(&gated);
    aimd.on_nack(&gated, Time::ZERO);
    let mut resent = 0;
    while aimd.may_send(&gated, &again) {
        aimd.on_sent(&CONFIG, Time::ZERO, &again);
        resent += 1;
    }
    // Two packets of 2112 B in a window of 6000 B.
    assert_eq!(resent, 2);
    assert!(aimd.may_send(&CONFIG, &again));
    // 8992² / 6000 = 13,476 more, and one packet less.
    aimd.on_ack(&gated, Time::ZERO, &ack(2_112));
    assert_eq!(aimd.cwnd(), 19_476);
    assert!(aimd.may_send(&gated, &again));
    // A loss or a timeout says that none of them is under way any longer.
    let mut tight = Aimd::new(&AimdConfig { initial: 2_200, ..gated });
    tight.on_sent(&CONFIG, Time::ZERO, &again);
    assert!(!tight.may_send(&gated, &again));
    tight.on_timeout(&gated);
    assert!(tight.may_send(&gated, &again));
    tight.on_sent(&CONFIG, Time::ZERO, &again);
    tight.on_nack(&gated, Time::ZERO);
    assert!(tight.may_send(&gated, &again));
}

#[test]
fn opt_allows_up_to_its_limits_whichever_comes_first_and_resends_at_once() {
    let config = PolicyConfig::Opt(OptConfig { packets: 50, bytes: 128_000 });
    let mut policy = Policy::new(&config, Rate::from_gbps(100));
    let load = |packets, bytes, size| Load { packets, bytes, size, again: false };
    // 49 and 50 packets of 1088 B; 60 and 61 of 2112 B: 60 · 2112 = 126,720.
    assert!(policy.may_send(&config, &load(49, 49 * 1_088, 1_088)));
    assert!(!policy.may_send(&config, &load(50, 50 * 1_088, 1_088)));
    assert!(policy.may_send(&config, &load(15, 125_888, 2_112)));
    assert!(!policy.may_send(&config, &load(15, 125_889, 2_112)));
    policy.on_nack(&config, Time::ZERO);
    assert!(policy.may_send(&config, &Load { packets: 50, bytes: 128_000, size: 2_112, again: true }));
    assert_eq!(policy.next_timer(&config), Time::MAX);
}

#[test]
fn limits_by_which_nothing_could_be_sent_are_refused() {
    let refused = |config: PolicyConfig, parameter| {
        assert_eq!(config.validate(2_112).unwrap_err().parameter, parameter);
    };
    refused(PolicyConfig::Opt(OptConfig { packets: 0, ..OptConfig::standard() }), "packets");
    refused(PolicyConfig::Opt(OptConfig { bytes: 2_111, ..OptConfig::standard() }), "bytes");
    refused(PolicyConfig::Aimd(AimdConfig { mss: 0, ..CONFIG }), "mss");
    refused(PolicyConfig::Aimd(AimdConfig { mss: 1 << 31, ..CONFIG }), "mss");
    refused(PolicyConfig::Aimd(AimdConfig { initial: 0, ..CONFIG }), "initial");
    assert_eq!(PolicyConfig::Aimd(CONFIG).validate(8_256), Ok(()));
}
