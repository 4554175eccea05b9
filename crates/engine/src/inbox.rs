//! Messages waiting for the window in which they take effect.

/// The messages of one window, a list per node.
#[derive(Default)]
pub(crate) struct Slot<M> {
    pub(crate) lists: Vec<Vec<M>>,
    /// Whether a list may hold something.
    pub(crate) used: bool,
}

/// A ring of windows; what lies beyond the ring waits in `far`.
pub(crate) struct Inbox<M> {
    slots: Vec<Slot<M>>,
    /// (window, node, message) beyond the ring; few: only links much longer than the shortest reach this.
    far: Vec<(u64, usize, M)>,
    mask: u64,
}

impl<M: Copy> Inbox<M> {
    /// For `nodes` nodes, with a ring of `slots` windows (a power of two, at least 4).
    pub(crate) fn new(nodes: usize, slots: usize) -> Self {
        assert!(slots.is_power_of_two() && slots >= 4);
        let slot = || Slot { lists: (0..nodes).map(|_| Vec::new()).collect(), used: false };
        Self { slots: (0..slots).map(|_| slot()).collect(), far: Vec::new(), mask: slots as u64 - 1 }
    }

    /// Puts a message for `node` into the window `ahead` (>= 1) of `current`.
    pub(crate) fn put(&mut self, current: u64, ahead: u64, node: usize, message: M) {
        if ahead > self.mask {
            self.far.push((current + ahead, node, message));
            return;
        }
        let slot = &mut self.slots[((current + ahead) & self.mask) as usize];
        slot.used = true;
        slot.lists[node].push(message);
    }

    /// The first window after `current` that holds a message.
    pub(crate) fn next_window(&self, current: u64) -> u64 {
        let near = (1..=self.mask).find(|ahead| self.slots[((current + ahead) & self.mask) as usize].used);
        let near = near.map_or(u64::MAX, |ahead| current + ahead);
        self.far.iter().map(|(window, _, _)| *window).fold(near, u64::min)
    }

    /// Makes `window` the current one. Returns its lists, to be given back empty, and the slots of the two windows
    /// after it.
    pub(crate) fn open(&mut self, window: u64) -> (Vec<Vec<M>>, [&mut Slot<M>; 2]) {
        let mut i = 0;
        while i < self.far.len() {
            let (at, node, message) = self.far[i];
            if at <= window + self.mask {
                self.far.swap_remove(i);
                let slot = &mut self.slots[(at & self.mask) as usize];
                slot.used = true;
                slot.lists[node].push(message);
            } else {
                i += 1;
            }
        }
        let slot = |ahead| ((window + ahead) & self.mask) as usize;
        let [current, next, later] = self
            .slots
            .get_disjoint_mut([slot(0), slot(1), slot(2)])
            .expect("the ring has at least four slots");
        current.used = false;
        (std::mem::take(&mut current.lists), [next, later])
    }

    /// Returns the emptied lists of `window` so that their memory is used again.
    pub(crate) fn give_back(&mut self, window: u64, lists: Vec<Vec<M>>) {
        self.slots[(window & self.mask) as usize].lists = lists;
    }

    /// Bytes held by the lists.
    pub(crate) fn memory(&self) -> usize {
        let lists = self.slots.iter().flat_map(|slot| &slot.lists);
        lists.map(|l| l.capacity() * size_of::<M>() + size_of::<Vec<M>>()).sum()
    }
}
