//! Tables of rank programs: what their stopwatches measured, and what became of each rank.
use super::common::{node, node_index};
use crate::column::{Column, Take, column};
use crate::columns::{Table, TableId};
use backwater_fabric::record::{RankRecord, TimingRecord};
use backwater_units::Time;

impl Table for TimingRecord {
    const ID: TableId = TableId::Timings;
    const DOC: &'static str =
        "One row per reading of a stopwatch by a rank of a program: how long something took it.";
    const COLUMNS: &'static [Column<Self>] = &[
        column("start_ps", "ps", "When the rank had set the stopwatch.", Take::U64(|r| r.start.as_ps())),
        column("end_ps", "ps", "When it read it.", Take::U64(|r| r.time.as_ps())),
        column(
            "elapsed_ps",
            "ps",
            "end_ps - start_ps, what was measured.",
            Take::U64(|r| (r.time - r.start).as_ps()),
        ),
        column(
            "rank",
            "index",
            "Number of the rank in the run, as in the ranks table.",
            Take::U32(|r| r.rank),
        ),
        node(|r| r.node),
        column("traffic", "name", "Name of the rank's traffic entry.", Take::RankTraffic(|r| r.rank)),
        column("role", "name", "What the rank does in its program.", Take::RankRole(|r| r.rank)),
        column("series", "name", "What was measured, such as isolated/lat.", Take::Series(|r| r.series)),
        column(
            "label",
            "index",
            "The program's own number of it: of GPCNeT the random ring, from 0.",
            Take::U32(|r| r.label),
        ),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}

impl Table for RankRecord {
    const ID: TableId = TableId::Ranks;
    const DOC: &'static str = "One row per rank of a program: where it ran and what became of it.";
    const COLUMNS: &'static [Column<Self>] = &[
        column("rank", "index", "Number of the rank in the run, from 0.", Take::U32(|r| r.rank)),
        node(|r| r.node),
        node_index(|r| r.node),
        column("traffic", "name", "Name of the rank's traffic entry.", Take::Traffic(|r| r.group)),
        column("number", "index", "Its number in that entry, from 0.", Take::U32(|r| r.number)),
        column("role", "name", "What it does in its program.", Take::RankRole(|r| r.rank)),
        column(
            "finished_ps",
            "ps",
            "When its program ended; null if it has not.",
            Take::MaybeU64(|r| r.finish.map(Time::as_ps)),
        ),
        column(
            "sent_messages",
            "count",
            "Messages that it sent, also to ranks of its own host: sends, puts, and what others' gets took.",
            Take::U64(|r| r.sent_messages),
        ),
        column("sent_bytes", "bytes", "Their bytes.", Take::U64(|r| r.sent_bytes.get())),
        column(
            "received_messages",
            "count",
            "Messages that came in for it: those it took, others' puts, and what its gets brought.",
            Take::U64(|r| r.received_messages),
        ),
        column("received_bytes", "bytes", "Their bytes.", Take::U64(|r| r.received_bytes.get())),
        column(
            "waited_ps",
            "ps",
            "Time for which it waited for messages and requests.",
            Take::U64(|r| r.waited.as_ps()),
        ),
        column(
            "unexpected",
            "count",
            "Messages that had come in and that it had not taken when the run ended.",
            Take::U32(|r| r.unexpected),
        ),
    ];
    fn time(&self) -> Option<Time> {
        None
    }
}
