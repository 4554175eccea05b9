//! Functions of the user's own: reaction points and a detector behind a C interface, and what becomes of a run when one of
//! them fails.
//!
//! A call that fails ends the run at the end of the window. Of several in that window the first one is reported, in the order of
//! time, kind and number, so that threads cannot change which one it is.
#![allow(clippy::result_large_err, reason = "a fault ends the run; where it is kept it is boxed")]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use backwater_control::CodePoint;
use backwater_control::detector::custom::{CustomDetector, QueueState};
use backwater_control::detector::{Departure, Registers, custom as detector};
use backwater_control::reaction::custom::{self as reaction, CustomConfig, CustomFlow};
use backwater_units::{Rate, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

/// The user's functions of a run.
#[derive(Clone, Debug, Default)]
pub struct UserSpec {
    /// Those that [`crate::PairSpec::custom`] counts.
    pub controllers: Vec<CustomConfig>,
    /// That of every port with [`backwater_control::detector::Detector::Custom`].
    pub detector: Option<CustomDetector>,
    /// Set when one of them fails. With functions it stands in for [`crate::Control::interrupt`], which should be the same.
    pub stop: Arc<AtomicBool>,
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq)]
pub enum UserFault {
    /// Of a reaction point.
    Controller {
        /// Which, among [`UserSpec::controllers`].
        number: u16,
        /// The flow; of a connection its first.
        flow: u32,
        /// What happened.
        fault: Box<reaction::Fault>,
    },
    /// Of the detector.
    Detector {
        /// The switch.
        node: u32,
        /// Its egress port.
        port: u16,
        /// What happened.
        fault: Box<detector::Fault>,
    },
}

impl UserFault {
    /// When.
    pub fn time(&self) -> Time {
        let now = match self {
            Self::Controller { fault, .. } => fault.event.now_ps,
            Self::Detector { fault, .. } => fault.event.now_ps,
        };
        Time::from_ps(now.max(0) as u64)
    }

    /// The order in which faults of a window are reported.
    pub(crate) fn order(&self) -> (Time, u8, u32, u16) {
        match self {
            Self::Controller { flow, .. } => (self.time(), 0, *flow, 0),
            Self::Detector { node, port, .. } => (self.time(), 1, *node, *port),
        }
    }
}

/// The functions while they run. A call that fails is kept where it was made.
#[derive(Clone, Debug, Default)]
pub(crate) struct User {
    spec: UserSpec,
}

impl User {
    pub(crate) fn new(spec: UserSpec) -> Self {
        Self { spec }
    }

    /// What ends the run when one of them fails, if there are any.
    pub(crate) fn stop(&self) -> Option<Arc<AtomicBool>> {
        let any = !self.spec.controllers.is_empty() || self.spec.detector.is_some();
        any.then(|| Arc::clone(&self.spec.stop))
    }

    /// Of the calls that failed the first one, in the order of time, kind and number; `all` looks for them.
    pub(crate) fn first_fault<'a, I: Iterator<Item = &'a UserFault>>(
        &self,
        all: impl FnOnce() -> I,
    ) -> Option<UserFault> {
        // Nobody is asked while nothing has been stopped.
        let stopped = self.spec.stop.load(Ordering::Relaxed);
        stopped.then(all)?.min_by_key(|fault| fault.order()).cloned()
    }

    #[cold]
    fn end_run(&self) {
        self.spec.stop.store(true, Ordering::Relaxed);
    }
}

/// What spaces the packets of a queue pair with a reaction point of the user's.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct UserPacing {
    number: u16,
    flow: u32,
    /// The call that failed: nothing is called any more until the run ends.
    #[borsh(skip)]
    fault: Option<Box<UserFault>>,
    state: CustomFlow,
}

impl UserPacing {
    /// For the queue pair that flow `flow` is the first of, with function `number`, on a link of rate `line`.
    pub(crate) fn new(number: u16, flow: u32, line: Rate, user: &User) -> Self {
        let state = CustomFlow::new(&user.spec.controllers[usize::from(number)], line);
        Self { number, flow, fault: None, state }
    }

    /// A packet of `wire` bytes leaves `now`: the gap to the next one, if what is paced has `paced` bytes.
    pub(crate) fn sent(&mut self, now: Time, wire: u32, paced: Option<u32>, user: &User) -> Span {
        self.call(user, |state, config| {
            state.advance(config, now)?;
            state.on_sent(config, now, wire)
        });
        paced.map_or(Span::ZERO, |bytes| self.state.gap(bytes))
    }

    /// An ACK came.
    pub(crate) fn informed(&mut self, now: Time, echo: CodePoint, rtt: Option<Span>, user: &User) {
        self.call(user, |state, config| {
            state.advance(config, now)?;
            state.on_ack(config, now, echo, rtt)
        });
    }

    /// A CNP came.
    pub(crate) fn notified(&mut self, now: Time, code: CodePoint, user: &User) {
        self.call(user, |state, config| {
            state.advance(config, now)?;
            state.on_cnp(config, now, code)
        });
    }

    /// The rate at `now`, computed on a copy: observing changes nothing. What fails there fails again when it is its turn.
    pub(crate) fn rate(&self, now: Time, user: &User) -> Rate {
        let mut copy = self.state;
        if self.fault.is_none() {
            let _ = copy.advance(&user.spec.controllers[usize::from(self.number)], now);
        }
        copy.rate()
    }

    /// The call that failed.
    pub(crate) fn fault(&self) -> Option<&UserFault> {
        self.fault.as_deref()
    }

    fn call(
        &mut self,
        user: &User,
        event: impl FnOnce(&mut CustomFlow, &CustomConfig) -> Result<(), reaction::Fault>,
    ) {
        if self.fault.is_some() {
            return;
        }
        let config = &user.spec.controllers[usize::from(self.number)];
        if let Err(fault) = event(&mut self.state, config) {
            let (number, flow) = (self.number, self.flow);
            self.fault = Some(Box::new(UserFault::Controller { number, flow, fault: Box::new(fault) }));
            user.end_run();
        }
    }
}

/// What the detector of the user's remembers at one switch: one state per egress queue.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct UserQueues {
    states: Vec<QueueState>,
    /// A run in which there is one is not saved.
    #[borsh(skip)]
    fault: Option<Box<UserFault>>,
}

impl UserQueues {
    /// For a switch with so many egress queues; none without such a detector.
    pub(crate) fn new(queues: usize, user: &User) -> Option<Box<Self>> {
        let fresh = user.spec.detector.as_ref()?.fresh();
        Some(Box::new(Self { states: vec![fresh; queues], fault: None }))
    }

    /// The call that failed.
    pub(crate) fn fault(&self) -> Option<&UserFault> {
        self.fault.as_deref()
    }

    /// Bytes of state.
    pub(crate) fn state_bytes(&self) -> usize {
        size_of_val(&*self.states)
    }

    /// A packet leaves queue `at` of `port`: its new code point.
    pub(crate) fn on_dequeue(
        &mut self,
        (node, port, at): (u32, u16, usize),
        registers: &mut Registers,
        departure: &Departure,
        draw: impl FnOnce() -> u32,
        user: &User,
    ) -> CodePoint {
        let Some(detector) = user.spec.detector.filter(|_| self.fault.is_none()) else {
            return departure.code;
        };
        match detector.on_dequeue(&mut self.states[at], registers, departure, draw) {
            Ok(code) => code,
            Err(fault) => {
                self.fault = Some(Box::new(UserFault::Detector { node, port, fault: Box::new(fault) }));
                user.end_run();
                departure.code
            }
        }
    }

    /// The gate of queue `at` of `port` opened with `waiting` bytes in it.
    pub(crate) fn on_resume(
        &mut self,
        (node, port, at): (u32, u16, usize),
        registers: &mut Registers,
        now: Time,
        waiting: u64,
        user: &User,
    ) {
        let Some(detector) = user.spec.detector.filter(|_| self.fault.is_none()) else { return };
        if let Err(fault) = detector.on_resume(&mut self.states[at], registers, now, waiting) {
            self.fault = Some(Box::new(UserFault::Detector { node, port, fault: Box::new(fault) }));
            user.end_run();
        }
    }
}
