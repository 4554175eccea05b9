//! Text to quantity: a decimal number and a unit, converted without rounding or refused.
use core::fmt;
use core::str::FromStr;

use crate::{Bytes, PS_PER_S, Rate, Span, Time};

/// Why a text is not a quantity. The message names what is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// No number at the start, or more than one decimal point.
    Number,
    /// The unit is missing or unknown; the accepted ones are listed.
    Unit(&'static str),
    /// The number has more decimals than the smallest unit can hold.
    Inexact(&'static str),
    /// Larger than 2⁶⁴ − 1 of the smallest unit.
    Overflow,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number => f.write_str("expected a non-negative decimal number followed by a unit"),
            Self::Unit(accepted) => write!(f, "expected one of the units {accepted}"),
            Self::Inexact(smallest) => write!(f, "is not a whole number of {smallest}"),
            Self::Overflow => f.write_str("is too large for 64 bits"),
        }
    }
}

impl core::error::Error for ParseError {}

/// Splits `12.5us` into digits (125), number of decimals (1) and unit (`us`).
fn split(text: &str) -> Result<(u128, u32, &str), ParseError> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let mut value: u128 = 0;
    let mut decimals = None;
    let mut digits = 0;
    for c in number.chars() {
        match (c, decimals) {
            ('_', _) => {}
            ('.', None) => decimals = Some(0),
            ('.', Some(_)) => return Err(ParseError::Number),
            (c, _) => {
                let digit = c.to_digit(10).ok_or(ParseError::Number)?;
                value = value.checked_mul(10).ok_or(ParseError::Overflow)? + u128::from(digit);
                digits += 1;
                decimals = decimals.map(|d: u32| d + 1);
            }
        }
    }
    if digits == 0 || digits > 30 {
        Err(ParseError::Number)
    } else {
        Ok((value, decimals.unwrap_or(0), unit.trim()))
    }
}

/// Converts to a whole number of the smallest unit, exactly.
fn exact(
    text: &str,
    units: &[(&str, u128)],
    accepted: &'static str,
    smallest: &'static str,
) -> Result<u64, ParseError> {
    let (value, decimals, unit) = split(text)?;
    let scale = units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let scale = match scale {
        Some(scale) => scale,
        None if value == 0 && unit.is_empty() => 1,
        None => return Err(ParseError::Unit(accepted)),
    };
    let scaled = value.checked_mul(scale).ok_or(ParseError::Overflow)?;
    let divisor = 10u128.pow(decimals);
    if !scaled.is_multiple_of(divisor) {
        return Err(ParseError::Inexact(smallest));
    }
    u64::try_from(scaled / divisor).map_err(|_| ParseError::Overflow)
}

impl FromStr for Span {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const S: u128 = PS_PER_S as u128;
        let units =
            [("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("µs", 1_000_000), ("ms", 1_000_000_000), ("s", S)];
        exact(text, &units, "ps, ns, us, ms, s", "picoseconds").map(Self::from_ps)
    }
}

impl FromStr for Time {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        text.parse::<Span>().map(|span| Self::from_ps(span.as_ps()))
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let units = [
            ("B", 1),
            ("KB", 1_000),
            ("kB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("TB", 1_000_000_000_000),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
        ];
        exact(text, &units, "B, KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB (powers of 1024)", "bytes")
            .map(Self::new)
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let scales = [
            ("bps", 1),
            ("Kbps", 1_000),
            ("kbps", 1_000),
            ("Mbps", 1_000_000),
            ("Gbps", 1_000_000_000),
            ("Tbps", 1_000_000_000_000),
            // the spelling of the ns-3 simulators
            ("Mb/s", 1_000_000),
            ("Gb/s", 1_000_000_000),
        ];
        exact(text, &scales, "bps, Kbps, Mbps, Gbps, Tbps", "bit/s").map(Self::from_bps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_values_parse_exactly() {
        assert_eq!("40Gbps".parse(), Ok(Rate::from_gbps(40)));
        assert_eq!("4us".parse(), Ok(Span::from_us(4)));
        assert_eq!("47.5us".parse(), Ok(Span::from_ps(47_500_000)));
        assert_eq!("320KB".parse(), Ok(Bytes::new(320_000)));
        assert_eq!("32 MiB".parse(), Ok(Bytes::new(32 << 20)));
        assert_eq!("0.001ms".parse(), Ok(Span::from_us(1)));
        assert_eq!("1_000 B".parse(), Ok(Bytes::new(1000)));
    }

    #[test]
    fn what_is_no_quantity_says_why() {
        assert_eq!("".parse::<Span>(), Err(ParseError::Number));
        assert_eq!("-4us".parse::<Span>(), Err(ParseError::Number));
        assert_eq!("1.2.3us".parse::<Span>(), Err(ParseError::Number));
        assert!(matches!("4".parse::<Span>(), Err(ParseError::Unit(_))));
        assert!(matches!("4GB".parse::<Span>(), Err(ParseError::Unit(_))));
        assert_eq!("0.5ps".parse::<Span>(), Err(ParseError::Inexact("picoseconds")));
        assert_eq!("99999999999999999999Gbps".parse::<Rate>(), Err(ParseError::Overflow));
        assert_eq!("300s".parse(), Ok(Span::from_ps(300 * PS_PER_S)));
    }
}
