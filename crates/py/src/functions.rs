//! Functions of the user's own, by their addresses: what Python compiled or loaded, and what to say when a call failed.
use crate::errors::bad_input;
use backwater_control::detector::custom::{
    self as detecting, CustomDetector, DetectorFunction, PortEvent, QueueState,
};
use backwater_control::reaction::custom::{self as reacting, Controller, CustomConfig, Event, FlowState};
use backwater_fabric::{UserFault, UserSpec};
use backwater_scenario::Functions;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// A reaction point: address, events, rate at first in bit/s (0: line rate), words at first.
type ControllerAt = (usize, i64, f64, Vec<u64>);
/// A detector: address, words at first.
type DetectorAt = (usize, Vec<u64>);

/// What Python loaded for a run.
#[derive(Default)]
pub(crate) struct Loaded {
    controllers: Vec<CustomConfig>,
    detector: Option<CustomDetector>,
    /// What run.json says about them.
    pub(crate) facts: Option<Value>,
}

impl Loaded {
    /// `functions` are those that the scenario names, in its order; their addresses stay valid until the run is over.
    pub(crate) fn new(
        controllers: &[ControllerAt],
        detector: Option<&DetectorAt>,
        facts: &str,
    ) -> PyResult<Self> {
        let controllers = controllers.iter().map(|(address, events, initial_rate_bps, words)| {
            let (events, initial_rate_bps) = (*events, *initial_rate_bps);
            let function = controller(*address).ok_or_else(nowhere)?;
            Ok(CustomConfig { function, events, initial_rate_bps, initial: filled(words)? })
        });
        let detector = detector.map(|(address, words)| {
            let function = detector_function(*address).ok_or_else(nowhere)?;
            Ok::<_, PyErr>(CustomDetector { function, initial: filled(words)? })
        });
        let facts = serde_json::from_str(facts).map_err(|error| bad_input(error.to_string()))?;
        Ok(Self {
            controllers: controllers.collect::<PyResult<_>>()?,
            detector: detector.transpose()?,
            facts: Some(facts),
        })
    }

    /// Puts them where a run looks for them; false if they are not those that it needs.
    pub(crate) fn put(&self, needed: &Functions, user: &mut UserSpec) -> bool {
        user.controllers.clone_from(&self.controllers);
        user.detector = self.detector;
        needed.controllers.len() == self.controllers.len()
            && needed.detector.is_some() == self.detector.is_some()
    }
}

fn nowhere() -> PyErr {
    bad_input("error: the address of a function is 0; it has not been compiled or loaded")
}

/// The words that are given, and zeros.
fn filled<const N: usize>(words: &[u64]) -> PyResult<[u64; N]> {
    let mut all = [0; N];
    let Some(place) = all.get_mut(..words.len()) else {
        return Err(bad_input(format!("error: {} words of state, at most {N} are possible", words.len())));
    };
    place.copy_from_slice(words);
    Ok(all)
}

/// The function at an address.
fn controller(address: usize) -> Option<Controller> {
    let pointer = std::ptr::with_exposed_provenance::<()>(address);
    // SAFETY: a function pointer is valid if it is not null, points to code of this signature and C calling convention, and that
    // code stays where it is while it may be called. Not null: checked here. The signature: `backwater.extend` is the only caller; it
    // makes addresses of numba's `cfunc` and of ctypes' `CFUNCTYPE`, both built from the one description of the C structs
    // (python/backwater/extend/abi.py, which a test compares with the sizes of these), or takes them from a library whose table
    // `backwater_controller` states the version of the interface. It stays: Python keeps what owns the code in the object that it
    // passes beside the address until `run` returns, and no thread of the run outlives `run`. What the code does with the two
    // structs that it is lent is the word of whoever wrote it, as with any C library: it must not write beyond them.
    #[expect(unsafe_code, reason = "the one place where a function comes from outside")]
    (!pointer.is_null()).then(|| unsafe { std::mem::transmute::<*const (), Controller>(pointer) })
}

/// The same for a detector.
fn detector_function(address: usize) -> Option<DetectorFunction> {
    let pointer = std::ptr::with_exposed_provenance::<()>(address);
    // SAFETY: as in `controller`, with the structs of a detector.
    #[expect(unsafe_code, reason = "the one place where a function comes from outside")]
    (!pointer.is_null()).then(|| unsafe { std::mem::transmute::<*const (), DetectorFunction>(pointer) })
}

/// Bytes of the structs of the C interface: flow, event, queue, event of a port; and the words of a flow and of a queue.
#[pyfunction]
pub(crate) fn abi() -> (usize, usize, usize, usize, usize, usize) {
    (
        size_of::<FlowState>(),
        size_of::<Event>(),
        size_of::<QueueState>(),
        size_of::<PortEvent>(),
        reacting::WORDS,
        detecting::WORDS,
    )
}

/// A call that failed, for Python, which explains it.
pub(crate) fn told(fault: &UserFault, name: impl Fn(u32) -> String) -> Value {
    let time_ps = fault.time().as_ps();
    match fault {
        UserFault::Controller { number, flow, fault } => {
            let (event, before) = (fault.event, &fault.before);
            let head =
                [before.rate_bps.to_bits(), before.timer_ps.cast_unsigned(), before.line_bps.to_bits()];
            json!({
                "what": "controller",
                "number": number,
                "where": format!("flow {flow}"),
                "time_ps": time_ps,
                "event": [event.kind, event.now_ps, event.bytes, event.code, event.rtt_ps],
                "before": head.iter().chain(&before.words).collect::<Vec<_>>(),
                "refusal": match fault.refusal {
                    reacting::Refusal::Failed(status) => json!(["failed", status]),
                    reacting::Refusal::Rate(rate) => json!(["rate", rate.to_string()]),
                    reacting::Refusal::Timer(at) => json!(["timer", at]),
                },
            })
        }
        UserFault::Detector { node, port, fault } => {
            let (event, before) = (fault.event, &fault.before);
            let head = [
                before.state.cast_unsigned(),
                before.watch_ps.cast_unsigned(),
                before.ce.to_bits(),
                before.ue.cast_unsigned(),
            ];
            json!({
                "what": "detector",
                "number": 0,
                "where": format!("port {port} of {}", name(*node)),
                "time_ps": time_ps,
                "event": [
                    event.kind, event.now_ps, event.queue_bytes, event.size_bytes, event.code, event.last_hold_ps,
                ],
                "before": head.iter().chain(&before.words).collect::<Vec<_>>(),
                "refusal": match fault.refusal {
                    detecting::Refusal::Failed(status) => json!(["failed", status]),
                    detecting::Refusal::Probability(ce) => json!(["probability", ce.to_string()]),
                    detecting::Refusal::State(state) => json!(["state", state]),
                },
            })
        }
    }
}
