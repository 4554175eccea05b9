//! Means, percentiles, spreads.

/// The mean.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of a sample.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// The smallest value that at least `percent` of all do not exceed.
pub(crate) fn percentile(values: &[f64], percent: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted[rank.max(1) - 1]
}

/// The difference of two means over its standard error (Welch).
pub(crate) fn z(one: &[f64], other: &[f64]) -> f64 {
    let error = |values: &[f64]| deviation(values).powi(2) / values.len() as f64;
    (mean(one) - mean(other)) / (error(one) + error(other)).sqrt()
}

/// The largest difference between the distributions of two samples.
pub(crate) fn kolmogorov_smirnov(one: &[f64], other: &[f64]) -> f64 {
    let up_to = |values: &[f64], limit: f64| {
        values.iter().filter(|value| **value <= limit).count() as f64 / values.len() as f64
    };
    let values = one.iter().chain(other);
    values.map(|limit| (up_to(one, *limit) - up_to(other, *limit)).abs()).fold(0.0, f64::max)
}
