//! Reaction point: how fast may this flow send?
//!
//! One file for each [`Controller`], and one line in a list below: that of queue pairs makes [`Reaction`], [`ReactionConfig`] and what
//! people write of them, that of streams of PUTs [`Policy`] and [`PolicyConfig`].
//! [`Pft`] is lazy in the same way, but is one value per NIC port: it holds all of its flows. [`custom`] is what users write
//! themselves; its line has no controller, as all flows would have to make room for its words.
#[cfg(feature = "config")]
use backwater_units::Bytes;
use backwater_units::{Rate, Span, Time};

#[cfg(feature = "config")]
use self::settings::{Np, Pacing, Parameters, PathFacts, Unread, Wants, WindowCounts};
#[cfg(feature = "config")]
use crate::config::Quantity;
#[cfg(feature = "config")]
use crate::uec::settings::{NsccParams, NsccRcccParams, RcccParams};
use crate::{CodePoint, ConfigError};

mod aimd;
mod controller;
pub mod custom;
mod dack;
mod dcqcn;
mod dcqcn_hpcc;
mod dctcp;
mod feedback;
mod hpcc;
mod ib_cc;
mod opt;
mod pacer;
mod pcn;
pub mod pft;
#[cfg(feature = "config")]
pub mod settings;
mod swift;
mod timely;

pub use aimd::{Aimd, AimdConfig};
pub use controller::{AckFacts, Controller, Load, State};
pub use dack::{Dack, DackConfig, FreeOne, Grants, Halt};
pub use dcqcn::{Dcqcn, DcqcnConfig};
pub use dcqcn_hpcc::{DcqcnHpcc, DcqcnHpccConfig};
pub use dctcp::{Dctcp, DctcpConfig};
pub use feedback::{Feedback, IntHop, MAX_HOPS};
pub use hpcc::{Hpcc, HpccConfig};
pub use ib_cc::{CctShape, IbCc, IbCcConfig, IbCcOnUe};
pub use opt::{Opt, OptConfig};
pub use pacer::Pacer;
pub use pcn::{Pcn, PcnConfig};
pub use pft::{Gate, Pft, PftConfig, Polarity, RateLaw, Scope, StateRule, Transition, interval};
pub use swift::{Swift, SwiftConfig};
pub use timely::{Timely, TimelyConfig, TimelyForm, TimelyOnUe};

/// What parameters people write.
#[cfg(feature = "config")]
pub use self::{
    custom::{CustomFeedback, CustomParams},
    dcqcn::{DcqcnParams, Variant},
    dctcp::DctcpParams,
    hpcc::HpccParams,
    ib_cc::IbCcParams,
    pcn::PcnParams,
    pft::settings::{PftParams, ThrottleKind, ThrottleSettings},
    swift::SwiftParams,
    timely::TimelyParams,
};

/// What a flow does when a CNP, or an echo, tells it that its packets crossed undetermined ports only (UE).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum OnUe {
    /// Everything a CNP does except the update of alpha and the cut (authors' release): the target falls to the present rate, so that
    /// only additive and hyper increase lead back from a cut.
    ResetHold,
    /// Restarts the rate timer and the byte counter: the rate holds, and the target stays (TCD paper, §5.2: "keeping the flow rate until it
    /// becomes uncongested or congested").
    TimerHold,
    /// Nothing.
    Ignore,
}

controller::reactions! {
    /// DCQCN (SIGCOMM 2015).
    Dcqcn(Dcqcn, DcqcnHpcc) = "dcqcn", dcqcn: DcqcnParams;
    /// TIMELY (SIGCOMM 2015).
    Timely(Timely) = "timely", timely: TimelyParams;
    /// InfiniBand congestion control (InfiniBand specification, Annex A10).
    IbCc(IbCc) = "ib-cc", ib_cc: IbCcParams;
    /// A window by the share of ECN marks: DCTCP (SIGCOMM 2010) for `RoCE`.
    Dctcp(Dctcp) = "dctcp", dctcp: DctcpParams;
    /// A window by delay: Swift (SIGCOMM 2020).
    Swift(Swift) = "swift", swift: SwiftParams;
    /// A window by in-band telemetry: HPCC (SIGCOMM 2019).
    Hpcc(Hpcc) = "hpcc", hpcc: HpccParams;
    /// The rate that the receiver saw: PCN (NSDI 2020).
    Pcn(Pcn) = "pcn", pcn: PcnParams;
    /// A function of the user's.
    Custom() = "custom", custom: CustomParams;
    /// The window of Ultra Ethernet, by queueing delay and marks: NSCC. For transport = uec.
    Nscc() = "nscc", nscc: NsccParams;
    /// The credits of Ultra Ethernet, which receivers give: RCCC. For transport = uec.
    Rccc() = "rccc", rccc: RcccParams;
    /// Both, each of which must allow a packet. For transport = uec.
    NsccRccc() = "nscc+rccc", nscc_rccc: NsccRcccParams;
}

controller::family! {
    /// The controller of a stream of PUTs.
    Policy,
    /// The parameters of a controller of streams, shared by all that use them.
    PolicyConfig;
    /// A limit of what is outstanding.
    Opt(Opt),
    /// A congestion window of a stream of PUTs.
    Aimd(Aimd),
    /// Paced by duplicate ACKs.
    Dack(Dack),
}

/// What a window of so many bytes per round trip comes to, at most `line` and at least 1 bit/s. Before the first round trip: `line`.
pub(crate) fn rate_of(window: f64, rtt: Span, line: Rate) -> Rate {
    if rtt == Span::ZERO {
        return line;
    }
    let bps = window * 8e12 / rtt.as_ps() as f64;
    Rate::from_bps((bps as u64).max(1)).min(line)
}

/// `base` to the power `exponent` by repeated squaring: the same bits on every machine, unlike `powf`.
pub(crate) fn power(base: f64, exponent: u64) -> f64 {
    let (mut result, mut square, mut rest) = (1.0, base, exponent);
    while rest > 0 {
        if rest & 1 == 1 {
            result *= square;
        }
        square *= square;
        rest >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controller_of_a_flow_fits_in_two_cache_lines() {
        assert!(size_of::<Dcqcn>() <= 128);
        assert!(size_of::<DcqcnHpcc>() <= 128);
        assert!(size_of::<Timely>() <= 128);
        assert!(size_of::<IbCc>() <= 64);
        assert!(size_of::<Dctcp>() <= 128);
        assert!(size_of::<Swift>() <= 128);
        assert!(size_of::<Hpcc>() <= 128);
        assert!(size_of::<Pcn>() <= 64);
    }

    #[test]
    fn an_uncontrolled_flow_sends_its_1000_byte_packets_every_200_ns_at_40_gbps() {
        let config = ReactionConfig::LineRate(());
        let mut flow = Reaction::new(&config, Rate::from_gbps(40));
        assert_eq!(flow.gap(1_000), Span::from_ns(200));
        assert!(!flow.on_cnp(&config, Time::ZERO, CodePoint::Congestion));
        assert_eq!(flow.rate(), Rate::from_gbps(40));
        assert_eq!(flow.next_timer(&config), Time::MAX);
    }

    #[test]
    fn powers_by_squaring_agree_with_repeated_multiplication() {
        let by_hand = (0..55).fold(1.0_f64, |product, _| product * (255.0 / 256.0));
        assert!((power(255.0 / 256.0, 55) - by_hand).abs() < 1e-12);
        assert!((power(0.5, 10) - 1.0 / 1024.0).abs() < f64::EPSILON);
        assert!((power(0.9, 0) - 1.0).abs() < f64::EPSILON);
    }
}
