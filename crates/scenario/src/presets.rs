//! What is published of a device: its facts, the values of keys, and where each is from.
//!
//! A preset lies between what the user writes and the profile: what the file gives stands, and the profile has what is not published.
use std::path::Path;

use serde::Deserialize;

use backwater_codes::Code;
use backwater_units::Rate;

use crate::document::{Node, Problem, Source, input};
use crate::layers;
use crate::quantity::Quantity;
use crate::settings::{NicPreset, NicProfile, SwitchPreset};

/// What a device can carry.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Device {
    /// What it is called, and a product that has it.
    pub(crate) name: String,
    /// What all its ports carry together, in one direction; a NIC has one port.
    pub(crate) capacity: Option<Quantity<Rate>>,
    /// What its fastest port carries.
    pub(crate) port: Quantity<Rate>,
    /// The most ports that it can have.
    pub(crate) ports: Option<u64>,
}

/// The facts of a preset.
pub(crate) fn device(text: &str) -> Device {
    let table = Node::parse(text, 0).expect("a preset is TOML");
    let facts = table.get("device").expect("a preset has [device]").json();
    serde_json::from_value(facts).expect("[device] has the facts of a device")
}

/// Fills what the presets that `root` names have published into what it does not say. An unknown preset is reported by the check; a
/// profile of a NIC may be a file of the user's, whose path counts from `base`.
pub(crate) fn fill(root: &mut Node, base: &Path, sources: &mut Vec<Source>) -> Result<(), Vec<Problem>> {
    let named = |path: &[&str]| path.iter().try_fold(&*root, |node, key| node.get(key)).and_then(Node::text);
    let switch = named(&["switch", "preset"]);
    let switch = SwitchPreset::ALL.iter().find(|preset| Some(preset.name()) == switch);
    let nic = named(&["host", "nic", "preset"]);
    let nic = NicPreset::ALL.iter().find(|preset| Some(preset.name()) == nic);
    let built_in = |name: &str, text: &str| (format!("preset {name} (built in)"), text.to_owned());
    let mut texts: Vec<(String, String)> =
        switch.map(|it| built_in(it.name(), it.text())).into_iter().collect();
    texts.extend(nic.map(|it| built_in(it.name(), it.text())));
    if let Some(node) = ["host", "nic", "profile"].iter().try_fold(&*root, |node, key| node.get(key))
        && let Some(name) = node.text()
    {
        texts.push(profile(name, base).map_err(|(code, message, help)| {
            let label = "a built-in profile, or a file of your own".to_owned();
            vec![Problem::new(node.place.clone(), message, label).code(code).help(help)]
        })?);
    }
    for (name, text) in texts {
        sources.push(Source { name, text });
        let number = sources.len() - 1;
        let table = Node::parse(&sources[number].text, number)?;
        if let Some(values) = table.get("values") {
            layers::fill(root, values, "");
        }
    }
    Ok(())
}

/// The origin and the text of a profile of a NIC: one that is built in, or a file; else what is wrong, and what would do.
fn profile(name: &str, base: &Path) -> Result<(String, String), (Code, String, String)> {
    if let Some(known) = NicProfile::ALL.iter().find(|it| it.name() == name) {
        return Ok((format!("profile {name} (built in)"), known.text().to_owned()));
    }
    let is_file = Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"));
    if !is_file {
        let names: Vec<&str> = NicProfile::ALL.iter().map(|it| it.name()).collect();
        let help = format!(
            "write one of {}, or the path of a .toml file that backwater calibrate wrote",
            names.join(", ")
        );
        return Err((Code::UnknownWord, format!("host.nic.profile = \"{name}\" is not known"), help));
    }
    let path = base.join(name);
    let read = input::read(&path, input::MOST_WRITTEN).map(String::from_utf8);
    let failed = match read {
        Ok(Ok(text)) => return Ok((path.display().to_string(), text)),
        Ok(Err(_)) => "it is not UTF-8".to_owned(),
        Err(error) => error.to_string(),
    };
    let absolute = std::path::absolute(&path).unwrap_or(path);
    let help = format!("looked for {}; paths count from the folder of the scenario file", absolute.display());
    Err((Code::File, format!("host.nic.profile = \"{name}\" cannot be read: {failed}"), help))
}

/// Every preset, as JSON: a table by the key that chooses it, then by its name, as its file has it.
pub fn presets() -> String {
    let read =
        |name: &str, text: &str| (name.to_owned(), Node::parse(text, 0).expect("a preset is TOML").json());
    let switches: serde_json::Map<_, _> =
        SwitchPreset::ALL.iter().map(|it| read(it.name(), it.text())).collect();
    let nics: serde_json::Map<_, _> = NicPreset::ALL.iter().map(|it| read(it.name(), it.text())).collect();
    let profiles: serde_json::Map<_, _> =
        NicProfile::ALL.iter().map(|it| read(it.name(), it.text())).collect();
    serde_json::json!({ "switch.preset": switches, "host.nic.preset": nics, "host.nic.profile": profiles })
        .to_string()
}
