//! Messages waiting for the window in which they take effect.
use std::collections::BTreeMap;

use crate::Message;
use crate::extension::{Beside, Mail};

/// The messages of one window, a list per node.
#[derive(Clone)]
pub(crate) struct Slot<M> {
    pub(crate) lists: Vec<Vec<M>>,
    /// What travels beside them.
    pub(crate) beside: Beside,
    /// Whether a list may hold something.
    pub(crate) used: bool,
}

impl<M> Default for Slot<M> {
    fn default() -> Self {
        Self { lists: Vec::new(), beside: Beside::default(), used: false }
    }
}

impl<M: Copy> Slot<M> {
    fn new(nodes: usize) -> Self {
        Self { lists: (0..nodes).map(|_| Vec::new()).collect(), ..Self::default() }
    }

    pub(crate) fn put(&mut self, node: usize, message: M, extension: &[u8]) {
        self.used = true;
        self.beside.put(node, self.lists[node].len(), extension);
        self.lists[node].push(message);
    }

    /// Takes everything out: `f` gets node, message and extension of each.
    fn drain(&mut self, mut f: impl FnMut(usize, M, &[u8])) {
        let mut extensions: BTreeMap<(usize, usize), Vec<u8>> = BTreeMap::new();
        self.beside.drain(|node, index, extension| {
            extensions.insert((node, index), extension.to_vec());
        });
        for (node, list) in self.lists.iter_mut().enumerate() {
            for (index, message) in list.drain(..).enumerate() {
                f(node, message, extensions.get(&(node, index)).map_or(&[], Vec::as_slice));
            }
        }
        self.used = false;
    }
}

impl<M: Message> Slot<M> {
    /// Takes out what takes effect at `end` or later.
    #[cold]
    pub(crate) fn split_off(&mut self, end: u64) -> Self {
        let (mut early, mut late) = (Self::new(self.lists.len()), Self::new(self.lists.len()));
        self.drain(|node, message, extension| {
            let half = if message.time() < end { &mut early } else { &mut late };
            half.put(node, message, extension);
        });
        *self = early;
        late
    }
}

/// A ring of windows; what lies beyond it waits in `far`, a list per block of windows, and is moved into the ring once, when the block
/// before its own begins.
#[derive(Clone)]
pub(crate) struct Inbox<M> {
    slots: Vec<Slot<M>>,
    /// By number of the block; many where links are much longer than the shortest.
    far: BTreeMap<u64, Mail<M>>,
    /// Lists that were emptied, so that their memory is used again.
    spare: Vec<Mail<M>>,
    mask: u64,
    /// So many windows hold messages at once if all come as soon as expected: the current one and those after it.
    live: u64,
    /// A block is half the ring: window >> shift.
    shift: u32,
    /// Messages put into lists of the ring out of `far`: what long links cost, in steps.
    moved: u64,
}

impl<M: Copy> Inbox<M> {
    /// For `nodes` nodes, with a ring for `live` windows that hold messages at once, of 64 at most.
    pub(crate) fn new(nodes: usize, live: usize) -> Self {
        let slots = live.next_power_of_two().clamp(4, 64);
        Self {
            slots: (0..slots).map(|_| Slot::new(nodes)).collect(),
            far: BTreeMap::new(),
            spare: Vec::new(),
            mask: slots as u64 - 1,
            live: live.min(slots) as u64,
            shift: slots.trailing_zeros() - 1,
            moved: 0,
        }
    }

    /// Puts a message for `node` into the window `ahead` (>= 1) of `current`.
    pub(crate) fn put(&mut self, current: u64, ahead: u64, node: usize, message: M, extension: &[u8]) {
        let window = current + ahead;
        if ahead > self.mask {
            let block = self.far.entry(window >> self.shift);
            let mail = block.or_insert_with(|| self.spare.pop().unwrap_or_default());
            mail.push(window, node, message, extension);
            return;
        }
        self.slots[(window & self.mask) as usize].put(node, message, extension);
    }

    /// Puts messages for `node`, with nothing beside them, into the window `ahead` (>= 1) of `current`.
    pub(crate) fn put_all(&mut self, current: u64, ahead: u64, node: usize, messages: &[M]) {
        if ahead > self.mask {
            for message in messages {
                self.put(current, ahead, node, *message, &[]);
            }
            return;
        }
        let slot = &mut self.slots[((current + ahead) & self.mask) as usize];
        slot.used = true;
        slot.lists[node].extend_from_slice(messages);
    }

    /// An empty one of the same ring for so many nodes.
    pub(crate) fn like(&self, nodes: usize) -> Self {
        Self::new(nodes, self.live as usize)
    }

    /// Takes all messages out, none of which is for a window before `next`: `f` gets window, node, message and extension of each.
    pub(crate) fn take_all(&mut self, next: u64, mut f: impl FnMut(u64, usize, M, &[u8])) {
        for window in next..=next + self.mask {
            let mut slot = std::mem::take(&mut self.slots[(window & self.mask) as usize]);
            slot.drain(|node, message, extension| f(window, node, message, extension));
        }
        for mut mail in std::mem::take(&mut self.far).into_values() {
            mail.drain(&mut f);
        }
    }

    /// The first window after `current` that holds a message, or `current` if it was run in part and still does.
    pub(crate) fn next_window(&self, current: u64) -> u64 {
        let near = (0..=self.mask).find(|ahead| self.slots[((current + ahead) & self.mask) as usize].used);
        let near = near.map_or(u64::MAX, |ahead| current + ahead);
        match self.far.first_key_value() {
            // The ring reaches into that block, of which the earlier messages may still be far.
            Some((block, far)) if near >> self.shift >= *block => far.first_window().min(near),
            _ => near,
        }
    }

    /// Makes `window` the current one. Returns what is in it, to be given back with empty lists.
    pub(crate) fn open(&mut self, window: u64) -> Slot<M> {
        if !self.far.is_empty() {
            self.approach(window);
        }
        std::mem::take(&mut self.slots[(window & self.mask) as usize])
    }

    /// The slots of the two windows after `window`.
    pub(crate) fn near(&mut self, window: u64) -> [&mut Slot<M>; 2] {
        let slot = |ahead| ((window + ahead) & self.mask) as usize;
        self.slots.get_disjoint_mut([slot(1), slot(2)]).expect("the ring has at least four slots")
    }

    /// Moves what has come near.
    fn approach(&mut self, window: u64) {
        let near = (window >> self.shift) + 1;
        while let Some(block) = self.far.first_entry().filter(|block| *block.key() <= near) {
            let mut block = block.remove();
            block.drain(|at, node, message, extension| {
                self.slots[(at & self.mask) as usize].put(node, message, extension);
                self.moved += 1;
            });
            self.spare.push(block);
        }
    }

    /// Returns the slot of `window`: empty, so that its memory is used again, or with what is still to come in it. It is used again as
    /// soon as can be: if the ring is larger than it need be, some slots never take memory for messages.
    pub(crate) fn give_back(&mut self, window: u64, slot: Slot<M>) {
        let (at, next) = ((window & self.mask) as usize, ((window + self.live) & self.mask) as usize);
        let is_empty = !slot.used;
        self.slots[at] = slot;
        if is_empty && !self.slots[next].used {
            self.slots.swap(at, next);
        }
    }

    /// All messages, with the places of their nodes.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (usize, &M)> {
        let used = self.slots.iter().filter(|slot| slot.used);
        let lists = used.flat_map(|slot| slot.lists.iter().enumerate());
        let near = lists.flat_map(|(node, list)| list.iter().map(move |message| (node, message)));
        near.chain(self.far.values().flat_map(Mail::messages))
    }

    /// All messages, with the places of their nodes and what travels beside them.
    pub(crate) fn each<'a>(&'a self, mut f: impl FnMut(usize, &'a M, &'a [u8])) {
        for slot in self.slots.iter().filter(|slot| slot.used) {
            let mut beside = slot.beside.by_message();
            for (node, list) in slot.lists.iter().enumerate() {
                for (index, message) in list.iter().enumerate() {
                    let extension = beside.remove(&(node as u32, index as u32));
                    f(node, message, extension.unwrap_or_default());
                }
            }
        }
        self.far
            .values()
            .for_each(|mail| mail.each(&mut |_, node, message, extension| f(node, message, extension)));
    }

    /// Takes out the first message that is such a one, of those that are near.
    pub(crate) fn forget(&mut self, is_such: impl Fn(&M) -> bool) -> bool {
        let mut lists =
            self.slots.iter_mut().filter(|slot| slot.beside.is_empty()).flat_map(|slot| &mut slot.lists);
        lists.any(|list| list.iter().position(&is_such).map(|at| list.remove(at)).is_some())
    }

    /// Bytes held by the lists.
    pub(crate) fn memory(&self) -> usize {
        let lists = self.slots.iter().flat_map(|slot| &slot.lists);
        let near: usize = lists.map(|l| l.capacity() * size_of::<M>() + size_of::<Vec<M>>()).sum();
        let beside: usize = self.slots.iter().map(|slot| slot.beside.memory()).sum();
        near + beside + self.far.values().map(Mail::memory).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes out window after window what is there.
    fn drain(
        inbox: &mut Inbox<u64>,
        mut current: u64,
        mut put: impl FnMut(&mut Inbox<u64>, u64),
    ) -> Vec<u64> {
        let mut seen = Vec::new();
        loop {
            let window = inbox.next_window(current);
            if window == u64::MAX {
                return seen;
            }
            let mut slot = inbox.open(window);
            for list in &mut slot.lists {
                assert!(list.iter().all(|message| *message == window), "in window {window}");
                seen.append(list);
            }
            slot.used = false;
            inbox.give_back(window, slot);
            put(inbox, window);
            current = window;
        }
    }

    #[test]
    fn a_message_comes_in_its_window_however_far_it_is() {
        for slots in [4, 8, 64] {
            let mut inbox = Inbox::new(2, slots);
            let far: Vec<u64> = (1..400).chain([1000, 1063, 1064, 5000, 1 << 40]).collect();
            for &window in &far {
                inbox.put(0, window, (window % 2) as usize, window, &[]);
            }
            assert_eq!(drain(&mut inbox, 0, |_, _| ()), far);
        }
    }

    #[test]
    fn messages_sent_on_the_way_come_in_their_windows() {
        let mut inbox = Inbox::new(1, 8);
        inbox.put(0, 1, 0, 1, &[]);
        let mut left = 300_u64;
        let seen = drain(&mut inbox, 0, |inbox, window| {
            let ahead = (window * 7919) % 97 + 1;
            if left > 0 {
                left -= 1;
                inbox.put(window, ahead, 0, window + ahead, &[]);
            }
        });
        assert_eq!(seen.len(), 301);
    }

    #[test]
    fn a_message_on_a_long_link_is_touched_once_and_not_in_every_window() {
        // Each window sends one message 10 000 windows ahead, as 1 ns beside 10 µs links do.
        let (mut inbox, windows) = (Inbox::new(1, 64), 30_000_u64);
        inbox.put(0, 1, 0, 1, &[]);
        for window in 1..=windows {
            let mut slot = inbox.open(window);
            slot.lists[0].clear();
            inbox.give_back(window, slot);
            inbox.put(window, 10_000, 0, window + 10_000, &[]);
        }
        assert!((windows - 10_100..=windows).contains(&inbox.moved), "{}", inbox.moved);
    }
}
