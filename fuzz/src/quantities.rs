//! Any text is a quantity or refused with a reason; what is read can be written and read back.
use std::fmt::{Debug, Display};
use std::str::FromStr;

use backwater_scenario::quantity::{Quantity, Unit};
use backwater_units::{Bytes, Rate, Span, Time};

pub(crate) fn target(text: &str) {
    check::<Span>(text);
    check::<Bytes>(text);
    check::<Rate>(text);
    let (time, span) = (text.parse::<Time>(), text.parse::<Span>());
    assert_eq!(time.map(|time| time.since(Time::ZERO)), span);
}

fn check<T: Unit + Debug + PartialEq>(text: &str) {
    match text.parse::<T>() {
        Ok(value) => {
            assert_eq!(Quantity(value).to_string().parse(), Ok(value));
            rounds_down(&value);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The short form drops digits, never adds any.
fn rounds_down<T: FromStr + Display + Ord>(value: &T)
where
    T::Err: Debug,
{
    assert!(value.to_string().parse::<T>().expect("what is shown can be read") <= *value);
}
