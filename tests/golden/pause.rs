//! Three nodes, one PAUSE: a ──40G──▶ s ──10G──▶ b, 1 us each; 1000 B take 0.2 and 0.8 us, a PFC frame 12.8 ns.
//!
//! Packet k is at s at 1.2 + 0.2k us while a sends freely. The first passes s without waiting; the others leave s from
//! 2.0 us on, one every 0.8 us, as long as there are any.
use backwater_control::flow_control::{Form, Threshold};
use backwater_fabric::Spec;
use backwater_traffic::Pacing;
use backwater_units::{Span, Time};
use scene::{chain, flow, ideal, per_port, us};

use crate::{link, table};

fn scene(packets: u64, form: Form, xoff: u64, xon: u64) -> Spec {
    let flows = vec![flow(0, 1, packets * 1000, Time::ZERO, Pacing::LineRate)];
    let mut spec = ideal(chain(&[link(40), link(10)]), flows);
    let threshold =
        Threshold::Static { xoff, xon, port_xoff: u64::MAX, port_xon: u64::MAX, buffer: 18_000_000 };
    let pfc = spec.switch.pfc.as_mut().expect("on");
    pfc.form = form;
    pfc.thresholds = per_port(&spec.network, |_| threshold);
    spec
}

#[test]
fn an_ideal_pause_lasts_until_the_ingress_counter_has_fallen_to_xon() {
    // Xoff 4000: packets 3 to 6 are held at 2.4 us, and 2: PAUSE, at a at 2.4 + 0.0128 + 1. Packets 0 to 17 have started.
    // At 4.6 us, when packet 17 is in, 1 to 4 have left: 13 are held.
    // Xon 2000: packet 15 leaves at 13.2 us and leaves two behind: RESUME, at a at 14.2128.
    // Packet 18 is at s at 15.4128, while 17 is on the wire until 15.6. 23 leaves at 15.6 + 5 · 0.8, and is at b 1.8 later.
    let expected = "
    3.4128 us  a->s0 paused
   14.2128 us  a->s0 resumed
   21.4000 us  flow 0 complete
ingress a->s0 held up to 13KB and sent 1 PAUSEs
";
    assert_eq!(table(scene(24, Form::Ideal, 4000, 2000), us(50)), expected);
}

#[test]
fn a_timed_pause_that_nobody_renews_runs_out() {
    let form = Form::Timed { pause: Span::from_us(5), poll: Span::from_us(2) };
    // Xoff 3000: the fourth packet is held at 2.2 us: PAUSE, at a at 3.2128. Packets 0 to 16 have started, the last is
    // in at 4.4 us. Each of the 12 arrivals from 2.2 to 4.4 finds the counter above Xoff and sends another PAUSE.
    // Polls: 6.4 us (10 held), 8.4 (7), 10.4 (5): a PAUSE each; 12.4 (2, between Xon and Xoff): nothing, no more polls.
    // The pause runs out 5 us after the last PAUSE is at a: 10.4 + 1.0128 + 5. Packet 17 is at s 1.2 later, where all has
    // left; 18 and 19 follow it by 0.2 and 0.4. The last is at b at 17.6128 + 3 · 0.8 + 1.
    let expected = "
    3.2128 us  a->s0 paused
   16.4128 us  a->s0 pause ran out
   21.0128 us  flow 0 complete
ingress a->s0 held up to 12KB and sent 15 PAUSEs
";
    assert_eq!(table(scene(20, form, 3000, 1000), us(50)), expected);
}

#[test]
fn a_timed_pause_is_taken_back_by_the_poll_that_finds_the_counter_at_xon() {
    let form = Form::Timed { pause: Span::from_us(5), poll: Span::from_us(2) };
    // As above, but Xon 2000: the poll at 12.4 us finds two packets and sends RESUME, which is at a at 13.4128. Packet 17
    // is at s at 14.6128, while 16 is on the wire from 14.0 to 14.8; 19 leaves at 16.4 and is at b 1.8 us later.
    let expected = "
    3.2128 us  a->s0 paused
   13.4128 us  a->s0 resumed
   18.2000 us  flow 0 complete
ingress a->s0 held up to 12KB and sent 15 PAUSEs
";
    assert_eq!(table(scene(20, form, 3000, 2000), us(50)), expected);
}
