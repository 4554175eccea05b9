//! For model builders: the event core. It orders events by content, runs them node by node in windows of one
//! lookahead, on any number of threads and processes with the same result, and knows nothing about networks.
//!
//! ```text
//!            window n                 window n+1
//!   node 0   |e e  e    e |  --msg--> | e   e     |     a message sent in window n takes effect in n+1 or later,
//!   node 1   |  e ee      |  --msg--> |ee       e |     so the nodes of one window do not see each other and may
//!   node 2   |(idle: skipped)         |e          |     run one after the other, or on several threads
//! ```
//!
//! A model implements [`Node`] and [`Message`], and [`Engine`] runs it. The feature `reference` adds `Kind::Heap`, a plain
//! global priority queue that the windows are tested against: both give the same [`Trajectory`] digest.

mod deal;
mod engine;
mod extension;
#[cfg(feature = "reference")]
mod heap;
mod inbox;
mod key;
mod meeting;
mod model;
mod processes;
mod profile;
mod shard;
mod snapshot;
mod stream;
mod trajectory;
mod window;

pub use deal::Home;
pub use engine::{Engine, Kind, Limits, Link, MOST_SHARDS, Stats, Stop};
pub use extension::MAX_EXTENSION;
pub use key::{Class, Key, Ties};
pub use model::{Message, Node, Place, Post};
#[cfg(feature = "reference")]
pub use processes::Together;
pub use processes::{Alone, Processes};
pub use profile::{Prediction, Profile, Spent};
pub use shard::{Keys, Window, in_order, in_order_wakes_last};
pub use snapshot::{Saved, hash};
pub use stream::{Stream, mix, stream, uniform};
pub use trajectory::Trajectory;
