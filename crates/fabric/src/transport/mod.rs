//! What hosts say to each other: queue pairs of RoCE, and streams of PUTs.
pub(crate) mod put;
pub(crate) mod roce;
