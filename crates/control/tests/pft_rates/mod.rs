//! How much a throttled NIC sends in Congested: the PFT paper's rate laws (section III-C, equation 1, Fig. 1), packet by packet.
mod gaps;
mod laws;
mod random;

use backwater_control::reaction::{Gate, Pft, PftConfig, Polarity, RateLaw, StateRule};
use backwater_units::{Span, Time};

/// A flit takes 1 ns, and a cycle of the clock.
const FLIT: Span = Span::from_ps(1_000);

/// Congested whenever anything is in use, in buffers that never fill.
fn config(law: RateLaw, m: u8, n: u8, k: i64) -> PftConfig {
    let config = PftConfig {
        rule: StateRule::Fixed { enter: 1, escape: 1 },
        law,
        m,
        n,
        k,
        polarity: Polarity::Used,
        capacity: u32::MAX,
        clock: 1_000_000_000,
    };
    assert_eq!(config.validate(), Ok(()));
    config
}

fn flits(count: u64) -> Span {
    FLIT * count
}

/// A NIC that is Congested with `c` in use at time 0, as it was before.
fn congested(config: &PftConfig, c: u32) -> Pft {
    let mut pft = Pft::new();
    pft.on_credits(config, Time::ZERO, u32::MAX);
    pft.on_credits(config, Time::ZERO, c);
    assert!(pft.congested());
    pft
}

fn no_chance() -> f64 {
    unreachable!("no draw")
}

/// Sends a packet of `length` flits at `start`; its credits are back when it has left. When the next one may start.
fn send(
    pft: &mut Pft,
    config: &PftConfig,
    start: Time,
    length: u32,
    random: &mut impl FnMut() -> f64,
) -> Option<Time> {
    let (c, end) = (pft.used(), start + flits(u64::from(length)));
    pft.on_sent(config, start, end, length, random);
    pft.on_credits(config, end, c);
    match pft.gate(config, end) {
        Gate::Open => Some(end),
        Gate::At(time) => Some(time),
        Gate::Change => None,
    }
}
