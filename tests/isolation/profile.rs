//! The profile "isolation" of a scenario is the network of these tests.
use std::path::Path;

use backwater_scenario::Scenario;
use backwater_units::Time;
use scene::{FAST, Scheme, burst, hot_sources, isolation, tree, try_run, us};

/// A tree of 16 sources in TOML, under a scheme, with what makes the scheme.
const SCENES: [(Scheme, &str); 6] = [
    (
        Scheme::None,
        "[switch.isolation]\nkind = \"none\"\n[switch.detector]\nkind = \"none\"\n[cc]\nkind = \"none\"\n",
    ),
    (Scheme::Dcqcn, "[switch.isolation]\nkind = \"none\"\n[switch.detector]\nkind = \"red\"\n"),
    (
        Scheme::Ci,
        "[switch.isolation]\nkind = \"ci\"\n[switch.detector]\nkind = \"none\"\n[cc]\nkind = \"none\"\n",
    ),
    (Scheme::CiDcqcn, "[switch.isolation]\nkind = \"ci\"\n[switch.detector]\nkind = \"red\"\n"),
    (
        Scheme::Ici,
        "[switch.isolation]\nkind = \"ici\"\n[switch.detector]\nkind = \"none\"\n[cc]\nkind = \"none\"\n",
    ),
    (Scheme::IciPlus, "[switch.isolation]\nkind = \"ici-plus\"\n[switch.detector]\nkind = \"none\"\n"),
];

fn digest_of_scenario(settings: &str) -> u64 {
    let text = format!(
        "profile = \"isolation\"\n[run]\nuntil = \"0.3ms\"\n\
         [topology]\nkind = \"k-ary-n-tree\"\nk = 4\nn = 3\nrate = \"100Gbps\"\ndelay = \"25ns\"\nrouting = \"d-mod-k\"\n\
         {settings}\
         [[traffic]]\nname = \"tree\"\nkind = \"supply\"\nfrom = \"h[3-63/4]\"\nto = \"h0\"\nrate = \"100Gbps\"\n\
         backlog = \"256KiB\"\nstart = \"0us\"\nuntil = \"0.2ms\"\n"
    );
    let scenario = Scenario::parse(&text, "test", Path::new("."), &[]).and_then(Scenario::validate);
    let spec = scenario.unwrap_or_else(|error| panic!("{error}")).build();
    try_run(spec, FAST, Some(us(300))).unwrap_or_else(|violation| panic!("{violation}")).totals.digest
}

#[test]
fn a_scenario_with_the_profile_and_a_scheme_is_the_same_run_to_the_last_event() {
    let sources: Vec<u32> = hot_sources().collect();
    for (scheme, settings) in SCENES {
        let mut flows = burst(&sources, &[0], 100, Time::ZERO, us(200));
        for flow in &mut flows {
            flow.group = 0;
        }
        let outcome = try_run(isolation(tree(), flows, scheme), FAST, Some(us(300)));
        let digest = outcome.unwrap_or_else(|violation| panic!("{violation}")).totals.digest;
        assert_eq!(digest_of_scenario(settings), digest, "{scheme:?}");
    }
}
