//! Hosts with several ports. 1000 B take 80 ns at 100 Gbps and 800 ns at 10 Gbps; links take 1 us.
use backwater_fabric::record::FaultKind;
use backwater_fabric::{AckSpec, Change, DrainSpec, FaultChange, Kind, PortRule, Spec};
use backwater_topology::{Builder, Network, Routes, Routing};
use backwater_traffic::Pacing;
use backwater_traffic::program::Costs;
use backwater_traffic::trace::{Event, Step};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{
    POLICIES, fixed, flow, host, ideal, lossy, messages, per_port, recv, run, send, slow_host, try_run, us,
};

const DELAY: Span = Span::from_us(1);

fn gbps(rate: u64) -> Rate {
    Rate::from_gbps(rate)
}

/// Host a has a port at each of two switches; b is at the first by a slow link, c at the second.
fn two_switches() -> Network {
    let mut net = Builder::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| net.host(name));
    let switches = ["s", "t"].map(|name| net.switch(name));
    net.link(a, switches[0], gbps(100), DELAY);
    net.link(a, switches[1], gbps(100), DELAY);
    net.link(b, switches[0], gbps(10), DELAY);
    net.link(c, switches[1], gbps(100), DELAY);
    net.link(switches[0], switches[1], gbps(100), DELAY);
    net.build().unwrap()
}

#[test]
fn a_pause_of_one_port_leaves_the_other_sending() {
    let flows = [1, 2].map(|dst| flow(0, dst, 1_000_000, Time::ZERO, Pacing::LineRate));
    let mut spec = ideal(two_switches(), flows.to_vec());
    let thresholds = per_port(&spec.network, |_| fixed(50_000, 48_000, 1_000_000));
    spec.switch.pfc.as_mut().unwrap().thresholds = thresholds;
    let outcome = run(spec);
    let [to_s, to_t] = [(0, 0), (0, 1)].map(|port| outcome.port(port, 3).pauses);
    assert!(to_s > 10 && to_t == 0, "{to_s} {to_t}");
    // 1000 packets and one more at t, two delays.
    assert_eq!(outcome.flows[1].finish, Time::from_ps(1000 * 80_000 + 80_000 + 2_000_000));
    // The slow link never rests: it begins after one packet and a delay.
    assert_eq!(outcome.flows[0].finish, Time::from_ps(80_000 + 1_000_000 + 1000 * 800_000 + 1_000_000));
}

/// Two hosts with ports of these rates at one switch.
fn fans(rates: &[u64]) -> Network {
    let mut net = Builder::with_parallel_links();
    let [a, b] = ["a", "b"].map(|name| net.host(name));
    let s = net.switch("s");
    for host in [a, b] {
        for &rate in rates {
            net.link(host, s, gbps(rate), DELAY);
        }
    }
    net.build().unwrap()
}

#[test]
fn each_flow_leaves_by_one_port_and_a_lone_one_takes_the_time_of_its_links() {
    let net = fans(&[10, 25, 40, 100, 200, 400]);
    let lone = (0..40).map(|number| {
        // The hash goes by the number of the flow: all flows before it come later.
        let mut flows = vec![flow(1, 0, 1000, Time::from_ps(1_000_000_000), Pacing::LineRate); number];
        flows.push(flow(0, 1, 100_000, Time::ZERO, Pacing::LineRate));
        let outcome = run(ideal(net.clone(), flows));
        let record = &outcome.flows[number];
        let all: Vec<(u32, u16, u64)> = outcome
            .ports
            .iter()
            .filter(|p| p.bytes.get() > 0)
            .map(|p| (p.node, p.port, p.bytes.get()))
            .collect();
        assert_eq!(record.finish.since(record.start), record.ideal_fct, "{number}: {all:?}");
        let used: Vec<u16> = (0..6).filter(|port| outcome.port((0, *port), 3).bytes.get() > 0).collect();
        assert_eq!(used.len(), 1);
        let first = net.nics(0)[usize::from(used[0])].rate;
        let last = (0..6).find(|port| outcome.port((2, 6 + port), 3).bytes.get() > 0).unwrap();
        let last = net.nics(1)[usize::from(last)].rate;
        let (slow, fast) = (first.min(last), first.max(last));
        let one = Bytes::new(1000);
        let expected = slow.serialize(one) * 100 + fast.serialize(one) + DELAY * 2;
        assert_eq!(record.ideal_fct, expected);
        used[0]
    });
    let mut used: Vec<u16> = lone.collect();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn an_answer_leaves_by_the_port_at_which_the_data_came() {
    let flows = (0..24).map(|_| flow(0, 1, 5000, Time::ZERO, Pacing::LineRate)).collect();
    let mut spec = ideal(fans(&[100; 4]), flows);
    spec.pairs[0].ack = Some(AckSpec { every: 1, size: Bytes::new(64), priority: None });
    let outcome = run(spec);
    // Ports of s: four to a, four to b.
    let pairs = [0u16, 1, 2, 3].map(|port| {
        let (data, acks) = (outcome.port((2, 4 + port), 3), outcome.port((1, port), 3));
        (data.packets, acks.packets)
    });
    assert!(pairs.iter().all(|(data, acks)| data == acks && *data > 0), "{pairs:?}");
    assert_eq!(pairs.iter().map(|(data, _)| data).sum::<u64>(), 24 * 5);
}

#[test]
fn an_answer_does_not_leave_where_there_is_no_way_back() {
    // The port of b at t leads to a, too, but by a longer way: data comes by s alone, and so do answers.
    let mut net = Builder::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| net.host(name));
    let switches = ["s", "t"].map(|name| net.switch(name));
    net.link(b, switches[1], gbps(100), DELAY);
    net.link(b, switches[0], gbps(100), DELAY);
    net.link(a, switches[0], gbps(100), DELAY);
    net.link(c, switches[1], gbps(100), DELAY);
    net.link(switches[0], switches[1], gbps(100), DELAY);
    let net = net.build().unwrap();
    let routes = Routes::new(&net, Routing::Ecmp).unwrap();
    assert_eq!(routes.next_ports(net.find("b").unwrap(), host(&net, "a")), [1]);
    let mut spec = ideal(net, vec![flow(0, 1, 5000, Time::ZERO, Pacing::LineRate)]);
    spec.pairs[0].ack = Some(AckSpec { every: 1, size: Bytes::new(64), priority: None });
    let outcome = run(spec);
    assert_eq!([0, 1].map(|port| outcome.port((1, port), 3).packets), [0, 5]);
}

/// Hosts a and b with a port at each of as many switches, which nothing else joins, and a rank for each port. Rank `r` of a sends so many
/// bytes to the rank of b that is `to(r)`-th there.
fn rails(rates: &[u64], to: impl Fn(u32) -> u32, bytes: impl Fn(u32) -> u64) -> Spec {
    let mut net = Builder::new();
    let [a, b] = ["a", "b"].map(|name| net.host(name));
    for (number, rate) in rates.iter().enumerate() {
        let rail = net.switch(format!("rail{number}"));
        net.link(a, rail, gbps(*rate), DELAY);
        net.link(b, rail, gbps(*rate), DELAY);
    }
    let ranks = 0..rates.len() as u32;
    let sends = ranks.clone().map(|rank| (0, send(ranks.end + to(rank), bytes(rank), 0).to_vec()));
    let from = |rank: u32| ranks.clone().find(|other| to(*other) == rank).unwrap();
    let receives = ranks.clone().map(|rank| (1, recv(from(rank), 1 << 30, 0).to_vec()));
    let costs = Costs {
        send: Span::ZERO,
        receive: Span::ZERO,
        eager: Bytes::new(1 << 30),
        control: Bytes::new(16),
        local: Span::ZERO,
    };
    let mut spec = messages(net.build().unwrap(), &sends.chain(receives).collect::<Vec<_>>(), costs);
    spec.nic.port = PortRule::Rail;
    spec
}

#[test]
fn what_goes_to_a_rank_leaves_by_its_rail() {
    let outcome = run(rails(&[10, 25, 40, 100], |rank| (rank + 1) % 4, |rank| 3000 * (u64::from(rank) + 1)));
    // Packets of up to 2048 B with headers of 32 B, from the rank before it.
    let expected = [12_000_u64, 3000, 6000, 9000].map(|bytes| bytes + 32 * bytes.div_ceil(2048));
    assert_eq!([0, 1, 2, 3].map(|port| outcome.port((0, port), 3).bytes.get()), expected);
}

#[test]
fn hosts_with_1_to_16_ports_of_unlike_rates_fill_all_of_them_at_once() {
    let all = [10, 25, 40, 50, 100, 200, 400, 800, 10, 25, 40, 50, 100, 200, 400, 800];
    for ports in 1..=16 {
        let rates = &all[..ports];
        let outcome = run(rails(rates, |rank| rank, |_| 100 * 2048));
        // A rank of b has its message when its 100 packets have passed the first link, and the last of them the second one.
        let finish = outcome.simulation.ranks();
        for (rank, rate) in rates.iter().enumerate() {
            let packet = gbps(*rate).serialize(Bytes::new(2048 + 32));
            let expected = Time::ZERO + packet * 101 + DELAY * 2;
            assert_eq!(finish[ports + rank].finish, Some(expected), "{ports} ports, rank {rank}");
        }
    }
}

/// Hosts a and b with a port of each of these rates at as many switches, which nothing else joins.
fn planes(rates: &[u64]) -> Network {
    let mut net = Builder::new();
    let [a, b] = ["a", "b"].map(|name| net.host(name));
    for (number, rate) in rates.iter().enumerate() {
        let plane = net.switch(format!("plane{number}"));
        net.link(a, plane, gbps(*rate), DELAY);
        net.link(b, plane, gbps(*rate), DELAY);
    }
    net.build().unwrap()
}

/// The same with a flow from a to b, sprayed.
fn sprayed(net: Network, bytes: u64) -> Spec {
    let mut spec = ideal(net, vec![flow(0, 1, bytes, Time::ZERO, Pacing::LineRate)]);
    spec.nic.port = PortRule::Spray;
    spec
}

#[test]
fn a_sprayed_flow_has_the_rate_of_all_ports_together() {
    for ports in [2, 4, 8] {
        let outcome = run(sprayed(planes(&vec![100; ports]), 800_000));
        // A packet starts every 80 ns / ports, and the last one takes two links.
        let expected = Span::from_ps(799 * 80_000 / ports as u64 + 2 * 80_000) + DELAY * 2;
        let record = &outcome.flows[0];
        assert_eq!(record.finish.since(record.start), expected, "{ports} ports");
        assert_eq!(record.ideal_fct, expected, "{ports} ports");
        let sent: Vec<u64> = (0..ports as u16).map(|port| outcome.port((0, port), 3).packets).collect();
        assert_eq!(sent, vec![800 / ports as u64; ports], "in turn");
    }
}

#[test]
fn a_lone_sprayed_flow_takes_its_ideal_time_whatever_its_ports() {
    for rates in [&[100, 400][..], &[10, 25, 40], &[200, 200, 50], &[800, 10]] {
        for bytes in [1, 1000, 1001, 7777, 100_000] {
            let outcome = run(sprayed(planes(rates), bytes));
            let record = &outcome.flows[0];
            assert_eq!(record.finish.since(record.start), record.ideal_fct, "{rates:?}, {bytes} B");
            assert_eq!(record.received.get(), bytes);
        }
    }
}

#[test]
fn a_pause_of_one_port_sends_a_sprayed_flow_by_the_others() {
    // b has 100 Gbps in one plane and 10 Gbps in the other, where PFC holds a back.
    let mut net = Builder::new();
    let [a, b] = ["a", "b"].map(|name| net.host(name));
    let planes = ["s", "t"].map(|name| net.switch(name));
    net.link(a, planes[0], gbps(100), DELAY);
    net.link(a, planes[1], gbps(100), DELAY);
    net.link(b, planes[0], gbps(100), DELAY);
    net.link(b, planes[1], gbps(10), DELAY);
    let mut spec = sprayed(net.build().unwrap(), 2_200_000);
    let thresholds = per_port(&spec.network, |_| fixed(10_000, 8_000, 1_000_000));
    spec.switch.pfc.as_mut().unwrap().thresholds = thresholds;
    let outcome = run(spec);
    let [s, t] = [(0, 0), (0, 1)].map(|port| outcome.port(port, 3));
    assert!(s.pauses == 0 && t.pauses > 4, "{} {}", s.pauses, t.pauses);
    assert_eq!((s.packets + t.packets, outcome.flows[0].received.get()), (2200, 2_200_000));
    // At 110 Gbps 2200 packets take 160 us, of them 200 by the slow link. What waits there at the end is no more than its buffer:
    // ten packets, and what comes in the round trip of the PAUSE.
    assert!((195..=235).contains(&t.packets), "{}", t.packets);
    let taken = outcome.flows[0].finish.since(Time::ZERO);
    assert!(taken > Span::from_us(160) && taken < Span::from_us(190), "{taken}");
}

#[test]
fn a_sprayed_flow_leaves_out_a_port_without_a_way() {
    // c is in the first plane only.
    let mut net = Builder::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| net.host(name));
    let planes = ["s", "t"].map(|name| net.switch(name));
    for (host, plane) in [(a, 0), (a, 1), (b, 0), (b, 1), (c, 0)] {
        net.link(host, planes[plane], gbps(100), DELAY);
    }
    let flows = [1, 2].map(|dst| flow(0, dst, 100_000, Time::ZERO, Pacing::LineRate));
    let mut spec = ideal(net.build().unwrap(), flows.to_vec());
    spec.nic.port = PortRule::Spray;
    let outcome = run(spec);
    assert!(outcome.flows.iter().all(|flow| flow.received.get() == 100_000));
    let [first, second] = [(0, 0), (0, 1)].map(|port| outcome.port(port, 3).packets);
    // The flow to b takes what the other leaves: both are done at the same time, or that of the second plane before.
    assert_eq!(first + second, 200);
    assert!(second <= 100 && first >= 100, "{first} {second}");
}

#[test]
fn a_lone_answer_takes_its_ideal_time_by_the_port_at_which_the_data_came() {
    let net = fans(&[10, 25, 40, 100, 200, 400]);
    for number in 0..20 {
        let mut flows = vec![flow(1, 0, 1000, Time::from_ps(1_000_000_000), Pacing::LineRate); number];
        flows.push(flow(0, 1, 100_000, Time::ZERO, Pacing::LineRate));
        let mut spec = ideal(net.clone(), flows);
        spec.pairs[0].ack = Some(AckSpec { every: 1, size: Bytes::new(64), priority: None });
        let after = vec![Event::Acked(number as u32)];
        spec.probe.dependencies = true;
        spec.steps = vec![Step {
            host: 0,
            rank: 0,
            group: 0,
            line: 1,
            part: None,
            after,
            delay: Span::ZERO,
            starts: Vec::new(),
        }];
        let outcome = run(spec);
        let mut acked = Vec::new();
        let all = outcome.simulation.each_dependency::<()>(|records| {
            acked.extend(records.iter().map(|record| (record.time, record.alone)));
            Ok(())
        });
        assert_eq!(all, Ok(()));
        let came = (0..6).find(|port| outcome.port((1, *port), 3).packets >= 100).expect("answers leave b");
        let goes = (0..6).find(|port| outcome.port((2, *port), 3).packets >= 100).expect("and reach a");
        let rates = [net.nics(1)[usize::from(came)].rate, net.nics(0)[usize::from(goes)].rate];
        let back = rates[0].serialize(Bytes::new(64)) + rates[1].serialize(Bytes::new(64)) + DELAY * 2;
        assert_eq!(acked[0].1, outcome.flows[number].ideal_fct + back);
        assert_eq!(acked[0].0, Some(Time::ZERO + acked[0].1));
    }
}

/// The scene with changes at nodes, of one fault each.
fn with_changes(mut spec: Spec, changes: &[(u64, u32, Change)]) -> Spec {
    let change = |(fault, &(at, node, what)): (u16, &(u64, u32, Change))| FaultChange {
        time: us(at),
        node,
        fault,
        what,
    };
    spec.faults.changes = (0..).zip(changes).map(change).collect();
    let kind = |(_, _, what): &(u64, u32, Change)| match what {
        Change::Stop => FaultKind::HostStop,
        _ => FaultKind::PauseStorm,
    };
    spec.faults.kinds = changes.iter().map(kind).collect();
    spec
}

#[test]
fn a_host_that_stops_takes_in_and_sends_nothing_by_any_port() {
    for ports in [1, 2, 4] {
        let mut spec = sprayed(planes(&vec![100; ports]), 8_000_000);
        spec.flows.push(flow(1, 0, 8_000_000, Time::ZERO, Pacing::LineRate));
        // Of each flow a packet begins every 80 ns / ports, from 0 on. What has come to b by 20 us began by 17.84 us, and what has
        // begun to leave it by then arrives.
        let spec = with_changes(spec, &[(20, 1, Change::Stop)]);
        let outcome = try_run(spec, Kind::Windows { threads: 1 }, Some(us(100))).unwrap();
        let received: Vec<u64> = outcome.flows.iter().map(|flow| flow.received.get()).collect();
        assert_eq!(received, [223, 250].map(|each| (each * ports as u64 + 1) * 1000), "{ports} ports");
    }
}

#[test]
fn a_storm_of_one_port_holds_back_what_comes_by_that() {
    let build = |changes: &[(u64, u32, Change)]| {
        let mut spec = sprayed(planes(&[100; 2]), 1_000_000);
        let thresholds = per_port(&spec.network, |_| fixed(10_000, 8_000, 1_000_000));
        spec.switch.pfc.as_mut().unwrap().thresholds = thresholds;
        with_changes(spec, changes)
    };
    // The storm begins before anything has come, and ends long after the other port has brought all the rest.
    let outcome = run(build(&[(0, 1, Change::Storm(1, 1 << 3)), (200, 1, Change::Calm(1))]));
    let [by_s, by_t] = [0, 1].map(|port| outcome.port((0, port), 3).packets);
    assert_eq!(by_s + by_t, 1000);
    // Xoff of the switch, the packet above it, and what leaves in the round trip of its PAUSE.
    let round = 2 * 1_000_000 / 80_000 + 2;
    assert!((11..=11 + round).contains(&by_t), "{by_t}");
    // RESUME takes a delay, and a delay more each packet that waits: 80 ns apart.
    let last = us(200) + DELAY * 2 + Span::from_ps(80_000) * by_t;
    let resume = Span::from_ps(gbps(100).serialize(Bytes::new(64)).as_ps());
    assert!((last..=last + resume).contains(&outcome.flows[0].finish), "{} {last}", outcome.flows[0].finish);
    // One of both ports holds all.
    let both = [0, 1].map(|port| [(0, 1, Change::Storm(port, 1 << 3)), (200, 1, Change::Calm(port))]);
    let mut both = both.concat();
    both.sort_by_key(|change| change.0);
    let outcome = try_run(build(&both), Kind::Windows { threads: 1 }, Some(us(200))).unwrap();
    assert_eq!(outcome.flows[0].received, Bytes::ZERO);
}

#[test]
fn the_ports_of_a_slow_host_share_its_drain() {
    for ports in [1, 2, 4] {
        let mut spec = sprayed(planes(&vec![100; ports]), 1_000_000);
        let thresholds = per_port(&spec.network, |_| fixed(10_000, 8_000, 1_000_000));
        spec.switch.pfc.as_mut().unwrap().thresholds = thresholds;
        // Of each port it holds 50 KB: Xoff, and 25 packets of the round trip of its PAUSE with one each way.
        let slow = slow_host(&mut spec, 1, DrainSpec::Constant(gbps(50)), 50_000);
        slow.pfc = Some(vec![fixed(20_000, 18_000, 50_000); ports]);
        let outcome = run(spec);
        // The first packet comes after two links; then 1000 of them are drained one after the other, 160 ns each.
        let first = Time::from_ps(2 * 80_000) + DELAY * 2;
        assert_eq!(outcome.flows[0].finish, first + Span::from_ps(160_000) * 1000, "{ports} ports");
        for port in 0..ports as u16 {
            let own = outcome.port((1, port), 3);
            assert!(own.pauses_sent > 0, "{ports} ports, {port}");
            assert!((20_001..=50_000).contains(&own.peak_ingress.get()), "{}", own.peak_ingress);
        }
    }
}

#[test]
fn a_put_stream_leaves_by_one_port_and_others_by_theirs_at_the_same_time() {
    // b is in the first plane and c in the second: neither waits for the other.
    let mut net = Builder::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| net.host(name));
    let planes = ["s", "t"].map(|name| net.switch(name));
    for (host, plane) in [(a, 0), (a, 1), (b, 0), (c, 1)] {
        net.link(host, planes[plane], gbps(100), DELAY);
    }
    net.link(planes[0], planes[1], gbps(100), DELAY);
    let flows = [1, 2].map(|dst| flow(0, dst, 100 * 2048, Time::ZERO, Pacing::LineRate));
    let mut spec = lossy(net.build().unwrap(), flows.to_vec(), POLICIES[0]);
    let put = &mut spec.puts[0];
    (put.overhead, put.staging, put.processing, put.buffer) = (Span::ZERO, Span::ZERO, Span::ZERO, 1000);
    let outcome = run(spec);
    // PUTs of 2112 B.
    let packet = gbps(100).serialize(Bytes::new(2112));
    for (number, flow) in outcome.flows.iter().enumerate() {
        assert_eq!(flow.finish, Time::ZERO + packet * 101 + DELAY * 2, "{number}");
        assert_eq!(flow.resent_packets, 0);
    }
    assert_eq!([0, 1].map(|port| outcome.port((0, port), 3).packets), [100; 2]);
}
