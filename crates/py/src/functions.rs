//! Functions of the user's own, by their addresses: what Python compiled or loaded.
use crate::errors::bad_input;
use backwater::UserFunctions;
use backwater_control::detector::custom::{
    self as detecting, CustomDetector, DetectorFunction, PortEvent, QueueState,
};
use backwater_control::reaction::custom::{self as reacting, Controller, CustomConfig, Event, FlowState};
use pyo3::prelude::*;

/// A reaction point: address, events, rate at first in bit/s (0: line rate), words at first.
type ControllerAt = (usize, i64, f64, Vec<u64>);
/// A detector: address, words at first.
type DetectorAt = (usize, Vec<u64>);

/// What [`loaded`] takes.
pub(crate) type Functions = (Vec<ControllerAt>, Option<DetectorAt>, String);

/// Those that came with a call, in the order of the scenario; their addresses stay valid until the run is over.
pub(crate) fn loaded(functions: Option<Functions>) -> PyResult<UserFunctions> {
    let Some((controllers, detector, facts)) = functions else {
        return Ok(UserFunctions::default());
    };
    let controllers = controllers.iter().map(|(address, events, initial_rate_bps, words)| {
        let (events, initial_rate_bps) = (*events, *initial_rate_bps);
        let function = controller(*address).ok_or_else(nowhere)?;
        Ok(CustomConfig { function, events, initial_rate_bps, initial: filled(words)? })
    });
    let detector = detector.map(|(address, words)| {
        let function = detector_function(address).ok_or_else(nowhere)?;
        Ok::<_, PyErr>(CustomDetector { function, initial: filled(&words)? })
    });
    Ok(UserFunctions {
        controllers: controllers.collect::<PyResult<_>>()?,
        detector: detector.transpose()?,
        facts: Some(serde_json::from_str(&facts).map_err(|error| bad_input(error.to_string()))?),
    })
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
