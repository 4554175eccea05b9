//! What a file may say: the JSON Schema of the type that it is read into.
use serde_json::Value as Json;

use crate::node::Node;

/// The schema of a file, and the words of others that its messages know.
#[derive(Debug)]
pub struct Rules {
    root: Json,
    /// How messages call the outermost table.
    pub(crate) what: &'static str,
    pub(crate) words: Words,
}

/// What a word or key that is not known here probably meant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words {
    /// Words that files of earlier versions used: key, word, what to write now.
    pub retired: &'static [(&'static str, &'static str, &'static str)],
    /// Keys of earlier versions that nothing stands for now: their names from the root on, and what to do.
    pub gone: &'static [(&'static str, &'static str)],
    /// Keys of earlier versions, from the root on, and where they stand now.
    pub moved: &'static [(&'static str, &'static str)],
    /// Words that the literature has for ours: how the key ends, word, ours.
    pub synonyms: &'static [(&'static str, &'static str, &'static str)],
    /// Keys that the literature has for ours: theirs, ours, what ours is.
    pub keys: &'static [(&'static str, &'static str, &'static str)],
}

/// A schema with what it refers to: the first layer that has a keyword counts.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The schemas around a branch of an `anyOf`, which describe and bound it.
    around: Vec<&'a Json>,
    layers: Vec<&'a Json>,
}

impl Rules {
    /// The rules of the type `T`. `what` is how messages call the outermost table ("the scenario"). Takes longer than a check:
    /// to be kept.
    pub fn of<T: schemars::JsonSchema>(what: &'static str, words: Words) -> Self {
        Self { root: schemars::schema_for!(T).to_value(), what, words }
    }

    /// The outermost table.
    pub fn root(&self) -> View<'_> {
        self.view(&self.root)
    }

    /// A schema together with what its `$ref` names.
    pub fn view<'a>(&'a self, schema: &'a Json) -> View<'a> {
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
    pub fn branches<'a>(&'a self, view: &View<'a>) -> Vec<View<'a>> {
        let any_of = view.layers.iter().find_map(|schema| schema.get("anyOf")?.as_array());
        let branches = any_of.into_iter().flatten();
        let branches = branches.filter(|schema| schema.get("type") != Some(&Json::from("null")));
        branches.map(|schema| View { around: view.layers.clone(), ..self.view(schema) }).collect()
    }

    /// The schemas of the keys of a table: those of every kind, and those of its own `kind` if it has a valid one.
    pub fn keys<'a>(&'a self, view: &View<'a>, table: &Node) -> Vec<(&'a str, View<'a>)> {
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
    pub fn any_key<'a>(&'a self, view: &View<'a>) -> Option<View<'a>> {
        view.get("additionalProperties").filter(|schema| schema.is_object()).map(|schema| self.view(schema))
    }

    /// The names of the keys of a table that has no kinds.
    pub fn properties<'a>(view: &View<'a>) -> Vec<&'a str> {
        let tables = view.layers.iter().filter_map(|schema| schema.get("properties")?.as_object());
        tables.flatten().map(|(key, _)| key.as_str()).collect()
    }

    /// The kinds of a table that has kinds, with the schema of each.
    pub fn kinds<'a>(view: &View<'a>) -> Vec<(&'a str, &'a Json)> {
        let variants = view.get("oneOf").and_then(Json::as_array).into_iter().flatten();
        variants
            .filter_map(|schema| Some((schema.pointer("/properties/kind/const")?.as_str()?, schema)))
            .collect()
    }

    /// The names of the kinds of a table that has kinds.
    pub fn kind_names<'a>(view: &View<'a>) -> Vec<&'a str> {
        Self::kinds(view).into_iter().map(|(kind, _)| kind).collect()
    }

    /// The keys that a table must have.
    pub fn required<'a>(view: &View<'a>, table: &Node) -> Vec<&'a str> {
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

impl Rules {
    /// Every table with its keys and what they mean (the description, then the words of an enumeration), for a reference. A table of
    /// one of several kinds is listed once for each.
    pub fn describe(&self) -> Vec<(String, Vec<(String, String)>)> {
        let mut tables = Vec::new();
        self.describe_table(&self.root(), "", &mut tables);
        tables
    }

    fn describe_table(&self, view: &View<'_>, name: &str, tables: &mut Vec<(String, Vec<(String, String)>)>) {
        let kinds = Self::kinds(view);
        for (kind, schema) in kinds {
            let title = format!("{name} kind = \"{kind}\"");
            self.describe_keys(schema, &title, tables);
        }
        for schema in view.layers.iter().filter(|schema| schema.get("properties").is_some()) {
            self.describe_keys(schema, name, tables);
        }
    }

    fn describe_keys(&self, schema: &Json, title: &str, tables: &mut Vec<(String, Vec<(String, String)>)>) {
        let properties = schema.get("properties").and_then(Json::as_object).into_iter().flatten();
        let (mut keys, mut inner) = (Vec::new(), Vec::new());
        for (key, schema) in properties.filter(|(key, _)| *key != "kind" || !title.contains("kind =")) {
            let view = self.view(schema);
            let item = view.get("items").map(|items| self.view(items));
            let is_table = |view: &View<'_>| view.allows("object");
            match item {
                Some(item) if is_table(&item) => inner.push((format!("[[{key}]]"), item)),
                _ if is_table(&view) => inner.push((format!("[{key}]"), view)),
                _ => keys.push((key.clone(), self.meaning(&view))),
            }
        }
        if !keys.is_empty() || inner.is_empty() {
            tables.push((title.to_owned(), keys));
        }
        for (name, view) in inner {
            self.describe_table(&view, &name, tables);
        }
    }

    /// The description of a key on one line, with its words.
    fn meaning(&self, view: &View<'_>) -> String {
        let mut text = view.text("description").unwrap_or_default().replace('\n', " ");
        let branches = self.branches(view);
        let words: Vec<&str> = match &branches[..] {
            [] => view.words(),
            several => several.iter().flat_map(View::words).collect(),
        };
        if !words.is_empty() {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            text = format!("{text} One of {}.", words.join(", "));
        }
        text.replace('|', "\\|")
    }
}

/// What a table may say, if its kind is known.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    pub(crate) kinds: Vec<&'a str>,
    pub(crate) keys: Vec<(&'a str, View<'a>)>,
    pub(crate) required: Vec<&'a str>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(rules: &'a Rules, view: &View<'a>, table: &Node) -> Self {
        let (keys, required) = (rules.keys(view, table), Rules::required(view, table));
        Self { kinds: Rules::kind_names(view), keys, required }
    }
}

impl<'a> View<'a> {
    /// The same for all views of a schema within another one: its address, and that of the other.
    pub(crate) fn identity(&self) -> [usize; 2] {
        [self.layers.first(), self.around.first()]
            .map(|it| it.map_or(0, |it| std::ptr::from_ref::<Json>(it).addr()))
    }

    /// A keyword.
    pub fn get(&self, keyword: &str) -> Option<&'a Json> {
        self.around.iter().chain(&self.layers).find_map(|schema| schema.get(keyword))
    }

    /// A keyword whose value is a text.
    pub fn text(&self, keyword: &str) -> Option<&'a str> {
        self.get(keyword).and_then(Json::as_str)
    }

    /// Whether values of this JSON type are allowed.
    pub fn allows(&self, json_type: &str) -> bool {
        match self.get("type") {
            Some(Json::String(one)) => one == json_type,
            Some(Json::Array(several)) => several.iter().any(|one| one == json_type),
            // A table that is one of several kinds has its type in each of them.
            _ => json_type == "object" && !Rules::kinds(self).is_empty(),
        }
    }

    /// The words of an enumeration; empty if this is none.
    pub fn words(&self) -> Vec<&'a str> {
        let listed = self.get("enum").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
        let variants = self.get("oneOf").and_then(Json::as_array).into_iter().flatten();
        let described = variants.filter_map(|schema| schema.get("const")?.as_str());
        listed.chain(described).chain(self.text("const")).collect()
    }
}
