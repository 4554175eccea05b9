//! Any two files are a Chakra trace or refused with a place.
use backwater_traffic::read;

pub(crate) fn target(bytes: &[u8]) {
    // The last byte says where the second file begins.
    let Some((at, bytes)) = bytes.split_last() else { return };
    let files = bytes.split_at(usize::from(*at) % (bytes.len() + 1));
    match read::chakra(&[files.0, files.1]) {
        Ok(imported) => {
            let again = read::trace(&imported.trace.to_string()).expect("what was written");
            assert_eq!(again.flows(), imported.trace.flows());
        }
        Err(error) => assert!(!error.place.is_empty() && !error.what.is_empty()),
    }
}
