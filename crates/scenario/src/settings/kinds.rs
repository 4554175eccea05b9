//! What is true of all entries of a kind.
use super::{Gpcnet, Mpi, Workload};

impl Workload {
    /// The name in scenario files.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::LongLived { .. } => "long-lived",
            Self::Constant { .. } => "constant",
            Self::Flow { .. } => "flow",
            Self::Bursts { .. } => "bursts",
            Self::ClosedLoop { .. } => "closed-loop",
            Self::Incast { .. } => "incast",
            Self::Permutation { .. } => "permutation",
            Self::Poisson { .. } => "poisson",
            Self::Supply { .. } => "supply",
            Self::Synchronous { .. } => "synchronous",
            Self::MpiIo { .. } => "mpi-io",
            Self::HpccFlows { .. } => "hpcc-flows",
            Self::Trace { .. } => "trace",
            Self::Bale { .. } => "bale",
            Self::Collective(_) => "collective",
            Self::Program { .. } => "program",
            Self::Gpcnet(_) => "gpcnet",
            Self::Injected {} => "injected",
            Self::Steps(_) => "steps",
        }
    }

    /// Whether there may be several messages from one source to one destination.
    pub const fn repeats(&self) -> bool {
        match self {
            Self::LongLived { .. }
            | Self::Constant { .. }
            | Self::Flow { .. }
            | Self::Incast { .. }
            | Self::Supply { .. }
            | Self::Permutation { .. }
            | Self::Program { .. }
            | Self::Injected {}
            | Self::Gpcnet(_) => false,
            Self::Bursts { .. }
            | Self::ClosedLoop { .. }
            | Self::Poisson { .. }
            | Self::Synchronous { .. }
            | Self::MpiIo { .. }
            | Self::HpccFlows { .. }
            | Self::Trace { .. }
            | Self::Collective(_)
            | Self::Steps(_)
            | Self::Bale { .. } => true,
        }
    }

    /// Whether its flows come while the run stands.
    pub const fn is_injected(&self) -> bool {
        matches!(self, Self::Injected {})
    }

    /// What message passing costs, if the entry has ranks.
    pub const fn mpi(&self) -> Option<&Mpi> {
        match self {
            Self::Program { mpi, .. } | Self::Gpcnet(Gpcnet { mpi, .. }) => Some(mpi),
            _ => None,
        }
    }
}
