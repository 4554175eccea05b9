//! What is published of a device: its facts, the values of keys, and where each is from.
//!
//! A preset lies between what the user writes and the profile: what the file gives stands, and the profile has what is not published.
use serde::Deserialize;

use backwater_units::Rate;

use crate::document::{Node, Problem, Source};
use crate::layers;
use crate::quantity::Quantity;
use crate::settings::{NicPreset, SwitchPreset};

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

/// Fills what the presets that `root` names have published into what it does not say. An unknown name is reported by the check.
pub(crate) fn fill(root: &mut Node, sources: &mut Vec<Source>) -> Result<(), Vec<Problem>> {
    let named = |path: &[&str]| path.iter().try_fold(&*root, |node, key| node.get(key)).and_then(Node::text);
    let switch = named(&["switch", "preset"]);
    let switch = SwitchPreset::ALL.iter().find(|preset| Some(preset.name()) == switch);
    let nic = named(&["host", "nic", "preset"]);
    let nic = NicPreset::ALL.iter().find(|preset| Some(preset.name()) == nic);
    let texts = [switch.map(|it| (it.name(), it.text())), nic.map(|it| (it.name(), it.text()))];
    for (name, text) in texts.into_iter().flatten() {
        let table = Node::parse(text, sources.len())?;
        sources.push(Source { name: format!("preset {name} (built in)"), text: text.to_owned() });
        if let Some(values) = table.get("values") {
            layers::fill(root, values, "");
        }
    }
    Ok(())
}

/// Every preset, as JSON: a table by the key that chooses it, then by its name, as its file has it.
pub fn presets() -> String {
    let read =
        |name: &str, text: &str| (name.to_owned(), Node::parse(text, 0).expect("a preset is TOML").json());
    let switches: serde_json::Map<_, _> =
        SwitchPreset::ALL.iter().map(|it| read(it.name(), it.text())).collect();
    let nics: serde_json::Map<_, _> = NicPreset::ALL.iter().map(|it| read(it.name(), it.text())).collect();
    serde_json::json!({ "switch.preset": switches, "host.nic.preset": nics }).to_string()
}
