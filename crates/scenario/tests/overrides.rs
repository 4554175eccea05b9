//! Overrides change one value of a scenario, wherever it stands.

use crate::common::{SMALL, Said, report, root, says, small, validate};
use serde_json::json;

#[test]
fn values_are_typed_like_toml_and_bare_words_are_texts() {
    let resolved = small(&[
        "run.seed=7",
        "topology.rate=40Gbps",
        "cc.dcqcn.g=0.5",
        "probe.marks=false",
        "run.until=\"3ms\"",
    ]);
    let resolved = resolved.unwrap().resolved();
    assert_eq!(resolved["run"]["seed"], 7);
    assert_eq!(resolved["run"]["until"], "3ms");
    assert_eq!(resolved["topology"]["rate"], "40Gbps");
    assert_eq!(resolved["cc"]["dcqcn"]["g"], 0.5);
    assert_eq!(resolved["probe"]["marks"], false);
    let lists = small(&["traffic.0.from=[\"h2\", \"h3\"]", "switch.pfc.priorities=[3]"]).unwrap().resolved();
    assert_eq!(lists["traffic"][0]["from"], json!(["h2", "h3"]));
}

#[test]
fn an_entry_of_a_list_is_named_by_index_by_name_or_by_a_key_it_accepts() {
    let two = format!(
        "{SMALL}[[traffic]]\nname = \"p\"\nkind = \"poisson\"\ncdf = \"hadoop\"\nload = 0.1\nflows = 3\n"
    );
    for path in ["traffic.1.load", "traffic.p.load", "traffic.load"] {
        let resolved = validate(&two, &[&format!("{path}=0.7")]).unwrap().resolved();
        assert_eq!(resolved["traffic"][1]["load"], 0.7, "{path}");
        assert_eq!(resolved["traffic"][0].get("load"), None);
    }
    let both = validate(&two, &["traffic.start=5us"]).unwrap().resolved();
    assert_eq!([&both["traffic"][0]["start"], &both["traffic"][1]["start"]], ["5us", "5us"]);
}

#[test]
fn an_override_that_names_nothing_suggests_what_was_meant() {
    says(
        &report(SMALL, &["switch.pcf.form=ideal"]),
        &["did you mean \"pfc\"?", "--set switch.pcf.form=ideal"],
    );
    says(&report(SMALL, &["traffic.laod=0.5"]), &["\"laod\"", "traffic has"]);
    says(&report(SMALL, &["traffic.5.size=1KB"]), &["traffic has no entry 5", "1 entries"]);
    let endless = SMALL.replace("kind = \"flow\"", "kind = \"long-lived\"").replace("size = \"1MB\"", "");
    says(
        &report(&endless, &["traffic.one.size=0B"]),
        &[
            "the override names \"size\", which traffic.one (kind \"long-lived\") does not have",
            "traffic.one (kind \"long-lived\") has cc, connection, control, from, kind, name, priority, put, reliability, start, to, transport",
            "--set traffic.one.size=0B",
        ],
    );
    says(
        &report(SMALL, &["topology.k=4"]),
        &["topology (kind \"star\") has allow-cycles, delay, hosts, kind, lanes, rate, routing"],
    );
    says(&report(SMALL, &["run.seed.x=1"]), &["has no keys"]);
    says(&report(SMALL, &["run.seed"]), &["has no value"]);
    says(&report(SMALL, &["run.seed="]), &["has no value"]);
    says(&report(SMALL, &["=3"]), &["the override names \"\""]);
}

#[test]
fn one_of_two_alternatives_displaces_the_other() {
    let resolved = small(&["switch.detector.tcd.epsilon=0.2"]).unwrap().resolved();
    assert_eq!(resolved["switch"]["detector"]["tcd"].get("max-ton"), None);
    let resolved = small(&["profile=ideal", "switch.detector.tcd.max-ton=50us"]).unwrap().resolved();
    assert_eq!(resolved["switch"]["detector"]["tcd"].get("epsilon"), None);
    assert_eq!(resolved["switch"]["detector"]["tcd"]["period"], "50us");
}

#[test]
fn a_threshold_that_the_user_writes_takes_no_other_along() {
    let at_400g = |overrides: &[&str]| {
        let all = [&["profile=hpcc-ns3", "topology.rate=400Gbps"], overrides].concat();
        small(&all).unwrap_or_else(|error| panic!("{error}")).resolved()["switch"]["detector"].clone()
    };
    // run.py: 100 KB and 400 KB for each 25 Gbps.
    let plain = at_400g(&[]);
    assert_eq!((&plain["kmin"], &plain["kmax"]), (&json!("1.6MB"), &json!("6.4MB")));
    let own = at_400g(&["switch.detector.kmin=50KB"]);
    assert_eq!((&own["kmin"], &own["kmax"]), (&json!("50KB"), &json!("6.4MB")));
    let error = report(SMALL, &["profile=hpcc-ns3", "topology.rate=400Gbps", "switch.detector.kmin=7MB"]);
    says(&error, &["kmin"]);
}

#[test]
fn a_threshold_that_is_set_holds_for_every_rate_that_a_file_lists() {
    let text = format!(
        "{SMALL}\n[switch.detector]\nkind = \"red\"\nby-rate = [{{ rate = \"100Gbps\", kmin = \"10KB\", kmax = \"70KB\", pmax = 0.5 }}]"
    );
    let rows = |overrides: &[&str]| {
        validate(&text, overrides).unwrap_or_else(|error| panic!("{error}")).resolved()["switch"]["detector"]
            ["by-rate"]
            .clone()
    };
    assert_eq!(
        rows(&["switch.detector.kmin=20KB"]),
        json!([{"rate": "100Gbps", "kmin": "20KB", "kmax": "70KB", "pmax": 0.5}])
    );
    let notes = |overrides: &[&str]| validate(&text, overrides).unwrap().notes().said();
    let said = "as given, at every rate: kmin, also in the rows of switch.detector.by-rate (100Gbps)";
    says(&notes(&["switch.detector.kmin=20KB"]), &[said]);
    assert!(!notes(&[]).contains("as given"));
}

#[test]
fn a_resolved_scenario_is_a_scenario_that_resolves_to_itself() {
    for name in ["single-congestion-point", "fat-tree", "incast", "mpi-io"] {
        let text =
            std::fs::read_to_string(root().join("scenarios").join(name).with_extension("toml")).unwrap();
        let first = validate(&text, &[]).unwrap().resolved();
        let again = validate(&toml::to_string(&first).unwrap(), &[]).unwrap().resolved();
        assert_eq!(first, again, "{name}");
    }
}
