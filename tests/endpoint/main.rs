//! PUT streams to endpoints slower than their links, against arithmetic and the independent simulation in `oracle/`, packet by
//! packet; and what no engine, thread or probe may change.
mod arithmetic;
mod edges;
mod golden;
mod marks;
mod numbers;
mod oracle;
mod stubborn;
mod verbs;

use backwater_fabric::record::PutEvent;

/// What a packet trace calls an event.
fn name(event: PutEvent) -> &'static str {
    match event {
        PutEvent::Sent => "sent",
        PutEvent::Resent => "resent",
        PutEvent::Accepted => "accepted",
        PutEvent::Processed => "processed",
        PutEvent::Dropped => "dropped",
        PutEvent::OutOfOrder => "out_of_order",
        PutEvent::Duplicate => "duplicate",
        PutEvent::IackSent => "iack_sent",
        PutEvent::DackSent => "dack_sent",
        PutEvent::MarkedSent => "marked_sent",
        PutEvent::NackSent => "nack_sent",
        PutEvent::Iack => "iack",
        PutEvent::Dack => "dack",
        PutEvent::Marked => "marked",
        PutEvent::Nack => "nack",
        PutEvent::Timeout => "timeout",
        PutEvent::State => "state",
    }
}
