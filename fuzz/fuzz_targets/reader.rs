//! The reader that `READER` names, one of `backwater_fuzz::READERS`: one program for all, as each takes long to link.
#![no_main]
use std::sync::LazyLock;

use backwater_fuzz::{READERS, Reader};
use libfuzzer_sys::fuzz_target;

static CHOSEN: LazyLock<Reader> = LazyLock::new(|| {
    let name = std::env::var("READER").unwrap_or_default();
    let found = READERS.iter().find(|(one, _)| *one == name);
    found.unwrap_or_else(|| panic!("READER={name:?} is none of fuzz/src/lib.rs")).1
});

fuzz_target!(|input: &[u8]| CHOSEN.read(input));
