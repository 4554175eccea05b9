//! Patterns of names: `*` any text, `?` one character, `[0-63]` a number in a range, `[3-63/4]` every fourth of them.

/// A part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Text,
    Any,
    One(char),
    Numbers { first: u64, last: u64, step: u64 },
}

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// A bracket without its partner, or something else than numbers between them.
    Brackets,
    /// A range that ends before it begins.
    Backwards,
    /// A step of 0.
    NoStep,
}

impl Malformed {
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Brackets => "[ and ] hold a range of numbers",
            Self::Backwards => "the range ends before it begins",
            Self::NoStep => "the step must be 1 or more",
        }
    }
}

/// A pattern that has been read.
pub(super) struct Pattern(Vec<Part>);

impl Pattern {
    /// Whether a text is a pattern and not a name.
    pub(super) fn is_one(text: &str) -> bool {
        text.contains(['*', '?', '[', ']'])
    }

    pub(super) fn parse(text: &str) -> Result<Self, Malformed> {
        let mut parts = Vec::new();
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            parts.push(match c {
                '*' => Part::Text,
                '?' => Part::Any,
                '[' => {
                    let (inside, after) = rest.as_str().split_once(']').ok_or(Malformed::Brackets)?;
                    rest = after.chars();
                    numbers(inside)?
                }
                ']' => return Err(Malformed::Brackets),
                c => Part::One(c),
            });
        }
        Ok(Self(parts))
    }

    /// Whether a name fits.
    pub(super) fn fits(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        // Up to where the parts so far may reach.
        let mut reached = vec![false; name.len() + 1];
        reached[0] = true;
        for part in &self.0 {
            let mut next = vec![false; name.len() + 1];
            for from in (0..=name.len()).filter(|&from| reached[from]) {
                match part {
                    Part::Text => next[from..].fill(true),
                    Part::Any if from < name.len() => next[from + 1] = true,
                    Part::One(c) if name.get(from) == Some(c) => next[from + 1] = true,
                    Part::Numbers { first, last, step } => {
                        let (end, number) = number(&name, from);
                        if number.is_some_and(|n| {
                            (*first..=*last).contains(&n) && (n - first).is_multiple_of(*step)
                        }) {
                            next[end] = true;
                        }
                    }
                    Part::Any | Part::One(_) => {}
                }
            }
            reached = next;
        }
        reached[name.len()]
    }
}

/// `3-63/4` or `3-63`.
fn numbers(inside: &str) -> Result<Part, Malformed> {
    let (range, step) = inside.split_once('/').unwrap_or((inside, "1"));
    let (first, last) = range.split_once('-').ok_or(Malformed::Brackets)?;
    let read = |text: &str| {
        let digits = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        digits.then(|| text.parse::<u64>().ok()).flatten().ok_or(Malformed::Brackets)
    };
    let (first, last, step) = (read(first)?, read(last)?, read(step)?);
    match (first > last, step) {
        (true, _) => Err(Malformed::Backwards),
        (_, 0) => Err(Malformed::NoStep),
        _ => Ok(Part::Numbers { first, last, step }),
    }
}

/// All digits from a place on: where they end, and their value if they are a whole number as it is written in names.
fn number(name: &[char], from: usize) -> (usize, Option<u64>) {
    let digits: String = name[from..].iter().take_while(|c| c.is_ascii_digit()).collect();
    let whole =
        (from == 0 || !name[from - 1].is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    (from + digits.len(), whole.then(|| digits.parse().ok()).flatten())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fits(pattern: &str, name: &str) -> bool {
        Pattern::parse(pattern).unwrap().fits(name)
    }

    #[test]
    fn a_star_stands_for_any_text_and_a_question_mark_for_one_character() {
        assert!(fits("A*", "A14") && fits("*", "") && fits("*1*", "A14") && fits("A??", "A14"));
        assert!(!fits("A*", "B1") && !fits("A?", "A14") && !fits("", "A") && !fits("*5", "A14"));
        assert!(fits("a*b*c", "aXbXbXc") && !fits("a*b*c", "aXbXbX"));
    }

    #[test]
    fn a_range_stands_for_its_numbers_and_a_step_for_every_so_many_of_them() {
        let found = |pattern: &str| {
            let fits = |host: &u32| fits(pattern, &format!("h{host}"));
            (0..100).filter(fits).collect::<Vec<u32>>()
        };
        assert_eq!(found("h[48-63]"), (48..=63).collect::<Vec<_>>());
        assert_eq!(found("h[3-63/4]"), (0..16).map(|i| 4 * i + 3).collect::<Vec<_>>());
        assert_eq!(found("h[0-0]"), [0]);
        assert_eq!(found("*[7-7]"), [7], "not 17: a number is all its digits");
        assert!(fits("s[0-1].[2-3]", "s1.3") && !fits("s[0-1].[2-3]", "s1.4"));
        assert!(!fits("h[0-9]", "h07") && !fits("h[0-9]", "h") && !fits("h[0-9]", "hx"));
        assert!(!fits("h[0-99]", "h99999999999999999999999"));
    }

    #[test]
    fn brackets_hold_two_numbers_in_order() {
        let error = |pattern: &str| Pattern::parse(pattern).err();
        for pattern in
            ["h[", "h]", "h[]", "h[3]", "h[a-b]", "h[1-2", "h[-2]", "h[1-2/]", "h[1-2/x]", "h[1--2]"]
        {
            assert_eq!(error(pattern), Some(Malformed::Brackets), "{pattern}");
        }
        assert_eq!(error("h[5-4]"), Some(Malformed::Backwards));
        assert_eq!(error("h[4-5/0]"), Some(Malformed::NoStep));
        assert!(error("h[1-18446744073709551616]").is_some());
    }

    proptest! {
        #[test]
        fn any_text_is_a_pattern_or_refused(text: String, name: String) {
            if let Ok(pattern) = Pattern::parse(&text) {
                pattern.fits(&name);
                prop_assert_eq!(!Pattern::is_one(&text) && text == name, !Pattern::is_one(&text) && pattern.fits(&name));
            }
        }

        #[test]
        fn a_stepped_range_holds_what_arithmetic_says(first in 0u64..50, more in 0u64..50, step in 1u64..9, n in 0u64..120) {
            let within = n >= first && n <= first + more && (n - first) % step == 0;
            prop_assert_eq!(fits(&format!("h[{first}-{}/{step}]", first + more), &format!("h{n}")), within);
        }
    }
}
