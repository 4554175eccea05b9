//! Exact percentiles of a finished set of values, and how many values one needs.
use serde::Serialize;

/// The fewest values that a percentile is told of. Nearest rank (Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American
/// Statistician 50(4), 1996, definition 1) is the largest value itself of fewer than 1 / (1 - p): the 99th percentile of six flows is the
/// slowest of six. A median is told of any.
pub const fn least_values(percent: u64) -> u64 {
    if percent <= 50 { 1 } else { 100u64.div_ceil(100 - percent) }
}

/// Distribution of a quantity over finished flows, in that quantity's unit. Percentiles are nearest-rank:
/// values that occurred, so that 1 in 100 flows is at or above the p99. `None`: of too few values, which [`Quantiles::too_few`] says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// How many values.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest value.
    pub max: f64,
    /// Which percentiles there are too few values for, and how many they need.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub too_few: Option<String>,
}

impl Quantiles {
    /// Of `values`, in any order; `None` if there are none. Sums in sorted order, so the mean does not depend on
    /// the order in which flows ended.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        // Equal values are alike to the bit: an unstable order of them is none.
        values.sort_unstable_by(f64::total_cmp);
        let max = *values.last()?;
        let count = values.len() as u64;
        let mean = values.iter().sum::<f64>() / count as f64;
        let rank = |percent: u64| values[(count * percent).div_ceil(100).max(1) as usize - 1];
        let told = |percent: u64| (count >= least_values(percent)).then(|| rank(percent));
        let missing = [95, 99].into_iter().filter(|percent| told(*percent).is_none());
        let missing: Vec<_> =
            missing.map(|percent| format!("p{percent} needs {}", least_values(percent))).collect();
        let too_few = (!missing.is_empty()).then(|| format!("of {count} values: {}", missing.join(", ")));
        Some(Self { count, mean, p50: rank(50), p95: told(95), p99: told(99), max, too_few })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_one_to_a_hundred_the_percentiles_are_the_numbers_themselves() {
        let q = Quantiles::of((1..=100).rev().map(f64::from).collect()).unwrap();
        let (p95, p99, too_few) = (Some(95.0), Some(99.0), None);
        let expected = Quantiles { count: 100, mean: 50.5, p50: 50.0, p95, p99, max: 100.0, too_few };
        assert_eq!(q, expected);
    }

    #[test]
    fn a_single_flow_is_its_own_distribution() {
        let q = Quantiles::of(vec![3.0]).unwrap();
        assert_eq!((q.p50, q.max, q.mean), (3.0, 3.0, 3.0));
    }

    #[test]
    fn a_percentile_that_could_only_be_the_largest_value_is_not_told() {
        let of = |count: u32| Quantiles::of((1..=count).map(f64::from).collect()).unwrap();
        assert_eq!((of(19).p95, of(20).p95), (None, Some(19.0)));
        assert_eq!((of(99).p99, of(100).p99), (None, Some(99.0)));
        assert_eq!(of(6).too_few.as_deref(), Some("of 6 values: p95 needs 20, p99 needs 100"));
        // The rule by its meaning: from so many on the nearest rank is below the largest.
        for percent in [90, 95, 98, 99] {
            let least = least_values(percent);
            let rank = |count: u64| (count * percent).div_ceil(100);
            assert!((1..least).all(|count| rank(count) == count) && rank(least) < least, "{percent}");
        }
    }

    #[test]
    fn no_flows_have_no_distribution() {
        assert_eq!(Quantiles::of(Vec::new()), None);
    }
}
