//! For a data plane: what one TOML file says about its nodes, links, flow control, detectors and flows.
//!
//! [`Testbed::parse`] reads and checks a text as scenarios are read: all that is wrong at once, each with its line, what is allowed and
//! a fix. A [`Testbed`] is resolved: every default applied, names turned into numbers, thresholds of TCD computed from the links.
mod addresses;
mod check;
mod detector;
mod resolve;
pub mod settings;
mod testbed;
mod traffic;
mod wiring;

pub use testbed::{
    Clock, ClockKind, Credits, Entry, Flow, FlowControl, Link, Node, NodeKind, Pfc, Port, Testbed, reference,
};
