//! What only some senders have, in a place of its own: the others do not pay for it.
use backwater_traffic::{Flow, Pacing};
use backwater_units::Bytes;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::app::ranks::outgoing::Outgoing;
use crate::app::supply::Supply;
use crate::observe::recovery::Recovery;
use crate::reuse::relative::seldom;
use crate::spec::PairSpec;
use crate::transport::roce::reliable::{Losses, Reliable};
use crate::transport::roce::segments::Segments;
use crate::transport::roce::start::Start;
use crate::transport::roce::window::Window;
use crate::world::World;

/// What only some senders have.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Extras {
    /// If its reaction point wants round-trip times.
    pub(super) segments: Option<Segments>,
    /// If its application makes the packets one by one.
    #[borsh(serialize_with = "seldom")]
    pub(super) supply: Option<Supply>,
    /// If ranks give it messages.
    #[borsh(serialize_with = "seldom")]
    pub(super) outgoing: Option<Outgoing>,
    /// If its reaction point limits what is under way.
    pub(super) window: Option<Window>,
    /// If its NIC sends the first bytes of an idle queue pair at a rate of its own.
    pub(super) start: Option<Start>,
    /// If its queue pair sends again what is lost.
    #[borsh(serialize_with = "seldom")]
    pub(super) losses: Option<Losses>,
    /// The same.
    #[borsh(serialize_with = "seldom")]
    pub(super) recovery: Option<Box<Recovery>>,
    /// If it leads such a queue pair.
    #[borsh(serialize_with = "seldom")]
    pub(super) reliable: Option<Reliable>,
}

impl Extras {
    pub(crate) fn new(index: u32, flow: &Flow, pair: &PairSpec, world: &World) -> Option<Box<Self>> {
        let segments = match flow.pacing {
            Pacing::Constant { .. } => None,
            _ => pair.segment.map(Segments::new),
        };
        let full = Bytes::new(u64::from(world.payload) + u64::from(world.header));
        let supply = Supply::new(flow, full, world.seed);
        let outgoing = (flow.pacing == Pacing::Messages).then(Outgoing::new);
        let reacts = matches!(flow.pacing, Pacing::Controlled | Pacing::Supplied { .. });
        let window = (reacts && pair.reaction.has_window()).then(|| Window::new(index, pair, world));
        let start = Start::new(world.nic.costs.as_ref());
        let repeats = pair.reliable.filter(|_| !world.is_put(index) && world.uec_kind(index).is_none());
        let losses = repeats.map(|_| Losses::default());
        let recovery = repeats.map(|_| Box::default());
        let leads = repeats.filter(|_| world.first_of(index) == index);
        let reliable = leads.map(|spec| Reliable::new(index, &spec, world));
        let any = start.is_some()
            || segments.is_some()
            || supply.is_some()
            || outgoing.is_some()
            || window.is_some()
            || losses.is_some();
        any.then(|| Box::new(Self { segments, supply, outgoing, window, start, losses, recovery, reliable }))
    }
}
