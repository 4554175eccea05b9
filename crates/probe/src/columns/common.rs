//! Columns that several tables share.
use crate::column::{Column, Take, column};
use crate::columns::STATE_WORDS;

pub(super) const fn time_ps<R>(doc: &'static str, take: fn(&R) -> u64) -> Column<R> {
    column("time_ps", "ps", doc, Take::U64(take))
}
pub(super) const fn period_start<R>(take: fn(&R) -> u64) -> Column<R> {
    column("start_ps", "ps", "When the period starts.", Take::U64(take))
}
pub(super) const fn period_end<R>(take: fn(&R) -> u64) -> Column<R> {
    column("end_ps", "ps", "When it ends: one period later, or with the run.", Take::U64(take))
}
pub(super) const fn node<R>(take: fn(&R) -> u32) -> Column<R> {
    column("node", "name", "Switch or host.", Take::Node(take))
}
pub(super) const fn port<R>(take: fn(&R) -> (u32, u16)) -> Column<R> {
    column("port", "name", "Egress port, as \"node->peer\".", Take::Port(take))
}
pub(super) const fn node_index<R>(take: fn(&R) -> u32) -> Column<R> {
    column("node_index", "index", "Index of the node in the topology, from 0.", Take::U32(take))
}
pub(super) const fn port_index<R>(take: fn(&R) -> u16) -> Column<R> {
    column("port_index", "index", "Number of the port at its node, from 0 in link order.", Take::U16(take))
}
pub(super) const fn priority<R>(take: fn(&R) -> u8) -> Column<R> {
    column("priority", "index", "Priority, or virtual lane of InfiniBand, 0 to 7.", Take::U8(take))
}
pub(super) const fn flow<R>(take: fn(&R) -> u32) -> Column<R> {
    column("flow", "index", "Flow number, as in the flows table.", Take::U32(take))
}
pub(super) const fn state<R>(take: fn(&R) -> u8) -> Column<R> {
    column(
        "state",
        "word",
        "Detector state of the queue: non-congestion, congestion, undetermined, or judging (released, verdict open).",
        Take::Word(STATE_WORDS, take),
    )
}
