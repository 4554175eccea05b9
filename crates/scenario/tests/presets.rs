//! Presets say where each value is from, lie between the file and the profile, and fit the network or are refused.
use crate::common::{SMALL, report, says, validate};
use serde_json::Value;

fn all() -> Vec<(String, Value)> {
    let every: Value = serde_json::from_str(&backwater_scenario::presets()).unwrap();
    let families = every.as_object().unwrap().values().flat_map(|family| family.as_object().unwrap().clone());
    families.collect()
}

/// The paths of the values of a table.
fn paths(table: &Value, at: &str, found: &mut Vec<String>) {
    for (key, value) in table.as_object().unwrap() {
        let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        if value.is_object() { paths(value, &path, found) } else { found.push(path) }
    }
}

#[test]
fn every_value_has_its_source_and_every_source_a_value() {
    for (name, preset) in all() {
        let mut values = vec!["device".to_owned()];
        if let Some(table) = preset.get("values") {
            paths(table, "", &mut values);
        }
        let sources: Vec<&String> = preset["sources"].as_object().unwrap().keys().collect();
        for value in &values {
            let has = |source: &&&String| value == **source || value.starts_with(&format!("{source}."));
            assert!(sources.iter().any(|source| has(&source)), "{name}: {value} has no source");
        }
        for source in sources {
            let of = |value: &String| value == source || value.starts_with(&format!("{source}."));
            assert!(values.iter().any(of), "{name}: no value has the source of {source}");
        }
    }
}

#[test]
fn a_preset_stands_under_the_file_and_over_the_profile() {
    let text = SMALL.replace("authors", "roce")
        + "\n[switch]\npreset = \"tomahawk3\"\n[switch.detector]\nkmin = \"800KB\"\n";
    let settings = validate(&text, &[]).unwrap_or_else(|error| panic!("{error}")).settings().clone();
    // Dell's Z9332F in SONiC; the user's kmin; dynamic_th -2; the profile's packets.
    assert_eq!(settings.switch.buffer.0.get(), 66_394_076);
    assert_eq!(settings.switch.detector.kmin.0.get(), 800_000);
    assert_eq!(settings.switch.detector.kmax.0.get(), 2 * 1024 * 1024);
    assert_eq!(settings.switch.pfc.alpha.to_bits(), 0.25_f64.to_bits());
    assert_eq!(settings.packet.payload.0.get(), 4096);
}

#[test]
fn an_override_and_a_scheme_choose_a_preset_too() {
    let chosen = validate(&SMALL.replace("authors", "roce"), &["switch.preset=spectrum4"]);
    let settings = chosen.unwrap_or_else(|error| panic!("{error}")).settings().clone();
    assert_eq!(settings.switch.buffer.0.get(), 158_229_504);
    let text = format!("{SMALL}\n[[scheme]]\nname = \"a\"\nset = [\"host.nic.preset=connectx9\"]\n");
    says(&report(&text, &[]), &["connectx9"]);
}

#[test]
fn what_a_switch_cannot_carry_is_refused_with_what_it_can() {
    // 33 ports of 400 Gbps are 13.2 Tbps.
    let text =
        SMALL.replace("authors", "roce").replace("hosts = 4", "hosts = 33").replace("100Gbps", "400Gbps");
    let said = report(&text, &["switch.preset=tomahawk3"]);
    says(
        &said,
        &["33 ports with 13.2Tbps together, more than 12.8Tbps", "Tomahawk 3", "choose another preset"],
    );
    says(&report(&text, &["switch.preset=spectrum2"]), &["a port of 400Gbps, more than 200Gbps"]);
    validate(&text, &["switch.preset=tomahawk4"]).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn what_a_nic_cannot_carry_is_refused() {
    let text = SMALL.replace("authors", "roce").replace("100Gbps", "400Gbps");
    says(
        &report(&text, &["host.nic.preset=connectx6"]),
        &["host h0 has a port of 400Gbps, more than 200Gbps", "3 more"],
    );
    let settings = validate(&text, &["host.nic.preset=connectx7"]).unwrap_or_else(|error| panic!("{error}"));
    // RPG_AI_RATE is 5 Mbps at every rate.
    assert_eq!(settings.settings().cc.dcqcn.rate_ai.0.as_bps(), 5_000_000);
}

#[test]
fn a_size_quite_unlike_the_device_is_a_caveat() {
    let text = SMALL.replace("authors", "roce");
    let caveats = |overrides: &[&str]| {
        let scenario = validate(&text, overrides).unwrap_or_else(|error| panic!("{error}"));
        scenario.caveats().iter().filter(|it| it.code.explained().id == "unlike-preset").count()
    };
    assert_eq!(caveats(&["switch.preset=tomahawk5", "switch.buffer=32MB"]), 1);
    assert_eq!(caveats(&["switch.preset=tomahawk5", "switch.buffer=100MB"]), 0);
    assert_eq!(caveats(&["switch.buffer=32MB"]), 0);
}
