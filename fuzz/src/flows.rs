//! Any file is a flow list or refused with a reason; every flow that is read can be sent.
use backwater_traffic::{MAX_SIZE, read};
use backwater_units::{PS_PER_S, Time};

pub(crate) fn target(text: &str) {
    // Node numbers of which every third is a switch, so that host indices differ from them.
    let host_of = |node: u32| (node < 3000 && node % 3 != 2).then(|| node - node / 3);
    for origin in [0, 2 * PS_PER_S] {
        match read::hpcc(text, Time::from_ps(origin), host_of) {
            Ok(flows) => {
                for flow in flows {
                    assert!(flow.src != flow.dst && flow.src < 2000 && flow.dst < 2000);
                    assert!(flow.priority < 8 && flow.size.get() > 0 && flow.size <= MAX_SIZE);
                    assert!(flow.start.as_ps() <= 10_000_001 * PS_PER_S);
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
