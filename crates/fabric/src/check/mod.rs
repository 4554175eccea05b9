//! What must hold: bytes are kept, packets end somewhere (`books.rs`), nothing waits in a circle, nobody stalls; and what a user reads
//! where it does not.
//! `deadlock.rs` looks at gates that stay closed. If they wait for each other in a circle, the run ends with the ports of the circle and the
//! messages in it. `simulation/stall.rs` looks for what cannot go on for other reasons. Before a run, `scenario` looks for circles that the routes of the
//! traffic could make, and for buffers that do not last for a period of credits.
pub(crate) mod audit;
pub(crate) mod books;
pub(crate) mod deadlock;
pub(crate) mod explain;
