//! Flow-size distributions: two published tables, a file reader, and the exact inverse.
use backwater_engine::Stream;
use backwater_units::Bytes;
use rand_core::Rng;

use crate::flow::MAX_SIZE;

/// Probability 1 in the units of a [`Cdf`]: 100 % in billionths of a percent.
const WHOLE: u64 = 100 * UNITS_PER_PERCENT;
const UNITS_PER_PERCENT: u64 = 1_000_000_000;

/// Why a table is not a size distribution. Lines count from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CdfError {
    /// No data line.
    #[error("has no points; write one `bytes percent` pair per line, the last one ending in 100")]
    Empty,
    /// A line that is not two numbers.
    #[error("line {line}: `{text}` is not a `bytes percent` pair such as `10000 15`")]
    Syntax {
        /// Where.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// A size beyond what a flow may have.
    #[error("line {line}: {text} B is more than the largest flow, {MAX_SIZE}")]
    Size {
        /// Where.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// A percentage outside 0 to 100 or with more than nine decimals.
    #[error("line {line}: {text} is not a percentage from 0 to 100 with at most nine decimals")]
    Percent {
        /// Where.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// Sizes or percentages go down.
    #[error("line {line}: `{text}` is lower than the line before; sizes and percentages must never decrease")]
    NotMonotone {
        /// Where.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// The last line is not 100 %.
    #[error("ends at {percent} %; the last line must end in 100 (is the file truncated?)")]
    NotWhole {
        /// The last percentage.
        percent: f64,
    },
}

/// A cumulative distribution of flow sizes, linear between its points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cdf {
    /// Size in bytes and cumulative probability in billionths of a percent; both never decrease, the last
    /// probability is [`WHOLE`].
    points: Vec<(u64, u64)>,
}

/// `WebSearch_distribution.txt` of the HPCC repository's `traffic_gen/`, after the DCTCP paper (SIGCOMM 2010,
/// figure 4): bytes and cumulative percent.
const WEB_SEARCH: &str = "0 0\n10000 15\n20000 20\n30000 30\n50000 40\n80000 53\n200000 60\n1000000 70\n\
                          2000000 80\n5000000 90\n10000000 97\n30000000 100";

/// `FbHdp_distribution.txt` of the HPCC repository's `traffic_gen/`, after Facebook's Hadoop cluster (SIGCOMM
/// 2015): bytes and cumulative percent.
const HADOOP: &str = "0 0\n100 1\n200 2\n300 5\n350 15\n400 20\n500 30\n600 40\n700 50\n1000 60\n2000 67\n\
                      7000 70\n30000 72\n50000 82\n80000 87\n120000 90\n300000 95\n1000000 97.5\n\
                      2000000 99\n10000000 100";

impl Cdf {
    /// Web search: 90 % of the flows below 5 MB, mean 1.71 MB.
    pub fn web_search() -> Self {
        Self::parse(WEB_SEARCH).expect("the built-in table is valid")
    }

    /// Hadoop: 90 % of the flows below 120 KB, mean 120 KB.
    pub fn hadoop() -> Self {
        Self::parse(HADOOP).expect("the built-in table is valid")
    }

    /// Reads `bytes percent` lines, the format of the HPCC and `SimAI` traffic generators. Blank lines and
    /// lines that begin with `#` are skipped.
    pub fn parse(text: &str) -> Result<Self, CdfError> {
        let mut points: Vec<(u64, u64)> = Vec::new();
        for (index, text) in text.lines().map(str::trim).enumerate() {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let point = parse_line(index + 1, text)?;
            if points.last().is_some_and(|last| point.0 < last.0 || point.1 < last.1) {
                let (line, text) = (index + 1, text.to_owned());
                return Err(CdfError::NotMonotone { line, text });
            }
            points.push(point);
        }
        match points.last() {
            None => Err(CdfError::Empty),
            Some(&(_, WHOLE)) => Ok(Self { points }),
            Some(&(_, units)) => Err(CdfError::NotWhole { percent: units as f64 / UNITS_PER_PERCENT as f64 }),
        }
    }

    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        let mut before = (self.points[0].0, 0);
        let mut twice = 0u128;
        for &(size, units) in &self.points {
            twice += u128::from(units - before.1) * (u128::from(size) + u128::from(before.0));
            before = (size, units);
        }
        twice as f64 / (2.0 * WHOLE as f64)
    }

    /// The largest possible size.
    pub fn max(&self) -> Bytes {
        Bytes::new(self.points[self.points.len() - 1].0.max(1))
    }

    /// The size at probability `units / 10¹¹`, linear between the points, rounded down, at least 1 B.
    fn inverse(&self, units: u64) -> Bytes {
        let above = self.points.partition_point(|point| point.1 <= units);
        let size = match (above.checked_sub(1).map(|below| self.points[below]), self.points.get(above)) {
            (Some(lower), Some(upper)) => {
                let share = u128::from(units - lower.1) * u128::from(upper.0 - lower.0);
                lower.0 + (share / u128::from(upper.1 - lower.1)) as u64
            }
            (Some(end), None) => end.0,
            (None, _) => self.points[0].0,
        };
        Bytes::new(size.max(1))
    }

    /// The size below which `percent` of the flows lie, at least 1 B. `percent` is clamped to 0 to 100.
    pub fn percentile(&self, percent: f64) -> Bytes {
        self.inverse((percent.clamp(0.0, 100.0) * UNITS_PER_PERCENT as f64) as u64)
    }

    /// Draws a size.
    pub fn draw(&self, random: &mut Stream) -> Bytes {
        self.inverse(((u128::from(random.next_u64()) * u128::from(WHOLE)) >> 64) as u64)
    }
}

/// One line as a size in bytes and a probability in billionths of a percent.
fn parse_line(line: usize, text: &str) -> Result<(u64, u64), CdfError> {
    let syntax = || CdfError::Syntax { line, text: text.chars().take(60).collect() };
    let mut words = text.split_whitespace();
    let (Some(size), Some(percent), None) = (words.next(), words.next(), words.next()) else {
        return Err(syntax());
    };
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit()) && word.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    if !is_number(size) || !is_number(percent) {
        return Err(syntax());
    }
    // Some published tables write whole sizes with decimals ("10000.0").
    let whole = size
        .split_once('.')
        .map_or(Some(size), |(whole, decimals)| decimals.chars().all(|c| c == '0').then_some(whole));
    let whole = whole.ok_or_else(syntax)?;
    let size = whole.parse::<u64>().ok().filter(|&bytes| bytes <= MAX_SIZE.get());
    let size = size.ok_or_else(|| CdfError::Size { line, text: whole.to_owned() })?;
    let percent = decimal_billionths(percent)
        .filter(|&units| units <= WHOLE)
        .ok_or_else(|| CdfError::Percent { line, text: percent.to_owned() })?;
    Ok((size, percent))
}

/// A decimal number of at most nine decimals in billionths, exactly.
fn decimal_billionths(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let decimals = decimals.trim_end_matches('0');
    if decimals.len() > 9 || !decimals.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(UNITS_PER_PERCENT)?;
    let fraction = format!("{decimals:0<9}").parse::<u64>().ok()?;
    whole.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::POISSON;
    use backwater_engine::stream;

    #[test]
    fn the_published_tables_have_the_published_means_and_knots() {
        let (web, hadoop) = (Cdf::web_search(), Cdf::hadoop());
        assert!((web.mean() - 1_711_250.0).abs() < 1e-6, "{}", web.mean());
        assert!((hadoop.mean() - 120_421.0).abs() < 1.0, "{}", hadoop.mean());
        assert_eq!(web.percentile(90.0), Bytes::new(5_000_000));
        assert_eq!(hadoop.percentile(90.0), Bytes::new(120_000));
        assert_eq!(web.max(), Bytes::new(30_000_000));
    }

    #[test]
    fn the_inverse_is_linear_between_points_and_never_below_one_byte() {
        let web = Cdf::web_search();
        assert_eq!(web.percentile(7.5), Bytes::new(5000));
        assert_eq!(web.percentile(98.5), Bytes::new(20_000_000));
        assert_eq!(web.percentile(0.0), Bytes::new(1));
        assert_eq!(web.percentile(100.0), web.max());
    }

    #[test]
    fn a_step_is_one_size_and_a_plateau_is_none() {
        let cdf = Cdf::parse("1000 40\n1000 60\n5000 60\n9000 100").unwrap();
        assert_eq!(cdf.percentile(10.0), Bytes::new(1000));
        assert_eq!(cdf.percentile(50.0), Bytes::new(1000));
        assert_eq!(cdf.percentile(80.0), Bytes::new(7000));
        assert!((cdf.mean() - (0.6 * 1000.0 + 0.4 * 7000.0)).abs() < 1e-9);
    }

    #[test]
    fn drawn_sizes_have_the_mean_of_the_table() {
        let (hadoop, mut random) = (Cdf::hadoop(), stream(1, POISSON, 0));
        let total: u64 = (0..400_000).map(|_| hadoop.draw(&mut random).get()).sum();
        // standard deviation of one draw 0.65 MB, of the mean 1 KB
        assert!((total as f64 / 4e5 - 120_421.0).abs() < 4000.0);
    }

    #[test]
    fn a_table_that_is_no_distribution_says_which_line_is_wrong() {
        let error = |text: &str| Cdf::parse(text).unwrap_err();
        assert_eq!(error(" \n# nothing\n"), CdfError::Empty);
        assert!(matches!(error("0 0\n100"), CdfError::Syntax { line: 2, .. }));
        assert!(matches!(error("0 0\n-5 10\n9 100"), CdfError::Syntax { line: 2, .. }));
        assert!(matches!(error("0 0\n9 50\n8 100"), CdfError::NotMonotone { line: 3, .. }));
        assert!(matches!(error("0 0\n9 50\n10 40"), CdfError::NotMonotone { line: 3, .. }));
        assert!(matches!(error("0 0\n9 101"), CdfError::Percent { line: 2, .. }));
        assert!(matches!(error("0 0\n99999999999999999999 100"), CdfError::Size { line: 2, .. }));
        assert_eq!(error("0 0\n9 97.5"), CdfError::NotWhole { percent: 97.5 });
    }
}
