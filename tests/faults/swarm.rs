//! Faults drawn at random: every engine and number of threads has the same run, and the books of every node are in order, which each run
//! checks at its end.
use backwater_fabric::{Control, Kind, Simulation};
use backwater_units::{Span, Time};
use proptest::prelude::*;
use scene::{try_run, try_saved, us};

use crate::{KINDS, read, spec};

fn text(queueing: &str, control: &str, hosts: &str, rest: &str) -> String {
    format!(
        r#"
profile = "ideal"
run = {{ until = "150us" }}
host = {{ transport = "put"{hosts} }}
topology = {{ kind = "leaf-spine", leaves = 2, spines = 2, hosts-per-leaf = 2, rate = "100Gbps", delay = "500ns" }}
fault-handling = {{ detect = "5us", converge = "10us" }}
[switch]
flow-control = "{control}"
queueing = "{queueing}"
buffer = "400KB"
{rest}
[[traffic]]
name = "x"
kind = "permutation"
size = "1MB"
[[traffic]]
name = "in"
kind = "flow"
from = ["h1", "h2", "h3"]
to = "h0"
size = "200KB"
"#
    )
}

const STATIC: &str = "[switch.pfc]\nxoff = \"20KB\"\nxon = \"18KB\"";
const DYNAMIC: &str = "[switch.pfc]\nthreshold = \"dynamic\"\nheadroom = \"802.1qbb\"";
const PERIODIC: &str = "[switch.credits]\nperiod = \"3us\"";
const AT_ONCE: &str = "[switch.credits]\nreturned = \"at-once\"";

/// What a watchdog does.
fn action() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("none"), Just("drop"), Just("forward")]
}

/// A fault, its times in microseconds.
fn fault() -> impl Strategy<Value = String> {
    let times = (1..100u32, 1..30u32);
    (0..7u32, times, 0..4u32).prop_map(|(kind, (at, lasts), which)| {
        let link = [r#"["leaf0", "spine0"]"#, r#"["leaf1", "spine1"]"#, r#"["h0", "leaf0"]"#, r#"["h3", "leaf1"]"#];
        let (link, until) = (link[which as usize], at + lasts);
        let body = match kind {
            0 => format!("kind = \"link-down\"\nlink = {link}\nat = \"{at}us\"\nfor = \"{lasts}us\""),
            1 => format!("kind = \"link-slow\"\nlink = {link}\nrate = \"7Gbps\"\nat = \"{at}us\"\nuntil = \"{until}us\""),
            2 => format!("kind = \"loss\"\nlink = {link}\nframes = 0.05\nat = \"{at}us\""),
            3 => format!("kind = \"switch-down\"\nswitch = \"spine1\"\nat = \"{at}us\"\nfor = \"{lasts}us\""),
            4 => format!("kind = \"gray\"\nswitch = \"leaf0\"\nto = \"h{which}\"\nshare = 0.5\nat = \"{at}us\""),
            5 => format!("kind = \"pause-storm\"\nhost = \"h{which}\"\nat = \"{at}us\"\nuntil = \"{until}us\""),
            _ => format!("kind = \"host-stop\"\nhost = \"h{which}\"\nat = \"{at}us\""),
        };
        format!("[[fault]]\n{body}\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn random_faults_do_not_depend_on_the_engine(
        faults in proptest::collection::vec(fault(), 1..4),
        queueing in prop_oneof![Just("output"), Just("voq"), Just("input"), Just("oldest-first")],
        control in prop_oneof![Just(("pfc", STATIC)), Just(("pfc", DYNAMIC)), Just(("credits", PERIODIC)), Just(("credits", AT_ONCE))],
        slow in any::<bool>(),
        [action, of_nics] in [action(), action()],
        saved_at in 0..140_000_000_u64,
    ) {
        let queueing = if control.0 == "credits" && queueing == "output" { "voq" } else { queueing };
        let drain = if slow { ", of = \"h0\", drain = \"30Gbps\", queue = \"100KB\"" } else { "" };
        let hosts = format!("{drain}, nic = {{ watchdog = {{ action = \"{of_nics}\", detect = \"5us\", restore = \"7us\" }} }}");
        let text = text(queueing, control.0, &hosts, control.1);
        let watchdog = format!("[switch.pfc.watchdog]\naction = \"{action}\"\ndetect = \"4us\"\nrestore = \"6us\"\n");
        let more = faults.concat() + &watchdog;
        // Two that are the case at a time are refused.
        prop_assume!(read(&format!("{text}
{more}")).is_ok());
        let run = |kind| try_run(spec(&text, &more), kind, Some(us(150)));
        let runs = KINDS.map(|kind| match run(kind) {
            Ok(outcome) => (outcome.totals.digest, outcome.records.drops, outcome.records.faults),
            Err(violation) => panic!("{violation}\n{more}"),
        });
        let middle = Time::from_ps(saved_at);
        let mut threads = 0;
        let mut next = || {
            threads += 1;
            Simulation::new(spec(&text, &more), Kind::Windows { threads })
        };
        let control = Control { until: Some(us(150)), ..Control::default() };
        let stops = [(middle, Vec::new()), (middle + Span::from_us(7), Vec::new())];
        let saved = try_saved(&mut next, &control, &stops).expect("what the others do");
        let saved = (saved.totals.digest, saved.records.drops, saved.records.faults);
        for other in runs[1..].iter().chain([&saved]) {
            prop_assert_eq!(runs[0].0, other.0, "{}", more);
            prop_assert_eq!(&runs[0].1, &other.1, "{}", more);
            prop_assert_eq!(&runs[0].2, &other.2, "{}", more);
        }
    }
}
