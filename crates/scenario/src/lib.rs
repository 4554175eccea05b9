//! For whoever describes or runs an experiment: what one run means, from a TOML text to everything the fabric needs.
//!
//! `Scenario::parse → validate → ValidScenario → build → Spec`: each step can only be taken after the one before, so
//! that nothing runs, and nothing is written, before everything has been checked. All that is wrong is reported at
//! once in a [`ScenarioError`], which shows each place with the allowed range and a fix.
mod hints;
mod layers;
pub mod memory;
mod overrides;
mod presets;
mod profiles;
mod scenario;
mod schema;
mod schemes;
pub mod settings;
mod valid;

pub(crate) use backwater_document as document;
pub use backwater_document::{DocumentError as ScenarioError, Problem};
pub use backwater_document::{input, quantity};
pub use presets::presets;
pub use profiles::profile_defaults;
pub use scenario::Scenario;
pub use schema::schema;
pub use valid::{Function, Functions, LongQueues, ValidScenario};
