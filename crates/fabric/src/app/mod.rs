//! Applications: what starts flows and fills them, and the ranks of programs.
pub(crate) mod host_flows;
pub(crate) mod jobs;
pub(crate) mod ranks;
pub(crate) mod steps;
pub(crate) mod supply;
