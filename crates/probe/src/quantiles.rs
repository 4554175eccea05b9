//! Exact percentiles of a finished set of values.
use serde::Serialize;

/// Distribution of a quantity over finished flows, in that quantity's unit. Percentiles are nearest-rank:
/// values that occurred, so that 1 in 100 flows is at or above the p99.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// How many values.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest value.
    pub max: f64,
}

impl Quantiles {
    /// Of `values`, in any order; `None` if there are none. Sums in sorted order, so the mean does not depend on
    /// the order in which flows ended.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        // Equal values are alike to the bit: an unstable order of them is none.
        values.sort_unstable_by(f64::total_cmp);
        let max = *values.last()?;
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let rank = |percent: usize| values[(count * percent).div_ceil(100).max(1) - 1];
        Some(Self { count: count as u64, mean, p50: rank(50), p95: rank(95), p99: rank(99), max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_one_to_a_hundred_the_percentiles_are_the_numbers_themselves() {
        let q = Quantiles::of((1..=100).rev().map(f64::from).collect()).unwrap();
        let expected = Quantiles { count: 100, mean: 50.5, p50: 50.0, p95: 95.0, p99: 99.0, max: 100.0 };
        assert_eq!(q, expected);
    }

    #[test]
    fn a_single_flow_is_its_own_distribution() {
        let q = Quantiles::of(vec![3.0]).unwrap();
        assert_eq!((q.p50, q.p99, q.max, q.mean), (3.0, 3.0, 3.0, 3.0));
    }

    #[test]
    fn no_flows_have_no_distribution() {
        assert_eq!(Quantiles::of(Vec::new()), None);
    }
}
