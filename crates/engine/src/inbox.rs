//! Messages waiting for the window in which they take effect.

/// Per window a list per node, in a ring of windows; what lies beyond the ring waits in `far`.
pub(crate) struct Inbox<M> {
    /// `lists[slot * nodes + node]`
    lists: Vec<Vec<M>>,
    /// Whether a slot may hold messages.
    used: Vec<bool>,
    /// (window, node, message) beyond the ring; few: only links much longer than the shortest reach this.
    far: Vec<(u64, usize, M)>,
    nodes: usize,
    mask: u64,
}

impl<M: Copy> Inbox<M> {
    /// For `nodes` nodes, with a ring of `slots` windows (a power of two).
    pub(crate) fn new(nodes: usize, slots: usize) -> Self {
        assert!(slots.is_power_of_two());
        Self {
            lists: (0..nodes * slots).map(|_| Vec::new()).collect(),
            used: vec![false; slots],
            far: Vec::new(),
            nodes,
            mask: slots as u64 - 1,
        }
    }

    /// Puts a copy of a message for `node` into the window `ahead` (>= 1) of `current`; returns it for completion.
    #[inline]
    pub(crate) fn put(&mut self, current: u64, ahead: u64, node: usize, message: &M) -> &mut M {
        if ahead > self.mask {
            return self.put_far(current + ahead, node, message);
        }
        let slot = ((current + ahead) & self.mask) as usize;
        self.used[slot] = true;
        self.lists[slot * self.nodes + node].push_mut(*message)
    }

    #[cold]
    fn put_far(&mut self, window: u64, node: usize, message: &M) -> &mut M {
        &mut self.far.push_mut((window, node, *message)).2
    }

    /// The first window after `current` that holds a message.
    pub(crate) fn next_window(&self, current: u64) -> u64 {
        let near = (1..=self.mask).find(|ahead| self.used[((current + ahead) & self.mask) as usize]);
        let near = near.map_or(u64::MAX, |ahead| current + ahead);
        self.far.iter().map(|(window, _, _)| *window).fold(near, u64::min)
    }

    /// Makes `window` the current one: its far messages come near, and after it its slot is empty.
    pub(crate) fn open(&mut self, window: u64) {
        self.used[(window & self.mask) as usize] = false;
        if self.far.is_empty() {
            return;
        }
        let mut i = 0;
        while i < self.far.len() {
            if self.far[i].0 <= window + self.mask {
                let (at, node, message) = self.far.swap_remove(i);
                let slot = (at & self.mask) as usize;
                self.used[slot] = true;
                self.lists[slot * self.nodes + node].push(message);
            } else {
                i += 1;
            }
        }
    }

    /// Whether `node` has a message in `window`.
    #[inline]
    pub(crate) fn is_empty(&self, window: u64, node: usize) -> bool {
        self.lists[(window & self.mask) as usize * self.nodes + node].is_empty()
    }

    /// Takes the list of `node` in `window`; give it back with [`Inbox::give_back`].
    #[inline]
    pub(crate) fn take(&mut self, window: u64, node: usize) -> Vec<M> {
        std::mem::take(&mut self.lists[(window & self.mask) as usize * self.nodes + node])
    }

    /// Returns an emptied list so that its memory is used again.
    #[inline]
    pub(crate) fn give_back(&mut self, window: u64, node: usize, mut list: Vec<M>) {
        list.clear();
        self.lists[(window & self.mask) as usize * self.nodes + node] = list;
    }

    /// Bytes held by the lists.
    pub(crate) fn memory(&self) -> usize {
        self.lists.iter().map(|l| l.capacity() * size_of::<M>() + size_of::<Vec<M>>()).sum()
    }
}
