//! Credits that all ingress ports of a switch promise from one memory, for one virtual lane.
//!
//! References: Stunkel et al., The SP2 High-Performance Switch (IBM Systems Journal 1995): links have tokens for the FIFOs of their input
//! ports, a packet that has to wait goes on into a central queue that all ports share, and its tokens go back. Choudhury and Hahne,
//! Dynamic Queue Length Thresholds for Shared-Memory Packet Switches (IEEE/ACM Trans. Networking 1998): who may take how much of it.
//!
//! ```text
//!   a port is promised   what lets the other end go on at line rate until the next update: its window
//!   it may have in all   its window, which nobody else can take, and of the rest no more than is still free after it (α = 1)
//!   promised is for good what an update has told cannot be taken back: it is there until the packet has come and left
//! ```
//! So never more is promised than there is: the windows and the shares add up to the memory, and each port's promises and packets fit into
//! its own. A packet always fits into a window, so that no lane needs another one to move: routes that cannot deadlock with a buffer
//! at each port cannot with this one.
//!
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | window | units | what line rate needs | [`feasibility`](super::feasibility()): SP2's input FIFOs |
//! | α | – | 1 | Choudhury and Hahne, section III: at one full port it leaves half of the memory free for others |
//!
//! Known deviation: a port learns of memory that another one has set free when something comes in or leaves at itself, not at once.
use super::CreditReceiver;

/// What of the memory no port has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct CreditPool {
    window: u32,
    free: u32,
}

impl CreditPool {
    /// A memory of so many units for each of `ports` ports; each of them has its window to begin with.
    pub const fn new(ports: u32, units: u32, window: u32) -> Self {
        Self { window, free: (units - window) * ports }
    }

    /// Units that no port has.
    pub const fn free(&self) -> u32 {
        self.free
    }

    /// Before an update is told: gives a port as much as lets the other end go on, as far as it is there, and takes back what it does
    /// not need any more.
    pub fn allot(&mut self, port: &mut CreditReceiver) {
        let whole = self.free + port.buffer().saturating_sub(self.window);
        let wanted = port.held();
        // α = 1: as much as it leaves.
        let share = wanted.min(whole / 2).max(port.committed().saturating_sub(self.window));
        self.free = whole - share;
        port.resize(self.window + share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ports with 100 units each, of which 40 are a window: 120 are shared.
    fn memory() -> (CreditPool, [CreditReceiver; 2]) {
        (CreditPool::new(2, 100, 40), [CreditReceiver::new(40); 2])
    }

    #[test]
    fn a_port_that_fills_gets_half_of_what_is_shared_and_keeps_its_window() {
        let (mut pool, [mut one, _]) = memory();
        let mut told = Vec::new();
        // Always 20 units come and nothing leaves, as long as there are credits.
        for _ in 0..6 {
            if one.granted().wrapping_sub(one.abr()) < 20 {
                break;
            }
            assert!(one.on_arrival(20));
            pool.allot(&mut one);
            told.push((one.grant().wrapping_sub(one.abr()), pool.free()));
        }
        // Promised beyond what is there: the window, until half of 120 is its own. Then 100 units are promised in all.
        assert_eq!(told, [(40, 100), (40, 80), (40, 60), (20, 60), (0, 60)]);
    }

    #[test]
    fn what_has_left_is_there_for_the_others() {
        let (mut pool, [mut one, mut other]) = memory();
        for _ in 0..3 {
            one.on_arrival(20);
            pool.allot(&mut one);
            one.grant();
        }
        assert_eq!(pool.free(), 60);
        one.on_freed(60);
        pool.allot(&mut one);
        assert_eq!((pool.free(), one.grant().wrapping_sub(one.abr())), (120, 40));
        other.on_arrival(40);
        pool.allot(&mut other);
        assert_eq!((pool.free(), other.grant().wrapping_sub(other.abr())), (80, 40));
    }

    #[test]
    fn what_was_promised_is_not_taken_back() {
        let (mut pool, [mut one, mut other]) = memory();
        for port in [&mut one, &mut other] {
            for _ in 0..3 {
                port.on_arrival(20);
                pool.allot(port);
                port.grant();
            }
        }
        // The first has 60 of 120; for the second no more than half of the other 60 was left.
        assert_eq!((one.buffer(), other.buffer(), pool.free()), (100, 70, 30));
        let promised = one.granted();
        pool.allot(&mut one);
        assert_eq!((one.grant(), one.buffer()), (promised, 100), "half of 90 is less than 60, and told");
        one.on_freed(60);
        pool.allot(&mut one);
        assert_eq!((one.grant(), one.buffer(), pool.free()), (promised, 40, 90));
    }
}
