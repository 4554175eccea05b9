//! Instructions per packet-hop of whole runs, counted by callgrind, beside the references; fails where one has risen too far.
//!
//! Each run is a process of this program of its own under valgrind. Building the fabric is not counted; neither is dropping it.
mod cases;

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

#[cfg(feature = "reference")]
use cases::K8_HEAP;
use cases::{
    Case, K4_RANKS, K8_BATCHED, K8_CREDITS, K8_GO_BACK_N, K8_IN_ORDER, K8_ISOLATION, K8_PFT, K8_PUTS,
    K8_SELECTIVE, K8_UEC, K16_BATCHED, K16_CREDITS, K16_IN_ORDER,
};
use serde::Deserialize;

const REFERENCES: &str = "benches/src/bin/instructions/references.toml";

/// All runs, each with a name. Those of one line have the same trajectory.
const RUNS: &[&[(&str, Case)]] = &[
    &[
        ("k8_in_order", K8_IN_ORDER),
        ("k8_batched", K8_BATCHED),
        #[cfg(feature = "reference")]
        ("k8_heap", K8_HEAP),
    ],
    &[("k8_credits", K8_CREDITS)],
    &[("k8_pft", K8_PFT)],
    &[("k4_ranks", K4_RANKS)],
    &[("k8_isolation", K8_ISOLATION)],
    &[("k8_puts", K8_PUTS)],
    &[("k8_go_back_n", K8_GO_BACK_N)],
    &[("k8_selective", K8_SELECTIVE)],
    &[("k8_uec", K8_UEC)],
    &[("k16_in_order", K16_IN_ORDER), ("k16_batched", K16_BATCHED)],
    &[("k16_credits", K16_CREDITS)],
];

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct References {
    tolerance_percent: f64,
    per_hop: BTreeMap<String, f64>,
    wanted: BTreeMap<String, f64>,
}

/// What a run under valgrind tells.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Count {
    instructions: u64,
    hops: u64,
    digest: u64,
}

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1) {
        Some(name) => one(&name).map(|()| Vec::new()),
        None => gate(),
    };
    match outcome {
        Ok(failures) if failures.is_empty() => ExitCode::SUCCESS,
        Ok(failures) => {
            eprintln!("{}", failures.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::from(2)
        }
    }
}

/// One run: prints its packet-hops and its digest.
fn one(name: &str) -> Result<(), String> {
    let found = RUNS.iter().copied().flatten().find(|(known, _)| *known == name);
    let (_, case) = found.ok_or_else(|| format!("there is no run {name}"))?;
    let mut simulation = case.build();
    let totals = cases::run(&mut simulation);
    println!("{} {}", totals.packet_hops, totals.digest);
    Ok(())
}

/// Prints the table; returns what has become too slow.
fn gate() -> Result<Vec<String>, String> {
    let references: References =
        toml::from_str(include_str!("references.toml")).map_err(|error| format!("{REFERENCES}: {error}"))?;
    let mut failures = Vec::new();
    println!(
        "{:<14}{:>14}{:>12}{:>11}{:>9}{:>9}",
        "run", "packet-hops", "instr./hop", "reference", "change", "wanted"
    );
    for alike in RUNS {
        let mut first = None;
        for (case, _) in *alike {
            let Count { instructions, hops, digest } = count(case)?;
            if *first.get_or_insert(digest) != digest {
                return Err(format!("{case} has another digest than {}: {digest:x}", alike[0].0));
            }
            let reference =
                *references.per_hop.get(*case).ok_or_else(|| format!("{REFERENCES} has no {case}"))?;
            let per_hop = instructions as f64 / hops as f64;
            let change = (per_hop / reference - 1.0) * 100.0;
            let wanted = references.wanted.get(*case).map_or(String::new(), |wanted| format!("<= {wanted}"));
            println!("{case:<14}{hops:>14}{per_hop:>12.1}{reference:>11.1}{change:>+8.1}%{wanted:>9}");
            failures.extend(too_slow(case, per_hop, reference, references.tolerance_percent));
            if change < -1.0 {
                println!("  {case} has become cheaper: set it to {per_hop:.1} in {REFERENCES}");
            }
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

/// The run under valgrind, of which callgrind counts what is inside of [`cases::run`].
fn count(case: &str) -> Result<Count, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no"]);
    valgrind.arg("--toggle-collect=instructions::cases::run").arg(program).arg(case);
    let done = valgrind.output().map_err(|error| format!("valgrind: {error}"))?;
    let (said, noted) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    if !done.status.success() {
        return Err(format!("{case}: {}\n{noted}", done.status));
    }
    read(&said, &noted).ok_or_else(|| format!("{case}: no count in\n{said}{noted}"))
}

/// What the run printed, and what callgrind noted at its end.
fn read(said: &str, noted: &str) -> Option<Count> {
    let (hops, digest) = said.trim().split_once(' ')?;
    let collected = noted.lines().find_map(|line| line.split_once("Collected : "))?.1;
    let instructions = collected.trim().parse().ok().filter(|count| *count > 0)?;
    Some(Count { instructions, hops: hops.parse().ok()?, digest: digest.parse().ok()? })
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
    fn a_count_is_what_the_run_and_callgrind_say() {
        let noted = "==7== Events    : Ir\n==7== Collected : 337311861\n==7== \n";
        let expected = Count { instructions: 337_311_861, hops: 606_200, digest: 9 };
        assert_eq!(read("606200 9\n", noted), Some(expected));
        assert_eq!(read("", noted), None);
        assert_eq!(read("606200 9\n", "==7== Collected : 0\n"), None);
        assert_eq!(read("606200 9\n", "Segmentation fault"), None);
    }
}
