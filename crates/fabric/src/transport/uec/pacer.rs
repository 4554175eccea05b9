//! How a host gives credits to those that send to it: one pull after the other, as fast as its link takes what they bring.
use std::collections::VecDeque;

use backwater_control::uec::{Came, Oversubscribed, Pace};
use backwater_engine::{Stream, stream, uniform};
use backwater_units::Rate;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::packet::Packet;
use crate::spec::UecSpec;
use crate::transport::uec::incoming::Incoming;
use crate::world::World;

/// Purpose of the random streams by which hosts space their looks at what came.
const LOOKS: u64 = 0x7565_635f_6c6f_6f6b;

/// So many looks at nothing give a receiver its whole rate back, whatever was before: two for the marks, seven for the rate.
const MOST_QUIET: u32 = 32;

/// See the head of this file.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Pacer {
    /// Receivers that want credits, and those that may get some ahead, by slot.
    active: VecDeque<u32>,
    idle: VecDeque<u32>,
    /// A pull is due, or was less than its gap ago.
    runs: bool,
    /// What came since the last look; when the next one is due, and whether a timer is set for it.
    came: Came,
    due: u64,
    looks: bool,
    control: Oversubscribed,
    random: Stream,
}

impl Pacer {
    pub(crate) fn new(host: u32, world: &World) -> Self {
        Self {
            active: VecDeque::new(),
            idle: VecDeque::new(),
            runs: false,
            came: Came::default(),
            due: 0,
            looks: false,
            control: Oversubscribed::default(),
            random: stream(world.seed, LOOKS, host.into()),
        }
    }

    /// A receiver wants credits. Whether a pull is due at once.
    #[inline]
    pub(crate) fn ask(&mut self, slot: u32, incoming: &mut Incoming) -> bool {
        if incoming.active {
            return false;
        }
        incoming.active = true;
        self.active.push_back(slot);
        !std::mem::replace(&mut self.runs, true)
    }

    /// The next pull, if there is one, and the gap after it on a link of rate `link`. `ended`: who needs no credits ahead.
    pub(crate) fn pull(
        &mut self,
        incoming: &mut [Option<Box<Incoming>>],
        link: Rate,
        world: &World,
        ended: impl Fn(u32) -> bool,
    ) -> Option<(Packet, u64)> {
        let (slot, ahead) = loop {
            if let Some(slot) = self.active.pop_front() {
                break (slot, false);
            }
            let Some(slot) = self.idle.pop_front() else {
                self.runs = false;
                return None;
            };
            if !ended(slot) {
                break (slot, true);
            }
            of(incoming, slot).idle = false;
        };
        let incoming = of(incoming, slot);
        let spec = &world.uecs[usize::from(incoming.kind())];
        let (given, more, frame) = incoming.pull(ahead, spec);
        if ahead {
            incoming.idle = more;
            if more {
                self.idle.push_back(slot);
            }
        } else if incoming.owed() > 0 {
            self.active.push_back(slot);
        } else {
            incoming.active = false;
            if !std::mem::replace(&mut incoming.idle, true) {
                self.idle.push_back(slot);
            }
        }
        let credits = spec.credits.as_ref().expect("where pulls are asked for");
        let pace = Pace::new(&credits.config, link, credits.rate);
        Some((frame, pace.gap(&credits.config, given, self.control.rate())))
    }

    /// A frame has come, of a flow whose receiver looks at what comes. When it looks, if it was not to.
    pub(crate) fn count(&mut self, spec: &UecSpec, now: u64, count: impl FnOnce(&mut Came)) -> Option<u64> {
        let ratio = spec.credits.as_ref()?.oversubscribed?;
        self.came.frames += 1;
        count(&mut self.came);
        if std::mem::replace(&mut self.looks, true) {
            return None;
        }
        self.catch_up(spec, ratio, now);
        Some(self.due)
    }

    /// It looks from the start of the run on, as the simulator does (`oversubscribed_cc.cpp:30`). Looks at nothing are made up for when
    /// something comes: so flows that start together are looked at as early as there.
    fn catch_up(&mut self, spec: &UecSpec, ratio: f64, now: u64) {
        for _ in 0..MOST_QUIET {
            if self.due > now {
                return;
            }
            if self.due > 0 {
                self.control.judge(ratio, &Came::default());
            }
            self.due += self.interval(spec);
        }
        if self.due <= now {
            let within = uniform(&mut self.random) * self.interval(spec) as f64;
            self.due = now + 1 + within as u64;
        }
    }

    fn interval(&mut self, spec: &UecSpec) -> u64 {
        ((0.75 + uniform(&mut self.random) / 2.0) * 1.5 * spec.base.as_ps() as f64) as u64
    }

    /// It looks at what came. When it looks again; if nothing came, it rests.
    pub(crate) fn look(&mut self, spec: &UecSpec, now: u64) -> Option<u64> {
        let came = std::mem::take(&mut self.came);
        self.control.judge(spec.credits.as_ref()?.oversubscribed?, &came);
        self.due = now + self.interval(spec);
        self.looks = came.frames > 0;
        self.looks.then_some(self.due)
    }
}

fn of(incoming: &mut [Option<Box<Incoming>>], slot: u32) -> &mut Incoming {
    incoming[slot as usize].as_mut().expect("it has asked for credits")
}

#[cfg(test)]
mod tests {
    use backwater_control::uec::{CreditConfig, SpreadConfig, SpreadKind};
    use backwater_units::{Bytes, Span};

    use super::*;
    use crate::spec::UecCredits;

    /// 8192 hosts at 400 Gbps, four times as much capacity down as up.
    fn spec() -> UecSpec {
        let config = CreditConfig { quantum: 256, grant: 64, most: 625_284, mtu: 4150, speculates: true };
        UecSpec {
            delivery: backwater_control::uec::Delivery::Rud,
            window: None,
            credits: Some(UecCredits { config, rate: 0.99, oversubscribed: Some(4.0) }),
            base: Span::from_ns(8_337),
            pair: None,
            spread: SpreadConfig { kind: SpreadKind::Mixed, entropies: 32 },
            ack_bytes: 16_384,
            frame: Bytes::new(64),
            rto: Span::from_us(65),
            doubles: true,
            range: 1 << 14,
        }
    }

    fn pacer(host: u64) -> Pacer {
        Pacer {
            active: VecDeque::new(),
            idle: VecDeque::new(),
            runs: false,
            came: Came::default(),
            due: 0,
            looks: false,
            control: Oversubscribed::default(),
            random: stream(7, LOOKS, host),
        }
    }

    #[test]
    fn the_first_look_is_a_period_after_the_start_and_not_after_the_first_frame() {
        // 1.5 round trips, a quarter more or less: 9.379 to 15.632 us; the first frame comes after 4.167 us.
        for host in 0..50 {
            let (spec, first) = (spec(), 4_167_000);
            let at = pacer(host).count(&spec, first, |_| ()).expect("it was not to look");
            assert!((9_379_000..15_632_000).contains(&at), "{at}");
        }
    }

    #[test]
    fn what_was_trimmed_is_forgotten_over_a_long_rest_and_the_next_look_is_within_a_period() {
        let (spec, mut pacer) = (spec(), pacer(1));
        let trimmed = |came: &mut Came| came.trimmed_before += 1;
        let mut at = pacer.count(&spec, 4_167_000, trimmed).expect("it was not to look");
        assert_eq!(pacer.count(&spec, 4_200_000, |_| ()), None, "it is to look already");
        while let Some(next) = pacer.look(&spec, at) {
            at = next;
        }
        // Half of two frames was trimmed, and one period without a frame has given 0.01 back.
        assert!((pacer.control.rate() - 0.51).abs() < 1e-9);
        let late = at + 1_000_000_000_000;
        let due = pacer.count(&spec, late, |_| ()).expect("it rested");
        assert!(due > late && due <= late + 15_633_000, "{}", due - late);
        assert!((pacer.control.rate() - 1.0).abs() < 1e-9);
    }
}
