//! The registers of CBFC, number by number, on a link with a buffer of 8 blocks; and on any link, whatever is lost.
use std::collections::VecDeque;

use backwater_control::flow_control::{CreditReceiver, CreditSender, Unit};
use proptest::prelude::*;

/// Blocks of a packet.
const fn blocks(bytes: u32) -> u32 {
    Unit::BLOCK.count(bytes)
}

/// FCTBS, FCCL, credits of the sender; ABR, held, FCCL of the receiver.
fn registers(sender: CreditSender, receiver: &CreditReceiver) -> [u32; 6] {
    [sender.fctbs(), sender.fccl(), sender.credits(), receiver.abr(), receiver.held(), receiver.fccl()]
}

#[test]
fn the_registers_of_a_link_on_which_nothing_is_lost() {
    let (mut up, mut down) = (CreditSender::new(8), CreditReceiver::new(8));
    assert_eq!(registers(up, &down), [0, 8, 8, 0, 0, 8]);
    up.on_sent(3);
    assert_eq!(registers(up, &down), [3, 8, 5, 0, 0, 8]);
    assert!(down.on_arrival(3));
    // What arrived is no longer free: FCCL stays.
    assert_eq!(registers(up, &down), [3, 8, 5, 3, 3, 8]);
    // 129 B are three blocks.
    up.on_sent(blocks(129));
    assert!(down.on_arrival(blocks(129)));
    assert_eq!(registers(up, &down), [6, 8, 2, 6, 6, 8]);
    assert!(up.fits(blocks(128)) && !up.fits(blocks(129)));
    down.on_freed(3);
    // The sender does not know it yet.
    assert_eq!(registers(up, &down), [6, 8, 2, 6, 3, 11]);
    up.on_update(down.grant());
    assert_eq!((registers(up, &down), down.granted()), ([6, 11, 5, 6, 3, 11], 11));
    up.on_sent(5);
    assert_eq!(registers(up, &down), [11, 11, 0, 6, 3, 11]);
    assert!(!up.fits(1) && down.on_arrival(5));
    assert_eq!((registers(up, &down), down.held(), down.buffer()), ([11, 11, 0, 11, 8, 11], 8, 8));
}

#[test]
fn a_lost_update_is_made_up_for_by_the_next() {
    let (mut up, mut down) = (CreditSender::new(8), CreditReceiver::new(8));
    up.on_sent(8);
    down.on_arrival(8);
    down.on_freed(2);
    assert_eq!(down.grant(), 10);
    down.on_freed(3);
    // 10 was lost; 13 holds the two and the three.
    up.on_update(down.grant());
    assert_eq!(registers(up, &down), [8, 13, 5, 8, 3, 13]);
}

#[test]
fn blocks_of_a_lost_packet_come_back_with_the_senders_next_update() {
    let (mut up, mut down) = (CreditSender::new(8), CreditReceiver::new(8));
    up.on_sent(3);
    up.on_sent(2);
    // The packet of three was lost on the wire.
    down.on_arrival(2);
    up.on_update(down.grant());
    // Eight are free less two held, but the sender is three short for ever ...
    assert_eq!(registers(up, &down), [5, 8, 3, 2, 2, 8]);
    // ... until FCTBS tells how much there was.
    down.resynchronise(up.fctbs());
    up.on_update(down.grant());
    assert_eq!(registers(up, &down), [5, 11, 6, 5, 2, 11]);
}

#[test]
fn a_packet_beyond_the_buffer_is_reported_and_grants_nothing() {
    let mut down = CreditReceiver::new(8);
    assert!(down.on_arrival(8));
    assert!(!down.on_arrival(1));
    // ABR 9, nothing free.
    assert_eq!(down.fccl(), 9);
}

/// What happens on the link.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A packet of so many bytes starts if it fits.
    Send(u32),
    /// FCTBS is sent to the receiver.
    TellSent,
    /// The first thing on the wire downstream arrives.
    Arrive,
    /// It is lost.
    Lose,
    /// The packet at this place of the buffer leaves it.
    Free(usize),
    /// FCCL is sent to the sender.
    Grant,
    /// The first update on the wire upstream arrives.
    Granted,
    /// It is lost.
    LoseGrant,
}

/// On the wire downstream.
#[derive(Clone, Copy, Debug)]
enum Thing {
    Packet(u32),
    Fctbs(u32),
}

/// A link whose sender, receiver and both wires can be looked into.
struct Link {
    up: CreditSender,
    down: CreditReceiver,
    wire: VecDeque<Thing>,
    back: VecDeque<u32>,
    buffer: Vec<u32>,
    /// Blocks sent in all, without wrap-around.
    sent: u64,
}

impl Link {
    fn new(blocks: u32) -> Self {
        let (up, down) = (CreditSender::new(blocks), CreditReceiver::new(blocks));
        Self { up, down, wire: VecDeque::new(), back: VecDeque::new(), buffer: Vec::new(), sent: 0 }
    }

    fn in_flight(&self) -> u32 {
        self.wire.iter().map(|thing| if let Thing::Packet(bytes) = thing { blocks(*bytes) } else { 0 }).sum()
    }

    fn arrive(&mut self) {
        match self.wire.pop_front() {
            Some(Thing::Packet(bytes)) => {
                assert!(self.down.on_arrival(blocks(bytes)), "the buffer overflowed");
                self.buffer.push(bytes);
            }
            Some(Thing::Fctbs(fctbs)) => self.down.resynchronise(fctbs),
            None => {}
        }
    }

    /// `packets`: whether packets may be lost as well.
    fn play(&mut self, event: Event, packets: bool) {
        match event {
            Event::Send(bytes) => {
                if self.up.fits(blocks(bytes)) {
                    self.up.on_sent(blocks(bytes));
                    self.sent += u64::from(blocks(bytes));
                    self.wire.push_back(Thing::Packet(bytes));
                }
            }
            Event::TellSent => self.wire.push_back(Thing::Fctbs(self.up.fctbs())),
            Event::Arrive => self.arrive(),
            Event::Lose => match self.wire.front() {
                Some(Thing::Packet(_)) if !packets => self.arrive(),
                _ => drop(self.wire.pop_front()),
            },
            Event::Free(at) => {
                if !self.buffer.is_empty() {
                    let bytes = self.buffer.remove(at % self.buffer.len());
                    self.down.on_freed(blocks(bytes));
                }
            }
            Event::Grant => self.back.push_back(self.down.grant()),
            Event::Granted => {
                if let Some(fccl) = self.back.pop_front() {
                    self.up.on_update(fccl);
                }
            }
            Event::LoseGrant => drop(self.back.pop_front()),
        }
    }

    /// Whatever is known to be sent, held or on its way is within the buffer.
    fn check(&self) {
        let held: u32 = self.buffer.iter().copied().map(blocks).sum();
        assert_eq!(self.down.held(), held);
        assert!(self.up.credits() <= self.down.buffer());
        assert!(self.up.credits() + self.in_flight() + held <= self.down.buffer());
        assert_eq!(self.up.fctbs(), self.sent as u32);
    }

    /// All that is on the wires arrives; then one update each way does.
    fn settle(&mut self) {
        while !self.wire.is_empty() {
            self.arrive();
        }
        self.back.clear();
        self.play(Event::TellSent, false);
        self.arrive();
        self.play(Event::Grant, false);
        self.play(Event::Granted, false);
    }
}

fn event(most: u32) -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..most).prop_map(move |below| Event::Send(most - below)),
        1 => Just(Event::TellSent),
        5 => Just(Event::Arrive),
        1 => Just(Event::Lose),
        4 => any::<usize>().prop_map(Event::Free),
        2 => Just(Event::Grant),
        2 => Just(Event::Granted),
        1 => Just(Event::LoseGrant),
    ]
}

proptest! {
    #[test]
    fn whatever_updates_are_lost_credits_never_exceed_the_room_and_one_update_restores_them(
        buffer in 1..200_u32,
        packets_too in any::<bool>(),
        events in prop::collection::vec(event(4_096), 1..400),
    ) {
        let mut link = Link::new(buffer);
        for event in events {
            link.play(event, packets_too);
            link.check();
        }
        link.settle();
        link.check();
        // FCCL − FCTBS is what is free; nothing is in flight.
        prop_assert_eq!(link.up.credits(), buffer - link.down.held());
    }

    #[test]
    fn with_updates_on_the_wire_fccl_less_fctbs_is_what_is_free_less_what_is_in_flight(
        buffer in 1..200_u32,
        events in prop::collection::vec(event(4_096), 1..400),
        last in prop::collection::vec((1..4_096_u32).prop_map(Event::Send), 0..10),
    ) {
        let mut link = Link::new(buffer);
        for event in events {
            link.play(event, false);
        }
        // Losses stop, the next update arrives, and more packets start.
        link.back.clear();
        link.play(Event::Grant, false);
        link.play(Event::Granted, false);
        for event in last {
            link.play(event, false);
            prop_assert_eq!(link.up.credits(), buffer - link.down.held() - link.in_flight());
        }
    }

    #[test]
    fn a_link_goes_on_as_before_when_its_counters_pass_2_to_the_32(
        events in prop::collection::vec(event(u32::MAX), 500..1_000),
    ) {
        // Packets of up to 2²⁶ blocks in a buffer of 2³⁰, so that hundreds of them wrap the counters.
        let buffer = 1 << 30;
        let mut link = Link::new(buffer);
        for event in events {
            link.play(event, false);
            link.check();
        }
        while link.sent < 3 << 32 {
            link.settle();
            while !link.buffer.is_empty() {
                link.play(Event::Free(0), false);
            }
            link.settle();
            prop_assert_eq!(link.up.credits(), buffer);
            while link.up.fits(blocks(u32::MAX)) {
                link.play(Event::Send(u32::MAX), false);
                link.play(Event::Arrive, false);
            }
            link.check();
        }
        link.settle();
        prop_assert_eq!(link.up.credits(), buffer - link.down.held());
    }
}
