//! What a throttled NIC sends, and when it looks again. Credits come first: what lacks them waits behind the gate of its class, as at
//! any NIC, and only what has them can be held by the throttle. Updates of credits are not held.
use backwater_engine::Post;

use super::{NEVER, Throttle};
use crate::ctx::Ctx;
use crate::nic::host::{Host, NIC};
use crate::packet::Packet;
use crate::world::World;

impl Throttle {
    /// Forgets what is held.
    fn let_go(&mut self) {
        (self.held_from, self.opens, self.stopped) = ([NEVER; 8], NEVER, 0);
    }

    /// A packet of a class, ready to leave at `ready`, is held until `opens`.
    fn hold(&mut self, class: u8, ready: u64, opens: u64) {
        self.held_from[usize::from(class)] = ready;
        self.opens = self.opens.min(opens);
        if opens == NEVER {
            self.stopped |= 1 << class;
        }
    }
}

impl Host {
    /// An update of a class has arrived: c is less, and the gate of the class may open.
    #[inline(never)]
    pub(crate) fn feed_throttle<P: Post<Packet>>(&mut self, class: u8, cx: &mut Ctx<'_, P>) {
        if let Some(throttle) = &mut self.throttle {
            throttle.on_credits(class, &mut self.ports, cx);
        }
        self.reopen(class, cx);
        self.send_next(cx);
    }

    /// Sends what an idle port may send now, and sets the wake for what comes after it.
    #[inline(never)]
    pub(crate) fn send_throttled<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        self.book_throttled(cx.now);
        if let Some(throttle) = &mut self.throttle {
            throttle.observe(&mut self.ports, cx);
        }
        let shut = self.shut(cx);
        // To whoever chooses what to send next, a class that is held looks like one whose gate is closed.
        let egress = &mut self.ports.egress[usize::from(NIC)];
        let held = shut & !egress.paused;
        egress.paused |= held;
        let sent = self.send_by_credit(cx);
        let egress = &mut self.ports.egress[usize::from(NIC)];
        egress.paused &= !held;
        let end = egress.busy_until;
        if let (Some((class, size)), Some(throttle)) = (sent, &mut self.throttle) {
            throttle.on_sent(class, size, end, &mut self.ports, cx);
        }
        self.rearm_throttled(cx.now, cx.world);
    }

    /// The classes that the throttle lets nothing leave of. The gates of those whose credits do not suffice either are closed.
    fn shut<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) -> u8 {
        let mut shut = 0;
        for class in 0..cx.world.classes.count {
            if self.throttle.as_mut().is_none_or(|throttle| throttle.opens(class, cx.now) <= cx.now) {
                continue;
            }
            shut |= 1 << class;
            if self.ports.egress[usize::from(NIC)].paused & (1 << class) == 0
                && let Some((ready, Some(size))) = self.head(class, cx.now, cx.now, cx.world)
                && ready <= cx.now
                && !self.ports.fits(NIC, class, size)
            {
                self.ports.close_gate(NIC, class, cx);
            }
        }
        shut
    }

    /// The first packet of a class: when it can leave a port that is free from `free` on, and its size if that is known by now.
    fn head(&mut self, class: u8, free: u64, now: u64, world: &World) -> Option<(u64, Option<u16>)> {
        if self.ports.egress[usize::from(NIC)].waiting & (1 << class) != 0 {
            return Some((free, Some(self.ports.first(NIC, class).size)));
        }
        let pair = self.due.next(1 << class, free);
        let pair = pair
            .map(|(_, due, pair)| (due.max(free), Some(self.senders[pair as usize].next_packet(world).2)));
        let put = match self.next_put(1 << class, now, world) {
            Ok(offer) => Some((free, Some(offer.size))),
            Err(NEVER) => None,
            Err(at) => Some((at.max(free), None)),
        };
        pair.into_iter().chain(put).min_by_key(|(ready, _)| *ready)
    }

    /// Sets the wake to the next instant at which the port can send something, or close a gate.
    fn rearm_throttled(&mut self, now: u64, world: &World) {
        let egress = &self.ports.egress[usize::from(NIC)];
        let (free, paused) = (egress.busy_until.max(now), egress.paused);
        let mut wake = if egress.owes_frame() { free } else { NEVER };
        if let Some(throttle) = &mut self.throttle {
            throttle.let_go();
        }
        for class in (0..world.classes.count).filter(|class| paused & (1 << class) == 0) {
            let Some((ready, size)) = self.head(class, free, now, world) else { continue };
            let Some(throttle) = &mut self.throttle else { continue };
            let opens = throttle.opens(class, now);
            if opens > ready && size.is_some_and(|size| self.ports.fits(NIC, class, size)) {
                throttle.hold(class, ready, opens);
                wake = wake.min(opens);
            } else {
                wake = wake.min(ready);
            }
        }
        if let Some(throttle) = &mut self.throttle {
            let first = throttle.held_from.iter().fold(NEVER, |first, from| first.min(*from));
            if let Some(sums) = &mut throttle.sums {
                sums.holds(first);
            }
        }
        match wake {
            NEVER => self.ports.clear_wake(NIC),
            wake => self.ports.set_wake(NIC, wake),
        }
    }

    /// Books for how long packets have been held: to the flows it is as if the gate of their class had been closed.
    pub(crate) fn book_throttled(&mut self, now: u64) {
        let Some(throttle) = &mut self.throttle else { return };
        for (class, from) in (0..).zip(&mut throttle.held_from) {
            if *from < now {
                self.ports.hold_back(NIC, class, now - *from);
                *from = now;
            }
        }
    }
}
