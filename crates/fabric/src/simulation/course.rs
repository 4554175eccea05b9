//! What a run carries from one stretch to the next.
use backwater_units::Time;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::link::ports::LONGEST_RUN;
use crate::log::Records;
use crate::simulation::dependencies::Alone;
use crate::simulation::stall::Quiet;
use crate::simulation::{End, Simulation};

/// How far a run has come: what [`Simulation::step`] goes on with. It belongs to the simulation that it was made of.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
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
    /// Follows from the world.
    #[borsh(skip)]
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

    /// Lets a run that stands go on to `until` or, without it, to the end of its flows, also if it was interrupted, or was to end sooner.
    pub fn go_on(&mut self, until: Option<Time>) {
        self.end = self.end.filter(|end| *end != End::Interrupted);
        let before = (self.until, self.ends_with_flows);
        self.ends_with_flows = until.is_none();
        self.until = until.map_or(LONGEST_RUN, |until| until.as_ps().min(LONGEST_RUN));
        if (self.until, self.ends_with_flows) != before {
            self.end = None;
            // The end that it was to have may have come before it was due to look up.
            self.next =
                self.until.min(self.look).min(if self.next == before.0 { u64::MAX } else { self.next });
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
