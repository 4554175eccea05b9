//! Files that say how fast hosts drain: `time,rate` lines.
use backwater_units::{Rate, Span, Time};

use crate::document::at;
use crate::quantity::Quantity;
use crate::valid::Context;

/// The fastest drain, that of the fastest link.
const FASTEST: Rate = Rate::from_gbps(100_000);

/// The lines of a file; what is wrong is reported.
pub(super) fn read(context: &mut Context<'_>, file: &str) -> Option<Vec<(Time, Rate)>> {
    let place = at!["host", "pattern", "file"];
    let text = context.read_text(&place, file)?;
    match parse(&text) {
        Ok(lines) => Some(lines),
        Err((line, what)) => {
            let help = "write one change per line, times rising: 20us,51.2Gbps; # begins a comment, time,rate may stand above";
            let message = format!("{file:?}, line {line}: {what}");
            context.report(&place, message, "this file", help);
            None
        }
    }
}

/// The changes in a text, or the first line that is wrong and why.
fn parse(text: &str) -> Result<Vec<(Time, Rate)>, (usize, String)> {
    let mut changes: Vec<(Time, Rate)> = Vec::new();
    let lines =
        (1..).zip(text.lines()).map(|(number, line)| (number, line.split('#').next().unwrap_or("").trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty()).peekable();
    lines.next_if(|(_, line)| line.replace(' ', "") == "time,rate");
    for (number, line) in lines {
        let wrong = |what: String| (number, what);
        let (time, rate) = line
            .split_once(',')
            .ok_or_else(|| wrong(format!("{line:?} is no time and rate with a comma between")))?;
        let time: Span =
            time.trim().parse().map_err(|error| wrong(format!("the time {:?}: {error}", time.trim())))?;
        let rate: Rate =
            rate.trim().parse().map_err(|error| wrong(format!("the rate {:?}: {error}", rate.trim())))?;
        if rate > FASTEST {
            return Err(wrong(format!("the rate {} is above {FASTEST}", Quantity(rate))));
        }
        let time = Time::from_ps(time.as_ps());
        if let Some((before, _)) = changes.last().filter(|(before, _)| *before >= time) {
            return Err(wrong(format!("the time {time} is not after the one before it, {before}")));
        }
        changes.push((time, rate));
    }
    if changes.is_empty() {
        Err((1, "there is no line with a time and a rate".to_owned()))
    } else {
        Ok(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_rates_may_have_a_heading_comments_and_empty_lines() {
        let text = "time, rate\n# slow at first\n0s, 0bps\n\n20us,51.2Gbps # half of the link\n";
        let rates = [(0, 0), (20_000_000, 51_200_000_000)];
        assert_eq!(parse(text), Ok(rates.map(|(ps, bps)| (Time::from_ps(ps), Rate::from_bps(bps))).to_vec()));
    }

    #[test]
    fn a_line_that_is_wrong_is_named_with_the_reason() {
        let says = |text: &str| parse(text).unwrap_err();
        assert_eq!(says("1us,1Gbps\n\n1us,2Gbps").0, 3);
        assert!(says("1us,1Gbps\n1us,2Gbps").1.contains("not after the one before"));
        assert!(says("1us 1Gbps").1.contains("comma"));
        assert!(says("1,1Gbps").1.contains("the time \"1\""));
        assert!(says("1us,1").1.contains("the rate \"1\""));
        assert!(says("1us,101Tbps").1.contains("above 100Tbps"));
        assert_eq!(says("# nothing\n"), (1, "there is no line with a time and a rate".to_owned()));
    }
}
