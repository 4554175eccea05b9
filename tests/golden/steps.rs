//! Messages that wait for others: hosts a and b, one link of 40 Gbps and 1 us, 1000 B take 200 ns; or four hosts around a switch.
use backwater_fabric::Spec;
use backwater_topology::generate::star;
use backwater_traffic::trace::{Program, sort_with};
use backwater_traffic::{Group, Pacing, connect, read};
use backwater_units::{Rate, Span, Time};
use scene::{Outcome, chain, ideal, ns, run};

use crate::link;

const GROUP: Group = Group { id: 0, priority: 3, pacing: Pacing::LineRate, start: Time::ZERO };

/// A trace between the hosts of a network, rank r at host r.
fn scene(network: backwater_topology::Network, lines: &str, start: Time) -> Spec {
    let hosts: Vec<u32> = (0..network.hosts().len() as u32).collect();
    let text = format!("backwater-trace 1\nranks {}\n{lines}", hosts.len());
    let program: Program = read::trace(&text).and_then(|trace| trace.expand()).expect("a trace");
    let (mut flows, mut steps) = program.on(&hosts, &Group { start, ..GROUP });
    sort_with(&mut flows, &mut steps, &mut []);
    Spec { steps, ..ideal(network, flows) }
}

/// (source, start, finish) of every message in nanoseconds, by finish.
fn told(outcome: &Outcome) -> Vec<(u32, u64, u64)> {
    let ns = |time: Time| time.as_ps() / 1000;
    let mut told: Vec<_> =
        outcome.flows.iter().map(|flow| (flow.src, ns(flow.start), ns(flow.finish))).collect();
    told.sort_by_key(|(src, _, finish)| (*finish, *src));
    told
}

#[test]
fn an_answer_leaves_when_the_question_has_come_and_been_thought_about() {
    let lines =
        "message 1 from 0 to 1 bytes 3000\nmessage 2 from 1 to 0 bytes 1000 after received 1 delay 500ns";
    // 0.6 + 1; + 0.5; + 0.2 + 1
    let outcome = run(scene(chain(&[link(40)]), lines, Time::ZERO));
    assert_eq!(told(&outcome), [(0, 0, 1600), (1, 2100, 3300)]);
    // and everything later, if the application begins later
    let outcome = run(scene(chain(&[link(40)]), lines, ns(70)));
    assert_eq!(told(&outcome), [(0, 70, 1670), (1, 2170, 3370)]);
}

#[test]
fn what_waits_for_a_message_to_be_sent_follows_its_last_bit() {
    let lines = "message 1 from 0 to 1 bytes 3000\nmessage 2 from 0 to 1 bytes 1000 after sent 1\n\
                 message 3 from 0 to 1 bytes 1000 after sent 2 delay 1us";
    // 1 is off the wire at 0.6, 2 at 0.8, 3 starts at 1.8
    let outcome = run(scene(chain(&[link(40)]), lines, Time::ZERO));
    assert_eq!(told(&outcome), [(0, 0, 1600), (0, 600, 1800), (0, 1800, 3000)]);
}

#[test]
fn messages_that_get_ready_on_one_connection_are_sent_one_after_the_other() {
    let lines = "message 1 from 0 to 1 bytes 1000\nmessage 2 from 1 to 0 bytes 2000 after received 1\n\
                 message 3 from 1 to 0 bytes 1000 after received 1";
    let mut spec = scene(chain(&[link(40)]), lines, Time::ZERO);
    connect(&mut spec.flows, 0);
    // both are ready at 1.2; the second waits for the first one's two packets
    assert_eq!(told(&run(spec)), [(0, 0, 1200), (1, 1200, 2600), (1, 1200, 2800)]);
}

#[test]
fn a_ring_allreduce_of_four_takes_six_rounds() {
    let network = star(4, Rate::from_gbps(40), Span::from_us(1)).expect("a star");
    let lines = "collective 1 allreduce bytes 4000 algorithm ring";
    let outcome = run(scene(network, lines, Time::ZERO));
    // Every rank sends 1000 B in each of 2·3 rounds; a round takes two links: 2 · (0.2 + 1).
    let finishes: Vec<u64> = told(&outcome).iter().map(|(.., finish)| *finish).collect();
    let expected: Vec<u64> = (1..=6).flat_map(|round| [round * 2400; 4]).collect();
    assert_eq!(finishes, expected);
}

#[test]
fn nobody_leaves_a_barrier_before_the_last_one_has_come() {
    let network = star(4, Rate::from_gbps(40), Span::from_us(1)).expect("a star");
    let lines = "collective 1 barrier\njoin 1 rank 2 delay 10us\n\
                 message 1 from 0 to 1 bytes 1000 after done 1\nmessage 2 from 3 to 2 bytes 1000 after done 1";
    let outcome = run(scene(network, lines, Time::ZERO));
    // A message of 1 B takes 0.2 ns and 1 us on each link. Rank 2 comes at 10 us: it tells rank 3, and right behind, 0.2 ns later
    // (of rank 1 it has heard long ago), rank 0, which is through when that is there: 10 us + 0.2 ns + 2 · (1 us + 0.2 ns).
    // Rank 3 knows 0.2 ns earlier, but has to tell rank 1, which takes 0.2 ns.
    let last = told(&outcome);
    let messages: Vec<_> = last.iter().filter(|(_, start, finish)| finish - start == 2400).collect();
    assert_eq!(messages.len(), 2);
    let first = outcome.flows.iter().filter(|flow| flow.size.get() == 1000).map(|flow| flow.start.as_ps());
    assert_eq!(first.collect::<Vec<_>>(), [12_000_600; 2]);
}
