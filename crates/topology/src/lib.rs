//! For whoever describes or asks about a fabric: graphs of hosts and switches, and the routes through them.
//!
//! Pure data, no simulation. A [`Network`] is a graph that has passed its checks; it comes from a generator
//! ([`generate`]), from a file of another simulator ([`read`]) or from a [`Builder`]. [`Routes`] are its
//! forwarding tables; [`deadlock`] tells whether they can lock a lossless fabric up, [`summary()`] how big it is.
//!
//! ```
//! use backwater_topology::{Routes, Routing, generate};
//! use backwater_units::{Rate, Span};
//!
//! let net = generate::fat_tree(4, Rate::from_gbps(100), Span::from_us(1))?;
//! let routes = Routes::new(&net, Routing::Ecmp)?;
//! assert_eq!(net.hosts().len(), 16);
//! assert_eq!(routes.path(&net, 0, 15, |_switch| 0).len(), 6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
pub mod deadlock;
mod error;
pub mod facts;
pub mod generate;
mod groups;
mod hash;
mod network;
mod place;
pub mod read;
mod reroutes;
mod routes;
mod structured;
mod summary;
mod table;
mod tree;

pub use builder::Builder;
pub use deadlock::BufferCycle;
pub use error::{NotScaleUp, Oversubscription, RouteError, TopologyError};
pub use groups::Groups;
pub use hash::flow_hash;
pub use network::{Alias, Link, Network, Node, Port, Role};
pub use place::{Place, Structure};
pub use reroutes::{Rerouted, Reroutes, Ways};
pub use routes::{Routes, Routing};
pub use summary::{Summary, summary};
pub use table::{Cell, Near};

/// Most nodes of one network: more than the largest clusters have (100 000 GPUs), and few enough for a typing error in a generator's
/// parameter not to fill the memory.
pub const MAX_NODES: usize = 1 << 20;
/// Most ports of one node.
pub const MAX_PORTS: usize = 1024;
/// Most ports of a host: twice the NICs of a server with eight GPUs (NVIDIA DGX H100: 8 for the network of GPUs, 2 for storage).
pub const MAX_HOST_PORTS: usize = 16;
