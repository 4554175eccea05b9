//! The headroom that is chosen for a network is never exceeded by what arrives after a PAUSE.
use backwater::{Run, Scenario};
use std::fmt::Write as _;

/// An incast over a fat tree in a small buffer, so that every port on the way pauses. `auto` is what a user gets who writes nothing.
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
        for delay in ["100ns", "300ns", "600ns", "1us", "2us"] {
            for priorities in [1, 2] {
                let text = incast(gbps, delay, priorities);
                let run =
                    Run::new(Scenario::parse(&text, "incast.toml", ".".as_ref(), &[]).unwrap()).unwrap();
                let ended = run.start();
                assert!(ended.is_ok(), "{gbps} Gbps, {delay}, {priorities} priorities: {ended:?}");
            }
        }
    }
}
