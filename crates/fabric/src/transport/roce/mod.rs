//! Queue pairs: what they send, how fast, and what their receivers answer.
pub(crate) mod connection;
pub(crate) mod extras;
pub(crate) mod pacer;
pub(crate) mod queue_pair;
pub(crate) mod queue_pairs;
pub(crate) mod reliable;
pub(crate) mod segments;
pub(crate) mod start;
pub(crate) mod window;
