//! Laws of the congested-flow table: whatever happens in whatever order, its books agree with a plain map's.
use std::collections::{BTreeMap, BTreeSet};

use backwater_control::isolation::{
    Allocation, Cft, CiConfig, Claim, Expiry, IciConfig, Isolation, Key, Origin, Slot,
};
use backwater_units::{Span, Time};
use proptest::prelude::*;

/// One thing that happens to a switch with eight ports.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// A packet at an ingress port gives cause for an entry.
    Detect(Key, u16),
    /// A CIM arrives.
    Cim(Key),
    /// A packet of the key comes in by a port and enters a CFQ if it may.
    Enter(Key, u16),
    /// A packet of the key leaves the CFQs.
    Leave(Key),
    /// The timer of an entry; whether its egress CFQ is paused.
    Look(Key, bool),
    /// Time passes.
    Wait(u64),
}

/// Twelve keys. The multiples of this number lie in one chain of the table: they are in each other's way.
const KEYS: [Key; 12] = {
    let chained = 0xF1DE_83E1_9937_733D_u64;
    let mut keys = [0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6];
    let mut at = 6;
    while at < 12 {
        keys[at] = chained.wrapping_mul(keys[at]);
        at += 1;
    }
    keys
};

fn act() -> impl Strategy<Value = Act> {
    let (key, port) = (prop::sample::select(&KEYS), 0..8_u16);
    prop_oneof![
        (key.clone(), port.clone()).prop_map(|(key, port)| Act::Detect(key, port)),
        key.clone().prop_map(Act::Cim),
        (key.clone(), port).prop_map(|(key, port)| Act::Enter(key, port)),
        key.clone().prop_map(Act::Leave),
        (key, any::<bool>()).prop_map(|(key, paused)| Act::Look(key, paused)),
        (1..8_u64).prop_map(Act::Wait),
    ]
}

fn rules() -> impl Strategy<Value = Isolation> {
    let history = Some(Span::from_us(50));
    prop_oneof![
        Just(Isolation::Ci(CiConfig::standard())),
        Just(Isolation::Ici(IciConfig::standard())),
        Just(Isolation::Ici(IciConfig { history, ..IciConfig::plus() })),
    ]
}

/// What a plain map knows of an entry.
struct Known {
    origin: Origin,
    mirrors: BTreeSet<u16>,
    in_cfq: u32,
    first: Time,
    last: Time,
}

/// Forgets nothing and does not care for speed. A ghost is (until, first, origin).
#[derive(Default)]
struct Naive {
    entries: BTreeMap<Key, Known>,
    ghosts: BTreeMap<Key, (Time, Time, Origin)>,
    refusals: u64,
    allocations: u64,
    peak: u32,
}

impl Naive {
    fn used(&self) -> u32 {
        self.entries.values().map(|known| 1 + known.mirrors.len() as u32).sum()
    }

    fn claim(&mut self, claim: &Claim, ci: bool, limit: Option<u32>) -> &'static str {
        if self.entries.contains_key(&claim.key) {
            return "known";
        }
        let mirrors: BTreeSet<u16> = claim.ingress.filter(|_| ci).into_iter().collect();
        if limit.is_some_and(|limit| self.used() + 1 + mirrors.len() as u32 > limit) {
            self.refusals += 1;
            return "refused";
        }
        let ghost = self.ghosts.remove(&claim.key).filter(|&(until, ..)| claim.now < until);
        let first = ghost.map_or(claim.now, |(_, first, _)| first);
        let origin = match (ghost, claim.origin) {
            (Some((_, _, origin)), Origin::Local) => origin,
            _ => claim.origin,
        };
        self.entries.insert(claim.key, Known { origin, mirrors, in_cfq: 0, first, last: claim.now });
        self.allocations += 1;
        self.peak = self.peak.max(self.used());
        "new"
    }
}

/// The table under test beside the map.
struct Both {
    rules: Isolation,
    limit: Option<u32>,
    cft: Cft,
    slots: Vec<Slot>,
    naive: Naive,
    now: Time,
}

impl Both {
    fn ci(&self) -> bool {
        matches!(self.rules, Isolation::Ci(_))
    }

    fn claim(&mut self, key: Key, origin: Origin, ingress: Option<u16>) {
        let claim = Claim { key, egress: 3, root: 9, origin, ingress, now: self.now };
        let outcome = loop {
            match self.cft.allocate(&self.rules, &mut self.slots, self.limit, &claim) {
                Allocation::Grow => self.slots.push(Slot::default()),
                Allocation::New(at) => break ("new", Some(at)),
                Allocation::Known(at) => break ("known", Some(at)),
                Allocation::Refused => break ("refused", None),
            }
        };
        let ci = self.ci();
        assert_eq!(outcome.0, self.naive.claim(&claim, ci, self.limit));
        assert_eq!(outcome.1, self.cft.find(&self.slots, key));
        let refused_now = outcome.0 == "refused";
        assert!(!refused_now || self.cft.failed_at() == Some(self.now));
    }

    fn enter(&mut self, key: Key, ingress: u16) {
        let Some(at) = self.cft.find(&self.slots, key) else { return };
        let may = self.cft.mirror(&self.rules, &mut self.slots[at], ingress, self.limit);
        let (ci, used) = (self.ci(), self.naive.used());
        let known = self.naive.entries.get_mut(&key).expect("both or none know the key");
        let room = self.limit.is_none_or(|limit| used < limit);
        assert_eq!(may, !ci || room || known.mirrors.contains(&ingress));
        if may {
            if ci {
                known.mirrors.insert(ingress);
            }
            (known.in_cfq, known.last) = (known.in_cfq + 1, self.now);
            self.slots[at].entered(self.now);
        }
        self.naive.peak = self.naive.peak.max(self.naive.used());
    }

    fn leave(&mut self, key: Key) {
        let Some(at) = self.cft.find(&self.slots, key) else { return };
        let known = self.naive.entries.get_mut(&key).expect("both or none know the key");
        if known.in_cfq > 0 {
            (known.in_cfq, known.last) = (known.in_cfq - 1, self.now);
            self.slots[at].left(self.now);
        }
    }

    fn look(&mut self, key: Key, paused: bool) {
        let Some(at) = self.cft.find(&self.slots, key) else { return };
        let known = &self.naive.entries[&key];
        let residency = self.rules.common().residency;
        let goes = known.in_cfq == 0 && !paused && self.now.since(known.last) >= residency;
        match self.cft.expiry(&self.rules, &mut self.slots, at, self.now, paused) {
            Expiry::LookAgain(then) => assert!(!goes && then > self.now),
            Expiry::Freed => {
                assert!(goes);
                let known = self.naive.entries.remove(&key).expect("it was found");
                if matches!(self.rules, Isolation::Ici(IciConfig { history: Some(_), .. })) {
                    let until = self.now + Span::from_us(50);
                    self.naive.ghosts.insert(key, (until, known.first, known.origin));
                }
            }
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Detect(key, port) => self.claim(key, Origin::Local, Some(port)),
            Act::Cim(key) => self.claim(key, Origin::Cim, None),
            Act::Enter(key, port) => self.enter(key, port),
            Act::Leave(key) => self.leave(key),
            Act::Look(key, paused) => self.look(key, paused),
            Act::Wait(us) => self.now += Span::from_us(us),
        }
    }

    /// The books of both say the same.
    fn agree(&self) {
        let live = || self.slots.iter().filter(|slot| slot.is_live());
        assert_eq!(self.cft.used(), live().map(Slot::cost).sum::<u32>());
        assert_eq!(self.cft.used(), self.naive.used());
        assert_eq!(self.cft.live() as usize, live().count());
        assert_eq!(live().count(), self.naive.entries.len());
        assert!(self.limit.is_none_or(|limit| self.cft.used() <= limit));
        for (&key, known) in &self.naive.entries {
            let slot = &self.slots[self.cft.find(&self.slots, key).expect("the map knows it")];
            assert_eq!((slot.key(), slot.origin(), slot.in_cfq()), (key, known.origin, known.in_cfq));
            assert_eq!((slot.first(), slot.last()), (known.first, known.last));
        }
        let counts = (self.cft.allocations(), self.cft.refusals(), self.cft.peak());
        assert_eq!(counts, (self.naive.allocations, self.naive.refusals, self.naive.peak));
        let remembered = |key| self.naive.ghosts.get(&key).is_some_and(|ghost| self.now < ghost.0);
        for key in KEYS {
            let alive = self.naive.entries.contains_key(&key);
            assert_eq!(self.cft.remembers(key, self.now), remembered(key) && !alive);
        }
    }

    /// The network drains: all packets leave, all gates open, all timers run until nothing is left.
    fn drain(&mut self) {
        for key in KEYS {
            while self.naive.entries.get(&key).is_some_and(|known| known.in_cfq > 0) {
                self.leave(key);
            }
        }
        self.now += self.rules.common().residency;
        for key in KEYS {
            self.look(key, false);
        }
    }
}

proptest! {
    #[test]
    fn the_books_of_a_table_agree_with_a_plain_map_and_nothing_is_left_when_the_network_has_drained(
        rules in rules(),
        limit in prop_oneof![Just(None), Just(Some(0)), Just(Some(1)), (2..12_u32).prop_map(Some)],
        script in prop::collection::vec(act(), 0..300),
    ) {
        let (cft, now) = (Cft::new(), Time::from_ps(1_000_000));
        let mut both = Both { rules, limit, cft, slots: Vec::new(), naive: Naive::default(), now };
        for act in script {
            both.act(act);
            both.agree();
        }
        both.drain();
        both.agree();
        assert_eq!((both.cft.used(), both.cft.live()), (0, 0));
        assert!(both.slots.iter().all(|slot| !slot.is_live() && slot.in_cfq() == 0));
    }

    #[test]
    fn an_entry_keeps_its_place_while_others_come_and_go(
        others in prop::collection::vec((100..140_u64, any::<bool>()), 1..200),
    ) {
        let (rules, mut cft, mut slots) = (Isolation::Ici(IciConfig::standard()), Cft::new(), vec![Slot::default(); 64]);
        let mut now = Time::from_ps(0);
        let claim = |key, now| Claim { key, egress: 3, root: 9, origin: Origin::Local, ingress: Some(0), now };
        for key in 0..20 {
            cft.allocate(&rules, &mut slots, None, &claim(key, now));
        }
        for (key, comes) in others {
            now += Span::from_us(10);
            if comes {
                cft.allocate(&rules, &mut slots, None, &claim(key, now));
            } else if let Some(at) = cft.find(&slots, key) {
                cft.expiry(&rules, &mut slots, at, now, false);
            }
            for key in 0..20 {
                prop_assert_eq!(cft.find(&slots, key), Some(key as usize));
            }
        }
    }
}
