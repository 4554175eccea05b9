//! State written relative to an instant: what is alike at two instants but for the time that has passed is alike byte by byte then.
//!
//! A snapshot holds instants as they are. Within [`written`] they are written as the time that lies between them and an instant, instead.
//! Nothing reads such bytes: they are there to be compared.
use std::cell::Cell;
use std::thread_local;

use borsh::BorshSerialize;
use borsh::io::{Result, Write};

thread_local! {
    /// The instant that counts, on this thread.
    static NOW: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Puts back what was before, also when something panics.
struct Before(Option<u64>);

impl Drop for Before {
    fn drop(&mut self) {
        NOW.set(self.0);
    }
}

/// Does something during which instants are written relative to `now` (picoseconds) on this thread.
pub fn written<T>(now: u64, something: impl FnOnce() -> T) -> T {
    let _before = Before(NOW.replace(Some(now)));
    something()
}

/// The instant that counts; `None`: state is written as it is.
pub fn now() -> Option<u64> {
    NOW.get()
}

/// Writes an instant, in picoseconds; the last one there is stands for "never" and stays what it is.
///
/// # Errors
/// Those of `out`.
pub fn instant<W: Write>(at: &u64, out: &mut W) -> Result<()> {
    let written = match now() {
        Some(now) if *at < u64::MAX => at.wrapping_sub(now),
        _ => *at,
    };
    written.serialize(out)
}

/// Writes the instant of something that may not have happened yet: 0 until then.
///
/// # Errors
/// Those of `out`.
pub fn once<W: Write>(at: &u64, out: &mut W) -> Result<()> {
    match now() {
        Some(_) if *at == 0 => 0_u8.serialize(out),
        Some(_) => {
            1_u8.serialize(out)?;
            instant(at, out)
        }
        None => at.serialize(out),
    }
}

/// The same of a [`Time`](crate::Time).
///
/// # Errors
/// Those of `out`.
pub fn once_time<W: Write>(at: &crate::Time, out: &mut W) -> Result<()> {
    once(&at.as_ps(), out)
}

/// Writes an instant of which only counts whether it has passed, and how far ahead it is if it has not.
///
/// # Errors
/// Those of `out`.
pub fn deadline<W: Write>(at: &u64, out: &mut W) -> Result<()> {
    instant(&now().map_or(*at, |now| now.max(*at)), out)
}

/// The same of a [`Time`](crate::Time).
///
/// # Errors
/// Those of `out`.
pub fn deadline_time<W: Write>(at: &crate::Time, out: &mut W) -> Result<()> {
    deadline(&at.as_ps(), out)
}

/// Writes what is counted and read by nothing that decides what happens: relative to an instant it is nothing.
///
/// # Errors
/// Those of `out`.
pub fn tally<T: BorshSerialize, W: Write>(count: &T, out: &mut W) -> Result<()> {
    if now().is_some() { Ok(()) } else { count.serialize(out) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Span, Time};

    #[test]
    fn what_has_moved_with_the_time_is_written_alike() {
        let at = |now: u64| {
            let state = (Time::from_ps(now + 7), Some(Time::from_ps(now - 3)), Time::MAX, Span::from_ps(5));
            written(now, || borsh::to_vec(&state).expect("memory"))
        };
        assert_eq!(at(10), at(1_000_000));
        assert_ne!(at(10), borsh::to_vec(&(17_u64, Some(7_u64), u64::MAX, 5_u64)).expect("memory"));
    }

    #[test]
    fn a_deadline_that_has_passed_is_like_any_other_that_has() {
        let at = |deadline_at: u64, now: u64| {
            let mut out = Vec::new();
            written(now, || deadline(&deadline_at, &mut out)).expect("memory");
            out
        };
        assert_eq!(at(5, 10), at(0, 99));
        assert_eq!(at(12, 10), at(101, 99));
        assert_ne!(at(12, 10), at(102, 99));
        assert_eq!(at(u64::MAX, 10), at(u64::MAX, 99));
    }

    #[test]
    fn outside_of_it_state_is_written_as_it_is() {
        written(10, || ());
        assert_eq!(borsh::to_vec(&Time::from_ps(7)).expect("memory"), borsh::to_vec(&7_u64).expect("memory"));
        let mut out = Vec::new();
        tally(&3_u32, &mut out).expect("memory");
        assert_eq!(out, [3, 0, 0, 0]);
    }
}
