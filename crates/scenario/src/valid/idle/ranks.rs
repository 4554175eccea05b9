//! Keys of entries with ranks that none of their programs reads.
use backwater_codes::Remark;

use super::{Context, Written, caveat};
use crate::settings::{Gpcnet, NetworkTest, Workload};
use crate::valid::jobs;

/// What to say about GPCNeT's tests and congestors that there are not.
pub(super) fn report(context: &Context<'_>) -> Vec<Remark> {
    let mut caveats = Vec::new();
    for (index, entry) in context.settings.traffic.iter().enumerate() {
        let Workload::Gpcnet(Gpcnet { tests, congested, .. }) = &entry.workload else { continue };
        let item = |list: &str, number| context.wrote(&[list]).and_then(|list| list.items()?.get(number));
        let table = match jobs::of_entry(context.settings, index) {
            Some((number, job)) => Written {
                name: format!("job.{}.gpcnet", job.name),
                node: item("job", number).and_then(|job| job.get("gpcnet")),
            },
            None => Written { name: format!("traffic.{}", entry.name), node: item("traffic", index) },
        };
        let missing = |test| !tests.contains(&test);
        let cases: [(bool, &[&str], &str); 5] = [
            (missing(NetworkTest::Latency), &["latency"], "tests without latency"),
            (missing(NetworkTest::Bandwidth), &["bandwidth"], "tests without bandwidth"),
            (missing(NetworkTest::Allreduce), &["allreduce"], "tests without allreduce"),
            (
                missing(NetworkTest::Latency) && missing(NetworkTest::Bandwidth),
                &["rings"],
                "tests without latency and bandwidth",
            ),
            (!congested, &["congestors", "congestor-size", "warm-up-passes"], "congested = false"),
        ];
        for (idle, keys, why) in cases {
            caveat(&mut caveats, &table, keys, idle, why);
        }
    }
    caveats
}
