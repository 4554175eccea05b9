//! The tables: every column declared once. Schema, writer, dictionary and `docs/reference/columns.md` follow from here.
//!
//! To add a column, add its line to the table and regenerate the page (the drift test says how).
mod blame;
mod collective;
mod common;
mod delivery;
mod dependency;
mod drops;
mod events;
mod fault;
mod frame;
mod isolation;
mod job;
mod put;
mod rank;
mod series;
mod throttle;
mod totals;

pub use collective::CollectiveRecord;
pub use isolation::{ISOLATION_WORDS, ORIGIN_WORDS};
pub use job::JobMessageRecord;
pub use put::{HALT_WORDS, PUT_WORDS};
pub(crate) use totals::{bits_per_second, fct, slowdown};

use crate::column::Column;
use backwater_units::Time;
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

/// The tables a run can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableId {
    /// What became of each flow.
    Flows,
    /// Totals of each egress port and priority.
    Ports,
    /// Marked packets.
    Marks,
    /// Changes of the gates of flow control.
    Pauses,
    /// Changes of detector states.
    States,
    /// Egress queues at sampling instants.
    Samples,
    /// Sending rates at sampling instants.
    Rates,
    /// Upstream ports that a switch holds back, with the queues they are held back for.
    Holds,
    /// Changes of the gates of less than a priority.
    Closures,
    /// Flows that leave long queues.
    Crowds,
    /// Waits of followed packets.
    Waits,
    /// What each host got of each traffic entry, by sampling period.
    Delivered,
    /// Packets that left their sources.
    Injected,
    /// Packets that reached their destinations.
    Arrived,
    /// What happened to congested-flow tables.
    Isolation,
    /// Totals of each switch with combined queueing.
    Switches,
    /// Head-of-line blocking at egress ports of switches with one FIFO per ingress port.
    Blocked,
    /// What happened in PUT streams, packet by packet.
    Puts,
    /// What the ends of PUT streams did, by sampling period.
    Streams,
    /// Receive queues of hosts, by sampling period.
    Endpoints,
    /// Packets that were dropped.
    Drops,
    /// How many were dropped, by port and reason.
    #[serde(rename = "drop_counts")]
    DropCounts,
    /// Frames that chosen ports sent.
    Frames,
    /// What ranks measured.
    Timings,
    /// Iterations of collective operations.
    Collectives,
    /// What steps of applications waited for.
    Dependencies,
    /// What ranks of jobs are done with.
    #[serde(rename = "job_steps")]
    JobSteps,
    /// Which parts of jobs messages are.
    #[serde(rename = "job_messages")]
    JobMessages,
    /// What became of each rank.
    Ranks,
    /// Throttles of NICs, by sampling period.
    Throttle,
    /// Changes of the states of throttles.
    #[serde(rename = "throttle_states")]
    ThrottleStates,
    /// What happened to faults.
    Faults,
    /// Windows of destinations that changed.
    Windows,
}

impl TableId {
    /// Every table, in the order in which they are documented.
    pub const ALL: [Self; 33] = [
        Self::Flows,
        Self::Ports,
        Self::Marks,
        Self::Pauses,
        Self::States,
        Self::Samples,
        Self::Rates,
        Self::Holds,
        Self::Closures,
        Self::Crowds,
        Self::Waits,
        Self::Delivered,
        Self::Injected,
        Self::Arrived,
        Self::Isolation,
        Self::Switches,
        Self::Blocked,
        Self::Puts,
        Self::Streams,
        Self::Endpoints,
        Self::Drops,
        Self::DropCounts,
        Self::Frames,
        Self::Timings,
        Self::Collectives,
        Self::Dependencies,
        Self::JobSteps,
        Self::JobMessages,
        Self::Ranks,
        Self::Throttle,
        Self::ThrottleStates,
        Self::Faults,
        Self::Windows,
    ];

    /// Name in TOML, Python and file names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flows => "flows",
            Self::Ports => "ports",
            Self::Marks => "marks",
            Self::Pauses => "pauses",
            Self::States => "states",
            Self::Samples => "samples",
            Self::Rates => "rates",
            Self::Holds => "holds",
            Self::Closures => "closures",
            Self::Crowds => "crowds",
            Self::Waits => "waits",
            Self::Delivered => "delivered",
            Self::Injected => "injected",
            Self::Arrived => "arrived",
            Self::Isolation => "isolation",
            Self::Switches => "switches",
            Self::Blocked => "blocked",
            Self::Puts => "puts",
            Self::Streams => "streams",
            Self::Endpoints => "endpoints",
            Self::Drops => "drops",
            Self::DropCounts => "drop_counts",
            Self::Frames => "frames",
            Self::Timings => "timings",
            Self::Collectives => "collectives",
            Self::Dependencies => "dependencies",
            Self::JobSteps => "job_steps",
            Self::JobMessages => "job_messages",
            Self::Ranks => "ranks",
            Self::Throttle => "throttle",
            Self::ThrottleStates => "throttle_states",
            Self::Faults => "faults",
            Self::Windows => "windows",
        }
    }

    /// File name in the results folder.
    pub fn file(self) -> String {
        format!("{}.parquet", self.name())
    }
}

/// Evaluates an expression with `$Record` standing for the record type of a [`TableId`].
macro_rules! with_record {
    ($id:expr, $Record:ident => $body:expr) => {
        match $id {
            $crate::columns::TableId::Flows => {
                type $Record = backwater_fabric::record::FlowRecord;
                $body
            }
            $crate::columns::TableId::Ports => {
                type $Record = backwater_fabric::record::PortRecord;
                $body
            }
            $crate::columns::TableId::Marks => {
                type $Record = backwater_fabric::record::MarkRecord;
                $body
            }
            $crate::columns::TableId::Pauses => {
                type $Record = backwater_fabric::record::PauseRecord;
                $body
            }
            $crate::columns::TableId::States => {
                type $Record = backwater_fabric::record::StateRecord;
                $body
            }
            $crate::columns::TableId::Samples => {
                type $Record = backwater_fabric::record::SampleRecord;
                $body
            }
            $crate::columns::TableId::Rates => {
                type $Record = backwater_fabric::record::RateRecord;
                $body
            }
            $crate::columns::TableId::Holds => {
                type $Record = backwater_fabric::record::HoldRecord;
                $body
            }
            $crate::columns::TableId::Closures => {
                type $Record = backwater_fabric::record::ClosureRecord;
                $body
            }
            $crate::columns::TableId::Crowds => {
                type $Record = backwater_fabric::record::CrowdRecord;
                $body
            }
            $crate::columns::TableId::Waits => {
                type $Record = backwater_fabric::record::WaitRecord;
                $body
            }
            $crate::columns::TableId::Delivered => {
                type $Record = backwater_fabric::record::DeliveredRecord;
                $body
            }
            $crate::columns::TableId::Injected => {
                type $Record = backwater_fabric::record::InjectedRecord;
                $body
            }
            $crate::columns::TableId::Arrived => {
                type $Record = backwater_fabric::record::ArrivedRecord;
                $body
            }
            $crate::columns::TableId::Isolation => {
                type $Record = backwater_fabric::record::IsolationRecord;
                $body
            }
            $crate::columns::TableId::Switches => {
                type $Record = backwater_fabric::record::SwitchRecord;
                $body
            }
            $crate::columns::TableId::Blocked => {
                type $Record = backwater_fabric::record::BlockedRecord;
                $body
            }
            $crate::columns::TableId::Puts => {
                type $Record = backwater_fabric::record::PutRecord;
                $body
            }
            $crate::columns::TableId::Streams => {
                type $Record = backwater_fabric::record::StreamRecord;
                $body
            }
            $crate::columns::TableId::Endpoints => {
                type $Record = backwater_fabric::record::EndpointRecord;
                $body
            }
            $crate::columns::TableId::Drops => {
                type $Record = backwater_fabric::record::DropRecord;
                $body
            }
            $crate::columns::TableId::DropCounts => {
                type $Record = backwater_fabric::record::DropCount;
                $body
            }
            $crate::columns::TableId::Frames => {
                type $Record = backwater_fabric::record::FrameRecord;
                $body
            }
            $crate::columns::TableId::Timings => {
                type $Record = backwater_fabric::record::TimingRecord;
                $body
            }
            $crate::columns::TableId::Collectives => {
                type $Record = $crate::columns::CollectiveRecord;
                $body
            }
            $crate::columns::TableId::Dependencies => {
                type $Record = backwater_fabric::record::DependencyRecord;
                $body
            }
            $crate::columns::TableId::JobSteps => {
                type $Record = backwater_fabric::record::JobRecord;
                $body
            }
            $crate::columns::TableId::JobMessages => {
                type $Record = $crate::columns::JobMessageRecord;
                $body
            }
            $crate::columns::TableId::Ranks => {
                type $Record = backwater_fabric::record::RankRecord;
                $body
            }
            $crate::columns::TableId::Throttle => {
                type $Record = backwater_fabric::record::ThrottleRecord;
                $body
            }
            $crate::columns::TableId::ThrottleStates => {
                type $Record = backwater_fabric::record::ThrottleStateRecord;
                $body
            }
            $crate::columns::TableId::Faults => {
                type $Record = backwater_fabric::record::FaultRecord;
                $body
            }
            $crate::columns::TableId::Windows => {
                type $Record = backwater_fabric::record::WindowRecord;
                $body
            }
        }
    };
}
pub(crate) use with_record;

/// A record type with a table.
pub trait Table: Copy + Send + BorshSerialize + BorshDeserialize + 'static {
    /// Which table.
    const ID: TableId;
    /// What one row is.
    const DOC: &'static str;
    /// The columns, in file order.
    const COLUMNS: &'static [Column<Self>];
    /// When the row came into being; `None` for tables of totals, which are written at the end.
    fn time(&self) -> Option<Time>;
}

/// Words of `StateRecord::state`.
pub const STATE_WORDS: &[&str] = &["non-congestion", "congestion", "undetermined", "judging"];
/// Words of `ClosureRecord::change`, in the order of `GateChange`.
pub const CHANGE_WORDS: &[&str] = &["closed", "opened", "drained"];
/// Words of `ClosureRecord::scope`, in the order of `KeyedBy`.
pub const SCOPE_WORDS: &[&str] = &["queue", "flow", "destination", "root", "priority"];
/// Words of `MarkRecord::code`.
pub const CODE_WORDS: &[&str] = &["not-capable", "capable", "UE", "CE"];
