//! Links under credits: a ──32G──▶ s ──8G──▶ b, 1 us each, 128 blocks of 64 B at each receiving end. 2048 B are 32 blocks: four
//! packets. They take 0.512 and 2.048 us, an update of 8 B takes 2 ns to a and 8 ns to s.
use backwater_control::flow_control::CreditReturn;
use backwater_fabric::{Spec, Switching};
use backwater_topology::generate;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{chain, flow, infiniband, ns, us, with_links};

use crate::{link, table, table_after_update};

fn scene(payload: u64, packets: u64, blocks: u64, returned: CreditReturn) -> Spec {
    let flows = vec![flow(0, 1, packets * payload, Time::ZERO, Pacing::LineRate)];
    let mut spec = infiniband(chain(&[link(32), link(8)]), flows);
    spec.packet.payload = Bytes::new(payload);
    spec.switch.switching = Switching::StoreAndForward;
    let credits = spec.switch.credits.as_mut().expect("on");
    (credits.buffer, credits.returned) = (Bytes::new(blocks * 64), returned);
    spec
}

#[test]
fn returned_at_once_each_packet_that_has_left_lets_the_next_one_start() {
    // Packets 0 to 3 are on the wire until 2.048 us; for 4 there are no credits. Packet k leaves s from 1.512 + 2.048k on, and
    // has left 2.048 later: the update is at a 1.002 after that, 4.562 + 2.048k. Packet k + 4 takes a's wire for 0.512.
    // s never runs dry: packet 4 is there at 6.074. The last one, 6, is at b at 1.512 + 7 · 2.048 + 1.
    // b frees what comes, and tells it in 1.008: s never has more than two packets that it has not been told of.
    let expected = "
    2.0480 us  a->s0 paused
    4.5620 us  a->s0 resumed
    5.0740 us  a->s0 paused
    6.6100 us  a->s0 resumed
    7.1220 us  a->s0 paused
    8.6580 us  a->s0 resumed
   16.8480 us  flow 0 complete
";
    assert_eq!(table(scene(2048, 7, 128, CreditReturn::AtOnce), us(50)), expected);
}

#[test]
fn returned_every_20_us_a_buffer_of_four_packets_gives_four_packets_in_20_us() {
    let mut spec = scene(2048, 10, 128, CreditReturn::Periodic(Span::from_us(20)));
    // A seed by which the update of s to a comes when the first four have left, after 9.704 us, and that of b to s before
    // the next four are there.
    spec.seed = 5;
    // From the arrival of the update on: four packets until 2.048. They leave s from 1.512 on for 8.192 us, in time for the
    // next update, 20 us after the first. The third one lets the last two go: at b after 1.512 + 2 · 2.048 + 1.
    let expected = "
    0.0000 us  a->s0 resumed
    2.0480 us  a->s0 paused
   20.0000 us  a->s0 resumed
   26.6080 us  flow 0 complete
";
    assert_eq!(table_after_update(spec, us(100)), expected);
}

#[test]
fn a_packet_waits_for_its_last_block() {
    // 127 blocks: three packets until 1.536 us, then 31 blocks are left. The rest is as with four, one packet sooner: the update
    // after packet k lets packet k + 3 start at 4.562 + 2.048k. The last one, 4, leaves s last: 1.512 + 5 · 2.048 + 1.
    let expected = "
    1.5360 us  a->s0 paused
    4.5620 us  a->s0 resumed
    5.0740 us  a->s0 paused
    6.6100 us  a->s0 resumed
   12.7520 us  flow 0 complete
";
    assert_eq!(table(scene(2048, 5, 127, CreditReturn::AtOnce), us(50)), expected);
}

#[test]
fn a_gate_stays_closed_until_the_credits_do_for_the_packet_that_waits() {
    // Room for 32 blocks. Four packets of 512 B take 8 each, and a's wire until 0.512 us. s has sent packet k 1.640 + 0.512k after
    // the start; its update is at a 1.002 later and its data at b 1 us later. The packet of 2048 B needs all four.
    let mut spec = scene(2048, 1, 32, CreditReturn::AtOnce);
    spec.flows = [512, 512, 512, 512, 2048].map(|b| flow(0, 1, b, Time::ZERO, Pacing::LineRate)).to_vec();
    // 4.178 + 0.512 + 1 at s, 3.048 more to b
    let expected = "
    0.5120 us  a->s0 paused
    2.6400 us  flow 0 complete
    3.1520 us  flow 1 complete
    3.6640 us  flow 2 complete
    4.1760 us  flow 3 complete
    4.1780 us  a->s0 resumed
    8.7380 us  flow 4 complete
";
    assert_eq!(table(spec, us(50)), expected);
}

#[test]
fn a_packet_of_66_bytes_takes_two_blocks() {
    // Ten blocks are five packets, though 640 B would hold nine. 66 B take 16.5 and 66 ns: five until 82.5 ns. Packet k leaves
    // s from 1.0165 + 0.066k on; the update is at a at 2.0845 + 0.066k. The last one, 6, starts with the update that follows
    // packet 1, at 2.1505, is at s at 3.167 and at b at 3.167 + 0.066 + 1.
    let expected = "
    0.0825 us  a->s0 paused
    2.0845 us  a->s0 resumed
    2.1010 us  a->s0 paused
    2.1505 us  a->s0 resumed
    4.2330 us  flow 0 complete
";
    assert_eq!(table(scene(66, 7, 10, CreditReturn::AtOnce), us(50)), expected);
}

#[test]
fn a_switch_cuts_through_what_comes_as_fast_as_it_goes_and_stores_what_comes_more_slowly() {
    // a ──32G──▶ s0 ──16G──▶ s1 ──32G──▶ s2 ──32G──▶ b. 20 B take 5 ns at 32G; 2048 B take 0.512 and 1.024 us.
    // Packet 0 may leave s0 at 1.005, has left at 2.029, is at s1 as a whole at 3.029, may leave s2 at 4.034 and is at b
    // 1.512 later. Packet 1 may leave s0 at 1.517, does so at 2.029, is at s1 at 4.053, leaves s2 at 5.058.
    let flows = [2048, 2048].map(|bytes| flow(0, 1, bytes, Time::ZERO, Pacing::LineRate));
    let mut spec = infiniband(chain(&[link(32), link(16), link(32), link(32)]), flows.to_vec());
    spec.switch.credits.as_mut().expect("on").returned = CreditReturn::AtOnce;
    let expected = "
    5.5460 us  flow 0 complete
    6.5700 us  flow 1 complete
";
    assert_eq!(table(spec, us(50)), expected);
}

#[test]
fn an_ingress_port_whose_packet_passes_at_once_has_had_its_turn() {
    // h0 and h1 at 32G, h2 at 16G. The first packet of h1 passes from 1.005 to 2.029 us. Meanwhile one of h0 comes at 1.105 and
    // the second of h1 at 1.517: it is h0's turn, until 3.053, then h1's.
    let star = generate::star(3, Rate::from_gbps(32), Span::from_us(1)).expect("a star");
    let net = with_links(&star, |i, link| {
        if i == 2 {
            link.rate = Rate::from_gbps(16);
        }
    });
    let flows =
        vec![flow(1, 2, 2 * 2048, Time::ZERO, Pacing::LineRate), flow(0, 2, 2048, ns(100), Pacing::LineRate)];
    let mut spec = infiniband(net, flows);
    spec.switch.credits.as_mut().expect("on").returned = CreditReturn::AtOnce;
    let expected = "
    4.0530 us  flow 1 complete
    5.0770 us  flow 0 complete
";
    assert_eq!(table(spec, us(50)), expected);
}
