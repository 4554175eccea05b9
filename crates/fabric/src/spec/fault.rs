//! What goes wrong in a run, and when: a timetable that nothing in the run can change.
use backwater_control::flow_control::{LinkRetry, Watchdog};
use backwater_topology::Ways;
use backwater_units::{Rate, Time};

use crate::record::FaultKind;

/// All faults of a run.
#[derive(Clone, Debug, Default)]
pub struct FaultSpec {
    /// What changes at nodes, by time; of one instant in the order of the list.
    pub changes: Vec<FaultChange>,
    /// What nodes lose of what comes to them.
    pub losses: Vec<LossSpec>,
    /// The ways that changes bring to switches, which begin with [`crate::Spec::routes`].
    pub ways: Ways,
    /// The PFC watchdog of switches, and whether it drops.
    pub watchdog: Option<(Watchdog, WatchdogAction)>,
    /// The same of NICs. One that drops loses the frames that wait at its port: what is in the memory of the host stays.
    pub nic_watchdog: Option<(Watchdog, WatchdogAction)>,
    /// The kind of each fault, by its number.
    pub kinds: Vec<FaultKind>,
    /// How links send again what has come with a wrong bit, if they do.
    pub retry: Option<LinkRetry>,
}

impl FaultSpec {
    /// Whether packets may be lost.
    pub fn loses(&self) -> bool {
        let loses = |change: &FaultChange| matches!(change.what, Change::Down(_) | Change::Stop);
        let lost = |loss: &LossSpec| self.retry.is_none() || matches!(loss.share, LossShare::Silent(_));
        self.losses.iter().any(lost) || self.changes.iter().any(loses) || self.has_watchdog()
    }

    /// Whether any node has a PFC watchdog.
    pub fn has_watchdog(&self) -> bool {
        self.watchdogs().next().is_some()
    }

    fn watchdogs(&self) -> impl Iterator<Item = (Watchdog, WatchdogAction)> {
        self.watchdog.into_iter().chain(self.nic_watchdog)
    }

    /// Whether nothing goes wrong, and nothing looks for it.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.losses.is_empty() && !self.has_watchdog()
    }
}

/// What a watchdog does with what waits behind a PAUSE without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogAction {
    /// It is dropped, as is what comes for it and what comes from the storm in that priority.
    Drop,
    /// It is sent: the PAUSE is not obeyed. What the other end has no room for it drops.
    Forward,
}

/// Something changes at a node.
#[derive(Clone, Copy, Debug)]
pub struct FaultChange {
    /// When: after all frames of that instant.
    pub time: Time,
    /// Node index.
    pub node: u32,
    /// The number of the fault that it belongs to.
    pub fault: u16,
    /// What.
    pub what: Change,
}

/// What changes. Ports are numbers of the node's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The link of a port goes down. Both ends have one.
    Down(u16),
    /// It comes up again.
    Up(u16),
    /// The switch has noticed that the link of a port is down, and leaves it out of groups of equally short ways.
    Avoid(u16),
    /// The switch has noticed that it is up.
    Admit(u16),
    /// The link of a port sends at this rate from the next frame on.
    Rate(u16, Rate),
    /// The switch has new ways to some hosts: these of [`FaultSpec::ways`].
    Routes {
        /// The first.
        from: u32,
        /// The one after the last.
        until: u32,
    },
    /// A port of the NIC sends PAUSE for these priorities (a bit each) again and again.
    Storm(u16, u8),
    /// It sends RESUME for them, and no PAUSE any more.
    Calm(u16),
    /// The host takes in nothing, and sends nothing, by whatever port.
    Stop,
}

/// A node loses some of what comes to it.
#[derive(Clone, Copy, Debug)]
pub struct LossSpec {
    /// The number of the fault.
    pub fault: u16,
    /// Node index.
    pub node: u32,
    /// The port by which it comes; `None`: any.
    pub port: Option<u16>,
    /// From when, and until when.
    pub from: Time,
    /// Frames that come at this instant are lost; later ones are not.
    pub until: Time,
    /// How much of it.
    pub share: LossShare,
    /// Host indices between which it travels.
    pub source: Option<u32>,
    /// Where to.
    pub destination: Option<u32>,
}

/// How much is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossShare {
    /// On the wire: this share of the frames.
    Frames(f64),
    /// On the wire: frames with a wrong bit, of which there are so many among all bits.
    Bits(f64),
    /// In the node, in silence: this share of the frames.
    Silent(f64),
}
