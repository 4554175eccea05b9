//! Which queue pair of a NIC sends next: the one whose next packet has been due for longest.

/// A binary heap of (due, queue pair) whose first entry is replaced in place when its queue pair has sent.
#[derive(Debug, Default)]
pub(crate) struct DueHeap {
    entries: Vec<(u64, u32)>,
}

impl DueHeap {
    /// The earliest (due, queue pair); of those due at the same time the one with the lowest number.
    #[inline]
    pub(crate) fn first(&self) -> Option<(u64, u32)> {
        self.entries.first().copied()
    }

    pub(crate) fn push(&mut self, due: u64, pair: u32) {
        self.entries.push((due, pair));
        let mut child = self.entries.len() - 1;
        while child > 0 {
            let parent = (child - 1) / 2;
            if self.entries[parent] <= self.entries[child] {
                break;
            }
            self.entries.swap(parent, child);
            child = parent;
        }
    }

    /// The first queue pair has sent and is due again at `due`.
    #[inline]
    pub(crate) fn replace_first(&mut self, due: u64) {
        self.entries[0].0 = due;
        self.sink();
    }

    /// The first queue pair goes on under another number.
    pub(crate) fn replace_first_by(&mut self, due: u64, pair: u32) {
        self.entries[0] = (due, pair);
        self.sink();
    }

    /// The first queue pair has nothing more to send.
    pub(crate) fn remove_first(&mut self) {
        self.entries.swap_remove(0);
        self.sink();
    }

    /// Takes out the queue pairs that `which` says, in no order.
    pub(crate) fn take_if(&mut self, which: impl Fn(u32) -> bool) -> Vec<(u64, u32)> {
        let (taken, kept) = self.entries.iter().partition(|(_, pair)| which(*pair));
        self.entries = kept;
        // What is in order is a heap.
        self.entries.sort_unstable();
        taken
    }

    fn sink(&mut self) {
        let count = self.entries.len();
        let mut parent = 0;
        loop {
            let left = 2 * parent + 1;
            if left >= count {
                return;
            }
            let right = left + 1;
            let child = if right < count && self.entries[right] < self.entries[left] { right } else { left };
            if self.entries[parent] <= self.entries[child] {
                return;
            }
            self.entries.swap(parent, child);
            parent = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_queue_pairs_at_line_rate_share_the_link_in_turn() {
        let mut heap = DueHeap::default();
        (0..3).for_each(|pair| heap.push(0, pair));
        let served: Vec<u32> = (0..6u64)
            .map(|slot| {
                let (_, pair) = heap.first().expect("three");
                heap.replace_first(slot * 100 + 100);
                pair
            })
            .collect();
        assert_eq!(served, [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn a_finished_queue_pair_leaves_the_others_in_order() {
        let mut heap = DueHeap::default();
        for (due, pair) in [(30, 0), (10, 1), (20, 2), (5, 3)] {
            heap.push(due, pair);
        }
        let mut order = Vec::new();
        while let Some((_, pair)) = heap.first() {
            order.push(pair);
            heap.remove_first();
        }
        assert_eq!(order, [3, 1, 2, 0]);
    }

    #[test]
    fn queue_pairs_that_change_the_heap_keep_their_place_in_time() {
        let (mut heap, mut other) = (DueHeap::default(), DueHeap::default());
        (0..9).for_each(|pair| heap.push(100 - u64::from(pair), pair));
        other.push(95, 20);
        heap.take_if(|pair| pair % 2 == 0).into_iter().for_each(|(due, pair)| other.push(due, pair));
        let drain = |mut heap: DueHeap| {
            let mut order = Vec::new();
            while let Some((_, pair)) = heap.first() {
                order.push(pair);
                heap.remove_first();
            }
            order
        };
        assert_eq!((drain(heap), drain(other)), (vec![7, 5, 3, 1], vec![8, 6, 20, 4, 2, 0]));
    }
}
