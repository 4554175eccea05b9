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

/// See the head of this file.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Pacer {
    /// Receivers that want credits, and those that may get some ahead, by slot.
    active: VecDeque<u32>,
    idle: VecDeque<u32>,
    /// A pull is due, or was less than its gap ago.
    runs: bool,
    /// What came since the last look; whether a look is due.
    came: Came,
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
    pub(crate) fn count(&mut self, spec: &UecSpec, count: impl FnOnce(&mut Came)) -> Option<u64> {
        spec.credits.as_ref()?.oversubscribed?;
        self.came.frames += 1;
        count(&mut self.came);
        (!std::mem::replace(&mut self.looks, true)).then(|| self.interval(spec))
    }

    fn interval(&mut self, spec: &UecSpec) -> u64 {
        ((0.75 + uniform(&mut self.random) / 2.0) * 1.5 * spec.base.as_ps() as f64) as u64
    }

    /// It looks at what came. After how long it looks again; if nothing came, it rests.
    pub(crate) fn look(&mut self, spec: &UecSpec) -> Option<u64> {
        let came = std::mem::take(&mut self.came);
        self.control.judge(spec.credits.as_ref()?.oversubscribed?, &came);
        self.looks = came.frames > 0;
        self.looks.then(|| self.interval(spec))
    }
}

fn of(incoming: &mut [Option<Box<Incoming>>], slot: u32) -> &mut Incoming {
    incoming[slot as usize].as_mut().expect("it has asked for credits")
}
