//! The state of an engine as bytes. They say nothing of threads: nodes are written in their order, messages with the nodes that they
//! are for, so that any number of threads and processes goes on from them.
use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;

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

/// So many nodes each process hands over at once: what is on its way takes little memory then.
const AT_ONCE: usize = 4096;

impl<N: Saved> Engine<N> {
    /// Writes the state between two stretches. Of several processes the first one gets that of all.
    ///
    /// # Errors
    /// If a node cannot be written; the reference engine has no form.
    pub fn save(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let processes = Arc::clone(&self.processes);
        let all = |own: u64| processes.gather(vec![own]).into_iter();
        let windows = self.windows_mut()?;
        // One period is open. Others are over: a shard that has been idle since has not closed them yet.
        let is_open = |shard: &&Shard<N>| !shard.open.is_empty();
        let until = windows.shards.iter().filter(is_open).map(|shard| shard.open_until).max();
        let open_until = all(until.unwrap_or(0)).max().filter(|until| *until > 0).unwrap_or(u64::MAX);
        for shard in windows.shards.iter_mut().filter(|shard| shard.open_until < open_until) {
            shard.close_period();
        }
        let numbers = windows.numbers();
        let tally = || windows.shards.iter().map(|shard| shard.tally);
        let open_of = |(shard, numbers): (&Shard<N>, &Vec<u32>)| -> Vec<u32> {
            shard.open.iter().map(|node| numbers[*node as usize]).collect()
        };
        let open = windows.shards.iter().zip(&numbers).map(open_of).collect::<Vec<_>>().concat();
        let mut open = processes.gather_at_first(open);
        open.sort_unstable();
        open.dedup();
        let standing = Standing {
            width: windows.width,
            window: all(windows.window).min().unwrap_or(u64::MAX),
            recorded: windows.recorded,
            windows: windows.count,
            shared: windows.shared,
            completed: processes.sum(tally().map(|tally| tally.completed).sum()),
            records: processes.sum(tally().map(|tally| tally.recorded).sum()),
            open,
            open_until,
            now: self.now,
            grid: self.grid,
            reached: self.reached,
        };
        standing.serialize(out)?;
        let windows = self.windows()?;
        let ends = || (0..windows.places.len()).step_by(AT_ONCE).map(|first| (first + AT_ONCE) as u32);
        let mut nodes = windows.own().peekable();
        for end in ends() {
            let mut own = Vec::new();
            while let Some((number, place)) = nodes.next_if(|(number, _)| *number < end) {
                let mut bytes = Vec::new();
                windows.at(place).save(&mut bytes)?;
                own.push((number, bytes));
            }
            let mut all = processes.gather_at_first(own);
            all.sort_unstable_by_key(|(number, _)| *number);
            for (_, bytes) in all {
                bytes.serialize(out)?;
            }
        }
        let mut messages: Vec<(u32, &N::Message, &[u8])> = Vec::new();
        for (shard, numbers) in windows.shards.iter().zip(&numbers) {
            shard.inbox.each(|node, message, extension| messages.push((numbers[node], message, extension)));
        }
        messages.sort_by_key(|(node, message, _)| (*node, message.time(), message.class(), message.port()));
        processes.sum(messages.len() as u64).serialize(out)?;
        let mut messages = messages.into_iter().peekable();
        for end in ends() {
            let mut own: Vec<(u32, N::Message, Vec<u8>)> = Vec::new();
            while let Some((node, message, extension)) = messages.next_if(|(node, ..)| *node < end) {
                own.push((node, *message, extension.to_vec()));
            }
            let mut all = processes.gather_at_first(own);
            all.sort_by_key(|(node, ..)| *node);
            for one in all {
                one.serialize(out)?;
            }
        }
        Ok(())
    }

    /// Goes on from what [`Self::save`] has written of an engine over nodes that were built alike, on any number of threads and
    /// processes, which are all given the same.
    ///
    /// # Errors
    /// If it was not; then the engine is of no use any more.
    pub fn load(&mut self, from: &mut &[u8]) -> Result<()> {
        let standing = Standing::deserialize(from)?;
        if standing.width != self.windows()?.width || standing.grid != self.grid {
            return Err(unlike("its windows are others"));
        }
        (self.now, self.reached) = (standing.now, standing.reached);
        let (total, rank) = (self.windows()?.places.len() as u32, self.processes.rank());
        let windows = self.windows_mut()?;
        for number in 0..total {
            let length = u32::deserialize(from)? as usize;
            let bytes = from.split_off(..length).ok_or_else(|| unlike("it ends within a node"))?;
            let Some(place) = windows.own_place(number) else { continue };
            let rest = &mut { bytes };
            windows.at_mut(place).load(rest)?;
            if !rest.is_empty() {
                return Err(unlike("a node has more state"));
            }
        }
        (windows.window, windows.recorded) = (standing.window, standing.recorded);
        (windows.count, windows.shared) = (standing.windows, standing.shared);
        let places = windows.places.clone();
        for shard in &mut windows.shards {
            shard.begin_from(&places);
        }
        if rank == 0 {
            let tally = &mut windows.shards[0].tally;
            (tally.completed, tally.recorded) = (standing.completed, standing.records);
        }
        let first = windows.first();
        // Where a node is, if it is one of this process.
        let own = |windows: &Windows<N>, node: u32| {
            if node < total { Ok(windows.own_place(node)) } else { Err(unlike("it has more nodes")) }
        };
        for node in standing.open {
            if let Some(place) = own(windows, node)? {
                windows.shards[place.shard() - first].set_open(place.index() as u32, standing.open_until);
            }
        }
        for _ in 0..u64::deserialize(from)? {
            let (place, message) = (own(windows, u32::deserialize(from)?)?, N::Message::deserialize(from)?);
            let extension = Vec::<u8>::deserialize(from)?;
            let ahead = (message.time() / standing.width).checked_sub(standing.window);
            let ahead = ahead.ok_or_else(|| unlike("a message would have taken effect already"))?;
            if extension.len() > crate::MAX_EXTENSION {
                return Err(unlike("more travels beside a message than may"));
            }
            if let Some(place) = place {
                let inbox = &mut windows.shards[place.shard() - first].inbox;
                inbox.put(standing.window, ahead, place.index(), message, &extension);
            }
        }
        Ok(())
    }

    #[cfg_attr(
        not(feature = "reference"),
        allow(clippy::unnecessary_wraps, reason = "the reference engine has none")
    )]
    fn windows(&self) -> Result<&Windows<N>> {
        match &self.inner {
            Inner::Windows(windows) => Ok(windows),
            #[cfg(feature = "reference")]
            Inner::Heap(_) => Err(formless()),
        }
    }

    #[cfg_attr(
        not(feature = "reference"),
        allow(clippy::unnecessary_wraps, reason = "the reference engine has none")
    )]
    fn windows_mut(&mut self) -> Result<&mut Windows<N>> {
        match &mut self.inner {
            Inner::Windows(windows) => Ok(windows),
            #[cfg(feature = "reference")]
            Inner::Heap(_) => Err(formless()),
        }
    }
}

#[cfg(feature = "reference")]
fn formless() -> Error {
    Error::new(ErrorKind::Unsupported, "the reference engine cannot be saved, or go on from a file")
}

/// A number that, as a rule, is another one where bytes are others.
pub fn hash(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

fn unlike(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}
