//! Tables of what hosts get: by period, and packet by packet.
use super::common::{flow, node, node_index, time_ps};
use crate::column::{Column, Take, column};
use crate::columns::{Table, TableId};
use backwater_fabric::record::{ArrivedRecord, DeliveredRecord, InjectedRecord};
use backwater_units::Time;

impl Table for DeliveredRecord {
    const ID: TableId = TableId::Delivered;
    const DOC: &'static str = "One row per host, traffic entry and sampling period (probe.sample) in which the host got a \
                               packet of the entry or sent a CNP about one.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("When the period starts.", |r| r.time.as_ps()),
        node(|r| r.node),
        node_index(|r| r.node),
        column("traffic", "name", "Name of the traffic entry.", Take::Traffic(|r| r.group)),
        column(
            "traffic_index",
            "index",
            "Position of that entry in the scenario, from 0.",
            Take::U16(|r| r.group),
        ),
        column("received_bytes", "bytes", "Payload that arrived.", Take::U64(|r| r.bytes.get())),
        column(
            "wire_bytes",
            "bytes",
            "The same with headers and padding.",
            Take::U64(|r| r.wire_bytes.get()),
        ),
        column("packets", "count", "Data packets that arrived.", Take::U64(|r| r.packets)),
        column("ce_packets", "count", "Those that arrived with CE.", Take::U64(|r| r.ce_packets)),
        column("cnps", "count", "CNPs (BECNs) that the host sent about them.", Take::U64(|r| r.cnps)),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}

impl Table for InjectedRecord {
    const ID: TableId = TableId::Injected;
    const DOC: &'static str =
        "One row per packet that left its source, of the traffic entries in probe.packets.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("When its first bit went on the wire.", |r| r.time.as_ps()),
        column(
            "made_ps",
            "ps",
            "When the application made it: the start of its message; of a supplied flow the packet's turn. Null if that \
             is not known.",
            Take::MaybeU64(|r| (r.made != Time::MAX).then(|| r.made.as_ps())),
        ),
        flow(|r| r.flow),
        column("traffic", "name", "Name of the flow's traffic entry.", Take::FlowTraffic(|r| r.flow)),
        column("seq", "index", "Packet number within the flow, from 0.", Take::U32(|r| r.seq)),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}

impl Table for ArrivedRecord {
    const ID: TableId = TableId::Arrived;
    const DOC: &'static str =
        "One row per packet that reached its destination, of the traffic entries in probe.packets.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("When its last bit had come in.", |r| r.time.as_ps()),
        flow(|r| r.flow),
        column("traffic", "name", "Name of the flow's traffic entry.", Take::FlowTraffic(|r| r.flow)),
        column("seq", "index", "Packet number within the flow, from 0.", Take::U32(|r| r.seq)),
        column("ce", "flag", "Whether it carried CE.", Take::Bool(|r| r.ce)),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}
