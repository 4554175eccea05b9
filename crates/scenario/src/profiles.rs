//! The defaults of a profile: what it has itself over what all profiles start from.
use crate::document::{Node, Problem, Source};
use crate::layers;
use crate::settings::Profile;

/// What all profiles start from.
const BASE: &str = include_str!("profiles/base.toml");

/// The values of a profile. Its texts become sources for messages; that of its own values is the first of the two.
pub(crate) fn defaults(profile: Profile, sources: &mut Vec<Source>) -> Result<Node, Vec<Problem>> {
    let name = format!("profile {} (built in)", profile.name());
    let mut defaults = Node::parse(profile.differences(), sources.len())?;
    sources.push(Source { name, text: profile.differences().to_owned() });
    let below = profile.shared().map(|text| ("several profiles (built in)", text));
    for (name, text) in below.into_iter().chain([("all profiles (built in)", BASE)]) {
        let layer = Node::parse(text, sources.len())?;
        sources.push(Source { name: name.to_owned(), text: text.to_owned() });
        layers::fill(&mut defaults, &layer, "");
    }
    Ok(defaults)
}

/// What every profile gives to every key, as JSON: a table by the name of each profile.
pub fn profile_defaults() -> String {
    let of = |profile: Profile| defaults(profile, &mut Vec::new()).expect("a profile is TOML").json();
    let every: serde_json::Map<_, _> =
        Profile::ALL.into_iter().map(|profile| (profile.name().to_owned(), of(profile))).collect();
    serde_json::Value::from(every).to_string()
}
