//! Notification point: what goes back to the source of a flow, and when?
mod ack;
mod advice;
mod cnp;
pub mod put;

pub use ack::{AckConfig, AckEcho};
pub use advice::Advice;
pub use cnp::{Action, Mode, Notify, NotifyConfig};
