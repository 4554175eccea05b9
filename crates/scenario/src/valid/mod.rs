//! What the values of a scenario mean together: the network, its routes, the flows, thresholds that fit the buffer.
//! Everything that does not fit is reported at once.
mod acks;
mod arbitration;
mod balancing;
mod cc;
mod combined;
mod compatibility;
mod credits;
mod deadlock;
mod detector;
mod faults;
mod files;
mod flows;
mod host;
mod idle;
mod isolation;
mod jobs;
mod keyed;
mod lanes;
mod line_rate;
mod names;
mod nics;
mod only;
mod overflow;
mod pattern;
mod pfc;
mod preset;
mod probe;
mod put;
mod reliability;
mod throttle;
mod topology;
mod two_pools;
mod uec;
mod user;
mod windows;
mod workload;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use backwater_codes::{Code, Remark};
use backwater_fabric::{Clock, Overflow, PacketSpec, Queueing, Spec, SwitchSpec, Switching};
use backwater_topology::{Network, Port, Routes};
use backwater_traffic::Flow;
use backwater_traffic::generate::Skew;
use backwater_units::{Bytes, Time};

use self::lanes::Lanes;
pub use self::probe::LongQueues;
use self::probe::Memory;
use self::put::{Puts, is_put};
use self::uec::{Uecs, has_pairs};
use crate::document::{DocumentError as ScenarioError, Problem, Source};
use crate::document::{Node, Step, at};
use crate::scenario::Scenario;
use crate::settings::{self, Settings};
pub use user::{Function, Functions};

/// Flows that an outline makes of a traffic entry that has more.
const OUTLINED: f64 = 1e5;

/// A scenario that can run: network built, routes found, flows generated, everything checked.
pub struct ValidScenario {
    /// The file and the overrides, the places in them: what is found to be wrong later is shown there, too.
    sources: Vec<Source>,
    root: Arc<Node>,
    overrides: Vec<String>,
    base: PathBuf,
    settings: Settings,
    spec: Spec,
    functions: Functions,
    caveats: Vec<Remark>,
    long: Option<LongQueues>,
    notes: Vec<Remark>,
    files: Vec<PathBuf>,
    each_stands_for: Vec<f64>,
}

/// What is wrong at one of several switches or ports that may all be wrong alike.
struct Found {
    path: Vec<Step>,
    /// The switch or port.
    name: String,
    /// How much is missing there.
    by: u128,
    message: String,
    label: String,
    help: String,
}

/// So many of those that are wrong alike are named.
const NAMED: usize = 3;

/// What the checks share: the scenario, and what they found.
struct Context<'a> {
    scenario: &'a Scenario,
    settings: &'a Settings,
    problems: Vec<Problem>,
    caveats: Vec<Remark>,
    notes: Vec<Remark>,
    /// Collectives that go by servers first though they do not say of how many ranks: where that would stand, and how many.
    by_servers: Vec<(Vec<Step>, u32)>,
    /// What the ground truth calls a long queue, if it is recorded.
    long: Option<LongQueues>,
    /// Files that were read, absolute.
    files: Vec<PathBuf>,
    /// What starts the flows that depend on others.
    steps: Vec<backwater_traffic::trace::Step>,
    programs: backwater_traffic::program::Programs,
    functions: Functions,
    /// Flows of the entries before, those that an outline leaves out included.
    made: f64,
    /// How many flows an outline makes of an entry that has more; `None`: all of them.
    outline: Option<f64>,
    /// How many flows of each entry one that is made stands for.
    each_stands_for: Vec<f64>,
}

impl<'a> Context<'a> {
    fn new(scenario: &'a Scenario, settings: &'a Settings) -> Self {
        Self {
            scenario,
            settings,
            problems: Vec::new(),
            caveats: Vec::new(),
            notes: Vec::new(),
            by_servers: Vec::new(),
            long: None,
            files: Vec::new(),
            steps: Vec::new(),
            made: 0.0,
            outline: None,
            each_stands_for: vec![1.0; settings.traffic.len()],
            programs: backwater_traffic::program::Programs::default(),
            functions: Functions::default(),
        }
    }
}

impl Context<'_> {
    /// Reports what is wrong with the value at the end of `path`.
    fn report(&mut self, path: &[Step], message: String, label: impl Into<String>, help: impl Into<String>) {
        let path = &self.written_path(path);
        let place = self.scenario.root.place_of(path);
        let keys: Vec<&str> = path.iter().filter_map(Step::key).collect();
        let problem = Problem::new(place, message, label).help(help);
        self.problems.push(if keys.is_empty() {
            problem.code(Code::File)
        } else {
            problem.key(keys.join("."))
        });
    }

    /// A path as it is written: what is wrong with the traffic entry of a job is wrong with the job.
    fn written_path(&self, path: &[Step]) -> Vec<Step> {
        let mut path = path.to_vec();
        if let [Step::Key("traffic"), Step::Index(index), rest @ ..] = &mut path[..]
            && let Some((number, job)) = jobs::of_entry(self.settings, *index)
        {
            if let [Step::Key(key @ "file"), ..] = rest {
                *key = if job.trace.is_some() { "trace" } else { "program" };
            }
            path[..2].clone_from_slice(&at!["job", number]);
        }
        path
    }

    /// How much slower or later the ranks of a traffic entry are; `None`: it is not that of a job.
    fn skew_of(&mut self, index: usize, ranks: u32) -> Option<Skew> {
        let (job, _) = jobs::of_entry(self.settings, index)?;
        jobs::skew(self, job, ranks)
    }

    /// How messages call a traffic entry: `traffic.NAME`, or `job.NAME` if it is that of a job.
    fn title(&self, index: usize) -> String {
        let word = if jobs::of_entry(self.settings, index).is_some() { "job" } else { "traffic" };
        format!("{word}.{}", self.settings.traffic[index].name)
    }

    /// Reports of what is wrong at several switches or ports alike the worst, and names some of the others.
    fn report_worst(&mut self, mut found: Vec<Found>) {
        while let Some(worst) = found.iter().rev().max_by_key(|one| one.by) {
            let Found { path, name, message, label, help, .. } = worst;
            let others = found.iter().filter(|one| one.path == *path && one.name != *name);
            let others: Vec<&str> = others.map(|one| one.name.as_str()).collect();
            let named = others.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
            let help = match others.len() {
                0 => help.clone(),
                count @ 1..=NAMED => format!("{help}. This is the worst; {count} more like it: {named}"),
                count => format!("{help}. This is the worst; {count} more like it: {named}, …"),
            };
            let (path, message, label) = (path.clone(), message.clone(), label.clone());
            self.report(&path, message, label, help);
            found.retain(|one| one.path != path);
        }
    }

    /// Says what to know before results are used; `place` is the key that it is about.
    fn caveat(&mut self, code: Code, place: impl Into<String>, message: impl Into<String>) {
        self.caveats.push(Remark::new(code, place, message));
    }

    /// A table such as `switch.pfc` as the user wrote it, in the file or in an override.
    fn wrote(&self, table: &[&str]) -> Option<&Node> {
        table.iter().try_fold(&*self.scenario.written, |node, key| node.get(key))
    }
}

impl Scenario {
    /// Builds and checks everything that the run needs.
    ///
    /// # Errors
    /// Files that cannot be read or understood, topologies that are no network, hosts that do not exist, flows to
    /// themselves, thresholds without room for headroom, and whatever else cannot run.
    pub fn validate(self) -> Result<ValidScenario, ScenarioError> {
        self.checked(None)
    }

    /// The same of a scenario that is only to be estimated: of traffic entries that have many flows, some are made and each stands
    /// for several ([`ValidScenario::flows_like`]).
    ///
    /// # Errors
    /// As [`Self::validate`].
    pub fn outline(self) -> Result<ValidScenario, ScenarioError> {
        self.checked(Some(OUTLINED))
    }

    fn checked(self, outline: Option<f64>) -> Result<ValidScenario, ScenarioError> {
        let mut settings = self.settings.clone();
        fill(&mut settings, &self.written);
        // The network first: some values follow from the rates of its links.
        let mut context = Context::new(&self, &settings);
        let network = topology::network(&mut context);
        let made = network.as_ref().map(|network| jobs::entries(&mut context, network));
        let Context { problems, mut caveats, notes: of_jobs, by_servers, files, .. } = context;
        workload::collective::write(&mut settings, &by_servers);
        settings.traffic.extend(made.into_iter().flatten());
        let said = network.as_ref().map(|network| line_rate::follow(&self, &mut settings, network));
        let line_rate::Said { mut notes, caveats: of_rates } = said.unwrap_or_default();
        caveats.extend(of_rates);
        notes.extend(detector::note(&self));
        notes.extend(of_jobs);
        let mut context = Context { problems, caveats, files, outline, ..Context::new(&self, &settings) };
        if let Some(network) = &network {
            preset::check(&mut context, network);
        }
        let spec = spec(&mut context, network);
        if let Some(spec) = &spec {
            acks::check(&mut context, spec);
            nics::check(&mut context, spec);
        }
        let Context { problems, caveats, notes: of_entries, by_servers, long, .. } = context;
        let Context { files, functions, each_stands_for, .. } = context;
        workload::collective::write(&mut settings, &by_servers);
        notes.extend(of_entries);
        match spec {
            Some(spec) if problems.is_empty() => {
                let Scenario { sources, root, overrides, base, .. } = self;
                Ok(ValidScenario {
                    sources,
                    root,
                    overrides,
                    base,
                    settings,
                    spec,
                    functions,
                    caveats,
                    long,
                    notes,
                    files,
                    each_stands_for,
                })
            }
            _ => Err(ScenarioError::new(self.sources, problems)),
        }
    }
}

/// Writes out the defaults that depend on other values.
fn fill(settings: &mut Settings, written: &Node) {
    settings.topology.routing = Some(settings.topology.routes_by());
    put::fill(settings);
    overflow::fill(settings, written);
    balancing::fill(settings, written);
    combined::fill(settings, written);
    detector::fill(settings, written);
    cc::fill(settings);
    let control = settings.switch.control_priority;
    settings.switch.pfc.port_xon = settings.switch.pfc.port_xon.or(settings.switch.pfc.port_xoff);
    for priorities in [&mut settings.switch.pfc.priorities, &mut settings.switch.credits.priorities] {
        priorities.sort_unstable();
        // A control priority is never held back; whether the user listed it is checked against what was written.
        priorities.retain(|&priority| priority != control);
    }
    for entry in &mut settings.traffic {
        flows::fill(entry, &settings.topology.shape);
    }
    isolation::fill(settings);
    probe::fill(settings);
}

/// Everything the fabric needs, as far as it can be made; what cannot has been reported.
#[allow(clippy::too_many_lines, reason = "a line for each part of a specification")]
fn spec(context: &mut Context<'_>, network: Option<Network>) -> Option<Spec> {
    let settings = context.settings;
    compatibility::check(context);
    let routes = network.as_ref().and_then(|network| topology::routes(context, network));
    let (puts, uecs) = (Puts::new(settings), Uecs::new(settings));
    let flows = network.as_ref().map(|network| flows::flows(context, network, &puts));
    let pairs = match (&network, &routes, &flows) {
        (Some(network), Some(routes), Some(flows)) => cc::pairs(context, network, routes, flows),
        _ => None,
    };
    let put_kinds = match (&network, &routes, &flows) {
        (Some(network), Some(routes), Some(flows)) => puts.specs(context, (network, routes), flows),
        _ => None,
    };
    let uec_kinds = match (&network, &routes) {
        (Some(network), Some(routes)) => uecs.specs(context, network, routes),
        _ => None,
    };
    let mut lanes = Lanes::new(settings, flows.as_deref().unwrap_or_default(), pairs.as_ref());
    if let Some(routes) = &routes {
        lanes.change(context, routes.lanes());
    }
    let (detectors, pfc, credits) = match &network {
        Some(network) => (
            detector::detectors(context, network, &lanes),
            pfc::pfc(context, network, &lanes),
            credits::credits(context, network, &lanes),
        ),
        None => (None, None, None),
    };
    let throttle =
        network.as_ref().and_then(|network| throttle::throttle(context, network, &lanes, credits.as_ref()));
    let queueing = network.as_ref().map(|network| queueing(context, network, &lanes));
    let isolation = match (&network, &routes) {
        (Some(network), Some(routes)) => isolation::isolation(context, (network, routes), &lanes),
        _ => None,
    };
    let endpoints = match (&network, &flows) {
        (Some(network), Some(flows)) => host::endpoints(context, network, flows, &lanes),
        _ => None,
    };
    let mark = combined::mark(settings);
    let switching = switching(context);
    let overflow = overflow::overflow(context, network.as_ref().zip(routes.as_ref()));
    if let (Some(flows), Some(pairs)) = (&flows, &pairs) {
        overflow::acks(context, flows, pairs);
    }
    let arbiter = arbitration::arbiter(context, &lanes);
    let balancing = balancing::balancing(context, network.as_ref().zip(routes.as_ref()));
    let shared = keyed::shares(settings, network.as_ref());
    let guarded = credits.as_ref().map(|c| c.priorities).or(pfc.as_ref().map(|p| p.priorities));
    let guarded = guarded.or_else(|| shared.then_some(lanes.used & !(1 << settings.switch.control_priority)));
    if let (Some(network), Some(routes), Some(flows), Some(pairs)) = (&network, &routes, &flows, &pairs) {
        deadlock::check(context, (network, routes), flows, pairs, guarded.unwrap_or_default());
    }
    let faults = match (&network, &routes) {
        (Some(network), Some(routes)) => faults::faults(context, network, routes, &lanes),
        _ => backwater_fabric::FaultSpec::default(),
    };
    idle::report(context);
    let (network, routes, flows) = (network?, routes?, flows?);
    let trimmed = if let Overflow::Trim(trimming) = overflow { Some(trimming.queue) } else { None };
    let memory = Memory { lanes: &lanes, pfc: pfc.as_ref(), credits: credits.as_ref(), trimmed };
    let oracle = settings.switch.detector.kind == settings::DetectorKind::Oracle;
    // The oracle and the records of the ground truth have the same thresholds.
    let long =
        (settings.probe.blame || oracle).then(|| probe::thresholds(context, (&network, &routes), &memory));
    let roots = long.clone().filter(|_| oracle);
    let probe = probe::probe(context, &network, &flows, long);
    let switch = SwitchSpec {
        queueing: queueing?,
        switching,
        credits,
        buffer: settings.switch.buffer.0,
        overflow,
        balancing,
        hashes: match settings.switch.ecmp_hash {
            settings::EcmpHash::Salted => Arc::default(),
            settings::EcmpHash::Murmur3 => backwater_fabric::murmur_tuples(&network, &flows),
            settings::EcmpHash::FiveTuple => {
                backwater_fabric::five_tuples(&network, settings.run.seed, &flows)
            }
        },
        arbiter,
        control_priority: settings.switch.control_priority,
        pfc,
        detectors: detectors?,
        roots,
        mark,
        isolation,
    };
    let cc::Pairs { kinds: pairs, of_entry: pair_of, .. } = pairs?;
    let mut spec = Spec {
        seed: settings.run.seed,
        network,
        routes,
        flows,
        numbers: Vec::new(),
        idle: flows::idle(settings),
        steps: std::mem::take(&mut context.steps),
        programs: std::mem::take(&mut context.programs),
        jobs: jobs::specs(settings),
        clock: match settings.run.clock {
            settings::Clock::Exact => Clock::Exact,
            settings::Clock::Ns3 => Clock::Ns3,
        },
        packet: packet(settings),
        pairs,
        pair_of,
        puts: put_kinds?,
        put_of: puts.of_entry,
        uecs: uec_kinds?,
        uec_of: uecs.of_entry,
        endpoints: endpoints?,
        nic: host::nic(settings),
        depths: host::depths(settings),
        throttle,
        switch,
        faults,
        user: context.functions.absent(),
        batching: true,
        reuse: settings.run.reuse,
        probe,
    };
    only::keep(context, &mut spec);
    Some(spec)
}

/// Where packets wait.
fn queueing(context: &mut Context<'_>, network: &Network, lanes: &Lanes) -> Queueing {
    match context.settings.switch.queueing {
        settings::Queueing::Output => keyed::queueing(context, network, lanes).unwrap_or(Queueing::Output),
        settings::Queueing::Voq => Queueing::VirtualOutput,
        settings::Queueing::OldestFirst => Queueing::OldestFirst,
        settings::Queueing::Input => Queueing::Input,
        settings::Queueing::Shared => Queueing::Shared,
        settings::Queueing::TwoPools => Queueing::TwoPools(two_pools::two_pools(context)),
        settings::Queueing::Combined => Queueing::Combined(combined::combined(context, network, lanes)),
    }
}

/// When switches begin to forward a packet.
fn switching(context: &mut Context<'_>) -> Switching {
    let (switch, mtu) = (&context.settings.switch, mtu(context.settings));
    if switch.switching == settings::Switching::StoreAndForward {
        return Switching::StoreAndForward;
    }
    if switch.header.0 > mtu {
        let message = format!("switch.header = {} is more than a whole packet, {mtu}", switch.header);
        let help = "InfiniBand's headers have 20B; or set switch.switching = \"store-and-forward\"";
        context.report(&at!["switch", "header"], message, format!("allowed: 1B to {mtu}"), help);
    }
    Switching::CutThrough { header: switch.header.0 }
}

/// The packets that flows are cut into.
fn packet(settings: &Settings) -> PacketSpec {
    let packet = settings.packet;
    PacketSpec { payload: packet.payload.0, header: packet.header.0, padded: packet.padded }
}

/// The largest frame of the data path.
fn mtu(settings: &Settings) -> Bytes {
    settings.packet.payload.0 + settings.packet.header.0
}

/// The part that a link has in the round trip of a full packet and its ACK in an empty network, if each switch stores what it
/// forwards: there and back on the wire, and the times to send both. In picoseconds.
fn round_trip(settings: &Settings, link: &Port) -> u64 {
    let bytes = |size| link.rate.serialize(size).as_ps();
    2 * link.delay.as_ps() + bytes(mtu(settings)) + bytes(settings.ack.size.0)
}

impl ValidScenario {
    /// The functions of the user's that it needs. Until they are in [`Spec::user`], of which there is one for each, every call fails.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// Everything the fabric needs, to look at.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Everything the fabric needs.
    pub fn build(self) -> Spec {
        self.spec
    }

    /// The scenario as it was read, without overrides.
    pub fn text(&self) -> &str {
        &self.sources[0].text
    }

    /// What makes it impossible after all, found by whoever knows more than this crate: shown at a key, as every problem is.
    #[must_use]
    pub fn refused(
        &self,
        path: [&'static str; 2],
        message: String,
        label: String,
        help: String,
    ) -> ScenarioError {
        let place = self.root.place_of(&path.map(Step::from));
        let problem = Problem::new(place, message, label).help(help).key(path.join("."));
        ScenarioError::new(self.sources.clone(), vec![problem])
    }

    /// The overrides, in their order.
    pub fn overrides(&self) -> &[String] {
        &self.overrides
    }

    /// The folder that paths in the scenario count from.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// The values of the scenario, with every default written out. The traffic entries of jobs stand behind the others.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The same as JSON, for `run.json`.
    pub fn resolved(&self) -> serde_json::Value {
        let mut settings = self.settings.clone();
        settings.traffic.truncate(jobs::first(&self.settings));
        serde_json::to_value(settings).expect("settings are JSON")
    }

    /// What the user should know about the results.
    pub fn caveats(&self) -> &[Remark] {
        &self.caveats
    }

    /// What the ground truth calls a long queue, if it is recorded.
    pub fn long_queues(&self) -> Option<&LongQueues> {
        self.long.as_ref()
    }

    /// What follows from the rates of the links, and what was given instead.
    pub fn notes(&self) -> &[Remark] {
        &self.notes
    }

    /// The files that the scenario names, absolute, in the order in which they were read: what a run depends on besides its text.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.spec.network
    }

    /// The routes that the run's packets take.
    pub fn routes(&self) -> &Routes {
        &self.spec.routes
    }

    /// The flows, in the order in which the run numbers them; `group` is an index into `settings().traffic`.
    pub fn flows(&self) -> &[Flow] {
        &self.spec.flows
    }

    /// How many flows of a traffic entry one of [`Self::flows`] stands for: 1, but of an outline.
    pub fn flows_like(&self) -> &[f64] {
        &self.each_stands_for
    }

    /// End of simulated time; without it the run ends when every finite flow is done.
    pub fn until(&self) -> Option<Time> {
        self.settings.run.until.map(|until| Time::from_ps(until.0.as_ps()))
    }

    /// Threads for the run, as many as it asks for.
    pub const fn threads(&self) -> usize {
        self.settings.run.threads as usize
    }

    /// Bytes of results allowed on disk.
    pub fn budget(&self) -> Bytes {
        self.settings.probe.budget.0
    }
}
