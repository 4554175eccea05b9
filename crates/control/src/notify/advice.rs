//! PCN's notification point: at the end of each period the source hears at which rate its packets came, and whether they met congestion.
//!
//! Reference: Cheng, Qian, Jiang, Zhang, Ren: Re-architecting Congestion Management in Lossless Ethernet (PCN, NSDI 2020). Its rules
//! were read in the authors' ns-3 code (chengwx1992/PCN-simulation, branch `pcn`, commit 621cbf28): `Receive` and `CheckandSendQCN` of
//! `qbb-net-device.cc`. Of the paper only the abstract was read.
//!
//! ```text
//!      │ first packet   n packets, m with CE  │ CNP           no packet │ nothing
//!      └────────────────── interval ──────────┴────────── interval ─────┴──
//!   CNP:  congested  if m ≥ fraction · n          rate = bytes of the period / interval          (n > 1)
//!                                                      = bytes of the packet / between           (n = 1)
//!   each packet:  between := (between + time since the packet before) / 2;   := interval after a pause of 10 ms
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | interval | ps | 50 µs | authors' code, `CNPInterval` |
//! | fraction | 1 | 0.95 | authors' code; TCD (SIGCOMM 2021) §7 says the same |
//! | weight of a new gap | 1 | 1/2 | authors' code, fixed |
//! | pause | ps | 10 ms | authors' code, fixed |
//!
//! Periods are counted from the flow's first packet on. A packet at their border belongs to the one that ends there, if a packet came in
//! it. What is not congested is notified, too: that is what raises a rate.
//!
//! Known deviations: bytes are counted, where the authors count packets of 1020 B. The rate travels in whole kbit/s in 32 bits, there in
//! whole Mbit/s in 16 bits. UE counts as no mark, as PCN has none.
use backwater_units::{Rate, Span, Time};

use super::cnp::{Action, Notify, NotifyConfig};
use crate::CodePoint;

/// What a CNP says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// CE: the flow is congested; else capable.
    pub code: CodePoint,
    /// At which rate its packets came, above zero.
    pub rate: Rate,
}

/// A gap from which on the one before says nothing.
const PAUSE: Span = Span::from_us(10_000);

impl Notify {
    /// Counts a packet of `size` bytes.
    pub(super) fn count_arrival(
        &mut self,
        config: &NotifyConfig,
        now: Time,
        code: CodePoint,
        size: u32,
    ) -> Action {
        if self.anchor == Time::MAX {
            self.anchor = now;
            self.between = config.interval;
        } else {
            let gap = now.since(self.slot_end);
            self.between = if gap < PAUSE {
                Span::from_ps(self.between.as_ps().midpoint(gap.as_ps()))
            } else {
                config.interval
            };
        }
        self.slot_end = now;
        self.packets = self.packets.saturating_add(1);
        self.bytes = self.bytes.saturating_add(size);
        self.ce = self.ce.saturating_add(u32::from(code == CodePoint::Congestion));
        if self.armed {
            return Action::Nothing;
        }
        self.armed = true;
        Action::Arm(self.grid_end(config, now))
    }

    /// The period is over: what the CNP says that leaves now.
    pub fn advise(&mut self, config: &NotifyConfig) -> Advice {
        let over = if self.packets > 1 { config.interval } else { self.between };
        let bits = u128::from(self.bytes) * 8_000_000_000_000;
        let bps = u64::try_from(bits / u128::from(over.as_ps().max(1))).unwrap_or(u64::MAX);
        let code = if self.is_congested(config) { CodePoint::Congestion } else { CodePoint::Capable };
        (self.packets, self.ce, self.bytes, self.armed) = (0, 0, 0, false);
        Advice { code, rate: Rate::from_bps(bps.max(1)) }
    }
}
