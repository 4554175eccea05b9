//! Faults that cannot be: each is refused with its place, its value and a fix.
use crate::common::{Said, report, says, valid};
use backwater_control::flow_control::LinkRetry;
use backwater_fabric::Change;

const SMALL: &str = r#"
profile = "endpoint"
run = { until = "1ms" }
switch = { switching = "store-and-forward" }
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts-per-leaf = 2, rate = "100Gbps", delay = "1us", routing = "ecmp" }
[[traffic]]
name = "x"
kind = "flow"
from = "h0"
to = "h2"
size = "1MB"
"#;

fn fault(lines: &str) -> String {
    format!("{SMALL}[[fault]]\n{lines}\n")
}

#[test]
fn a_link_that_is_not_there_is_refused_with_the_nearest_names() {
    let misspelt = "kind = \"link-down\"\nlink = [\"leaf0\", \"spin0\"]\nat = \"1us\"";
    says(&report(&fault(misspelt), &[]), &["there is no node \"spin0\"", "did you mean \"spine0\"?"]);
    let apart = "kind = \"link-down\"\nlink = [\"leaf0\", \"leaf1\"]\nat = \"1us\"";
    let error = report(&fault(apart), &[]);
    says(&error, &["no link joins \"leaf0\" and \"leaf1\"", "\"leaf0\" has links to h0, h1, spine0, spine1"]);
    says(
        &report(&fault("kind = \"switch-down\"\nswitch = \"h0\"\nat = \"1us\""), &[]),
        &["\"h0\" is a host, not a switch"],
    );
}

#[test]
fn times_after_the_end_or_backwards_are_refused() {
    let late = "kind = \"link-down\"\nlink = [\"leaf0\", \"spine0\"]\nat = \"1ms\"";
    says(&report(&fault(late), &[]), &["the fault begins at 1ms, and the run ends at 1ms", "less than 1ms"]);
    let backwards = "kind = \"link-down\"\nlink = [\"leaf0\", \"spine0\"]\nat = \"20us\"\nuntil = \"10us\"";
    says(&report(&fault(backwards), &[]), &["ends at 10us, before it begins at 20us"]);
    let half = "kind = \"link-down\"\nlink = [\"leaf0\", \"spine0\"]\nat = \"20us\"\nevery = \"10us\"";
    says(&report(&fault(half), &[]), &["both every and times"]);
}

#[test]
fn a_thing_cannot_fail_twice_at_a_time() {
    let twice = "kind = \"link-down\"\nlink = [\"leaf0\", \"spine0\"]\nat = \"20us\"\nfor = \"10us\"\n\
                 [[fault]]\nkind = \"switch-down\"\nswitch = \"spine0\"\nat = \"25us\"";
    says(
        &report(&fault(twice), &[]),
        &["the link leaf0-spine0 is down twice at a time: by fault 0 and by fault 1, from 25us to 30us"],
    );
    let often = "kind = \"link-down\"\nlink = [\"leaf0\", \"spine0\"]\nat = \"20us\"\nfor = \"10us\"\n\
                 every = \"5us\"\ntimes = 2";
    says(
        &report(&fault(often), &[]),
        &["by fault 0 and by its next turn, from 25us to 30us", "lower for, or raise every"],
    );
    let text = "kind = \"link-down\"\nlink = \"leaf0->spine0\"\nat = \"20us\"";
    says(&report(&fault(text), &[]), &["as a list in brackets", "The two nodes that it joins"]);
}

#[test]
fn more_faults_than_have_numbers_are_refused() {
    let many = "[[fault]]\nkind = \"host-stop\"\nhost = \"h0\"\nat = \"1us\"\n".repeat(65_536);
    says(&report(&format!("{SMALL}{many}"), &[]), &["there are 65536 faults", "allowed: at most 65535"]);
}

#[test]
fn a_storm_needs_pfc_and_a_lossless_priority() {
    let storm = "kind = \"pause-storm\"\nhost = \"h0\"\nat = \"1us\"";
    says(&report(&fault(storm), &[]), &["\"pause-storm\" needs PFC", "switch.flow-control = \"pfc\""]);
    let lossy = format!("{storm}\npriorities = [7]");
    let set = ["switch.flow-control=pfc".to_owned()];
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    says(&report(&fault(&lossy), &set), &["PAUSE for priority 7 has no effect"]);
}

#[test]
fn traffic_that_sends_nothing_twice_is_refused_where_packets_are_lost() {
    let down = "kind = \"link-down\"\nlink = [\"leaf0\", \"spine0\"]\nat = \"1us\"";
    let roce = fault(down).replace("run =", "host = { transport = \"roce\" }\nrun =");
    says(&report(&roce, &["switch.flow-control=pfc"]), &["loses packets, and traffic.x sends nothing twice"]);
    let loss = "kind = \"loss\"\nlink = [\"leaf0\", \"spine0\"]\nframes = 0.1\nbits = 0.1";
    says(&report(&fault(loss), &[]), &["either frames or bits"]);
}

#[test]
fn a_watchdog_is_refused_where_nothing_is_sent_twice() {
    let roce = SMALL.replace("run =", "host = { transport = \"roce\" }\nrun =");
    for (place, action) in
        [("switch.pfc", "drop"), ("host.nic", "drop"), ("switch.pfc", "forward"), ("host.nic", "forward")]
    {
        let set = [format!("{place}.watchdog.action={action}"), "switch.flow-control=pfc".to_owned()];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let said = report(&roce, &set);
        says(&said, &["traffic.x sends nothing twice", "write action = \"none\""]);
        assert!(said.contains(&format!("{place}.watchdog.action")), "{said}");
    }
}

#[test]
fn links_fail_under_every_flow_control_and_queueing_but_a_crossbar_and_routes_that_stay_are_named() {
    let down = "kind = \"link-down\"\nlink = [\"leaf0\", \"spine0\"]\nat = \"1us\"";
    let credits = ["switch.flow-control=credits", "switch.queueing=voq", "switch.credits.buffer=1MB"];
    let at_once = [&credits[..], &["switch.credits.returned=at-once"]].concat();
    for set in [&credits[..], &at_once, &["switch.flow-control=pfc", "switch.queueing=input"]] {
        valid(&fault(down), set);
    }
    let crossbar = ["switch.flow-control=pfc", "switch.queueing=combined"];
    says(&report(&fault(down), &crossbar), &["choose the way of a packet when it comes in", "\"input\""]);
    let stay = "kind = \"link-down\"\nlink = [\"sw0.0\", \"sw0.1\"]\nat = \"1us\"";
    let text = fault(stay).replace(
        "topology = { kind = \"leaf-spine\", leaves = 2, spines = 2, hosts-per-leaf = 2, rate = \"100Gbps\", delay = \"1us\", routing = \"ecmp\" }",
        "topology = { kind = \"mesh\", sizes = [2, 2], rate = \"100Gbps\", delay = \"1us\" }",
    );
    says(
        &valid(&text, &[]).caveats().said(),
        &["the routes of topology.routing = \"dimension-order\" are not computed again"],
    );
}

#[test]
fn a_slower_link_is_slower() {
    for rate in ["100Gbps", "400Gbps"] {
        let fast =
            format!("kind = \"link-slow\"\nlink = [\"leaf0\", \"spine0\"]\nrate = \"{rate}\"\nat = \"1us\"");
        let said = report(&fault(&fast), &[]);
        says(
            &said,
            &[&format!("{rate} is not slower than the link"), "allowed: less than 100Gbps", "fault 0"],
        );
    }
}

#[test]
fn a_link_may_be_slow_in_one_direction() {
    let text = "kind = \"link-slow\"\nlink = [\"leaf0\", \"spine0\"]\nrate = \"25Gbps\"\nat = \"1us\"";
    let slowed = |from: &str| {
        let spec = valid(&fault(&format!("{text}{from}")), &[]).build();
        let changes = spec.faults.changes.iter().filter(|change| matches!(change.what, Change::Rate(..)));
        changes.map(|change| spec.network.name(change.node).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(slowed("").len(), 2);
    assert_eq!(slowed("\nfrom = \"spine0\""), ["spine0"]);
    assert_eq!(slowed("\nfrom = \"leaf0\""), ["leaf0"]);
    let said = report(&fault(&format!("{text}\nfrom = \"leaf1\"")), &[]);
    says(&said, &["\"leaf1\" is no end of the link", "from is the end that sends"]);
}

#[test]
fn faults_and_watchdogs_without_effect_are_named() {
    let pfc = "profile = \"ideal\"\nrun = { until = \"1ms\" }\n\
               topology = { kind = \"star\", hosts = 3, rate = \"100Gbps\", delay = \"1us\" }\n\
               traffic = [{ name = \"x\", kind = \"flow\", from = \"h0\", to = \"h1\", size = \"1MB\", priority = 3 }]\n";
    let said = |lines: &str, overrides: &[&str]| valid(&format!("{pfc}{lines}"), overrides).caveats().said();
    let storm = |priorities: &str| {
        format!(
            "[[fault]]\nkind = \"pause-storm\"\nhost = \"h1\"\nat = \"1us\"\nuntil = \"9us\"\n{priorities}\n"
        )
    };
    for (fault, wanted) in [
        (
            storm("priorities = [4, 5]"),
            "fault 0 (pause-storm) changes nothing: nothing is sent in the priorities that it pauses (4, 5)",
        ),
        (
            "[[fault]]\nkind = \"loss\"\nlink = [\"h0\", \"s\"]\nframes = 0.0\n".to_owned(),
            "fault 0 (loss) changes nothing: frames = 0",
        ),
    ] {
        says(&said(&fault, &["transport.reliability=go-back-n"]), &[wanted]);
    }
    for priorities in ["", "priorities = [3, 5]"] {
        let said = said(&storm(priorities), &[]);
        assert!(!said.contains("changes nothing"), "{said}");
    }
    for table in ["switch.pfc.watchdog", "host.nic.watchdog"] {
        let detect = format!("{table}.detect=1ms");
        let wanted = format!("without effect with {table}.action = \"none\": {table}.{{detect}}");
        says(&said("", &[&detect]), &[&wanted]);
        let twice = "transport.reliability=go-back-n";
        let on = said("", &[&detect, &format!("{table}.action=forward"), twice]);
        assert!(!on.contains("without effect"), "{on}");
    }
}

#[test]
fn a_watchdog_that_takes_a_storm_for_over_between_two_pauses_is_named() {
    // PAUSEs of 5 us, renewed after 2.5 us by a storm and after 2 us by a switch.
    let text = SMALL.replace(
        "switch = {",
        "switch = { flow-control = \"pfc\", pfc = { form = \"timed\", pause = \"5us\", poll = \"2us\" },",
    );
    for place in ["switch.pfc", "host.nic"] {
        let said = |restore: &str| {
            let set =
                [format!("{place}.watchdog.action=drop"), format!("{place}.watchdog.restore={restore}")];
            let set: Vec<&str> = set.iter().map(String::as_str).collect();
            valid(&text, &set).caveats().said()
        };
        says(&said("2us"), &[&format!("{place}.watchdog.restore = 2us"), "every 2.5us"]);
        assert!(!said("3us").contains("every 2.5us"));
    }
}

/// At 100 Gbps and 1 us: 1000 B take 80 ns, a NACK of 8 B 640 ps. In 2080.64 ns 26 008 B leave, and 1000 B more.
#[test]
fn a_replay_buffer_holds_what_its_link_has_sent_until_an_answer_is_there() {
    let lossy = fault("kind = \"loss\"\nlink = [\"leaf0\", \"spine0\"]\nbits = 1e-7");
    let llr = "fault-handling.link-retry=llr";
    let retry = |more: &[&str]| valid(&lossy, &[&[llr][..], more].concat()).build().faults.retry;
    assert_eq!(retry(&[]), Some(LinkRetry::default()));
    let packet = ["packet.payload=1000B", "packet.header=0B"];
    let with = |key| [&packet[..], &[llr, key]].concat();
    says(
        &report(&lossy, &with("fault-handling.llr.buffer=20KB")),
        &["fault-handling.llr.buffer = 20KB is less than", "27.008KB", "at least 27.008KB"],
    );
    assert!(valid(&lossy, &with("fault-handling.llr.buffer=27008B")).build().faults.retry.is_some());
    says(
        &report(&lossy, &with("fault-handling.llr.timer=2us")),
        &["fault-handling.llr.timer = 2us is over before an answer", "2080640ps"],
    );
    says(
        &report(&lossy, &[llr, "switch.flow-control=pfc"]),
        &["does not go with fault-handling.link-retry = \"llr\" under PFC", "\"credits\" or \"none\""],
    );
    let all = fault("kind = \"loss\"\nlink = [\"leaf0\", \"spine0\"]\nframes = 1");
    says(
        &report(&all, &[llr]),
        &["fault 0: a link that loses 1 of its frames", "more than 255 times", "give until"],
    );
    // 1 - 0.998^8000 of the frames of 1000 B have a wrong bit.
    let most = fault("kind = \"loss\"\nlink = [\"leaf0\", \"spine0\"]\nbits = 2e-3");
    says(
        &report(&most, &with("switch.flow-control=credits")),
        &["of its frames of 1KB", "more than 255 times"],
    );
    for other in [
        "kind = \"link-slow\"\nlink = [\"leaf0\", \"spine0\"]\nrate = \"5Gbps\"",
        "kind = \"host-stop\"\nhost = \"h1\"",
    ] {
        let text = fault(&format!("{other}\nat = \"20us\""));
        says(&report(&text, &[llr, "switch.flow-control=credits"]), &["reckoned at one rate", "link-retry"]);
    }
}

#[test]
fn links_that_send_again_carry_traffic_that_does_not() {
    let lossy = fault("kind = \"loss\"\nlink = [\"leaf0\", \"spine0\"]\nbits = 1e-7");
    let fragile = ["host.transport=roce", "switch.flow-control=credits", "switch.credits.returned=at-once"];
    says(&report(&lossy, &fragile), &["loses packets", "sends nothing twice"]);
    valid(&lossy, &[&fragile[..], &["fault-handling.link-retry=llr"]].concat());
    // What a switch loses in silence no link can repeat.
    let gray = fault("kind = \"gray\"\nswitch = \"spine0\"\nshare = 0.1\nat = \"1us\"");
    says(
        &report(&gray, &[&fragile[..], &["fault-handling.link-retry=llr"]].concat()),
        &["sends nothing twice"],
    );
    let idle = |text: &str, keys: &[&str]| valid(text, keys).caveats().said();
    let without = "without effect with no [[fault]] of kind = \"loss\": fault-handling.{link-retry}";
    says(&idle(SMALL, &["fault-handling.link-retry=llr"]), &[without]);
    let alone = "without effect with fault-handling.link-retry = \"none\": fault-handling.{llr}";
    says(&idle(&lossy, &["fault-handling.llr.timer=10us"]), &[alone]);
}
