//! Looks at a run from another thread (`--live`) see what is there and change nothing.
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use backwater_fabric::{Control, Kind, Look, Looks, Simulation, Spec};
use backwater_topology::generate;
use backwater_traffic::Pacing;
use backwater_units::{Rate, Span, Time};
use scene::{FAST, authors, flow, red, try_under, us};

use crate::fingerprint::{Fingerprint, difference, fingerprint, taken, watch_all};

/// Fifteen hosts of a fat tree send to the last: queues, PAUSEs, marks, and every probe on.
fn incast() -> Spec {
    let net = generate::fat_tree(4, Rate::from_gbps(40), Span::from_us(1)).unwrap();
    let flows = (0..15).map(|src| flow(src, 15, 300_000, Time::ZERO, Pacing::Controlled)).collect();
    let mut spec = authors(net, flows, red());
    watch_all(&mut spec);
    spec
}

/// Runs while another thread asks for one look after the other.
fn looked_at(kind: Kind, until: Option<Time>) -> (Fingerprint, Vec<Look>) {
    let (looks, over) = (Looks::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        // The first look is asked for before the run, so that there is one however the threads are scheduled.
        looks.ask();
        let asker = scope.spawn(|| {
            let mut seen: Vec<Look> = Vec::new();
            while !over.load(Ordering::Relaxed) {
                if let Some(look) = looks.ask()
                    && seen.last().is_none_or(|last| last.now < look.now)
                {
                    seen.push(look);
                }
                thread::yield_now();
            }
            seen.extend(looks.ask());
            seen
        });
        let control = Control { until, looks: Some(&looks), ..Control::default() };
        let outcome = try_under(Simulation::new(incast(), kind), &control);
        over.store(true, Ordering::Relaxed);
        (taken(outcome), asker.join().unwrap())
    })
}

#[test]
fn who_is_looked_at_does_the_same_and_says_the_same() {
    for until in [None, Some(us(300))] {
        let plain = fingerprint(incast(), FAST, until);
        let (course, _) = plain.as_ref().unwrap();
        for kind in [FAST, Kind::Windows { threads: 3 }] {
            let (found, looks) = looked_at(kind, until);
            let differs = difference(&plain, &found, true);
            assert!(differs.is_none(), "{kind:?}: {}", differs.unwrap_or_default());
            assert!(!looks.is_empty());
            assert!(looks.iter().all(|look| look.flows_done <= 15 && look.now <= course.now));
        }
    }
}

/// Two hosts send at the rate of the link to a third: from the first arrival on, the queue grows by what the link takes away.
#[test]
fn a_look_sees_the_queue_that_arithmetic_says_the_hops_and_the_flows_that_are_done() {
    let (rate, size) = (Rate::from_gbps(40), 150_000);
    let net = generate::star(3, rate, Span::from_us(1)).unwrap();
    let flows = vec![
        flow(1, 0, size, Time::ZERO, Pacing::LineRate),
        flow(2, 0, size, Time::ZERO, Pacing::LineRate),
        flow(1, 2, 1_000, us(2_000), Pacing::LineRate),
    ];
    let mut simulation = Simulation::new(authors(net, flows, red()), FAST);
    let looks = Looks::default();
    let mut at = |until: Time| {
        let before = Control { until: Some(until), ..Control::default() };
        simulation.run(&before, &mut |_| Ok(())).unwrap_or_else(|violation| panic!("{violation}"));
        looks.ask();
        let control =
            Control { until: Some(until + Span::from_us(3)), looks: Some(&looks), ..Control::default() };
        simulation.run(&control, &mut |_| Ok(())).unwrap_or_else(|violation| panic!("{violation}"));
        looks.ask().expect("the first window ends with a look")
    };
    // A packet of 1000 B with its headers takes 0.2 µs and a bit; the first has arrived after 1.2 µs.
    for until in [10, 20] {
        let look = at(us(until));
        assert!(look.now > us(until) && look.now <= us(until + 1), "{:?}", look.now);
        let grown = (look.now.as_ps() - 1_200_000) as f64 * 40e9 / 8e12;
        let queue = look.ports[0].queue.get() as f64;
        assert!((queue - grown).abs() <= 4_000.0, "{queue} B at {:?}, not {grown}", look.now);
        assert_eq!((look.ports.len(), look.flows_done, look.ports[0].closed), (1, 0, false));
    }
    // 300 packets have crossed two links each, and nothing waits; the third flow has just begun.
    let look = at(us(1_999));
    assert_eq!((look.packet_hops, look.flows_done, look.ports.len()), (2 * 2 * size / 1_000, 2, 0));
}
