//! `[flow-control]`, `[detector]`
use backwater_control::detector::Trend;
use backwater_document::quantity::Quantity;
use backwater_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;

/// What a port does in a storm of PAUSEs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Frames of the priority are dropped.
    #[default]
    Drop,
    /// They are sent in spite of the PAUSE.
    Forward,
}

/// Who may send when.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum FlowControl {
    /// Whoever likes; full queues drop.
    #[default]
    None,
    /// Priority flow control (IEEE 802.1Qbb), accounted per ingress port and priority.
    Pfc {
        /// PAUSE above this many bytes. Default 800 KB (TCD paper §5.1.1).
        #[serde(default = "xoff")]
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1TB"))]
        xoff: Quantity<Bytes>,
        /// RESUME at or below this. Default 770 KB (TCD paper §5.1.1).
        #[serde(default = "xon")]
        #[schemars(extend("x-maximum" = "1TB"))]
        xon: Quantity<Bytes>,
        /// The lossless priorities. Default 3.
        #[serde(default = "lossless")]
        #[schemars(inner(range(max = 7)))]
        priorities: Vec<u8>,
        /// Length of a PAUSE in quanta of 512 bit times. Default 65535, the most.
        #[serde(default = "quanta")]
        #[schemars(range(min = 2, max = 65_535))]
        quanta: u16,
        /// What an ingress priority may hold above `xoff`; more is dropped. Default: as much as there are packet buffers.
        #[serde(default)]
        #[schemars(extend("x-maximum" = "1TB"))]
        headroom: Option<Quantity<Bytes>>,
        /// A priority that is held back for so long with frames waiting is in a storm. Default: there is no watchdog (IEEE 802.1Q has
        /// none; `SONiC` takes 200 ms).
        #[serde(default)]
        #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1000s"))]
        watchdog: Option<Quantity<Span>>,
        /// A storm is over when no PAUSE has come for so long. Default `watchdog`.
        #[serde(default)]
        #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1000s"))]
        watchdog_restore: Option<Quantity<Span>>,
        /// What happens to frames of the priority in a storm. Default drop (`SONiC`).
        #[serde(default)]
        watchdog_action: Action,
    },
    /// Credits of InfiniBand, in blocks of 64 B, advertised every Tc.
    Credits {
        /// What the ingress buffer of a port holds of one virtual lane: at least the longest frame (`run.frame-bytes`); a link keeps its rate from
        /// C·(Tc + τ) on. Default 800 KB (TCD paper §5.1.1).
        #[serde(default = "xoff")]
        #[schemars(extend("x-minimum" = "2KB", "x-maximum" = "1TB"))]
        buffer: Quantity<Bytes>,
        /// Tc, between two messages. Default 60 µs (TCD paper §5.1.1).
        #[serde(default = "tc")]
        #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1s"))]
        period: Quantity<Span>,
        /// The virtual lanes under credits. Default 3.
        #[serde(default = "lossless")]
        #[schemars(inner(range(max = 7)))]
        priorities: Vec<u8>,
        /// When the first message goes. Default: for each port another, drawn from the seed.
        #[serde(default)]
        #[schemars(extend("x-maximum" = "1s"))]
        phase: Option<Quantity<Span>>,
    },
}

const fn xoff() -> Quantity<Bytes> {
    Quantity(Bytes::from_kb(800))
}
const fn xon() -> Quantity<Bytes> {
    Quantity(Bytes::from_kb(770))
}
const fn tc() -> Quantity<Span> {
    Quantity(Span::from_us(60))
}
const fn quanta() -> u16 {
    u16::MAX
}
fn lossless() -> Vec<u8> {
    vec![3]
}

const fn kmin() -> Quantity<Bytes> {
    Quantity(Bytes::from_kb(5))
}
const fn kmax() -> Quantity<Bytes> {
    Quantity(Bytes::from_kb(200))
}
const fn pmax() -> f64 {
    0.01
}

/// What egress ports mark.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Detector {
    /// Nothing.
    #[default]
    None,
    /// CE by the length of the queue.
    Red {
        /// No mark up to this queue. Default 5 KB (DCQCN paper).
        #[serde(default = "kmin")]
        #[schemars(extend("x-maximum" = "1TB"))]
        kmin: Quantity<Bytes>,
        /// Always a mark above this queue. Default 200 KB (TCD paper §5.1).
        #[serde(default = "kmax")]
        #[schemars(extend("x-maximum" = "1TB"))]
        kmax: Quantity<Bytes>,
        /// Probability of a mark just below `kmax`. Default 0.01 (DCQCN paper).
        #[serde(default = "pmax")]
        #[schemars(range(min = 0.0, max = 1.0))]
        pmax: f64,
    },
    /// The same, but not for packets that waited behind a closed gate (PCN).
    NpEcn {
        /// No mark up to this queue. Default 5 KB (DCQCN paper).
        #[serde(default = "kmin")]
        #[schemars(extend("x-maximum" = "1TB"))]
        kmin: Quantity<Bytes>,
        /// Always a mark above this queue. Default 200 KB (TCD paper §5.1).
        #[serde(default = "kmax")]
        #[schemars(extend("x-maximum" = "1TB"))]
        kmax: Quantity<Bytes>,
        /// Probability of a mark just below `kmax`. Default 0.01 (DCQCN paper).
        #[serde(default = "pmax")]
        #[schemars(range(min = 0.0, max = 1.0))]
        pmax: f64,
    },
    /// Ternary congestion detection.
    Tcd {
        /// No mark up to this queue. Default 5 KB (DCQCN paper).
        #[serde(default = "kmin")]
        #[schemars(extend("x-maximum" = "1TB"))]
        kmin: Quantity<Bytes>,
        /// Always a mark above this queue. Default 200 KB (TCD paper §5.1).
        #[serde(default = "kmax")]
        #[schemars(extend("x-maximum" = "1TB"))]
        kmax: Quantity<Bytes>,
        /// Probability of a mark just below `kmax`. Default 0.01 (DCQCN paper).
        #[serde(default = "pmax")]
        #[schemars(range(min = 0.0, max = 1.0))]
        pmax: f64,
        /// How a rising queue is recognised. Default rise (Fig. 9 of the TCD paper).
        #[serde(default)]
        trend: Trend,
        /// How long after an OFF period a port counts as undetermined. Default: from `epsilon` (Eqn 3 of the TCD paper), of the slowest port
        /// of the switch; under credits their period (Eqn 4).
        #[serde(default)]
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "10s"))]
        max_ton: Option<Quantity<Span>>,
        /// Least congestion degree that is distinguished from none. Default 0.04 (TCD paper §5.1.1). Not with `max-ton`, and not under credits.
        #[serde(default)]
        #[schemars(range(min = 0.0001, max = 1.0))]
        epsilon: Option<f64>,
        /// Response time of the loop of PAUSEs, for Eqn 3. Default 2 MTU/C + 2 tp of the port, where MTU is the longest packet with what it
        /// occupies beside its bytes; the paper's testbed: 20 µs.
        #[serde(default)]
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        tau: Option<Quantity<Span>>,
        /// T, between two verdicts. Default max(Ton); under credits the least number of whole Tc's that is at least 4 Tc and 200 µs.
        #[serde(default)]
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "10s"))]
        period: Option<Quantity<Span>>,
        /// At or below this queue a released port has drained. Default: the longest packet of the flows; without flows 1058 B, that is
        /// Ethernet 14 (IEEE 802.3), `IPv4` 20, UDP 8, BTH 12 and ICRC 4 (InfiniBand vol. 1, annex A17) around the 1000 B of the TCD paper. A
        /// queue does not count Ethernet's check sequence.
        #[serde(default)]
        #[schemars(extend("x-maximum" = "1TB"))]
        low: Option<Quantity<Bytes>>,
        /// Dead band of the trend. Default: twice the default of `low`, two packets.
        #[serde(default)]
        #[schemars(extend("x-maximum" = "1TB"))]
        delta: Option<Quantity<Bytes>>,
    },
}
