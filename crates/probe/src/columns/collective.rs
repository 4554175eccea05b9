//! The table of collective operations: one row per iteration.
use crate::column::{Take, column};
use crate::columns::{Column, Table, TableId};
use backwater_units::Time;
use borsh::{BorshDeserialize, BorshSerialize};

/// An iteration of a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct CollectiveRecord {
    /// Its traffic entry.
    pub group: u16,
    /// Its number, from 0.
    pub iteration: u32,
    /// When its first message started; [`Time::MAX`]: it has not begun.
    pub start: Time,
    /// When the last of its messages was complete; `None`: one of them is not.
    pub end: Option<Time>,
    /// Its messages.
    pub messages: u32,
    /// Their payload.
    pub bytes: u64,
}

impl CollectiveRecord {
    fn started(&self) -> Option<u64> {
        (self.start < Time::MAX).then(|| self.start.as_ps())
    }
}

impl Table for CollectiveRecord {
    const ID: TableId = TableId::Collectives;
    const DOC: &'static str = "One row per iteration of a collective operation (traffic of kind collective).";
    const COLUMNS: &'static [Column<Self>] = &[
        column("traffic", "name", "Name of its traffic entry.", Take::Traffic(|r| r.group)),
        column("iteration", "index", "Its number in that entry, from 0.", Take::U32(|r| r.iteration)),
        column(
            "start_ps",
            "ps",
            "When the first message of any of its ranks started; null if it has not begun.",
            Take::MaybeU64(Self::started),
        ),
        column(
            "end_ps",
            "ps",
            "When the last packet of its last message had come in; null if a message was not complete at the end of the run.",
            Take::MaybeU64(|r| r.end.map(Time::as_ps)),
        ),
        column(
            "elapsed_ps",
            "ps",
            "end_ps - start_ps: how long the collective took. Ranks begin an iteration when they are done with the one before, so that \
             iterations may overlap.",
            Take::MaybeU64(|r| Some(r.end?.as_ps() - r.started()?)),
        ),
        column("messages", "count", "Its messages.", Take::U32(|r| r.messages)),
        column("payload_bytes", "bytes", "Their payload.", Take::U64(|r| r.bytes)),
    ];
    fn time(&self) -> Option<Time> {
        None
    }
}
