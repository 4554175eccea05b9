//! The NICs of a host: what they send next, and how they take what arrives.
mod faults;
mod goodput;
pub(crate) mod host;
pub(crate) mod isolation;
mod jobs;
pub(crate) mod nics;
pub(crate) mod pacing_queue;
pub(crate) mod pft;
pub(crate) mod put;
mod ranks;
mod receive;
pub(crate) mod receive_queue;
pub(crate) mod reliable;
pub(crate) mod reorder;
pub(crate) mod requests;
mod scheduler;
mod steps;
mod transports;
