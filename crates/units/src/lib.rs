//! For everyone: time, sizes and rates as types, in exact integer arithmetic.
//!
//! A [`Time`] is a point and a [`Span`] a length of simulated time, both in picoseconds (`u64`: 213 days).
//! [`Bytes`] is a size, [`Rate`] a speed in bit/s. Serialisation times round up and are computed in `u128`;
//! nothing here ever goes through a float, except the explicitly named conversions for controllers and plots.
//!
//! Text forms: `"4us"`, `"320KB"` (1000 B), `"16MiB"` (1024² B), `"40Gbps"`; [`ParseError`] says what was
//! wrong and what is accepted.
#![cfg_attr(not(test), no_std)]

#[cfg(feature = "config")]
extern crate alloc;
#[cfg(feature = "snapshot")]
extern crate std;

#[cfg(feature = "config")]
pub mod config;
mod parse;
mod quantity;
#[cfg(feature = "snapshot")]
pub mod relative;

pub use parse::ParseError;
pub use quantity::{Bytes, Rate, Span, Time};

/// Picoseconds in one second.
pub const PS_PER_S: u64 = 1_000_000_000_000;
