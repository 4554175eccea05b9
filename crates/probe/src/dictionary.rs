//! The column dictionary: `backwater describe` and `docs/reference/columns.md`, both derived from [`crate::columns`].
use crate::columns::{Table, TableId, with_record};
use serde::Serialize;
use std::fmt::Write as _;

/// One line of the dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Table name.
    pub table: &'static str,
    /// Column name.
    pub column: &'static str,
    /// Type in words, such as `uint64 or null`.
    #[serde(rename = "type")]
    pub type_name: &'static str,
    /// Unit, or kind of number.
    pub unit: &'static str,
    /// Meaning.
    pub doc: &'static str,
}

/// Every column of every table, in file order.
pub fn dictionary() -> Vec<Entry> {
    TableId::ALL.into_iter().flat_map(|id| with_record!(id, R => entries::<R>())).collect()
}

fn entries<R: Table>() -> Vec<Entry> {
    let entry = |c: &crate::column::Column<R>| Entry {
        table: R::ID.name(),
        column: c.name,
        type_name: c.type_name(),
        unit: c.unit,
        doc: c.doc,
    };
    R::COLUMNS.iter().map(entry).collect()
}

/// [`dictionary()`] as a JSON list of `{table, column, type, unit, doc}`.
pub fn dictionary_json() -> String {
    serde_json::to_string(&dictionary()).expect("plain strings always serialise")
}

/// The text of `docs/reference/columns.md`.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Result tables\n\n\
         Generated from `crates/probe/src/columns`; do not edit. `backwater describe` prints the same.\n\n\
         Text columns are dictionary-encoded within the file. Times are simulated time since the start of the run.\n\
         Unit and meaning are also in each Parquet file: its metadata has them under `columns`, as JSON.\n",
    );
    for id in TableId::ALL {
        let doc = with_record!(id, R => R::DOC);
        let _ = write!(
            page,
            "\n## `{}`\n\n{doc}\n\n| column | type | unit | meaning |\n|---|---|---|---|\n",
            id.file()
        );
        for entry in dictionary().iter().filter(|e| e.table == id.name()) {
            let Entry { column, type_name, unit, doc, .. } = entry;
            let _ = writeln!(page, "| `{column}` | {type_name} | {unit} | {doc} |");
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_quantity_says_its_unit_in_its_name_and_only_then() {
        for entry in dictionary() {
            for unit in ["ps", "bytes", "bps"] {
                let suffix = format!("_{unit}");
                assert_eq!(entry.column.ends_with(&suffix), entry.unit == unit, "{entry:?}");
            }
        }
    }

    #[test]
    fn no_table_has_two_columns_of_one_name() {
        let mut seen = BTreeSet::new();
        for entry in dictionary() {
            assert!(seen.insert((entry.table, entry.column)), "{entry:?} is declared twice");
        }
    }

    #[test]
    fn every_column_has_a_meaning_that_is_a_sentence_and_fits_a_table_cell() {
        for entry in dictionary() {
            assert!(entry.doc.ends_with('.') && !entry.doc.contains(['|', '\n']), "{entry:?}");
        }
    }

    #[test]
    fn every_table_is_in_the_dictionary() {
        let tables: BTreeSet<_> = dictionary().iter().map(|e| e.table).collect();
        assert_eq!(tables.len(), TableId::ALL.len());
    }
}
