//! Any text is a scenario or refused with places and reasons; a scenario that passes validation can be built.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| backwater_fuzz::scenario(text, &[]));
