//! Generators of flows, one file each. All of them are pure functions of their parameters and the seed.
mod bale;
mod bursts;
mod closed_loop;
mod collective;
mod constant;
mod incast;
mod job;
mod long_lived;
mod message;
mod mpi_io;
mod permutation;
mod poisson;
mod supply;
mod synchronous;

pub use bale::{Bale, Kernel};
pub use bursts::Bursts;
pub use closed_loop::ClosedLoop;
pub use collective::{Experts, Iterations};
pub use constant::Constant;
pub use incast::Incast;
pub use job::{Groups, Job, JobPart, Skew};
pub use long_lived::LongLived;
pub use message::Message;
pub use mpi_io::{Arrivals, Hot, MpiIo, Placement};
pub use permutation::Permutation;
pub use poisson::{Poisson, Stop};
pub use supply::{Scarce, Supply};
pub use synchronous::{Sizes, Synchronous};

#[cfg(test)]
pub(crate) mod testing {
    use backwater_units::Time;

    use crate::flow::{Group, Pacing};

    pub(crate) const GROUP: Group =
        Group { id: 4, priority: 3, pacing: Pacing::Controlled, start: Time::from_ps(1_000) };
}
