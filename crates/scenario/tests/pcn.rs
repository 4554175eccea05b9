//! PCN as people write it.
use crate::common::{report, says, validate};
use backwater_control::notify::{Mode, NotifyConfig};
use backwater_control::reaction::{PcnConfig, ReactionConfig};
use backwater_scenario::ValidScenario;
use backwater_units::Span;

const INCAST: &str = r#"
[topology]
kind = "star"
hosts = 5
rate = "100Gbps"
delay = "1us"
[cc]
kind = "pcn"
[[traffic]]
name = "in"
kind = "incast"
to = "h0"
size = "1MB"
"#;

fn incast(overrides: &[&str]) -> ValidScenario {
    validate(INCAST, overrides).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_profile_has_the_authors_numbers_and_95_percent_whatever_marks() {
    let profiles =
        ["authors", "ideal", "roce", "hpcc-ns3", "isolation"].map(|name| format!("profile={name}"));
    for profile in &profiles {
        for detector in ["switch.detector.kind=red", "switch.detector.kind=np-ecn"] {
            let spec = incast(&[profile, detector]).build();
            assert_eq!(spec.pairs[0].reaction, ReactionConfig::Pcn(PcnConfig::authors()));
            let notify = NotifyConfig { interval: Span::from_us(50), mode: Mode::Advice, fraction: 0.95 };
            assert_eq!(spec.pairs[0].notify, Some(notify), "{profile}, {detector}");
        }
    }
}

#[test]
fn a_share_of_its_own_counts_and_rates_that_nothing_marks_are_told() {
    let spec = incast(&["cc.np-fraction=0.5", "cc.cnp-interval=20us", "switch.detector.kind=red"]).build();
    let notify = NotifyConfig { interval: Span::from_us(20), mode: Mode::Advice, fraction: 0.5 };
    assert_eq!(spec.pairs[0].notify, Some(notify));
    let unmarked = incast(&["switch.detector.kind=none"]);
    let said: Vec<String> = unmarked.caveats().iter().map(|caveat| format!("{caveat:?}")).collect();
    assert!(said.iter().any(|caveat| caveat.contains("its rates only grow")), "{said:?}");
}

/// 4 294 967 295 B at 100 Gbps are 343.597 ms.
#[test]
fn a_period_whose_bytes_cannot_be_counted_is_refused() {
    incast(&["cc.cnp-interval=343ms"]);
    let said = report(INCAST, &["cc.cnp-interval=344ms"]);
    says(&said, &["cc.cnp-interval = 344ms is too long", "in 32 bits", "allowed: 343."]);
}
