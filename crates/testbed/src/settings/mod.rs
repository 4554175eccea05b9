//! The file as it is written: every key with its meaning, default and range. The reference in `docs/testbed.md` is made of this.
use backwater_document::quantity::Quantity;
use backwater_units::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

mod control;
mod run;

pub use control::{Action, Detector, FlowControl};
pub use run::{Clock, ClockKind, Run};

/// A data plane.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// How long, and with what.
    #[serde(default)]
    pub run: Run,
    /// What time it is.
    #[serde(default)]
    pub clock: Clock,
    /// Who may send when, on all links. Default none.
    #[serde(default)]
    pub flow_control: FlowControl,
    /// What the egress ports of all switches mark. Default none.
    #[serde(default)]
    pub detector: Detector,
    /// Switches, senders, receivers.
    pub node: Vec<Node>,
    /// Links between nodes of this process. Default none.
    #[serde(default)]
    pub link: Vec<Link>,
    /// Ports of nodes on DPDK devices. Default none.
    #[serde(default)]
    pub port: Vec<Port>,
    /// Stations that are reached through a port, for switches with forwarding = "static". The nodes of this file are known. Default none.
    #[serde(default)]
    pub station: Vec<Station>,
    /// Traffic. Default none.
    #[serde(default)]
    pub flow: Vec<Flow>,
}

/// How a switch knows where a frame goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarding {
    /// By the source addresses it has seen; frames to others go to all ports.
    #[default]
    Learning,
    /// By a table that this file gives; frames to others are dropped.
    Static,
}

/// A node of the graph.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Node {
    /// Forwards frames between its ports.
    Switch {
        /// Its name.
        #[schemars(length(min = 1))]
        name: String,
        /// How it knows where a frame goes. Default learning.
        #[serde(default)]
        forwarding: Forwarding,
        /// A learnt address is forgotten after so long without a frame from it. Default 300 s (IEEE 802.1Q).
        #[serde(default = "five_minutes")]
        #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1000s"))]
        ageing: Quantity<Span>,
        /// What an egress queue of a priority without flow control holds. Default 1 MB.
        #[serde(default = "one_mb")]
        #[schemars(extend("x-minimum" = "2KB", "x-maximum" = "1GB"))]
        lossy_queue: Quantity<Bytes>,
    },
    /// Sends the flows that are from it.
    Sender {
        /// Its name.
        #[schemars(length(min = 1))]
        name: String,
        /// MAC address. Default 02:00:00:00:00:nn, where nn is the number of the node in the file, from 1.
        #[serde(default)]
        mac: Option<String>,
        /// `IPv4` address. Default 10.0.0.nn.
        #[serde(default)]
        ip: Option<String>,
    },
    /// Counts the marks of the flows that are to it, and answers CE with CNPs.
    Receiver {
        /// Its name.
        #[schemars(length(min = 1))]
        name: String,
        /// MAC address. Default 02:00:00:00:00:nn, where nn is the number of the node in the file, from 1.
        #[serde(default)]
        mac: Option<String>,
        /// `IPv4` address. Default 10.0.0.nn.
        #[serde(default)]
        ip: Option<String>,
        /// Whether congestion notification packets go back. Default true.
        #[serde(default = "yes")]
        cnp: bool,
        /// Least time between two CNPs of a flow. Default 50 µs (DCQCN paper).
        #[serde(default = "fifty_us")]
        #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1s"))]
        cnp_interval: Quantity<Span>,
        /// Priority of CNPs. Default 6 (usual for RoCE).
        #[serde(default = "six")]
        #[schemars(range(max = 7))]
        cnp_priority: u8,
    },
    /// A station of another process or machine, to which or from which flows go. It has no ports here.
    Remote {
        /// Its name.
        #[schemars(length(min = 1))]
        name: String,
        /// MAC address.
        mac: String,
        /// `IPv4` address.
        ip: String,
    },
}

impl Node {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Switch { name, .. }
            | Self::Sender { name, .. }
            | Self::Receiver { name, .. }
            | Self::Remote { name, .. } => name,
        }
    }
}

/// A link between two nodes of this process.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Link {
    /// One end: the name of a node, or node.port to name the port (T0.up). Ports without a name are called p0, p1, … in the order of the
    /// file.
    #[schemars(length(min = 1))]
    pub a: String,
    /// The other end.
    #[schemars(length(min = 1))]
    pub b: String,
    /// Its rate, both ways.
    #[schemars(extend("x-minimum" = "1Mbps", "x-maximum" = "400Gbps"))]
    pub rate: Quantity<Rate>,
    /// Propagation delay, one way.
    #[schemars(extend("x-minimum" = "0", "x-maximum" = "1s"))]
    pub delay: Quantity<Span>,
    /// What a frame occupies on the wire beside its bytes. Default 24 B: preamble 8, check sequence 4, gap 12 (IEEE 802.3).
    #[serde(default = "overhead")]
    #[schemars(extend("x-maximum" = "256B"))]
    pub overhead: Quantity<Bytes>,
}

/// A port of a node on a DPDK device.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Port {
    /// The node that has it.
    #[schemars(length(min = 1))]
    pub node: String,
    /// Its name. Default p0, p1, … in the order of the file, behind the links.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// The device as DPDK calls it: `net_af_packet0,iface=veth0`, `net_memif0,role=server`, 0000:03:00.0.
    #[schemars(length(min = 1))]
    pub device: String,
    /// Emulated rate. Default: as fast as the device.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "1Mbps", "x-maximum" = "400Gbps"))]
    pub rate: Option<Quantity<Rate>>,
    /// Rate of the device, by which PAUSEs are timed and max(Ton) is computed. Default `rate`, else 10 Gbps.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "1Mbps", "x-maximum" = "400Gbps"))]
    pub nominal: Option<Quantity<Rate>>,
    /// Emulated propagation delay, one way. Default 0.
    #[serde(default = "no_time")]
    #[schemars(extend("x-minimum" = "0", "x-maximum" = "1s"))]
    pub delay: Quantity<Span>,
    /// What a frame occupies on the wire beside its bytes. Default 24 B.
    #[serde(default = "overhead")]
    #[schemars(extend("x-maximum" = "256B"))]
    pub overhead: Quantity<Bytes>,
}

/// A station that is reached through a port.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Station {
    /// The port: node.port.
    #[schemars(length(min = 1))]
    pub port: String,
    /// Its MAC address.
    pub mac: String,
}

/// What a host sends in the ECN field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// 01: switches may mark it.
    #[default]
    Capable,
    /// 00: they leave it alone.
    NotCapable,
}

/// The rate of a flow: a quantity or the word "line".
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FlowRate {
    /// Of what its packets occupy on the wire.
    At(Quantity<Rate>),
    /// Whatever the link allows.
    Word(Line),
}

/// The word "line".
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// Whatever the link allows.
    Line,
}

/// A paced flow of `RoCEv2` packets. Its size or its stop ends it, else the run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Flow {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The sender.
    #[schemars(length(min = 1))]
    pub from: String,
    /// The receiver.
    #[schemars(length(min = 1))]
    pub to: String,
    /// Of what its packets occupy on the wire, or "line": whatever the link allows.
    #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "400Gbps"))]
    pub rate: FlowRate,
    /// First packet. Default 0.
    #[serde(default = "no_time")]
    #[schemars(extend("x-maximum" = "10000s"))]
    pub start: Quantity<Span>,
    /// No packet is due from then on. Default: none.
    #[serde(default)]
    #[schemars(extend("x-maximum" = "10000s"))]
    pub stop: Option<Quantity<Span>>,
    /// Payload in all. Default: no end.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000TB"))]
    pub size: Option<Quantity<Bytes>>,
    /// Payload of a packet. Default 1000 B (TCD paper §4.3).
    #[serde(default = "one_kb")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub payload: Quantity<Bytes>,
    /// Its priority (virtual lane). Default 3.
    #[serde(default = "three")]
    #[schemars(range(max = 7))]
    pub priority: u8,
    /// Distances between packets vary by this share, evenly. Default 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub jitter: f64,
    /// Whether what flow control held up is sent later, above the rate. Default false.
    #[serde(default)]
    pub catch_up: bool,
    /// What stands in the ECN field. Default capable.
    #[serde(default)]
    pub code: Code,
    /// Destination queue pair, 24 bits. Default 16, 17, … in the order of the file.
    #[serde(default)]
    #[schemars(range(min = 2, max = 16_777_215))]
    pub queue_pair: Option<u32>,
}

const fn yes() -> bool {
    true
}
const fn three() -> u8 {
    3
}
const fn six() -> u8 {
    6
}
const fn no_time() -> Quantity<Span> {
    Quantity(Span::ZERO)
}
const fn fifty_us() -> Quantity<Span> {
    Quantity(Span::from_us(50))
}
const fn five_minutes() -> Quantity<Span> {
    Quantity(Span::from_ms(300_000))
}
const fn overhead() -> Quantity<Bytes> {
    Quantity(Bytes::new(24))
}
const fn one_kb() -> Quantity<Bytes> {
    Quantity(Bytes::from_kb(1))
}
const fn one_mb() -> Quantity<Bytes> {
    Quantity(Bytes::from_mb(1))
}
