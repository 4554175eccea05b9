//! What is no network is refused, in the user's names and with a way out.
use backwater_topology::generate::{Edge, from_edges};
use backwater_topology::{Builder, TopologyError};
use backwater_units::{Rate, Span};

fn edge(a: &str, b: &str) -> Edge {
    Edge { a: a.to_owned(), b: b.to_owned(), rate: Rate::from_gbps(40), delay: Span::from_us(1) }
}

/// The message for hosts a and b at switch s with these links, by default a proper star.
fn message(edges: &[Edge]) -> String {
    from_edges(&["a", "b"], &["s"], edges).unwrap_err().to_string()
}

#[test]
fn a_written_out_topology_numbers_its_ports_by_the_list() {
    let net = from_edges(&["a", "b"], &["s"], &[edge("b", "s"), edge("s", "a")]).unwrap();
    let s = net.find("s").unwrap();
    assert_eq!(net.port_name(s, 0), "s->b");
    assert_eq!(net.port_name(s, 1), "s->a");
    assert_eq!(net.find("x"), None);
}

#[test]
fn two_hosts_on_one_cable_are_a_network() {
    let net = from_edges(&["a", "b"], &[], &[edge("a", "b")]).unwrap();
    assert_eq!(net.ports(0)[0].peer, 1);
    assert_eq!(net.least_delay(), Span::from_us(1));
}

#[test]
fn a_second_link_between_the_same_nodes_is_refused_in_either_direction() {
    let message = message(&[edge("a", "s"), edge("b", "s"), edge("s", "a")]);
    assert_eq!(
        message,
        "link 2 joins s and a again, as link 0 does; remove one, or allow it with parallel-links = true"
    );
}

#[test]
fn self_loops_and_unknown_nodes_are_named() {
    assert!(message(&[edge("a", "s"), edge("s", "s")]).starts_with("link 1 joins \"s\" to itself"));
    assert!(message(&[edge("a", "t")]).starts_with("link 0 names the node \"t\", which is neither"));
}

#[test]
fn a_link_that_is_infinitely_slow_or_infinitely_short_is_refused_with_the_range() {
    let mut slow = edge("a", "s");
    slow.rate = Rate::ZERO;
    assert_eq!(
        message(&[slow, edge("b", "s")]),
        "link 0 (a - s) has a rate of 0bps; give one from 1Kbps to 100Tbps"
    );
    let mut short = edge("b", "s");
    short.delay = Span::ZERO;
    assert!(
        message(&[edge("a", "s"), short.clone()])
            .contains("a propagation delay of 0ps; give one from 1ps to 1s")
    );
    short.delay = Span::MAX;
    assert!(message(&[edge("a", "s"), short]).contains("give one from 1ps to 1s"));
}

#[test]
fn names_are_unique_and_cannot_be_taken_for_ports_or_patterns() {
    let twice = from_edges(&["a", "a"], &["s"], &[]).unwrap_err();
    assert_eq!(twice, TopologyError::DuplicateName { name: "a".to_owned() });
    for name in ["", "a b", "A*", "a->b", "L0:1", "x,y", "n?", "!h0"] {
        let error = from_edges(&[name], &["s"], &[]).unwrap_err();
        assert_eq!(error, TopologyError::Name { name: name.to_owned() });
    }
}

#[test]
fn a_fabric_without_hosts_has_nobody_to_send() {
    let error = from_edges(&[], &["s", "t"], &[edge("s", "t")]).unwrap_err();
    assert_eq!(error, TopologyError::NoHosts);
}

#[test]
fn a_switch_has_at_most_1024_ports() {
    let mut b = Builder::new();
    let s = b.switch("s");
    for i in 0..1025 {
        let host = b.host(format!("h{i}"));
        b.link(host, s, Rate::from_gbps(40), Span::from_us(1));
    }
    let error = b.build().unwrap_err();
    assert_eq!(error, TopologyError::TooManyPorts { link: 1024, name: "s".to_owned() });
}

#[test]
fn an_alias_names_one_port_that_exists() {
    let star = || {
        let mut b = Builder::new();
        let (a, c, s) = (b.host("a"), b.host("c"), b.switch("s"));
        b.link(a, s, Rate::from_gbps(40), Span::from_us(1));
        b.link(c, s, Rate::from_gbps(40), Span::from_us(1));
        (b, a, c, s)
    };
    let (mut b, a, c, s) = star();
    b.alias("P0", s, c);
    let net = b.clone().build().unwrap();
    assert_eq!(net.alias("P0"), Some((s, 1)));
    assert_eq!(net.aliases().collect::<Vec<_>>(), [("P0", (s, 1))]);
    b.alias("P0", s, a);
    assert!(matches!(b.build(), Err(TopologyError::DuplicateAlias { .. })));
    for (from, to) in [(a, c), (99, s)] {
        let (mut b, ..) = star();
        b.alias("P0", from, to);
        assert!(matches!(b.build(), Err(TopologyError::Alias { .. })));
    }
}
