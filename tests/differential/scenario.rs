//! What a user of the HPCC simulator does: a few lines of TOML around its files. It is the same run, to the last event.
use std::path::PathBuf;

use backwater_scenario::Scenario;
use scene::{FAST, hpcc_ns3, run, try_run};

use crate::peer;

fn digest_of_scenario(case: &str, buffer: &str) -> u64 {
    let text = format!(
        "profile = \"hpcc-ns3\"\n\
         [topology]\nkind = \"hpcc\"\nfile = \"topology.txt\"\n\
         [switch]\nbuffer = \"{buffer}\"\n\
         [[traffic]]\nname = \"flows\"\nkind = \"hpcc-flows\"\nfile = \"flow.txt\"\ntime-origin = \"2s\"\n"
    );
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("differential/data").join(case);
    let scenario = Scenario::parse(&text, "test", &folder, &[]).and_then(Scenario::validate);
    let spec = scenario.unwrap_or_else(|error| panic!("{error}")).build();
    let outcome = try_run(spec, FAST, None).unwrap_or_else(|violation| panic!("{violation}"));
    outcome.totals.digest
}

#[test]
fn the_hpcc_profile_around_the_peers_files_is_the_run_that_is_compared_here() {
    for (name, buffer, bytes) in
        [("micro", "32MiB", 32 << 20), ("k4", "32MiB", 32 << 20), ("incast", "9MiB", 9 << 20)]
    {
        let case = peer::case(name);
        let outcome = run(hpcc_ns3(case.network, case.flows, bytes));
        assert_eq!(digest_of_scenario(name, buffer), outcome.totals.digest, "{name}");
    }
}
