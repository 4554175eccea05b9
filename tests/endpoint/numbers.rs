//! Numbers of packets beyond the bits of a frame, and packets that nobody misses but their timer.
use backwater_fabric::Overflow;
use backwater_fabric::record::PutEvent;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Time};
use scene::{DELAY, LINE, POLICIES, flow, lossy, run, slow, star};

#[test]
fn numbers_of_packets_and_of_acks_aboard_go_on_beyond_the_15_bits_that_a_frame_has_for_each() {
    // Both hosts drain less than comes: packets are lost and sent again all the time, but under DACK.
    const PACKETS: u32 = 40_000;
    for policy in POLICIES {
        let bytes = u64::from(PACKETS) * 512;
        let flows = vec![(0, 1), (1, 0)]
            .into_iter()
            .map(|(src, dst)| flow(src, dst, bytes, Time::ZERO, Pacing::Controlled));
        let mut spec = lossy(star(2, LINE, DELAY), flows.collect(), policy);
        spec.packet.payload = Bytes::new(512);
        spec.endpoints = vec![Some(slow(400)), Some(slow(450))];
        let outcome = run(spec);
        for to in [0, 1] {
            let accepted =
                outcome.records.puts.iter().filter(|put| put.event == PutEvent::Accepted && put.dst == to);
            assert!(accepted.map(|put| put.seq).eq(1..=PACKETS), "{policy:?}");
        }
        assert!(outcome.flows.iter().all(|flow| flow.received == Bytes::new(bytes)), "{policy:?}");
    }
}

#[test]
fn a_put_that_a_switch_drops_and_none_follows_is_sent_again_when_its_time_is_over() {
    // Five PUTs come to the switch at once. One is put on the wire, one may wait, three are lost; all three are sent again 1 ms
    // after they were, and one of them is lost again.
    for policy in POLICIES {
        let flows = (1..6).map(|src| flow(src, 0, 2048, Time::ZERO, Pacing::Controlled)).collect();
        let mut spec = lossy(star(6, LINE, DELAY), flows, policy);
        spec.switch.overflow = Overflow::Drop { port: Bytes::new(2112) };
        spec.probe.drops = true;
        let outcome = run(spec);
        let at = |event| {
            let events = outcome.records.puts.iter().filter(move |put| put.event == event);
            events.map(|put| put.time.as_ps()).collect::<Vec<_>>()
        };
        let (first, second) = (1_000_095_000, 2_000_095_000);
        assert_eq!(outcome.records.drops.len(), 4);
        assert_eq!(at(PutEvent::Timeout), [first, first, first, second], "{policy:?}");
        assert_eq!(at(PutEvent::Resent), [first, first, first, second], "{policy:?}");
        assert_eq!(at(PutEvent::Accepted).len(), 5);
    }
}
