//! Overrides change one value of a scenario, wherever it stands.
mod common;

use common::{SMALL, report, root, says, small, validate};
use serde_json::json;

#[test]
fn values_are_typed_like_toml_and_bare_words_are_texts() {
    let resolved =
        small(&["run.seed=7", "topology.rate=40Gbps", "cc.g=0.5", "probe.marks=false", "run.until=\"3ms\""]);
    let resolved = resolved.unwrap().resolved();
    assert_eq!(resolved["run"]["seed"], 7);
    assert_eq!(resolved["run"]["until"], "3ms");
    assert_eq!(resolved["topology"]["rate"], "40Gbps");
    assert_eq!(resolved["cc"]["g"], 0.5);
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
            "traffic.one (kind \"long-lived\") has cc, connection, control, from, kind, name, priority, put, start, to, transport",
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
    let resolved = small(&["switch.detector.epsilon=0.2"]).unwrap().resolved();
    assert_eq!(resolved["switch"]["detector"].get("max-ton"), None);
    let resolved = small(&["profile=ideal", "switch.detector.max-ton=50us"]).unwrap().resolved();
    assert_eq!(resolved["switch"]["detector"].get("epsilon"), None);
    assert_eq!(resolved["switch"]["detector"]["period"], "50us");
}

#[test]
fn thresholds_that_the_user_writes_are_not_masked_by_those_of_the_profile() {
    let resolved = small(&["profile=hpcc-ns3", "switch.detector.kmin=100KB"]).unwrap().resolved();
    assert_eq!(resolved["switch"]["detector"]["by-rate"], json!([]));
    let resolved = small(&["profile=hpcc-ns3"]).unwrap().resolved();
    assert_eq!(resolved["switch"]["detector"]["by-rate"][3]["kmin"], "400KB");
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
