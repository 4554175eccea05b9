//! A flow that has the network to itself, packet by packet and link by link: the arithmetic that the fabric is held
//! against. It shares no code with it.

/// A link on the way.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// Bit/s.
    pub rate: u64,
    /// One way, in picoseconds.
    pub delay: u64,
}

/// Time on the wire in picoseconds, a started picosecond counted.
pub fn exact(bytes: u64, rate: u64) -> u64 {
    (u128::from(bytes) * 8_000_000_000_000).div_ceil(u128::from(rate)) as u64
}

/// Time on the wire as the ns-3 RoCE simulators have it: whole nanoseconds, what is left over is dropped.
pub fn whole_ns(bytes: u64, rate: u64) -> u64 {
    (u128::from(bytes) * 8_000_000_000 / u128::from(rate)) as u64 * 1_000
}

/// When packets of these `sizes` (bytes on the wire), ready at the picoseconds `ready`, have arrived at the end of
/// `hops`: store and forward, one packet at a time on each link.
pub fn arrivals(hops: &[Hop], ready: &[u64], sizes: &[u64], on_wire: impl Fn(u64, u64) -> u64) -> Vec<u64> {
    let mut times = ready.to_vec();
    for hop in hops {
        let mut free = 0;
        for (time, &size) in times.iter_mut().zip(sizes) {
            free = free.max(*time) + on_wire(size, hop.rate);
            *time = free + hop.delay;
        }
    }
    times
}

/// The same where switches forward a packet when `header` bytes of it are in, or all of it if it came from a slower link than
/// the one it leaves by.
pub fn cut_through(hops: &[Hop], header: u64, ready: &[u64], sizes: &[u64]) -> Vec<u64> {
    let mut times = ready.to_vec();
    for (i, hop) in hops.iter().enumerate() {
        let cuts = hops.get(i + 1).is_some_and(|next| next.rate <= hop.rate);
        let mut free = 0;
        for (time, &size) in times.iter_mut().zip(sizes) {
            let start = free.max(*time);
            free = start + exact(size, hop.rate);
            let enough = if cuts { exact(size.min(header), hop.rate) } else { exact(size, hop.rate) };
            *time = start + enough + hop.delay;
        }
    }
    times
}
