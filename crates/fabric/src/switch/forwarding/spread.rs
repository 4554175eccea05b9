//! How a switch spreads data over equally short ways, if not by the numbers of flows: see [`Balancing`], and [`crate::SwitchSpec::hashes`].
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use backwater_engine::mix;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::link::ports::Ports;
use crate::packet::{Kind, Packet};
use crate::spec::Balancing;
use crate::switch::forwarding::ecmp::{PathHash, way};

/// Purpose of the random choices; entity: flow << 32 | packet.
const SPREAD: u64 = 0x59ea;

/// What a switch needs for it. Nothing here is drawn from a stream: a packet's choice does not depend on how many were made before.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    balancing: Balancing,
    salt: u32,
    path_keys: Arc<[u32]>,
    hashes: Arc<[PathHash]>,
    /// By flow: when its latest packet came, and where it went.
    flowlets: BTreeMap<u32, (u64, u16)>,
}

impl Spread {
    pub(crate) fn new(
        balancing: Balancing,
        salt: u32,
        path_keys: Arc<[u32]>,
        hashes: Arc<[PathHash]>,
    ) -> Self {
        Self { balancing, salt, path_keys, hashes, flowlets: BTreeMap::new() }
    }

    pub(super) fn save(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let Self { balancing: _, salt: _, path_keys: _, hashes: _, flowlets } = self;
        flowlets.serialize(out)
    }

    pub(super) fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        self.flowlets = BorshDeserialize::deserialize(from)?;
        Ok(())
    }

    /// There are more flows now.
    pub(super) fn hash_by(&mut self, path_keys: &Arc<[u32]>, hashes: &Arc<[PathHash]>) {
        (self.path_keys, self.hashes) = (path_keys.clone(), hashes.clone());
    }

    /// Groups are others now: no flow has taken a way yet.
    pub(crate) fn forget(&mut self) {
        self.flowlets.clear();
    }

    fn key(&self, packet: &Packet) -> u32 {
        self.path_keys.get(packet.flow as usize).copied().unwrap_or(packet.flow)
    }

    /// The port of a group that all packets of a flow take.
    pub(crate) fn port_by_hash(&self, group: &[u16], packet: &Packet) -> u16 {
        group[way(group.len(), self.key(packet), !packet.is_data(), self.salt, &self.hashes)]
    }

    /// The port of a group that a packet takes.
    pub(crate) fn port(&mut self, group: &[u16], packet: &Packet, ports: &Ports) -> u16 {
        if !spreads(packet) || self.balancing == Balancing::Ecmp {
            return self.port_by_hash(group, packet);
        }
        let key = self.key(packet);
        let entity = u64::from(packet.flow) << 32 | u64::from(packet.number());
        let draw = mix(u64::from(self.salt), SPREAD, entity) >> 32;
        let first = ((draw * group.len() as u64) >> 32) as usize;
        match self.balancing {
            Balancing::Ecmp | Balancing::Entropy | Balancing::Spray | Balancing::Around(_) => group[first],
            Balancing::Flowlet { gap } => {
                let (latest, out) = self.flowlets.entry(key).or_insert((packet.time, group[first]));
                if packet.time - *latest > gap.as_ps() {
                    *out = group[first];
                }
                *latest = packet.time;
                *out
            }
            Balancing::Adaptive => {
                let around = group[first..].iter().chain(&group[..first]);
                *around.min_by_key(|port| load(ports, **port, packet)).expect("a group has ports")
            }
        }
    }
}

/// Whether a packet goes its own way: data whose order does not count, and what trimming has left of it.
const fn spreads(packet: &Packet) -> bool {
    matches!(packet.kind, Kind::Data | Kind::UecData | Kind::UecTrimmed)
}

/// What speaks against a port: a closed gate most, then bytes that wait, then how long it is busy.
fn load(ports: &Ports, port: u16, packet: &Packet) -> (bool, u64, u64) {
    let egress = ports.egress(port);
    let waiting =
        (0..ports.classes() as u8).map(|class| u64::from(ports.queue(ports.at(port, class)).bytes()));
    let closed = egress.paused() & (1 << packet.class) != 0;
    (closed, waiting.sum(), egress.busy_until().max(packet.time))
}
