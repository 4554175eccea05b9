//! The congested-flow table of one switch by hand: what entries cost, when they go, what is remembered of them.
use backwater_control::isolation::{
    Allocation, Cft, CiConfig, Claim, Expiry, IciConfig, Isolation, Key, Origin, Slot,
};
use backwater_units::{Span, Time};

const fn us(us: u64) -> Time {
    Time::from_ps(us * 1_000_000)
}

fn ci() -> Isolation {
    Isolation::Ci(CiConfig::standard())
}

fn ici() -> Isolation {
    Isolation::Ici(IciConfig::standard())
}

fn with_history() -> Isolation {
    Isolation::Ici(IciConfig { history: Some(Span::from_us(500)), ..IciConfig::standard() })
}

/// A switch with so many slots; its memory for entries grows as it asks.
struct Switch {
    rules: Isolation,
    limit: Option<u32>,
    cft: Cft,
    slots: Vec<Slot>,
}

/// This switch's egress port 3, as a root.
const HERE: u32 = 0x0001_0003;
/// A port further down.
const BELOW: u32 = 0x0007_0001;

impl Switch {
    fn new(rules: Isolation, limit: Option<u32>) -> Self {
        Self { rules, limit, cft: Cft::new(), slots: Vec::new() }
    }

    fn claim(&mut self, claim: &Claim) -> Allocation {
        loop {
            match self.cft.allocate(&self.rules, &mut self.slots, self.limit, claim) {
                Allocation::Grow => self.slots.push(Slot::default()),
                other => return other,
            }
        }
    }

    /// A packet of `key` from ingress port `ingress` finds egress port 3 congested.
    fn detects(&mut self, key: Key, ingress: u16, now: Time) -> Allocation {
        let origin = Origin::Local;
        self.claim(&Claim { key, egress: 3, root: HERE, origin, ingress: Some(ingress), now })
    }

    /// A CIM for `key` comes in from the switch behind egress port 3.
    fn hears(&mut self, key: Key, now: Time) -> Allocation {
        self.claim(&Claim { key, egress: 3, root: BELOW, origin: Origin::Cim, ingress: None, now })
    }

    fn mirror(&mut self, at: usize, ingress: u16) -> bool {
        self.cft.mirror(&self.rules, &mut self.slots[at], ingress, self.limit)
    }

    fn look(&mut self, at: usize, now: Time, gate_closed: bool) -> Expiry {
        self.cft.expiry(&self.rules, &mut self.slots, at, now, gate_closed)
    }

    fn at(&self, key: Key) -> Option<usize> {
        self.cft.find(&self.slots, key)
    }
}

#[test]
fn ci_pays_two_slots_for_a_flow_and_one_more_for_each_further_ingress_port_it_comes_in_by() {
    let mut switch = Switch::new(ci(), Some(4));
    assert_eq!(switch.detects(7, 0, us(1)), Allocation::New(0));
    assert_eq!((switch.cft.used(), switch.cft.live()), (2, 1));
    assert!(switch.mirror(0, 0), "the mirror at the port of the first packet is paid for");
    assert!(switch.mirror(0, 1) && switch.mirror(0, 127));
    assert_eq!((switch.cft.used(), switch.slots[0].cost()), (4, 4));
    assert!(!switch.mirror(0, 2), "the fifth slot is not there: the packet stays in the NFQ");
    assert!(switch.mirror(0, 1), "what is paid is paid");
    assert_eq!((switch.cft.used(), switch.cft.unmirrored(), switch.cft.refusals()), (4, 1, 0));
    assert_eq!(switch.look(0, us(11), false), Expiry::Freed);
    assert_eq!((switch.cft.used(), switch.cft.live(), switch.cft.peak()), (0, 0, 4));
}

#[test]
fn a_cim_costs_ci_one_slot_and_the_mirror_only_when_a_packet_of_the_flow_comes() {
    let mut switch = Switch::new(ci(), Some(2));
    assert_eq!(switch.hears(7, us(1)), Allocation::New(0));
    assert_eq!(switch.cft.used(), 1);
    assert!(switch.mirror(0, 5));
    assert_eq!(switch.cft.used(), 2);
    assert_eq!(switch.hears(8, us(2)), Allocation::Refused);
}

#[test]
fn ici_pays_one_slot_for_a_flow_whatever_ports_it_comes_in_by() {
    let mut switch = Switch::new(ici(), Some(2));
    assert_eq!(switch.detects(7, 0, us(1)), Allocation::New(0));
    assert_eq!(switch.hears(8, us(1)), Allocation::New(1));
    assert!((0..200).all(|ingress| switch.mirror(0, ingress)));
    assert_eq!((switch.cft.used(), switch.cft.peak()), (2, 2));
}

#[test]
fn sixteen_sources_of_one_tree_fit_32_slots_and_those_of_four_destinations_do_not() {
    // One tree with 16 sources to a hot node, each source at a port of its own: 16 tuples. Each source to four hot nodes: 64.
    for (rules, one, four) in [(ci(), 16, 16), (ici(), 16, 32)] {
        for (destinations, fit) in [(1_u64, one), (4, four)] {
            let mut switch = Switch::new(rules, Some(32));
            let tuples = (0..destinations).flat_map(|to| (0..16).map(move |from| (from, from << 32 | to)));
            for (from, key) in tuples {
                switch.detects(key, from as u16, us(1));
            }
            let refused = destinations * 16 - fit;
            assert_eq!((u64::from(switch.cft.live()), switch.cft.refusals()), (fit, refused));
        }
    }
}

#[test]
fn a_table_of_no_slots_isolates_nobody_and_tells_that_it_refused() {
    for rules in [ci(), ici()] {
        let mut switch = Switch::new(rules, Some(0));
        assert_eq!(switch.cft.failed_at(), None);
        assert_eq!(switch.detects(7, 0, us(5)), Allocation::Refused);
        assert_eq!(switch.hears(7, us(6)), Allocation::Refused);
        assert_eq!(switch.cft.failed_at(), Some(us(6)));
        assert_eq!((switch.cft.refusals(), switch.cft.allocations(), switch.cft.used()), (2, 0, 0));
        assert!(switch.slots.is_empty(), "no memory is asked for");
    }
}

#[test]
fn a_table_of_one_slot_serves_one_flow_of_ici_at_a_time_and_of_ci_only_what_a_cim_names() {
    let mut switch = Switch::new(ici(), Some(1));
    assert_eq!(switch.detects(7, 0, us(0)), Allocation::New(0));
    assert_eq!(switch.detects(8, 0, us(1)), Allocation::Refused);
    assert_eq!(switch.look(0, us(10), false), Expiry::Freed);
    assert_eq!(switch.detects(8, 0, us(10)), Allocation::New(0));
    assert_eq!((switch.at(7), switch.at(8)), (None, Some(0)));

    let mut switch = Switch::new(ci(), Some(1));
    assert_eq!(switch.detects(7, 0, us(0)), Allocation::Refused);
    assert_eq!(switch.hears(7, us(0)), Allocation::New(0));
    assert!(!switch.mirror(0, 0), "an entry without a mirror: its packets stay where they are");
}

#[test]
fn an_unlimited_table_takes_every_flow_and_finds_each_again() {
    let mut switch = Switch::new(ici(), None);
    for key in 0..5_000 {
        assert_eq!(switch.detects(key * 64, 0, us(key)), Allocation::New(key as usize));
    }
    assert!((0..5_000).all(|key| switch.at(key * 64) == Some(key as usize)));
    assert_eq!(switch.at(1), None);
    assert_eq!((switch.cft.refusals(), switch.cft.peak()), (0, 5_000));
}

#[test]
fn the_first_cause_of_an_entry_stays() {
    let mut switch = Switch::new(ici(), Some(2));
    switch.hears(7, us(1));
    assert_eq!(switch.detects(7, 0, us(2)), Allocation::Known(0));
    let slot = switch.slots[0];
    assert_eq!((slot.origin(), slot.root(), slot.first()), (Origin::Cim, BELOW, us(1)));
    assert_eq!((switch.cft.used(), switch.cft.allocations()), (1, 1));
}

#[test]
fn an_entry_goes_when_its_last_packet_has_left_the_cfqs_for_10_us_and_not_before() {
    let mut switch = Switch::new(ici(), Some(1));
    switch.detects(7, 0, us(0));
    let first = switch.slots[0];
    assert_eq!(switch.cft.next_look(&switch.rules, &first), us(10));
    switch.slots[0].entered(us(3));
    switch.slots[0].entered(us(4));
    switch.slots[0].left(us(9));
    assert_eq!(switch.look(0, us(10), false), Expiry::LookAgain(us(20)), "a packet is in a CFQ");
    switch.slots[0].left(us(12));
    assert_eq!(switch.look(0, us(20), false), Expiry::LookAgain(us(22)), "10 us after the last one");
    assert_eq!(switch.look(0, us(22), true), Expiry::LookAgain(us(32)), "its CFQ is paused");
    assert_eq!(switch.look(0, us(32), false), Expiry::Freed);
    assert_eq!(switch.at(7), None);
    assert!(!switch.slots[0].is_live());
}

#[test]
fn a_flow_that_returns_is_new_without_history_and_counts_as_congesting_since_then_with_it() {
    for (rules, first) in [(ici(), 100), (with_history(), 0)] {
        let mut switch = Switch::new(rules, Some(1));
        switch.detects(7, 0, us(0));
        switch.look(0, us(10), false);
        switch.detects(7, 0, us(100));
        assert_eq!(switch.slots[0].first(), us(first));
        assert_eq!(switch.cft.used(), 1, "what is remembered takes no slot");
    }
}

#[test]
fn a_returning_flow_whose_root_was_further_down_is_not_blamed_on_this_switch() {
    let mut switch = Switch::new(with_history(), Some(1));
    switch.hears(7, us(0));
    switch.look(0, us(10), false);
    switch.detects(7, 0, us(100));
    assert_eq!((switch.slots[0].root(), switch.slots[0].origin()), (BELOW, Origin::Cim));

    // The other way round a CIM is news: the root has moved down, the flow is as old as it is.
    let mut switch = Switch::new(with_history(), Some(1));
    switch.detects(7, 0, us(0));
    switch.look(0, us(10), false);
    switch.hears(7, us(100));
    let slot = switch.slots[0];
    assert_eq!((slot.root(), slot.origin(), slot.first()), (BELOW, Origin::Cim, us(0)));
}

#[test]
fn a_released_flow_is_remembered_for_500_us_and_longer_only_if_it_returned() {
    let mut switch = Switch::new(with_history(), Some(1));
    switch.detects(7, 0, us(0));
    assert!(!switch.cft.remembers(7, us(5)), "it is not remembered while it has an entry");
    switch.look(0, us(10), false);
    assert!(switch.cft.remembers(7, us(509)) && !switch.cft.remembers(7, us(510)));
    switch.detects(7, 0, us(509));
    switch.look(0, us(519), false);
    assert!(switch.cft.remembers(7, us(1_018)));
    switch.detects(7, 0, us(1_018));
    assert_eq!(switch.slots[0].first(), us(0));
    switch.look(0, us(1_028), false);
    switch.detects(7, 0, us(1_528));
    assert_eq!(switch.slots[0].first(), us(1_528), "500 us after its release it is forgotten");
}

#[test]
fn of_65_released_flows_the_oldest_is_forgotten() {
    let mut switch = Switch::new(with_history(), None);
    for key in 0..65 {
        switch.detects(key, 0, us(key));
    }
    for key in 0..65 {
        assert_eq!(switch.look(key as usize, us(100 + key), false), Expiry::Freed);
    }
    assert!(!switch.cft.remembers(0, us(165)));
    assert!((1..65).all(|key| switch.cft.remembers(key, us(165))));
}

#[test]
fn a_refused_flow_is_still_remembered_when_there_is_room_again() {
    let mut switch = Switch::new(with_history(), Some(1));
    switch.detects(7, 0, us(0));
    switch.look(0, us(10), false);
    switch.detects(8, 0, us(20));
    assert_eq!(switch.detects(7, 0, us(25)), Allocation::Refused);
    switch.look(0, us(30), false);
    switch.detects(7, 0, us(40));
    assert_eq!(switch.slots[0].first(), us(0));
}
