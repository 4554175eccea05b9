//! The headroom that a scenario is asked for is never exceeded, and a byte less is refused before the run.
use backwater::{Run, Scenario};
use std::fmt::Write as _;

/// An incast over a fat tree in a small buffer, so that every port on the way pauses.
fn incast(gbps: u32, delay: &str, priorities: u32) -> String {
    let flows = (0..priorities).fold(String::new(), |mut text, number| {
        let priority = number + 2;
        write!(
            text,
            "[[traffic]]\nname = \"incast{number}\"\nkind = \"incast\"\nfrom = \"*\"\nto = \"h0\"\nsize = \"200KB\"\n\
             priority = {priority}\n"
        )
        .expect("a String takes it");
        text
    });
    format!(
        "profile = \"hpcc-ns3\"\n[topology]\nkind = \"fat-tree\"\nk = 4\nrate = \"{gbps}Gbps\"\ndelay = \"{delay}\"\n\
         [switch]\nbuffer = \"1MB\"\n[cc]\nkind = \"none\"\n[switch.detector]\nkind = \"none\"\n{flows}"
    )
}

#[test]
fn no_port_of_a_fat_tree_gets_more_after_a_pause_than_its_headroom_holds() {
    for gbps in [10, 25, 40, 50, 100, 200] {
        for (delay, ps) in [
            ("100ns", 100_000),
            ("300ns", 300_000),
            ("600ns", 600_000),
            ("1us", 1_000_000),
            ("2us", 2_000_000),
        ] {
            for priorities in [1, 2] {
                let text = incast(gbps, delay, priorities);
                // IEEE 802.1Qbb: 2 · delay · rate, two packets of 1048 B, a PFC frame of 43 B; and the packet that crosses the threshold.
                let on_the_cable = 2 * ps * u64::from(gbps) / 8_000;
                let needed = u64::from(priorities) * (on_the_cable + 3 * 1048 + 43);
                let with = |headroom: u64| {
                    let set = [format!("switch.pfc.headroom={headroom}B")];
                    Scenario::parse(&text, "incast.toml", ".".as_ref(), &set).and_then(Run::new)
                };
                let ended = with(needed).unwrap().start();
                assert!(ended.is_ok(), "{gbps} Gbps, {delay}, {priorities} priorities: {ended:?}");
                assert!(with(needed - 1).is_err());
            }
        }
    }
}
