//! The JSON Schema of scenario files, generated from the types, in two forms: `Rules`, which the check of a complete
//! scenario (file over profile) follows, and [`schema`], which editors read and in which what a profile sets is
//! optional.
use std::sync::LazyLock;

use serde_json::Value as Json;

use crate::document::Node;
use crate::settings::{Profile, Settings};

/// The tables that a profile fills in.
const FILLED: [&str; 24] = [
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
    "Put",
    "PutAck",
    "Aimd",
    "Dack",
    "Probe",
];

/// The schema of a complete scenario.
pub(crate) struct Rules {
    root: Json,
}

/// A schema with what it refers to: the first layer that has a keyword counts.
#[derive(Clone)]
pub(crate) struct View<'a> {
    /// The schemas around a branch of an `anyOf`, which describe and bound it.
    around: Vec<&'a Json>,
    layers: Vec<&'a Json>,
}

impl Rules {
    /// Generated on first use: it takes longer than checking a scenario.
    pub(crate) fn get() -> &'static Self {
        static RULES: LazyLock<Rules> =
            LazyLock::new(|| Rules { root: schemars::schema_for!(Settings).to_value() });
        &RULES
    }

    pub(crate) fn root(&self) -> View<'_> {
        self.view(&self.root)
    }

    /// A schema together with what its `$ref` names.
    pub(crate) fn view<'a>(&'a self, schema: &'a Json) -> View<'a> {
        let mut layers = vec![schema];
        while let Some(target) = layers[layers.len() - 1].get("$ref").and_then(Json::as_str) {
            match target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)) {
                Some(schema) => layers.push(schema),
                None => break,
            }
        }
        View { around: Vec::new(), layers }
    }

    /// The branches of an `anyOf` except `null`.
    pub(crate) fn branches<'a>(&'a self, view: &View<'a>) -> Vec<View<'a>> {
        let any_of = view.layers.iter().find_map(|schema| schema.get("anyOf")?.as_array());
        let branches = any_of.into_iter().flatten();
        let branches = branches.filter(|schema| schema.get("type") != Some(&Json::from("null")));
        branches.map(|schema| View { around: view.layers.clone(), ..self.view(schema) }).collect()
    }

    /// The schemas of the keys of a table: those of every kind, and those of its own `kind` if it has a valid one.
    pub(crate) fn keys<'a>(&'a self, view: &View<'a>, table: &Node) -> Vec<(&'a str, View<'a>)> {
        let kind = table.get("kind").and_then(Node::text);
        let own = kind.and_then(|kind| Self::kinds(view).into_iter().find(|(name, _)| *name == kind));
        let tables = view.layers.iter().copied().chain(own.map(|(_, schema)| schema));
        let properties = tables.filter_map(|schema| schema.get("properties")?.as_object()).flatten();
        let mut keys: Vec<_> = properties.map(|(key, schema)| (key.as_str(), self.view(schema))).collect();
        if !Self::kinds(view).is_empty() && !keys.iter().any(|(key, _)| *key == "kind") {
            keys.extend(
                Self::kinds(view)
                    .first()
                    .and_then(|(_, s)| s.pointer("/properties/kind"))
                    .map(|s| ("kind", self.view(s))),
            );
        }
        keys
    }

    /// The schema of the keys of a table that may have any.
    pub(crate) fn any_key<'a>(&'a self, view: &View<'a>) -> Option<View<'a>> {
        view.get("additionalProperties").filter(|schema| schema.is_object()).map(|schema| self.view(schema))
    }

    /// The names of the keys of a table that has no kinds.
    pub(crate) fn properties<'a>(view: &View<'a>) -> Vec<&'a str> {
        let tables = view.layers.iter().filter_map(|schema| schema.get("properties")?.as_object());
        tables.flatten().map(|(key, _)| key.as_str()).collect()
    }

    /// The kinds of a table that has kinds, with the schema of each.
    pub(crate) fn kinds<'a>(view: &View<'a>) -> Vec<(&'a str, &'a Json)> {
        let variants = view.get("oneOf").and_then(Json::as_array).into_iter().flatten();
        variants
            .filter_map(|schema| Some((schema.pointer("/properties/kind/const")?.as_str()?, schema)))
            .collect()
    }

    /// The names of the kinds of a table that has kinds.
    pub(crate) fn kind_names<'a>(view: &View<'a>) -> Vec<&'a str> {
        Self::kinds(view).into_iter().map(|(kind, _)| kind).collect()
    }

    /// The keys that a table must have.
    pub(crate) fn required<'a>(view: &View<'a>, table: &Node) -> Vec<&'a str> {
        let kind = table.get("kind").and_then(Node::text);
        let own = kind.and_then(|kind| Self::kinds(view).into_iter().find(|(name, _)| *name == kind));
        let tables = view.layers.iter().copied().chain(own.map(|(_, schema)| schema));
        tables
            .filter_map(|schema| schema.get("required")?.as_array())
            .flatten()
            .filter_map(Json::as_str)
            .collect()
    }
}

impl<'a> View<'a> {
    /// A keyword.
    pub(crate) fn get(&self, keyword: &str) -> Option<&'a Json> {
        self.around.iter().chain(&self.layers).find_map(|schema| schema.get(keyword))
    }

    /// A keyword whose value is a text.
    pub(crate) fn text(&self, keyword: &str) -> Option<&'a str> {
        self.get(keyword).and_then(Json::as_str)
    }

    /// Whether values of this JSON type are allowed.
    pub(crate) fn allows(&self, json_type: &str) -> bool {
        match self.get("type") {
            Some(Json::String(one)) => one == json_type,
            Some(Json::Array(several)) => several.iter().any(|one| one == json_type),
            // A table that is one of several kinds has its type in each of them.
            _ => json_type == "object" && !Rules::kinds(self).is_empty(),
        }
    }

    /// The words of an enumeration; empty if this is none.
    pub(crate) fn words(&self) -> Vec<&'a str> {
        let listed = self.get("enum").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
        let variants = self.get("oneOf").and_then(Json::as_array).into_iter().flatten();
        let described = variants.filter_map(|schema| schema.get("const")?.as_str());
        listed.chain(described).chain(self.text("const")).collect()
    }
}

/// The JSON Schema (draft 2020-12) of scenario files, for editors: defaults are those of the profile `authors`.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Settings).to_value();
    let defaults = Node::parse(Profile::Authors.defaults(), 0).expect("a profile is TOML").json();
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
        name => &defaults[name.to_lowercase()],
    };
    table.as_object()
}
