//! The buffer that one flow needs to hold line rate, against a link played packet by packet in exact time.
use std::collections::VecDeque;

use backwater_control::flow_control::{
    CreditReceiver, CreditReturn, CreditSender, Unit, feasibility, longest_period,
};
use backwater_units::{Bytes, Rate, Span};
use proptest::prelude::*;

/// A byte takes so many picoseconds, so that all times are whole.
const BYTE: u64 = 250;
const RATE: Rate = Rate::from_gbps(32);
const FRAME: u64 = 8;

/// Sizes in bytes, times in ps.
#[derive(Clone, Copy, Debug)]
struct Link {
    mtu: u64,
    delay: u64,
    period: u64,
    phase: u64,
    unit: Unit,
}

impl Link {
    const fn packet(&self) -> u64 {
        self.mtu * BYTE
    }

    fn needed(&self) -> Bytes {
        let returned = CreditReturn::Periodic(Span::from_ps(self.period));
        let (delay, mtu) = (Span::from_ps(self.delay), Bytes::new(self.mtu));
        feasibility(RATE, delay, returned, mtu, Bytes::new(FRAME), self.unit).needed
    }

    /// Packets of a flow at line rate within a few periods.
    fn rounds(&self) -> usize {
        (5 * (self.period + 2 * self.delay) / self.packet()) as usize + 100
    }

    /// When each packet of a flow starts that sends whenever it may, through a store-and-forward switch whose output is free.
    /// An update waits for `waits` of the packet on its wire.
    fn starts(&self, buffer: Bytes, packets: usize, mut waits: impl FnMut() -> f64) -> Vec<u64> {
        let buffer = self.unit.within(buffer) as u32;
        let (mut up, mut down) = (CreditSender::new(buffer), CreditReceiver::new(buffer));
        let packet = self.unit.count(self.mtu as u32);
        let (mut starts, mut idle) = (Vec::new(), 0);
        // When what is in the next switch has left it, and (arrival, FCCL) of updates on their way.
        let (mut leaving, mut updates) = (VecDeque::new(), VecDeque::new());
        let mut due = self.phase;
        while starts.len() < packets {
            // Every update that is composed before one could arrive by now, in order.
            while due <= idle {
                let at = due + (waits().clamp(0.0, 1.0) * self.packet() as f64) as u64;
                while leaving.front().is_some_and(|&left| left < at) {
                    leaving.pop_front();
                    down.on_arrival(packet);
                    down.on_freed(packet);
                }
                updates.push_back((at + FRAME * BYTE + self.delay, down.fccl()));
                due += self.period;
            }
            // A start at the instant at which an update arrives does not know it yet.
            while updates.front().is_some_and(|&(at, _)| at < idle) {
                up.on_update(updates.pop_front().expect("there is one").1);
            }
            if !up.fits(packet) {
                idle = updates.front().map_or(due, |&(at, _)| at) + 1;
                continue;
            }
            up.on_sent(packet);
            starts.push(idle);
            leaving.push_back(idle + self.delay + 2 * self.packet());
            idle += self.packet();
        }
        starts
    }
}

fn link() -> impl Strategy<Value = Link> {
    let mtu = prop_oneof![Just(2_048_u64), 64..5_000_u64];
    let unit = prop_oneof![Just(Unit::BLOCK), Just(Unit::FLIT)];
    let times = (0..5_000_000_u64, 1_000..60_000_000_u64, 0.0..1.0_f64);
    (mtu, times, unit).prop_map(|(mtu, (delay, period, share), unit)| Link {
        mtu,
        delay,
        period: period.max(FRAME * BYTE + mtu * BYTE),
        phase: (share * period as f64) as u64,
        unit,
    })
}

fn at_line_rate(starts: &[u64], link: &Link) -> bool {
    starts.windows(2).all(|pair| pair[1] - pair[0] == link.packet())
}

proptest! {
    #[test]
    fn with_the_buffer_that_is_asked_for_one_flow_holds_line_rate_in_any_phase(
        link in link(),
        waits in prop::collection::vec(0.0..=1.0_f64, 1..50),
    ) {
        let mut next = waits.iter().cycle();
        let starts = link.starts(link.needed(), link.rounds(), || *next.next().expect("a cycle has no end"));
        prop_assert!(at_line_rate(&starts, &link));
    }

    #[test]
    fn a_period_is_allowed_exactly_if_its_buffer_is(
        link in link(),
        buffer in 64..2_000_000_u64,
    ) {
        let (delay, buffer) = (Span::from_ps(link.delay), Bytes::new(buffer));
        let (mtu, frame) = (Bytes::new(link.mtu), Bytes::new(FRAME));
        let needed = |period| {
            feasibility(RATE, delay, CreditReturn::Periodic(period), mtu, frame, link.unit).needed
        };
        match longest_period(RATE, delay, buffer, mtu, frame, link.unit) {
            Some(longest) => {
                prop_assert!(needed(longest) <= buffer);
                prop_assert!(needed(longest + Span::from_ps(1)) > buffer);
            }
            None => prop_assert!(needed(Span::ZERO) > buffer),
        }
    }

    #[test]
    fn a_buffer_of_what_is_sent_in_tc_alone_starves_the_flow(link in link()) {
        // TCD §4.4 asks for more than C·Tc; what is on the cable comes on top.
        let buffer = Bytes::new(link.period / BYTE);
        prop_assume!(link.unit.within(buffer) >= u64::from(link.unit.count(link.mtu as u32)));
        let starts = link.starts(buffer, link.rounds(), || 0.0);
        prop_assert!(!at_line_rate(&starts, &link));
    }
}

#[test]
fn the_bound_is_reached_in_the_worst_phase() {
    // Packets of 2 048 B, a cable of two packets each way, Tc of ten. An update leaves at once, the next one waits for a packet;
    // 10 + 4 + 3 packets, and 24 B of updates: 17, and the one that starts.
    let packet = 2_048 * BYTE;
    let link = Link { mtu: 2_048, delay: 2 * packet, period: 10 * packet, phase: 0, unit: Unit::BLOCK };
    assert_eq!(link.needed().get(), 18 * 2_048);
    let starves = |packets: u64, phase: u64| {
        let mut waiting = true;
        let link = Link { phase, ..link };
        let starts = link.starts(Bytes::new(packets * 2_048), link.rounds(), || {
            waiting = !waiting;
            f64::from(u8::from(waiting))
        });
        !at_line_rate(&starts, &link)
    };
    let worst = |packets| (0..40).any(|quarter| starves(packets, quarter * packet / 4));
    assert!(!worst(18));
    assert!(worst(17));
}
