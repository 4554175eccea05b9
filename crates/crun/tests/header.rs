//! `include/backwater_run.h` says what the crate has. `BLESS=1 cargo test -p backwater-crun header` writes it anew.
use std::path::Path;

fn generated() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).expect("cbindgen.toml");
    let builder = cbindgen::Builder::new().with_config(config).with_src(here.join("src/lib.rs"));
    let mut header = Vec::new();
    builder.generate().expect("the crate can be read").write(&mut header);
    String::from_utf8(header).expect("C is ASCII here")
}

#[test]
fn the_committed_header_is_the_one_that_the_crate_gives() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/backwater_run.h");
    let header = generated();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &header).expect("the header can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == header,
        "include/backwater_run.h is out of step: BLESS=1 cargo test -p backwater-crun header"
    );
}
