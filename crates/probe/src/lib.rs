//! For whoever looks at a run: turns its records into one results folder of documented Parquet tables.
//!
//! ```text
//! records (fabric) ──► Sink ──► flows.parquet ports.parquet marks.parquet …      one file per selected table
//!                       ▲   └─► Written ──► run_json::write ──► run.json         always last, always whole
//!        Plan (budget) ─┘
//! records ──► summarize ──► Summary (what a terminal table shows)
//! ```
//!
//! [`columns`] declares every column once: name with its unit, type, meaning and how it is taken from the
//! record. The Parquet schema, the writer, [`dictionary()`] and `docs/reference/columns.md` are derived from it.
//!
//! A probe sees records only after the fact and returns nothing to the model: with or without it the
//! trajectory is the same.

pub mod column;
pub mod columns;
mod dictionary;
mod error;
mod isolation;
mod names;
mod plan;
mod quantiles;
mod ranks;
mod repeated;
pub mod run_json;
mod scribe;
mod sink;
mod summary;
mod table_writer;
mod throttle;

pub use columns::{Table, TableId};
pub use dictionary::{Entry, dictionary, dictionary_json, markdown};
pub use error::{Recovery, SinkError};
pub use isolation::IsolationSummary;
pub use names::{NameError, Names};
pub use plan::{Demand, Plan, PlanError, TablePlan};
pub use quantiles::{Quantiles, least_values};
pub use ranks::RankSummary;
pub use scribe::Scribe;
pub use sink::{Sink, TableInfo, Written};
pub use summary::{PeakIngress, PortSummary, Summary, Summing, Totals, TrafficSummary, summarize};
pub use throttle::{ThrottleSummary, ThrottleSums};
