//! What a run carries from one stretch to the next.
use backwater_units::Time;

use crate::link::ports::LONGEST_RUN;
use crate::log::Records;
use crate::simulation::dependencies::Alone;
use crate::simulation::stall::Quiet;
use crate::simulation::{End, Simulation};

/// How far a run has come: what [`Simulation::step`] goes on with. It belongs to the simulation that it was made of.
#[derive(Clone)]
pub struct Course {
    /// The last picosecond at which the run may be.
    pub(super) until: u64,
    /// Whether it ends with its flows.
    pub(super) ends_with_flows: bool,
    /// After how much time it looks up.
    pub(super) stretch: u64,
    /// When it looks for a deadlock next: whatever else interrupts it, so that probes do not change what is found.
    pub(super) look: u64,
    /// When it looks up next.
    pub(super) next: u64,
    /// Packet-hops at the last look for a deadlock.
    pub(super) hops: u64,
    pub(super) quiet: Quiet,
    pub(super) batch: Records,
    pub(super) alone: Alone,
    /// Why it is over, if it is.
    pub(super) end: Option<End>,
}

impl Course {
    pub(super) fn new(simulation: &Simulation, until: Option<Time>) -> Self {
        let ends_with_flows = until.is_none();
        let until = until.map_or(LONGEST_RUN, |until| until.as_ps().min(LONGEST_RUN));
        let (stretch, look) = (simulation.stretch(), simulation.stall);
        Self {
            until,
            ends_with_flows,
            stretch,
            look,
            next: until.min(stretch).min(look),
            hops: 0,
            quiet: Quiet::default(),
            batch: Records::default(),
            alone: Alone::new(),
            end: None,
        }
    }

    /// Why the run is over, if it is.
    pub const fn end(&self) -> Option<End> {
        self.end
    }

    /// When the run ends at the latest.
    pub const fn until(&self) -> Time {
        Time::from_ps(self.until)
    }
}
