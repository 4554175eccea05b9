//! `[probe]`
use backwater_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AutoOr;
use crate::quantity::Quantity;

/// What is recorded. It never changes the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "one switch per table, each read by name")]
pub struct Probe {
    /// Period of the samples of queues, states and rates; none without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub sample: Option<Quantity<Span>>,
    /// Egress ports to sample: `T0->L0`, all ports of a switch `L0:*`, an alias of the topology such as `P1`. Default:
    /// all ports of all switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<Vec<String>>,
    /// Traffic entries, by name, whose controlled rates are sampled. Default none.
    pub rates: Vec<String>,
    /// Whether every mark is recorded. Default true.
    pub marks: bool,
    /// Whether every closing and opening of a gate by flow control is recorded. Default true.
    pub pauses: bool,
    /// Whether every change of a detector's state is recorded. Default true.
    pub states: bool,
    /// Whether the bytes that each host receives are recorded, summed up for every period of `sample`, and for each traffic
    /// entry. Default false.
    pub delivered: bool,
    /// Traffic entries, by name, of which the latency of every data packet is recorded. Default none.
    pub packets: Vec<String>,
    /// Whether what isolation does is recorded: entries of congested-flow tables that come, go and are refused, and congestion
    /// isolation messages; with Floodgate VOQs and every change of a window. Default false.
    pub isolation: bool,
    /// Whether what PUT streams do is summed up for every period of `sample`. Default: whether there are PUTs and `sample` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<bool>,
    /// Whether what receive queues of hosts do is summed up for every period of `sample`. Default: whether there are slow hosts and
    /// `sample` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoints: Option<bool>,
    /// Whether what throttles of hosts do is summed up for every period of `sample`: credits used, time in which a host was congested
    /// and in which it held a packet back. Default: whether `host.throttle.kind` is pft and `sample` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<bool>,
    /// Whether every change of state of a throttle is recorded. Default false.
    pub throttle_states: bool,
    /// Traffic entries, by name, of whose PUT streams every packet, ACK and change of state is recorded. Default none.
    pub puts: Vec<String>,
    /// Egress ports, written as in `ports`, of which every frame on the wire is recorded; `backwater export pcapng` makes a capture
    /// of it. Default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<Vec<String>>,
    /// Whether every packet that a switch drops is recorded. Default true.
    pub drops: bool,
    /// Whether the ground truth is recorded, which `backwater blame` needs: what each hold is for, which flows leave long queues,
    /// where packets wait. It needs `pauses` and `marks`, too. Default true.
    pub blame: bool,
    /// Whether it is recorded what each step of an application waited for, and which messages it started; `backwater critical`
    /// follows the critical path by that. Default true.
    pub dependencies: bool,
    /// K, in bytes: above it the ground truth calls the queue of a switch's egress port long. No detector has a part in it. auto: what
    /// the port sends in the longest base round trip of the network, and a packet from each port of its switch; at most half of what may
    /// wait for it from one link (ours: docs/ground-truth.md). A size is for all ports, whatever their rates. The detector oracle marks by
    /// it. All profiles: auto.
    pub blame_threshold: AutoOr<Bytes>,
    /// Bytes of results allowed on disk; a table that would exceed its share stops and the run says so. Default 2 GB.
    #[schemars(extend("x-maximum" = "1000TB"))]
    pub budget: Quantity<Bytes>,
}
