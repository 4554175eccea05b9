//! The JSON Schema describes every key, and accepts no other.

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
fn only_topology_must_be_written_beside_traffic_or_jobs_and_defaults_are_shown() {
    let schema: serde_json::Value = serde_json::from_str(&backwater_scenario::schema()).unwrap();
    assert_eq!(schema["required"], serde_json::json!(["topology"]));
    // The largest path MTU of RoCE, which the profile of a scenario that names none has.
    assert_eq!(schema["$defs"]["Packet"]["properties"]["payload"]["default"], "4096B");
    assert!(schema["$defs"]["Packet"].get("required").is_none());
}
