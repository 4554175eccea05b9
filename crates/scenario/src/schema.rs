//! The JSON Schema of scenario files, generated from the types, in two forms: [`rules`], which the check of a complete
//! scenario (file over profile) follows, and [`schema`], which editors read and in which what a profile sets is
//! optional.
use std::sync::LazyLock;

use serde_json::Value as Json;

use crate::document::Rules;
use crate::hints;
use crate::profiles;
use crate::settings::{Profile, Settings};

/// The schema of a complete scenario, generated on first use.
pub(crate) fn rules() -> &'static Rules {
    static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::of::<Settings>("the scenario", hints::WORDS));
    &RULES
}

/// The JSON Schema (draft 2020-12) of scenario files, for editors: defaults are those of the profile `roce`.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Settings).to_value();
    let defaults = profiles::defaults(Profile::default(), &mut Vec::new()).expect("a profile is TOML").json();
    schema["required"] = Json::from(vec!["topology"]);
    fill(&mut schema, "", &defaults);
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

/// Writes the `values` of a profile into the schema of their table, which is at `pointer`, as defaults; nothing there is required then.
fn fill(schema: &mut Json, pointer: &str, values: &Json) {
    let root = pointer.is_empty();
    if let Some(table) = schema.pointer_mut(pointer).and_then(Json::as_object_mut).filter(|_| !root) {
        table.remove("required");
    }
    for (key, value) in values.as_object().into_iter().flatten() {
        let at = format!("{pointer}/properties/{key}");
        if !value.is_object() {
            if let Some(own) = schema.pointer_mut(&at) {
                own["default"] = value.clone();
            }
        } else if let Some(target) = schema.pointer(&at).and_then(|own| own.get("$ref")?.as_str()) {
            let target = target.trim_start_matches('#').to_owned();
            fill(schema, &target, value);
        }
    }
}
