//! What a throttle did, summed up over sampling periods.
use backwater_engine::Post;
use backwater_units::{Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use super::NEVER;
use crate::ctx::Ctx;
use crate::link::ports::Ports;
use crate::packet::Packet;
use crate::record::ThrottleRecord;

/// The open period of one NIC, and what is so since the last change.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(super) struct Sums {
    period: u64,
    start: u64,
    /// Exclusive; `u64::MAX` in the last period that a run can have.
    end: u64,
    /// All is added up so far.
    at: u64,
    used: u32,
    is_congested: bool,
    /// From when on a packet is held.
    held_from: u64,
    most: u32,
    /// Credits times picoseconds.
    area: u128,
    congested: u64,
    held: u64,
    flits: u64,
    entries: u32,
}

impl Sums {
    pub(super) const fn new(period: u64) -> Self {
        Self {
            period,
            start: 0,
            end: period,
            at: 0,
            used: 0,
            is_congested: false,
            held_from: NEVER,
            most: 0,
            area: 0,
            congested: 0,
            held: 0,
            flits: 0,
            entries: 0,
        }
    }

    /// So many credits are in use from now on.
    pub(super) fn uses(&mut self, used: u32) {
        self.used = used;
        self.most = self.most.max(used);
    }

    /// A packet that takes so many leaves.
    pub(super) fn sent(&mut self, flits: u32) {
        self.flits += u64::from(flits);
    }

    /// From now on some machine is Congested, or none; one has entered that state just now, or left it.
    pub(super) fn state(&mut self, any: bool, entered: bool) {
        self.is_congested = any;
        self.entries += u32::from(entered);
    }

    /// A packet is held from this time on; [`NEVER`]: none is.
    pub(super) fn holds(&mut self, from: u64) {
        self.held_from = from;
    }

    /// Adds up to `now`, which may be in a later period.
    pub(super) fn pass<P: Post<Packet>>(&mut self, port: u16, ports: &mut Ports, cx: &mut Ctx<'_, P>) {
        while cx.now >= self.end {
            let (end, period) = (self.end, self.period);
            self.close(port, ports, &mut cx.at(end));
            let goes_on = self.used > 0 || self.is_congested || self.held_from < cx.now;
            self.start = if goes_on { end } else { cx.now - cx.now % period };
            self.end = self.start.saturating_add(period);
            self.at = self.start;
        }
        self.add(cx.now);
    }

    fn add(&mut self, now: u64) {
        let time = now - self.at;
        self.area += u128::from(self.used) * u128::from(time);
        if self.is_congested {
            self.congested += time;
        }
        self.held += now.saturating_sub(self.at.max(self.held_from));
        self.at = now;
    }

    /// Records what the open period has had up to its end at `now`, and forgets it.
    #[cold]
    pub(super) fn close<P: Post<Packet>>(&mut self, port: u16, ports: &mut Ports, cx: &mut Ctx<'_, P>) {
        self.add(cx.now);
        let silent = self.most == 0 && self.flits == 0 && self.congested == 0 && self.held == 0;
        if cx.now > self.start && !silent {
            let length = u128::from(cx.now - self.start);
            let record = ThrottleRecord {
                start: Time::from_ps(self.start),
                end: Time::from_ps(cx.now),
                node: ports.node(),
                port,
                used_end: self.used,
                used_max: self.most,
                used_mean_milli: (self.area * 1000 / length) as u64,
                congested: Span::from_ps(self.congested),
                held: Span::from_ps(self.held),
                sent_flits: self.flits,
                entries: self.entries,
            };
            ports.records_mut().throttle.push(record);
            cx.post.recorded(1);
        }
        (self.most, self.area, self.congested, self.held) = (self.used, 0, 0, 0);
        (self.flits, self.entries) = (0, 0);
    }
}
