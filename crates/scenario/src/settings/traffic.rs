//! `[[traffic]]`
use backwater_units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CcSettings, PutSettings, ReliabilityKind, Transport, Workload};
use crate::quantity::Quantity;

/// What spaces the packets of an entry's flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// The reaction point of `[cc]`.
    Cc,
    /// The link and its flow control only.
    LineRate,
}

/// Hosts: a name, a pattern such as `A*` (`*` any text, `?` one character, `[3-63/4]` every fourth number from 3 to 63), or a list
/// of them, in which `!` takes hosts out again: `["*", "!h0"]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Names {
    /// A name or a pattern.
    One(String),
    /// Several of them.
    Many(Vec<String>),
    /// Some of them, drawn at random.
    Draw(Draw),
}

/// Hosts drawn at random by the seed of the run: `{ of = "h*", random = 16 }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Draw {
    /// The hosts to draw from.
    pub of: Listed,
    /// How many are drawn.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub random: u32,
    /// Whether those that are not drawn are meant. Default false.
    #[serde(default)]
    pub rest: bool,
    /// Which draw: with the same number, hosts and seed the same are drawn, in all entries. Default 0.
    #[serde(default)]
    pub number: u32,
}

/// A name, a pattern, or a list of both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Listed {
    /// A name or a pattern.
    One(String),
    /// Several of them.
    Many(Vec<String>),
}

impl Listed {
    /// The names and patterns.
    pub fn patterns(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names,
        }
    }
}

impl Names {
    /// The names and patterns.
    pub fn patterns(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names,
            Self::Draw(draw) => draw.of.patterns(),
        }
    }
}

/// Which messages share a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connection {
    /// None: each has its own.
    #[default]
    Message,
    /// Those of one source and destination: they are sent one after the other, and the reaction point goes on from one to
    /// the next.
    Pair,
}

/// One traffic entry: a group of flows with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Traffic {
    /// Name of the entry in results and in `--set traffic.NAME.key=value`: letters, digits, `-` and `_`.
    pub name: String,
    /// Priority (PFC class, virtual lane) of the data packets. Default 3 (TCD authors' and HPCC flow files), or that of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub priority: Option<u8>,
    /// When the entry begins. Default 0.
    #[serde(default = "zero_span")]
    #[schemars(extend("x-maximum" = "18014s"))]
    pub start: Quantity<Span>,
    /// What spaces the packets. Default cc. Not for constant sources, which have their own rate, nor for PUTs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// Which messages share a queue pair. Default message; of mpi-io pair ("multiple I/O messages are sending in one
    /// connection", TCD paper §5.2.2), and of closed-loop (one queue pair). Only for kinds with several messages from one source to one destination. Not for PUTs: those
    /// of one source, destination and priority are one stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
    /// A reaction point of the entry's own: what is not written here is that of `[cc]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CcSettings")]
    pub cc: Option<CcSettings>,
    /// What carries its bytes. Default `host.transport`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// What its queue pairs do about packets that are lost. Default `transport.reliability`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reliability: Option<ReliabilityKind>,
    /// A protocol of the entry's own PUTs: what is not written here is that of `[put]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PutSettings")]
    pub put: Option<PutSettings>,
    /// What the flows are.
    #[serde(flatten)]
    pub workload: Workload,
}

pub(super) const fn zero_span() -> Quantity<Span> {
    Quantity(Span::ZERO)
}
