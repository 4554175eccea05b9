//! Ultra Ethernet: delivery without order, and how fast a sender may send, by the sender (NSCC), by its receiver (RCCC), or by both.
//!
//! ```text
//!             sender                                            receiver
//!   [`Spread`] entropy                                          [`Receiver`] what has come, ACK when
//!   [`Sender`] next packet, what is under way ── data, RTS ──▶     │
//!   [`Nscc`]   window              ◀──────────── ACK, NACK ────────┤
//!   [`Credit`] credit, target      ◀──────────── pull ──────────── [`Grants`], [`Pace`], [`Oversubscribed`]
//! ```
//! A packet may leave if all that rule allow it: a window W, W >= bytes under way + its own (UE 3.6.13: a full packet's; the difference is the
//! last packet); a credit, if there is any. It asks for an ACK if nothing is left to send for the first time, if the credit is used up, or if
//! the window has no room for another one like it (`ultraethernet/uet-htsim` at 40ccb05, `uec.cpp:2090`); one that is sent again always does.
//!
//! Numbers of packets have 20 bits in a frame ([`whole`]). Rings stand with the caller, who makes them as large as it likes.
mod bits;
pub mod credit;
mod delivery;
pub mod nscc;
mod oversubscribed;
mod receiver;
mod sender;
#[cfg(feature = "config")]
pub mod settings;
mod spread;

pub use credit::{Credit, CreditConfig, Grants, Pace, Wanted};
pub use delivery::Delivery;
pub use nscc::{Nscc, NsccChoice, NsccConfig, Reach, Signals};
pub use oversubscribed::{Came, Oversubscribed};
pub use receiver::{Ack, Data, Receiver, Taken, reference};
pub use sender::{Acked, Heard, Leaving, Record, Ring, Sender, backlog, patience};
pub use spread::{Feedback, LISTED, MOST_ENTROPIES, Room, Spread, SpreadConfig, SpreadKind};

/// The number with these low bits that is nearest to `near`.
#[inline]
#[must_use]
pub const fn whole(low: u32, near: u32, bits: u32) -> u32 {
    let ahead = low.wrapping_sub(near) & ((1 << bits) - 1);
    if ahead < 1 << (bits - 1) {
        near.wrapping_add(ahead)
    } else {
        near.wrapping_add(ahead).wrapping_sub(1 << bits)
    }
}
