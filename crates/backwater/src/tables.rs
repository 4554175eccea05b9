//! The tables that a run may write, and what of them is known before it starts.
use crate::collectives::Collectives;
use crate::jobs;
use backwater_fabric::{ProbeSpec, Queueing, Spec};
use backwater_probe::{Demand, Plan, PlanError, TableId};
use backwater_scenario::{ScenarioError, ValidScenario};
use backwater_traffic::trace::Finishes;
use backwater_units::Time;

/// What a run of so many flows may write; a budget that has no room for it is refused where it is written.
pub(crate) fn plan(
    scenario: &ValidScenario,
    flows: u64,
    collectives: &Collectives,
) -> Result<Plan, ScenarioError> {
    let demands = [demands(scenario.spec(), flows, scenario.until()), collectives.demands()].concat();
    Plan::new(&demands, scenario.budget()).map_err(|error| {
        let names: Vec<&str> = demands.iter().map(|demand| demand.table.name()).collect();
        let (label, help) = match error {
            PlanError::BudgetTooSmall { least, .. } => (
                format!("at least {least}"),
                format!("write {least} or more, or record fewer of {}", names.join(", ")),
            ),
            PlanError::Twice(table) => (format!("{table} twice"), "this is a bug of Backwater".to_owned()),
        };
        scenario.refused(["probe", "budget"], error.to_string(), label, help)
    })
}

/// The tables of a run, with the rows that can be told beforehand.
fn demands(spec: &Spec, flows: u64, until: Option<Time>) -> Vec<Demand> {
    let ProbeSpec {
        sample,
        ports,
        rates,
        marks,
        pauses,
        states,
        delivered,
        packets,
        isolation,
        puts,
        streams,
        endpoints,
        drops,
        frames,
        throttle,
        throttle_states,
        dependencies,
        blame,
    } = &spec.probe;
    let instants = until.zip(*sample).map(|(until, period)| until.as_ps() / period.as_ps().max(1) + 1);
    // At most all eight priorities of a port are in use.
    let of_ports = |count: usize| count as u64 * 8;
    let known = |table, rows| Demand { table, rows: Some(rows) };
    let mut demands =
        vec![known(TableId::Flows, flows), known(TableId::Ports, of_ports(spec.network.port_count()))];
    let windows = matches!(spec.switch.queueing, Queueing::Floodgate(_));
    if windows || spec.switch.queueing.holds() || matches!(spec.switch.queueing, Queueing::Combined(_)) {
        demands.push(known(TableId::Switches, spec.network.nodes().len() as u64));
    }
    if spec.switch.queueing == Queueing::Input {
        demands.push(known(TableId::Blocked, of_ports(spec.network.port_count())));
    }
    if spec.loses() {
        demands.push(Demand { table: TableId::DropCounts, rows: None });
    }
    if !spec.jobs.is_empty() {
        let ended = spec.steps.iter().filter(|step| step.ends() != Finishes::Nothing).count();
        demands.push(known(TableId::JobMessages, jobs::count(spec)));
        demands.push(known(TableId::JobSteps, (ended + spec.programs.ranks.len()) as u64));
    }
    if !spec.programs.ranks.is_empty() {
        demands.push(known(TableId::Ranks, spec.programs.ranks.len() as u64));
    }
    if *dependencies && !spec.programs.ranks.is_empty() {
        demands.push(Demand { table: TableId::Dependencies, rows: None });
    } else if *dependencies && !spec.steps.is_empty() {
        let rows = spec.steps.iter().map(|step| step.after.len().max(1) + step.starts.len());
        demands.push(known(TableId::Dependencies, rows.sum::<usize>() as u64));
    }
    let (blame, packets) = (blame.is_some(), packets.contains(&true));
    let events = [
        (TableId::Marks, *marks),
        (TableId::Pauses, *pauses),
        (TableId::States, *states),
        (TableId::Holds, blame),
        (TableId::Closures, blame && spec.switch.queueing.has_gates_of_its_own()),
        (TableId::Crowds, blame),
        (TableId::Waits, blame),
        (TableId::Injected, packets),
        (TableId::Arrived, packets),
        (TableId::Isolation, *isolation),
        (TableId::Windows, *isolation && windows),
        (TableId::Delivered, *delivered),
        (TableId::Puts, puts.contains(&true)),
        (TableId::Streams, *streams),
        (TableId::Endpoints, *endpoints),
        (TableId::Drops, *drops && spec.loses()),
        (TableId::Faults, !spec.faults.is_empty()),
        (TableId::Frames, !frames.is_empty()),
        (TableId::Throttle, *throttle),
        (TableId::ThrottleStates, *throttle_states),
        (TableId::Timings, !spec.programs.series.is_empty()),
    ];
    demands
        .extend(events.iter().filter(|(_, wanted)| *wanted).map(|&(table, _)| Demand { table, rows: None }));
    if sample.is_some() && !ports.is_empty() {
        demands.push(Demand { table: TableId::Samples, rows: instants.map(|n| n * of_ports(ports.len())) });
    }
    if sample.is_some() && rates.contains(&true) {
        // How many will be injected nobody knows.
        demands.push(Demand {
            table: TableId::Rates,
            rows: instants.map(|n| n * spec.sampled_rates()).filter(|rows| *rows > 0),
        });
    }
    demands
}
