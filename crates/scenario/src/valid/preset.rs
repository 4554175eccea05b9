//! Whether the devices that presets name can be those of the network, and what the user has quite unlike them.
use backwater_codes::Code;
use backwater_topology::{Network, Port};
use backwater_units::{Bytes, Rate};

use super::{Context, Found};
use crate::document::{Node, at};
use crate::presets::{self, Device};
use crate::settings::{NicPreset, NicProfile};

/// A value this many times that of the preset is unlike it, and so is one that many times below.
const UNLIKE: u64 = 4;

/// Reports switches and NICs that carry more than what they are said to be, and tells of values unlike the preset's.
pub(super) fn check(context: &mut Context<'_>, network: &Network) {
    if let Some(preset) = context.settings.switch.preset {
        let device = presets::device(preset.text());
        let switches = (0..network.nodes().len() as u32).filter(|&node| network.is_switch(node));
        let path = at!["switch", "preset"];
        let found = switches.filter_map(|node| {
            let (by, message) = too_much(&device, network.ports(node))?;
            let name = network.name(node).to_owned();
            let message = format!("switch {name} has {message}");
            Some(Found {
                path: path.to_vec(),
                name,
                by,
                message,
                label: "too small".to_owned(),
                help: help(&device),
            })
        });
        let found = found.collect();
        context.report_worst(found);
        unlike(context, preset.name(), preset.text());
    }
    let nic = &context.settings.host.nic;
    let measured = NicProfile::ALL.iter().find(|it| Some(it.name()) == nic.profile.as_deref());
    let chosen =
        [("preset", nic.preset.map(NicPreset::text)), ("profile", measured.map(|profile| profile.text()))];
    for (key, text) in chosen {
        let Some(text) = text else { continue };
        let device = presets::device(text);
        let path = at!["host", "nic", key];
        let found = network.hosts().iter().filter_map(|&host| {
            let (by, message) = too_much(&device, network.ports(host))?;
            let name = network.name(host).to_owned();
            let message = format!("host {name} has {message}");
            Some(Found {
                path: path.to_vec(),
                name,
                by,
                message,
                label: "too slow".to_owned(),
                help: help(&device),
            })
        });
        let found = found.collect();
        context.report_worst(found);
    }
}

fn help(device: &Device) -> String {
    let most = device.ports.map_or(String::new(), |ports| format!(", at most {ports} ports"));
    let all = device.capacity.map_or(String::new(), |capacity| format!(", {capacity} together"));
    format!(
        "{} has ports of up to {}{most}{all}: choose another preset, or a smaller [topology]",
        device.name, device.port
    )
}

/// What the ports of a node have that the device does not, and by how much.
fn too_much(device: &Device, ports: &[Port]) -> Option<(u128, String)> {
    let rates = || ports.iter().map(|port| port.rate.as_bps());
    let (fastest, all) = (rates().max()?, rates().map(u128::from).sum::<u128>());
    let over = |has: u128, most: u128| has.checked_sub(most).filter(|&by| by > 0);
    if let Some(by) = over(fastest.into(), device.port.0.as_bps().into()) {
        return Some((by, format!("a port of {}, more than {}", Rate::from_bps(fastest), device.port)));
    }
    if let Some(most) = device.capacity
        && let Some(by) = over(all, most.0.as_bps().into())
    {
        let all = Rate::from_bps(u64::try_from(all).unwrap_or(u64::MAX));
        return Some((by, format!("{} ports with {all} together, more than {most}", ports.len())));
    }
    let most = device.ports?;
    let by = over(ports.len() as u128, most.into())?;
    Some((by, format!("{} ports, more than {most}", ports.len())))
}

/// Tells of sizes that the user has four times as large or small as the device.
fn unlike(context: &mut Context<'_>, name: &str, text: &str) {
    let table = Node::parse(text, 0).expect("a preset is TOML");
    let switch = &context.settings.switch;
    let sizes = [
        (["switch", "buffer"].as_slice(), switch.buffer),
        (&["switch", "detector", "kmin"], switch.detector.kmin),
        (&["switch", "detector", "kmax"], switch.detector.kmax),
    ];
    let list: Vec<String> = sizes
        .into_iter()
        .filter(|(path, _)| context.wrote(path).is_some())
        .filter_map(|(path, own)| {
            let published: Bytes = ["values"]
                .iter()
                .chain(path)
                .try_fold(&table, |node, key| node.get(key))?
                .text()?
                .parse()
                .ok()?;
            let (own, published) = (own.0.get(), published.get());
            let far = own >= published.saturating_mul(UNLIKE) || own.saturating_mul(UNLIKE) <= published;
            far.then(|| format!("{} = {} ({})", path.join("."), Bytes::new(own), Bytes::new(published)))
        })
        .collect();
    if !list.is_empty() {
        let message =
            format!("quite unlike the preset {name} (in brackets what it has): {}", list.join(", "));
        context.caveat(Code::UnlikePreset, "switch.preset", message);
    }
}
