//! Functions of the user's own that a scenario names: reaction points and a detector.
use std::collections::BTreeMap;

use backwater_control::detector::custom::{self as detecting, CustomDetector, PortEvent, QueueState};
use backwater_control::reaction::custom::{self as reacting, CustomConfig, Event, FlowState};
use backwater_fabric::UserSpec;
use serde::Serialize;

use super::Context;
use super::cc::{below, name};
use crate::document::{Step, at};
use crate::settings::CcSettings;
use backwater_control::config::Parameter;

/// What a scenario says of a function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Function {
    /// Where it is named first: `cc`, `traffic.0.cc`, `switch.detector`.
    pub place: String,
    /// Its file or module, and its name there.
    pub function: String,
    /// Values for words of its state.
    pub parameters: BTreeMap<String, Parameter>,
}

/// The functions that a scenario needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Functions {
    /// Reaction points, each with its parameters once.
    pub controllers: Vec<Function>,
    /// The detector.
    pub detector: Option<Function>,
}

impl Functions {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.controllers.is_empty() && self.detector.is_none()
    }

    /// In place of functions that nobody has loaded: each call fails.
    pub(super) fn absent(&self) -> UserSpec {
        extern "C" fn no_controller(_: &mut FlowState, _: &Event) -> u32 {
            u32::MAX
        }
        extern "C" fn no_detector(_: &mut QueueState, _: &PortEvent) -> u32 {
            u32::MAX
        }
        let controller = CustomConfig {
            function: no_controller,
            events: i64::MAX,
            initial_rate_bps: 0.0,
            initial: [0; reacting::WORDS],
        };
        let detector = CustomDetector { function: no_detector, initial: [0; detecting::WORDS] };
        UserSpec {
            controllers: vec![controller; self.controllers.len()],
            detector: self.detector.is_some().then_some(detector),
            ..UserSpec::default()
        }
    }
}

/// The number of the function that a `[cc]` at `place` names.
pub(super) fn controller(context: &mut Context<'_>, cc: &CcSettings, place: &[Step]) -> Option<u16> {
    let custom = &cc.custom;
    let made = function(context, custom.function.as_ref(), &custom.parameters, place)?;
    let known = &mut context.functions.controllers;
    let same = |other: &Function| (&other.function, &other.parameters) == (&made.function, &made.parameters);
    let number = known.iter().position(same).unwrap_or(known.len());
    if number == known.len() {
        known.push(made);
    }
    Some(number as u16)
}

/// Notes the function of the detector.
pub(super) fn detector(context: &mut Context<'_>) -> Option<()> {
    let custom = &context.settings.switch.detector.custom;
    let place = at!["switch", "detector"];
    let made = function(context, custom.function.as_ref(), &custom.parameters, &place)?;
    context.functions.detector = Some(made);
    Some(())
}

fn function(
    context: &mut Context<'_>,
    written: Option<&String>,
    parameters: &BTreeMap<String, Parameter>,
    place: &[Step],
) -> Option<Function> {
    let table = below(place, "custom");
    let (name, inner) = (name(place), name(&table));
    let Some(function) = written else {
        let message = format!("{name}.kind = \"custom\", but {inner}.function does not say which function");
        let help =
            format!("add function = \"my_file.py:my_function\" to [{inner}]; docs/extend.md shows one");
        context.report(&below(place, "kind"), message, "which function?", help);
        return None;
    };
    let (file, symbol) = function.rsplit_once(':').unwrap_or((function, ""));
    if file.is_empty() || symbol.is_empty() {
        let message = format!("{inner}.function = {function:?} is not a file or module and a name");
        let help = "write \"my_file.py:my_function\", \"library.so:symbol\" or \"package.module:name\"";
        context.report(&below(&table, "function"), message, "expected file:name", help);
        return None;
    }
    Some(Function { place: name, function: function.clone(), parameters: parameters.clone() })
}
