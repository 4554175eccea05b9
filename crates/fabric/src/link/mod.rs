//! The two ends of a link: the egress port with its queues, the gates that hold classes back, PFC and credits.
pub(crate) mod bursts;
pub(crate) mod credits;
pub(crate) mod drops;
pub(crate) mod egress;
pub(crate) mod extensions;
pub(crate) mod failures;
pub(crate) mod gates;
pub(crate) mod holds;
pub(crate) mod ingress;
pub(crate) mod overrun;
mod pfc;
pub(crate) mod ports;
pub(crate) mod queue;
pub(crate) mod queue_pool;
pub(crate) mod retry;
pub(crate) mod telemetry;
mod timers;
mod watchdog;
