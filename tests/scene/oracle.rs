//! Independent programs in Python, which tests compare the crates with. They run once per test binary and take seconds, so that what they
//! say is never out of date and need not be kept.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// A program `tests/FOLDER/oracle/NAME.py`, which prints cases: lines that begin with `== CASE`.
pub struct Oracle {
    folder: &'static str,
    name: &'static str,
    said: OnceLock<BTreeMap<String, String>>,
}

impl Oracle {
    /// A program, which runs when it is first asked.
    pub const fn new(folder: &'static str, name: &'static str) -> Self {
        Self { folder, name, said: OnceLock::new() }
    }

    /// All cases by name.
    ///
    /// # Panics
    /// If there is no Python, or the program fails.
    pub fn cases(&self) -> &BTreeMap<String, String> {
        self.said.get_or_init(|| {
            let program = self.place("oracle").join(format!("{}.py", self.name));
            // `make test` has chosen one.
            let python = std::env::var("PYO3_PYTHON").unwrap_or_else(|_| "python3".to_owned());
            let said = match Command::new(&python).arg("-B").arg(&program).output() {
                Ok(output) if output.status.success() => output.stdout,
                failed => panic!(
                    "`{python} {}` needs Python 3.11 or newer, which `make test-rust` finds: {failed:?}",
                    program.display()
                ),
            };
            let text = String::from_utf8(said).expect("UTF-8");
            let cases = text.strip_prefix("== ").expect("a case").split("\n== ");
            let named = cases.map(|case| case.split_once('\n').expect("lines of a case"));
            named.map(|(name, lines)| (name.to_owned(), lines.to_owned())).collect()
        })
    }

    /// The lines of one case.
    ///
    /// # Panics
    /// If the program has no such case.
    pub fn case(&self, name: &str) -> &str {
        self.cases().get(name).unwrap_or_else(|| panic!("{}.py prints no case {name}", self.name))
    }

    /// The names of the small cases in `tests/FOLDER/data/NAME`, which are kept to be checked by hand.
    ///
    /// # Panics
    /// If the program says anything else of one of them.
    pub fn kept(&self) -> Vec<String> {
        let folder = self.place("data").join(self.name);
        let files =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut names = Vec::new();
        for file in files.map(|file| file.expect("a file").path()) {
            let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
            let kept = std::fs::read_to_string(&file).expect("a text");
            assert!(
                self.case(&name).starts_with(kept.trim_end()),
                "{}.py does not print {}",
                self.name,
                file.display()
            );
            names.push(name);
        }
        names.sort();
        names
    }

    fn place(&self, kind: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(self.folder).join(kind)
    }
}
