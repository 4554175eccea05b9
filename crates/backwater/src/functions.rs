//! Functions of a user's own: congestion controllers and a detector that are not in the library.
use backwater_control::detector::custom::{self as detecting, CustomDetector};
use backwater_control::reaction::custom::{self as reacting, CustomConfig};
use backwater_fabric::{UserFault, UserSpec};
use backwater_scenario::Functions;
use serde_json::{Value, json};

/// What stands behind the functions that a scenario names, in its order ([`Functions`]).
#[derive(Clone, Debug, Default)]
pub struct UserFunctions {
    /// The congestion controllers.
    pub controllers: Vec<CustomConfig>,
    /// The detector.
    pub detector: Option<CustomDetector>,
    /// What `run.json` says about them.
    pub facts: Option<Value>,
}

impl UserFunctions {
    /// Puts them where a run looks for them; false if they are not those that it needs.
    pub(crate) fn put(&self, needed: &Functions, user: &mut UserSpec) -> bool {
        user.controllers.clone_from(&self.controllers);
        user.detector = self.detector;
        needed.controllers.len() == self.controllers.len()
            && needed.detector.is_some() == self.detector.is_some()
    }
}

/// A call that failed: what it got, what it gave back, and why that is refused.
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
