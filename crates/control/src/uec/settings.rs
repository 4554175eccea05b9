//! What people write of who rules how fast flows of Ultra Ethernet send.
use backwater_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CreditConfig, NsccChoice};
use crate::config::{AutoOr, Quantity};
use crate::reaction::settings::{Parameters, PathFacts};
use crate::reaction::{CcSettings, ReactionConfig};

/// NSCC: a window by queueing delay and marks, for transport = uec. What is not a key here follows from the network as the Ultra Ethernet
/// Specification 1.0 has it (table 3-82).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NsccParams {
    /// The queueing delay aimed at. All profiles: auto, 0.75 of the longest unloaded round trip where switches trim, else all of it (UE table
    /// 3-82).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub target: AutoOr<Span>,
    /// How much of what is above the target one decrease takes. All profiles: 0.8 (UE table 3-82).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gamma: f64,
    /// The most that one decrease takes of the window. All profiles: 0.5 (UE table 3-82).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub most_decrease: f64,
    /// Quick adapt acts if less has come than the largest window divided by 2 to the power of this. All profiles: 3 (UE table 3-82).
    #[schemars(range(max = 30))]
    pub gate: u32,
    /// Quick adapt acts if the delay is more than so many times the target. All profiles: 4 (UE table 3-82).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub trigger: f64,
    /// Weight of a new delay in the mean. All profiles: 0.0125 (UE table 3-82).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub average: f64,
    /// Between two fixed increases. All profiles: auto, the longest unloaded round trip (UE table 3-82).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub period: AutoOr<Span>,
    /// Bytes that come before increases take effect. All profiles: auto, 8 full packets (UE table 3-82).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub bytes: AutoOr<Bytes>,
}

impl NsccParams {
    /// As the rule takes it.
    pub fn choice(&self) -> NsccChoice {
        let span = |value| if let AutoOr::Given(Quantity(given)) = value { Some(given) } else { None };
        NsccChoice {
            target: span(self.target),
            gamma: self.gamma,
            most_decrease: self.most_decrease,
            gate: self.gate,
            trigger: self.trigger,
            average: self.average,
            period: span(self.period),
            bytes: if let AutoOr::Given(Quantity(given)) = self.bytes { Some(given) } else { None },
        }
    }
}

/// Whether receivers give fewer credits where the network before their links is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenOversubscribed {
    /// If switches have less capacity to others than to hosts, and windows do not rule, too.
    Auto,
    /// They do.
    On,
    /// They do not.
    Off,
}

/// RCCC: receivers share their links out in credits, for transport = uec.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RcccParams {
    /// What credits are counted in. All profiles: 256 B (UE §3.6.14).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "64KB"))]
    pub quantum: Quantity<Bytes>,
    /// The most that one pull grants, in whole quanta. All profiles: 16384 B (the Consortium's simulator, commit 40ccb05; UE does not say).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub credit: Quantity<Bytes>,
    /// The share of its link that a receiver gives out. All profiles: 0.99 (the same; UE leaves it open).
    #[schemars(range(min = 0.01, max = 1.0))]
    pub rate: f64,
    /// Whether a sender starts with credit for one largest window that nobody has given. All profiles: true (UE §3.6.14).
    pub speculate: bool,
    /// Whether receivers give fewer credits where the network before their links is short. All profiles: auto (the same simulator).
    pub oversubscribed: WhenOversubscribed,
}

impl RcccParams {
    /// As the rule takes it, with a largest window of so many bytes.
    pub fn config(&self, most: u64, mtu: u16) -> CreditConfig {
        let quantum = self.quantum.0.get().max(1);
        CreditConfig {
            quantum: quantum as u32,
            grant: (self.credit.0.get() / quantum).max(1) as u32,
            most,
            mtu: mtu.into(),
            speculates: self.speculate,
        }
    }
}

/// Both: what `cc.nscc` and `cc.rccc` say. It has no keys of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NsccRcccParams {}

/// No queue pair has these: they rule flows of another transport.
macro_rules! of_uec {
    ($params:ty, $shared:expr) => {
        impl Parameters for $params {
            const SHARED: &'static [&'static str] = $shared;

            fn resolve(&self, _: &CcSettings, _: &dyn Fn() -> PathFacts) -> ReactionConfig {
                ReactionConfig::LineRate(())
            }
        }
    };
}
of_uec!(NsccParams, &[]);
of_uec!(RcccParams, &[]);
of_uec!(NsccRcccParams, &["nscc", "rccc"]);
