//! What must hold: bytes are kept, nothing waits in a circle, nobody stalls; and what a user is told where it does not.
pub(crate) mod audit;
pub(crate) mod deadlock;
pub(crate) mod explain;
pub(crate) mod stall;
pub(crate) mod violation;
