//! `docs/reference/testbed.md` says what the types say. `BLESS=1 cargo test -p backwater-testbed reference` writes it anew.

const HEAD: &str = "# The file of a testbed: every key

Generated from `crates/testbed/src/settings`; what it is for: [testbed.md](testbed.md). Quantities are texts with a unit (`\"10Gbps\"`, `\"9.2us\"`,
`\"800KB\"`). An unknown key is an error.

";

#[test]
fn the_committed_reference_is_the_one_that_the_types_give() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/testbed.md");
    let text = format!("{HEAD}{}\n", backwater_testbed::reference().trim_end());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("the reference can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "out of step: BLESS=1 cargo test -p backwater-testbed reference");
}
