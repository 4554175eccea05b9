//! Reads gungraun's JSON from standard input, prints instructions per packet-hop beside the references, and fails
//! where one has risen too far: `cargo bench --bench instructions -- --output-format=json | instruction-gate`.
mod cases;

use std::collections::BTreeMap;
use std::io::Read;
use std::process::ExitCode;

use cases::{
    K4_RANKS, K8_BATCHED, K8_CREDITS, K8_GO_BACK_N, K8_HEAP, K8_IN_ORDER, K8_ISOLATION, K8_PFT, K8_PUTS,
    K8_SELECTIVE, K16_BATCHED, K16_CREDITS, K16_IN_ORDER,
};
use serde::Deserialize;
use serde_json::Value;

const REFERENCES: &str = "benches/benches/instructions/references.toml";

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct References {
    tolerance_percent: f64,
    per_hop: BTreeMap<String, f64>,
    wanted: BTreeMap<String, f64>,
}

fn main() -> ExitCode {
    match gate() {
        Ok(failures) if failures.is_empty() => ExitCode::SUCCESS,
        Ok(failures) => {
            eprintln!("{}", failures.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("instruction-gate: {error}");
            ExitCode::from(2)
        }
    }
}

/// Prints the table; returns what has become too slow.
fn gate() -> Result<Vec<String>, String> {
    let references: References =
        toml::from_str(include_str!("references.toml")).map_err(|error| format!("{REFERENCES}: {error}"))?;
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| error.to_string())?;
    let counts = counts(&text)?;
    let mut failures = Vec::new();
    println!(
        "{:<14}{:>14}{:>12}{:>11}{:>9}{:>9}",
        "run", "packet-hops", "instr./hop", "reference", "change", "wanted"
    );
    for (case, hops) in hops()? {
        let count = *counts.get(case).ok_or_else(|| format!("gungraun measured no {case}"))?;
        let reference = *references.per_hop.get(case).ok_or_else(|| format!("{REFERENCES} has no {case}"))?;
        let per_hop = count as f64 / hops as f64;
        let change = (per_hop / reference - 1.0) * 100.0;
        let wanted = references.wanted.get(case).map_or(String::new(), |wanted| format!("<= {wanted}"));
        println!("{case:<14}{hops:>14}{per_hop:>12.1}{reference:>11.1}{change:>+8.1}%{wanted:>9}");
        failures.extend(too_slow(case, per_hop, reference, references.tolerance_percent));
        if change < -1.0 {
            println!("  {case} has become cheaper: set it to {per_hop:.1} in {REFERENCES}");
        }
    }
    Ok(failures)
}

/// What to say if a run takes more than `tolerance` percent above its reference.
fn too_slow(case: &str, per_hop: f64, reference: f64, tolerance: f64) -> Option<String> {
    let rise = (per_hop / reference - 1.0) * 100.0;
    (rise > tolerance).then(|| {
        format!(
            "{case}: {per_hop:.1} instructions per packet-hop, {rise:.1} % above the reference {reference:.1} \
             (allowed: {tolerance} %). Make it cheaper, or raise the reference in {REFERENCES} and say why."
        )
    })
}

/// Packet-hops of each run, which a native run counts. All runs of one workload must have the same trajectory.
fn hops() -> Result<Vec<(&'static str, u64)>, String> {
    let k8 = [("k8_in_order", K8_IN_ORDER), ("k8_batched", K8_BATCHED), ("k8_heap", K8_HEAP)];
    let k16 = [("k16_in_order", K16_IN_ORDER), ("k16_batched", K16_BATCHED)];
    let mut hops = Vec::new();
    // Under credits, with throttles, ranks, isolation and PUTs other things happen: a trajectory of its own.
    let k8_isolation = [("k8_isolation", K8_ISOLATION)];
    let k8_puts = [("k8_puts", K8_PUTS)];
    let k8_go_back_n = [("k8_go_back_n", K8_GO_BACK_N)];
    let k8_selective = [("k8_selective", K8_SELECTIVE)];
    let k8_credits = [("k8_credits", K8_CREDITS)];
    let k8_pft = [("k8_pft", K8_PFT)];
    let k4_ranks = [("k4_ranks", K4_RANKS)];
    let k16_credits = [("k16_credits", K16_CREDITS)];
    for workload in [
        &k8[..],
        &k8_credits[..],
        &k8_pft[..],
        &k4_ranks[..],
        &k8_isolation[..],
        &k8_puts[..],
        &k8_go_back_n[..],
        &k8_selective[..],
        &k16[..],
        &k16_credits[..],
    ] {
        let mut digests = Vec::new();
        for (name, case) in workload {
            let totals = cases::run(&mut case.build());
            digests.push(totals.digest);
            hops.push((*name, totals.packet_hops));
        }
        if digests.iter().any(|&digest| digest != digests[0]) {
            return Err(format!("{} and its variants have different digests: {digests:x?}", workload[0].0));
        }
    }
    Ok(hops)
}

/// Instructions (callgrind's event `Ir`) by the id of the benchmark, from one JSON document per benchmark.
fn counts(text: &str) -> Result<BTreeMap<String, u64>, String> {
    let mut counts = BTreeMap::new();
    for summary in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let summary = summary.map_err(|error| format!("gungraun's output is not JSON: {error}"))?;
        let id = summary["id"].as_str().ok_or("a benchmark without id")?;
        let count = &summary["profiles"][0]["data"]["total"]["metrics"]["Ir"]["values"]["new"];
        let count = count.as_u64().ok_or_else(|| format!("no instruction count for {id}"))?;
        counts.insert(id.to_owned(), count);
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_of_more_than_the_tolerance_fails_with_the_number() {
        assert_eq!(too_slow("k8", 314.9, 300.0, 5.0), None);
        assert_eq!(too_slow("k8", 250.0, 300.0, 5.0), None);
        let failure = too_slow("k8", 316.0, 300.0, 5.0).unwrap();
        assert!(failure.contains("316.0") && failure.contains("5.3 %"), "{failure}");
    }

    #[test]
    fn the_new_count_of_each_benchmark_is_read() {
        let one = |id: &str, values: &str| {
            format!(
                r#"{{"id":"{id}","profiles":[{{"data":{{"total":{{"metrics":{{"Ir":{{"values":{values}}}}}}}}}}}]}}"#
            )
        };
        let text = one("a", r#"{"new":7}"#) + "\n" + &one("b", r#"{"new":8,"old":9}"#);
        let expected = [("a".to_owned(), 7), ("b".to_owned(), 8)];
        assert_eq!(counts(&text), Ok(BTreeMap::from(expected)));
        assert!(counts(&one("a", r#"{"old":9}"#)).is_err());
        assert!(counts("Segmentation fault").is_err());
    }
}
