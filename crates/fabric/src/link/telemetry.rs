//! What switches write into packets (INT: in-band network telemetry), as bytes beside them: a part per hop, which goes back to the source
//! beside the ACK.
use backwater_control::reaction::{IntHop, MAX_HOPS};
use backwater_units::{Rate, Time};

/// Bytes of a hop: number of the port, bytes that wait there, instant, bytes sent, rate of the link.
const HOP: usize = 4 + 4 + 8 + 8 + 8;

const _: () = assert!(HOP * MAX_HOPS <= backwater_engine::MAX_EXTENSION);

/// What a switch writes.
pub(crate) fn encode(hop: &IntHop) -> [u8; HOP] {
    let mut bytes = [0; HOP];
    bytes[..4].copy_from_slice(&hop.id.to_le_bytes());
    bytes[4..8].copy_from_slice(&(hop.queue as u32).to_le_bytes());
    bytes[8..16].copy_from_slice(&hop.at.as_ps().to_le_bytes());
    bytes[16..24].copy_from_slice(&hop.sent.to_le_bytes());
    bytes[24..].copy_from_slice(&hop.rate.as_bps().to_le_bytes());
    bytes
}

/// What the switches wrote; how many hops. `None` if these bytes are no telemetry: a hop is cut short, there are more than packets
/// have room for, or a link has no rate.
pub(crate) fn decode(bytes: &[u8], hops: &mut [IntHop; MAX_HOPS]) -> Option<usize> {
    let (parts, rest) = bytes.as_chunks::<HOP>();
    if !rest.is_empty() {
        return None;
    }
    for (part, hop) in parts.iter().zip(hops.get_mut(..parts.len())?) {
        let (id, rest) = part.split_first_chunk()?;
        let (queue, rest) = rest.split_first_chunk()?;
        let (words, _) = rest.as_chunks();
        let [at, sent, rate] = [0, 1, 2].map(|i: usize| u64::from_le_bytes(words[i]));
        if rate == 0 {
            return None;
        }
        *hop = IntHop {
            id: u32::from_le_bytes(*id),
            queue: u64::from(u32::from_le_bytes(*queue)),
            at: Time::from_ps(at),
            sent,
            rate: Rate::from_bps(rate),
        };
    }
    Some(parts.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(id: u32) -> IntHop {
        IntHop {
            id,
            queue: u64::from(u32::MAX) - u64::from(id),
            at: Time::from_ps(u64::MAX / 3),
            sent: 1 << 60 | u64::from(id),
            rate: Rate::from_gbps(400),
        }
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let mut bytes = Vec::new();
        for count in 0..=MAX_HOPS {
            let mut hops = [IntHop::NONE; MAX_HOPS];
            assert_eq!(decode(&bytes, &mut hops), Some(count));
            assert!((0..).zip(&hops[..count]).all(|(id, read)| *read == hop(id)));
            bytes.extend(encode(&hop(count as u32)));
        }
        assert_eq!(
            decode(&bytes, &mut [IntHop::NONE; MAX_HOPS]),
            None,
            "more hops than packets have room for"
        );
    }

    #[test]
    fn bytes_that_are_no_telemetry_are_refused() {
        let hops = &mut [IntHop::NONE; MAX_HOPS];
        let whole = encode(&hop(1));
        for length in 1..HOP {
            assert_eq!(decode(&whole[..length], hops), None, "{length} B");
        }
        assert_eq!(decode(&[&whole[..24], &[0; 8]].concat(), hops), None, "no rate");
    }
}
