//! Files that a scenario names.
use std::path::PathBuf;

use super::Context;
use crate::document::{Step, input};

impl Context<'_> {
    /// The bytes of a file whose name stands at `path`; what hinders reading is reported with the absolute path.
    pub(super) fn read(&mut self, path: &[Step], file: &str) -> Option<Vec<u8>> {
        let joined = self.scenario.base.join(file);
        let absolute: PathBuf = std::path::absolute(&joined).unwrap_or(joined);
        match input::read(&absolute, input::MOST_DATA) {
            Ok(bytes) => {
                self.files.push(absolute);
                Some(bytes)
            }
            Err(error) => {
                let message = format!("{file:?} cannot be read: {error}");
                let help = format!(
                    "looked for {}; paths count from the folder of the scenario file",
                    absolute.display()
                );
                self.report(path, message, "this file", help);
                None
            }
        }
    }

    /// The text of a file whose name stands at `path`.
    pub(super) fn read_text(&mut self, path: &[Step], file: &str) -> Option<String> {
        let bytes = self.read(path, file)?;
        match String::from_utf8(bytes) {
            Ok(text) => Some(text),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let line = error.as_bytes()[..valid].split(|&byte| byte == b'\n').count();
                let message = format!("{file:?}, line {line}: the file is not UTF-8 text");
                self.report(path, message, "this file", "save it as plain UTF-8 text");
                None
            }
        }
    }
}
