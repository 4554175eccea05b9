//! What an egress port knows of its flows: a table that forgets those of which nothing has come for long.
use backwater_control::isolation::bfc::FlowEntry;
use backwater_units::{Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

/// No flow.
const NOBODY: u32 = u32::MAX;
/// The least table.
const LEAST: usize = 16;

/// Open addressing: an entry stands at the place of its key or the next free one after it. Nothing goes by the order of the entries.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(super) struct FlowTable {
    entries: Vec<(u32, FlowEntry)>,
    used: usize,
    /// After so long without packets an entry is as good as none.
    keeps: Span,
}

impl FlowTable {
    pub(super) const fn new(keeps: Span) -> Self {
        Self { entries: Vec::new(), used: 0, keeps }
    }

    /// That of a flow, which may be a new one.
    pub(super) fn entry(&mut self, key: u32, now: Time) -> &mut FlowEntry {
        if (self.used + 1) * 4 > self.entries.len() * 3 {
            self.renew(now);
        }
        let at = self.place(key);
        if self.entries[at].0 == NOBODY {
            self.entries[at].0 = key;
            self.used += 1;
        }
        &mut self.entries[at].1
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &FlowEntry> {
        self.entries.iter().filter(|(key, _)| *key != NOBODY).map(|(_, entry)| entry)
    }

    pub(super) const fn state_bytes(&self) -> usize {
        size_of_val(self.entries.as_slice())
    }

    /// Fibonacci hashing: the high bits of the product depend on all bits of the key.
    fn place(&self, key: u32) -> usize {
        let last = self.entries.len() - 1;
        let mut at = (u64::from(key).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & last;
        while self.entries[at].0 != key && self.entries[at].0 != NOBODY {
            at = (at + 1) & last;
        }
        at
    }

    /// Makes room: without those of which nothing is known any more, and twice as large as the others need.
    #[cold]
    fn renew(&mut self, now: Time) {
        let before = std::mem::take(&mut self.entries);
        let known = |(key, entry): &(u32, FlowEntry)| *key != NOBODY && !entry.is_forgotten(now, self.keeps);
        let known: Vec<(u32, FlowEntry)> = before.into_iter().filter(known).collect();
        self.used = known.len();
        self.entries = vec![(NOBODY, FlowEntry::default()); (known.len() * 2).next_power_of_two().max(LEAST)];
        for (key, entry) in known {
            let at = self.place(key);
            self.entries[at] = (key, entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_with_packets_stay_and_others_are_forgotten_when_room_is_needed() {
        let mut table = FlowTable::new(Span::from_us(4));
        let at = |us: u64| Time::from_ps(us * 1_000_000);
        for key in 0..1000 {
            table.entry(key, at(0)).entered(at(0));
        }
        for key in 0..990 {
            table.entry(key, at(1)).left(at(1));
        }
        for key in 1000..3000 {
            let entry = table.entry(key, at(10));
            assert_eq!(entry.packets(), 0, "flow {key} is new");
            entry.entered(at(10));
            entry.left(at(10));
        }
        assert_eq!((990..1000).map(|key| table.entry(key, at(10)).packets()).sum::<u32>(), 10);
        for key in 0..10_000 {
            table.entry(key + 5000, at(100 + u64::from(key) * 5));
        }
        assert!(table.state_bytes() < 200_000, "{} B", table.state_bytes());
    }
}
