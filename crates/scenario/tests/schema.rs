//! The committed JSON Schema is the one of the types, and it accepts what the scenarios of this repository say.
use std::path::PathBuf;

fn committed() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schema/scenario.schema.json")
}

#[test]
fn the_committed_schema_is_the_one_of_the_types() {
    let generated = backwater_scenario::schema();
    if std::env::var_os("BACKWATER_WRITE_SCHEMA").is_some() {
        std::fs::write(committed(), &generated).unwrap();
    }
    let stored = std::fs::read_to_string(committed()).unwrap();
    assert!(
        stored == generated,
        "schema/scenario.schema.json is out of date: run BACKWATER_WRITE_SCHEMA=1 cargo test -p backwater-scenario"
    );
}

#[test]
fn every_key_is_described_and_every_table_refuses_unknown_keys() {
    let schema: serde_json::Value = serde_json::from_str(&backwater_scenario::schema()).unwrap();
    let mut tables = vec![("Settings", &schema)];
    tables.extend(schema["$defs"].as_object().unwrap().iter().map(|(name, table)| (name.as_str(), table)));
    for (name, table) in tables {
        let closed = table["additionalProperties"] == false || table["unevaluatedProperties"] == false;
        assert!(table["type"] != "object" || closed, "{name} accepts unknown keys");
        let kinds = table["oneOf"].as_array().into_iter().flatten();
        let properties = kinds.chain([table]).filter_map(|table| table["properties"].as_object()).flatten();
        for (key, schema) in properties {
            assert!(key == "kind" || schema["description"].is_string(), "{name}.{key} has no description");
        }
    }
}

#[test]
fn only_topology_and_traffic_must_be_written_and_defaults_are_shown() {
    let schema: serde_json::Value = serde_json::from_str(&backwater_scenario::schema()).unwrap();
    assert_eq!(schema["required"], serde_json::json!(["topology", "traffic"]));
    assert_eq!(schema["$defs"]["Pfc"]["properties"]["xoff"]["default"], "329.6KB");
    assert!(schema["$defs"]["Pfc"].get("required").is_none());
}
