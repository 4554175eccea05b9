//! Checks `[[scheme]]`: every scheme has its own name, and the scenario with its overrides is one, too.
use std::path::Path;

use backwater_codes::Code;

use crate::document::{Node, Problem, Source, Value, check as check_tree};
use crate::layers;
use crate::overrides;
use crate::presets;
use crate::profiles;
use crate::schema;
use crate::settings::Profile;

/// What is wrong with the schemes of `root`, a complete scenario. `file` is the scenario as it was read and `given` are
/// the overrides of the user, which are applied after those of a scheme.
pub(crate) fn check(
    root: &Node,
    file: &Node,
    given: &[String],
    base: &Path,
    sources: &mut Vec<Source>,
) -> Vec<Problem> {
    let Some(Value::List(schemes)) = root.get("scheme").map(|node| &node.value) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    for (index, scheme) in schemes.iter().enumerate() {
        let earlier = schemes[..index].iter();
        let name = scheme.get("name");
        if let Some(name) = name
            && earlier.filter_map(|other| other.get("name")?.text()).any(|other| Some(other) == name.text())
        {
            let message = format!("two schemes are called {}", name.shown());
            let problem = Problem::new(name.place.clone(), message, "the name is taken").key("scheme.name");
            problems.push(problem.help("give every scheme a name of its own"));
        }
        problems.extend(with(scheme, file, given, base, sources));
    }
    problems
}

/// What is wrong with the scenario under one scheme.
fn with(
    scheme: &Node,
    file: &Node,
    given: &[String],
    base: &Path,
    sources: &mut Vec<Source>,
) -> Vec<Problem> {
    let Some(Value::List(set)) = scheme.get("set").map(|node| &node.value) else {
        return Vec::new();
    };
    let rules = schema::rules();
    let (mut root, mut problems) = (file.clone(), Vec::new());
    for node in set {
        let Some(text) = node.text() else { continue };
        let at = place(node, text, sources);
        if text.split(['.', '=']).next().is_some_and(|key| key.trim() == "scheme") {
            let message = format!("the scheme changes schemes: {text:?}");
            let problem = Problem::new(node.place.clone(), message, "changes schemes").key("scheme.set");
            problems.push(problem.help("set any other key"));
        } else {
            let refused = overrides::apply(&mut root, text, at, rules).err();
            problems.extend(refused.map(|problem| problem.code(Code::Override)));
        }
    }
    for (index, text) in given.iter().enumerate() {
        problems.extend(overrides::apply(&mut root, text, (index + 1, 0), rules).err());
    }
    let named = root.get("profile").and_then(Node::text);
    let profile = Profile::ALL.into_iter().find(|profile| Some(profile.name()) == named).unwrap_or_default();
    problems.extend(presets::fill(&mut root, base, sources).err().into_iter().flatten());
    match profiles::defaults(profile, sources) {
        Ok(defaults) => {
            layers::fill(&mut root, &defaults, "");
            layers::fill_entries(&mut root);
        }
        Err(broken) => problems.extend(broken),
    }
    problems.extend(check_tree(&root, rules));
    problems
}

/// Where the text of an override begins: in the source that it stands in, or, where it is written there with escapes,
/// in a source of its own.
fn place(node: &Node, text: &str, sources: &mut Vec<Source>) -> (usize, usize) {
    let begin = node.place.span.start + 1;
    let whole = sources[node.place.source].text.get(begin..begin + text.len());
    if whole == Some(text) {
        return (node.place.source, begin);
    }
    sources.push(Source { name: "a scheme's set".to_owned(), text: text.to_owned() });
    (sources.len() - 1, 0)
}
