//! What cannot work of switches with regions and of isolation is refused, with the reason, the range and a fix.

use crate::common::{PAPER, paper, report, says, valid};

/// What is wrong with the paper's network under ICI+ and these overrides.
#[track_caller]
fn wrong(overrides: &[&str]) -> String {
    let overrides: Vec<&str> = ["switch.isolation.kind=ici-plus", "switch.detector.kind=none"]
        .into_iter()
        .chain(overrides.iter().copied())
        .collect();
    report(PAPER, &overrides)
}

#[test]
fn isolation_needs_switches_with_regions() {
    let text = PAPER.replace("profile = \"isolation\"", "profile = \"ideal\"");
    says(
        &report(&text, &["switch.isolation.kind=ici-plus"]),
        &[
            "switch.isolation.kind = \"ici-plus\" needs switch.queueing = \"combined\"",
            "not with these queues",
            "profile = \"isolation\"",
        ],
    );
}

#[test]
fn what_does_not_go_together_with_a_crossbar_says_what_does() {
    let refused = |set: &str, wanted: &[&str]| says(&report(PAPER, &[set]), wanted);
    refused(
        "switch.switching=cut-through",
        &["cut-through\" does not work with queueing = \"combined\"", "store-and-forward"],
    );
    refused("switch.flow-control=credits", &["PAUSE and RESUME", "switch.flow-control = \"pfc\""]);
    refused("switch.arbiter=weighted", &["switch.arbiter = \"deficit\""]);
    refused("switch.pfc.form=timed", &["hold until RESUME", "write switch.pfc.form = \"ideal\""]);
    refused("switch.pfc.threshold=dynamic", &["no memory to share", "switch.combined.stop is the threshold"]);
    refused(
        "switch.combined.speedup=0.9",
        &["switch.combined.speedup = 0.9 is out of range", "allowed: 1 to 10"],
    );
    refused("switch.combined.speedup=1.505", &["steps of 0.01", "write 1.5"]);
    refused(
        "switch.combined.go=200KiB",
        &["switch.combined.go = 200KiB is not below switch.combined.stop = 200KiB"],
    );
    refused(
        "switch.combined.egress=4000B",
        &["switch.combined.egress = 4KB holds no packet", "at least 4KiB"],
    );
    refused(
        "switch.queueing=crosspoint",
        &["\"crosspoint\" is not known", "output, voq, oldest-first, input, shared, two-pools, combined"],
    );
}

#[test]
fn what_only_a_combined_switch_has_is_refused_elsewhere() {
    let elsewhere = |overrides: &[&str]| report(crate::common::SMALL, overrides);
    says(
        &elsewhere(&["switch.arbiter=deficit", "switch.queueing=voq"]),
        &["switch.arbiter = \"deficit\" needs one queue for each priority", "switch.queueing = \"voq\""],
    );
    for (set, wanted) in [("at=enqueue", "at = \"enqueue\" needs"), ("basis=port", "basis = \"port\" needs")]
    {
        let report = elsewhere(&["switch.detector.kind=red", &format!("switch.detector.red.{set}")]);
        says(&report, &[wanted, "only with combined"]);
    }
}

#[test]
fn an_ingress_region_without_headroom_shows_the_sum() {
    // 100 Gbps · 2 · 5 us = 125 000 B on the cable; 3 packets of 4096 B; 64 B of PAUSE; stop = 204 800 B: 342 152 B
    let report = report(PAPER, &["topology.delay=5us"]);
    says(
        &report,
        &[
            "an ingress region of 256KiB is too small",
            "switch.combined.stop = 200KiB may have to hold 342.152KB",
            "on the cable, both ways (2*5us*100Gbps): 125KB",
            "in all: 342.152KB",
            // 137 352 B above stop are 14/64 of 627 895 B, in whole KiB
            "raise switch.combined.ingress to 614KiB or more",
            // 262 144 - 137 352
            "lower switch.combined.stop to at most 124.792KB",
        ],
    );
    valid(PAPER, &["topology.delay=5us", "switch.combined.ingress=614KiB"]);
    valid(PAPER, &["topology.delay=5us", "switch.combined.stop=124.792KB"]);
    let given = crate::common::report(PAPER, &["topology.delay=5us", "switch.combined.stop=200KiB"]);
    says(&given, &["raise switch.combined.ingress to 335KiB or more"]);
    let far = crate::common::report(PAPER, &["topology.delay=20us", "switch.isolation.kind=ci"]);
    says(&far, &["or shorten the link", "PAUSE itself is sent: 128B"]);
}

#[test]
fn without_flow_control_there_is_nothing_to_leave_headroom_for() {
    valid(PAPER, &["topology.delay=5us", "switch.flow-control=none"]);
    says(
        &wrong(&["switch.flow-control=none"]),
        &["\"ici-plus\" needs PFC", "write switch.flow-control = \"pfc\""],
    );
}

#[test]
fn a_cfq_that_pauses_before_anybody_is_notified_is_refused() {
    let why = "the CFQ would pause its upstream before anybody is notified";
    let report = wrong(&["switch.isolation.cim.level=68KiB"]);
    says(
        &report,
        &[
            why,
            "cim.level = 68KiB is not below switch.isolation.cfq.stop = 68KiB",
            "allowed: cim.level below 68KiB",
        ],
    );
    says(
        &wrong(&["switch.isolation.cfq.stop=30KiB"]),
        &[why, "cim.level = 32KiB", "cim.on = \"allocation\""],
    );
    paper(&[
        "switch.isolation.kind=ci",
        "switch.isolation.cfq.stop=30KiB",
        "switch.isolation.cim.on=allocation",
    ]);
}

#[test]
fn classes_that_do_not_fit_into_a_port_are_refused() {
    says(
        &wrong(&["switch.isolation.nfq.stop=140KiB"]),
        &[
            "nfq.stop + cfq.stop = 140KiB + 68KiB = 208KiB is more than switch.combined.stop = 200KiB",
            "one full class would pause the other",
        ],
    );
    says(
        &wrong(&["switch.isolation.cfq.cap=128KiB"]),
        &[
            "nfq.cap + cfq.cap = 144KiB + 128KiB = 272KiB is more than switch.combined.egress = 256KiB",
            "take the room of the NFQ",
        ],
    );
    says(
        &wrong(&["switch.isolation.cfq.cap=4095B"]),
        &["cfq.cap = 4.095KB holds no packet", "at least 4KiB"],
    );
    says(
        &wrong(&["switch.isolation.nfq.go=88KiB"]),
        &["nfq.go = 88KiB is not below switch.isolation.nfq.stop = 88KiB"],
    );
    let two = "switch.combined.egress = 6KB leaves each of 2 priorities with traffic 3KB, less than a packet of 4KiB";
    let second = PAPER.split("[[traffic]]").nth(1).unwrap().replace("\"one\"", "\"two\"");
    let text = format!("{PAPER}[[traffic]]{second}priority = 5\n");
    says(&report(&text, &["switch.combined.egress=6KB"]), &[two, "at least 8KiB"]);
}

#[test]
fn levels_that_no_queue_can_reach_are_refused() {
    says(
        &wrong(&["switch.isolation.detect=145KiB"]),
        &[
            "detect = 145KiB is more than an NFQ can have",
            "nfq.cap = 144KiB",
            "no flow would ever be isolated",
        ],
    );
    says(
        &wrong(&["switch.isolation.nfq.cap=40KiB"]),
        &["detect = 48KiB is more than", "nfq.cap = 40KiB", "at most 40KiB"],
    );
    says(
        &wrong(&["switch.isolation.ici.quorum=150KiB"]),
        &["ici.quorum = 150KiB", "no port would ever be a root"],
    );
    says(
        &wrong(&["switch.isolation.early=88KiB"]),
        &["early = 88KiB", "nfq.stop = 88KiB", "allowed: below 88KiB", "\"0B\""],
    );
    says(&wrong(&["switch.isolation.detect=0B"]), &["detect = 0B is not allowed"]);
    paper(&["switch.isolation.kind=ici", "switch.isolation.detect=144KiB", "switch.isolation.early=44KiB"]);
}

#[test]
fn ramps_that_fall_are_refused() {
    let ramp = |set: &str| wrong(&[&format!("switch.isolation.ici-plus.{set}")]);
    says(&ramp("congested.kmin=97KiB"), &["kmin = 99.328KB is not allowed", "at most kmax"]);
    says(
        &ramp("monitored.kmax=8KiB"),
        &["monitored.kmax = 8KiB is below kmin, which is 40KiB by default", "write a lower kmin"],
    );
    says(&ramp("monitored.pmax=1.5"), &["pmax", "0 to 1"]);
    says(&wrong(&["switch.isolation.ici.share=1.5"]), &["share", "0 to 1"]);
}

#[test]
fn traffic_beside_the_two_classes_is_refused() {
    let second = PAPER.split("[[traffic]]").nth(1).unwrap().replace("\"one\"", "\"two\"");
    let with = |priority: u8| format!("{PAPER}[[traffic]]{second}priority = {priority}\n");
    let on = ["switch.isolation.kind=ici", "switch.detector.kind=none"];
    says(
        &report(&with(2), &on),
        &["traffic.two uses priority 2, which is that of the CFQ", "switch.isolation.cfq-priority"],
    );
    says(
        &report(&with(5), &on),
        &["traffic.two uses priority 5", "3 (NFQ) and 2 (CFQ)", "switch.isolation.priority = 5"],
    );
    says(
        &report(PAPER, &[on[0], "ack.every=1", "ack.priority=1"]),
        &["ack.priority uses priority 1", "3 (NFQ) and 2 (CFQ)"],
    );
    says(
        &wrong(&["switch.isolation.cfq-priority=3"]),
        &["cfq-priority = 3 is the priority of the NFQ, too", "such as 2"],
    );
    says(&wrong(&["switch.isolation.cfq-priority=7"]), &["cfq-priority = 7 is the control priority"]);
    says(
        &wrong(&["switch.pfc.priorities=[3]"]),
        &["switch.pfc.priorities does not list 2, the priority of the CFQ"],
    );
    paper(&[on[0], on[1], "ack.every=1", "ack.priority=7"]);
}

#[test]
fn sums_and_followed_packets_need_a_period_and_entries() {
    says(
        &report(PAPER, &["probe.delivered=true"]),
        &["probe.delivered = true needs a period", "probe.sample = \"50us\""],
    );
    says(
        &report(PAPER, &["probe.packets=[\"on\"]"]),
        &["no traffic entry is named \"on\"", "did you mean \"one\"?"],
    );
    let spec = paper(&[
        "probe.delivered=true",
        "probe.sample=50us",
        "probe.packets=[\"one\"]",
        "probe.isolation=true",
    ])
    .build();
    assert!(spec.probe.delivered && spec.probe.isolation && spec.probe.packets == [true]);
}
#[test]
fn a_root_is_a_key_only_where_there_is_one_way_to_each_host() {
    let text = PAPER.replace(
        "kind = \"star\"\nhosts = 4",
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 2",
    );
    let root = ["switch.isolation.kind=ici", "switch.isolation.key=root", "switch.detector.kind=none"];
    says(
        &report(&text, &root),
        &["key = \"root\" needs one way to each destination", "topology.routing = \"d-mod-k\""],
    );
    valid(&text, &[&root[..], &["topology.routing=d-mod-k"]].concat());
    paper(&root);
}

#[test]
fn ci_has_mirrors_for_128_ports() {
    let hosts = |count: &str, kind: &str| {
        [format!("topology.hosts={count}"), format!("switch.isolation.kind={kind}")]
    };
    let ci = hosts("129", "ci");
    says(
        &report(PAPER, &[&ci[0], &ci[1]]),
        &["a switch has 129", "allowed: switches of up to 128 ports", "\"ici\""],
    );
    for (count, kind) in [("128", "ci"), ("129", "ici")] {
        let set = hosts(count, kind);
        paper(&[&set[0], &set[1]]);
    }
}

#[test]
fn ramps_that_begin_beyond_what_a_queue_may_have_are_refused() {
    let report = wrong(&["switch.isolation.ici-plus.monitored.kmin=150KiB"]);
    says(&report, &["switch.isolation.ici-plus.monitored.kmin = 153.6KB is not allowed", "below nfq.cap"]);
}

#[test]
fn a_table_has_a_number_of_slots_or_any_number() {
    says(&wrong(&["switch.isolation.slots=many"]), &["slots = \"many\" is not known", "unlimited"]);
    says(&wrong(&["switch.isolation.slots=-1"]), &["slots = -1 is out of range", "0 to 1000000"]);
}

#[test]
fn isolation_watches_a_priority_that_carries_traffic_or_is_refused() {
    says(
        &wrong(&["switch.isolation.priority=5"]),
        &[
            "uses priority 3, but isolation divides the ports between 5 (NFQ)",
            "or set switch.isolation.priority = 3",
        ],
    );
    // Traffic that is nowhere but on the control priority passes by all queues.
    says(
        &wrong(&["traffic.priority=0", "switch.control-priority=0", "switch.isolation.priority=3"]),
        &["uses priority 0, the control priority", "choose another priority"],
    );
}
