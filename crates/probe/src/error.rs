//! What can go wrong while results are written, with what to do about it.
use crate::names::NameError;
use parquet::errors::ParquetError;
use std::fmt;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Results could not be written. No half-written result file is left behind.
#[derive(Debug, Error)]
pub enum SinkError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}; {}", path.display(), Recovery::from(source))]
    Io {
        /// What was tried, such as `write`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: Error,
    },
    /// A record names something unknown.
    #[error("{table}: {source}")]
    Name {
        /// The table.
        table: &'static str,
        /// The index that has no name.
        #[source]
        source: NameError,
    },
    /// The Parquet library refused rows.
    #[error("cannot encode {table}: {reason}; this is a bug, please report it with the scenario")]
    Encode {
        /// The table.
        table: &'static str,
        /// Its reason.
        reason: String,
    },
    /// The sink was used again after it had failed.
    #[error("results in {} were given up after an earlier error; nothing more is written", path.display())]
    GivenUp {
        /// The results folder.
        path: PathBuf,
    },
    /// The value for run.json is not a JSON object.
    #[error("run.json must be a JSON object, got {got}; pass serde_json::Value::Object")]
    NotAnObject {
        /// What it was.
        got: String,
    },
}

impl SinkError {
    /// Binds an I/O error to what was tried on which path; for use in `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Sorts a Parquet error into the system's fault or the encoder's.
    pub(crate) fn parquet(table: &'static str, path: &Path) -> impl FnOnce(ParquetError) -> Self {
        let path = path.to_owned();
        move |error| match error {
            ParquetError::External(inner) => match inner.downcast::<Error>() {
                Ok(source) => Self::Io { action: "write", path, source: *source },
                Err(other) => Self::Encode { table, reason: other.to_string() },
            },
            other => Self::Encode { table, reason: other.to_string() },
        }
    }
}

/// What a user can do about a system error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The disk or a quota is full.
    FreeSpace,
    /// The folder may not be written.
    Permission,
    /// Something else is in the way.
    OtherName,
    /// Nothing specific is known.
    OtherFolder,
}

impl From<&Error> for Recovery {
    fn from(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Self::FreeSpace,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Self::Permission,
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory | ErrorKind::IsADirectory => Self::OtherName,
            _ => Self::OtherFolder,
        }
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FreeSpace => {
                "free some space, lower probe.budget, or choose an output folder on another disk"
            }
            Self::Permission => "make the folder writable or choose another output folder",
            Self::OtherName => {
                "a file is where a folder must be (or the reverse): remove it or choose another output folder"
            }
            Self::OtherFolder => "check the path or choose another output folder",
        })
    }
}
