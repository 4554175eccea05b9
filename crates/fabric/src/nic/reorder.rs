//! Receivers of a fabric that spreads packets of one flow over several ways, or of flows with selective repeat: NICs that keep what
//! comes early until what was sent before it is there, whatever the distance (as the bitmap of IRN does, Mittal et al., SIGCOMM 2018,
//! with a window without limit).
use std::collections::BTreeMap;

use backwater_control::notify::Action;
use backwater_engine::Post;
use backwater_units::Time;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::extensions::Extensions;
use crate::link::ports::Purpose;
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::packet::{LAST, Packet};

/// What a host keeps of its flows.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Reorder {
    /// By receiver and number.
    early: BTreeMap<(u32, u32), Packet>,
    /// By receiver.
    counts: Vec<Counts>,
}

/// How a flow was reordered.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Counts {
    /// Packets that came before one that was sent earlier.
    pub(crate) early: u32,
    /// The most that waited for such a packet at a time.
    pub(crate) most: u32,
    waiting: u32,
    /// Number of the latest packet of the flow that came early, and when it did.
    latest: (u32, u64),
}

impl Counts {
    /// How long the last packet of a flow of so many, which was complete at `finish`, waited for others.
    pub(crate) fn last_waited(&self, packets: u32, finish: u64) -> u64 {
        let (number, came) = self.latest;
        if self.early > 0 && number + 1 == packets { finish.saturating_sub(came) } else { 0 }
    }
}

/// The last packet of a message tells what it ends and has no room for all of its number: that travels beside it.
#[cold]
pub(crate) fn put_number(last: &Packet, number: u32, extensions: &mut Extensions) {
    extensions.append(last, &number.to_le_bytes());
}

impl Reorder {
    pub(crate) fn new(receivers: usize) -> Self {
        Self { early: BTreeMap::new(), counts: vec![Counts::default(); receivers] }
    }

    /// There is one more receiver, after all others.
    pub(crate) fn add(&mut self) {
        self.counts.push(Counts::default());
    }

    pub(crate) fn counts(&self, slot: u32) -> Counts {
        self.counts[slot as usize]
    }

    /// Whether a packet is kept.
    pub(super) fn holds(&self, slot: u32, number: u32) -> bool {
        self.counts[slot as usize].waiting > 0 && self.early.contains_key(&(slot, number))
    }

    /// Whether anything of a queue pair is kept.
    pub(super) fn keeps_any(&self, slot: u32) -> bool {
        self.counts[slot as usize].waiting > 0
    }

    /// Keeps a packet of the receiver `of`, whose queue pair has the number `slot` here: that of its first message.
    pub(super) fn keep(&mut self, (slot, of): (u32, u32), number: u32, packet: &Packet) {
        self.counts[slot as usize].waiting += 1;
        let waiting = self.counts[slot as usize].waiting;
        let counts = &mut self.counts[of as usize];
        counts.early += 1;
        counts.most = counts.most.max(waiting);
        counts.latest = counts.latest.max((packet.number(), packet.time));
        self.early.insert((slot, number), *packet);
    }

    /// All that is kept.
    pub(super) fn kept(&self) -> impl Iterator<Item = &Packet> {
        self.early.values()
    }

    pub(super) fn take(&mut self, slot: u32, number: u32) -> Option<Packet> {
        let counts = &mut self.counts[slot as usize];
        if counts.waiting == 0 {
            return None;
        }
        let packet = self.early.remove(&(slot, number))?;
        counts.waiting -= 1;
        Some(packet)
    }
}

impl<N: Nics> Host<N> {
    /// Data that does not simply go on: of a host that is slow, or that sorts.
    #[cold]
    #[inline(never)]
    pub(crate) fn detour<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        if self.endpoint.is_some() {
            self.enter(packet, cx);
        } else {
            self.sort_in(packet, cx);
        }
    }

    /// Before data comes in at such a host: false if it is lost there.
    #[inline]
    pub(crate) fn before_data<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) -> bool {
        if self.endpoint.is_some() {
            self.drain_due(cx);
            return !cx.world.is_watched || !self.overruns(packet, cx);
        }
        if self.ports.has_credits() {
            self.ports.consume(packet);
        }
        true
    }

    /// A data packet has come in: it is dealt with, and what came early and was waiting for it; or it waits itself.
    #[inline(never)]
    pub(crate) fn sort_in<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let slot = cx.world.receiver_slot[packet.flow as usize];
        let number = if self.receivers[slot as usize].has_messages() && packet.seq & LAST != 0 {
            let beside = self.ports.extensions_mut().take(packet);
            let number = beside.and_then(|it| it.bytes().try_into().ok()).map(u32::from_le_bytes);
            // One whose number does not travel with it comes in its order.
            number.unwrap_or_else(|| self.receivers[slot as usize].packets())
        } else {
            packet.number()
        };
        let kind = self.receivers[slot as usize].kind();
        if let (Some(_), Some(spec)) = (&self.responders, &cx.world.pairs[usize::from(kind)].reliable) {
            return self.take_reliably(slot, packet, number, spec, cx);
        }
        if self.reorder.is_some() && number > self.receivers[slot as usize].packets() {
            self.notify_early(slot, packet, cx);
            self.reorder.as_mut().expect("just seen").keep((slot, slot), number, packet);
            return;
        }
        self.on_data(packet, cx);
        let now = packet.time;
        while let Some(reorder) = &mut self.reorder
            && let Some(next) = reorder.take(slot, self.receivers[slot as usize].packets())
        {
            self.on_early_data(&Packet { time: now, ..next }, false, cx);
        }
    }

    /// A mark is answered when it comes, not when its packet's turn has come.
    pub(super) fn notify_early<P: Post<Packet>>(&mut self, slot: u32, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let nic = self.nic();
        let receiver = &self.receivers[slot as usize];
        let (kind, notes) = (receiver.kind(), receiver.notes());
        let Some(config) = &cx.world.pairs[usize::from(kind)].notify else { return };
        let now = packet.time;
        match self.notifiers[notes as usize].on_packet(
            config,
            Time::from_ps(now),
            packet.code,
            packet.size.into(),
        ) {
            Action::Nothing => {}
            Action::Send(code) => self.send_cnp(packet.flow, kind, code, 0, cx),
            Action::Arm(at) => self.ports.set_timer(at.as_ps(), nic, Purpose::Notify, slot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_early_is_counted_and_given_back_in_order() {
        let mut reorder = Reorder::new(2);
        let packet = |seq| Packet { seq, ..Packet::NONE };
        for seq in [3, 1, 2] {
            reorder.keep((1, 1), seq, &packet(seq));
        }
        assert!(reorder.take(0, 1).is_none() && reorder.take(1, 0).is_none());
        let given: Vec<u32> = (1..5).map_while(|number| reorder.take(1, number)).map(|p| p.seq).collect();
        assert_eq!(given, [1, 2, 3]);
        reorder.keep((1, 1), 9, &packet(9));
        let counts = reorder.counts(1);
        assert_eq!((counts.early, counts.most, counts.waiting), (4, 3, 1));
    }

    #[test]
    fn the_last_packet_waits_until_the_flow_is_complete_if_it_came_early() {
        let mut reorder = Reorder::new(1);
        for (seq, time) in [(3, 700), (2, 800), (1, 900)] {
            reorder.keep((0, 0), seq, &Packet { time, seq, ..Packet::NONE });
        }
        // Number 0 comes at 1000; of five packets the last one is number 4, which came in its turn.
        assert_eq!(reorder.counts(0).last_waited(4, 1000), 300);
        assert_eq!(reorder.counts(0).last_waited(5, 1000), 0);
        assert_eq!(Counts::default().last_waited(1, 1000), 0);
    }
}
