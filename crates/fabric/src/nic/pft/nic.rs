//! What a throttled NIC sends, and when it looks again. Credits come first: what lacks them waits behind the gate of its class, as at
//! any NIC, and only what has them can be held by the throttle. Updates of credits are not held.
use backwater_engine::Post;

use super::{NEVER, Throttle};
use crate::ctx::Ctx;
use crate::link::gates::Opens;
use crate::nic::host::Host;
use crate::nic::nics::{Nics, throttle_among};
use crate::packet::Packet;
use crate::world::World;

impl Throttle {
    /// Forgets what is held.
    fn let_go(&mut self) {
        if self.holds() {
            (self.held_from, self.opens, self.stopped) = ([NEVER; 8], NEVER, 0);
        }
    }

    /// Whether anything is held.
    const fn holds(&self) -> bool {
        self.opens != NEVER || self.stopped != 0
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

impl<N: Nics> Host<N> {
    /// The classes that the throttle holds now. The gates of those whose credits do not suffice either are closed: lacking credits is
    /// the reason that counts.
    pub(crate) fn held<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) -> u8 {
        let nic = self.nic();
        self.book_at_port(cx.now);
        let Some(throttle) = throttle_among(&mut self.throttle, &mut self.nics) else { return 0 };
        throttle.observe(&mut self.ports, cx);
        let held = throttle.closed(cx.world.classes.count, cx.now);
        let mut classes = held & self.waiting(cx.world.classes.count) & !self.ports.egress(nic).paused();
        while classes != 0 {
            let class = classes.trailing_zeros() as u8;
            classes &= classes - 1;
            if let Some(offer) = self.peek(1 << class, cx.now, cx.now, cx.world)
                && offer.ready <= cx.now
                && let Some(size) = self.size(&offer, cx.world)
                && !self.ports.fits(nic, class, size)
            {
                self.ports.close_gate(nic, class, cx);
            }
        }
        held
    }

    /// A frame has started to leave: the gap after it begins.
    pub(crate) fn throttle_sent<P: Post<Packet>>(&mut self, class: u8, size: u16, cx: &mut Ctx<'_, P>) {
        let end = self.ports.egress(self.nic()).busy_until();
        if let Some(throttle) = throttle_among(&mut self.throttle, &mut self.nics) {
            throttle.on_sent(class, size, end, &mut self.ports, cx);
        }
    }

    /// Sets the wake to the next instant at which the port can send something, or close a gate.
    pub(crate) fn rearm_throttled(&mut self, now: u64, world: &World) {
        let nic = self.nic();
        let egress = self.ports.egress(nic);
        let (free, paused) = (egress.busy_until().max(now), egress.paused());
        let mut wake = if egress.owes_frame() { free } else { NEVER };
        if let Some(throttle) = throttle_among(&mut self.throttle, &mut self.nics) {
            throttle.let_go();
        }
        let mut classes = self.waiting(world.classes.count) & !paused;
        while classes != 0 {
            let class = classes.trailing_zeros() as u8;
            classes &= classes - 1;
            let Some(offer) = self.peek(1 << class, free, now, world) else { continue };
            let (ready, size) = (offer.ready.max(free), self.size(&offer, world));
            let Some(throttle) = throttle_among(&mut self.throttle, &mut self.nics) else { continue };
            let opens = match throttle.opens(class, now) {
                Opens::Now => now,
                Opens::At(time) => time,
                Opens::WhenTold => NEVER,
            };
            if opens > ready && size.is_some_and(|size| self.ports.fits(nic, class, size)) {
                throttle.hold(class, ready, opens);
                wake = wake.min(opens);
            } else {
                wake = wake.min(ready);
            }
        }
        if let Some(throttle) = throttle_among(&mut self.throttle, &mut self.nics)
            && let Some(sums) = &mut throttle.sums
        {
            sums.holds(throttle.held_from.iter().fold(NEVER, |first, from| first.min(*from)));
        }
        match wake {
            NEVER => self.ports.clear_wake(nic),
            wake => self.ports.set_wake(nic, wake),
        }
    }

    /// Books for how long packets have been held: to the flows it is as if the gate of their class had been closed.
    pub(crate) fn book_throttled(&mut self, now: u64) {
        if self.throttle.is_some() {
            self.at_each_port(|host| host.book_at_port(now));
        }
    }

    /// The same at the present port.
    fn book_at_port(&mut self, now: u64) {
        let nic = self.nic();
        let throttle = throttle_among(&mut self.throttle, &mut self.nics);
        let Some(throttle) = throttle.filter(|throttle| throttle.holds()) else { return };
        for (class, from) in (0..).zip(&mut throttle.held_from) {
            if *from < now {
                self.ports.hold_back(nic, class, now - *from);
                *from = now;
            }
        }
    }
}
