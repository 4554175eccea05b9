//! What became of the faults of a run.
use backwater_units::{Bytes, Time};
use borsh::{BorshDeserialize, BorshSerialize};

/// Makes the values of one list, each with its word in tables.
macro_rules! words {
    ($(#[$about:meta])* $Type:ident: $($(#[$doc:meta])* $event:ident = $word:literal;)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
        #[repr(u8)]
        pub enum $Type {
            $($(#[$doc])* $event,)*
        }

        impl $Type {
            /// Their words in tables.
            pub const WORDS: &'static [&'static str] = &[$($word,)*];
        }
    };
}

words! {
    /// What goes wrong.
    FaultKind:
    /// A link is down.
    LinkDown = "link-down";
    /// A link is slow.
    LinkSlow = "link-slow";
    /// A link loses frames.
    Loss = "loss";
    /// A switch is down.
    SwitchDown = "switch-down";
    /// A switch loses packets in silence.
    Gray = "gray";
    /// A NIC sends PAUSE without end.
    PauseStorm = "pause-storm";
    /// A host stops.
    HostStop = "host-stop";
    /// None of the faults: a PFC watchdog found a PAUSE that does not end.
    Watchdog = "watchdog";
}

words! {
    /// What happened.
    FaultEvent:
    /// A link went down.
    Down = "down";
    /// A link came up again.
    Up = "up";
    /// A switch noticed that its link is down, and left it out of its ways.
    Detected = "detected";
    /// A switch noticed that its link is up, and used it again.
    Admitted = "admitted";
    /// A switch got new routes.
    Rerouted = "rerouted";
    /// A link changed its rate.
    Rate = "rate";
    /// A NIC began to send PAUSE without end.
    Storm = "storm";
    /// It ceased to do so.
    Calm = "calm";
    /// A host stopped.
    Stopped = "stopped";
    /// A PFC watchdog found that a PAUSE did not end.
    Triggered = "watchdog-triggered";
    /// It found that PAUSEs have ceased, and obeys them again.
    Restored = "watchdog-restored";
    /// What a port lost by the fault, over the run.
    Lost = "lost";
    /// What a port sent again as the fault took a frame, over the run: all from that frame on (link-level retry).
    Replayed = "replayed";
}

/// The fault of an event that belongs to none.
pub const NO_FAULT: u16 = u16::MAX;

/// Something happened to a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct FaultRecord {
    /// When; of losses the first.
    pub time: Time,
    /// Number of the fault, or [`NO_FAULT`].
    pub fault: u16,
    /// Its kind.
    pub kind: FaultKind,
    /// What happened.
    pub event: FaultEvent,
    /// Node index.
    pub node: u32,
    /// Port there, if it is about one.
    pub port: Option<u16>,
    /// Packets lost, or sent again.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: Bytes,
    /// Flows of which packets were lost.
    pub flows: u64,
    /// The last of the losses.
    pub last: Option<Time>,
}
