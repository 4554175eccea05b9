//! For whoever runs scenarios from Rust: from a TOML file to results.
//!
//! ```text
//! Scenario::load ─▶ Run::new (checks everything) ─▶ in_folder ─▶ start ─▶ Results
//!                    │                                            └▶ begin ─▶ SteppedRun (step by step) ─▶ finish ─▶ Results
//!                    └▶ estimate (what it will take)   network_facts (what the network is)   Replay (the same run once more)
//! ```
//!
//! A whole program is `examples/run.rs`. The Python package and the command `backwater` are built on the same calls.
pub mod calculators;
mod checkpoint;
mod clock;
mod collectives;
mod error;
mod estimate;
mod functions;
mod injection;
mod jobs;
mod network;
mod processes;
mod profile;
mod replay;
mod results;
mod run;
mod stepped;
mod tables;

pub use backwater_codes::{Code, Explained, Kind, Remark};
pub use backwater_engine::{Alone, Processes};
pub use backwater_fabric::{Completion, Look, Looks, PortLook};
pub use backwater_scenario::{Scenario, ScenarioError, ValidScenario};
pub use checkpoint::{Checkpoint, FORMAT};
pub use error::Error;
pub use estimate::{estimate, outline};
pub use functions::UserFunctions;
pub use injection::{Injection, Which};
pub use network::network_facts;
pub use replay::Replay;
pub use results::Results;
pub use run::{Ahead, Run, Watch};
pub use stepped::SteppedRun;
