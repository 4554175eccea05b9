//! Queue pairs that send again what is lost.
use backwater_control::transport::selective::SelectiveConfig;
use backwater_units::Span;

/// How a queue pair finds out that packets are lost, and what it sends again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReliableSpec {
    /// What is sent again.
    pub repeat: Repeat,
    /// How long nothing may be heard of the oldest packet under way.
    pub timeout: Span,
    /// The same while so many packets are under way at most.
    pub short: Option<(u32, Span)>,
    /// Timeouts in a row without anything new; one more puts the queue pair in error.
    pub retries: u32,
    /// Whether each of them doubles the time.
    pub backoff: bool,
    /// Whether each packet sent, and each reply, starts the time anew; else only what is new, and what recovers.
    pub every_packet: bool,
    /// Another NACK for the same after so long. `None`: with go-back-N never, with selective repeat each time.
    pub nack_every: Option<Span>,
    /// Whether the reaction point takes a NACK as a CNP with CE.
    pub nack_notifies: bool,
}

/// What is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// All from the first lost packet on; the receiver discards what comes out of order.
    GoBackN,
    /// What is lost; the receiver keeps what comes out of order.
    Selective {
        /// Bytes of payload beyond the last cumulative ACK at which no new packet is sent: of [`crate::MOST_SELECTIVE`] packets at most.
        cap: u64,
        /// What counts as lost.
        config: SelectiveConfig,
    },
    /// What walks over with a list of blocks leave out ([`backwater_control::transport::block_list`]); the receiver keeps what comes out
    /// of order, and answers with a NACK as long as anything is missing.
    BlockList {
        /// The same.
        cap: u64,
    },
}

impl Repeat {
    /// Whether the receiver keeps what comes out of order.
    pub const fn keeps(&self) -> bool {
        !matches!(self, Self::GoBackN)
    }
}
