//! The TCD paper's single- and multi-congestion-point scenarios against the independent check of the same rules.
mod scene;
use backwater_topology::generate::tcd_figure_2;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::*;

const BURST_START: u64 = 1_000;

fn figure2(rate_mbps: u64, detector: backwater_control::detector::Detector) -> backwater_fabric::Spec {
    let net = tcd_figure_2(Rate::from_gbps(40), Span::from_us(4), None, false).unwrap();
    let h = |n: &str| host(&net, n);
    let mut flows: Vec<Flow> = Vec::new();
    flows.push(Flow { group: 1, ..flow(h("S1"), h("R1"), u64::MAX, us(0), Pacing::Controlled) });
    for (group, s) in [(0, "S0"), (2, "S2")] {
        let pacing =
            Pacing::Constant { rate: Rate::from_mbps(rate_mbps), jitter_ppm: 100_000, catch_up: true };
        flows.push(Flow { group, ..flow(h(s), h("R0"), u64::MAX, us(BURST_START + 183), pacing) });
    }
    for round in 0..80u64 {
        for a in 0..15 {
            let start = Time::from_ps(BURST_START * 1_000_000 + round * 47_500_000);
            flows.push(Flow {
                group: 3,
                ..flow(h(&format!("A{a}")), h("R1"), 64_000, start, Pacing::Controlled)
            });
        }
    }
    let mut spec = authors(net, flows, detector);
    spec.probe.sample = Some(Span::from_us(5));
    spec.probe.marks = true;
    spec.probe.pauses = true;
    spec.probe.states = true;
    spec.probe.rates = vec![0];
    let p = |a: &str| spec.network.alias(a).unwrap();
    spec.probe.ports = vec![p("P0"), p("P1"), p("P2"), p("P3")];
    spec
}

#[test]
fn show() {
    for (rate, det) in [(5006, red()), (5006, tcd()), (24100, tcd())] {
        let spec = figure2(rate, det);
        let p2 = spec.network.alias("P2").unwrap();
        let p1 = spec.network.alias("P1").unwrap();
        let t = std::time::Instant::now();
        let (sim, totals, rec) = run(spec, FAST, Some(us(9_000))).unwrap();
        println!("{totals:?} {:?}", t.elapsed());
        for f in &sim.flows()[..] {
            if f.size == Bytes::MAX {
                println!(
                    "group {} pk {} ce {} ue {} cnps {} {}",
                    f.group, f.packets, f.ce_packets, f.ue_packets, f.cnps_ce, f.cnps_ue
                );
            }
        }
        for (name, p) in [("P2", p2), ("P1", p1)] {
            let peak =
                rec.samples.iter().filter(|s| (s.node, s.port) == p).max_by_key(|s| s.queue.get()).unwrap();
            println!("{name} peak {} at {}", peak.queue, peak.time);
            let pa: Vec<_> = rec.pauses.iter().filter(|s| (s.node, s.port) == p).collect();
            println!(
                "  pauses {} first {:?} last {:?}",
                pa.len(),
                pa.first().map(|p| p.time),
                pa.last().map(|p| p.time)
            );
            for s in rec.states.iter().filter(|s| (s.node, s.port) == p).take(12) {
                println!("   state {} at {}", s.state, s.time);
            }
            let m = rec.marks.iter().filter(|s| (s.node, s.port) == p);
            let mut c = std::collections::BTreeMap::new();
            for m in m {
                *c.entry((sim.flows()[m.flow as usize].group, m.code)).or_insert(0) += 1;
            }
            println!("   marks {c:?}");
        }
        let below = rec.rates.iter().find(|r| r.rate < Rate::from_gbps(15));
        println!("rate<15 {below:?}");
    }
}
