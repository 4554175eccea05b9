//! `[line-rate]`
use backwater_units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// What the profile's values follow: those that fit links of one rate fit no others. What the scenario gives never follows: it stands as
/// written, for links of every rate, and the others of its group still follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LineRate {
    /// The rate of links for which the profile's values are meant. authors, ideal: 40 Gbps (TCD paper §5); infiniband: 32 Gbps
    /// (the data rate of the TCD paper's 40 Gbps); hpcc-ns3, roce: 100 Gbps (`run.py`); isolation: 100 Gbps (ICI paper, section
    /// 4.1); endpoint: 102.4 Gbps (EC paper, section III); hpc: 100 Gbps (PFT paper, section IV); edr: 100 Gbps, hdr: 200 Gbps,
    /// ndr: 400 Gbps, xdr: 800 Gbps (InfiniBand specification, four lanes); slingshot-like: 200 Gbps (De Sensi et al., SC 2020, section II).
    #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
    pub meant_for: Quantity<Rate>,
    /// Whether the profile's values grow with the rate of links: `switch.detector.kmin` and `kmax` with that of the egress port;
    /// `switch.buffer`, `cc.dcqcn.rate-ai` and `cc.dcqcn.rate-hai` with that of most hosts' links (of two as frequent the
    /// faster). hpcc-ns3, roce: true (`run.py`, commit 08d4ba0: 100 and 400 KB, 5 and 50 Mbps for each 25 Gbps, 16 MiB for each
    /// 50 Gbps); the other profiles: false (their sources have one rate and no such rule).
    pub scale: bool,
}
