//! LLR, link-level retry of Ultra Ethernet: a frame that comes with a wrong bit is sent again by the port that sent it.
//!
//! Reference: UE specification 1.0.x, §5.1 (Table 5-9), as quoted by the Consortium's management working group in the proposal of LLR for
//! SAI 1.18 (`opencomputeproject/SAI`, `doc/LLR`) and by `open-traffic-generator/snappi`. The specification itself was not read.
//!
//! ```text
//!   sender    k  k+1 k+2 k+3 k+4 │ k  k+1 k+2 k+3 k+4 │ k+5
//!              ╲               ╱                        what follows k goes in vain until the NACK is there
//!   receiver    x NACK k−1 ───╱    k  k+1 k+2 k+3 ...   in order, each once
//! ```
//! - Each frame has a number, in its preamble, and stays in a replay buffer until an ACK says that it has come. ACKs are cumulative.
//! - The receiver finds a frame with a wrong FCS, or one behind a gap. It sends one NACK with the last number in order, and discards all
//!   until the one after that comes. It sends nothing more meanwhile.
//! - The sender goes back: it sends all from the replay buffer after that number again, in order (go-back-N), and nothing new before.
//! - A replay timer does the same if neither ACK nor NACK comes: a NACK may be lost, too.
//!
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | control | B | 8 | a control ordered set (`CtlOS`), between frames (SAI proposals of LLR and CBFC) |
//! | buffer | B | what the link needs | "should be set to the link's bandwidth-delay product" (snappi, of Table 5-9); as reckoned below |
//! | timer | ps | two round trips | reconstructed: the table has no default, SAI's is 0; its example is 10 µs for 100 KB |
//!
//! A flow at line rate that loses a frame has begun, when the NACK is there, all that starts within the round trip: the frame itself, the
//! delay, the NACK, the delay. The frame that is on its way out then goes in vain, too: hence one more.
//!
//! Of frames that are lost with probability p, each of N frames' time, one gets through on average in 1 + N·p/(1 − p) of them.
//!
//! Known deviations: an ACK takes no time on the wire, where it takes 8 B for 2 KB or more in the other direction; nor does a NACK, which does
//! not wait for the frame before it. The timer begins anew with the frame that is lost, not with the last ACK before it. There are as many
//! replays as it takes, where `replay_ct_max` ends them, and no flush: LLR begins anew only with the link. A repeat that comes with a wrong bit
//! is answered by another NACK; by the rule above only the timer would tell. The answer to it is waited for until all that is kept has gone by.
//! A port with a full buffer sends no credit updates either until the answer is there, nor does one that sends again.
use backwater_units::{Bytes, PS_PER_S, Rate, Span};

/// Bytes of an ACK or a NACK on the wire.
pub const CONTROL: Bytes = Bytes::new(8);

/// What a port keeps of what it has sent, and how long it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkRetry {
    /// The replay buffer; `None`: what the link needs.
    pub buffer: Option<Bytes>,
    /// The replay timer; `None`: two round trips.
    pub timer: Option<Span>,
}

impl LinkRetry {
    /// The replay buffer of a link with frames up to `largest`.
    pub fn room(&self, rate: Rate, delay: Span, largest: Bytes) -> Bytes {
        self.buffer.unwrap_or_else(|| needed(rate, delay, largest))
    }

    /// Its replay timer.
    pub fn patience(&self, rate: Rate, delay: Span, largest: Bytes) -> Span {
        self.timer.unwrap_or_else(|| round_trip(rate, delay, largest) * 2)
    }
}

/// From the first bit of a frame of so many bytes to the end of the answer to it.
pub fn round_trip(rate: Rate, delay: Span, frame: Bytes) -> Span {
    rate.serialize(frame) + rate.serialize(CONTROL) + delay * 2
}

/// The least replay buffer with which a link that loses a frame never waits for its answer.
pub fn needed(rate: Rate, delay: Span, largest: Bytes) -> Bytes {
    let bits = u128::from(rate.as_bps()) * u128::from(round_trip(rate, delay, largest).as_ps());
    let bytes = bits.div_ceil(8 * u128::from(PS_PER_S));
    Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(largest.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_keeps_what_goes_out_in_its_round_trip_and_one_frame_more() {
        // 400 Gbps: 4150 B take 83 ns, 8 B 160 ps; 100 ns there and back. 283.16 ns are 14 158 B.
        let (rate, delay, largest) = (Rate::from_gbps(400), Span::from_ns(100), Bytes::new(4_150));
        assert_eq!(round_trip(rate, delay, largest), Span::from_ps(283_160));
        assert_eq!(needed(rate, delay, largest), Bytes::new(14_158 + 4_150));
        let auto = LinkRetry::default();
        assert_eq!(auto.room(rate, delay, largest), Bytes::new(18_308));
        assert_eq!(auto.patience(rate, delay, largest), Span::from_ps(566_320));
        let given = LinkRetry { buffer: Some(Bytes::from_kb(50)), timer: Some(Span::from_us(10)) };
        assert_eq!(given.room(rate, delay, largest), Bytes::from_kb(50));
        assert_eq!(given.patience(rate, delay, largest), Span::from_us(10));
    }
}
