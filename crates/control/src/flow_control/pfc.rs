//! PFC: when a switch sends PAUSE and RESUME for one ingress port and priority.
//!
//! Reference: IEEE 802.1Qbb; `Timed` is the behaviour of ns3-rdma and of the TCD authors' ns-3 release (2022).
//!
//! ```text
//!   Ideal    above Xoff, none outstanding ─▶ PAUSE until ─▶ at or below Xon on a departure ─▶ RESUME
//!   Timed    above Xoff at an arrival or a poll ─▶ PAUSE(5 µs), poll in 2 µs   (every time, not only once)
//!            at or below Xon at an arrival or a poll, outstanding ─▶ RESUME, no more polls
//!            in between: nothing, polls end; the upstream gate opens by itself 5 µs after the last PAUSE
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | pause | ps | 5 µs | TCD authors' configuration |
//! | poll | ps | 2 µs | same: half the pause in whole microseconds |
//!
//! Known deviations: the authors keep one chain of polls per egress device too; here there is one per ingress port
//! and priority. RESUME is due *at or* below Xon (IEEE); the authors' comparison is strict.
use backwater_units::{Span, Time};

use super::Level;
use crate::{ConfigError, error::require};

/// How PAUSE is kept up and taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// One PAUSE that lasts until RESUME.
    Ideal,
    /// Pauses of limited length, re-armed on arrivals and by a poll; departures are not looked at.
    Timed {
        /// How long one PAUSE closes the gate.
        pause: Span,
        /// From a PAUSE to the next look at the counter.
        poll: Span,
    },
}

/// What to send upstream. After [`Decision::Pause`] a PAUSE is outstanding and, under [`Form::Timed`], a poll is
/// due `poll` from now (a pending one is replaced). After [`Decision::Resume`] none is outstanding and no poll is
/// due. [`Decision::Nothing`] at a poll ends the polls; the PAUSE stays outstanding in the sender's books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing.
    Nothing,
    /// A PAUSE frame.
    Pause,
    /// A RESUME frame (PAUSE with time 0).
    Resume,
}

impl Form {
    /// The TCD authors' release: 5 µs pauses, looked after every 2 µs.
    pub const fn authors() -> Self {
        Self::Timed { pause: Span::from_us(5), poll: Span::from_us(2) }
    }

    /// A packet was admitted; `level` is that of its ingress port and priority including the packet.
    #[inline]
    pub const fn on_arrival(&self, level: Level, outstanding: bool) -> Decision {
        match (self, level) {
            (Self::Ideal, Level::AboveXoff) if !outstanding => Decision::Pause,
            (Self::Timed { .. }, _) => Self::refresh(level, outstanding),
            _ => Decision::Nothing,
        }
    }

    /// A packet left; `level` is that of its ingress port and priority without it.
    #[inline]
    pub const fn on_departure(&self, level: Level, outstanding: bool) -> Decision {
        match (self, level) {
            (Self::Ideal, Level::BelowXon) if outstanding => Decision::Resume,
            _ => Decision::Nothing,
        }
    }

    /// The poll after a PAUSE is due.
    pub const fn on_poll(&self, level: Level, outstanding: bool) -> Decision {
        match self {
            Self::Ideal => Decision::Nothing,
            Self::Timed { .. } => Self::refresh(level, outstanding),
        }
    }

    #[inline]
    const fn refresh(level: Level, outstanding: bool) -> Decision {
        match level {
            Level::AboveXoff => Decision::Pause,
            Level::BelowXon if outstanding => Decision::Resume,
            _ => Decision::Nothing,
        }
    }

    /// When a poll is due after a PAUSE that is sent now; `None` if this form does not poll.
    #[inline]
    pub fn poll_after(&self, now: Time) -> Option<Time> {
        match self {
            Self::Ideal => None,
            Self::Timed { poll, .. } => Some(now.saturating_add(*poll)),
        }
    }

    /// How long one PAUSE closes the gate; `None` if until RESUME.
    pub const fn pause(&self) -> Option<Span> {
        match self {
            Self::Ideal => None,
            Self::Timed { pause, .. } => Some(*pause),
        }
    }

    /// Refuses a poll that would never come in time.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let Self::Timed { pause, poll } = *self else {
            return Ok(());
        };
        require(pause > Span::ZERO, "pause", pause, "longer than 0ps", "the TCD authors use 5us")?;
        require(
            poll > Span::ZERO && poll <= pause,
            "poll",
            poll,
            "longer than 0ps and no longer than the pause",
            "half the pause is usual",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Decision::{Nothing, Pause, Resume};
    use Level::{AboveXoff, BelowXon, Between};

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn ideal_pfc_sends_one_pause_and_resumes_when_a_departure_reaches_xon() {
        let form = Form::Ideal;
        assert_eq!(form.on_arrival(Between, false), Nothing);
        assert_eq!(form.on_arrival(AboveXoff, false), Pause);
        assert_eq!(form.on_arrival(AboveXoff, true), Nothing);
        assert_eq!(form.on_departure(Between, true), Nothing);
        assert_eq!(form.on_departure(BelowXon, true), Resume);
        assert_eq!(form.on_departure(BelowXon, false), Nothing);
        assert_eq!(form.on_poll(AboveXoff, true), Nothing);
    }

    #[test]
    fn timed_pfc_repeats_its_pause_at_every_arrival_and_poll_and_never_looks_at_departures() {
        let form = Form::authors();
        for outstanding in [false, true] {
            assert_eq!(form.on_arrival(AboveXoff, outstanding), Pause);
            assert_eq!(form.on_poll(AboveXoff, outstanding), Pause);
            assert_eq!(form.on_departure(BelowXon, outstanding), Nothing);
            assert_eq!(form.on_poll(Between, outstanding), Nothing);
        }
        assert_eq!(form.on_poll(BelowXon, true), Resume);
        assert_eq!(form.on_arrival(BelowXon, true), Resume);
        assert_eq!(form.on_arrival(BelowXon, false), Nothing);
        assert_eq!(form.poll_after(us(1)), Some(us(3)));
    }

    #[test]
    fn a_poll_later_than_the_pause_is_refused() {
        let form = Form::Timed { pause: Span::from_us(5), poll: Span::from_us(6) };
        assert_eq!(form.validate().unwrap_err().parameter, "poll");
        assert!(Form::authors().validate().is_ok());
        assert!(Form::Ideal.validate().is_ok());
    }
}
