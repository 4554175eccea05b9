//! What is noted beside the path of packets, for records only.
pub(crate) mod goodput;
pub(crate) mod ground_truth;
pub(crate) mod isolation_stats;
pub(crate) mod recovery;
pub(crate) mod roots;
pub(crate) mod source_delay;
pub(crate) mod taps;
