//! Runs in steps, through the library: the clock of the user goes on where the simulation has nothing to do.
use backwater::{Injection, Results, Run, Scenario, SteppedRun, Which};
use backwater_units::{Bytes, Time};

const STAR: &str = "[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100Gbps\"\ndelay = \"1us\"\n";

fn run(traffic: &str, overrides: &[&str]) -> Run {
    let text = format!("{STAR}[[traffic]]\n{traffic}");
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    Run::new(Scenario::parse(&text, "star.toml", ".".as_ref(), &overrides).unwrap()).unwrap()
}

fn us(us: u64) -> Time {
    Time::from_ps(us * 1_000_000)
}

fn at(start: Time) -> Injection {
    Injection {
        traffic: None,
        src: Which::Number(1),
        dst: Which::Number(0),
        size: Bytes::new(50_000),
        start,
        priority: None,
    }
}

fn empty(overrides: &[&str]) -> SteppedRun {
    run("name = \"messages\"\nkind = \"injected\"", overrides).begin().unwrap()
}

fn told(results: &Results) -> (String, u64) {
    (results.digest().to_owned(), results.json()["sim_time_ps"].as_u64().expect("an end"))
}

#[test]
fn time_passes_in_an_idle_network() {
    let mut stepped = empty(&[]);
    for step in 1..=10 {
        stepped.step(us(step)).unwrap();
        assert_eq!((stepped.now(), stepped.is_over()), (us(step), true));
    }
    let refused = stepped.inject(&[at(us(3))]).expect_err("the other simulator is past it").to_string();
    for words in ["flows[0]", "start = 3", "has passed", "from 10", "help:"] {
        assert!(refused.contains(words), "{refused}");
    }
    stepped.step(us(9)).expect_err("time does not go back");
    // Two flows, the second one long after the first has ended, and time to wait before, between and after them.
    stepped.inject(&[at(us(10))]).unwrap();
    assert!(!stepped.is_over());
    stepped.step(us(100)).unwrap();
    assert_eq!((stepped.now(), stepped.is_over(), stepped.completions().unwrap().len()), (us(100), true, 1));
    stepped.inject(&[at(us(100))]).unwrap();
    stepped.step(us(500)).unwrap();
    assert_eq!((stepped.now(), stepped.is_over(), stepped.completions().unwrap().len()), (us(500), true, 1));
    // What is finished ends with its last flow, however long the user has waited.
    let known = "name = \"messages\"\nkind = \"flow\"\nfrom = \"h1\"\nto = \"h0\"\nsize = \"50KB\"\nstart = ";
    let again = known.replace("messages", "again");
    let known = format!("{known}\"10us\"\n[[traffic]]\n{again}\"100us\"");
    assert_eq!(told(&stepped.finish().unwrap()), told(&run(&known, &[]).start().unwrap()));
}

#[test]
fn puts_behind_those_without_an_end_are_refused() {
    let endless = "name = \"endless\"\nkind = \"long-lived\"\nfrom = \"h1\"\nto = \"h0\"\nstart = \"10us\"\ntransport = \"put\"";
    let mut stepped = run(endless, &["run.until=100us"]).begin().unwrap();
    let refused = stepped.inject(&[at(us(10))]).expect_err("it waits for ever").to_string();
    for words in ["flows[0]", "wait for ever behind", "allowed: another priority", "help:"] {
        assert!(refused.contains(words), "{refused}");
    }
    let other = Injection { src: Which::Number(2), ..at(us(10)) };
    stepped.inject(&[at(us(9)), other]).unwrap();
    stepped.step(us(99)).unwrap();
    assert_eq!(stepped.completions().unwrap().len(), 2);
}

#[test]
fn time_passes_to_the_end_that_the_scenario_says_and_no_further() {
    let mut stepped = empty(&["run.until=20us"]);
    stepped.step(us(15)).unwrap();
    assert_eq!(stepped.now(), us(15));
    stepped.inject(&[at(us(14))]).expect_err("it has passed");
    stepped.step(us(30)).unwrap();
    assert_eq!((stepped.now(), stepped.is_over()), (us(20), true));
    stepped.inject(&[at(us(25))]).expect_err("the run is at its end");
}
