//! Which reaction point a traffic entry has, and what is said about keys that make no sense together.

use crate::common::{SMALL, Said, report, says, validate};
use backwater_control::reaction::{ReactionConfig, TimelyConfig};
use backwater_units::{Rate, Span};

/// [`SMALL`] with a second entry that has a reaction point of its own.
fn two(cc: &str) -> String {
    let entry = "[[traffic]]\nname = \"two\"\nkind = \"flow\"\nfrom = \"h2\"\nto = \"h3\"\nsize = \"1MB\"\n";
    format!("{SMALL}\n{entry}{cc}\n")
}

#[test]
fn an_entry_s_own_cc_overrides_that_of_the_scenario_key_by_key() {
    let text = two("cc = { dcqcn = { alpha-initial = 1.2 } }");
    let spec = validate(&text, &["cc.dcqcn.rate-ai=80Mbps"]).unwrap().build();
    assert_eq!(spec.pair_of, [0, 1]);
    let alpha_and_increase = |pair: usize| match &spec.pairs[pair].reaction {
        ReactionConfig::Dcqcn(dcqcn) => (dcqcn.alpha_initial, dcqcn.rate_ai),
        other => panic!("{other:?}"),
    };
    let increase = Rate::from_mbps(80);
    assert_eq!([alpha_and_increase(0), alpha_and_increase(1)], [(0.5, increase), (1.2, increase)]);
}

#[test]
fn the_same_words_in_two_entries_are_one_kind_of_queue_pair() {
    let spec = validate(&two("cc = { kind = \"dcqcn\" }"), &[]).unwrap().build();
    assert_eq!((spec.pairs.len(), spec.pair_of), (1, vec![0, 0]));
}

#[test]
fn timely_has_its_papers_values_and_the_round_trip_of_the_network() {
    // A star with cables of 1 us: 2 us one way.
    let spec = validate(SMALL, &["cc.kind=timely"]).unwrap().build();
    let mut expected = TimelyConfig::authors(Rate::from_gbps(40), Span::from_us(4));
    expected.add = Rate::from_mbps(40);
    assert_eq!(spec.pairs[0].reaction, ReactionConfig::Timely(expected));
    let ack = spec.pairs[0].ack.unwrap();
    assert_eq!((ack.every, ack.priority), (16, Some(7)), "one ACK per 16 KB, ahead of all data");
    assert!(spec.pairs[0].notify.is_none(), "TIMELY reads no CNPs");
}

#[test]
fn the_minimum_round_trip_of_the_papers_fat_tree_is_48_us() {
    let text = SMALL.replace("kind = \"star\"\nhosts = 4", "kind = \"fat-tree\"\nk = 4");
    let text = text.replace("\"1us\"", "\"4us\"").replace("\"h1\"", "\"h15\"");
    let spec = validate(&text, &["cc.kind=timely"]).unwrap().build();
    let ReactionConfig::Timely(timely) = spec.pairs[0].reaction else { panic!("TIMELY") };
    assert_eq!(timely.min_rtt, Span::from_us(48));
}

#[test]
fn a_wrong_value_of_timely_is_shown_at_its_key() {
    says(
        &report(SMALL, &["cc.kind=timely", "cc.timely.ewma=1.5"]),
        &["cc.timely.ewma = 1.5", "allowed: 0 to 1"],
    );
    says(&report(SMALL, &["cc.kind=timely", "cc.segment=0B"]), &["cc.segment = \"0B\""]);
    let swapped = report(SMALL, &["cc.kind=timely", "cc.timely.t-low=600us"]);
    says(&swapped, &["cc.timely.t-", "is not allowed"]);
    says(&report(SMALL, &["cc.timely.min-rtt=fast"]), &["cc.timely.min-rtt = \"fast\""]);
    says(&report(SMALL, &["cc.timly.beta=1"]), &["timly", "did you mean \"timely\"?"]);
}

#[test]
fn a_wrong_value_of_an_entry_s_own_cc_is_shown_there() {
    says(&report(&two("cc = { min-rate = \"200Gbps\" }"), &[]), &["min-rate = 200Gbps", "at most 100Gbps"]);
    says(&report(&two("cc = { alfa = 1 }"), &[]), &["unknown key \"alfa\"", "test.toml:"]);
    says(
        &report(&two("cc = { kind = \"timely\", timely = { beta = -1 } }"), &[]),
        &["beta = -1", "allowed: 0 to 16"],
    );
}

#[test]
fn keys_without_effect_are_said_in_a_caveat() {
    let caveats = |text: &str, overrides: &[&str]| validate(text, overrides).unwrap().caveats().said();
    says(&caveats(SMALL, &["cc.timely.beta=1.6"]), &["without effect with cc.kind = \"dcqcn\": cc.{timely}"]);
    says(
        &caveats(SMALL, &["cc.dcqcn.decrease-interval=9us"]),
        &["without effect with cc.dcqcn.variant = \"byte-counter\": cc.dcqcn.{decrease-interval}"],
    );
    says(
        &caveats(SMALL, &["cc.np=each-mark", "cc.cnp-interval=9us"]),
        &["without effect with cc.np = \"each-mark\": cc.{cnp-interval}"],
    );
    says(
        &caveats(SMALL, &["cc.kind=timely", "cc.dcqcn.cut=1"]),
        &["without effect with cc.kind = \"timely\": cc.{dcqcn}"],
    );
    says(
        &caveats(&two("cc = { kind = \"none\", dcqcn = { g = 0.5 } }"), &[]),
        &["traffic.two.cc.kind = \"none\": traffic.two.cc.{dcqcn}"],
    );
    says(
        &caveats(&two("control = \"line-rate\"\ncc = { kind = \"timely\" }"), &[]),
        &["no congestion control: traffic.two.cc"],
    );
    assert_eq!(caveats(SMALL, &["cc.kind=timely", "cc.timely.beta=1.6"]), "");
    says(&caveats(SMALL, &["cc.kind=timely", "ack.every=4"]), &["one ACK for each segment: ack.{every}"]);
    // A function of the user's that reads round trips has an ACK for each segment, too, whatever ack.every is.
    let custom = ["cc.kind=custom", "cc.custom.function=f.py:f", "cc.custom.feedback=rtt"];
    let with_custom = |more: &[&str]| caveats(SMALL, &[&custom[..], more].concat());
    says(&with_custom(&["ack.every=4"]), &["one ACK for each segment: ack.{every}"]);
    assert!(!with_custom(&["ack.every=0", "ack.size=80B"]).contains("size}"));
    says(
        &caveats(SMALL, &["switch.detector.kind=red", "cc.dcqcn.on-ue=ignore"]),
        &["switch.detector.kind = \"red\": cc.dcqcn.{on-ue}"],
    );
    let hold = caveats(SMALL, &["switch.detector.kind=red", "cc.kind=timely", "cc.timely.on-ue=hold"]);
    says(&hold, &["cc.timely.{on-ue}"]);
}

#[test]
fn a_key_of_the_common_cc_counts_if_one_entry_inherits_it() {
    let caveats = |cc: &str, overrides: &[&str]| {
        // The first entry has no congestion control, so that only the second may read [cc].
        let text = two(cc).replace("name = \"one\"", "name = \"one\"\ncontrol = \"line-rate\"");
        validate(&text, overrides).unwrap().caveats().said()
    };
    assert_eq!(caveats("", &["cc.dcqcn.alpha-initial=1.2"]), "");
    assert_eq!(caveats("cc = { dcqcn = { g = 0.5 } }", &["cc.dcqcn.alpha-initial=1.2"]), "");
    let own = "cc = { dcqcn = { alpha-initial = 1.0 } }";
    says(&caveats(own, &["cc.dcqcn.alpha-initial=1.2"]), &["none reads them: cc.dcqcn.{alpha-initial}"]);
    let timely = "cc = { kind = \"timely\" }";
    says(
        &caveats(timely, &["cc.dcqcn.alpha-initial=1.2"]),
        &["traffic.two.cc.kind = \"timely\": cc.{dcqcn}"],
    );
    assert_eq!(caveats(timely, &["cc.timely.beta=1.6"]), "", "the entry inherits beta");
}
