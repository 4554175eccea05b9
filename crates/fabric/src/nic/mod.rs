//! A host's NIC: what it sends next, and how it takes what arrives.
pub(crate) mod host;
pub(crate) mod pacing_queue;
pub(crate) mod pft;
mod receive;
pub(crate) mod receive_queue;
pub(crate) mod reorder;
mod scheduler;
pub(crate) mod telemetry;
