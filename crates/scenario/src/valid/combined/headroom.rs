//! Whether an ingress region holds what still arrives after the PAUSE of its port.
use backwater_control::flow_control::headroom;
use backwater_topology::Network;
use backwater_units::{Bytes, Rate, Span};

use super::{shares::Shares, size};
use crate::document::at;
use crate::valid::{Context, mtu};

/// What the worst link of the switches brings after the PAUSE of the port at its end.
struct Worst {
    /// The port at the end of the link.
    name: String,
    rate: Rate,
    delay: Span,
    bytes: Bytes,
    /// Of which in flight on the cable, both ways.
    cable: Bytes,
}

/// The region holds `stop`, the packet that reaches it, and the headroom.
pub(super) fn check(context: &mut Context<'_>, network: &Network, shares: &Shares) {
    let (settings, packet) = (context.settings, mtu(context.settings));
    // Every class has a PFC frame of its own.
    let frames = settings.switch.pfc.frame.0 * shares.classes;
    let Some(worst) = worst(network, packet, frames) else { return };
    let region = settings.switch.combined.ingress;
    let (stop, head) = (shares.port.stop, packet + worst.bytes);
    let need = stop + head;
    if need <= region.0 {
        return;
    }
    let said = |key| context.wrote(&["switch", "combined"]).is_some_and(|table| table.get(key).is_some());
    let message = format!(
        "an ingress region of {} is too small for the link to {}: a port that is paused at switch.combined.stop = {} may have to \
         hold {}",
        size(region.0),
        worst.name,
        size(stop),
        size(need)
    );
    // Without a stop of its own a larger region moves the default, too: 14/64 remain above it.
    let least = if said("stop") { need } else { Bytes::new(head.get().div_ceil(14) * 64) };
    let least = size(Bytes::new(least.get().next_multiple_of(1024)));
    let room = region.0.saturating_sub(head);
    let lower = if room >= packet {
        format!("or lower switch.combined.stop to at most {}", size(room))
    } else {
        "or shorten the link (the delay of the topology)".to_owned()
    };
    let help = format!(
        "raise switch.combined.ingress to {least} or more, {lower}. What the region must hold:\n  {}",
        worst.steps(stop, packet, frames, need).join("\n  ")
    );
    let key = if said("stop") { "stop" } else { "ingress" };
    context.report(
        &at!["switch", "combined", key],
        message,
        format!("{} too much", size(need - region.0)),
        help,
    );
}

impl Worst {
    /// The arithmetic, line by line.
    fn steps(&self, stop: Bytes, packet: Bytes, frames: Bytes, need: Bytes) -> [String; 7] {
        let Self { rate, delay, .. } = self;
        [
            format!("what is there when the port is paused (stop): {}", size(stop)),
            format!("the packet that reaches stop: {}", size(packet)),
            format!("while PAUSE waits for the packet in transmission: {}", size(packet)),
            format!("while PAUSE itself is sent: {}", size(frames)),
            format!("on the cable, both ways (2*{delay}*{rate}): {}", size(self.cable)),
            format!("the packet that the sender has begun: {}", size(packet)),
            format!("in all: {}", size(need)),
        ]
    }
}

fn worst(network: &Network, packet: Bytes, frames: Bytes) -> Option<Worst> {
    let switches = (0..network.nodes().len() as u32).filter(|&node| network.is_switch(node));
    let ports = switches.flat_map(|node| (0..).zip(network.ports(node)).map(move |port| (node, port)));
    let needs = ports.map(|(node, (index, port))| {
        (headroom(port.rate, port.delay, packet, frames, Span::ZERO), node, index, port)
    });
    let worst = needs.reduce(|worst, other| if other.0.bytes > worst.0.bytes { other } else { worst });
    worst.map(|(need, node, index, port)| Worst {
        name: network.port_name(node, index),
        rate: port.rate,
        delay: port.delay,
        bytes: need.bytes,
        cable: need.terms[0].bytes,
    })
}
