//! The committed header is the one that the crate gives; `BLESS=1 cargo test -p CRATE header` writes it anew. Both C interfaces have
//! this file.
use std::path::{Path, PathBuf};

/// The one header of the crate.
fn header() -> PathBuf {
    let folder = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("include")).expect("a folder");
    let mut files = folder.map(|file| file.expect("a file").path());
    let header = files.next().expect("a header");
    assert!(files.next().is_none(), "one header");
    header
}

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
    let (path, header) = (header(), generated());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &header).expect("the header can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let (path, name) = (path.display(), env!("CARGO_PKG_NAME"));
    assert!(committed == header, "{path} is out of step: BLESS=1 cargo test -p {name} header");
}
