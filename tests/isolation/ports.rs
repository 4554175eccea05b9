//! Hosts with a port in each of two planes: what is hot in one is isolated there, and leaves by the other as ever.
use backwater_fabric::record::IsolationEvent;
use backwater_topology::{Builder, Routes, Routing};
use backwater_units::{Span, Time};
use scene::{CONGESTED, NORMAL, Scheme, burst, cable, isolation, run_until, us};

#[test]
fn a_message_of_one_plane_moves_what_leaves_by_that_port() {
    // 0 and 1 are in both planes, 2 and 3 in the first, where they and 1 send to 0 as fast as they can.
    let (rate, delay) = cable();
    let mut net = Builder::new();
    let hosts = ["h0", "h1", "h2", "h3"].map(|name| net.host(name));
    let planes = ["s", "t"].map(|name| net.switch(name));
    for (host, plane) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (3, 0)] {
        net.link(hosts[host], planes[plane], rate, delay);
    }
    let net = net.build().unwrap();
    let routes = Routes::new(&net, Routing::Ecmp).unwrap();
    // Of 16 flows the hash gives each port some.
    let mut flows = burst(&[1; 16], &[0], 10, Time::ZERO, us(100));
    flows.extend(burst(&[2, 3], &[0], 100, Time::ZERO, us(100)));
    let mut spec = isolation(net, flows, Scheme::Ici);
    spec.routes = routes;
    spec.probe.isolation = true;
    let outcome = run_until(spec, us(1000));
    let sent = |port, priority| outcome.port((1, port), priority).packets;
    assert!(sent(0, CONGESTED) > 30 && sent(0, NORMAL) > 0);
    // Nothing is hot in the other plane, though the key, a pair of hosts, is the same.
    assert!(sent(1, CONGESTED) == 0 && sent(1, NORMAL) > 30);
    let told = outcome.records.isolation.iter().filter(|record| record.node == 1);
    let told: Vec<_> = told.map(|record| (record.what, record.port)).collect();
    let turns = [(IsolationEvent::Allocated, 0), (IsolationEvent::Released, 0)];
    assert!(!told.is_empty() && told.chunks(2).all(|turn| turn == turns), "{told:?}");
    // All arrives, in order: a queue pair keeps its port.
    assert!(outcome.flows.iter().all(|flow| flow.packets > 0 && flow.finish < Time::MAX));
    assert!(outcome.flows[0].finish.since(Time::ZERO) > Span::from_us(100));
}
