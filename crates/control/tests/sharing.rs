//! What theory says about flows that share one link: controllers, detector and notification point in a closed loop,
//! without a simulator. A link of 40 Gbps is a queue; feedback takes 8 µs each way.
use std::collections::VecDeque;

use backwater_control::CodePoint;
use backwater_control::detector::{Departure, Detector, Red, Registers};
use backwater_control::notify::{Action, Notify, NotifyConfig};
use backwater_control::reaction::{
    Controller, DcqcnConfig, Load, Reaction, ReactionConfig, TimelyConfig, TimelyOnUe,
};
use backwater_units::{Bytes, Rate, Span, Time};

const LINE: Rate = Rate::from_gbps(40);
const ONE_WAY: Span = Span::from_us(8);

/// A source with its receiver.
struct Flow {
    reaction: Reaction,
    next: Time,
    notify: Notify,
    np_timer: Option<Time>,
    /// What is on its way back: a CNP, or the completion of a segment with its RTT.
    feedback: VecDeque<(Time, Feedback)>,
    delivered: u64,
}

#[derive(Clone, Copy)]
enum Feedback {
    Cnp(CodePoint),
    Completion(Span),
}

/// The loop. A unit is what a source sends at once: a packet under DCQCN, a segment under TIMELY.
struct Loop {
    config: ReactionConfig,
    notify: Option<NotifyConfig>,
    detector: Detector,
    registers: Registers,
    unit: u32,
    flows: Vec<Flow>,
    queue: VecDeque<(usize, Time)>,
    busy_until: Time,
    now: Time,
    random: u64,
    /// Time and RTT of every completion.
    rtts: Vec<(Time, Span)>,
}

impl Loop {
    /// Flow `n` starts at `starts[n]`.
    fn new(config: ReactionConfig, unit: u32, starts: &[Time]) -> Self {
        assert_eq!(config.validate(unit), Ok(()));
        let flow = |&start| Flow {
            reaction: Reaction::new(&config, LINE),
            next: start,
            notify: Notify::default(),
            np_timer: None,
            feedback: VecDeque::new(),
            delivered: 0,
        };
        let flows = starts.iter().map(flow).collect();
        let uses_cnps = matches!(config, ReactionConfig::Dcqcn(_));
        Self {
            config,
            notify: uses_cnps.then(NotifyConfig::authors),
            detector: if uses_cnps { Detector::Red(Red::standard()) } else { Detector::None },
            registers: Registers::default(),
            unit,
            flows,
            queue: VecDeque::new(),
            busy_until: Time::ZERO,
            now: Time::ZERO,
            random: 1,
            rtts: Vec::new(),
        }
    }

    fn run_to(&mut self, end: Time) {
        loop {
            let departure = if self.queue.is_empty() { Time::MAX } else { self.busy_until.max(self.now) };
            let of_flow = |flow: &Flow| {
                let back = flow.feedback.front().map_or(Time::MAX, |&(at, _)| at);
                flow.next.min(back).min(flow.np_timer.unwrap_or(Time::MAX))
            };
            let next = self.flows.iter().map(of_flow).fold(departure, Time::min);
            if next > end {
                return;
            }
            self.now = next;
            for n in 0..self.flows.len() {
                self.wake(n);
            }
            if departure == next {
                self.depart();
            }
        }
    }

    /// Everything that is due at flow `n`.
    fn wake(&mut self, n: usize) {
        let (now, flow) = (self.now, &mut self.flows[n]);
        if let Some(config) = &self.notify
            && let Some(due) = flow.np_timer.take_if(|due| *due <= now)
            && let Some(code) = flow.notify.on_timer(config, due)
        {
            flow.feedback.push_back((due + ONE_WAY, Feedback::Cnp(code)));
        }
        while let Some((_, feedback)) = flow.feedback.pop_front_if(|(at, _)| *at <= now) {
            match feedback {
                Feedback::Cnp(code) => flow.reaction.on_cnp(&self.config, now, code),
                Feedback::Completion(rtt) => {
                    flow.reaction.on_completion(&self.config, now, rtt, CodePoint::Capable)
                }
            };
        }
        if flow.next <= now {
            flow.reaction.on_sent(&self.config, now, &Load::of(self.unit));
            flow.next = now + flow.reaction.gap(self.unit);
            self.queue.push_back((n, now));
        }
    }

    /// The link takes a unit from the queue.
    fn depart(&mut self) {
        let Some((n, sent)) = self.queue.pop_front() else { return };
        let (now, flow) = (self.now, &mut self.flows[n]);
        self.busy_until = now + LINE.serialize(Bytes::new(u64::from(self.unit)));
        flow.delivered += u64::from(self.unit);
        let queue = self.queue.len() as u64 * u64::from(self.unit);
        let departure = Departure {
            now,
            queue,
            code: CodePoint::Capable,
            last_hold: Time::ZERO,
            size: 1_000,
            candidate: false,
        };
        let random = &mut self.random;
        let code = self.detector.on_dequeue(&mut self.registers, &departure, || {
            *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*random >> 32) as u32
        });
        let Some(config) = &self.notify else {
            let rtt = (now - sent) + ONE_WAY * 2;
            self.rtts.push((now + ONE_WAY * 2, rtt));
            flow.feedback.push_back((now + ONE_WAY * 2, Feedback::Completion(rtt)));
            return;
        };
        match flow.notify.on_packet(config, now, code, 1_000) {
            Action::Nothing => {}
            Action::Arm(at) => flow.np_timer = Some(at),
            Action::Send(code) => flow.feedback.push_back((now + ONE_WAY, Feedback::Cnp(code))),
        }
    }

    /// Each flow's goodput in Gbps from now to `end`.
    fn goodput(&mut self, end: Time) -> Vec<f64> {
        let start = self.now;
        self.flows.iter_mut().for_each(|flow| flow.delivered = 0);
        self.run_to(end);
        let seconds = (end - start).as_secs_f64();
        self.flows.iter().map(|flow| flow.delivered as f64 * 8e-9 / seconds).collect()
    }
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// Jain's index: 1 if all are equal, 1/n if one has everything.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    sum * sum / (shares.len() as f64 * shares.iter().map(|share| share * share).sum::<f64>())
}

/// `n` flows, one every 5 ms.
fn staggered(n: u64) -> Vec<Time> {
    (0..n).map(|n| ms(5 * n)).collect()
}

#[test]
fn dcqcn_flows_that_start_one_after_the_other_come_to_equal_shares_of_a_full_link() {
    // Zhu et al., ECN or Delay (CoNEXT 2016): DCQCN has one fixed point, at which all rates are C/n.
    for n in [2, 4, 8] {
        let mut link = Loop::new(ReactionConfig::Dcqcn(DcqcnConfig::authors()), 1_000, &staggered(n));
        let early = jain(&link.goodput(ms(5 * n)));
        assert!(early < 0.95, "the first to come has the most: {early}");
        link.run_to(ms(5 * n + 50));
        for window in 2..5 {
            let shares = link.goodput(ms(5 * n + 50 * window));
            assert!(jain(&shares) > 0.95, "{n}: {shares:?}");
            assert!(shares.iter().sum::<f64>() > 0.95 * 40.0, "{n}: {shares:?}");
        }
    }
}

/// TIMELY without UE in this loop, whose shortest round trip takes 16 µs.
fn timely() -> TimelyConfig {
    TimelyConfig { on_ue: TimelyOnUe::Ignore, ..TimelyConfig::authors(LINE, ONE_WAY * 2) }
}

#[test]
fn timely_has_no_fixed_point_because_a_constant_rtt_raises_the_rate() {
    // Zhu et al. (CoNEXT 2016). Whatever the RTT below Thigh, it must keep moving for the rates to rest.
    let config = ReactionConfig::Timely(timely());
    for rtt in [16, 49, 50, 100, 499, 500] {
        let mut flow = Reaction::new(&config, LINE);
        flow.on_completion(&config, ms(1), Span::from_us(5_000), CodePoint::Capable);
        let cut = flow.rate();
        // The fall from 5 ms to the constant RTT makes the gradient negative, and it only fades from there.
        for n in 1..1_000 {
            flow.on_completion(&config, ms(1 + n), Span::from_us(rtt), CodePoint::Capable);
        }
        assert!(cut < LINE && flow.rate() == LINE, "{rtt} us: {}", flow.rate());
    }
}

#[test]
fn timely_flows_swing_about_tlow_stay_below_thigh_fill_most_of_the_link_and_none_starves() {
    // What is guaranteed is a band, neither a delay nor a share: below Tlow all rates rise, above it they fall with a
    // growing delay, so that the delay can rest on neither side. A rise from Rmin to the line takes less than 25 ms:
    // up to a segment per round trip (8 Gbps) δ per segment, 16 KB/δ·ln(8 Gbps/Rmin) = 14 ms; then δ per round
    // trip, (40 − 8)/0.04 · 16 µs = 13 ms for one flow, at most half of it for two.
    for n in [2, 4, 10] {
        let mut link = Loop::new(ReactionConfig::Timely(timely()), 16_000, &staggered(n));
        link.run_to(ms(5 * n + 50));
        for window in 1..=8 {
            link.rtts.clear();
            let shares = link.goodput(ms(5 * n + 50 + 25 * window));
            let rtts = || link.rtts.iter().map(|&(_, rtt)| rtt);
            let (least, most) = (rtts().min().expect("completions"), rtts().max().expect("completions"));
            assert!(least < timely().t_low && timely().t_low < most, "{n}: {least} to {most}");
            assert!(most < timely().t_high, "{n}: {least} to {most}");
            let fair = 40.0 / n as f64;
            assert!(shares.iter().all(|&share| share > fair / 2.0), "{n}: {shares:?}");
            assert!(shares.iter().sum::<f64>() > 0.8 * 40.0, "{n}: {shares:?}");
        }
    }
}

#[test]
fn ten_timely_flows_that_start_at_line_rate_together_go_above_thigh_once() {
    // 400 Gbps into 40: the queue grows by nine times what leaves it, until the first completions come back. The flows
    // then lose up to half of their rates per completion; with half of the link free, the queue is gone in twice the
    // delay that it made.
    for beta in [0.8, 1.6] {
        let config = ReactionConfig::Timely(TimelyConfig { beta, ..timely() });
        let mut link = Loop::new(config, 16_000, &[Time::ZERO; 10]);
        link.run_to(ms(100));
        let longest = *link.rtts.iter().map(|(_, rtt)| rtt).max().expect("completions");
        assert!(longest > timely().t_high);
        let above = |&&(_, rtt): &&(Time, Span)| rtt > timely().t_high;
        let (last, _) = *link.rtts.iter().rfind(above).expect("the start");
        assert!(last < Time::ZERO + longest * 2, "{beta}: above Thigh until {last:?}, at most {longest}");
    }
}
