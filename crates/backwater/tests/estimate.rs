//! An estimate of many flows is made from few of them, and is the estimate of them all.
use std::path::Path;

use backwater::{Scenario, estimate};
use serde_json::Value;

const NETWORK: &str = "profile = \"authors\"\n[topology]\nkind = \"star\"\nhosts = 16\nrate = \"40Gbps\"\ndelay = \"1us\"\n[[traffic]]\nname = \"a\"\n";

/// Traffic with 320 000 flows or more, and some with 160 000 that come beside them.
const MANY: [&str; 6] = [
    "kind = \"poisson\"\nsize = \"3KB\"\nload = 0.5\nflows = 320000",
    // 16 sources of 40 Gbps, half of them taken by flows of 3 KB: 13.3 million flows in a second.
    "kind = \"poisson\"\nsize = \"3KB\"\nload = 0.5\nuntil = \"25ms\"",
    "kind = \"bursts\"\nfrom = \"*\"\nto = \"h0\"\nsize = \"1KB\"\nrounds = 30000\ninterval = \"10us\"",
    "kind = \"synchronous\"\nfrom = \"*\"\nto = \"h0\"\nsize = \"1KB\"\ninterval = \"10us\"\nflows = 320000",
    "kind = \"collective\"\nop = \"all-to-all\"\nsize = \"16KB\"\niterations = 1500",
    "kind = \"poisson\"\nsize = \"3KB\"\nload = 0.2\nflows = 160000\n[[traffic]]\nname = \"b\"\nkind = \"poisson\"\nsize = \"9KB\"\nload = 0.2\nflows = 320000",
];

fn scenario(traffic: &str) -> Scenario {
    Scenario::parse(&format!("{NETWORK}{traffic}\n"), "scenario.toml", Path::new("."), &[]).unwrap()
}

#[test]
fn few_flows_that_stand_for_many_give_the_estimate_of_many() {
    for traffic in MANY {
        let all = scenario(traffic).validate().unwrap();
        let few = scenario(traffic).outline().unwrap();
        let (made, listed) = (few.flows().len(), all.flows().len());
        assert!(made < 210_000 && listed >= 290_000, "{traffic}: {made} of {listed}");
        let (all, few) = (estimate(&all, 1).unwrap(), estimate(&few, 1).unwrap());
        for key in ["flows", "packets", "packet_hops", "memory_bytes"] {
            let [all, few] = [&all, &few].map(|found: &Value| found[key].as_f64().unwrap());
            assert!((few / all - 1.0).abs() < 0.05, "{traffic}: {key} {few} of {all}");
        }
    }
}

#[test]
fn an_estimate_of_millions_of_messages_lists_one_iteration_of_them() {
    let traffic = "kind = \"collective\"\nop = \"all-to-all\"\nsize = \"1KB\"\niterations = 19";
    let text = format!("{NETWORK}{traffic}\n").replace("hosts = 16", "hosts = 1024");
    let outline = Scenario::parse(&text, "scenario.toml", Path::new("."), &["switch.buffer=1GB".to_owned()])
        .unwrap()
        .outline()
        .unwrap();
    assert_eq!(outline.flows().len(), 1024 * 1023);
    assert_eq!(estimate(&outline, 1).unwrap()["flows"], 19 * 1024 * 1023);
}

#[test]
fn what_is_too_much_for_a_run_is_too_much_for_an_estimate() {
    let refused =
        scenario("kind = \"poisson\"\nsize = \"3KB\"\nload = 0.5\nflows = 20000001").outline().err();
    assert!(refused.is_some_and(|refused| refused.to_string().contains("20000001 flows")));
}
