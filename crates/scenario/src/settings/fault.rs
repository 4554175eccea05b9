//! `[[fault]]`, `[fault-handling]` and `[switch.pfc.watchdog]`
use backwater_control::config::{Reads, kinds};
use backwater_units::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AutoOr;
use super::traffic::zero_span;
use crate::quantity::Quantity;

/// When something happens: once, or several times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Instants {
    /// Once.
    Once(Quantity<Span>),
    /// At each of these times.
    Several(Vec<Quantity<Span>>),
}

impl Instants {
    /// The times as they are written.
    pub fn list(&self) -> &[Quantity<Span>] {
        match self {
            Self::Once(at) => std::slice::from_ref(at),
            Self::Several(all) => all,
        }
    }
}

/// Something that goes wrong (docs/faults.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Fault {
    /// A link is down. What is on it is lost, and what waits for it.
    LinkDown {
        /// The two nodes that it joins, by name. `["a", "b:1"]` is the second of several links side by side; without a number all of them
        /// are meant.
        #[schemars(length(min = 2, max = 2))]
        link: Vec<String>,
        /// When it goes down; a list of times for several failures.
        at: Instants,
        /// How long it is down, each time. Give `for` or `until`, or none: it stays down.
        #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "18014s"))]
        lasts: Option<Quantity<Span>>,
        /// When it is up again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-maximum" = "18014s"))]
        until: Option<Quantity<Span>>,
        /// From one failure to the next. Give `times`, too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "18014s"))]
        every: Option<Quantity<Span>>,
        /// How many failures, `every` so often.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 1_000_000))]
        times: Option<u32>,
    },
    /// A link sends slower, in both directions or in one. A frame that has begun keeps its rate.
    LinkSlow {
        /// The two nodes that it joins, by name, as for `link-down`.
        #[schemars(length(min = 2, max = 2))]
        link: Vec<String>,
        /// Its rate meanwhile.
        #[schemars(extend("x-minimum" = "1Mbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// The end that sends slower. Default both.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        /// From when.
        #[schemars(extend("x-maximum" = "18014s"))]
        at: Quantity<Span>,
        /// Until when. Default to the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-maximum" = "18014s"))]
        until: Option<Quantity<Span>>,
    },
    /// A link loses frames at random. Give `frames` or `bits`. PFC frames are not lost.
    Loss {
        /// The two nodes that it joins, by name, as for `link-down`.
        #[schemars(length(min = 2, max = 2))]
        link: Vec<String>,
        /// Share of the frames that are lost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0.0, max = 1.0))]
        frames: Option<f64>,
        /// Bit error rate: a frame with a wrong bit is lost. IEEE 802.3 wants 1e-12 or less of a link.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0.0, max = 1.0))]
        bits: Option<f64>,
        /// The end whose frames are lost. Default both.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        /// From when. Default 0.
        #[serde(default = "zero_span")]
        #[schemars(extend("x-maximum" = "18014s"))]
        at: Quantity<Span>,
        /// Until when. Default to the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-maximum" = "18014s"))]
        until: Option<Quantity<Span>>,
    },
    /// A switch is down: all its links are.
    SwitchDown {
        /// Its name.
        switch: String,
        /// When it goes down; a list of times for several failures.
        at: Instants,
        /// How long it is down, each time. Give `for` or `until`, or none: it stays down.
        #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "18014s"))]
        lasts: Option<Quantity<Span>>,
        /// When it is up again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-maximum" = "18014s"))]
        until: Option<Quantity<Span>>,
    },
    /// A switch loses packets in silence (a gray failure): no link is down, and nobody notices.
    Gray {
        /// Its name.
        switch: String,
        /// Only packets of this host. Default of all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        /// Only packets to this host. Default to all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        /// Share of them that is lost. Default 1: all.
        #[serde(default = "all")]
        #[schemars(range(min = 0.0, max = 1.0))]
        share: f64,
        /// From when.
        #[schemars(extend("x-maximum" = "18014s"))]
        at: Quantity<Span>,
        /// Until when. Default to the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-maximum" = "18014s"))]
        until: Option<Quantity<Span>>,
    },
    /// A NIC sends PAUSE without end. It sends the next one at half of the longest pause (65535 quanta), or of `switch.pfc.pause`.
    PauseStorm {
        /// The host.
        host: String,
        /// The one of its ports that sends it, from 0 in the order of its links. Default all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
        /// The priorities that it pauses. Default all lossless ones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(inner(range(max = 7)), length(min = 1))]
        priorities: Option<Vec<u8>>,
        /// From when.
        #[schemars(extend("x-maximum" = "18014s"))]
        at: Quantity<Span>,
        /// Until when: then it sends RESUME. Default to the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-maximum" = "18014s"))]
        until: Option<Quantity<Span>>,
    },
    /// A host stops: it takes in nothing and sends nothing. Its links stay up, so nobody notices.
    HostStop {
        /// Its name.
        host: String,
        /// When.
        #[schemars(extend("x-maximum" = "18014s"))]
        at: Quantity<Span>,
    },
}

impl Fault {
    /// The name in scenario files.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::LinkDown { .. } => "link-down",
            Self::LinkSlow { .. } => "link-slow",
            Self::Loss { .. } => "loss",
            Self::SwitchDown { .. } => "switch-down",
            Self::Gray { .. } => "gray",
            Self::PauseStorm { .. } => "pause-storm",
            Self::HostStop { .. } => "host-stop",
        }
    }

    /// Whether it takes links down.
    pub const fn downs(&self) -> bool {
        matches!(self, Self::LinkDown { .. } | Self::SwitchDown { .. })
    }

    /// Whether packets are lost by it.
    pub const fn loses(&self) -> bool {
        !matches!(self, Self::LinkSlow { .. } | Self::PauseStorm { .. })
    }
}

const fn all() -> f64 {
    1.0
}

kinds! {
    /// What links do about frames with a wrong bit.
    LinkRetry;
    /// Nothing: who takes one in discards it, and the transport sends it again if it can.
    None = "none" reads Reads::Only(&[]);
    /// Link-level retry of Ultra Ethernet: the port sends it again, and all that it has sent since (UE 1.0, §5.1). No such loss reaches a
    /// transport; the order stays.
    Llr = "llr" reads Reads::Only(&[]);
}

/// link-retry = llr: the same at every port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Llr {
    /// The replay buffer of a port. No less than auto. All profiles: auto, what leaves in the round trip of the link, and one packet (UE 1.0,
    /// Table 5-9, as snappi has it: the link's bandwidth-delay product).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub buffer: AutoOr<Bytes>,
    /// How long a port waits for an answer that does not come, before it sends again. All profiles: auto, two round trips of the link
    /// (reconstructed: UE 1.0 leaves it open, as does SAI 1.18).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub timer: AutoOr<Span>,
}

/// What the network does about links that are down, and about frames with a wrong bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FaultHandling {
    /// From a failure until the switches at the link leave it out of their groups of equally short ways, and from its end until they
    /// use it again. What is over before is not noticed. All profiles: 1 ms (reconstructed: the port loses its signal at once, and the
    /// switch's software acts on it). BFD (RFC 5880) takes its interval three times: 150 ms with 50 ms.
    #[schemars(extend("x-maximum" = "1000s"))]
    pub detect: Quantity<Span>,
    /// From that until all switches have routes without the link. All profiles: 100 ms (reconstructed: a routing protocol tells all
    /// switches, and each writes its tables).
    #[schemars(extend("x-maximum" = "1000s"))]
    pub converge: Quantity<Span>,
    /// What links do about frames with a wrong bit ([[fault]] of kind = loss). All profiles: none (IEEE 802.3 has no retry; UE 1.0: optional).
    pub link_retry: LinkRetry,
    /// link-retry = llr: its buffer and its timer.
    pub llr: Llr,
}

kinds! {
    /// What the PFC watchdog does with what waits behind a PAUSE that does not end.
    OnStorm;
    /// There is no watchdog.
    None = "none" reads Reads::Only(&[]);
    /// It is dropped, with what comes for it and what comes from there in that priority. A NIC drops only the frames that wait at its port,
    /// such as ACKs: the data stays in the memory of the host.
    Drop = "drop" reads Reads::All(&[]);
    /// It is sent: the PAUSE is not obeyed.
    Forward = "forward" reads Reads::All(&[]);
}

/// The PFC watchdog of all switches, or of all NICs, as `pfcwd` of `SONiC` has it. In effect with switch.flow-control = pfc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PfcWatchdog {
    /// What it does. All profiles: none (IEEE 802.1Q has no watchdog). `SONiC` has drop where it is started without a choice.
    pub action: OnStorm,
    /// A queue is in a storm if it is paused for so long with packets in it. All profiles: 200 ms
    /// (`SONiC`, `DEFAULT_DETECTION_TIME` of `pfcwd`, commit 015521a5; its `detection_time` may be 100 ms to 5 s).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1000s"))]
    pub detect: Quantity<Span>,
    /// The storm is over if no PAUSE has come for so long; with form = ideal also none is in force. All profiles: 200 ms (`SONiC`,
    /// `DEFAULT_RESTORATION_TIME` of `pfcwd`, commit 015521a5; its `restoration_time` may be 100 ms to 60 s).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1000s"))]
    pub restore: Quantity<Span>,
}
