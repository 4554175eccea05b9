//! `[host]`
use backwater_units::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AutoOr, Names, NicPreset, PfcWatchdog, ThrottleSettings};
use crate::quantity::{NoLimit, Quantity, WordOr};

/// How the bytes of a traffic entry get to their destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Queue pairs with the reaction point of `[cc]`, which send again what is lost as `transport.reliability` says.
    Roce,
    /// PUTs (RDMA writes), numbered, acknowledged and repeated as `[put]` says. They may be lost.
    Put,
    /// Flows of Ultra Ethernet (UEC), delivered in no order and spread over all ways, as `[uec]` says. They may be lost. `[cc]` rules them with the kinds nscc,
    /// rccc and nscc+rccc.
    Uec,
}

/// How the speed of a slow host changes, by its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// Not at all: always `drain`.
    Constant {},
    /// `drain` and `low` in turn, `drain` first.
    OnOff {
        /// The lower rate; 0 is allowed.
        #[schemars(extend("x-maximum" = "100Tbps"))]
        low: Quantity<Rate>,
        /// How long it is `drain`; with `sigma` on average. Default 25 µs (the authors' public simulator, commit 6ef0eb3).
        #[serde(default = "us_25")]
        #[schemars(extend("x-minimum" = "100ns", "x-maximum" = "18014s"))]
        high_for: Quantity<Span>,
        /// How long it is `low`; with `sigma` on average. Default 25 µs (the authors' public simulator, commit 6ef0eb3).
        #[serde(default = "us_25")]
        #[schemars(extend("x-minimum" = "100ns", "x-maximum" = "18014s"))]
        low_for: Quantity<Span>,
        /// Standard deviation of the logarithm of each length, drawn from log-normal distributions for every host by itself; 0:
        /// always the same lengths, all hosts together. Default 0.
        #[serde(default)]
        #[schemars(range(min = 0.0, max = 3.0))]
        sigma: f64,
    },
    /// As a file says, instead of `drain`.
    Trace {
        /// A file of `time,rate` lines such as `20us,51.2Gbps`, times rising, relative to the folder of the scenario file. From
        /// each time on its rate holds, before the first one that of the first.
        #[schemars(length(min = 1))]
        file: String,
    },
}

/// When a slow host pauses its switch, by priority. In effect with switch.flow-control = pfc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HostPfc {
    /// PAUSE above this many bytes of one priority. auto: an equal share of `host.queue` for each lossless priority with
    /// traffic, less two things: the packet that crosses it, and what still arrives after a PAUSE (IEEE 802.1Qbb, Annex O).
    #[schemars(extend("x-maximum" = "1TB"))]
    pub xoff: AutoOr<Bytes>,
    /// RESUME at or below this. auto: two packets below `xoff` (TCD paper §5.1: 318 KB and 320 KB, packets of 1000 B).
    #[schemars(extend("x-maximum" = "1TB"))]
    pub xon: AutoOr<Bytes>,
}

/// Which queue pair of a NIC sends next, of those whose next packet is due and whose priority may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NicScheduler {
    /// Packet by packet in turn over all priorities, in the order of their arrival: the next one after the one that sent last. A queue
    /// pair arrives when it first has something to send; those of ranks are there from the beginning.
    RoundRobin,
    /// The one that has been due for longest, as an ideal shaper would; of those due at the same time the one of the highest priority.
    LongestDue,
}

/// By which port a queue pair of a host with several sends, of those on shortest ways to its destination. When the link of that port is down,
/// it sends by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NicPort {
    /// By the one that a hash of its flow chooses, as a switch does. If its link is down, by one of all the others.
    Hash,
    /// By the one at the rail of the receiving rank: of n ports by number r modulo n, where that rank is number r at its host. So sends NCCL
    /// with PXN, from the NIC at the rail of the receiving GPU (NCCL 2.12 and later, `NCCL_PXN_DISABLE` and `NCCL_CROSS_NIC` in its list of
    /// environment variables). What is not sent to a rank goes by `hash`.
    Rail,
    /// As `hash`; but if its link is down, by another port of the same plane while there is one.
    Plane,
    /// By all of them, packet by packet: each idle port whose PAUSE or credits let it send takes the next one, of several such ports in turn. The
    /// queue pair then has the rate of its ports together, and its receiver puts packets in order. So are NICs of networks with several planes to
    /// be (Zhao et al., Insights into DeepSeek-V3, ISCA 2025, cited from memory).
    Spray,
}

/// What holds ACKs of queue pairs at the NIC that sends them. They go before data in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NicAcks {
    /// A PAUSE of their priority holds them, too: an ACK of a reliable connection travels in the priority of its queue pair.
    Priority,
    /// No PAUSE holds them, and they wait with CNPs. In switches they are in their priority all the same.
    Unpaused,
}

/// How a NIC serves what it has to send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Nic {
    /// The device whose published values of `[cc]` stand where the file has none; the profile has the others. Without it all are the
    /// profile's. docs/reference/presets.md has each value with its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<NicPreset>,
    /// The device whose measured behaviour stands where the file has none: what a message costs, how fast the host takes in what comes,
    /// its receive buffer. `connectx-5`, or the path of a `.toml` file that `backwater calibrate` wrote. docs/reference/presets.md has each
    /// value with its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Which queue pair sends next. All profiles: round-robin, as NICs do (HPCC simulator, commit 9f4be2a, `qbb-net-device.cc`; ns3-rdma,
    /// on which the TCD authors' release is built, `DoDequeueQCN` in `broadcom-egress-queue.cc`; the other published systems do not say).
    pub scheduler: NicScheduler,
    /// By which port a queue pair of a host with several sends. All profiles: hash, as a bond of ports does (IEEE 802.1AX: a flow stays on
    /// one link).
    pub port: NicPort,
    /// What holds the ACKs of queue pairs there. hpcc-ns3, conweave-ns3: unpaused (`ACK_HIGH_PRIO 1` of the HPCC simulator's `run.py` for
    /// DCQCN, which
    /// acts on hosts alone); the other profiles: priority. In effect with switch.flow-control = pfc.
    pub acks: NicAcks,
    /// From the time at which a message is posted to its first packet: the doorbell, reading the request and the data, and what the
    /// application takes to post it. All profiles: 0 (no published system has it).
    #[schemars(extend("x-maximum" = "1s"))]
    pub post_delay: Quantity<Span>,
    /// Between two messages of a queue pair, from the last bit of one to the first bit of the next. All profiles: 0.
    #[schemars(extend("x-maximum" = "1s"))]
    pub message_gap: Quantity<Span>,
    /// The least time between the first packets of two messages of a NIC, whatever their queue pairs: one over its message rate. All
    /// profiles: 0.
    #[schemars(extend("x-maximum" = "1s"))]
    pub message_interval: Quantity<Span>,
    /// How many bytes, headers included, a queue pair that was idle sends at `start-rate`: until its reads from the memory of the host keep
    /// up with the link. All profiles: 0.
    #[schemars(extend("x-maximum" = "1GB"))]
    pub start_bytes: Quantity<Bytes>,
    /// The rate of those bytes. All profiles: unlimited.
    #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
    pub start_rate: WordOr<NoLimit, Rate>,
    /// From the packet that a CNP answers to the CNP. All profiles: 0.
    #[schemars(extend("x-maximum" = "1s"))]
    pub cnp_delay: Quantity<Span>,
    /// What the NIC does about a PAUSE that its switch does not end. In effect with switch.flow-control = pfc.
    pub watchdog: PfcWatchdog,
}

/// Hosts: what they send with, and how fast they receive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Host {
    /// What carries the traffic entries that do not say it themselves. endpoint: put (EC paper, section III-B); the other
    /// profiles: roce.
    pub transport: Transport,
    /// What holds their packets back besides the reaction point of a flow and flow control.
    pub throttle: ThrottleSettings,
    /// How their NICs serve what they have to send.
    pub nic: Nic,
    /// The hosts that `drain`, `queue`, `pattern` and `pfc` are for; the others process what comes at once. All profiles: all.
    pub of: Names,
    /// How fast they process what they receive, headers included. All profiles: unlimited. The EC paper has 50 to 100 % of the link.
    #[schemars(extend("x-maximum" = "100Tbps"))]
    pub drain: WordOr<NoLimit, Rate>,
    /// What is in a cache of the host costs it no time: messages of at most this size are taken as they come, and `drain` is for longer
    /// ones. Of a closed loop all messages under way count together. All profiles: 0.
    #[schemars(extend("x-maximum" = "1TB"))]
    pub cached: Quantity<Bytes>,
    /// Most bytes that wait there which came by one port, of all traffic together, headers included; what is being processed counts until
    /// it is done.
    /// endpoint: 80,992 B ("81 KB", EC paper, section III-B; 2531 flits of 32 B); the other profiles: 256 KiB (reconstructed: the
    /// published systems have no such queue; the region of a port in profile isolation).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub queue: Quantity<Bytes>,
    /// How their speed changes. All profiles: constant (EC paper, section III-B).
    pub pattern: Pattern,
    /// When they pause their switch.
    pub pfc: HostPfc,
}

const fn us_25() -> Quantity<Span> {
    Quantity(Span::from_us(25))
}
