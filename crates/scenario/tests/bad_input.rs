//! Every kind of bad input is refused before anything runs, with its place, its value, what is allowed, and a fix.

use crate::common::{Folder, SMALL, report, says};
use backwater_scenario::Scenario;

#[test]
fn a_misspelt_key_is_shown_in_its_line_with_the_nearest_match() {
    let text = format!("{SMALL}\n[switch.pfc]\nxof = \"320KB\"\n");
    let error = report(&text, &[]);
    says(
        &error,
        &[
            "test.toml:16:1",
            "unknown key \"xof\" in switch.pfc",
            "did you mean \"xoff\"?",
            "the keys here are",
        ],
    );
}

#[test]
fn everything_that_is_wrong_is_reported_at_once_in_the_order_of_the_text() {
    let text = SMALL.replace("hosts = 4", "hosts = -4").replace("1us", "1sec").replace("1MB", "1Mb");
    let error = report(&text, &[]);
    let order = [
        "topology.hosts = -4 is out of range",
        "topology.delay = \"1sec\"",
        "traffic.one.size = \"1Mb\"",
        "3 problems",
    ];
    let places: Vec<_> = order
        .iter()
        .map(|part| error.find(part).unwrap_or_else(|| panic!("{part} not in {error}")))
        .collect();
    assert!(places.is_sorted(), "{error}");
    says(&error, &["allowed: 1 to 1024", "expected one of the units ps, ns, us, ms, s", "B, KB, MB"]);
}

#[test]
fn a_rate_of_zero_a_negative_and_an_overflowing_number_are_out_of_range() {
    says(&report(SMALL, &["topology.rate=0Gbps"]), &["topology.rate = \"0Gbps\"", "from 1Kbps to 100Tbps"]);
    says(&report(SMALL, &["topology.rate=-1Gbps"]), &["non-negative"]);
    says(&report(SMALL, &["topology.rate=99999999999999Gbps"]), &["too large for 64 bits"]);
    says(
        &report(SMALL, &["run.seed=99999999999999999999"]),
        &["run.seed = 99999999999999999999 is out of range"],
    );
    says(
        &report(SMALL, &["run.seed=999999999999999999999999999999999999999999"]),
        &["is a text, expected a whole number"],
    );
    says(&report(SMALL, &["cc.dcqcn.g=nan"]), &["cc.dcqcn.g = \"nan\" is a text, expected a number"]);
    says(&report(SMALL, &["traffic.one.size=0B"]), &["traffic.one.size", "from 1B to"]);
    says(&report(SMALL, &["topology.delay=0us"]), &["topology.delay", "from 1ps to 1s"]);
}

#[test]
fn what_lies_beyond_the_longest_run_is_refused() {
    // 54 bits of picoseconds are 18 014.4 s
    assert_eq!(backwater_fabric::LONGEST_RUN.as_ps(), 1 << 54);
    assert!(crate::common::small(&["run.until=18014s"]).is_ok());
    says(
        &report(SMALL, &["run.until=18015s"]),
        &["run.until = \"18015s\" is not allowed", "from 1ps to 18014s", "--set run.until=18015s"],
    );
    assert!(crate::common::small(&["traffic.one.start=18014s"]).is_ok());
    says(
        &report(SMALL, &["traffic.one.start=18014.5s"]),
        &["traffic.one.start = \"18014.5s\" is not allowed", "at most 18014s"],
    );
    let bursts = SMALL.replace("\"flow\"", "\"bursts\"\nrounds = 3\ninterval = \"9007.2s\"");
    says(
        &report(&bursts, &[]),
        &[
            "test.toml:12",
            "traffic.one: a flow starts at 18014.4s, which no run reaches",
            "allowed: starts from 0s to 18014398509481983ps",
            "start earlier",
        ],
    );
}

#[test]
fn a_number_without_unit_and_a_unit_without_quotes_are_explained() {
    says(
        &report(SMALL, &["topology.delay=4"]),
        &["topology.delay = 4 is a whole number, expected a time in quotes"],
    );
    says(&report(&SMALL.replace("\"1us\"", "1us"), &[]), &["this is not TOML", "test.toml:6"]);
}

#[test]
fn an_unknown_word_lists_the_known_ones() {
    let error = report(SMALL, &["switch.pfc.form=timd", "profile=author"]);
    says(&error, &["did you mean \"timed\"?", "choose one of timed, ideal", "did you mean \"authors\"?"]);
    says(&report(SMALL, &["topology.kind=ring"]), &["choose one of tcd-figure-2", "fat-tree"]);
}

#[test]
fn a_word_of_an_earlier_version_says_what_to_write_now() {
    let error = report(SMALL, &["switch.pfc.form=off"]);
    says(&error, &["switch.pfc.form = \"off\"", "no longer a value", "write switch.flow-control = \"none\""]);
}

#[test]
fn a_key_that_an_inner_table_has_is_shown_with_that_table() {
    let beta = format!("{SMALL}\n[cc]\nkind = \"timely\"\nbeta = 1.6\n");
    says(
        &report(&beta, &[]),
        &[
            "unknown key \"beta\" in cc",
            "did you mean \"cc.swift.beta\" or \"cc.timely.beta\"?",
            "a key of [cc.swift] and of [cc.timely]",
        ],
    );
    says(&report(SMALL, &["cc.t-low=1us"]), &["did you mean \"cc.timely.t-low\"?"]);
    says(&report(SMALL, &["cc.increase=2"]), &["did you mean \"cc.ib-cc.increase\"?"]);
    says(&report(SMALL, &["switch.period=40us"]), &["\"switch.credits.period\""]);
}

#[test]
fn a_missing_table_or_key_is_named_with_its_meaning() {
    says(&report("[run]\nseed = 1\n", &[]), &["the scenario has no topology"]);
    let idle = "[topology]\nkind = \"star\"\nhosts = 4\nrate = \"40Gbps\"\ndelay = \"1us\"\n";
    says(&report(idle, &[]), &["there is no traffic", "add a [[traffic]] or a [[job]] entry"]);
    says(&report(&SMALL.replace("hosts = 4", ""), &[]), &["topology has no hosts", "Number of hosts"]);
    says(&report(&SMALL.replace("kind = \"flow\"", ""), &[]), &["traffic.one has no kind", "hpcc-flows"]);
    says(&report("", &[]), &["the scenario is empty"]);
}

#[test]
fn a_flow_to_itself_to_nobody_or_to_a_switch_is_refused() {
    says(&report(SMALL, &["traffic.to=h0"]), &["traffic.one: a flow from h0 to itself"]);
    says(&report(SMALL, &["traffic.to=h9"]), &["there is no host \"h9\"", "the hosts are h0, h1, h2, h3"]);
    says(&report(SMALL, &["traffic.to=s"]), &["\"s\" is a switch, not a host"]);
    says(&report(SMALL, &["traffic.to=x*"]), &["the pattern \"x*\" fits no host"]);
    says(&report(SMALL, &["traffic.to=[]"]), &["no hosts are named"]);
}

const EDGES: &str = r#"profile = "authors"
[topology]
kind = "edges"
hosts = ["a", "b", "c"]
switches = ["s", "t"]
links = [
    { a = "a", b = "s", rate = "40Gbps", delay = "1us" },
    { a = "b", b = "s", rate = "40Gbps", delay = "1us" },
    { a = "c", b = "t", rate = "40Gbps", delay = "1us" },
    LAST
]
[[traffic]]
name = "one"
kind = "flow"
from = "a"
to = "b"
size = "1KB"
"#;

#[test]
fn unreachable_pairs_and_duplicate_links_are_shown_where_they_are() {
    let links = |last: &str| EDGES.replace("LAST", last);
    says(&report(&links(""), &[]), &["no path leads from host", "test.toml:2"]);
    let twice = report(&links("{ a = \"s\", b = \"a\", rate = \"40Gbps\", delay = \"1us\" },"), &[]);
    says(&twice, &["test.toml:10", "link 3 joins", "again, as link 0 does"]);
    says(
        &report(&links("{ a = \"s\", b = \"x\", rate = \"40Gbps\", delay = \"1us\" },"), &[]),
        &["names the node \"x\""],
    );
    says(
        &report(&links("{ a = \"s\", b = \"s\", rate = \"40Gbps\", delay = \"1us\" },"), &[]),
        &["joins \"s\" to itself"],
    );
}

#[test]
fn a_buffer_without_headroom_is_refused_with_the_arithmetic() {
    // 4 ports x (329.6 KB + 2 x 1 us x 100 Gbps / 8 + 2 x 1020 B + 31 B) = 4 x (329 600 + 25 000 + 2 071) = 1 426 684 B
    let error = report(SMALL, &["switch.buffer=1426KB"]);
    says(
        &error,
        &[
            "switch s has no headroom",
            "it may have to hold 1.427MB",
            "its buffer is 1.426MB",
            "4 ports",
            "--set switch.buffer",
        ],
    );
    assert!(crate::common::small(&["switch.buffer=1427KB"]).is_ok());
}

#[test]
fn what_is_wrong_at_every_switch_alike_is_told_once_of_the_worst() {
    // A fat tree of k = 4 has 20 switches of 4 ports each; SMALL's arithmetic holds for each of them.
    let tree = SMALL.replace("kind = \"star\"\nhosts = 4", "kind = \"fat-tree\"\nk = 4");
    let error = report(&tree, &["switch.buffer=1426KB"]);
    says(&error, &["it may have to hold 1.427MB", "19 more like it: ", ", …", "1 problem;"]);
}

#[test]
fn words_that_are_written_by_ear_or_come_from_elsewhere_are_understood() {
    says(&report(SMALL, &["switch.pfc.alfa=0.5"]), &["did you mean \"alpha\"?"]);
    says(&report(SMALL, &["run.end=1ms"]), &["did you mean \"until\"?", "until is when it ends"]);
    says(&report(SMALL, &["switch.ecn=true"]), &["did you mean \"detector\"?", "kind = \"red\" is ECN"]);
}

#[test]
fn a_dynamic_buffer_without_shared_memory_is_refused_with_the_arithmetic() {
    // the HPCC simulator wraps around here: 64 ports at 100 Gbps and 1 us, 2 MiB (37.5 KB headroom + 4 KiB reserve each)
    let error = report(SMALL, &["profile=hpcc-ns3", "topology.hosts=64", "switch.buffer=2MiB"]);
    says(&error, &["switch s has no memory to share", "headroom of its 64 ports 2.4MB", "reserve 263KB"]);
    let error = report(SMALL, &["profile=hpcc-ns3", "switch.pfc.headroom=1KB"]);
    says(&error, &["is less than the 28.187KB that it may have to hold"]);
}

#[test]
fn values_that_contradict_each_other_are_refused() {
    says(&report(SMALL, &["switch.pfc.xon=1MB"]), &["switch.pfc.xon = 1MB is above switch.pfc.xoff"]);
    says(&report(SMALL, &["switch.detector.kmin=1MB"]), &["switch.detector"]);
    says(&report(SMALL, &["switch.pfc.poll=9us"]), &["longer than a pause"]);
    says(&report(SMALL, &["switch.pfc.threshold=dynamic", "switch.pfc.alpha=0.3"]), &["no power of two"]);
    says(&report(SMALL, &["traffic.priority=7"]), &["the control priority"]);
    says(&report(SMALL, &["switch.pfc.priorities=[3,7]"]), &["never paused"]);
    says(&report(SMALL, &["cc.min-rate=200Gbps"]), &["more than the slowest host link, 100Gbps"]);
    says(&report(SMALL, &["cc.dcqcn.variant=decrease-check"]), &["needs ACKs", "ack.every = 1"]);
    says(
        &report(
            SMALL,
            &[
                "switch.detector.tcd.epsilon=0.1",
                "switch.detector={ kind = \"tcd\", tcd = { max-ton = \"9us\", epsilon = 0.1 } }",
            ],
        ),
        &["both"],
    );
    says(&report(SMALL, &["probe.ports=[\"h9->s\"]"]), &["\"h9->s\" is no port of this network"]);
    says(&report(SMALL, &["probe.rates=[\"two\"]"]), &["no traffic entry is named \"two\""]);
}

#[test]
fn traffic_that_cannot_be_generated_says_what_it_needs() {
    let entry = |keys: &str| format!("{}{keys}", SMALL.split("[[traffic]]").next().unwrap());
    let poisson = |keys: &str| {
        report(&entry(&format!("[[traffic]]\nname=\"p\"\nkind=\"poisson\"\nload=0.5\n{keys}")), &[])
    };
    says(&poisson("cdf=\"hadoop\""), &["no end is given"]);
    says(&poisson("flows=5"), &["no flow sizes are given"]);
    says(&poisson("cdf=\"hadoop\"\nflows=5\nuntil=\"1ms\""), &["both until and flows"]);
    says(&poisson("cdf=\"hadoop\"\nuntil=\"100000s\""), &["at most 20000000 flows"]);
    says(&poisson("file=\"nowhere.txt\"\nflows=5"), &["\"nowhere.txt\" cannot be read", "looked for /"]);
    let endless = entry("[[traffic]]\nname=\"l\"\nkind=\"long-lived\"\nfrom=\"h0\"\nto=\"h1\"\n");
    says(&report(&endless, &[]), &["this run never ends"]);
    let constant = "[[traffic]]\nname=\"c\"\nkind=\"constant\"\nfrom=\"h0\"\nto=\"h1\"\nsize=\"1KB\"\nrate=\"101Gbps\"\n";
    says(&report(&entry(constant), &[]), &["more than the link of the source, 100Gbps"]);
    says(
        &report(&entry(constant), &["traffic.rate=1Gbps", "traffic.control=cc"]),
        &["a constant source has its own rate"],
    );
    says(&report(SMALL, &["traffic.size=1000TB", "packet.payload=1B"]), &["more than 2^31 - 2 packets"]);
}

#[track_caller]
fn file_report(path: &std::path::Path) -> String {
    match Scenario::load(path, &[]).and_then(Scenario::validate) {
        Ok(_) => panic!("this scenario should be refused"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_scenario_that_is_not_there_empty_or_not_utf8_is_refused() {
    let folder = Folder::new("scenario");
    says(&file_report(&folder.0.join("none.toml")), &["cannot be read", "none.toml"]);
    says(&file_report(&folder.write("empty.toml", b"")), &["the scenario is empty"]);
    says(&file_report(&folder.write("latin.toml", b"# caf\xe9\n")), &["the file is not UTF-8: byte 6"]);
}

#[test]
fn a_bad_data_file_is_named_with_its_line() {
    let folder = Folder::new("data");
    let scenario = |topology: &str, traffic: &str| {
        let text = format!("[topology]\n{topology}\n[[traffic]]\nname = \"t\"\n{traffic}\n");
        file_report(&folder.write("s.toml", text.as_bytes()))
    };
    let star = "kind = \"star\"\nhosts = 4\nrate = \"100Gbps\"\ndelay = \"1us\"";
    let cdf = "kind = \"poisson\"\nfile = \"cdf.txt\"\nload = 0.5\nflows = 10";
    for (bytes, wanted) in [
        (&b""[..], "has no points"),
        (b"0 0\n100 60\n50 100\n", "line 3"),
        (b"0 0\n100 60\n", "ends at 60 %"),
        (b"0 0\n\xff\xfe\n", "line 2: the file is not UTF-8"),
    ] {
        folder.write("cdf.txt", bytes);
        says(&scenario(star, cdf), &["cdf.txt", wanted, "s.toml:9"]);
    }
    let list = "kind = \"hpcc-flows\"\nfile = \"flow.txt\"";
    for (bytes, wanted) in [
        (&b""[..], "is empty"),
        (b"2\n0 1 3 100 1000 2.0\n", "announces 2 flows in its first line but holds 1"),
        (b"1\n1 1 3 100 1000 2.0\n", "line 2: the flow goes from node 1 to itself"),
        (b"1\n0 4 3 100 1000 2.0\n", "line 2: dst 4 is not a host"),
        (b"1\n0 1 3 100 0 2.0\n", "line 2: bytes `0`"),
    ] {
        folder.write("flow.txt", bytes);
        says(&scenario(star, list), &["flow.txt", wanted]);
    }
    let hpcc = "kind = \"hpcc\"\nfile = \"topology.txt\"";
    for (bytes, wanted) in [
        (&b""[..], "line 1"),
        (b"3 1 2\n2\n0 2 100Gbps 1us 0\n", "ends after 1 of the 2 links"),
        (b"3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 0Gbps 1us 0\n", "line 4"),
    ] {
        folder.write("topology.txt", bytes);
        says(&scenario(hpcc, list), &["topology.txt", wanted]);
    }
    // A file of SimAI: one server, whose NVSwitch is node 2, at a leaf.
    let links = "0 2 1Tbps 25ns 0\n1 2 1Tbps 25ns 0\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n";
    folder.write("topology.txt", format!("4 2 1 1 4 H100\n2 3\n{links}").as_bytes());
    says(
        &scenario(&format!("{hpcc}\nscale-up = [\"n2\"]"), list),
        &["names its NVSwitches itself", "remove topology.scale-up"],
    );
}

#[test]
fn words_of_the_literature_lead_to_ours() {
    let sizes = "kind = \"poisson\"\ncdf = \"websearch\"\nload = 0.5\nflows = 10";
    let cdf =
        report(&SMALL.replace("kind = \"flow\"\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1MB\"", sizes), &[]);
    says(&cdf, &["did you mean \"web-search\"?", "choose one of web-search, hadoop"]);
    assert!(!cdf.contains("or write"), "each word stands there once: {cdf}");
    says(&report(SMALL, &["switch.flow-control=cbfc"]), &["did you mean \"credits\"?"]);
    let lane = report(&format!("{SMALL}vl = 2\n"), &[]);
    says(&lane, &["did you mean \"priority\"?", "the priority of a traffic entry is its virtual lane"]);
    says(&report(SMALL, &["traffic.one.vl=2"]), &["did you mean \"priority\"?"]);
}

#[test]
fn an_example_is_a_value_that_would_be_accepted() {
    let Err(error) = crate::common::small(&["packet.payload=100000B"]) else {
        panic!("more than a frame can be")
    };
    says(&error.to_string(), &["from 1B to 65KB, such as \"65000B\""]);
}
