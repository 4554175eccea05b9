//! The fast forms against slow ones: the authors' detector with its four plain registers, and a DCQCN that does every
//! timer tick one by one; and TIMELY against itself in other units, its cases in another order.
use backwater_control::detector::{Departure, Detector, Red, Registers, Tcd};
use backwater_control::reaction::{
    Controller, Dcqcn, DcqcnConfig, Load, OnUe, Timely, TimelyConfig, TimelyOnUe,
};
use backwater_control::{CodePoint, PortState};
use backwater_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

/// The authors' table in its own terms: whole microseconds, states 0 non-congestion, 1 checking, 2 undetermined,
/// 3 congestion, the queue without the guaranteed 1030 B.
#[derive(Default)]
struct AuthorsPort {
    resume: Option<(u64, u64)>,
    sample: (u64, u64),
    state: u8,
}

impl AuthorsPort {
    fn dequeue(&mut self, now: u64, queue: u64, code: u8, draw: bool) -> u8 {
        const R: u64 = 97;
        let ce = if code == 0 { 0 } else { 3 };
        let elapsed = self.resume.map_or(u64::MAX, |(at, _)| now - at);
        if elapsed <= R {
            self.state = 2;
            return if code == 1 { 2 } else { code };
        }
        let at_resume = self.resume.map_or(0, |(_, queue)| queue);
        let window_over = now - self.sample.0 >= R;
        let congested = match self.state {
            2 if queue >= at_resume => true,
            2 => {
                self.sample = (now, queue);
                self.state = 1;
                return code;
            }
            1 if window_over && queue >= self.sample.1 + 900 => true,
            1 => {
                if window_over {
                    self.sample = (now, queue);
                }
                self.state = u8::from(queue > 2_060);
                return code;
            }
            _ => draw,
        };
        self.state = if congested { 3 } else { 0 };
        if congested && draw { ce } else { code }
    }
}

proptest! {
    #[test]
    fn the_detector_decides_as_the_authors_table_does(
        events in prop::collection::vec((0..8_u8, 0..120_000_000_u64, 0..40_u64, 0..4_u8, any::<u32>()), 1..300),
    ) {
        let detector = Detector::Tcd(Tcd::authors());
        let red = Red::authors();
        let (mut registers, mut model, mut now) = (Registers::default(), AuthorsPort::default(), Time::from_ps(0));
        for (kind, after, steps, code, draw) in events {
            // Mostly back-to-back packets, now and then a silence of up to 120 µs; queues in steps of half a packet.
            now += Span::from_ps(if draw % 4 == 0 { after } else { after / 50 });
            let (micros, queue) = (now.as_ps() / 1_000_000, steps * 515);
            let counted = queue.saturating_sub(1_030);
            if kind == 0 {
                detector.on_resume(&mut registers, now, queue, || unreachable!());
                model.resume = Some((micros, counted));
                continue;
            }
            let departure = Departure { now, queue, code: CodePoint::from_bits(code), last_hold: Time::ZERO, size: 1_000, candidate: false };
            let marked = detector.on_dequeue(&mut registers, &departure, || draw << 8);
            let expected = model.dequeue(micros, counted, code, red.hits(counted, || draw << 8));
            let state = [PortState::NonCongestion, PortState::Judging, PortState::Undetermined, PortState::Congestion]
                [usize::from(model.state)];
            prop_assert_eq!((marked.bits(), registers.state()), (expected, state));
        }
    }
}

/// DCQCN as an event-driven simulator would have it: each timer is an event, nothing rests, nothing is in closed form.
struct TickingFlow {
    config: DcqcnConfig,
    line: u64,
    rate: u64,
    target: u64,
    alpha: f64,
    alpha_at: u64,
    timer_at: u64,
    bytes: i64,
    counts: (u32, u32),
    stage: u8,
}

impl TickingFlow {
    fn new(config: DcqcnConfig, line: u64) -> Self {
        let alpha = config.alpha_initial;
        let (alpha_at, timer_at) = (u64::MAX, u64::MAX);
        Self {
            config,
            line,
            rate: line,
            target: line,
            alpha,
            alpha_at,
            timer_at,
            bytes: 0,
            counts: (0, 0),
            stage: 0,
        }
    }

    fn run_to(&mut self, now: u64) {
        loop {
            let at = self.alpha_at.min(self.timer_at);
            if at > now {
                return;
            }
            if self.alpha_at == at {
                self.alpha *= 1.0 - self.config.g;
                self.alpha_at += self.config.alpha_timer.as_ps();
            } else {
                self.timer_at += self.config.rate_timer.as_ps() / if self.stage == 3 { 2 } else { 1 };
                self.counts.0 += 1;
                self.event(self.counts.0, self.stage == 2);
            }
        }
    }

    /// The counter that fired stands at `count`; `select` if it may lead from the additive to the hyper stage.
    fn event(&mut self, count: u32, select: bool) {
        let f = self.config.fast_recovery;
        let least = self.counts.0.min(self.counts.1);
        self.stage = match self.stage {
            1 if count < f => 1,
            3 => 3,
            1 if least >= f => 3,
            2 if select && least >= f => 3,
            _ => 2,
        };
        let increase = match self.stage {
            1 => 0,
            2 => self.config.rate_ai.as_bps(),
            _ => self.config.rate_hai.as_bps() * u64::from(least - f + 1),
        };
        let young = self.counts.0 == 1 || self.counts.1 == 1;
        if self.config.eighth_rule && young && self.target > 10 * self.rate {
            self.target /= 8;
        } else {
            self.target += increase;
        }
        self.rate = (self.rate / 2 + self.target / 2).min(self.line);
    }

    fn sent(&mut self, bytes: u32) {
        if self.stage == 0 {
            return;
        }
        self.bytes -= i64::from(bytes);
        if self.bytes < 0 {
            let full = self.config.byte_counter.get().cast_signed();
            self.bytes = if self.stage == 3 { full / 2 } else { full };
            self.counts.1 += 1;
            self.event(self.counts.1, false);
        }
    }

    fn cnp(&mut self, now: u64, cuts: bool) {
        if self.config.clamp_target || self.counts.1 > 0 {
            self.target = self.rate;
            self.bytes = self.config.byte_counter.get().cast_signed();
        } else if self.stage == 0 {
            self.bytes = self.config.byte_counter.get().cast_signed();
        }
        self.counts = (0, 0);
        self.stage = 1;
        if cuts {
            self.alpha = (1.0 - self.config.g) * self.alpha + self.config.g;
            let cut = (self.rate as f64 * (1.0 - self.alpha / 2.0)) as u64;
            self.rate = cut.max(self.config.min_rate.as_bps());
        }
        self.alpha_at = now + self.config.alpha_timer.as_ps();
        self.timer_at = now + self.config.rate_timer.as_ps();
    }
}

proptest! {
    #[test]
    fn resting_timers_and_closed_forms_give_the_rates_of_ticking_ones(
        clamp_target in any::<bool>(),
        alpha_initial in 0.0..=2.0_f64,
        kilobytes in 1..200_u64,
        events in prop::collection::vec((0..40_u8, 0..80_000_000_u64, 1..64_u64), 1..600),
    ) {
        let config = DcqcnConfig {
            alpha_initial,
            clamp_target,
            byte_counter: Bytes::from_kb(kilobytes),
            on_ue: OnUe::ResetHold,
            ..DcqcnConfig::authors()
        };
        let line = Rate::from_gbps(40);
        let (mut fast, mut slow) = (Dcqcn::new(&config, line), TickingFlow::new(config, line.as_bps()));
        let mut ps = 0;
        for (kind, after, factor) in events {
            ps += if kind % 8 == 0 { after * factor / 16 } else { after / 10 };
            let now = Time::from_ps(ps);
            slow.run_to(ps);
            match kind {
                0 => {
                    slow.cnp(ps, true);
                    fast.on_cnp(&config, now, CodePoint::Congestion);
                }
                1 => {
                    slow.cnp(ps, false);
                    fast.on_cnp(&config, now, CodePoint::Undetermined);
                }
                _ => {
                    slow.sent(1_000 * factor as u32);
                    fast.on_sent(&config, now, &Load::of(1_000 * factor as u32));
                }
            }
            fast.advance(&config, now);
            // The closed form of α rounds differently: a few bit/s after many cuts.
            prop_assert!(fast.rate().as_bps().abs_diff(slow.rate) <= 100, "{} {}", fast.rate(), slow.rate);
            prop_assert!((fast.alpha(&config, now) - slow.alpha).abs() < 1e-9);
        }
    }
}

/// TIMELY in µs and Mbps, as one would write it on a blackboard.
struct Blackboard {
    line: f64,
    rate: f64,
    samples: Vec<(f64, f64)>,
    average: f64,
}

impl Blackboard {
    fn complete(&mut self, config: &TimelyConfig, now: f64, rtt: f64, ue: bool) {
        let (low, high) = (config.t_low.as_us_f64(), config.t_high.as_us_f64());
        let min_rtt = config.min_rtt.as_us_f64();
        let (before, last) = self.samples.last().copied().unwrap_or((rtt, now - min_rtt));
        self.samples.push((rtt, now));
        self.average += config.ewma * (rtt - before - self.average);
        let scale = ((now - last) / min_rtt).min(1.0);
        let falls = self.samples.windows(2).rev().take_while(|pair| pair[1].0 < pair[0].0).count();
        let gradient = self.average / min_rtt;
        let change = if rtt > high {
            -scale * config.beta * (1.0 - high / rtt) * self.rate
        } else if rtt >= low && gradient > 0.0 {
            let holds = ue && config.on_ue == TimelyOnUe::Hold;
            if holds { 0.0 } else { -config.beta * gradient * self.rate }
        } else {
            let hyperactive = rtt >= low && falls >= config.hai_after as usize;
            let steps = if hyperactive { f64::from(config.hai_factor) } else { 1.0 };
            steps * config.add.as_bps() as f64 / 1e6 * scale
        };
        self.rate += change.max((config.floor - 1.0) * self.rate);
        self.rate = self.rate.max(config.min_rate.as_bps() as f64 / 1e6).min(self.line);
    }
}

proptest! {
    #[test]
    fn timely_in_bits_and_picoseconds_follows_the_blackboard_in_mbps_and_microseconds(
        ewma in 0.005..0.9_f64,
        beta in 0.1..2.0_f64,
        hold in any::<bool>(),
        samples in prop::collection::vec((0..100_u64, 10..700_u64, any::<bool>()), 1..400),
    ) {
        let on_ue = if hold { TimelyOnUe::Hold } else { TimelyOnUe::Ignore };
        let line = Rate::from_gbps(40);
        let config = TimelyConfig { ewma, beta, on_ue, ..TimelyConfig::authors(line, Span::from_us(32)) };
        let mut flow = Timely::new(line);
        let mut model = Blackboard { line: 40_000.0, rate: 40_000.0, samples: Vec::new(), average: 0.0 };
        let (mut now, mut rtt) = (0, 300);
        for (after, sample, ue) in samples {
            now += after;
            // Now and then a jump, mostly small steps: long falls, rises and rests.
            rtt = if sample % 10 == 0 { sample } else { (rtt + sample % 7).saturating_sub(4).max(1) };
            let code = if ue { CodePoint::Undetermined } else { CodePoint::Capable };
            flow.on_completion(&config, Time::ZERO + Span::from_us(now), Span::from_us(rtt), code);
            model.complete(&config, now as f64, rtt as f64, ue);
            let rate = flow.rate().as_bps() as f64 / 1e6;
            prop_assert!((rate - model.rate).abs() < 0.001, "{rate} Mbps and {} Mbps", model.rate);
        }
    }
}
