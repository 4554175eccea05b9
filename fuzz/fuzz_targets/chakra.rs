//! Any two files are a Chakra trace or refused with a place.
#![no_main]
use backwater_traffic::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|files: (&[u8], &[u8])| {
    match read::chakra(&[files.0, files.1]) {
        Ok(imported) => {
            let again = read::trace(&imported.trace.to_string()).expect("what was written");
            assert_eq!(again.flows(), imported.trace.flows());
        }
        Err(error) => assert!(!error.place.is_empty() && !error.what.is_empty()),
    }
});
