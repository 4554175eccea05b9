//! The state machine of DACK, transition by transition, in the order of Fig. 2 of the EC paper and of its sections II-E and II-F.
use backwater_control::reaction::{
    AckFacts, Controller, Dack, DackConfig, FreeOne, Grants, Halt, Load, OptConfig, Policy, PolicyConfig,
    State,
};
use backwater_units::{Rate, Span, Time};

/// What takes effect at the initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    /// A duplicate ACK in a frame of its own, without and with a mark.
    Dack,
    MarkedDack,
    /// A duplicate ACK on a data packet, without and with a mark.
    Repeat,
    MarkedRepeat,
    Iack,
    MarkedIack,
    Nack,
}

use Halt::{Minus, One, Open, Zero};
use On::{Iack, MarkedDack, MarkedIack, MarkedRepeat, Nack, Repeat};

/// From state, event, to state, what it adds to the allowance: outside replays, and during one. L is 6.
const TABLE: [(Halt, On, Halt, u32, u32); 35] = [
    // H∞: only a congested target closes the gate.
    (Open, On::Dack, Open, 0, 0),
    (Open, MarkedDack, Minus, 0, 0),
    (Open, Repeat, Open, 0, 0),
    (Open, MarkedRepeat, Minus, 0, 0),
    (Open, Iack, Open, 0, 0),
    (Open, MarkedIack, Zero, 1, 1),
    (Open, Nack, Minus, 1, 1),
    // H(−1): one packet per IACK.
    (Minus, On::Dack, Minus, 0, 1),
    (Minus, MarkedDack, Minus, 0, 1),
    (Minus, Repeat, Minus, 0, 0),
    (Minus, MarkedRepeat, Minus, 0, 0),
    (Minus, Iack, Zero, 1, 1),
    (Minus, MarkedIack, Zero, 1, 1),
    (Minus, Nack, Minus, 1, 1),
    // H(0): one packet per IACK, two from the second in a row.
    (Zero, On::Dack, Minus, 0, 1),
    (Zero, MarkedDack, Minus, 0, 1),
    (Zero, Repeat, Zero, 0, 0),
    (Zero, MarkedRepeat, Minus, 0, 0),
    (Zero, Iack, One(1), 2, 2),
    (Zero, MarkedIack, Zero, 1, 1),
    (Zero, Nack, Minus, 1, 1),
    // H(1): two packets per IACK, until the counter has reached L.
    (One(1), On::Dack, Minus, 0, 1),
    (One(1), MarkedDack, Minus, 0, 1),
    (One(1), Repeat, One(1), 0, 0),
    (One(1), MarkedRepeat, Minus, 0, 0),
    (One(1), Iack, One(2), 2, 2),
    (One(2), Iack, One(3), 2, 2),
    (One(3), Iack, One(4), 2, 2),
    (One(4), Iack, One(5), 2, 2),
    (One(5), Iack, One(6), 2, 2),
    (One(6), Iack, Open, 2, 2),
    (One(1), MarkedIack, Zero, 1, 1),
    (One(6), MarkedIack, Zero, 1, 1),
    (One(1), Nack, Minus, 1, 1),
    (One(6), Nack, Minus, 1, 1),
];

/// Without the clearing, so that every row shows what it grants.
const CONFIG: DackConfig = DackConfig { clear_on_open: false, ..DackConfig::standard() };

const AT: Time = Time::from_ps(7);

fn facts(on: On, replaying: bool) -> AckFacts {
    let repeat = !matches!(on, Iack | MarkedIack);
    AckFacts {
        packets: u32::from(!repeat),
        bytes: if repeat { 0 } else { 2_112 },
        marked: matches!(on, MarkedDack | MarkedRepeat | MarkedIack),
        repeat,
        piggybacked: matches!(on, Repeat | MarkedRepeat),
        replaying,
        idle: false,
    }
}

fn step(dack: &mut Dack, config: &DackConfig, on: On, replaying: bool) {
    match on {
        Nack => dack.on_nack(config, AT),
        on => dack.on_ack(config, AT, &facts(on, replaying)),
    }
}

/// A packet of a stream with one other outstanding.
fn packet(again: bool) -> Load {
    Load { packets: 1, bytes: 2_112, size: 2_112, again }
}

fn spend(dack: &mut Dack, config: &DackConfig) {
    while dack.allowance() > 0 {
        dack.on_sent(config, AT, &Load::of(0));
    }
}

/// A stream in that state, with an empty allowance and nothing free.
fn stream_in(halt: Halt) -> Dack {
    let mut dack = Dack::new();
    let path: &[On] = match halt {
        Open => &[],
        Minus => &[MarkedDack],
        Zero => &[MarkedIack],
        One(count) => &[MarkedIack, Iack, Iack, Iack, Iack, Iack, Iack][..=count as usize],
    };
    for &on in path {
        step(&mut dack, &CONFIG, on, false);
    }
    spend(&mut dack, &CONFIG);
    assert_eq!(dack.halt(), halt);
    dack
}

#[test]
fn every_transition_leads_where_the_paper_says_and_grants_what_it_says() {
    for (from, on, to, grants, in_replay) in TABLE {
        for (replaying, grants) in [(false, grants), (true, in_replay)] {
            let mut dack = stream_in(from);
            step(&mut dack, &CONFIG, on, replaying);
            let found = (dack.halt(), dack.allowance());
            assert_eq!(found, (to, grants), "{on:?} in {from:?}, replaying: {replaying}");
        }
    }
}

#[test]
fn the_table_has_every_event_in_every_state() {
    for state in [Open, Minus, Zero, One(1)] {
        for on in [On::Dack, MarkedDack, Repeat, MarkedRepeat, Iack, MarkedIack, Nack] {
            let rows = TABLE.iter().filter(|row| (row.0, row.1) == (state, on)).count();
            assert_eq!(rows, 1, "{on:?} in {state:?}");
        }
    }
}

#[test]
fn eight_clean_iacks_open_a_gate_that_a_dack_has_closed_and_the_seventh_does_not() {
    let mut dack = stream_in(Minus);
    for _ in 0..7 {
        step(&mut dack, &CONFIG, Iack, false);
    }
    assert_eq!((dack.halt(), dack.state().level), (One(6), Some(1)));
    step(&mut dack, &CONFIG, Iack, false);
    assert_eq!((dack.halt(), dack.state().level), (Open, Some(State::OPEN)));
    // 1 in H(−1), 2 for each of the seven others.
    assert_eq!(dack.allowance(), 15);
}

#[test]
fn the_counter_starts_anew_with_each_entry_to_h1() {
    let mut dack = stream_in(One(6));
    step(&mut dack, &CONFIG, MarkedDack, false);
    for _ in 0..7 {
        step(&mut dack, &CONFIG, Iack, false);
    }
    assert_eq!(dack.halt(), One(6));
}

#[test]
fn the_allowance_of_the_past_goes_when_the_gate_opens_unless_the_authors_way_is_chosen() {
    for (clear_on_open, left) in [(true, 0), (false, 2)] {
        let config = DackConfig { clear_on_open, ..CONFIG };
        let mut dack = stream_in(One(6));
        step(&mut dack, &config, Iack, false);
        assert_eq!((dack.halt(), dack.allowance()), (Open, left));
    }
}

#[test]
fn an_iack_for_three_packets_is_worth_three_or_one_and_is_one_step() {
    for (grants, worth) in [(Grants::PerPacket, 3), (Grants::PerAck, 1)] {
        let config = DackConfig { grants, ..CONFIG };
        let three = AckFacts { packets: 3, ..facts(Iack, false) };
        let mut dack = stream_in(Minus);
        dack.on_ack(&config, AT, &three);
        assert_eq!((dack.halt(), dack.allowance()), (Zero, worth));
        dack.on_ack(&config, AT, &three);
        assert_eq!((dack.halt(), dack.allowance()), (One(1), 3 * worth));
    }
}

#[test]
fn a_halted_stream_sends_one_packet_per_packet_of_its_allowance_new_or_resent() {
    let mut dack = stream_in(Minus);
    assert!(!dack.may_send(&CONFIG, &packet(false)));
    assert!(!dack.may_send(&CONFIG, &packet(true)));
    step(&mut dack, &CONFIG, Iack, false);
    assert!(dack.may_send(&CONFIG, &packet(false)));
    assert!(dack.may_send(&CONFIG, &packet(true)));
    dack.on_sent(&CONFIG, AT, &Load::of(0));
    assert!(!dack.may_send(&CONFIG, &packet(true)));
}

#[test]
fn a_nack_leaves_a_larger_allowance_as_it_is_and_lets_one_packet_go_from_an_empty_one() {
    let mut rich = stream_in(One(2));
    step(&mut rich, &CONFIG, Iack, false);
    step(&mut rich, &CONFIG, Iack, false);
    step(&mut rich, &CONFIG, Nack, false);
    assert_eq!((rich.halt(), rich.allowance()), (Minus, 4));
    let mut poor = stream_in(Minus);
    step(&mut poor, &CONFIG, Nack, false);
    poor.on_sent(&CONFIG, AT, &Load::of(0));
    assert!(
        !poor.may_send(&CONFIG, &packet(true)),
        "the packet that is free and the allowance of 1 are one packet"
    );
}

#[test]
fn a_stream_with_nothing_outstanding_may_send_one_packet_or_as_the_authors_do_any_until_its_next_ack() {
    for (free_one, second) in [(FreeOne::Once, false), (FreeOne::UntilAck, true)] {
        let config = DackConfig { free_one, ..CONFIG };
        let mut dack = stream_in(Minus);
        dack.on_ack(&config, AT, &AckFacts { idle: true, ..facts(MarkedDack, false) });
        assert!(dack.may_send(&config, &packet(false)));
        dack.on_sent(&config, AT, &Load::of(0));
        assert_eq!(dack.may_send(&config, &packet(false)), second);
        // The next packet that is sent of an allowance ends it.
        step(&mut dack, &config, Iack, false);
        dack.on_sent(&config, AT, &Load::of(0));
        assert!(!dack.may_send(&config, &packet(false)));
    }
}

#[test]
fn the_limits_of_opt_hold_for_new_packets_in_every_state_and_not_for_resent_ones() {
    let config = DackConfig { limits: OptConfig { packets: 2, bytes: 5_000 }, ..CONFIG };
    let mut granted = stream_in(Zero);
    step(&mut granted, &config, Iack, false);
    for dack in [stream_in(Open), granted] {
        assert!(dack.may_send(&config, &packet(false)));
        assert!(!dack.may_send(&config, &Load { packets: 2, ..packet(false) }));
        assert!(!dack.may_send(&config, &Load { bytes: 2_889, ..packet(false) }));
        assert!(dack.may_send(&config, &Load { packets: 2, bytes: 5_000, ..packet(true) }));
    }
}

#[test]
fn forty_microseconds_without_an_ack_open_the_gate_and_take_the_allowance() {
    let mut dack = stream_in(Minus);
    step(&mut dack, &CONFIG, Iack, false);
    let due = AT.saturating_add(Span::from_us(40));
    assert_eq!(dack.next_timer(&CONFIG), due);
    assert!(!dack.advance(&CONFIG, Time::from_ps(due.as_ps() - 1)));
    assert_eq!(dack.halt(), Zero);
    assert!(dack.advance(&CONFIG, due));
    assert_eq!((dack.halt(), dack.allowance(), dack.next_timer(&CONFIG)), (Open, 0, Time::MAX));
}

#[test]
fn the_escape_waits_for_the_latest_ack_or_nack_but_not_for_a_repeat_on_a_data_packet() {
    let later = Time::from_ps(1_000_000);
    for (on, counts) in [(On::Dack, true), (MarkedRepeat, true), (Iack, true), (Repeat, false)] {
        let mut dack = stream_in(Zero);
        dack.on_ack(&CONFIG, later, &facts(on, false));
        let from = if counts { later } else { AT };
        assert_eq!(dack.next_timer(&CONFIG), from.saturating_add(CONFIG.escape), "{on:?}");
    }
    let mut dack = stream_in(Zero);
    dack.on_nack(&CONFIG, later);
    assert_eq!(dack.next_timer(&CONFIG), later.saturating_add(CONFIG.escape));
}

#[test]
fn the_escape_may_wait_for_an_empty_allowance_or_not_exist() {
    let mut dack = stream_in(Minus);
    step(&mut dack, &CONFIG, Iack, false);
    let patient = DackConfig { escape_needs_none: true, ..CONFIG };
    assert_eq!(dack.next_timer(&patient), Time::MAX);
    dack.on_sent(&patient, AT, &Load::of(0));
    assert!(dack.next_timer(&patient) < Time::MAX);
    assert_eq!(dack.next_timer(&DackConfig { escape: Span::MAX, ..CONFIG }), Time::MAX);
}

#[test]
fn after_a_replay_the_stream_goes_on_as_it_is_or_in_the_papers_words_returns_to_h_minus_1() {
    for (halt_after_replay, then) in [(false, One(1)), (true, Minus)] {
        let config = DackConfig { halt_after_replay, ..CONFIG };
        let mut dack = stream_in(One(1));
        dack.on_replay_end(&config);
        assert_eq!(dack.halt(), then);
    }
}

#[test]
fn a_timeout_frees_one_packet_of_a_halted_stream() {
    let mut dack = stream_in(Minus);
    dack.on_timeout(&CONFIG);
    assert!(dack.may_send(&CONFIG, &packet(true)));
    dack.on_sent(&CONFIG, AT, &Load::of(0));
    assert!(!dack.may_send(&CONFIG, &packet(true)));
}

#[test]
fn records_show_the_level_and_the_allowance() {
    let config = PolicyConfig::Dack(CONFIG);
    let mut policy = Policy::new(&config, Rate::from_gbps(100));
    assert_eq!(policy.state(), State { level: Some(2), allowance: Some(0) });
    for (on, level, allowance) in [(MarkedDack, -1, 0), (Iack, 0, 1), (Iack, 1, 3), (MarkedIack, 0, 4)] {
        policy.on_ack(&config, AT, &facts(on, false));
        assert_eq!(policy.state(), State { level: Some(level), allowance: Some(allowance) });
    }
}

#[test]
fn parameters_that_could_stop_a_stream_are_refused() {
    let refused = [
        (DackConfig { count: 0, ..CONFIG }, "count"),
        (DackConfig { escape: Span::ZERO, ..CONFIG }, "escape"),
        (DackConfig { limits: OptConfig { packets: 0, bytes: 128_000 }, ..CONFIG }, "packets"),
        (DackConfig { limits: OptConfig { packets: 256, bytes: 2_111 }, ..CONFIG }, "bytes"),
    ];
    for (config, parameter) in refused {
        assert_eq!(PolicyConfig::Dack(config).validate(2_112).unwrap_err().parameter, parameter);
    }
    for config in [DackConfig::standard(), DackConfig::authors(), DackConfig::paper()] {
        assert_eq!(PolicyConfig::Dack(config).validate(8_256), Ok(()));
    }
}
