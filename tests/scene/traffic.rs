//! Flows in few words.
use backwater_engine::{stream, uniform};
use backwater_traffic::{Flow, OWN_CONNECTION, Pacing};
use backwater_units::{Bytes, Time};

/// A flow of priority 3 between two hosts (host indices). `u64::MAX` bytes never end.
pub fn flow(src: u32, dst: u32, bytes: u64, start: Time, pacing: Pacing) -> Flow {
    flow_of_priority(3, src, dst, bytes, start, pacing)
}

/// A flow of any priority.
pub fn flow_of_priority(priority: u8, src: u32, dst: u32, bytes: u64, start: Time, pacing: Pacing) -> Flow {
    Flow { group: 0, src, dst, size: Bytes::new(bytes), start, priority, pacing, connection: OWN_CONNECTION }
}

/// `count` packets of `bytes` from hosts `1 ..= sources`, each drawn anew, to host 0: a Poisson process with
/// `mean_gap` picoseconds between packets.
pub fn poisson_packets(sources: u32, bytes: u64, mean_gap: f64, count: u32, seed: u64) -> Vec<Flow> {
    let mut random = stream(seed, 0x9015, 0);
    let mut now = 0.0_f64;
    (0..count)
        .map(|_| {
            now -= mean_gap * (1.0 - uniform(&mut random)).ln();
            let src = 1 + (uniform(&mut random) * f64::from(sources)) as u32;
            flow(src, 0, bytes, Time::from_ps(now as u64), Pacing::LineRate)
        })
        .collect()
}
