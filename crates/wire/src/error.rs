//! Why bytes are refused: the field, what it holds, and what it may hold.
use crate::{Ethernet, Vlan};

/// Bytes that are no frame of the kind that was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The frame ends before the field does.
    #[error("{what} is too short: {have} B, at least {least} B are needed")]
    TooShort {
        /// What ends too early.
        what: &'static str,
        /// Bytes that are there.
        have: usize,
        /// Bytes that are needed.
        least: usize,
    },
    /// More bytes than the format allows.
    #[error("{what} is too long: {have} B, at most {most} B are allowed")]
    TooLong {
        /// What goes on too long.
        what: &'static str,
        /// Bytes that are there.
        have: usize,
        /// Bytes that are allowed.
        most: usize,
    },
    /// A field has a value that the format does not have.
    #[error("{what} is {found:#x}, expected {expected}")]
    Unknown {
        /// The field.
        what: &'static str,
        /// Its value.
        found: u64,
        /// What it may hold.
        expected: &'static str,
    },
    /// A frame that lies below the layer that tags has a VLAN tag.
    #[error("{what} has a VLAN tag (VLAN {id}, priority {priority}): MAC control is not tagged")]
    Tagged {
        /// What is tagged.
        what: &'static str,
        /// VLAN identifier.
        id: u16,
        /// Priority code point.
        priority: u8,
    },
    /// A check sequence does not agree with the bytes that it covers.
    #[error("{what} is {found:#x}, the bytes give {computed:#x}")]
    Check {
        /// The check sequence.
        what: &'static str,
        /// As it was read.
        found: u32,
        /// As it should be.
        computed: u32,
    },
    /// The buffer that a frame is to be written to is too small.
    #[error("no room for {what}: the buffer has {have} B, {need} B are needed")]
    NoRoom {
        /// What was to be written.
        what: &'static str,
        /// Bytes of the buffer.
        have: usize,
        /// Bytes that are needed.
        need: usize,
    },
}

/// MAC control lies below the layer that tags (IEEE 802.1Q clause 6.8, IEEE 802.3 clause 31), and so do credit messages here: what looks like
/// one behind a tag has come through a bridge, and says nothing of this link.
pub(crate) fn untagged(header: &Ethernet, what: &'static str) -> Result<(), WireError> {
    match header.vlan {
        None => Ok(()),
        Some(Vlan { priority, id, .. }) => Err(WireError::Tagged { what, id, priority }),
    }
}

/// The first `least` bytes of `bytes` and the rest, or why not.
pub(crate) fn split<'a>(
    bytes: &'a [u8],
    least: usize,
    what: &'static str,
) -> Result<(&'a [u8], &'a [u8]), WireError> {
    bytes.split_at_checked(least).ok_or(WireError::TooShort { what, have: bytes.len(), least })
}

/// The first `need` bytes of a buffer to write to.
pub(crate) fn room<'a>(
    buffer: &'a mut [u8],
    need: usize,
    what: &'static str,
) -> Result<&'a mut [u8], WireError> {
    let have = buffer.len();
    buffer.get_mut(..need).ok_or(WireError::NoRoom { what, have, need })
}

/// Big-endian words of `bytes` at `at`, which must lie inside.
pub(crate) fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}
pub(crate) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from(be16(bytes, at)) << 16 | u32::from(be16(bytes, at + 2))
}
pub(crate) fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from(be32(bytes, at)) << 32 | u64::from(be32(bytes, at + 4))
}
