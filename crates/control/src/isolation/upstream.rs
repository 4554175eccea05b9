//! What holds something upstream: it is held from the first to the last.

/// How many there are: marked packets of a queue, queues that are too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Upstream {
    marked: u32,
}

impl Upstream {
    /// There is one more. Whether it is the first: then what it is about is to be held.
    pub const fn mark(&mut self) -> bool {
        self.marked += 1;
        self.marked == 1
    }

    /// There is one less. Whether it was the last: then what it is about is to be let go.
    pub const fn unmark(&mut self) -> bool {
        self.marked -= 1;
        self.marked == 0
    }

    /// How many there are.
    pub const fn marked(&self) -> u32 {
        self.marked
    }
}
