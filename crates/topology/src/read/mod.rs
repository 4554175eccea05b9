//! Readers of topologies and forwarding tables in the formats of other tools and of our own.
mod hpcc;
pub mod subnet;
mod table;

pub use hpcc::{ReadError, ReadErrorKind, hpcc, hpcc_bytes};
pub use table::{Entries, TableError, table};
