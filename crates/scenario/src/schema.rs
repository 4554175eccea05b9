//! The JSON Schema of scenario files, generated from the types, in two forms: [`rules`], which the check of a complete
//! scenario (file over profile) follows, and [`schema`], which editors read and in which what a profile sets is
//! optional.
use std::sync::LazyLock;

use serde_json::Value as Json;

use crate::document::Rules;
use crate::hints;
use crate::profiles;
use crate::settings::{Profile, Settings};

/// The tables that a profile fills in.
const FILLED: [&str; 27] = [
    "Run",
    "Packet",
    "Ack",
    "Host",
    "HostPfc",
    "Pft",
    "Switch",
    "Pfc",
    "Credits",
    "VlArbitration",
    "Combined",
    "Isolation",
    "Cim",
    "Ici",
    "Ramp",
    "Detector",
    "Cc",
    "Timely",
    "Ib",
    "Dctcp",
    "Swift",
    "Hpcc",
    "Put",
    "PutAck",
    "Aimd",
    "Dack",
    "Probe",
];

/// The schema of a complete scenario, generated on first use.
pub(crate) fn rules() -> &'static Rules {
    static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::of::<Settings>("the scenario", hints::WORDS));
    &RULES
}

/// The JSON Schema (draft 2020-12) of scenario files, for editors: defaults are those of the profile `authors`.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Settings).to_value();
    let defaults = profiles::defaults(Profile::Authors, &mut Vec::new()).expect("a profile is TOML").json();
    schema["required"] = Json::from(vec!["topology", "traffic"]);
    for name in FILLED {
        if let Some(table) = schema["$defs"][name].as_object_mut() {
            table.remove("required");
        }
        for (key, value) in default_table(&defaults, name).into_iter().flatten() {
            if !value.is_object() {
                schema["$defs"][name]["properties"][key]["default"] = value.clone();
            }
        }
    }
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

/// The table of a profile's defaults that belongs to a type.
fn default_table<'a>(defaults: &'a Json, name: &str) -> Option<&'a serde_json::Map<String, Json>> {
    let table = match name {
        "Pfc" => &defaults["switch"]["pfc"],
        "Credits" => &defaults["switch"]["credits"],
        "VlArbitration" => &defaults["switch"]["vl-arbitration"],
        "Combined" => &defaults["switch"]["combined"],
        "Isolation" => &defaults["switch"]["isolation"],
        "Cim" => &defaults["switch"]["isolation"]["cim"],
        "Ici" => &defaults["switch"]["isolation"]["ici"],
        "Detector" => &defaults["switch"]["detector"],
        "HostPfc" => &defaults["host"]["pfc"],
        "PutAck" => &defaults["put"]["ack"],
        "Aimd" => &defaults["put"]["aimd"],
        "Dack" => &defaults["put"]["dack"],
        "Timely" => &defaults["cc"]["timely"],
        "Ib" => &defaults["cc"]["ib"],
        "Dctcp" => &defaults["cc"]["dctcp"],
        "Swift" => &defaults["cc"]["swift"],
        "Hpcc" => &defaults["cc"]["hpcc"],
        name => &defaults[name.to_lowercase()],
    };
    table.as_object()
}
