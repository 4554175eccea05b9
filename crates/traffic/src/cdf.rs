//! Flow-size distributions: published tables and sets of sizes, a file reader, and the exact inverse.
use backwater_engine::Stream;
use backwater_units::Bytes;
use rand_core::Rng;

use crate::flow::MAX_SIZE;

mod google_all;

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

/// A cumulative distribution of flow sizes, linear between its points. Two points of one size are a step: that size itself
/// has a probability. A distribution of steps only is discrete.
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

/// One kibibyte: the TCD paper's "KB" and "MB" of messages are powers of two (our reading: 512 KB, 1, 2 and 4 MB are
/// called typical sizes, as those of I/O requests are).
const KIB: u64 = 1024;

/// The TCD paper's MPI messages (§5.2.2): from 2 KB to 32 KB, more than half of them 2 KB. How the others are spread is
/// our reading. Sizes and parts of 20.
const MPI: [(u64, u64); 5] = [(2 * KIB, 11), (4 * KIB, 3), (8 * KIB, 2), (16 * KIB, 2), (32 * KIB, 2)];

/// The TCD paper's I/O messages (§5.2.2): "sizes randomly from" these four.
const IO: [(u64, u64); 4] = [(512 * KIB, 1), (1024 * KIB, 1), (2048 * KIB, 1), (4096 * KIB, 1)];

impl Cdf {
    /// MPI messages of the TCD paper (§5.2.2): 2 KiB (55 %), 4 KiB (15 %), 8, 16 and 32 KiB (10 % each); mean 7475 B. The
    /// paper gives the range and that over half have 2 KB; the rest is our reading.
    pub fn mpi() -> Self {
        Self::discrete(&MPI)
    }

    /// I/O messages of the TCD paper (§5.2.2): 512 KiB, 1, 2 and 4 MiB, equally likely; mean 1.97 MB.
    pub fn io() -> Self {
        Self::discrete(&IO)
    }

    /// The TCD paper's mix of messages (§5.2.2): 10 % as [`Cdf::io`], 90 % as [`Cdf::mpi`]; mean 203 KB.
    pub fn mpi_io() -> Self {
        // 10 % in 4 parts and 90 % in 20 parts are multiples of 1/400.
        let mpi = MPI.map(|(size, parts)| (size, 18 * parts));
        let io = IO.map(|(size, parts)| (size, 10 * parts));
        Self::discrete(&[&mpi[..], &io[..]].concat())
    }

    /// All RPCs of a Google data center (Homa, SIGCOMM 2018, workload W3; table of PlatformLab/HomaSimulation), `Google_All` of the ICI
    /// paper: half of the messages 4 B or less, 98 % below 4 KiB, the largest 12 MB; mean 1001.269 B. Only the 126 sizes of
    /// the table occur, as in Homa's simulator, whose mean that is.
    pub fn google_all() -> Self {
        const { assert!(google_all::ONE == WHOLE) };
        let mut points = Vec::new();
        let mut before = 0;
        for (size, share) in google_all::points() {
            points.extend([(size, before), (size, share)]);
            before = share;
        }
        Self { points }
    }

    /// Always this size.
    pub fn fixed(size: Bytes) -> Self {
        Self::discrete(&[(size.get(), 1)])
    }

    /// Only these sizes, ascending, each with a probability in proportion to its weight.
    fn discrete(sizes: &[(u64, u64)]) -> Self {
        let total: u64 = sizes.iter().map(|&(_, weight)| weight).sum();
        let mut sum = 0;
        let mut points = Vec::with_capacity(2 * sizes.len());
        for &(size, weight) in sizes {
            points.push((size, WHOLE / total * sum));
            sum += weight;
            points.push((size, WHOLE / total * sum));
        }
        debug_assert!(WHOLE.is_multiple_of(total), "the last step must end at 100 %");
        Self { points }
    }

    /// Web search: 90 % of the flows below 5 MB, mean 1.71 MB.
    pub fn web_search() -> Self {
        Self::parse(WEB_SEARCH).expect("the built-in table is valid")
    }

    /// Hadoop: 90 % of the flows below 120 KB, mean 120 KB.
    pub fn hadoop() -> Self {
        Self::parse(HADOOP).expect("the built-in table is valid")
    }

    /// Reads `bytes percent` lines, the format of the HPCC and `SimAI` traffic generators. Blank lines and
    /// lines that begin with `#` are skipped. A size in two lines is a step: `2048 0`, `2048 55`, `4096 55`, `4096 100` are
    /// 55 % of 2048 B and 45 % of 4096 B.
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

    /// The mean number of packets of at most `payload` bytes that a flow is cut into.
    pub fn mean_packets(&self, payload: Bytes) -> f64 {
        let payload = u128::from(payload.get());
        // Packets of all flows of 1, 2, … size bytes together.
        let packets = |size: u128| {
            let (full, rest) = (size / payload, size % payload);
            payload * full * (full + 1) / 2 + rest * (full + 1)
        };
        let mut before = (u128::from(self.points[0].0), 0);
        let mut sum = 0.0;
        for &(size, units) in &self.points {
            let size = u128::from(size);
            let mean = match size - before.0 {
                0 => size.div_ceil(payload).max(1) as f64,
                // Sizes from one point to just below the next are equally likely; 0 B is sent as 1 B.
                count if before.0 == 0 => (1 + packets(size - 1)) as f64 / count as f64,
                count => (packets(size - 1) - packets(before.0 - 1)) as f64 / count as f64,
            };
            sum += mean * (units - before.1) as f64;
            before = (size, units);
        }
        sum / WHOLE as f64
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
mod tests;
