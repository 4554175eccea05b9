//! What a model tells the engine: its messages and its nodes.
use std::io;

use borsh::{BorshDeserialize, BorshSerialize};

use crate::shard::{Keys, Window, in_order};
use crate::{Class, Key, Trajectory};

/// Where a node lives in the engine; the address of what is sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Place(pub(crate) u32);

/// A snapshot says nothing of it: the engine that loads one tells its nodes where they live now.
impl BorshSerialize for Place {
    fn serialize<W: io::Write>(&self, _: &mut W) -> io::Result<()> {
        Ok(())
    }
}

impl BorshDeserialize for Place {
    fn deserialize_reader<R: io::Read>(_: &mut R) -> io::Result<Self> {
        Ok(Self::default())
    }
}

/// Something that one node sends to another and that takes effect there later.
pub trait Message: Copy + BorshSerialize + BorshDeserialize + Send {
    /// When it takes effect, in picoseconds since the start of the run.
    fn time(&self) -> u64;
    /// [`Class::FlowControl`] or [`Class::Arrival`].
    fn class(&self) -> Class;
    /// The port of the receiving node; with time and class it identifies the message there.
    fn port(&self) -> u16;
}

/// Where a node's handlers put what leaves the node.
pub trait Post<M> {
    /// Sends a copy of `message`, completed by `patch`, to the node at `to`, where it takes effect at `time`: at
    /// least one lookahead after the current event. `patch` works on the copy in its place at the receiver, so
    /// that nothing is copied twice; after it [`Message::time`] gives `time`.
    fn send(&mut self, to: Place, time: u64, message: &M, patch: impl FnOnce(&mut M));
    /// The same with `extension` beside the message, at most [`crate::MAX_EXTENSION`] bytes, which the node is given by
    /// [`Node::extension`]. An empty one is none. Messages sent without pay nothing for those that are sent with one.
    fn send_with(&mut self, to: Place, time: u64, message: &M, extension: &[u8], patch: impl FnOnce(&mut M));
    /// Counts one step towards the goal of [`crate::Limits`].
    fn complete(&mut self);
    /// The node met a broken invariant and keeps the reason: the run stops at the end of the window.
    fn fail(&mut self);
    /// The node stored records; the run pauses when there are many, so that they can be taken out.
    fn recorded(&mut self, records: u64);
}

/// A part of the model with state of its own, which others reach only by messages.
pub trait Node: Send {
    /// Its messages.
    type Message: Message;
    /// Facts that all nodes share and none changes.
    type World: Sync;
    /// Memory that a thread lends to the node that it runs, one after the other.
    type Scratch: Clone + Default + Send;

    /// The earliest pending event of the node's own (wake or timer), or [`Key::NEVER`].
    fn local_key(&self) -> Key;
    /// Runs the event announced by [`Node::local_key`].
    fn fire<P: Post<Self::Message>>(&mut self, key: Key, world: &Self::World, post: &mut P);
    /// A message takes effect.
    fn receive<P: Post<Self::Message>>(&mut self, message: &Self::Message, world: &Self::World, post: &mut P);
    /// Gives the node what came beside a message that it is yet to receive, in the order in which such messages take effect. How
    /// long before it is received is up to the engine, so that nothing may follow from it but what `receive` makes of it.
    fn extension(&mut self, message: &Self::Message, extension: &[u8]);
    /// The rank of a port among those with an event at the same time (see [`crate::Ties`]).
    fn rank(&self, port: u16) -> u16;
    /// The node at the other end of a port, if the model knows it; for profiles.
    fn neighbour(&self, _port: u16) -> Option<u32> {
        None
    }
    /// Something that the goal of a run waits for is done here at this picosecond at the soonest, as things are at `now`; 0: unknown. For
    /// runs that end when all is done ([`crate::Limits::goal_is_all`]).
    fn busy_until(&self, _now: u64, _world: &Self::World) -> u64 {
        0
    }
    /// What happened here so far.
    fn trajectory(&self) -> &Trajectory;
    /// Tells where all nodes live, before anything runs; `places[i]` is the address of node `i`.
    fn placed(&mut self, places: &[Place]);
    /// A period of the engine's grid ([`crate::Engine::with_grid`]) in which the node had an event is over, or is looked at in its
    /// middle.
    fn close_period(&mut self) {}
    /// Runs all events of a window. `arrivals` come in no particular order. A node may do this in any way whose
    /// outcome is that of [`in_order`].
    #[inline]
    fn run<P: Post<Self::Message>>(
        &mut self,
        arrivals: &[Self::Message],
        window: Window,
        keys: &mut Keys,
        _scratch: &mut Self::Scratch,
        world: &Self::World,
        post: &mut P,
    ) where
        Self: Sized,
    {
        in_order(self, arrivals, window, keys, world, post);
    }
}
