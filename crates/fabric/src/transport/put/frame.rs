//! How the sequence number of a PUT and the ACK that it carries share the 32 bits of a frame.
//!
//! ```text
//!   31      30 .. 16             15   14 .. 0
//!   last    low bits of number   0    low bits of the ACK
//! ```
//! The window of a stream is far below 2^14 packets ([`MOST_BUFFERED`]), so that the low 15 bits tell which number is meant.
use crate::packet::LAST;

/// The most packets that a stream may have outstanding.
pub const MOST_BUFFERED: u32 = 1 << 13;

const BITS: u32 = 15;
const LOW: u32 = (1 << BITS) - 1;

/// The word of a PUT with this number, the last of its flow or not, which acknowledges `ack`.
pub(crate) const fn pack(number: u32, last: bool, ack: u32) -> u32 {
    (if last { LAST } else { 0 }) | (number & LOW) << 16 | (ack & LOW)
}

/// The low bits of the number.
pub(crate) const fn number(word: u32) -> u32 {
    word >> 16 & LOW
}

/// The low bits of the ACK.
pub(crate) const fn ack(word: u32) -> u32 {
    word & LOW
}

/// The number with these low bits that is nearest to `near`.
pub(crate) const fn whole(low: u32, near: u32) -> u32 {
    let ahead = low.wrapping_sub(near) & LOW;
    if ahead < 1 << (BITS - 1) {
        near.wrapping_add(ahead)
    } else {
        near.wrapping_add(ahead).wrapping_sub(1 << BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_comes_back_from_its_low_bits_if_the_receiver_is_near() {
        for near in [1, 100, 32_767, 32_768, 1_000_000] {
            for distance in [0, 1, MOST_BUFFERED, 2 * MOST_BUFFERED - 1] {
                let word = pack(near + distance, true, near);
                assert_eq!((whole(number(word), near), whole(ack(word), near)), (near + distance, near));
                if near > distance {
                    let word = pack(near - distance, false, near + distance);
                    assert_eq!(whole(number(word), near), near - distance);
                    assert_eq!(whole(ack(word), near), near + distance);
                }
            }
        }
    }

    #[test]
    fn the_last_packet_of_a_flow_says_so() {
        assert_eq!(pack(5, true, 0) & LAST, LAST);
        assert_eq!(pack(5, false, u32::MAX) & LAST, 0);
    }
}
