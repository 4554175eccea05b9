//! Any bytes are a frame or refused with a reason; a frame has a line for people, and marking it keeps it a frame.
use backwater_wire::{Frame, icrc, set_ecn};

pub(crate) fn target(bytes: &[u8]) {
    let _ = icrc(bytes);
    let Ok(frame) = Frame::parse(bytes) else { return };
    assert!(!frame.to_string().is_empty());
    let mut marked = bytes.to_vec();
    if set_ecn(&mut marked[frame.ethernet.len()..], 3) && frame.ethernet.ethertype == 0x0800 {
        assert!(Frame::parse(&marked).is_ok());
    }
}
