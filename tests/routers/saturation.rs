//! What a switch with one FIFO per ingress port can carry: Karol, Hluchyj and Morgan, Input Versus Output Queueing on a Space-Division
//! Packet Switch (IEEE Trans. Comm. 1987), Table I.
use backwater_fabric::{Queueing, Spec};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span};
use scene::{flow, ideal, ns, run_until, star, us};

const SLOTS: u64 = 4000;

/// A packet of 1000 B takes 1 us, a slot. In every slot each of `inputs` hosts sends one to one of as many others at random.
fn uniform(inputs: u32, queueing: Queueing) -> Spec {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = || {
        // xorshift64 (Marsaglia 2003).
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        ((random >> 33) % u64::from(inputs)) as u32
    };
    let mut flows: Vec<Flow> = Vec::new();
    for slot in 0..SLOTS {
        for input in 0..inputs {
            flows.push(flow(input, inputs + draw(), 1000, ns(slot * 1000), Pacing::LineRate));
        }
    }
    let mut spec = ideal(star(2 * inputs, Rate::from_gbps(8), Span::from_us(1)), flows);
    // Memory for all that may wait.
    spec.switch.pfc = None;
    spec.switch.buffer = Bytes::new(u64::from(inputs) * SLOTS * 1000);
    spec.switch.queueing = queueing;
    spec.probe = backwater_fabric::ProbeSpec::default();
    spec
}

/// Packets that an output carried per slot.
fn carried(inputs: u32, queueing: Queueing) -> f64 {
    let outcome = run_until(uniform(inputs, queueing), us(SLOTS));
    let switch = 2 * inputs;
    let sent: u64 = outcome.ports.iter().filter(|port| port.node == switch).map(|port| port.packets).sum();
    // The first packets are there after two slots.
    sent as f64 / (f64::from(inputs) * (SLOTS - 2) as f64)
}

#[test]
fn head_of_line_blocking_leaves_of_a_switch_what_karol_hluchyj_and_morgan_computed() {
    for (inputs, share) in [(2, 0.75), (4, 0.6553), (8, 0.6184)] {
        let carried = carried(inputs, Queueing::Input);
        // A queue that is always full would be exact; these begin empty, and 4000 slots leave 1 %.
        assert!((carried / share - 1.0).abs() < 0.02, "{inputs} inputs: {carried}, {share} expected");
    }
}

#[test]
fn virtual_output_queues_and_the_order_of_arrival_carry_nearly_all() {
    // Outputs idle only when chance has sent them nothing: a queue at load 1 grows with the root of time, here 1 to 2 %.
    for queueing in [Queueing::VirtualOutput, Queueing::Output, Queueing::OldestFirst] {
        let carried = carried(4, queueing);
        assert!(carried > 0.96, "{queueing:?}: {carried}");
    }
}
