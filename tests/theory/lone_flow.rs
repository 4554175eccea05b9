//! A flow alone in the network takes exactly the time that store and forward takes, to the picosecond.
use backwater_control::flow_control::CreditReturn;
use backwater_control::reaction::{ReactionConfig, TimelyConfig};
use backwater_fabric::{AckSpec, Queueing, SegmentSpec, Spec, Switching};
use backwater_topology::{Network, generate};
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use scene::{
    Hop, PACKET, Scheme, arrivals, chain, crossbar, cut_through, exact, flow, ideal, infiniband, isolation,
    run,
};

/// Sizes on the wire of a flow's packets.
fn packets(bytes: u64, payload: u64, header: u64) -> Vec<u64> {
    let full = (bytes - 1) / payload;
    let mut sizes = vec![payload + header; full as usize];
    sizes.push(bytes - full * payload + header);
    sizes
}

/// When a NIC at line rate may start each packet, if it starts the first at 0.
fn back_to_back(sizes: &[u64], rate: u64) -> Vec<u64> {
    let mut start = 0;
    let mut starts = Vec::new();
    for &size in sizes {
        starts.push(start);
        start += exact(size, rate);
    }
    starts
}

fn spec(network: Network, src: u32, dst: u32, bytes: u64, start: Time, pacing: Pacing) -> Spec {
    ideal(network, vec![flow(src, dst, bytes, start, pacing)])
}

/// FCT in the fabric and what the fabric calls ideal.
fn simulated(spec: Spec) -> (u64, u64) {
    let outcome = run(spec);
    let record = outcome.flows[0];
    (record.finish.since(record.start).as_ps(), record.ideal_fct.as_ps())
}

fn gbps(tenths: u64) -> Rate {
    Rate::from_mbps(tenths * 100)
}

#[test]
fn one_packet_over_two_links_takes_two_serialisations_and_two_delays() {
    let net = chain(&[(gbps(400), Span::from_us(1)), (gbps(400), Span::from_us(1))]);
    // 2 · (1000 B / 40 Gbps = 200 ns) + 2 · 1 µs
    assert_eq!(simulated(spec(net, 0, 1, 1000, Time::ZERO, Pacing::LineRate)), (2_400_000, 2_400_000));
}

#[test]
fn at_54_5_gbps_every_packet_is_rounded_up_to_the_picosecond() {
    let net = chain(&[(gbps(545), Span::from_us(1)), (gbps(545), Span::from_us(1))]);
    // 8000 bit / 54.5 Gbps = 146 788.99… ps, so 146 789 ps each: 101 packet times for 100 packets over two links
    let expected = 101 * 146_789 + 2_000_000;
    assert_eq!(simulated(spec(net, 0, 1, 100_000, Time::ZERO, Pacing::LineRate)), (expected, expected));
}

#[test]
fn a_fast_link_behind_a_slow_one_never_sees_two_packets_at_once() {
    let net = chain(&[(gbps(100), Span::from_us(2)), (gbps(1000), Span::from_us(3))]);
    // 10 packets leave the 10 Gbps link 800 ns apart; the last then needs 80 ns at 100 Gbps
    let expected = 10 * 800_000 + 2_000_000 + 80_000 + 3_000_000;
    assert_eq!(simulated(spec(net, 0, 1, 10_000, Time::ZERO, Pacing::LineRate)), (expected, expected));
}

#[test]
fn the_short_last_packet_of_a_message_waits_for_the_full_one_before_it_on_a_slow_link() {
    let net = chain(&[(gbps(1000), Span::from_us(1)), (gbps(10), Span::from_us(1))]);
    // 1001 B: the full packet is on the 1 Gbps link from 1.08 to 9.08 µs; 1 B follows in 8 ns
    let expected = 80_000 + 1_000_000 + 8_000_000 + 8_000 + 1_000_000;
    assert_eq!(simulated(spec(net, 0, 1, 1001, Time::ZERO, Pacing::LineRate)), (expected, expected));
}

#[test]
fn a_message_of_1_mb_across_a_fat_tree_takes_five_packet_times_more_than_its_own() {
    let net = generate::fat_tree(4, gbps(1000), Span::from_us(1)).unwrap();
    // 1000 packets of 80 ns on the first link, then one packet time on each of the five others, 6 µs of cable
    let expected = 1_005 * 80_000 + 6_000_000;
    assert_eq!(simulated(spec(net, 0, 15, 1_000_000, Time::ZERO, Pacing::LineRate)), (expected, expected));
}

#[test]
fn an_application_at_5_gbps_spaces_its_packets_and_nothing_else_does() {
    let net = chain(&[(gbps(400), Span::from_us(4)), (gbps(400), Span::from_us(4))]);
    let pacing = Pacing::Constant { rate: gbps(50), jitter_ppm: 0, catch_up: true };
    // the 20th packet starts 19 · 1.6 µs after the first
    let expected = 19 * 1_600_000 + 2 * 200_000 + 8_000_000;
    assert_eq!(simulated(spec(net, 0, 1, 20_000, Time::ZERO, pacing)), (expected, expected));
}

#[test]
fn a_timely_flow_alone_in_a_fat_tree_is_never_slowed_down() {
    // 48 us of round trip are below Tlow of 50 us: the rate, which starts at the line's, can only rise.
    let net = generate::fat_tree(4, gbps(400), Span::from_us(4)).unwrap();
    let mut spec = spec(net, 0, 15, 1_000_000, Time::ZERO, Pacing::Controlled);
    let pair = &mut spec.pairs[0];
    pair.reaction = ReactionConfig::Timely(TimelyConfig::authors(gbps(400), Span::from_us(48)));
    pair.ack = Some(AckSpec { every: 16, size: Bytes::new(64), priority: Some(7) });
    pair.segment = Some(SegmentSpec { packets: 16, burst: true, once_per_round_trip: false });
    // 1000 packets of 200 ns on the first link, then one packet time on each of the five others, 24 µs of cable
    let expected = 1_005 * 200_000 + 24_000_000;
    assert_eq!(simulated(spec), (expected, expected));
}

#[test]
fn the_authors_base_of_the_slowdown_is_the_payload_at_line_rate_and_the_cables() {
    // Their FCT scripts: size / (5 GB/s) + 24 us across pods, 16 within, 8 under one switch.
    let net = generate::fat_tree(4, gbps(400), Span::from_us(4)).unwrap();
    for (dst, cables) in [(15, 24_000_000), (2, 16_000_000), (1, 8_000_000)] {
        let mut spec = spec(net.clone(), 0, dst, 1_000_000, Time::ZERO, Pacing::LineRate);
        spec.packet.header = Bytes::new(20);
        assert_eq!(run(spec).flows[0].analytic_fct.as_ps(), 200_000_000 + cables);
    }
}

fn any_link() -> impl Strategy<Value = (Rate, Span)> {
    let named = prop::sample::select(vec![10_000, 25_000, 40_000, 54_500, 56_000, 100_000, 200_000, 400_000]);
    let rate = prop_oneof![named, 1_000u64..400_000].prop_map(Rate::from_mbps);
    (rate, (1u64..10_000_000).prop_map(Span::from_ps))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_message_over_any_chain_of_links_takes_the_time_that_the_recursion_gives(
        links in prop::collection::vec(any_link(), 1..6),
        bytes in 1u64..60_000,
        payload in 256u64..4096,
        header in 0u64..100,
        start in 0u64..1_000_000_000,
    ) {
        let sizes = packets(bytes, payload, header);
        let hops: Vec<Hop> = links.iter().map(|(r, d)| Hop { rate: r.as_bps(), delay: d.as_ps() }).collect();
        let ready = back_to_back(&sizes, hops[0].rate);
        let expected = *arrivals(&hops, &ready, &sizes, exact).last().unwrap();
        let mut spec = spec(chain(&links), 0, 1, bytes, Time::from_ps(start), Pacing::LineRate);
        spec.packet.payload = Bytes::new(payload);
        spec.packet.header = Bytes::new(header);
        prop_assert_eq!(simulated(spec), (expected, expected));
    }

    #[test]
    fn any_message_over_any_chain_of_switches_that_cut_through_takes_the_time_that_the_recursion_gives(
        links in prop::collection::vec(any_link(), 1..6),
        bytes in 1u64..60_000,
        payload in 256u64..4096,
        header in 1u64..100,
        credits in any::<bool>(),
        virtual_output in any::<bool>(),
    ) {
        let sizes = packets(bytes, payload, 0);
        let hops: Vec<Hop> = links.iter().map(|(r, d)| Hop { rate: r.as_bps(), delay: d.as_ps() }).collect();
        let ready = back_to_back(&sizes, hops[0].rate);
        let expected = *cut_through(&hops, header, &ready, &sizes).last().unwrap();
        let mut spec = infiniband(chain(&links), vec![flow(0, 1, bytes, Time::ZERO, Pacing::LineRate)]);
        spec.packet.payload = Bytes::new(payload);
        spec.switch.switching = Switching::CutThrough { header: Bytes::new(header) };
        if !virtual_output {
            spec.switch.queueing = Queueing::Output;
        }
        if credits {
            // Room for the whole message; no updates in its direction.
            spec.switch.credits.as_mut().unwrap().returned = CreditReturn::AtOnce;
        } else {
            spec.switch.credits = None;
        }
        prop_assert_eq!(simulated(spec), (expected, expected));
    }
}

proptest! {
    #[test]
    fn over_combined_switches_it_takes_each_crossing_too(
        links in prop::collection::vec((100..1000_u64, 1..2000_u64), 2..5),
        packets in 1..40_u64,
        speedup in 100..1000_u64,
    ) {
        let rates: Vec<u64> = links.iter().map(|(tenths, _)| tenths * 100_000_000).collect();
        let net = chain(&links.iter().map(|&(tenths, ns)| (gbps(tenths), Span::from_ns(ns))).collect::<Vec<_>>());
        let flows = vec![flow(0, 1, packets * PACKET - 1, Time::ZERO, Pacing::LineRate)];
        let mut spec = isolation(net, flows, Scheme::None);
        crossbar(&mut spec).speedup_percent = speedup as u32;
        // Each link, and before it the crossbar as fast as the faster of its two links, times the speedup.
        let mut stages = vec![(exact(PACKET, rates[0]), links[0].1 * 1000)];
        for (pair, (_, delay)) in rates.windows(2).zip(&links[1..]) {
            let faster = exact(PACKET, pair[0].max(pair[1]));
            stages.push(((faster * 100).div_ceil(speedup), 0));
            stages.push((exact(PACKET, pair[1]), delay * 1000));
        }
        let mut free = vec![0; stages.len()];
        let mut done = 0;
        for _ in 0..packets {
            done = 0;
            for (free, (time, delay)) in free.iter_mut().zip(&stages) {
                *free = done.max(*free) + time;
                done = *free + delay;
            }
        }
        prop_assert_eq!(simulated(spec), (done, done));
    }
}
