//! No text, however broken, makes a reader panic; and what a reader accepts keeps its promises.
use backwater_traffic::{Cdf, MAX_SIZE, read};
use backwater_units::Time;
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_text_is_read_or_refused_as_a_distribution(text in "[0-9. \n#e-]{0,80}|\\PC{0,80}") {
        if let Ok(cdf) = Cdf::parse(&text) {
            prop_assert!(cdf.max() <= MAX_SIZE);
            prop_assert!(cdf.mean() <= cdf.max().get() as f64);
        }
    }

    #[test]
    fn any_text_is_read_or_refused_as_a_flow_list(text in "[0-9]{1,2}\n([0-9. -]{1,12}\n){0,8}|\\PC{0,80}") {
        if let Ok(flows) = read::hpcc(&text, Time::ZERO, Some) {
            prop_assert!(flows.iter().all(|f| f.src != f.dst && f.priority < 8 && f.size.get() > 0));
        }
    }

    #[test]
    fn percentiles_of_any_distribution_rise_and_stay_between_its_ends(
        mut sizes in prop::collection::vec(0u64..1_000_000_000, 1..10),
        mut percents in prop::collection::vec(0u32..=1000, 1..10),
        (low, high) in (0.0f64..=100.0, 0.0f64..=100.0),
    ) {
        sizes.sort_unstable();
        percents.sort_unstable();
        let points = sizes.len().min(percents.len());
        percents[points - 1] = 1000;
        let line = |i: usize| format!("{} {}.{}", sizes[i], percents[i] / 10, percents[i] % 10);
        let text = (0..points).map(line).collect::<Vec<_>>().join("\n");
        let cdf = Cdf::parse(&text).unwrap();
        let (low, high) = (low.min(high), low.max(high));
        prop_assert!(cdf.percentile(low) <= cdf.percentile(high));
        prop_assert!(cdf.percentile(0.0).get() >= sizes[0].max(1));
        prop_assert_eq!(cdf.percentile(100.0), cdf.max());
    }
}
