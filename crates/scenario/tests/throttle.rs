//! Hosts that throttle themselves (PFT): what profile hpc says about them, and what cannot work.

use crate::common::{Said, report, says, valid, validate};
use backwater_scenario::settings::ThrottleKind;

/// A star of the links of the PFT paper.
const HPC: &str = r#"
profile = "hpc"
[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "100ns"

[[traffic]]
name = "one"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
"#;

const PFT: &str = "host.throttle.kind=pft";

fn wrong(overrides: &[&str]) -> String {
    report(HPC, &[&[PFT], overrides].concat())
}

fn caveats(overrides: &[&str]) -> String {
    valid(HPC, &[&[PFT], overrides].concat()).caveats().said()
}

#[test]
fn the_best_setting_of_the_paper_is_the_default_and_off() {
    let scenario = valid(HPC, &[]);
    assert_eq!(scenario.settings().host.throttle.kind, ThrottleKind::None);
    let pft = &scenario.resolved()["host"]["throttle"]["pft"];
    assert_eq!((&pft["enter"], &pft["escape"]), (&serde_json::json!(0x250), &serde_json::json!(0x2a0)));
    assert_eq!((&pft["rule"], &pft["interval"]), (&"average".into(), &"random".into()));
    assert_eq!((&pft["m"], &pft["n"], &pft["k"]), (&18.into(), &0.into(), &0.into()));
    assert!(caveats(&[]).is_empty());
}

#[test]
fn the_buffer_of_64_kib_is_4096_credits_of_16_bytes() {
    // With one virtual lane c can be 4096, so 4095 is the last threshold that it can exceed.
    assert!(validate(HPC, &[PFT, "host.throttle.pft.enter=4095"]).is_ok());
    says(
        &wrong(&["host.throttle.pft.enter=4096"]),
        &["pft.enter = 4096", "4096 credits of 16B", "allowed: 0 to 4095"],
    );
    // InfiniBand's credits are four times as large.
    let blocks = "switch.credits.unit=64B";
    says(&wrong(&[blocks, "host.throttle.pft.enter=1024"]), &["1024 credits of 64B", "allowed: 0 to 1023"]);
    assert!(validate(HPC, &[PFT, blocks, "host.throttle.pft.enter=1023"]).is_ok());
}

#[test]
fn a_fixed_threshold_below_its_escape_is_refused_and_algorithm_1_explained() {
    let told = wrong(&["host.throttle.pft.rule=fixed"]);
    says(
        &told,
        &["pft.enter = 592 is below escape = 672", "Algorithm 1", "t_e >= t_s", "allowed: 672 to 4095"],
    );
    says(&told, &["rule = \"average\"", "duty-cycled throttle", "credits = \"available\""]);
    assert!(
        validate(HPC, &[PFT, "host.throttle.pft.rule=fixed", "host.throttle.pft.enter=672"]).is_ok(),
        "equal thresholds are one"
    );
    // What is left of C: enter when 592 are left, escape when 672 are; that is the order Algorithm 1 asks for.
    let available = ["host.throttle.pft.rule=fixed", "host.throttle.pft.credits=available"];
    assert!(validate(HPC, &[&[PFT], &available[..]].concat()).is_ok());
    let exchanged =
        [&available[..], &["host.throttle.pft.enter=672", "host.throttle.pft.escape=592"]].concat();
    says(
        &wrong(&exchanged),
        &["pft.enter = 672 is above escape = 592", "allowed: 0 to 592", "credits = \"used\""],
    );
}

#[test]
fn a_throttle_needs_credits_to_count() {
    let told = report(crate::common::SMALL, &[PFT]);
    says(
        &told,
        &[
            "host.throttle.kind = \"pft\" goes by the credits",
            "switch.flow-control = \"credits\"",
            "--set host.throttle.kind",
        ],
    );
    // Credits that come back every Tc are credits too.
    assert!(
        validate(crate::common::SMALL, &[PFT, "profile=infiniband", "switch.credits.buffer=900KB"]).is_ok()
    );
}

#[test]
fn a_window_is_longer_than_what_ends_it() {
    says(
        &wrong(&["host.throttle.pft.average.enter-hits=1024"]),
        &["host.throttle.pft.average.enter-hits = 1024", "T_e > T_e'", "allowed: 1 to 1023"],
    );
    says(
        &wrong(&["host.throttle.pft.average.escape-window=1"]),
        &["host.throttle.pft.average.escape-hits = 768", "T_s > T_s'", "escape-window is too short"],
    );
    assert!(
        validate(HPC, &[PFT, "host.throttle.pft.average.enter-hits=1023", "host.throttle.pft.rule=average"])
            .is_ok()
    );
    assert_eq!(
        caveats(&["host.throttle.pft.rule=fixed", "host.throttle.pft.enter=700"]),
        "",
        "the profile's windows are nobody's mistake"
    );
}

#[test]
fn thresholds_that_credits_cannot_cross_are_refused() {
    says(&wrong(&["host.throttle.pft.escape=0"]), &["cannot use less than none", "allowed: 1 to 4096"]);
    says(&wrong(&["host.throttle.pft.escape=4097"]), &["no port would stay congested", "allowed: 1 to 4096"]);
    let left = "host.throttle.pft.credits=available";
    says(
        &wrong(&[left, "host.throttle.pft.enter=0"]),
        &["cannot have less than none left", "allowed: 1 to 4096"],
    );
    says(&wrong(&[left, "host.throttle.pft.enter=5000"]), &["always be congested", "allowed: 1 to 4096"]);
    says(
        &wrong(&[left, "host.throttle.pft.escape=4096"]),
        &["stay congested for ever", "allowed: 0 to 4095"],
    );
}

#[test]
fn a_law_that_never_lets_a_flit_go_is_refused() {
    // k = 2^30: no random number below 2^30 is as large, whatever has been used.
    says(
        &wrong(&["host.throttle.pft.k=1073741824"]),
        &["pft.k = 1073741824", "allowed: up to 1073741823", "raise random-bits"],
    );
    assert!(validate(HPC, &[PFT, "host.throttle.pft.k=1073741823"]).is_ok());
    assert!(
        validate(
            HPC,
            &[
                PFT,
                "host.throttle.pft.interval=fixed",
                "host.throttle.pft.m=0",
                "host.throttle.pft.n=8",
                "host.throttle.pft.k=1073741824"
            ]
        )
        .is_ok()
    );
    for m in [0, 15, 22, 63] {
        assert!(
            validate(HPC, &[PFT, &format!("host.throttle.pft.m={m}")]).is_ok(),
            "any shift of 64 bits is allowed"
        );
    }
    says(&wrong(&["host.throttle.pft.m=64"]), &["pft.m = 64 is out of range", "allowed: 0 to 63"]);
}

#[test]
fn a_law_that_holds_nothing_back_is_a_caveat() {
    // 4096 >> 13 = 0
    let told =
        caveats(&["host.throttle.pft.interval=fixed", "host.throttle.pft.m=0", "host.throttle.pft.n=13"]);
    says(&told, &["host.throttle.kind = \"pft\" has no effect", "any of the 4096 credits"]);
    assert!(
        caveats(&["host.throttle.pft.interval=fixed", "host.throttle.pft.m=0", "host.throttle.pft.n=12"])
            .is_empty(),
        "4096 >> 12 = 1"
    );
}

#[test]
fn an_interval_that_stops_a_port_is_a_caveat() {
    // 592 << 18
    let told = caveats(&["host.throttle.pft.interval=fixed"]);
    says(&told, &["f(592) = 155189248 idle cycles", "m = 0 and n from 8 to 12"]);
    // 592 left of 4096 are 3504 used: 3504 >> 2 = 876, 3504 >> 1 = 1752
    let left =
        ["host.throttle.pft.interval=fixed", "host.throttle.pft.m=0", "host.throttle.pft.credits=available"];
    assert!(caveats(&[&left[..], &["host.throttle.pft.n=2"]].concat()).is_empty());
    says(&caveats(&[&left[..], &["host.throttle.pft.n=1"]].concat()), &["f(3504) = 1752"]);
}

#[test]
fn a_threshold_that_line_rate_crosses_is_a_caveat() {
    // 2 tp = 200 ns are 2500 B; with the packet that delays an update four packets of 130 credits are under way.
    let told = caveats(&["host.throttle.pft.enter=519"]);
    says(&told, &["may use 520 credits", "above host.throttle.pft.enter = 519"]);
    assert!(caveats(&["host.throttle.pft.enter=520"]).is_empty());
}

#[test]
fn lanes_share_the_credits_that_a_port_counts() {
    let two = format!(
        "{HPC}\n[[traffic]]\nname = \"two\"\nkind = \"flow\"\nfrom = \"h2\"\nto = \"h3\"\nsize = \"1MB\"\npriority = 2\n"
    );
    let limit = |per: &str| report(&two, &[PFT, "host.throttle.pft.enter=4096", per]);
    says(&limit("host.throttle.pft.per=port"), &["4096 credits of 16B"]);
    says(&limit("host.throttle.pft.per=vl"), &["2048 credits of 16B"]);
}

#[test]
fn what_no_throttle_reads_is_a_caveat() {
    let told = |overrides: &[&str]| valid(HPC, overrides).caveats().said();
    says(
        &told(&["host.throttle.pft.m=15"]),
        &["without effect with host.throttle.kind = \"none\": host.throttle.{pft}"],
    );
    says(
        &told(&[
            PFT,
            "host.throttle.pft.rule=fixed",
            "host.throttle.pft.enter=700",
            "host.throttle.pft.average.enter-hits=5",
        ]),
        &["pft.rule = \"fixed\": host.throttle.pft.{average}"],
    );
    says(
        &told(&[
            PFT,
            "host.throttle.pft.interval=fixed",
            "host.throttle.pft.m=0",
            "host.throttle.pft.n=8",
            "host.throttle.pft.random-bits=20",
        ]),
        &["pft.interval = \"fixed\": host.throttle.pft.{random-bits}"],
    );
}

#[test]
fn a_packet_must_fit_the_buffer_in_whole_credits() {
    // 2080 B are 130 credits of 16 B, but 33 of 64 B, 2112 B.
    assert!(validate(HPC, &["switch.credits.buffer=2080B"]).is_ok());
    let told = report(HPC, &["switch.credits.buffer=2080B", "switch.credits.unit=64B"]);
    says(&told, &["holds no packet", "a packet takes 2.112KB"]);
}

#[test]
fn a_link_of_several_flits_in_a_cycle_or_of_a_part_of_one_is_a_caveat() {
    // 200 Gbps are 1562.5 million flits of 16 B in a second.
    let at = |clock: &str| caveats(&["topology.rate=200Gbps", clock]);
    says(
        &at("host.throttle.pft.clock-mhz=700"),
        &[
            "clock-mhz = 700",
            "a link of 200Gbps carries 2.23 flits of 16B in a cycle",
            "set clock-mhz = 1562",
        ],
    );
    assert!(!at("host.throttle.pft.clock-mhz=782").contains("clock-mhz"));
    assert!(!at("host.throttle.pft.clock-mhz=3123").contains("clock-mhz"));
    says(&at("host.throttle.pft.clock-mhz=3124"), &["carries 0.50 flits of 16B in a cycle"]);
    // 100 Mbps are less than one flit in a microsecond; a clock has 1 MHz at least.
    says(&caveats(&["topology.rate=100Mbps"]), &["set clock-mhz = 1 for"]);
}
