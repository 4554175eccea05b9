//! A run that stands, as one file: what it was made of, its state, and its tables so far.
//!
//! ```text
//!   "BACKWATR" │ format │ bytes │ what it is (Head) │ state of the simulation │ what stands around it │ tables │ checksum
//! ```
//! Numbers are little-endian, what is in it is written by [borsh](https://borsh.io), and the checksum is XXH3 of all before it. A file
//! that was cut short, damaged, or written by another build is refused before anything of it is taken.
use crate::error::Error;
use crate::functions::UserFunctions;
use backwater_fabric::form;
use backwater_scenario::{Scenario, ScenarioError, ValidScenario, input};
use backwater_units::Time;
use borsh::{BorshDeserialize, BorshSerialize};
use serde_json::Value;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"BACKWATR";
/// Of the frame: what is in it also depends on the version, and on the build ([`SOURCES`], [`form`]).
pub const FORMAT: u32 = 3;
/// A hash of the code that this was built from (`build.rs`).
const SOURCES: &str = env!("BACKWATER_SOURCES");
const FRONT: usize = MAGIC.len() + size_of::<u32>() + size_of::<u64>();
const CHECKSUM: usize = size_of::<u64>();

/// What a checkpoint is of.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Head {
    version: String,
    sources: String,
    form: Vec<u32>,
    command: String,
    text: String,
    base: String,
    overrides: Vec<String>,
    /// All values of the scenario, as JSON.
    resolved: String,
    files: Files,
    /// What `run.json` says of the user's functions, with their checksums.
    functions: String,
    now_ps: u64,
    /// The run saves itself there again and again, and removes it when it is complete.
    passes: bool,
}

/// The files that a scenario names, with the checksums of what is in them.
#[derive(Clone, Debug, Default, PartialEq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Files(Vec<(String, u64)>);

impl Files {
    /// As they are now.
    pub(crate) fn of(scenario: &ValidScenario) -> Result<Self, Error> {
        let one = |path: &PathBuf| {
            let bytes = input::read(path, input::MOST_DATA)
                .map_err(|error| Error::Input(format!("error: {}: {error}", path.display())))?;
            Ok((path.display().to_string(), xxh3_64(&bytes)))
        };
        Ok(Self(scenario.files().iter().map(one).collect::<Result<_, Error>>()?))
    }

    /// Of each file.
    pub(crate) fn checksums(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|(_, checksum)| *checksum)
    }
}

impl Head {
    /// Of a run with such facts that stands at `now`.
    pub(crate) fn new(
        facts: &serde_json::Map<String, Value>,
        files: &Files,
        now: Time,
        passes: bool,
    ) -> Self {
        let text = |key: &str| facts.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let overrides = facts.get("overrides").and_then(Value::as_array).into_iter().flatten();
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sources: SOURCES.to_owned(),
            form: form(),
            command: text("command"),
            text: text("scenario_text"),
            base: text("base"),
            overrides: overrides.filter_map(Value::as_str).map(str::to_owned).collect(),
            resolved: facts.get("scenario").map(Value::to_string).unwrap_or_default(),
            files: files.clone(),
            functions: facts.get("functions").map(Value::to_string).unwrap_or_default(),
            now_ps: now.as_ps(),
            passes,
        }
    }
}

/// A file that was written by [`crate::SteppedRun::save`], read and found whole.
pub struct Checkpoint {
    path: PathBuf,
    head: Head,
    bytes: Vec<u8>,
    /// Where the state begins.
    state: usize,
}

impl Checkpoint {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is no checkpoint, was cut short or damaged, or comes of another version.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = fs::read(path).map_err(|error| refused(path, format!("cannot be read: {error}")))?;
        Self::of(path, bytes)
    }

    /// The same of what is in the file of this name.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn of(path: &Path, bytes: Vec<u8>) -> Result<Self, Error> {
        if bytes.get(..MAGIC.len()).is_none_or(|magic| magic != MAGIC) {
            return Err(refused(path, "is no checkpoint of Backwater"));
        }
        let Some(front) = bytes.get(MAGIC.len()..FRONT) else { return Err(cut_short(path)) };
        let number = |at: &[u8]| at.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let (format, length) = (number(&front[..4]), number(&front[4..]));
        if format != u64::from(FORMAT) {
            let what = format!("has format {format}, and this version of Backwater reads {FORMAT}");
            return Err(refused(path, what));
        }
        let whole = (FRONT + CHECKSUM) as u64;
        if bytes.len() as u64 != length.saturating_add(whole) {
            return Err(cut_short(path));
        }
        let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        if xxh3_64(content) != number(checksum) {
            return Err(refused(path, "is damaged: its checksum is another one"));
        }
        let mut rest = &content[FRONT..];
        let head =
            Head::deserialize(&mut rest).map_err(|error| refused(path, format!("has no head: {error}")))?;
        if head.version != env!("CARGO_PKG_VERSION") {
            let what =
                format!("comes of version {}, and this is {}", head.version, env!("CARGO_PKG_VERSION"));
            return Err(refused(path, what));
        }
        if head.sources != SOURCES || head.form != form() {
            return Err(refused(path, "was saved by another build of this version, with other code"));
        }
        let state = content.len() - rest.len();
        Ok(Self { path: path.to_owned(), head, bytes, state })
    }

    /// Where the run stands.
    pub const fn now(&self) -> Time {
        Time::from_ps(self.head.now_ps)
    }

    /// Whether its run wrote it to survive a kill ([`crate::SteppedRun::finish_saving`]): nobody needs it when the run is complete.
    pub const fn passes(&self) -> bool {
        self.head.passes
    }

    /// The command of the run that was saved.
    pub fn command(&self) -> &str {
        &self.head.command
    }

    /// Its scenario, with other values of some keys (`cc.dcqcn.g=0.01`).
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn scenario(&self, set: &[String]) -> Result<Scenario, ScenarioError> {
        let overrides = [&self.head.overrides, set].concat();
        let origin = self.path.display().to_string();
        Scenario::parse(&self.head.text, &origin, Path::new(&self.head.base), &overrides)
    }

    /// The text of its scenario, the folder that paths in it count from, and the overrides.
    pub fn source(&self) -> (&str, &str, &[String]) {
        (&self.head.text, &self.head.base, &self.head.overrides)
    }

    /// Whether a run of `scenario` can go on from it.
    ///
    /// # Errors
    /// If a value is another one that state depends on, or a file or function that the scenario names has changed.
    pub(crate) fn fits(
        &self,
        scenario: &ValidScenario,
        files: &Files,
        functions: &UserFunctions,
    ) -> Result<(), Error> {
        // Both are read from text: that reads some numbers as their neighbours.
        let read = |text: &str| serde_json::from_str::<Value>(text).map_err(Error::bug);
        let (mut was, mut now) = (read(&self.head.resolved)?, read(&scenario.resolved().to_string())?);
        self.fault_follows(&was, &now, scenario)?;
        for it in [&mut was, &mut now] {
            it.as_object_mut().map(|tables| tables.remove("fault"));
        }
        let mut found = None;
        differences("", &was, &now, &mut |key, before, after| {
            if found.is_none() && !follows(key) {
                found = Some(format!("has {key} = {before}, and is to go on with {after}: {}", why_not(key)));
            }
        });
        if let Some(what) = found {
            return Err(Error::Input(format!(
                "error: {} {what}\n  allowed: other values of run.until, run.threads, of the parameters of controllers (cc, but for {}) and \
                 detectors (switch.detector), and of thresholds of PFC (switch.pfc: {}); more faults ([[fault]])\n  help: leave the key as it is, or run the \
                 scenario anew",
                self.path.display(),
                BUILT_WITH.join(", "),
                THRESHOLDS.join(", ")
            )));
        }
        if self.head.files != *files {
            let changed = files.0.iter().find(|file| !self.head.files.0.contains(file));
            let name = changed.map_or("a file", |(name, _)| name.as_str());
            let what = format!("names a file that has changed since: {name}");
            return Err(Error::Input(format!(
                "error: {} {what}\n  help: restore the file, or run the scenario anew",
                self.path.display()
            )));
        }
        if self.head.functions != functions.facts.as_ref().map(Value::to_string).unwrap_or_default() {
            return Err(Error::Input(format!(
                "error: {} has functions of the user's, and they or their file have changed since\n  help: restore them, or run the \
                 scenario anew",
                self.path.display()
            )));
        }
        Ok(())
    }

    /// How many faults the run had that was saved.
    ///
    /// # Errors
    /// Never: it was written by this version.
    pub(crate) fn faults(&self) -> Result<u16, Error> {
        let was = serde_json::from_str::<Value>(&self.head.resolved).map_err(Error::bug)?;
        Ok(faults_of(&was).len() as u16)
    }

    /// Faults may be added that begin where the run stands, or later.
    fn fault_follows(&self, was: &Value, now: &Value, scenario: &ValidScenario) -> Result<(), Error> {
        let ([was, now], spec) = ([was, now].map(faults_of), scenario.spec());
        let wrong = |what: String, allowed: String, help: &str| {
            let path = self.path.display();
            Err(Error::Input(format!("error: {path} {what}\n  allowed: {allowed}\n  help: {help}")))
        };
        if let Some(number) = (0..was.len()).find(|number| now.get(*number) != Some(&was[*number])) {
            let after = now.get(number).map_or_else(|| "none".to_owned(), Value::to_string);
            return wrong(
                format!(
                    "has fault[{number}] = {}, and is to go on with {after}: nodes know its timetable",
                    was[number]
                ),
                "the faults that it has, as they are, and others behind them".to_owned(),
                "leave the fault as it is, or run the scenario anew",
            );
        }
        let first = was.len() as u16;
        let changes = spec.faults.changes.iter().map(|change| (change.time, change.fault));
        let losses = spec.faults.losses.iter().map(|loss| (loss.from, loss.fault));
        let early = changes.chain(losses).filter(|(time, fault)| *fault >= first && *time < self.now()).min();
        if let Some((time, fault)) = early {
            return wrong(
                format!("stands at {}, and fault {fault} begins at {time}", self.now()),
                format!("at = {} or later", self.now()),
                "let the fault begin later, or run the scenario anew",
            );
        }
        let mut before = spec.faults.clone();
        before.changes.retain(|change| change.fault < first);
        before.losses.retain(|loss| loss.fault < first);
        if spec.switch.credits.is_some() && before.loses() != spec.faults.loses() {
            return wrong(
                "was saved under credits without faults that lose packets: where they may, links tell what is free from the beginning on"
                    .to_owned(),
                "faults of kind \"link-slow\" and \"pause-storm\"".to_owned(),
                "run the scenario anew, with a fault that begins when it is to",
            );
        }
        Ok(())
    }

    /// A number that differs where anything in it does.
    pub(crate) fn checksum(&self) -> u64 {
        xxh3_64(&self.bytes)
    }

    /// The state.
    pub(crate) fn state(&self) -> &[u8] {
        &self.bytes[self.state..self.bytes.len() - CHECKSUM]
    }

    /// State that does not belong to the scenario of the same file.
    pub(crate) fn broken(&self, error: impl Display) -> Error {
        refused(&self.path, format!("has state that does not fit its scenario: {error}"))
    }
}

/// The faults of a scenario.
fn faults_of(resolved: &Value) -> &[Value] {
    resolved.get("fault").and_then(Value::as_array).map_or(&[], |faults| faults)
}

/// What PFC judges an ingress queue by, in `[switch.pfc]`. `reserve` and `headroom` are none of these: what is held was booked by them.
const THRESHOLDS: [&str; 6] = ["xoff", "xon", "port-xoff", "port-xon", "alpha", "hysteresis"];
/// What senders were built with, also those that have yet to begin.
const BUILT_WITH: [&str; 6] = ["alpha-initial", "base-rtt", "pacing", "segment", "window", "window-counts"];

/// Whether state can follow another value of a key while a run stands.
fn follows(key: &str) -> bool {
    let parameters = ["cc.", "switch.detector."].iter().find_map(|table| key.strip_prefix(table));
    if let Some(parameter) = parameters {
        // The controller, the detector or a function is another one then: what is remembered is not what it needs.
        let own = parameter.rsplit('.').next().unwrap_or_default();
        let is_built_with = key.starts_with("cc.") && BUILT_WITH.contains(&own);
        return parameter != "kind" && !parameter.starts_with("custom") && !is_built_with;
    }
    let threshold = key.strip_prefix("switch.pfc.");
    matches!(key, "run.until" | "run.threads") || threshold.is_some_and(|key| THRESHOLDS.contains(&key))
}

/// Why state cannot follow another value of a key.
fn why_not(key: &str) -> &'static str {
    match key.split(['.', '[']).next().unwrap_or_default() {
        "topology" => "what is queued and under way belongs to this network",
        "traffic" | "job" => {
            "flows are under way, and what a flow draws goes by its number: inject others into the run"
        }
        "probe" => "the tables that were begun would not go on",
        "run" => "what was drawn so far was drawn by it",
        "cc" => "all senders are built with it when a run begins",
        "host" => "queue pairs and NICs have state of their kind",
        _ => "queues, gates and accounts have state of their kind",
    }
}

/// Tells of each value that differs, in the order of the keys.
fn differences(at: &str, one: &Value, other: &Value, found: &mut impl FnMut(&str, &Value, &Value)) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                let place = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                let [a, b] = [one, other].map(|table| table.get(key).unwrap_or(&Value::Null));
                differences(&place, a, b, found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (number, (a, b)) in one.iter().zip(other).enumerate() {
                differences(&format!("{at}[{number}]"), a, b, found);
            }
        }
        _ if one == other => {}
        _ => found(at, one, other),
    }
}

/// Writes a file as a whole or not at all: beside its place, then into it.
pub(crate) fn write(path: &Path, head: &Head, state: &[u8]) -> Result<(), Error> {
    if path.is_dir() || path.file_name().is_none() {
        return Err(Error::Input(format!(
            "error: {} is a folder, and a run is saved in a file\n  allowed: the name of a file, new or to be replaced\n  help: add a name, such \
             as {}",
            path.display(),
            path.join("warm.ckpt").display()
        )));
    }
    let mut content = borsh::to_vec(head).map_err(Error::bug)?;
    let length = (content.len() + state.len()) as u64;
    let mut bytes = Vec::with_capacity(FRONT + content.len() + state.len() + CHECKSUM);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.append(&mut content);
    bytes.extend_from_slice(state);
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let beside = PathBuf::from(beside);
    let put = || -> io::Result<()> {
        let mut file = File::create(&beside)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    put().map_err(|error| {
        // Best effort: what is told is why it could not be written.
        let _ = fs::remove_file(&beside);
        Error::Output(format!("error: the checkpoint {} cannot be written: {error}", path.display()))
    })
}

/// Removes a file that nobody needs any more.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let message = format!("error: the checkpoint {} cannot be removed: {error}", path.display());
            Err(Error::Output(message))
        }
        _ => Ok(()),
    }
}

fn cut_short(path: &Path) -> Error {
    refused(path, "was cut short")
}

fn refused(path: &Path, what: impl Display) -> Error {
    Error::Input(format!(
        "error: {} {what}\n  help: take another checkpoint, or run the scenario anew",
        path.display()
    ))
}
