//! A host's NIC: what it sends next, and how it takes what arrives.
mod faults;
mod goodput;
pub(crate) mod host;
pub(crate) mod isolation;
mod jobs;
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
