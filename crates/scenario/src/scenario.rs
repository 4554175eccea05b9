//! A scenario that has been read: every key known, every value of its type and in its range. What the values mean
//! together is the business of [`Scenario::validate`].
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::document::{DocumentError as ScenarioError, Node, Place, Problem, Source, Step, check, input};
use crate::layers;
use crate::overrides;
use crate::presets;
use crate::profiles;
use crate::schema;
use crate::schemes;
use crate::settings::{Profile, Settings};
use backwater_codes::Code;

/// A scenario as it was read, complete with the defaults of its profile.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(crate) settings: Settings,
    /// Shared, as those who have questions take a copy of all this.
    pub(crate) root: Arc<Node>,
    pub(crate) sources: Vec<Source>,
    pub(crate) overrides: Vec<String>,
    pub(crate) base: PathBuf,
    /// What the user wrote, before the profile.
    pub(crate) written: Arc<Node>,
    /// The profile's values.
    defaults: Node,
}

impl Scenario {
    /// Reads a scenario from a text. `origin` names the text in messages, `base` is the folder from which the paths in
    /// it count, `overrides` are applied in order (`traffic.load=0.6`).
    ///
    /// # Errors
    /// Everything that is no TOML, unknown, missing, of a wrong type or unit, or out of range.
    pub fn parse(text: &str, origin: &str, base: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        let mut sources = vec![Source { name: origin.to_owned(), text: text.to_owned() }];
        let overridden = |text: &String| Source { name: format!("--set {text}"), text: text.clone() };
        sources.extend(overrides.iter().map(overridden));
        match read(text, overrides, base, &mut sources) {
            Ok(Read { settings, root, written, defaults }) => {
                let (overrides, base) = (overrides.to_vec(), base.to_owned());
                let [root, written] = [root, written].map(Arc::new);
                Ok(Self { settings, root, sources, overrides, base, written, defaults })
            }
            Err(problems) => Err(ScenarioError::new(sources, problems)),
        }
    }

    /// Reads a scenario file; paths in it count from its folder.
    ///
    /// # Errors
    /// As [`Self::parse`]; and a file that cannot be read or is not UTF-8.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        let origin = path.display().to_string();
        let base = path.parent().unwrap_or(Path::new("."));
        match input::read(path, input::MOST_WRITTEN).map(String::from_utf8) {
            Ok(Ok(text)) => Self::parse(&text, &origin, base, overrides),
            Ok(Err(error)) => {
                let valid = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let place = Place { source: 0, span: valid..valid + 1 };
                let message = format!("the file is not UTF-8: byte {} begins no character", valid + 1);
                let problem = Problem::new(place, message, "not UTF-8")
                    .code(Code::Syntax)
                    .help("save the file as UTF-8");
                Err(ScenarioError::new(vec![Source { name: origin, text }], vec![problem]))
            }
            Err(error) => {
                let message = format!("the scenario file cannot be read: {error}");
                let place = Place { source: 0, span: 0..0 };
                let problem = Problem::new(place, message, "")
                    .code(Code::File)
                    .help(format!("looked for {}", path.display()));
                Err(ScenarioError::new(vec![Source { name: origin, text: String::new() }], vec![problem]))
            }
        }
    }

    /// Whether the value at the end of `path` is the profile's, and nobody wrote another.
    pub(crate) fn of_profile(&self, path: &[Step]) -> bool {
        self.root.place_of(path).source >= self.defaults.place.source
    }

    /// What the profile has at the end of `path`, if it is a text; a traffic entry's tables are those of the scenario there.
    pub(crate) fn default_of(&self, path: &[Step]) -> Option<&str> {
        let path = if path.first().and_then(Step::key) == Some("traffic") { path.get(2..)? } else { path };
        path.iter().try_fold(&self.defaults, |node, step| node.get(step.key()?)).and_then(Node::text)
    }

    /// Whether it names functions of the user's, as far as that is known without the checks.
    pub fn names_functions(&self) -> bool {
        let own = self.settings.traffic.iter().filter_map(|entry| entry.cc.as_ref());
        let controllers = own.chain([&self.settings.cc]).any(|cc| cc.custom.function.is_some());
        controllers || self.settings.switch.detector.custom.function.is_some()
    }

    /// The values, defaults included.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}

/// What was read, by layer.
struct Read {
    settings: Settings,
    root: Node,
    written: Node,
    defaults: Node,
}

fn read(
    text: &str,
    overrides: &[String],
    base: &Path,
    sources: &mut Vec<Source>,
) -> Result<Read, Vec<Problem>> {
    let rules = schema::rules();
    let mut root = Node::parse(text, 0)?;
    if text.trim().is_empty() {
        let place = Place { source: 0, span: 0..0 };
        let problem =
            Problem::new(place, "the scenario is empty".to_owned(), "nothing here").code(Code::Syntax);
        return Err(vec![problem.help("write at least [topology] and one [[traffic]] or [[job]] entry")]);
    }
    // What a scheme is set in; few files list some.
    let lists = |text: &String| text.trim_start().starts_with("scheme");
    let file = (root.get("scheme").is_some() || overrides.iter().any(lists)).then(|| root.clone());
    let mut problems = Vec::new();
    for (index, text) in overrides.iter().enumerate() {
        let refused = overrides::apply(&mut root, text, (index + 1, 0), rules).err();
        problems.extend(refused.map(|problem| problem.code(Code::Override)));
    }
    let written = root.clone();
    let named = root.get("profile").and_then(Node::text);
    // An unknown profile is reported by the check below; any set of defaults serves to check the rest.
    let profile = Profile::ALL.into_iter().find(|profile| Some(profile.name()) == named).unwrap_or_default();
    presets::fill(&mut root, base, sources)?;
    let defaults = profiles::defaults(profile, sources)?;
    layers::fill(&mut root, &defaults, "");
    layers::fill_entries(&mut root);
    problems.extend(check(&root, rules));
    if let (Some(file), true) = (file, problems.is_empty()) {
        // Only then: under every scheme the same would be wrong again.
        problems = schemes::check(&root, &file, overrides, base, sources);
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    match serde_json::from_value(root.json()) {
        Ok(settings) => Ok(Read { settings, root, written, defaults }),
        Err(error) => Err(vec![
            Problem::new(root.place.clone(), error.to_string(), "in this scenario").code(Code::File),
        ]),
    }
}
