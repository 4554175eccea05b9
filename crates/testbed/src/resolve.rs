//! From what was written to what it means; what contradicts itself is collected, each with its place.
use backwater_document::{Node as Tree, Problem, Step, at, nearest};
use backwater_units::{Bytes, Span};

use crate::settings::{self, Settings};
use crate::testbed::{Clock, ClockKind, Link, Testbed};
use crate::{addresses, detector, traffic, wiring};

/// Collects what is wrong.
pub(crate) struct Report<'a> {
    root: &'a Tree,
    pub(crate) problems: Vec<Problem>,
    /// What works, but hardly as it was meant.
    pub(crate) doubts: Vec<Problem>,
}

impl Report<'_> {
    pub(crate) fn add(&mut self, path: &[Step], message: String, label: &str, help: impl Into<String>) {
        self.problems.push(Problem::new(self.root.place_of(path), message, label).help(help));
    }

    pub(crate) fn doubt(&mut self, path: &[Step], message: String, label: &str, help: impl Into<String>) {
        self.doubts.push(Problem::new(self.root.place_of(path), message, label).help(help));
    }

    /// A name that nobody has.
    pub(crate) fn no_such<'a>(
        &mut self,
        path: &[Step],
        (key, name): (&str, &str),
        known: impl IntoIterator<Item = &'a str> + Clone,
    ) {
        let near = nearest(name, known.clone());
        let label =
            near.map_or_else(|| "nobody has this name".to_owned(), |near| format!("did you mean {near:?}?"));
        let names: Vec<&str> = known.into_iter().collect();
        let help = if names.is_empty() {
            "there is none yet: add one".to_owned()
        } else {
            format!("the names are {}", names.join(", "))
        };
        self.add(path, format!("{key} = {name:?} is not known"), &label, help);
    }
}

/// The data plane, and what is doubtful about it.
pub(crate) fn resolve(settings: &Settings, root: &Tree) -> Result<(Testbed, Vec<Problem>), Vec<Problem>> {
    let mut report = Report { root, problems: Vec::new(), doubts: Vec::new() };
    let mut nodes = addresses::nodes(settings, &mut report);
    let ports = wiring::ports(settings, &mut nodes, &mut report);
    detector::resolve(settings, &mut nodes, &ports, &mut report);
    let entries = wiring::entries(settings, &nodes, &ports, &mut report);
    let flows = traffic::flows(settings, &nodes, &mut report);
    let delays = ports.iter().filter(|port| matches!(port.link, Link::Device(_))).map(|port| port.delay);
    let clock = clock(&settings.clock, delays.min(), &mut report);
    if !report.problems.is_empty() {
        return Err(report.problems);
    }
    let run = &settings.run;
    let bed = Testbed {
        duration: run.duration.map(|duration| duration.0),
        window: run.window.0,
        seed: run.seed,
        frames: (run.frames, run.frame_bytes.0),
        clock,
        nodes,
        ports,
        entries,
        flows,
        warnings: Vec::new(),
    };
    Ok((bed, report.doubts))
}

/// Bytes of `sun_path`-like fields of the C side, with the NUL.
pub(crate) const PAGE_MOST: usize = 108;

fn clock(clock: &settings::Clock, shortest: Option<Span>, report: &mut Report<'_>) -> Clock {
    let lockstep = clock.kind == ClockKind::Lockstep;
    if !lockstep {
        let given = [
            ("lookahead", clock.lookahead.is_some()),
            ("page", clock.page.is_some()),
            ("process", clock.process != 0),
            ("processes", clock.processes.is_some()),
        ];
        for (key, _) in given.into_iter().filter(|(_, given)| *given) {
            let message = format!("clock.{key} has a meaning only with kind = \"lockstep\"");
            report.add(
                &at!["clock", key],
                message,
                "without effect",
                "write kind = \"lockstep\", or leave it out",
            );
        }
    }
    let processes = clock.processes.unwrap_or(1);
    if lockstep && clock.process >= processes {
        let message = format!("clock.process = {} is out of range", clock.process);
        let label = format!("allowed: 0 to {}", processes - 1);
        report.add(
            &at!["clock", "process"],
            message,
            &label,
            "processes are counted from 0; raise processes",
        );
    }
    let lookahead = clock.lookahead.map_or(shortest.unwrap_or(Span::ZERO), |span| span.0);
    if lockstep
        && let Some(shortest) = shortest
        && lookahead > shortest
    {
        let message = format!("clock.lookahead = \"{lookahead}\" is longer than a link between processes");
        let label = format!("allowed: up to {shortest}");
        report.add(
            &at!["clock", "lookahead"],
            message,
            &label,
            "a frame could arrive in the past; make delays longer",
        );
    }
    if lockstep && lookahead == Span::ZERO {
        let message = "lockstep has no lookahead".to_owned();
        let help = "give the ports on devices a delay (delay = \"4us\"), or give lookahead";
        report.add(&at!["clock", "kind"], message, "how far may a process be ahead?", help);
    }
    let page = clock.page.clone().unwrap_or_else(|| "/dev/shm/backwater".to_owned());
    if page.len() >= PAGE_MOST {
        let message = format!("clock.page has {} characters", page.len());
        report.add(&at!["clock", "page"], message, "allowed: up to 107", "choose a shorter path");
    }
    Clock {
        kind: clock.kind,
        cap: clock.cap.map(|cap| cap.0),
        lookahead,
        page,
        process: (clock.process, processes),
        link_timeout: clock.link_timeout.map_or(Span::from_ms(10_000), |span| span.0),
    }
}

/// The longest packet of the flows; without flows that of 1000 B, the payload of the TCD paper.
pub(crate) fn packet(settings: &Settings) -> Bytes {
    let payloads = settings.flow.iter().map(|flow| flow.payload.0);
    traffic::packet(payloads.max().unwrap_or(Bytes::from_kb(1)))
}
