//! Any file is a flow-size distribution or refused with a reason; what is read has rising percentiles and a mean.
use backwater_traffic::{Cdf, MAX_SIZE};
use backwater_units::Bytes;

pub(crate) fn target(text: &str) {
    match Cdf::parse(text) {
        Ok(cdf) => {
            let sizes: Vec<_> =
                (0..=1000).map(|permille| cdf.percentile(f64::from(permille) / 10.0)).collect();
            assert!(sizes.is_sorted() && sizes[0].get() > 0);
            assert_eq!(sizes[1000], cdf.max());
            assert!(cdf.max() <= MAX_SIZE);
            // The mean is exact up to the rounding of f64.
            assert!(cdf.mean_packets(Bytes::new(1000)) >= 1.0 - 1e-9);
            assert!(cdf.mean() >= 0.0 && cdf.mean() <= cdf.max().get() as f64 * (1.0 + 1e-12));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
