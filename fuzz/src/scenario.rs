//! Any text is a scenario or refused with places and reasons; a scenario that passes validation can be built.
use std::path::Path;

use backwater_control::flow_control::{CreditReturn, Form};
use backwater_fabric::{Control, Kind, Simulation, Spec};
use backwater_scenario::settings::{Gpcnet, Job, JobStep, Settings, Shape, Traffic, Workload};
use backwater_scenario::{Scenario, ScenarioError, ValidScenario};
use backwater_units::{Bytes, Rate, Span, Time};

/// Where the files that a scenario names are looked for, and not found.
const NOWHERE: &str = "/nonexistent";

pub(crate) fn target(text: &str) {
    with_overrides(text, &[]);
}

/// Reads, validates and builds a scenario, and runs the first moments of it: it works or is refused with a reason, and nothing
/// panics.
pub(crate) fn with_overrides(text: &str, overrides: &[String]) {
    let scenario = match Scenario::parse(text, "fuzz.toml", Path::new(NOWHERE), overrides) {
        Ok(scenario) => scenario,
        Err(error) => return refused(&error),
    };
    if !is_small(scenario.settings()) {
        return;
    }
    match scenario.validate() {
        Ok(valid) => {
            reads_back_the_same(&valid);
            run(valid.build());
        }
        Err(error) => refused(&error),
    }
}

/// What a user can ask for may overflow a buffer or lock up, but not break an account.
fn run(spec: Spec) {
    let until = Some(Time::ZERO + moment(&spec));
    let mut simulation = Simulation::new(spec, Kind::Windows { threads: 1 });
    let control = Control { until, ..Control::default() };
    if let Err(violation) = simulation.run(&control, &mut |_| Ok(())) {
        let text = violation.to_string();
        assert!(!text.contains("(a bug)"), "{text}");
    }
    assert!(!simulation.ports().is_empty());
    drop(simulation.flows());
}

/// A time in which some thousand packets, windows and updates happen at most.
fn moment(spec: &Spec) -> Span {
    let network = &spec.network;
    let window = network.links().iter().map(|link| link.delay).min().unwrap_or(Span::ZERO);
    let rate: u128 = network.links().iter().map(|link| u128::from(link.rate.as_bps())).sum();
    let bits = u128::from(spec.packet.payload.get()) * 8 * 5_000 * 1_000_000_000_000;
    let mut moment = Span::from_us(200)
        .min(Span::from_ps(window.as_ps().saturating_mul(2_000)))
        .min(Span::from_ps((bits / rate.max(1)) as u64));
    if let Some(CreditReturn::Periodic(period)) = spec.switch.credits.as_ref().map(|credits| credits.returned)
    {
        moment = moment.min(Span::from_ps(period.as_ps().saturating_mul(200)));
    }
    if let Some(Form::Timed { poll, .. }) = spec.switch.pfc.as_ref().map(|pfc| pfc.form) {
        moment = moment.min(Span::from_ps(poll.as_ps().saturating_mul(200)));
    }
    let periods = spec.puts.iter().filter_map(|put| put.target.fairness.period());
    for period in periods.chain(spec.puts.iter().map(|put| put.retry)) {
        moment = moment.min(Span::from_ps(period.as_ps().saturating_mul(200)));
    }
    for costs in &spec.programs.costs {
        moment = moment.min(Span::from_ps(costs.send.min(costs.local).as_ps().saturating_mul(200)));
    }
    if let Some(sample) = spec.probe.sample {
        moment = moment.min(Span::from_ps(sample.as_ps().saturating_mul(200)));
    }
    moment
}

/// What `run.json` keeps is the scenario. The traffic entries of its jobs stand last, one for each; they follow from the jobs.
fn reads_back_the_same(valid: &ValidScenario) {
    let mut settings = valid.settings().clone();
    settings.traffic.truncate(settings.traffic.len() - settings.job.len());
    let text = toml::to_string(&settings).expect("settings are TOML");
    let again = Scenario::parse(&text, "resolved.toml", Path::new(NOWHERE), &[]).and_then(Scenario::validate);
    let again = again.unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert_eq!(again.settings(), valid.settings());
}

fn refused(error: &ScenarioError) {
    assert!(!error.problems().is_empty() && !error.to_string().is_empty());
}

/// Whether validation takes milliseconds. Large scenarios are legal, but a fuzzer that waits finds nothing.
fn is_small(settings: &Settings) -> bool {
    small_network(&settings.topology.shape)
        && settings.traffic.len() <= 8
        && settings.traffic.iter().all(few_flows)
        && settings.job.len() <= 4
        && settings.job.iter().all(short)
}

fn small_network(shape: &Shape) -> bool {
    let slow = |rate: Rate| rate <= Rate::from_gbps(1000);
    match shape {
        Shape::TcdFigure2 { rate, source_rate, .. } => {
            slow(rate.0) && source_rate.is_none_or(|rate| slow(rate.0))
        }
        Shape::TcdTestbed { rate, .. } => slow(rate.0),
        Shape::Dumbbell { left, right, rate, .. } => left + right <= 32 && slow(rate.0),
        Shape::Star { hosts, rate, .. } => *hosts <= 32 && slow(rate.0),
        Shape::LeafSpine { leaves, spines, hosts_per_leaf, rate, .. } => {
            *leaves <= 4 && *spines <= 4 && *hosts_per_leaf <= 8 && slow(rate.0)
        }
        Shape::FatTree { k, rate, .. } => *k <= 4 && slow(rate.0),
        Shape::KAryNTree { k, n, rate, .. } => k.saturating_pow(*n) <= 32 && slow(rate.0),
        Shape::Rlft { leaves, spines, hosts_per_leaf, links, rate, .. } => {
            *leaves <= 4 && *spines <= 4 && *hosts_per_leaf <= 8 && *links <= 4 && slow(rate.0)
        }
        Shape::Xgft { m, w, rate, .. } => {
            let product =
                |numbers: &[u32]| numbers.iter().fold(1u32, |product, &n| product.saturating_mul(n));
            product(m) <= 32 && product(w) <= 8 && slow(rate.0)
        }
        Shape::Clos { pods, leaves, hosts_per_leaf, rate, .. } => {
            *pods <= 4 && *leaves <= 4 && *hosts_per_leaf <= 4 && slow(rate.0)
        }
        Shape::Rail { units, servers, gpus, rate, .. } => {
            *units <= 4 && *servers <= 4 && *gpus <= 4 && slow(rate.0)
        }
        Shape::AiPod(of) => {
            of.pods.saturating_mul(of.units).saturating_mul(of.servers) <= 8
                && of.gpus <= 4
                && of.nics <= 2
                && slow(of.rate.0)
        }
        Shape::Dragonfly { a, p, h, rate, .. } => *a <= 4 && *p <= 2 && *h <= 2 && slow(rate.0),
        Shape::Torus { sizes, hosts_per_switch, rate, .. }
        | Shape::Mesh { sizes, hosts_per_switch, rate, .. } => {
            let switches = sizes.iter().fold(1u32, |product, &size| product.saturating_mul(size));
            switches <= 64 && *hosts_per_switch <= 2 && slow(rate.0)
        }
        Shape::Hpcc { .. } => true,
        Shape::Edges { hosts, links, .. } => hosts.len() <= 32 && links.iter().all(|link| slow(link.rate.0)),
    }
}

/// GPCNeT of few ranks that test seldom.
fn few_turns(of: &Gpcnet) -> bool {
    let Gpcnet { ranks_per_host, rings, latency, bandwidth, allreduce, warm_up_passes, .. } = of;
    let turns = [latency.warm_up, latency.timed, bandwidth.warm_up, bandwidth.timed, *warm_up_passes];
    *ranks_per_host <= 4
        && *rings <= 4
        && bandwidth.messages <= 16
        && [allreduce.warm_up, allreduce.timed].iter().chain(&turns).all(|turns| *turns <= 1000)
}

/// A job of few steps with few messages and tokens.
fn short(job: &Job) -> bool {
    let little = |step: &JobStep| {
        step.size.is_none_or(|size| size.0 <= Bytes::new(1_000_000))
            && step.token.is_none_or(|token| token.0 >= Bytes::new(1000))
    };
    job.iterations <= 10
        && job.step.len() <= 8
        && job.step.iter().all(little)
        && job.ranks_per_host <= 4
        && job.gpcnet.as_ref().is_none_or(few_turns)
}

/// At most about 100 000 flows on a small network.
fn few_flows(traffic: &Traffic) -> bool {
    let soon = |until: Option<Span>| until.is_none_or(|until| until <= Span::from_us(200));
    let few = |flows: Option<u32>| flows.is_none_or(|flows| flows <= 10_000);
    match &traffic.workload {
        Workload::Bursts { rounds, .. } => *rounds <= 100,
        Workload::Poisson { until, flows, load, .. } => {
            *load <= 100.0 && soon(until.map(|until| until.0)) && few(*flows)
        }
        Workload::Synchronous { until, flows, size, interval, load, .. } => {
            soon(until.map(|until| until.0))
                && few(*flows)
                && size.is_none_or(|size| size.0 >= Bytes::new(1000))
                && interval.is_none_or(|interval| interval.0 >= Span::from_ns(100))
                && load.is_none_or(|load| load <= 100.0)
        }
        Workload::MpiIo { messages, .. } => *messages <= 10_000,
        Workload::Collective(collective) => {
            let tokens = collective.token.is_none_or(|token| token.0 >= Bytes::new(1000));
            collective.iterations <= 10 && tokens && collective.size.0 <= Bytes::new(1_000_000)
        }
        Workload::Bale { updates, .. } => updates.is_none_or(|updates| updates <= 100),
        Workload::Gpcnet(gpcnet) => few_turns(gpcnet),
        _ => true,
    }
}
