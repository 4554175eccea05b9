//! Oversubscribed control: a receiver gives fewer credits where not its own link but the network before it is short.
//!
//! Reference: the Consortium's simulator, `ultraethernet/uet-htsim` at 40ccb05, `oversubscribed_cc.cpp`. The Ultra Ethernet Specification 1.0
//! (section 3.6.14) leaves the pacer's rate to implementations.
//!
//! ```text
//!   every (0.75 + U/2)·1.5 round trips, with what came since:   f = marked / (frames − trimmed)
//!   trimmed elsewhere than at the last hop:  rate −= trimmed elsewhere / frames              decrease
//!   g = (g + f)/2;   g > 0.3:                rate *= 1 − (g − 0.3)·0.5                       decrease
//!   no decrease:                             rate += 0.01·2^k without a mark, else 0.01;     k += 1        decrease: k = 0
//!   max(0.9/ratio, 0.01) <= rate <= 1
//! ```
//! | symbol | default | source |
//! |---|---|---|
//! | add, cut, aim, weight | 0.01, 0.5, 0.3, 0.5 | `oversubscribed_cc.cpp:6` |
//! | least | 0.9 / ratio, 0.01 | the same; ratio: of the network's oversubscription |

/// What came in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Came {
    /// Data, trimmed or not, and RTS.
    pub frames: u32,
    /// Data with a mark.
    pub marked: u32,
    /// Trimmed by the last switch.
    pub trimmed_last: u32,
    /// Trimmed by another one.
    pub trimmed_before: u32,
}

/// The share of its usual rate at which a receiver gives credits.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Oversubscribed {
    rate: f64,
    marks: f64,
    run: u32,
}

const ADD: f64 = 0.01;
const CUT: f64 = 0.5;
const AIM: f64 = 0.3;
/// 2 to the power of more is 1 by far.
const LONGEST_RUN: u32 = 16;

impl Default for Oversubscribed {
    fn default() -> Self {
        Self { rate: 1.0, marks: 0.0, run: 0 }
    }
}

impl Oversubscribed {
    /// The share: from 0.01 to 1.
    #[inline]
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// A period is over, in a network of this oversubscription.
    pub fn judge(&mut self, ratio: f64, came: &Came) {
        let whole = came.frames.saturating_sub(came.trimmed_last + came.trimmed_before);
        let share = if whole == 0 { 0.0 } else { f64::from(came.marked) / f64::from(whole) };
        let mut decreases = came.trimmed_before > 0;
        if decreases {
            self.rate -= f64::from(came.trimmed_before) / f64::from(came.frames.max(1));
        }
        self.marks = self.marks / 2.0 + share / 2.0;
        if self.marks > AIM {
            self.rate *= 1.0 - (self.marks - AIM) * CUT;
            decreases = true;
        }
        if decreases {
            self.run = 0;
        } else {
            let turns = if came.marked == 0 { self.run.min(LONGEST_RUN) } else { 0 };
            self.rate += ADD * f64::from(1_u32 << turns);
            self.run += 1;
        }
        self.rate = self.rate.clamp((0.9 / ratio).clamp(0.01, 1.0), 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, by_hand: f64) -> bool {
        (value - by_hand).abs() < 1e-12
    }

    #[test]
    fn trims_in_the_network_take_off_their_share_and_quiet_periods_give_back_twice_as_much_each() {
        let mut control = Oversubscribed::default();
        control.judge(8.0, &Came { frames: 100, trimmed_before: 20, trimmed_last: 10, ..Came::default() });
        assert!(near(control.rate(), 0.8));
        let quiet = Came { frames: 100, ..Came::default() };
        for by_hand in [0.81, 0.83, 0.87, 0.95, 1.0] {
            control.judge(8.0, &quiet);
            assert!(near(control.rate(), by_hand), "{}", control.rate());
        }
        control.judge(8.0, &Came { frames: 100, trimmed_last: 50, ..Came::default() });
        assert!(near(control.rate(), 1.0), "its own link is its own affair");
    }

    #[test]
    fn marks_on_most_packets_take_something_off_and_the_rest_of_the_ratio_stays() {
        let mut control = Oversubscribed::default();
        // g = 0.4: 1 − 0.1 · 0.5.
        control.judge(4.0, &Came { frames: 100, marked: 80, ..Came::default() });
        assert!(near(control.rate(), 0.95));
        for _ in 0..1000 {
            control.judge(4.0, &Came { frames: 100, marked: 100, ..Came::default() });
        }
        assert!(near(control.rate(), 0.225));
    }
}
