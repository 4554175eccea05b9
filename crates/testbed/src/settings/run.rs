//! `[run]`, `[clock]`
use backwater_document::quantity::Quantity;
use backwater_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;

/// How long, and with what.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Run {
    /// When it ends. Default: with SIGTERM.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "10000s"))]
    pub duration: Option<Quantity<Span>>,
    /// Receivers count in windows of this length. Default 100 ms (TCD paper §5.1.1).
    #[serde(default = "window")]
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1000s"))]
    pub window: Quantity<Span>,
    /// Of random numbers. Default 1.
    #[serde(default = "one")]
    pub seed: u64,
    /// Packet buffers (mbufs). Default 65535.
    #[serde(default = "frames")]
    #[schemars(range(min = 256, max = 16_777_215))]
    pub frames: u32,
    /// Bytes of a packet buffer: the longest frame. Default 2048 B.
    #[serde(default = "frame_bytes")]
    #[schemars(extend("x-minimum" = "128B", "x-maximum" = "16KiB"))]
    pub frame_bytes: Quantity<Bytes>,
}

impl Default for Run {
    fn default() -> Self {
        Self { duration: None, window: window(), seed: one(), frames: frames(), frame_bytes: frame_bytes() }
    }
}

const fn window() -> Quantity<Span> {
    Quantity(Span::from_ms(100))
}
const fn one() -> u64 {
    1
}
const fn frames() -> u32 {
    65_535
}
const fn frame_bytes() -> Quantity<Bytes> {
    Quantity(Bytes::new(2048))
}

/// Where time comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClockKind {
    /// Each visit of a node adds `cap`: the same run every time.
    Step,
    /// The processor's counter, but a visit adds at most `cap`: a stall of the machine freezes the whole testbed.
    #[default]
    Clamp,
    /// Clamp, and no process is further ahead of the slowest than `lookahead`.
    Lockstep,
    /// The processor's counter as it is.
    Wall,
}

/// What time it is.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Clock {
    /// Where time comes from. Default clamp.
    #[serde(default)]
    pub kind: ClockKind,
    /// What a visit of a node adds (step), or adds at most (clamp, lockstep); the gap that counts as a disturbance (wall). Default:
    /// computed from the links.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1ms"))]
    pub cap: Option<Quantity<Span>>,
    /// lockstep: how far a process may be ahead; at most the delay of the links between processes. Default: the shortest delay of a port on
    /// a device.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub lookahead: Option<Quantity<Span>>,
    /// lockstep: a file that all processes map. Default `/dev/shm/backwater`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub page: Option<String>,
    /// lockstep: number of this process, from 0. Default 0.
    #[serde(default)]
    #[schemars(range(max = 63))]
    pub process: u32,
    /// lockstep: how many processes there are. Default 1.
    #[serde(default)]
    #[schemars(range(min = 1, max = 64))]
    pub processes: Option<u32>,
    /// How long a start waits for the links of its devices to come up. Default 10 s.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "1ms", "x-maximum" = "1000s"))]
    pub link_timeout: Option<Quantity<Span>>,
}
