//! A memory that is divided among egress queues and among ingress ports: shares that are powers of two.
use backwater_fabric::TwoPoolsSpec;
use backwater_units::Bytes;

use super::Context;
use crate::document::at;
use crate::quantity::AutoOr;

/// What the settings say; other shares than powers of two are reported.
pub(super) fn two_pools(context: &mut Context<'_>) -> TwoPoolsSpec {
    let pools = context.settings.switch.two_pools.clone();
    let given = |pool: AutoOr<Bytes>| match pool {
        AutoOr::Auto => None,
        AutoOr::Given(bytes) => Some(bytes.0),
    };
    TwoPoolsSpec {
        egress: given(pools.egress_pool),
        ingress: given(pools.ingress_pool),
        egress_log_alpha: log(context, "egress-alpha", pools.egress_alpha),
        ingress_log_alpha: log(context, "ingress-alpha", pools.ingress_alpha),
        reserve: pools.reserve.0,
        headroom: pools.headroom.0,
        hysteresis: pools.hysteresis.0,
    }
}

fn log(context: &mut Context<'_>, key: &'static str, alpha: f64) -> i8 {
    let log = alpha.log2();
    if log.fract() != 0.0 {
        let message = format!("switch.two-pools.{key} = {alpha} is no power of two");
        let near = 2f64.powi(log.round() as i32);
        context.report(&at!["switch", "two-pools", key], message, "a power of two", format!("write {near}"));
    }
    log.round().clamp(-15.0, 15.0) as i8
}
