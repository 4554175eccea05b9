//! NSCC: a window by queueing delay and marks, two bits of congestion that make four quadrants.
//!
//! Reference: Ultra Ethernet Specification 1.0, section 3.6.13 (NSCC, tables 3-76 and 3-82). Where it is silent, the Consortium's simulator,
//! `ultraethernet/uet-htsim` at 40ccb05: `uec.cpp:86` (parameters), `:1145` (quick adapt), `:1202` to `:1308` (increases, decrease,
//! fulfilment), `:1310` (ACK), `:1359` (NACK), `:1389` (base), `:1402` (average). `SMaRTT` (arXiv 2404.01630) is where it comes from.
//!
//! ```text
//!                   delay < target                     delay >= target
//!   not marked      inc += α·new·(target − delay),     inc += fair·new
//!                   or at once W += fast·new while
//!                   there is no delay at all
//!   marked          nothing: the path changes          W *= max(1 − γ·(avg − target)/avg, 1 − md), once per base round trip
//!
//!   fulfilment      after `bytes` received or `period`: W += inc/W;   after each period: W += η
//!   quick adapt     per base + target: less than most/2^gate has come, and a trim or loss, or delay > trigger·target:  W := what has come
//!   NACK            W −= size, unless quick adapt has just acted, or it was trimmed at the last hop under RCCC
//!   timeout         W −= size
//!   least <= W <= most,   most = 1.5·BDP of the flow's own base round trip
//! ```
//! With N the network's round trip, B its bandwidth-delay product, a = B / 150 000 B:
//!
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | target | ps | 0.75 N with trimming, N without | UE table 3-82; `uec.cpp:86` |
//! | α | B/ps | 4·mss·a / 12 µs | UE table 3-82, with the MTU for mss |
//! | fair | B | 5·mss·a | the same |
//! | η | B | 0.15·mss·a | the same |
//! | fast | 1 | 0.25·a | the same |
//! | no delay | ps | below 1 µs | `uec.cpp:1221`; UE: about 0 |
//! | γ, md | 1 | 0.8, 0.5 | UE table 3-82 |
//! | gate | power of two | 3 | UE table 3-82 |
//! | trigger | targets | 4 | UE table 3-82 |
//! | weight of the average | 1 | 0.0125 | UE table 3-82 |
//! | period | ps | N | UE table 3-82 |
//! | bytes | B | 8 MTU | UE table 3-82 |
//! | least window | B | MTU | UE 3.6.13 |
//!
//! Known deviations: the sum of increments has 64 bits (in the simulator 32, which wrap at 800 Gbps); the receiver's window penalty of UE
//! is left out, which the simulator never sends either; an ACK without a round trip goes by the average delay, as in the simulator (UE:
//! nothing happens); `period` is over when more than that has passed, as in the simulator (UE: that or more).
use backwater_units::{Bytes, Rate, Span};

use crate::ConfigError;
use crate::error::require;

/// The network that UE's constants are for: 100 Gbps, 12 µs.
const REFERENCE_BDP: f64 = 150_000.0;
const REFERENCE_RTT: f64 = 12e6;
/// Below it there is no delay: picoseconds.
const NO_DELAY: u64 = 1_000_000;

/// Parameters that people may choose; the others follow from the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NsccChoice {
    /// The delay aimed at; `None`: a share of the network's round trip.
    pub target: Option<Span>,
    /// γ.
    pub gamma: f64,
    /// The most that one decrease takes.
    pub most_decrease: f64,
    /// Quick adapt acts if less than the largest window divided by 2 to the power of this has come.
    pub gate: u32,
    /// Quick adapt acts if the delay is more than so many times the target.
    pub trigger: f64,
    /// Weight of a new delay in the average.
    pub average: f64,
    /// Between two additions of η; `None`: the network's round trip.
    pub period: Option<Span>,
    /// What must have come before increments are fulfilled; `None`: 8 packets.
    pub bytes: Option<Bytes>,
}

impl NsccChoice {
    /// UE's.
    #[must_use]
    pub const fn standard() -> Self {
        Self {
            target: None,
            gamma: 0.8,
            most_decrease: 0.5,
            gate: 3,
            trigger: 4.0,
            average: 0.0125,
            period: None,
            bytes: None,
        }
    }
}

/// The network as all flows see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The round trip of a full packet and its ACK over the longest path.
    pub rtt: Span,
    /// Of the sender's link.
    pub rate: Rate,
    /// A full packet on the wire, and what of it is payload.
    pub mtu: u16,
    /// What of it is payload.
    pub payload: u16,
    /// Whether switches trim.
    pub trims: bool,
}

impl Reach {
    /// Bandwidth-delay product in bytes.
    #[must_use]
    pub fn bdp(&self) -> u64 {
        self.rate.bytes_in(self.rtt).get()
    }
}

/// Parameters of all flows of a kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NsccConfig {
    /// The delay aimed at: picoseconds.
    pub target: u64,
    /// α.
    pub alpha: f64,
    /// What is added per byte above the target, per window.
    pub fair: f64,
    /// η.
    pub eta: f64,
    /// What is added per byte while there is no delay.
    pub fast: f64,
    /// See [`NsccChoice::gamma`].
    pub gamma: f64,
    /// The least that one decrease leaves.
    pub least_left: f64,
    /// See [`NsccChoice::gate`].
    pub gate: u32,
    /// The delay above which quick adapt acts: picoseconds.
    pub late: u64,
    /// See [`NsccChoice::average`].
    pub average: f64,
    /// See [`NsccChoice::period`]: picoseconds.
    pub period: u64,
    /// See [`NsccChoice::bytes`].
    pub bytes: u64,
    /// Least window.
    pub least: u64,
    /// Base round trip of the network: picoseconds.
    pub network: u64,
    /// Rate of the sender's link.
    pub rate: Rate,
}

impl NsccConfig {
    /// What follows from the network, and from what people chose.
    #[must_use]
    pub fn new(reach: &Reach, choice: &NsccChoice) -> Self {
        let (network, mss) = (reach.rtt.as_ps(), f64::from(reach.payload));
        let a = reach.bdp() as f64 / REFERENCE_BDP;
        let share = if reach.trims { 0.75 } else { 1.0 };
        let target = choice.target.map_or((network as f64 * share) as u64, Span::as_ps);
        Self {
            target,
            alpha: 4.0 * mss * a / REFERENCE_RTT,
            fair: 5.0 * mss * a,
            eta: 0.15 * mss * a,
            fast: 0.25 * a,
            gamma: choice.gamma,
            least_left: 1.0 - choice.most_decrease,
            gate: choice.gate,
            late: (choice.trigger * target as f64) as u64,
            average: choice.average,
            period: choice.period.map_or(network, Span::as_ps),
            bytes: choice.bytes.map_or(8 * u64::from(reach.mtu), Bytes::get),
            least: u64::from(reach.mtu),
            network,
            rate: reach.rate,
        }
    }

    /// Refuses parameters for which the algorithm is not defined.
    ///
    /// # Errors
    /// The first parameter outside of its range.
    pub fn validate(&self, choice: &NsccChoice) -> Result<(), ConfigError> {
        let share = |name, value: f64| {
            require(value > 0.0 && value <= 1.0, name, value, "above 0 and at most 1", "UE has 0.8 and 0.5")
        };
        share("gamma", choice.gamma)?;
        share("most-decrease", choice.most_decrease)?;
        require(
            choice.average > 0.0 && choice.average < 1.0,
            "average",
            choice.average,
            "above 0 and below 1",
            "UE has 0.0125",
        )?;
        require(
            choice.trigger > 0.0 && choice.trigger.is_finite(),
            "trigger",
            choice.trigger,
            "above 0",
            "UE has 4",
        )?;
        let target = Span::from_ps(self.target);
        require(self.target > 0, "target", target, "longer than 0ps", "auto follows from the network")?;
        let period = Span::from_ps(self.period);
        require(self.period > 0, "period", period, "longer than 0ps", "auto is a round trip")
    }
}

/// 1.5 bandwidth-delay products: the largest window of a base round trip of so many picoseconds.
#[must_use]
pub fn most_window(base: u64, rate: Rate) -> u64 {
    let bdp = rate.bytes_in(Span::from_ps(base)).get();
    bdp + bdp / 2
}

/// What an ACK tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signals {
    /// Bytes that have come since the one before.
    pub fresh: u64,
    /// The round trip of the packet that it answers, if it is known: picoseconds.
    pub rtt: Option<u64>,
    /// It answers an RTS, which is no packet to measure the path with.
    pub rts: bool,
    /// That packet was marked.
    pub marked: bool,
    /// Bytes under way after it.
    pub in_flight: i64,
}

/// The window of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Nscc {
    window: i64,
    /// The largest window.
    most: i64,
    /// The shortest round trip.
    base: u64,
    /// The delay in the mean.
    delay: u64,
    /// Increments that are not fulfilled, in bytes times bytes.
    inc: u64,
    /// Bytes that have come since the last fulfilment.
    received: i64,
    adjusted: u64,
    decreased: u64,
    /// Bytes that have come without delay, and whether the window grows with each.
    undelayed: u64,
    fast: bool,
    /// Bytes that have come since quick adapt looked, and when it looks again; 0: it has not begun.
    achieved: i64,
    looks: u64,
    trimmed: bool,
    /// What was under way when it acted, and what of that has come or was lost since.
    to_ignore: u64,
    ignored: u64,
}

impl Nscc {
    /// A flow whose shortest round trip is `base` picoseconds as far as is known, with a window of `window` bytes at first.
    #[must_use]
    pub fn new(config: &NsccConfig, base: u64, window: u64) -> Self {
        Self {
            window: window.cast_signed(),
            most: most_window(base, config.rate).cast_signed(),
            base,
            delay: 0,
            inc: 0,
            received: 0,
            adjusted: 0,
            decreased: 0,
            undelayed: 0,
            fast: false,
            achieved: 0,
            looks: 0,
            trimmed: false,
            to_ignore: 0,
            ignored: 0,
        }
    }

    /// The window in bytes.
    #[inline]
    pub const fn window(&self) -> i64 {
        self.window
    }

    /// The shortest round trip: picoseconds.
    pub const fn base(&self) -> u64 {
        self.base
    }

    /// The delay in the mean: picoseconds.
    pub const fn mean_delay(&self) -> u64 {
        self.delay
    }

    /// An ACK has come.
    #[inline]
    pub fn on_ack(&mut self, config: &NsccConfig, now: u64, told: &Signals) {
        let fresh = told.fresh.cast_signed();
        self.achieved += fresh;
        self.received += fresh;
        self.ignored += told.fresh;
        let delay = self.measure(config, told);
        if self.adapts(config, now, false, told.marked, delay, told.in_flight) {
            return;
        }
        match (told.marked, delay >= config.target) {
            (false, true) => self.inc = (self.inc as f64 + config.fair * told.fresh as f64) as u64,
            (false, false) => self.grow(config, told.fresh, delay),
            (true, true) => self.decrease(config, now),
            (true, false) => {}
        }
        self.bound(config);
        if self.received > config.bytes.cast_signed() || now - self.adjusted > config.period {
            self.window += (self.inc / self.window.cast_unsigned()).cast_signed();
            if now - self.adjusted >= config.period {
                self.window = (self.window as f64 + config.eta) as i64;
                self.adjusted = now;
            }
            (self.inc, self.received) = (0, 0);
        }
        self.bound(config);
    }

    /// The delay that an ACK goes by.
    #[inline]
    fn measure(&mut self, config: &NsccConfig, told: &Signals) -> u64 {
        let Some(rtt) = told.rtt else { return self.delay };
        if !told.rts {
            self.shorten(config, rtt);
        }
        if rtt < self.base {
            return self.delay;
        }
        let delay = rtt - self.base;
        self.average(config, delay, told.marked);
        delay
    }

    #[inline]
    fn shorten(&mut self, config: &NsccConfig, rtt: u64) {
        if rtt < self.base {
            self.base = rtt;
            self.most = most_window(rtt, config.rate).cast_signed();
        }
    }

    #[inline]
    fn average(&mut self, config: &NsccConfig, delay: u64, marked: bool) {
        // A long delay without a mark is over already.
        let seen = if !marked && delay > config.target { self.base as f64 * 0.25 } else { delay as f64 };
        self.delay = (config.average * seen + (1.0 - config.average) * self.delay as f64) as u64;
    }

    #[inline]
    fn grow(&mut self, config: &NsccConfig, fresh: u64, delay: u64) {
        if delay < NO_DELAY {
            self.undelayed += fresh;
            if self.fast || self.undelayed.cast_signed() > self.window {
                self.window = (self.window as f64 + fresh as f64 * config.fast) as i64;
                self.fast = true;
                return;
            }
        } else {
            self.undelayed = 0;
        }
        self.fast = false;
        let room = (config.target - delay) as f64;
        self.inc = (self.inc as f64 + config.alpha * fresh as f64 * room) as u64;
    }

    fn decrease(&mut self, config: &NsccConfig, now: u64) {
        self.fast = false;
        self.undelayed = 0;
        if self.delay > config.target && now - self.decreased > self.base {
            let above = (self.delay - config.target) as f64 / self.delay as f64;
            let left = (1.0 - config.gamma * above).max(config.least_left);
            self.window = ((self.window as f64 * left) as i64).max(config.least.cast_signed());
            self.decreased = now;
        }
    }

    #[inline]
    fn bound(&mut self, config: &NsccConfig) {
        self.window = self.window.min(self.most).max(config.least.cast_signed());
    }

    /// Quick adapt. Whether it acts, or what comes is ignored as it has acted.
    #[inline]
    fn adapts(
        &mut self,
        config: &NsccConfig,
        now: u64,
        lost: bool,
        marked: bool,
        delay: u64,
        in_flight: i64,
    ) -> bool {
        let mut acts = marked && self.ignored < self.to_ignore;
        if !acts && now > self.looks {
            let bad = self.trimmed || lost || delay > config.late;
            if self.looks > 0 && bad && self.achieved < self.most >> config.gate {
                self.window = self.achieved.max(config.least.cast_signed());
                self.to_ignore = in_flight.max(0).cast_unsigned();
                self.ignored = 0;
                self.trimmed = false;
                acts = true;
            }
            self.achieved = 0;
            self.looks = now + self.base + config.target;
        }
        if acts {
            (self.inc, self.received) = (0, 0);
        }
        acts
    }

    /// A NACK has come for a packet of `size` bytes, which was sent `rtt` picoseconds ago, with `in_flight` bytes under way before it.
    /// `spared`: it was trimmed at the last hop, and credits rule there.
    pub fn on_nack(
        &mut self,
        config: &NsccConfig,
        now: u64,
        (size, rtt): (u16, u64),
        in_flight: i64,
        spared: bool,
    ) {
        self.shorten(config, rtt);
        self.ignored += u64::from(size);
        // So long is the queue at which packets are trimmed.
        self.average(config, config.network, true);
        self.trimmed = true;
        if !self.adapts(config, now, true, true, 0, in_flight) && !spared {
            self.window -= i64::from(size);
            self.bound(config);
        }
    }

    /// A packet of `size` bytes has timed out.
    pub fn on_timeout(&mut self, config: &NsccConfig, size: u16) {
        self.window = (self.window - i64::from(size)).max(config.least.cast_signed());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The Consortium's default tree: 14.02272 µs at 100 Gbps.
    fn reach() -> Reach {
        let (rtt, rate) = (Span::from_ps(14_022_720), Rate::from_gbps(100));
        Reach { rtt, rate, mtu: 4150, payload: 4086, trims: true }
    }

    fn config() -> NsccConfig {
        NsccConfig::new(&reach(), &NsccChoice::standard())
    }

    fn flow() -> Nscc {
        let config = config();
        Nscc::new(&config, config.network, most_window(config.network, config.rate))
    }

    fn told(fresh: u64, rtt: u64, marked: bool) -> Signals {
        Signals { fresh, rtt: Some(rtt), rts: false, marked, in_flight: 100_000 }
    }

    #[test]
    fn the_constants_are_those_that_follow_from_the_network_by_hand() {
        // 14.02272 µs · 12.5 GB/s = 175 284 B; a = 1.16856; target 0.75 · 14.02272 µs.
        let config = config();
        assert_eq!((reach().bdp(), most_window(config.network, config.rate)), (175_284, 262_926));
        assert_eq!((config.target, config.bytes), (10_517_040, 33_200));
        let near = |value: f64, by_hand: f64| (value / by_hand - 1.0).abs() < 1e-4;
        assert!(near(config.alpha, 0.001_591_6) && near(config.fair, 23_873.7));
        assert!(near(config.eta, 716.2) && near(config.fast, 0.292_14));
    }

    #[test]
    fn a_packet_without_a_mark_adds_what_is_left_to_the_target_and_above_it_the_fair_share() {
        let (config, mut flow) = (config(), flow());
        flow.window = 100_000;
        // Delay 5.51704 µs: 5 µs are left. α · 16600 · 5·10⁶ = 4·4086·1.16856/12 · 16600 · 5 = 1.3211·10⁸, at 100 000 B 1321 B.
        flow.on_ack(&config, 1_000, &told(16_600, 14_022_720 + 5_517_040, false));
        assert_eq!((flow.inc / 1_000_000, flow.window), (132, 100_000));
        flow.on_ack(&config, 2_000, &told(16_600, 14_022_720 + 5_517_040, false));
        assert_eq!(flow.window, 100_000, "33 200 B are not more than 33 200 B");
        // 5·4086·1.16856 · 8300 = 1.9815·10⁸. In all 4.6236·10⁸: 4623 B.
        flow.on_ack(&config, 3_000, &told(8_300, 14_022_720 + 11_000_000, false));
        assert_eq!(flow.window, 104_623);
    }

    #[test]
    fn a_window_of_packets_without_delay_makes_it_grow_with_each_ack() {
        let (config, mut flow) = (config(), flow());
        flow.window = 20_000;
        flow.on_ack(&config, 1_000, &told(16_600, 14_022_720, false));
        let before = flow.window;
        flow.on_ack(&config, 2_000, &told(16_600, 14_022_720, false));
        // 0.25 · 1.16856 · 16600 = 4849.5.
        assert_eq!(flow.window - before, 4_849);
    }

    #[test]
    fn a_mark_takes_something_off_only_above_the_target_in_the_mean_and_once_per_round_trip() {
        let (config, mut flow) = (config(), flow());
        (flow.window, flow.delay, flow.looks) = (200_000, 21_034_080, u64::MAX);
        let late = told(4150, 14_022_720 + 21_034_080, true);
        flow.adjusted = 20_000_000;
        flow.on_ack(&config, 20_000_000, &late);
        // Twice the target: 1 − 0.8 · ½ = 0.6.
        assert_eq!(flow.window, 120_000);
        flow.on_ack(&config, 25_000_000, &late);
        assert_eq!(flow.window, 120_000);
    }

    #[test]
    fn quick_adapt_goes_down_to_what_has_come_and_ignores_what_was_under_way() {
        let (config, mut flow) = (config(), flow());
        flow.on_ack(&config, 10, &told(4150, 14_022_720, false));
        let window = flow.window;
        let early = (4150, 20_000_000);
        flow.on_nack(&config, 1_000, early, 200_000, false);
        assert_eq!(flow.window, window - 4150, "it has just looked");
        // base + target later only 4150 B have come: less than 262 926/8 = 32 865 B.
        flow.on_ack(&config, 25_000_000, &Signals { marked: true, ..told(4150, 40_000_000, true) });
        assert_eq!((flow.window, flow.to_ignore), (4150, 100_000));
        flow.on_nack(&config, 26_000_000, early, 100_000, false);
        assert_eq!(flow.window, 4150);
    }

    #[test]
    fn a_shorter_round_trip_is_the_base_and_bounds_the_window() {
        let (config, mut flow) = (config(), flow());
        flow.on_ack(&config, 10, &told(4150, 6_000_000, false));
        // 6 µs · 12.5 GB/s = 75 000 B, and half of it.
        assert_eq!((flow.base, flow.window), (6_000_000, 112_500));
    }

    #[test]
    fn a_trim_at_the_last_hop_takes_nothing_off_where_credits_rule() {
        let (config, mut flow) = (config(), flow());
        flow.looks = u64::MAX;
        let before = flow.window;
        flow.on_nack(&config, 10, (4150, 20_000_000), 200_000, true);
        assert_eq!(flow.window, before);
        flow.on_nack(&config, 10, (4150, 20_000_000), 200_000, false);
        assert_eq!(flow.window, before - 4150);
        flow.on_timeout(&config, 4150);
        assert_eq!(flow.window, before - 8300);
    }

    proptest! {
        #[test]
        fn a_window_stays_between_a_packet_and_the_largest(
            events in prop::collection::vec((0..4_u8, 0..40_000_u64, 0..60_000_000_u64, 1..20_000_000_u64), 1..400)
        ) {
            let (config, mut flow, mut now) = (config(), flow(), 0);
            for (event, fresh, late, gap) in events {
                now += gap;
                let rtt = 8_000_000 + late;
                match event {
                    0 | 1 => flow.on_ack(&config, now, &told(fresh, rtt, event == 1)),
                    2 => flow.on_nack(&config, now, (4150, rtt), fresh.cast_signed(), false),
                    _ => flow.on_timeout(&config, 4150),
                }
                prop_assert!(flow.window >= 4150);
                prop_assert!(flow.window <= 262_926);
                prop_assert!(flow.base <= config.network);
            }
        }
    }
}
