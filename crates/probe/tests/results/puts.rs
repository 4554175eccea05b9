//! Tables of PUT traffic hold what their records say, and null where a number means nothing.
use crate::common::{numbers, texts};
use crate::tables::write;
use backwater_fabric::record::{
    DropReason, DropRecord, EndpointRecord, PutEvent, PutRecord, StreamId, StreamRecord,
};
use backwater_units::{Bytes, Span, Time};

const STREAM: StreamId = StreamId { src: 0, dst: 1, priority: 3, kind: 0 };

fn put(event: PutEvent, value: i64) -> PutRecord {
    PutRecord { time: Time::from_ps(9), flow: 1, src: 0, dst: 1, seq: 7, event, value }
}

#[test]
fn an_event_of_a_put_stream_is_at_the_host_where_it_happens() {
    let dir = tempfile::tempdir().unwrap();
    let rows = [put(PutEvent::Sent, 12), put(PutEvent::Accepted, 2112), put(PutEvent::NackSent, 80_992)];
    let table = write(dir.path(), &rows);
    assert_eq!(texts(&table, "event"), ["sent", "accepted", "nack-sent"]);
    assert_eq!(texts(&table, "node"), ["S", "R", "R"]);
    assert_eq!(numbers(&table, "window"), [Some(12), None, None]);
    assert_eq!(numbers(&table, "queue_bytes"), [None, Some(2112), Some(80_992)]);
}

#[test]
fn the_four_halt_states_have_names_and_nothing_else_has_one() {
    let dir = tempfile::tempdir().unwrap();
    let states = [-1, 0, 1, 2].map(|value| put(PutEvent::State, value));
    let table = write(dir.path(), &states);
    assert_eq!(texts(&table, "state"), ["H-1", "H0", "H1", "open"]);
    let table = write(dir.path(), &[put(PutEvent::Sent, 1)]);
    assert_eq!(texts(&table, "state"), ["none"]);
}

#[test]
fn each_end_of_a_stream_has_a_row_of_its_own_and_only_the_initiator_has_a_window() {
    let dir = tempfile::tempdir().unwrap();
    let initiator = StreamRecord {
        start: Time::ZERO,
        end: Time::ZERO + Span::from_us(50),
        stream: STREAM,
        target: false,
        sent_packets: 10,
        sent_bytes: Bytes::new(21_120),
        resent_packets: 2,
        resent_bytes: Bytes::new(4224),
        accepted_packets: 0,
        accepted_bytes: Bytes::new(0),
        processed_bytes: Bytes::new(0),
        dropped_packets: 0,
        out_of_order_packets: 0,
        duplicate_packets: 0,
        iacks: 8,
        marked_iacks: 3,
        dacks: 1,
        nacks: 1,
        timeouts: 0,
        window: Some(4),
        state: Some(-1),
    };
    let target = StreamRecord {
        target: true,
        accepted_bytes: Bytes::new(16_384),
        window: None,
        state: None,
        ..initiator
    };
    let table = write(dir.path(), &[initiator, target]);
    assert_eq!(texts(&table, "side"), ["initiator", "target"]);
    assert_eq!(texts(&table, "state"), ["H-1", "none"]);
    assert_eq!(numbers(&table, "window"), [Some(4), None]);
    assert_eq!(numbers(&table, "accepted_bytes"), [Some(0), Some(16_384)]);
    assert_eq!(numbers(&table, "end_ps"), [Some(50_000_000); 2]);
}

#[test]
fn a_receive_queue_and_a_drop_are_named_by_their_host_and_their_port() {
    let dir = tempfile::tempdir().unwrap();
    let queue = EndpointRecord {
        start: Time::ZERO,
        end: Time::from_ps(50),
        node: 1,
        drained_bytes: Bytes::new(2112),
        dropped_packets: 1,
        dropped_bytes: Bytes::new(2112),
        queue: Bytes::new(8448),
        peak: Bytes::new(10_560),
        paused_upstream: Span::from_ps(5),
    };
    let table = write(dir.path(), &[queue]);
    assert_eq!(texts(&table, "node"), ["R"]);
    assert_eq!(
        (numbers(&table, "peak_bytes"), numbers(&table, "holding_ps")),
        (vec![Some(10_560)], vec![Some(5)])
    );
    let drop = DropRecord {
        time: Time::from_ps(3),
        node: 2,
        port: 1,
        priority: 3,
        reason: DropReason::PortBuffer,
        flow: 1,
        data: true,
        seq: 4,
    };
    let table = write(dir.path(), &[drop]);
    assert_eq!(texts(&table, "reason")[0].as_str(), "port-buffer");
    assert_eq!((texts(&table, "port")[0].as_str(), texts(&table, "traffic")[0].as_str()), ("T->R", "incast"));
}
