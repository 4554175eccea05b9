//! The reaction point and the notification point.
use backwater_control::ConfigError;
use backwater_control::notify::{Mode, NotifyConfig};
use backwater_control::reaction::{DcqcnConfig, DcqcnHpccConfig, OnUe, ReactionConfig};
use backwater_topology::Network;

use super::Context;
use crate::document::at;
use crate::settings::{self, Cc, CcKind, Np, Variant};

/// The reaction point of flows under congestion control.
pub(super) fn reaction(context: &mut Context<'_>, network: Option<&Network>) -> Option<ReactionConfig> {
    let cc = &context.settings.cc;
    let config = config(cc);
    if cc.kind == CcKind::None {
        return Some(config);
    }
    if let Err(error) = config.validate() {
        context.refuse("cc", &error);
        return None;
    }
    if cc.variant == Variant::DecreaseCheck && context.settings.ack.every == 0 {
        let message =
            "cc.variant = \"decrease-check\" gets its marks from ACKs, but ack.every = 0 sends none"
                .to_owned();
        context.report(
            &at!["cc", "variant"],
            message,
            "needs ACKs",
            "set ack.every = 1, or cc.variant = \"byte-counter\"",
        );
    }
    let slowest = network.and_then(|network| {
        let nics = network.hosts().iter().filter_map(|&host| network.ports(host).first());
        nics.map(|port| port.rate).min()
    });
    if let Some(slowest) = slowest.filter(|&slowest| slowest < cc.min_rate.0) {
        let message = format!("cc.min-rate = {} is more than the slowest host link, {slowest}", cc.min_rate);
        let label = format!("allowed: at most {slowest}");
        context.report(&at!["cc", "min-rate"], message, label, "lower cc.min-rate");
    }
    Some(config)
}

fn config(cc: &Cc) -> ReactionConfig {
    let on_ue = match cc.on_ue {
        settings::OnUe::ResetHold => OnUe::ResetHold,
        settings::OnUe::TimerHold => OnUe::TimerHold,
        settings::OnUe::Ignore => OnUe::Ignore,
    };
    match (cc.kind, cc.variant) {
        (CcKind::None, _) => ReactionConfig::LineRate,
        (CcKind::Dcqcn, Variant::ByteCounter) => ReactionConfig::Dcqcn(DcqcnConfig {
            alpha_initial: cc.alpha_initial,
            g: cc.g,
            cut: 0.5,
            alpha_timer: cc.alpha_timer.0,
            rate_timer: cc.rate_timer.0,
            byte_counter: cc.byte_counter.0,
            fast_recovery: cc.fast_recovery,
            rate_ai: cc.rate_ai.0,
            rate_hai: cc.rate_hai.0,
            min_rate: cc.min_rate.0,
            clamp_target: cc.clamp_target,
            cut_first: cc.cut_first,
            eighth_rule: cc.eighth_rule,
            on_ue,
        }),
        (CcKind::Dcqcn, Variant::DecreaseCheck) => ReactionConfig::DcqcnHpcc(DcqcnHpccConfig {
            alpha_initial: cc.alpha_initial,
            g: cc.g,
            alpha_timer: cc.alpha_timer.0,
            decrease_interval: cc.decrease_interval.0,
            rate_timer: cc.rate_timer.0,
            fast_recovery: cc.fast_recovery,
            rate_ai: cc.rate_ai.0,
            rate_hai: cc.rate_hai.0,
            min_rate: cc.min_rate.0,
            clamp_target: cc.clamp_target,
            on_ue,
        }),
    }
}

/// The notification point, if receivers send CNPs.
pub(super) fn notify(context: &mut Context<'_>) -> Option<NotifyConfig> {
    let cc = &context.settings.cc;
    if cc.kind == CcKind::None || cc.variant == Variant::DecreaseCheck {
        return None;
    }
    let mode = match cc.np {
        Np::Grid => Mode::Grid,
        Np::FirstMark => Mode::FirstMark,
    };
    let config = NotifyConfig { interval: cc.cnp_interval.0, mode, fraction: 0.0 };
    config.validate().map_err(|error| context.refuse("cc", &error)).is_ok().then_some(config)
}

impl Context<'_> {
    /// Reports what an algorithm says about its parameters, at the parameter's key in a table.
    pub(super) fn refuse(&mut self, table: &'static str, error: &ConfigError) {
        let path = match table {
            "switch.detector" => at!["switch", "detector", error.parameter].to_vec(),
            "switch.pfc" => at!["switch", "pfc", error.parameter].to_vec(),
            table => at![table, error.parameter].to_vec(),
        };
        let message = format!("{table}.{} = {} is not allowed", error.parameter, error.value);
        self.report(&path, message, format!("must be {}", error.allowed), error.fix);
    }
}
