//! The formulas of the control crate for one link, with their arithmetic; quantities are texts, as options have them.
use crate::error::Error;
use backwater_control::detector::{Tcd, Trend, max_ton as ton, max_ton_authors as ton_authors};
use backwater_control::flow_control::{
    CreditReturn, Unit, feasibility as feasible, headroom as room, longest_period,
};
use backwater_units::{Bytes, Rate, Span};
use serde_json::{Value, json};
use std::fmt::Display;
use std::str::FromStr;

/// Longest link, slowest response and largest packet that the calculators take: far beyond any Ethernet, and small
/// enough that nothing overflows.
const LONGEST: Span = Span::from_ms(1_000);
const LARGEST: Bytes = Bytes::from_mb(1);
/// InfiniBand specification: VL 15 is for management.
const MOST_LANES: u64 = 15;

fn refused(message: impl Into<String>) -> Error {
    Error::Input(message.into())
}

/// A quantity from the text of an option, or an error that names the option.
fn quantity<T>(option: &str, text: &str) -> Result<T, Error>
where
    T: FromStr,
    T::Err: Display,
{
    text.parse().map_err(|error| refused(format!("error: --{option} {text}: {error}")))
}

fn within<T: PartialOrd + Display>(option: &str, value: T, most: &T) -> Result<T, Error> {
    if value <= *most {
        Ok(value)
    } else {
        let message = format!("error: --{option} {value} is more than {most}; give what a link really has");
        Err(refused(message))
    }
}

fn link_rate(text: &str) -> Result<Rate, Error> {
    let rate: Rate = quantity("rate", text)?;
    if rate > Rate::ZERO {
        Ok(rate)
    } else {
        Err(refused("error: --rate 0bps: a link must have a rate above 0; give one such as 40Gbps"))
    }
}

/// max(Ton) of a port, `max_ton_ps`, `tau_ps`, `gap_bytes`, `steps`. `gap` is Xoff − Xon; 2 MTU if absent
/// (TCD paper §4.2).
///
/// # Errors
/// What is no quantity, or none that a link can have.
pub fn max_ton(rate: &str, delay: &str, mtu: &str, epsilon: f64, gap: Option<&str>) -> Result<Value, Error> {
    let rate = link_rate(rate)?;
    let delay = within("delay", quantity("delay", delay)?, &LONGEST)?;
    let mtu = within("mtu", quantity("mtu", mtu)?, &LARGEST)?;
    let gap = gap.map_or(Ok(mtu * 2), |text| quantity("gap", text))?;
    let answer = ton(rate, delay, mtu, gap, epsilon).map_err(|error| refused(format!("error: {error}")))?;
    Ok(json!({
        "max_ton_ps": answer.max_ton.as_ps(),
        "tau_ps": answer.tau.as_ps(),
        "gap_bytes": gap.get(),
        "steps": answer.steps().map(|step| step.to_string()),
    }))
}

/// The max(Ton) that the authors' release would be given, `max_ton_ps`: τ = 2 · delay, whole microseconds. `gap` is Xoff − Xon.
///
/// # Errors
/// What is no quantity, or none that a link can have.
pub fn max_ton_authors(rate: &str, delay: &str, gap: &str, epsilon: f64) -> Result<Value, Error> {
    let delay = within("delay", quantity("delay", delay)?, &LONGEST)?;
    let answer = ton_authors(link_rate(rate)?, delay, quantity("gap", gap)?, epsilon);
    Ok(json!({ "max_ton_ps": answer.map_err(|error| refused(format!("error: {error}")))?.as_ps() }))
}

/// max(Ton) and T under credits that come back every `period`, `max_ton_ps`, `period_ps`, with trend = rise-bp
/// `period_rise_bp_ps`, `steps`.
///
/// # Errors
/// What is no quantity, or none that a link can have.
pub fn max_ton_credits(period: &str) -> Result<Value, Error> {
    let tc = cycle(period)?;
    let of = |trend| Tcd::credits(trend, tc, Bytes::new(1), Bytes::new(1));
    let (tcd, own) = (of(Trend::Rise), of(Trend::RiseBp));
    let steps = [
        format!("Ton = Rd/Ri Tc < Tc = {tc}, as the input rate Ri is above the drain rate Rd (Eqn 4)"),
        format!(
            "T = max(Ton) (§4.4); with trend = rise-bp whole Tc's, at least 4 and 200us = {}",
            own.period
        ),
        format!("max(Ton) = Tc = {}", tcd.max_ton),
    ];
    Ok(json!({
        "max_ton_ps": tcd.max_ton.as_ps(),
        "period_ps": tcd.period.as_ps(),
        "period_rise_bp_ps": own.period.as_ps(),
        "steps": steps,
    }))
}

/// A Tc.
fn cycle(text: &str) -> Result<Span, Error> {
    let tc = within("period", quantity("period", text)?, &LONGEST)?;
    if tc > Span::ZERO {
        return Ok(tc);
    }
    Err(refused("error: --period 0ps: credits come back every Tc, which is above 0; give one such as 50us"))
}

/// A number of virtual lanes.
fn virtual_lanes(text: &str) -> Result<u64, Error> {
    let lanes = text.parse().ok().filter(|lanes| (1..=MOST_LANES).contains(lanes));
    lanes.ok_or_else(|| {
        refused(format!("error: --lanes {text}: a link has 1 to {MOST_LANES} virtual lanes for data"))
    })
}

/// The buffer that each of `lanes` virtual lanes of an ingress port needs under credits, `needed_bytes`,
/// `in_loop_bytes`, `packets`, `port_bytes` (of all lanes), `steps`, and with `buffer`, which the lanes share, also `fits` and
/// `longest_period_ps`, the longest Tc with which it fits, if any. Without `period` credits come back at once.
///
/// # Errors
/// What is no quantity, or none that a link can have.
pub fn feasibility(
    rate: &str,
    delay: &str,
    mtu: &str,
    frame: &str,
    period: Option<&str>,
    buffer: Option<&str>,
    lanes: &str,
) -> Result<Value, Error> {
    let lanes = virtual_lanes(lanes)?;
    let rate = link_rate(rate)?;
    let delay = within("delay", quantity("delay", delay)?, &LONGEST)?;
    let mtu = within("mtu", quantity("mtu", mtu)?, &LARGEST)?;
    let frame = within("frame", quantity("frame", frame)?, &LARGEST)?;
    let returned = period.map_or(Ok(CreditReturn::AtOnce), |text| cycle(text).map(CreditReturn::Periodic))?;
    let updates = frame * lanes;
    let answer = feasible(rate, delay, returned, mtu, updates, Unit::BLOCK);
    let port = answer.needed * lanes;
    let mut steps: Vec<String> = answer.steps().iter().map(ToString::to_string).collect();
    if lanes > 1 {
        steps.insert(0, format!("updates of {lanes} virtual lanes = {lanes}*{frame} = {updates}"));
        steps.push(format!("all {lanes} virtual lanes of the port = {lanes}*{} = {port}", answer.needed));
    }
    let mut json = json!({
        "needed_bytes": answer.needed.get(),
        "in_loop_bytes": answer.in_loop.get(),
        "packets": answer.packets,
        "port_bytes": port.get(),
    });
    if let Some(text) = buffer {
        let buffer: Bytes = quantity("buffer", text)?;
        let share = Bytes::new(buffer.get() / lanes);
        let longest = longest_period(rate, delay, share, mtu, updates, answer.unit);
        let fits = answer.needed <= share;
        let verdict = if fits { "holds line rate" } else { "starves without any congestion" };
        steps.push(format!("{buffer}: the link {verdict}"));
        steps.push(match longest {
            Some(longest) => format!("longest Tc with {buffer}: {longest}"),
            None => format!("no Tc is short enough for {buffer}"),
        });
        json["fits"] = fits.into();
        json["longest_period_ps"] = longest.map(Span::as_ps).into();
    }
    json["steps"] = steps.into();
    Ok(json)
}

/// Headroom of an ingress port, `headroom_bytes`, `dynamic_bytes` (with the packet that crosses a dynamic threshold), `terms`
/// (name, bytes), `steps`.
///
/// # Errors
/// What is no quantity, or none that a link can have.
pub fn headroom(rate: &str, delay: &str, mtu: &str, frame: &str, response: &str) -> Result<Value, Error> {
    let rate = link_rate(rate)?;
    let delay = within("delay", quantity("delay", delay)?, &LONGEST)?;
    let mtu = within("mtu", quantity("mtu", mtu)?, &LARGEST)?;
    let frame = within("frame", quantity("frame", frame)?, &LARGEST)?;
    let response = within("response", quantity("response", response)?, &LONGEST)?;
    let answer = room(rate, delay, mtu, frame, response);
    let mut steps: Vec<String> = answer.terms.iter().map(ToString::to_string).collect();
    steps.push(format!("headroom: {}", answer.bytes));
    let dynamic = answer.with_crossing();
    steps.push(format!(
        "with dynamic thresholds, which count the packet that crosses them (1 MTU): {dynamic}"
    ));
    let terms = answer.terms.map(|term| json!({"name": term.name, "bytes": term.bytes.get()}));
    Ok(
        json!({"headroom_bytes": answer.bytes.get(), "dynamic_bytes": dynamic.get(), "terms": terms, "steps": steps}),
    )
}
