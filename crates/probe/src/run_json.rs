//! `run.json`: what a run was and what it left, written last and whole.
use crate::error::SinkError;
use crate::sink::Written;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;

/// File name in the results folder.
pub const FILE: &str = "run.json";

/// Adds `tables` and the budget's caveats to `run` (an object; its own `caveats` come first), writes it to
/// `<dir>/run.json` in one step, and returns it.
///
/// # Errors
/// [`SinkError::Io`] if the file cannot be written (an older run.json then stays), [`SinkError::NotAnObject`] if
/// `run` is something else.
pub fn write(dir: &Path, run: Value, written: &Written) -> Result<Value, SinkError> {
    let run = complete(run, written)?;
    let (part, path) = (dir.join(format!("{FILE}.part")), dir.join(FILE));
    let text = format!("{run:#}\n");
    let result = fs::write(&part, text).map_err(SinkError::io("write", &part));
    let result = result.and_then(|()| fs::rename(&part, &path).map_err(SinkError::io("write", &path)));
    if result.is_err() {
        // Best effort: the error that matters is on its way to the caller.
        let _ = fs::remove_file(&part);
    }
    result.map(|()| run)
}

/// `run` with its tables and caveats, as [`write()`] puts it on disk; for runs that keep no folder.
///
/// # Errors
/// [`SinkError::NotAnObject`] if `run` is not an object.
pub fn complete(run: Value, written: &Written) -> Result<Value, SinkError> {
    let mut run = match run {
        Value::Object(map) => map,
        other => {
            return Err(SinkError::NotAnObject { got: other.to_string() });
        }
    };
    let table =
        |t: &crate::TableInfo| (t.name.to_owned(), json!({"file": t.file, "rows": t.rows, "bytes": t.bytes}));
    run.insert("tables".to_owned(), Value::Object(written.tables.iter().map(table).collect::<Map<_, _>>()));
    let caveats = run.entry("caveats").or_insert_with(|| json!([]));
    if let Value::Array(list) = caveats {
        list.extend(written.caveats.iter().map(|caveat| json!(caveat)));
    }
    Ok(Value::Object(run))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TableInfo;
    use backwater_codes::{Code, Remark};

    fn written() -> Written {
        Written {
            tables: vec![TableInfo { name: "flows", file: "flows.parquet".to_owned(), rows: 2, bytes: 900 }],
            caveats: vec![Remark::new(Code::Budget, "marks", "marks: cut")],
            ..Written::default()
        }
    }

    #[test]
    fn run_json_lists_the_tables_and_keeps_the_runs_own_caveats_first() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), json!({"seed": 7, "caveats": ["own"]}), &written()).unwrap();
        let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
        let read: Value = serde_json::from_str(&text).unwrap();
        let tables = json!({"flows": {"file": "flows.parquet", "rows": 2, "bytes": 900}});
        let cut = json!({"code": "budget", "place": "marks", "message": "marks: cut"});
        assert_eq!(read, json!({"seed": 7, "caveats": ["own", cut], "tables": tables}));
    }

    #[test]
    fn a_run_json_that_cannot_be_written_leaves_nothing_half_written() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(FILE)).unwrap();
        let error = write(dir.path(), json!({}), &written()).unwrap_err().to_string();
        assert!(error.contains("run.json") && error.contains("remove it or choose another"), "{error}");
        assert!(!dir.path().join("run.json.part").exists());
    }

    #[test]
    fn only_an_object_can_be_a_run() {
        let error = complete(json!([1]), &Written::default()).unwrap_err().to_string();
        assert!(error.contains("[1]"), "{error}");
    }
}
