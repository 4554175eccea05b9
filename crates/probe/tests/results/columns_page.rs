//! `docs/reference/columns.md` says what the code writes.
use std::path::Path;

#[test]
fn the_columns_page_is_what_the_declarations_generate() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/columns.md");
    let expected = backwater_probe::markdown();
    if std::env::var_os("BACKWATER_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/reference/columns.md is out of date; run: BACKWATER_BLESS=1 cargo test -p backwater-probe --test results"
    );
}

#[test]
fn the_dictionary_is_a_json_list_of_table_column_type_unit_doc() {
    let list: serde_json::Value = serde_json::from_str(&backwater_probe::dictionary_json()).unwrap();
    let first = list[0].as_object().unwrap();
    let keys: Vec<_> = first.keys().map(String::as_str).collect();
    assert_eq!(keys, ["column", "doc", "table", "type", "unit"]);
    assert_eq!(list.as_array().unwrap().len(), backwater_probe::dictionary().len());
}
