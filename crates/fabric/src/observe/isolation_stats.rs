//! What is recorded of the congested-flow tables of switches and NICs.
use backwater_engine::Post;
use backwater_units::Time;

use crate::ctx::Ctx;
use crate::link::ports::Ports;
use crate::packet::Packet;
use crate::record::{IsolationEvent, IsolationRecord};

/// What [`Ports::note_isolation`] is given; see [`IsolationRecord`]. Hosts are host indices here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noted {
    pub(crate) what: IsolationEvent,
    pub(crate) port: u16,
    pub(crate) ingress: Option<u16>,
    pub(crate) src: Option<u32>,
    pub(crate) dst: Option<u32>,
    pub(crate) origin: u8,
    pub(crate) root: Option<(u32, u16)>,
    pub(crate) used: u32,
}

impl Ports {
    /// Something happened to the congested-flow table of this node: counts it, and records it if that is wanted.
    #[cold]
    pub(crate) fn note_isolation<P: Post<Packet>>(&mut self, noted: &Noted, cx: &mut Ctx<'_, P>) {
        self.isolation_counts_mut().count(noted.what, noted.used);
        if !cx.world.isolation_events {
            return;
        }
        let node = |host: u32| cx.world.hosts[host as usize];
        let record = IsolationRecord {
            time: Time::from_ps(cx.now),
            node: self.node(),
            port: noted.port,
            what: noted.what,
            ingress: noted.ingress,
            src: noted.src.map(node),
            dst: noted.dst.map(node),
            origin: noted.origin,
            root: noted.root,
            used: noted.used,
        };
        self.records_mut().isolation.push(record);
        cx.post.recorded(1);
    }
}
