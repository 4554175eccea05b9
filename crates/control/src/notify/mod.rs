//! Notification point: what goes back to the source of a flow, and when?
mod ack;
mod cnp;
pub mod put;

pub use ack::{AckConfig, AckEcho};
pub use cnp::{Action, Mode, Notify, NotifyConfig};
