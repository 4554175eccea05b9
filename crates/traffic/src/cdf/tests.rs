//! What the tables and the reader promise.
use std::collections::BTreeMap;

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
fn of_the_papers_messages_a_tenth_is_io_and_over_half_of_the_others_have_2_kib() {
    let cdf = Cdf::mpi_io();
    let (mut random, mut counts) = (stream(1, POISSON, 0), BTreeMap::new());
    for _ in 0..100_000 {
        *counts.entry(cdf.draw(&mut random).get() / 1024).or_insert(0u32) += 1;
    }
    let expected = [
        (2, 49_500),
        (4, 13_500),
        (8, 9_000),
        (16, 9_000),
        (32, 9_000),
        (512, 2_500),
        (1024, 2_500),
        (2048, 2_500),
        (4096, 2_500),
    ];
    assert_eq!(counts.len(), expected.len(), "no size between these: {counts:?}");
    // standard deviation at most 158: five of them
    assert!(expected.iter().all(|(size, n)| counts[size].abs_diff(*n) < 790), "{counts:?}");
}

#[test]
fn the_mean_of_a_discrete_distribution_is_that_of_its_sizes() {
    // KiB: .55·2 + .15·4 + .1·(8 + 16 + 32) = 7.3; (512 + 1024 + 2048 + 4096)/4 = 1920
    assert!((Cdf::mpi().mean() - 7.3 * 1024.0).abs() < 1e-6);
    assert!((Cdf::io().mean() - 1920.0 * 1024.0).abs() < 1e-6);
    assert!((Cdf::mpi_io().mean() - (0.9 * 7.3 + 0.1 * 1920.0) * 1024.0).abs() < 1e-6);
    assert_eq!((Cdf::mpi().max(), Cdf::mpi_io().max()), (Bytes::new(32_768), Bytes::new(4_194_304)));
}

#[test]
fn a_file_of_steps_is_a_discrete_distribution() {
    let file = "2048 0\n2048 55\n4096 55\n4096 70\n8192 70\n8192 80\n16384 80\n16384 90\n32768 90\n32768 100";
    assert_eq!(Cdf::parse(file).unwrap(), Cdf::mpi());
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

#[test]
fn google_all_has_the_mean_of_its_file_and_the_percentiles_of_its_lines() {
    let google = Cdf::google_all();
    assert!((google.mean() - 1001.269).abs() < 0.0005, "{}", google.mean());
    let at = |percent| google.percentile(percent).get();
    assert_eq!([at(50.0), at(90.0), at(99.0), at(99.9)], [4, 372, 8738, 116_508]);
    assert_eq!(google.max(), Bytes::new(12_158_197));
    // 1 B has probability 0: the first size with a share of at least u > 0 is 2 B
    assert_eq!(at(0.0), 2);
}

#[test]
fn only_sizes_of_the_table_are_drawn_from_google_all() {
    let google = Cdf::google_all();
    let (mut random, mut counts) = (stream(1, POISSON, 0), BTreeMap::new());
    for _ in 0..200_000 {
        *counts.entry(google.draw(&mut random).get()).or_insert(0u32) += 1;
    }
    assert!(counts.keys().all(|size| google.points.iter().any(|point| point.0 == *size)));
    assert!(!counts.contains_key(&1));
    // shares of 2 B and of 32 B by the file; standard deviations 200 and 130: five of them
    assert!(counts[&2].abs_diff(55_339) < 1000, "{}", counts[&2]);
    assert!(counts[&32].abs_diff(18_446) < 650, "{}", counts[&32]);
}

#[test]
fn a_google_all_message_is_1_21_packets_of_4_kib_and_98_of_100_are_one() {
    let google = Cdf::google_all();
    let packets = google.mean_packets(Bytes::new(4096));
    assert!((packets - 1.210).abs() < 0.0005, "{packets}");
    let one = google.points.iter().rfind(|point| point.0 <= 4096).unwrap().1;
    assert_eq!(one / 100_000_000, 981);
}

#[test]
fn the_mean_number_of_packets_is_that_of_every_possible_size() {
    let count = |sizes: &[u64], payload: u64| {
        let packets = sizes.iter().map(|size| size.div_ceil(payload).max(1)).sum::<u64>();
        packets as f64 / sizes.len() as f64
    };
    let linear = |from: u64, to: u64| Cdf::parse(&format!("{from} 0\n{to} 100")).unwrap();
    for (from, to, payload) in [(0, 10, 3), (1, 2, 5), (5, 5000, 7), (1000, 1001, 1000), (999, 3001, 1000)] {
        let sizes: Vec<u64> = (from..to).collect();
        let mean = linear(from, to).mean_packets(Bytes::new(payload));
        assert!((mean - count(&sizes, payload)).abs() < 1e-9, "{from} to {to}: {mean}");
    }
    assert!((Cdf::fixed(Bytes::new(4096)).mean_packets(Bytes::new(4096)) - 1.0).abs() < 1e-12);
    assert!((Cdf::fixed(Bytes::new(4097)).mean_packets(Bytes::new(4096)) - 2.0).abs() < 1e-12);
    // 2, 4, 8, 16, 32 KiB in packets of 4 KiB: .55 + .15 + .1·(2 + 4 + 8)
    assert!((Cdf::mpi().mean_packets(Bytes::new(4096)) - 2.1).abs() < 1e-9);
}
