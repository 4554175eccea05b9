//! RECN and its heirs FBICM, DRBCM and CCFIT: which packets are set aside at a switch for the sake of congestion further on. And when the node
//! upstream sets them aside, too, holds them, or lets them go.
//!
//! Reference: Duato et al.: A New Scalable and Cost-Effective Congestion Management Strategy for Lossless Multistage Interconnection Networks, HPCA
//! 2005 (RECN); Escudero-Sahuquillo et al.: FBICM: Efficient Congestion Management for High-Performance Networks Using Distributed Deterministic
//! Routing, `HiPC` 2008; An Effective and Feasible Congestion Management Technique for High-Performance MINs with Tag-Based Distributed Routing,
//! TPDS 2013 (DRBCM); Combining Congested-Flow Isolation and Injection Throttling in HPC Interconnection Networks, ICPP 2011 (CCFIT).
//! Only abstracts were at hand (of DRBCM not even that). They say that queues for congested flows are made when congestion arises and freed when it
//! subsides. RECN goes by source routes and FBICM by routing tables, and CCFIT throttles sources beside. The rest is reconstructed.
//!
//! ```text
//!   packet enters an egress queue longer than detect · hop     ─▶ its port is a root: from now on its bytes are counted by ingress port
//!   bytes of an ingress port longer than notify · hop          ─▶ Aside: the node upstream gives what goes there a queue of its own (SAQ), where the
//!                                                                 bytes are counted by ingress port, too, and so on up to the hosts
//!   longer than high · hop                                     ─▶ Off: the SAQ upstream is held; at a NIC, what it would send there
//!   at most low · hop                                          ─▶ On: it is let go
//!   no bytes left                                              ─▶ On, once more: it may be freed, though nothing came through it
//!   SAQ empty, not held, and none for it further upstream      ─▶ freed (leaf first); Free, the token, goes to the node downstream
//! ```
//! | | what waits in a SAQ | how packets keep their order | marks |
//! |---|---|---|---|
//! | RECN | what has the root on its way; of several the farthest | the SAQ waits until what came before it has left (marker) | all |
//! | FBICM | what goes to the destination | packets go there when they are first in the ordinary queue | all |
//! | DRBCM | what goes to a range of destinations | the same | all |
//! | CCFIT | what goes to the destination | the same | only of what the port is a root for |
//!
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | hop | B | egress rate · 2 · delay of the ingress link | as of Pyrrha, beside which it stands here |
//! | detect, notify | hops | 1, 0.5 | reconstructed: before anything is held |
//! | high, low | hops | 2, 1 | reconstructed: those of Pyrrha-NS3 |
//! | queues | – | 8 | reconstructed |
//! | range | hosts | 8 | reconstructed |
//!
//! Known deviations: these switches have queues at both sides of a crossbar, and SAQs at both. Here packets wait at egress ports only; the SAQ of an
//! ingress port is the count of its bytes there. So nothing is told within a switch, and a root, where all wait for the same wire, has no SAQ.
//! PFC or credits of the link have no part: where no SAQ is left, Off holds the whole port. That is a root for what comes and waits there, whatever it waits
//! for, and gets the next SAQ that is freed. A marker stands only in queues with packets that belong to the new SAQ.
//! Aside and Off have numbers, and a token that of the last one heard: one that a newer Aside or Off has crossed is none.
//! Nothing bounds what waits for many destinations at one port: each may have `high` there of each ingress port.
//! The deadlock check takes a SAQ that a marker shuts for one that waits for the node downstream, and of several keys without a SAQ names the first.
//! A detector of the user's (custom) sees what must not be marked as not capable; a mark that it sets all the same is counted, and no packet has it.
use super::dst_pfc::Thresholds;

/// When a port is a root, and when something is told upstream, in thousandths of what the port sends in a round trip of the hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct RecnConfig {
    /// An egress queue beyond this is that of a root.
    pub detect: u32,
    /// Bytes of an ingress port beyond this are set aside upstream.
    pub notify: u32,
    /// Beyond `high` they are held there, and up to `low` let go.
    pub thresholds: Thresholds,
    /// What a SAQ is for.
    pub aside: Aside,
    /// Only what a port is a root for may be marked there (CCFIT).
    pub marks_roots: bool,
}

/// What a SAQ is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub enum Aside {
    /// The root on the way of its packets; markers keep their order.
    Root,
    /// So many destinations in a row; packets go there when they are first in the ordinary queue.
    Destinations(u32),
}

impl RecnConfig {
    /// Whether a port with so many bytes in its ordinary queue is a root.
    pub const fn is_root(&self, queue: u64, hop: u64) -> bool {
        queue * 1000 > self.detect as u64 * hop
    }

    /// Whether it is so no more, once nobody upstream has a SAQ for it.
    pub const fn is_over(&self, queue: u64, hop: u64) -> bool {
        queue * 2000 <= self.detect as u64 * hop
    }
}

/// What a node upstream is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Have a SAQ.
    Aside,
    /// Hold it.
    Off,
    /// Let it go; free it if it is empty.
    On,
}

/// What a switch knows of the SAQ of a node upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub enum Child {
    /// It has none. A host has none, either, and is only held and let go.
    #[default]
    Free,
    /// It has one, and the token.
    Open,
    /// The same, and was told that nothing of it is left here.
    Over,
    /// It is held.
    Held,
}

impl Child {
    /// There are more bytes from there now.
    pub const fn grew(&mut self, bytes: u64, hop: u64, rules: &RecnConfig, is_host: bool) -> Option<Notice> {
        if !matches!(self, Self::Held) && rules.thresholds.holds(bytes, hop) {
            *self = Self::Held;
            return Some(Notice::Off);
        }
        if matches!(self, Self::Free) && !is_host && bytes * 1000 > rules.notify as u64 * hop {
            *self = Self::Open;
            return Some(Notice::Aside);
        }
        None
    }

    /// There are less.
    pub const fn shrank(
        &mut self,
        bytes: u64,
        hop: u64,
        rules: &RecnConfig,
        is_host: bool,
    ) -> Option<Notice> {
        *self = match self {
            Self::Held if rules.thresholds.lets_go(bytes, hop) => match bytes {
                _ if is_host => Self::Free,
                0 => Self::Over,
                _ => Self::Open,
            },
            Self::Open if bytes == 0 => Self::Over,
            _ => return None,
        };
        Some(Notice::On)
    }

    /// The token of the last Aside or Off has come: the SAQ was freed.
    pub const fn freed(&mut self) {
        if matches!(self, Self::Open | Self::Over) {
            *self = Self::Free;
        }
    }
}
