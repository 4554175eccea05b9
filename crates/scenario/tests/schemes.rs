//! A scenario may list schemes: other settings for the same traffic, each checked as the scenario itself is.

use crate::common::{SMALL, report, says, validate};
use serde_json::json;

fn with(schemes: &str) -> String {
    format!("{SMALL}{schemes}")
}

#[test]
fn schemes_are_named_lists_of_overrides() {
    let text = with(
        "[[scheme]]\nname = \"ECN\"\n[[scheme]]\nname = \"TCD\"\nset = [\"switch.detector.kind=tcd\", \"cc.dcqcn.g = 0.5\"]\n",
    );
    let resolved = validate(&text, &[]).unwrap().resolved();
    assert_eq!(resolved["scheme"][0], json!({"name": "ECN", "set": []}));
    assert_eq!(resolved["scheme"][1]["set"][1], "cc.dcqcn.g = 0.5");
    assert_ne!(resolved["cc"]["dcqcn"]["g"], 0.5, "the scenario itself is run without any scheme");
}

#[test]
fn a_scheme_that_makes_no_sense_says_why_and_its_keys_are_checked_all_the_same() {
    let left_out = |set: &str, why: &str| {
        with(&format!("[[scheme]]\nname = \"a\"\nset = [{set}]\nleft-out = \"{why}\"\n"))
    };
    let resolved = validate(&left_out("", "no PAUSE to wait for"), &[]).unwrap().resolved();
    assert_eq!(resolved["scheme"][0], json!({"name": "a", "set": [], "left-out": "no PAUSE to wait for"}));
    says(&report(&left_out("'switch.pcf.form=ideal'", "no"), &[]), &["did you mean \"pfc\"?"]);
    says(&report(&left_out("", ""), &[]), &["scheme.a.left-out is empty"]);
}

#[test]
fn what_a_scheme_sets_is_checked_where_it_stands() {
    let wrong = |set: &str| report(&with(&format!("[[scheme]]\nname = \"a\"\nset = [{set}]\n")), &[]);
    says(&wrong("'switch.pcf.form=ideal'"), &["did you mean \"pfc\"?", "test.toml:16:16"]);
    says(&wrong("\"switch.pfc.form=timd\""), &["did you mean \"timed\"?", "test.toml:16"]);
    says(&wrong("'cc.dcqcn.g'"), &["the override \"cc.dcqcn.g\" has no value", "test.toml:16:9"]);
    says(&wrong("'profile=\"idael\"'"), &["did you mean \"ideal\"?"]);
    says(&wrong("\"profile=\\\"idael\\\"\""), &["did you mean \"ideal\"?", "a scheme's set"]);
    says(&wrong("'scheme.a.name=b'"), &["the scheme changes schemes"]);
    says(&wrong("3"), &["scheme.a.set[0] = 3", "expected a text"]);
}

#[test]
fn a_scheme_needs_a_name_of_its_own() {
    says(&report(&with("[[scheme]]\nset = []\n"), &[]), &["scheme[0] has no name"]);
    says(&report(&with("[[scheme]]\nname = \"\"\n"), &[]), &["scheme..name is empty"]);
    let twice = with("[[scheme]]\nname = \"a\"\n[[scheme]]\nname = \"a\"\n");
    says(&report(&twice, &[]), &["two schemes are called \"a\"", "give every scheme a name of its own"]);
}

#[test]
fn overrides_of_the_user_come_after_those_of_a_scheme() {
    let text = with("[[scheme]]\nname = \"a\"\nset = [\"switch.pfc.form=ideal\"]\n");
    says(&report(&text, &["switch.pfc.form=timd"]), &["--set switch.pfc.form=timd", "1 problem"]);
    assert!(validate(&text, &["switch.flow-control=none"]).is_ok());
}
