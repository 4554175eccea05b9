//! The state of an engine as bytes. They say nothing of threads: nodes are written in their order, messages with the nodes that they
//! are for, so that any number of threads goes on from them.
use std::io::{Error, ErrorKind, Result};

use borsh::{BorshDeserialize, BorshSerialize};

use crate::engine::{Engine, Inner};
use crate::shard::Shard;
use crate::window::Windows;
use crate::{Message, Node};

/// A node whose state can be written and read again.
pub trait Saved: Node {
    /// Writes all that events have changed, or may have.
    fn save(&self, out: &mut Vec<u8>) -> Result<()>;
    /// Takes what [`Self::save`] has written of a node that was built alike. The engine tells it where all nodes live.
    fn load(&mut self, from: &mut &[u8]) -> Result<()>;
}

/// What an engine has beside nodes and messages.
#[derive(BorshSerialize, BorshDeserialize)]
struct Standing {
    now: u64,
    grid: u64,
    reached: u64,
    width: u64,
    window: u64,
    recorded: u64,
    windows: u64,
    shared: u64,
    completed: u64,
    records: u64,
    /// Nodes with an event in the period that ends at `open_until`.
    open: Vec<u32>,
    open_until: u64,
}

impl<N: Saved> Engine<N> {
    /// Writes the state between two stretches.
    ///
    /// # Errors
    /// If a node cannot be written; the reference engine, and one that several processes share, have no form.
    pub fn save(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let windows = self.windows_mut()?;
        // One period is open. Others are over: a shard that has been idle since has not closed them yet.
        let is_open = |shard: &&Shard<N>| !shard.open.is_empty();
        let until = windows.shards.iter().filter(is_open).map(|shard| shard.open_until).max();
        let open_until = until.unwrap_or(u64::MAX);
        for shard in windows.shards.iter_mut().filter(|shard| shard.open_until < open_until) {
            shard.close_period();
        }
        let windows = self.windows()?;
        let numbers = windows.numbers();
        let tally = || windows.shards.iter().map(|shard| shard.tally);
        let open_of = |(shard, numbers): (&Shard<N>, &Vec<u32>)| -> Vec<u32> {
            shard.open.iter().map(|node| numbers[*node as usize]).collect()
        };
        let mut open = windows.shards.iter().zip(&numbers).map(open_of).collect::<Vec<_>>().concat();
        open.sort_unstable();
        open.dedup();
        let standing = Standing {
            now: self.now,
            grid: self.grid,
            reached: self.reached,
            width: windows.width,
            window: windows.window,
            recorded: windows.recorded,
            windows: windows.count,
            shared: windows.shared,
            completed: tally().map(|tally| tally.completed).sum(),
            records: tally().map(|tally| tally.recorded).sum(),
            open,
            open_until,
        };
        standing.serialize(out)?;
        for node in self.nodes() {
            node.save(out)?;
        }
        let mut messages: Vec<(u32, &N::Message, &[u8])> = Vec::new();
        for (shard, numbers) in windows.shards.iter().zip(&numbers) {
            shard.inbox.each(|node, message, extension| messages.push((numbers[node], message, extension)));
        }
        messages.sort_by_key(|(node, message, _)| (*node, message.time(), message.class(), message.port()));
        (messages.len() as u64).serialize(out)?;
        for (node, message, extension) in messages {
            node.serialize(out)?;
            message.serialize(out)?;
            extension.serialize(out)?;
        }
        Ok(())
    }

    /// Goes on from what [`Self::save`] has written of an engine over nodes that were built alike, on any number of threads.
    ///
    /// # Errors
    /// If it was not; then the engine is of no use any more.
    pub fn load(&mut self, from: &mut &[u8]) -> Result<()> {
        let standing = Standing::deserialize(from)?;
        if standing.width != self.windows()?.width || standing.grid != self.grid {
            return Err(unlike("its windows are others"));
        }
        let mut failed = None;
        self.each_node(|_, node| {
            if failed.is_none() {
                failed = node.load(from).err();
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        (self.now, self.reached) = (standing.now, standing.reached);
        let windows = self.windows_mut()?;
        (windows.window, windows.recorded) = (standing.window, standing.recorded);
        (windows.count, windows.shared) = (standing.windows, standing.shared);
        let Windows { shards, places, .. } = windows;
        let place = |node: u32| places.get(node as usize).ok_or_else(|| unlike("it has more nodes"));
        for shard in &mut *shards {
            shard.begin_from(places);
        }
        (shards[0].tally.completed, shards[0].tally.recorded) = (standing.completed, standing.records);
        for node in standing.open {
            let place = place(node)?;
            shards[place.shard()].set_open(place.index() as u32, standing.open_until);
        }
        for _ in 0..u64::deserialize(from)? {
            let (place, message) = (place(u32::deserialize(from)?)?, N::Message::deserialize(from)?);
            let extension = Vec::<u8>::deserialize(from)?;
            let ahead = (message.time() / standing.width).checked_sub(standing.window);
            let ahead = ahead.ok_or_else(|| unlike("a message would have taken effect already"))?;
            if extension.len() > crate::MAX_EXTENSION {
                return Err(unlike("more travels beside a message than may"));
            }
            let inbox = &mut shards[place.shard()].inbox;
            inbox.put(standing.window, ahead, place.index(), message, &extension);
        }
        Ok(())
    }

    fn windows(&self) -> Result<&Windows<N>> {
        match &self.inner {
            Inner::Windows(_) if self.processes.count() > 1 => {
                Err(formless("a run that several processes share"))
            }
            Inner::Windows(windows) => Ok(windows),
            #[cfg(feature = "reference")]
            Inner::Heap(_) => Err(formless("the reference engine")),
        }
    }

    fn windows_mut(&mut self) -> Result<&mut Windows<N>> {
        match &mut self.inner {
            Inner::Windows(_) if self.processes.count() > 1 => {
                Err(formless("a run that several processes share"))
            }
            Inner::Windows(windows) => Ok(windows),
            #[cfg(feature = "reference")]
            Inner::Heap(_) => Err(formless("the reference engine")),
        }
    }
}

fn formless(what: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{what} cannot be saved, or go on from a file"))
}

fn unlike(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}
