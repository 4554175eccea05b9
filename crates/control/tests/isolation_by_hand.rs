//! CI, ICI and ICI+ by hand: who is congesting, who is told, who is marked. Packets are 4 KiB.
use backwater_control::isolation::{
    Allocation, Cft, CiConfig, CimFacts, CimState, Claim, Common, Context, IciConfig, Isolation, MarkFacts,
    NotifyConfig, Origin, RootFacts, Slot,
};
use backwater_units::{Bytes, Span, Time};

/// Bytes of so many packets.
const fn packets(n: u64) -> u64 {
    n * 4096
}

const fn us(us: u64) -> Time {
    Time::from_ps(us * 1_000_000)
}

fn ci() -> Isolation {
    Isolation::Ci(CiConfig::standard())
}

fn ici() -> Isolation {
    Isolation::Ici(IciConfig::standard())
}

fn plus() -> Isolation {
    Isolation::Ici(IciConfig::plus())
}

/// An egress NFQ of `queue` packets, `own` of which go to the destination of the one that came last, at 100 µs.
fn facts(queue: u64, own: u64) -> RootFacts {
    RootFacts { queue: packets(queue), of_destination: packets(own), now: us(100), ..RootFacts::default() }
}

fn is_root(rules: Isolation, facts: &RootFacts) -> bool {
    rules.is_root(&Cft::new(), facts)
}

#[test]
fn a_queue_of_12_packets_is_long_and_one_of_11_is_not() {
    for rules in [ci(), ici(), plus()] {
        assert_eq!(rules.detects_at(), packets(12));
        assert!(is_root(rules, &facts(12, 12)) && !is_root(rules, &facts(11, 11)));
    }
}

#[test]
fn ci_blames_every_packet_that_finds_a_long_queue_and_ici_only_those_whose_destination_has_half_of_it() {
    let (victim, culprit) = (facts(12, 1), facts(12, 6));
    assert!(is_root(ci(), &victim) && is_root(ci(), &culprit));
    assert!(!is_root(ici(), &victim) && is_root(ici(), &culprit));
    assert!(!is_root(ici(), &facts(13, 6)), "6 of 13 is less than half");
}

#[test]
fn two_destinations_with_half_of_the_queue_each_are_both_to_blame() {
    assert!(is_root(ici(), &facts(20, 10)));
    assert!(!is_root(ici(), &facts(20, 9)));
}

#[test]
fn however_small_the_share_asked_for_a_destination_with_one_packet_is_not_to_blame() {
    let rules = Isolation::Ici(IciConfig { share_ppm: 1, ..IciConfig::standard() });
    assert!(is_root(rules, &facts(36, 2)));
    assert!(!is_root(rules, &facts(36, 1)), "Q_MIN is two packets");
}

#[test]
fn a_port_that_is_paused_is_a_root_to_ci_and_not_to_ici() {
    let held = RootFacts { gate_closed: true, ..facts(20, 20) };
    assert!(is_root(ci(), &held) && !is_root(ici(), &held));
}

#[test]
fn after_a_pause_or_resume_a_port_is_no_root_for_24_packet_times() {
    // 24 packets of 4096 B at 100 Gbps: 24 · 327.68 ns = 7.86432 µs.
    let event = us(100);
    let after =
        |ps| RootFacts { last_pfc: Some(event), now: Time::from_ps(event.as_ps() + ps), ..facts(20, 20) };
    assert!(!is_root(ici(), &after(0)) && !is_root(ici(), &after(7_864_319)));
    assert!(is_root(ici(), &after(7_864_320)));
    assert!(is_root(ci(), &after(0)));
}

#[test]
fn a_flow_that_was_isolated_lately_needs_no_share_but_a_long_queue_at_a_free_port() {
    let rules = Isolation::Ici(IciConfig { history: Some(Span::from_us(500)), ..IciConfig::standard() });
    let (mut cft, mut slots) = (Cft::new(), [Slot::default()]);
    let claim = Claim { key: 7, egress: 3, root: 1, origin: Origin::Local, ingress: Some(0), now: us(50) };
    assert_eq!(cft.allocate(&rules, &mut slots, Some(1), &claim), Allocation::New(0));
    cft.expiry(&rules, &mut slots, 0, us(60), false);
    let returns = RootFacts { key: 7, ..facts(12, 1) };
    assert!(rules.is_root(&cft, &returns));
    assert!(!rules.is_root(&cft, &RootFacts { key: 8, ..returns }), "another flow has no such past");
    assert!(!rules.is_root(&cft, &RootFacts { queue: packets(11), ..returns }));
    assert!(!rules.is_root(&cft, &RootFacts { gate_closed: true, ..returns }));
    assert!(!rules.is_root(&cft, &RootFacts { last_pfc: Some(us(99)), ..returns }));
    assert!(!rules.is_root(&cft, &RootFacts { now: us(560), ..returns }), "500 us are over");
}

#[test]
fn an_early_hint_halves_the_threshold_where_the_ingress_port_holds_11_packets_half_of_them_to_one_node() {
    let early = Some(Bytes::new(packets(11)));
    let common = Common { early, ..CiConfig::standard().common };
    for rules in
        [Isolation::Ci(CiConfig { common }), Isolation::Ici(IciConfig { common, ..IciConfig::standard() })]
    {
        let hinted = |egress, ingress, own| RootFacts {
            ingress: packets(ingress),
            ingress_of_destination: packets(own),
            ..facts(egress, egress)
        };
        assert_eq!(rules.detects_at(), packets(6));
        assert!(is_root(rules, &hinted(6, 11, 6)));
        assert!(!is_root(rules, &hinted(5, 11, 6)));
        assert!(!is_root(rules, &hinted(6, 10, 10)));
        assert!(!is_root(rules, &hinted(6, 11, 5)));
        assert!(is_root(rules, &hinted(12, 0, 0)), "a long egress queue needs no hint");
    }
    let full = RootFacts { ingress: packets(20), ingress_of_destination: packets(20), ..facts(6, 6) };
    assert!(!is_root(ici(), &full), "by default there is none");
}

/// A packet that came in the monitored class (upstream does not isolate its flow), at so many µs.
fn stored(level: u64, now: u64) -> CimFacts {
    CimFacts { level: packets(level), as_monitored: true, allocated: false, now: us(now) }
}

#[test]
fn upstream_is_told_from_8_packets_in_the_cfq_on_and_again_after_4_us_if_it_does_not_isolate() {
    let (rules, mut cim) = (ici(), CimState::default());
    assert!(!rules.notifies(&mut cim, &stored(7, 0)));
    assert!(rules.notifies(&mut cim, &stored(8, 1)));
    assert!(!rules.notifies(&mut cim, &stored(9, 4)), "3 us after the last");
    assert!(!rules.notifies(&mut cim, &CimFacts { as_monitored: false, ..stored(9, 6) }), "it does isolate");
    assert!(!rules.notifies(&mut cim, &stored(7, 6)), "the CFQ is short again");
    assert!(rules.notifies(&mut cim, &stored(8, 6)));
    assert_eq!(cim.sent(), 2);
}

#[test]
fn the_first_cim_goes_out_for_a_flow_that_upstream_isolates_already_too() {
    let mut cim = CimState::default();
    assert!(ici().notifies(&mut cim, &CimFacts { as_monitored: false, ..stored(8, 0) }));
}

#[test]
fn the_standard_allows_three_cims_per_flow_and_port() {
    let notify = NotifyConfig { most: Some(3), ..NotifyConfig::standard() };
    let mut cim = CimState::default();
    let sent = (0..10).filter(|n| notify.notifies(&mut cim, &stored(8, n * 4))).count();
    assert_eq!((sent, cim.sent()), (3, 3));
}

#[test]
fn without_a_limit_a_flow_that_is_never_isolated_upstream_is_told_every_4_us_for_ever() {
    let mut cim = CimState::default();
    let sent = (0..1_000).filter(|n| ici().notifies(&mut cim, &stored(8, n * 4))).count();
    assert_eq!((sent, cim.sent()), (1_000, 255));
}

#[test]
fn upstream_is_told_with_the_entry_itself_if_so_wished_whatever_the_cfq_holds() {
    let made = CimFacts { allocated: true, ..stored(0, 0) };
    let on_allocation = NotifyConfig { on_allocation: true, ..NotifyConfig::standard() };
    let mut cim = CimState::default();
    assert!(on_allocation.notifies(&mut cim, &made));
    assert!(!on_allocation.notifies(&mut cim, &stored(1, 3)));
    assert!(on_allocation.notifies(&mut cim, &stored(1, 4)));
    let full = CimFacts { allocated: true, ..stored(16, 0) };
    assert!(!NotifyConfig::standard().notifies(&mut CimState::default(), &full), "else no entry says so");
}

/// A switch with a table of one slot under ICI+, and an entry in it that was made at time 0.
struct Marker {
    rules: Isolation,
    cft: Cft,
    slots: [Slot; 1],
}

/// Marks wherever the ramp has begun.
const LOW: fn() -> u32 = || 0;
/// Marks nowhere below the end of the ramp, if that is at less than 100 %.
const HIGH: fn() -> u32 = || u32::MAX;

impl Marker {
    fn new(rules: Isolation, origin: Origin) -> Self {
        let mut marker = Self { rules, cft: Cft::new(), slots: [Slot::default()] };
        assert_eq!(marker.claim(7, origin, us(0)), Allocation::New(0));
        marker
    }

    fn claim(&mut self, key: u64, origin: Origin, now: Time) -> Allocation {
        let claim = Claim { key, egress: 3, root: 1, origin, ingress: Some(0), now };
        self.cft.allocate(&self.rules, &mut self.slots, Some(1), &claim)
    }

    /// An isolated packet enters the egress CFQ, which holds `queue` packets then.
    fn isolated(&mut self, queue: u64, now: Time, gate_closed: bool, random: fn() -> u32) -> bool {
        let facts = MarkFacts { queue: packets(queue), gate_closed, now };
        self.rules.marks_isolated(&self.cft, &mut self.slots[0], &facts, random)
    }

    /// A packet without an entry enters the egress NFQ.
    fn monitored(&self, facts: &RootFacts, any_gate_closed: bool, random: fn() -> u32) -> bool {
        self.rules.marks_monitored(&self.cft, facts, any_gate_closed, random)
    }
}

#[test]
fn congestion_that_the_table_manages_is_never_marked() {
    let mut marker = Marker::new(plus(), Origin::Local);
    assert!(!marker.isolated(64, us(1_000), false, LOW));
    assert!(!marker.isolated(64, us(2_000), false, LOW), "2 ms are not longer than 2 ms");
    assert!(!marker.monitored(&facts(36, 36), false, LOW));
    assert_eq!(marker.rules.context(&marker.cft, &marker.slots[0], us(2_000)), Context::Managed);
}

#[test]
fn an_entry_older_than_2_ms_is_marked_at_most_every_50_us() {
    let mut marker = Marker::new(plus(), Origin::Local);
    let old = Time::from_ps(us(2_000).as_ps() + 1);
    let later = |ps| Time::from_ps(old.as_ps() + ps);
    assert_eq!(marker.rules.context(&marker.cft, &marker.slots[0], old), Context::Persist);
    assert!(marker.isolated(25, old, false, HIGH));
    assert!(!marker.isolated(25, later(49_999_999), false, LOW));
    assert!(marker.isolated(25, later(50_000_000), false, HIGH));
    assert!(!marker.monitored(&RootFacts { now: old, ..facts(36, 36) }, false, LOW), "only that entry");
}

#[test]
fn a_refused_flow_lets_the_isolated_ones_be_marked_for_20_us() {
    let mut marker = Marker::new(plus(), Origin::Local);
    assert_eq!(marker.claim(8, Origin::Local, us(100)), Allocation::Refused);
    assert_eq!(marker.rules.context(&marker.cft, &marker.slots[0], us(119)), Context::Overflow);
    assert!(!marker.isolated(25, us(120), false, LOW), "20 us are over");
    assert!(marker.isolated(25, us(119), false, HIGH));
}

#[test]
fn isolated_packets_are_marked_on_the_ramp_from_8_to_24_packets() {
    let fresh = || {
        let mut marker = Marker::new(plus(), Origin::Local);
        marker.claim(8, Origin::Local, us(100));
        marker
    };
    assert!(!fresh().isolated(8, us(101), false, LOW));
    assert!(fresh().isolated(9, us(101), false, LOW));
    // At 16 packets half of the draws mark.
    assert!(fresh().isolated(16, us(101), false, || 0x7FFF_FFFF));
    assert!(!fresh().isolated(16, us(101), false, || 0x8000_0000));
    assert!(fresh().isolated(25, us(101), false, HIGH));
}

#[test]
fn no_mark_at_a_paused_port_nor_for_a_root_elsewhere_and_none_in_ici() {
    let overflowed = |rules, origin| {
        let mut marker = Marker::new(rules, origin);
        marker.claim(8, Origin::Local, us(100));
        marker
    };
    assert!(!overflowed(plus(), Origin::Local).isolated(64, us(101), true, LOW));
    assert!(!overflowed(plus(), Origin::Cim).isolated(64, us(101), false, LOW));
    let mut below = overflowed(plus(), Origin::Cim);
    assert!(!below.isolated(64, us(9_000), false, LOW));
    let context = below.rules.context(&below.cft, &below.slots[0], us(9_000));
    assert_eq!(context, Context::Managed, "how long a root further down lasts is that switch's concern");
    assert!(!overflowed(ici(), Origin::Local).isolated(64, us(101), false, LOW));
    assert!(!overflowed(ici(), Origin::Local).monitored(&facts(36, 36), false, LOW));
    assert!(plus().marks() && !ici().marks() && !ci().marks());
}

#[test]
fn of_the_flows_without_an_entry_only_those_to_blame_are_marked_after_a_refusal() {
    let mut marker = Marker::new(plus(), Origin::Local);
    marker.claim(8, Origin::Local, us(95));
    let marks = |facts: &RootFacts, any, random| marker.monitored(facts, any, random);
    assert!(marks(&facts(20, 10), false, LOW));
    assert!(!marks(&facts(20, 9), false, LOW), "a victim");
    assert!(!marks(&facts(20, 10), true, LOW), "a port that is paused in some class");
    assert!(!marks(&RootFacts { gate_closed: true, ..facts(20, 10) }, false, LOW));
    assert!(!marks(&RootFacts { last_pfc: Some(us(99)), ..facts(20, 10) }, false, LOW));
    assert!(!marks(&facts(11, 11), false, LOW), "above kmin, but no long queue");
    assert!(!marks(&RootFacts { now: us(115), ..facts(20, 10) }, false, LOW), "20 us after the refusal");
    // The ramp ends at 40 packets with 20 %: at 25 packets, half way, 10 % = 429 496 729.6 of 2^32 draws.
    assert!(marks(&facts(25, 25), false, || 429_496_729));
    assert!(!marks(&facts(25, 25), false, || 429_496_730));
    assert!(marks(&facts(41, 41), false, HIGH));
}

#[test]
fn with_a_table_of_no_slots_ici_plus_marks_like_a_ramp_that_spares_victims() {
    let (mut cft, rules) = (Cft::new(), plus());
    let now = us(100);
    let claim = Claim { key: 7, egress: 3, root: 1, origin: Origin::Local, ingress: Some(0), now };
    assert!(!rules.marks_monitored(&cft, &facts(20, 10), false, LOW));
    assert_eq!(cft.allocate(&rules, &mut [], Some(0), &claim), Allocation::Refused);
    assert!(rules.marks_monitored(&cft, &facts(20, 10), false, LOW));
    assert!(!rules.marks_monitored(&cft, &facts(20, 9), false, LOW));
}
