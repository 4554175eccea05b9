//! NICs that throttle themselves.
use backwater_control::reaction::{PftConfig, Scope};

/// Proactive flow throttling at every host; only under credits, of which it is made.
#[derive(Clone, Debug, PartialEq)]
pub struct ThrottleSpec {
    /// States and rates. `capacity` is that of each host's own link, whatever is said here.
    pub config: PftConfig,
    /// What has a throttle of its own.
    pub scope: Scope,
}
