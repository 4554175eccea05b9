//! `[cc.ib]`
use backwater_units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// How the delay grows along the congestion control table (CCT).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cct {
    /// With the square of the index: gentle at first (TCD authors' flit-level model).
    Quadratic,
    /// With the index.
    Linear,
}

/// What IB CC makes of a notification that carries UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IbOnUe {
    /// The rate is kept, and its next increase put off by a whole `timer` (TCD paper §5.2.2).
    Hold,
    /// Nothing.
    Ignore,
}

/// InfiniBand congestion control (InfiniBand specification, Annex A10). The receiver notifies the source of every marked
/// packet (BECN); each notification moves the flow up a table of delays between packets, time moves it down again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Ib {
    /// `CCTI_Increase`: entries of the table per notification. All profiles: 1 (Gran et al., IPDPS 2010); with TCD 2 (TCD paper
    /// §5.2.2).
    #[schemars(range(min = 1, max = 16_383))]
    pub increase: u16,
    /// `CCTI_Limit`: the last entry in use. All profiles: 127 (Gran et al., IPDPS 2010).
    #[schemars(range(min = 1, max = 16_383))]
    pub limit: u16,
    /// `CCTI_Min`: the first entry. All profiles: 0 (Gran et al., IPDPS 2010).
    #[schemars(range(max = 16_383))]
    pub min: u16,
    /// `CCTI_Timer`: time per entry on the way back. All profiles: 153.6 µs (Gran et al., IPDPS 2010: 150 units of 1.024 µs); the
    /// TCD authors' flit-level model has 10 to 90 µs.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub timer: Quantity<Span>,
    /// Shape of the table. All profiles: quadratic (TCD authors' flit-level model).
    pub cct: Cct,
    /// Delay of entry 127, in times of the packet before it: the rate there is the link's over 1 + `cct-top`. All profiles:
    /// 15.09 (TCD authors' flit-level model: 127² · 3300/6889 ns between packets of 512 ns).
    #[schemars(range(min = 0.001, max = 16_383.0))]
    pub cct_top: f64,
    /// What a notification that carries UE does. All profiles: hold (TCD paper §5.2.2); none carries UE unless the detector is
    /// tcd.
    pub on_ue: IbOnUe,
}
