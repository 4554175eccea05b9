//! A fluid drain: a queue loses bytes at a rate, and a packet is gone when its last one is. All in whole numbers.
//!
//! Work is counted in units of 10⁻¹² bit, what 1 bit/s drains in a picosecond. A packet is gone at the first picosecond at
//! which its work is done; what that picosecond could have done beyond it is done to the next packet, if that was there
//! already. So N packets take the time of all their bytes, rounded up once.
use super::schedule::Schedule;
use borsh::{BorshDeserialize, BorshSerialize};

/// Work of a byte.
const PER_BYTE: u128 = 8_000_000_000_000;
/// After so many changes of the rate a packet that takes longer is looked at again, so that an event is short.
const CHANGES: u32 = 4096;

/// What is known about the packet that is being drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) enum Outlook {
    /// It is gone at this time.
    Done(u64),
    /// It is not gone by this time: ask then.
    Ask(u64),
    /// The rate is 0 before it is gone, and for ever.
    Never,
}

/// The drain of one receive queue.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Drain {
    /// As far as the packet being drained needs it.
    schedule: Schedule,
    /// As far as somebody has asked.
    seen: Schedule,
    /// The packet being drained needs `left` more from `at` on.
    at: u64,
    left: u128,
    /// Work that the last picosecond of the packet before could have done beyond it.
    spare: u128,
}

impl Drain {
    pub(crate) fn new(schedule: Schedule) -> Self {
        Self { seen: schedule.clone(), schedule, at: 0, left: 0, spare: 0 }
    }

    /// A packet of `size` bytes is drained from `now` on; `waited` says that it was there before `now`, and another one was
    /// drained until `now`.
    pub(crate) fn start(&mut self, now: u64, size: u16, waited: bool) -> Outlook {
        self.at = now;
        self.left = u128::from(size) * PER_BYTE;
        if waited {
            let done = self.spare.min(self.left);
            self.left -= done;
            self.spare -= done;
        } else {
            self.schedule.go_to(now);
        }
        if self.left == 0 {
            return Outlook::Done(now);
        }
        self.go_on()
    }

    /// How it goes on with the packet that is being drained.
    pub(crate) fn go_on(&mut self) -> Outlook {
        for _ in 0..CHANGES {
            let Schedule { rate, until, .. } = self.schedule;
            let rate = u128::from(rate);
            let most = rate * u128::from(until - self.at);
            if self.left <= most {
                let span = self.left.div_ceil(rate);
                self.spare = rate * span - self.left;
                self.left = 0;
                self.at += span as u64;
                return Outlook::Done(self.at);
            }
            if until == u64::MAX {
                return Outlook::Never;
            }
            self.left -= most;
            self.at = until;
            self.schedule.turn();
        }
        Outlook::Ask(self.at)
    }

    /// Whether the rate is 0 at `now`, which never goes back.
    pub(crate) fn is_still(&mut self, now: u64) -> bool {
        self.seen.go_to(now);
        self.seen.rate == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::DrainSpec;
    use backwater_units::{Rate, Span, Time};

    fn drain(spec: &DrainSpec) -> Drain {
        Drain::new(Schedule::new(spec, 1, 1))
    }

    /// When `count` packets of `size` bytes are gone that are all there at `now`.
    fn ends(drain: &mut Drain, now: u64, size: u16, count: u32) -> Vec<u64> {
        let mut at = now;
        (0..count)
            .map(|i| match drain.start(at, size, i > 0) {
                Outlook::Done(end) => {
                    at = end;
                    end
                }
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn packets_that_wait_take_the_time_of_all_their_bytes_rounded_up_once() {
        // 1048 B at 51.3 Gbps are 163 430.799 ps: neither a packet nor any number of them below 513 is a whole one.
        let mut drain = drain(&DrainSpec::Constant(Rate::from_mbps(51_300)));
        for (i, end) in (1..).zip(ends(&mut drain, 1_000, 1048, 2_000)) {
            assert_eq!(end - 1_000, (i * 1048 * 8 * 10_000_u64).div_ceil(513));
        }
    }

    #[test]
    fn a_rate_at_which_a_packet_takes_less_than_a_picosecond_drains_several_in_one() {
        // 3 B are 24 bit; 10^14 bit/s are 100 bit in a picosecond.
        let mut drain = drain(&DrainSpec::Constant(Rate::from_gbps(100_000)));
        assert_eq!(ends(&mut drain, 7, 3, 9), [8, 8, 8, 8, 9, 9, 9, 9, 10]);
    }

    #[test]
    fn what_is_not_used_while_the_queue_is_empty_is_lost() {
        // 1 B at 3 Tbps takes 2.67 ps: three, of which a third is over.
        let mut drain = drain(&DrainSpec::Constant(Rate::from_gbps(3_000)));
        assert_eq!(drain.start(0, 1, false), Outlook::Done(3));
        assert_eq!(drain.start(3, 1, false), Outlook::Done(6));
        assert_eq!(drain.start(6, 1, true), Outlook::Done(9));
        // Three in a row take 8 ps, the last one after a break starts anew.
        assert_eq!(drain.clone().start(9, 1, true), Outlook::Done(11));
        assert_eq!(drain.start(9, 1, false), Outlook::Done(12));
    }

    #[test]
    fn a_packet_is_drained_at_each_rate_for_as_long_as_it_lasts() {
        // 8 Gbps are 1 B/ns. 300 B at 8 Gbps, none for 200 ns, 400 B at 4 Gbps, the rest at 16.
        let at = |ns, mbps| (Time::ZERO + Span::from_ns(ns), Rate::from_mbps(mbps));
        let trace = DrainSpec::Trace(vec![at(0, 8_000), at(300, 0), at(500, 4_000), at(1_300, 16_000)]);
        assert_eq!(drain(&trace).start(0, 1000, false), Outlook::Done(1_450_000));
        assert_eq!(drain(&trace).start(0, 700, false), Outlook::Done(1_300_000));
        assert_eq!(ends(&mut drain(&trace), 0, 350, 3), [600_000, 1_300_000, 1_475_000]);
        assert_eq!(drain(&trace).start(400_000, 100, false), Outlook::Done(700_000));
        assert_eq!(drain(&trace).start(5_000_000, 1000, false), Outlook::Done(5_500_000));
    }

    #[test]
    fn a_rate_that_stays_0_never_ends_a_packet() {
        assert_eq!(drain(&DrainSpec::Constant(Rate::ZERO)).start(5, 64, false), Outlook::Never);
        let at = |ns, mbps| (Time::ZERO + Span::from_ns(ns), Rate::from_mbps(mbps));
        let trace = DrainSpec::Trace(vec![at(0, 8_000), at(300, 0)]);
        assert_eq!(drain(&trace).start(0, 300, false), Outlook::Done(300_000));
        assert_eq!(drain(&trace).start(0, 301, false), Outlook::Never);
        let pulses = DrainSpec::OnOff {
            high: Rate::from_gbps(8),
            low: Rate::ZERO,
            high_for: Span::from_ns(100),
            low_for: Span::from_ns(900),
            sigma: None,
        };
        assert_eq!(drain(&pulses).start(0, 301, false), Outlook::Done(3_001_000));
    }

    #[test]
    fn a_packet_that_outlasts_thousands_of_changes_is_asked_for_again_and_ends_at_the_same_time() {
        // 1 Gbps for 1 ns, nothing for 1 ns: a bit in two pieces.
        let pulses = DrainSpec::OnOff {
            high: Rate::from_bps(1_000_000_000),
            low: Rate::ZERO,
            high_for: Span::from_ps(1_000),
            low_for: Span::from_ps(1_000),
            sigma: None,
        };
        let mut drain = drain(&pulses);
        let mut outlook = drain.start(0, 2_000, false);
        let mut asked = 0;
        while let Outlook::Ask(_) = outlook {
            asked += 1;
            outlook = drain.go_on();
        }
        // 16 000 bit, one in each piece that is high; the last one ends its piece.
        assert_eq!((outlook, asked), (Outlook::Done(31_999_000), 7));
    }

    #[test]
    fn who_asks_for_the_rate_now_is_not_told_the_rate_at_the_end_of_the_packet() {
        let at = |ns, mbps| (Time::ZERO + Span::from_ns(ns), Rate::from_mbps(mbps));
        let mut drain = drain(&DrainSpec::Trace(vec![at(0, 8_000), at(300, 0), at(500, 8_000)]));
        drain.start(0, 1000, false);
        assert_eq!([200, 300, 499, 500].map(|ns| drain.is_still(ns * 1_000)), [false, true, true, false]);
    }
}
