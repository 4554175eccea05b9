//! Congestion isolation in a switch: the congested-flow table (CFT) put between the queues of [`crate::switch::cioq`].
//!
//! ```text
//!   ingress:  packet of an entry ─▶ CFQ, if no older one of that entry waits in the NFQ; else NFQ
//!             first packet of the NFQ has an entry ─▶ end of the CFQ           CFQ long ─▶ CIM to the upstream port
//!   egress:   from the CFQ ─▶ CFQ, by the same rule; NFQ long and packet congesting ─▶ entry
//!             first packet of the NFQ has an entry ─▶ end of the CFQ
//! ```
//! So a flow keeps its order: in a stage its packets are in the CFQ only if none that came before is in the NFQ, and an entry
//! ends only when none of its packets is in a CFQ. Which flow is congesting, when to tell the upstream, when to mark: that is
//! decided in `control/isolation`.
//! The way of a packet:
//!
//! 1. Every packet is looked up in the table of its switch (`control/isolation/cft.rs`). A packet of a listed flow joins the
//!    congested-flow queue (CFQ), unless older packets of its flow are in the normal-flow queue (NFQ) beside it (`queues.rs`). PFC counts
//!    a packet in the queue in which it stands.
//! 2. A packet that joins a long NFQ at an egress port may make an entry (`entries.rs`). The rule `ci` takes any packet. The rule
//!    `ici` asks for a port that nobody holds back and a destination that fills the queue.
//! 3. A CFQ that grows at an ingress port sends a CIM upstream (`messages.rs`), a frame like any other. The switch there makes an
//!    entry, too. A NIC sends the flow in the class of the CFQ until no CIM has come for a while.
//! 4. ICI+ marks where isolation does not suffice: flows that a full table refused, and flows that stay isolated for long.
//!
//! Sources: ICI paper, section 2; order and the moves between queues are reconstructed after FBICM and IEEE 802.1Qcz.
mod audit;
pub(crate) mod entries;
mod messages;
mod queues;

use backwater_control::isolation::{Cft, CimState, Isolation, Key, KeyKind, Slot};
use backwater_topology::Network;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::packet::Packet;
use crate::spec::IsolationSpec;
use crate::world::{Classes, World};

/// The classes that isolation knows.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Lanes {
    /// That of the NFQ, which is watched.
    pub(crate) monitored: u8,
    /// That of the CFQ.
    pub(crate) congested: u8,
}

/// Isolation as all nodes apply it.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Rules {
    algorithm: Isolation,
    slots: Option<u32>,
    pub(crate) key: KeyKind,
    frame: u16,
    /// Picoseconds after the last CIM for which a NIC keeps a key isolated.
    pub(crate) host_hold: Option<u64>,
    pub(crate) lanes: Lanes,
}

impl Rules {
    pub(crate) fn new(spec: &IsolationSpec, classes: &Classes) -> Self {
        Self {
            algorithm: spec.rules,
            slots: spec.slots,
            key: spec.key,
            frame: spec.frame.get() as u16,
            host_hold: spec.host_hold.map(backwater_units::Span::as_ps),
            lanes: Lanes {
                monitored: classes.class(spec.monitored),
                congested: classes.class(spec.congested),
            },
        }
    }

    /// Whether packets of a class are watched or isolated.
    #[inline]
    const fn concern(&self, class: u8) -> bool {
        class == self.lanes.monitored || class == self.lanes.congested
    }
}

impl World {
    /// What a packet of `flow` to `dst` has in common with the others of its entry; not for [`KeyKind::Root`].
    pub(crate) fn key(&self, kind: KeyKind, flow: u32, dst: u32) -> Key {
        let ends = &self.flows[flow as usize];
        let back = ends.dst != dst;
        let src = if back { ends.dst } else { ends.src };
        match kind {
            KeyKind::Pair => u64::from(src) << 32 | u64::from(dst),
            KeyKind::Flow => u64::from(self.path_key(flow)) << 1 | u64::from(back),
            KeyKind::Destination | KeyKind::Root => u64::from(dst),
        }
    }
}

/// The table of a switch and what goes with each entry.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct CongestedFlows {
    pub(super) rules: Rules,
    pub(super) cft: Cft,
    pub(super) slots: Vec<Slot>,
    ports: usize,
    hosts: usize,
    /// `[slot * ports + port]`, as are the next three.
    cims: Vec<CimState>,
    /// Packets of an entry in the NFQ of an ingress port, and of an egress port.
    in_nfq: Vec<u32>,
    out_nfq: Vec<u32>,
    /// CI: whether an ingress port was refused a slot for the entry.
    refused: Vec<bool>,
    /// By slot: whether a timer is set for a look at the entry.
    armed: Vec<bool>,
    /// Bytes in the NFQ of an egress port by destination: `[port * hosts + destination]`.
    towards: Vec<u32>,
    /// [`KeyKind::Root`]: the destinations behind the root, a bit each, by slot.
    behind: Vec<Vec<u64>>,
    /// Ports whose peer takes no CIMs.
    deaf: Vec<bool>,
    /// CI: an ingress port found no slot since the last one became free.
    wanting: bool,
}

impl CongestedFlows {
    pub(crate) fn new(node: u32, network: &Network, world: &World) -> Option<Box<Self>> {
        let rules = world.isolation?;
        let (ports, hosts) = (network.ports(node).len(), network.hosts().len());
        let takes_part = |peer: u32| network.is_switch(peer) || rules.host_hold.is_some();
        Some(Box::new(Self {
            rules,
            cft: Cft::default(),
            slots: Vec::new(),
            ports,
            hosts,
            cims: Vec::new(),
            in_nfq: Vec::new(),
            out_nfq: Vec::new(),
            refused: Vec::new(),
            armed: Vec::new(),
            towards: vec![0; ports * hosts],
            behind: Vec::new(),
            deaf: network.ports(node).iter().map(|port| !takes_part(port.peer)).collect(),
            wanting: false,
        }))
    }

    pub(crate) fn state_bytes(&self) -> usize {
        size_of_val(&*self.slots)
            + size_of_val(&*self.cims)
            + size_of_val(&*self.in_nfq)
            + size_of_val(&*self.out_nfq)
            + size_of_val(&*self.towards)
    }

    #[inline]
    const fn at(&self, slot: usize, port: u16) -> usize {
        slot * self.ports + port as usize
    }

    #[inline]
    const fn towards_at(&self, out: u16, dst: u32) -> usize {
        out as usize * self.hosts + dst as usize
    }

    /// The entry of a packet, if it has one.
    #[inline]
    pub(crate) fn entry(&self, packet: &Packet, world: &World) -> Option<usize> {
        if self.has_entries() { self.find(packet, world) } else { None }
    }

    /// Whether there are any.
    #[inline]
    pub(crate) const fn has_entries(&self) -> bool {
        self.cft.live() > 0
    }

    #[inline(never)]
    fn find(&self, packet: &Packet, world: &World) -> Option<usize> {
        let kind = self.rules.key;
        if kind == KeyKind::Root {
            let (word, bit) = (packet.dst as usize / 64, packet.dst % 64);
            return (0..self.slots.len())
                .find(|slot| self.slots[*slot].is_live() && self.behind[*slot][word] >> bit & 1 == 1);
        }
        self.cft.find(&self.slots, world.key(kind, packet.flow, packet.dst))
    }
}
