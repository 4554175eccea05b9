//! Sentences for C: into a buffer of the caller, always ended by NUL, never more than fits, cut between characters.
use core::ffi::c_char;
use core::fmt::{self, Write as _};

use crate::write_text::write_text;

/// Whether `outcome` is good; else the sentence goes to `why`.
///
/// # Safety
/// `why` is NULL or points to `why_size` bytes.
pub(crate) unsafe fn refuse(outcome: Result<(), String>, why: *mut c_char, why_size: usize) -> bool {
    let good = outcome.is_ok();
    // SAFETY: the caller's promise.
    unsafe { write_text(&outcome.err().unwrap_or_default(), why, why_size) };
    good
}

/// A text that stops at the end of its buffer.
struct Cut<'a> {
    to: &'a mut [u8],
    length: usize,
}

impl fmt::Write for Cut<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let free = &mut self.to[self.length..];
        let taken = text.len().min(free.len());
        free[..taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.length += taken;
        Ok(())
    }
}

/// Writes what something says of itself; returns the length. Without allocation, as it may be called for every bad frame.
///
/// # Safety
/// `why` is NULL or points to `why_size` bytes.
pub(crate) unsafe fn explain(what: &dyn fmt::Display, why: *mut c_char, why_size: usize) -> usize {
    if why.is_null() {
        return 0;
    }
    let mut bytes = [0; 512];
    let mut cut = Cut { to: &mut bytes, length: 0 };
    // Writing to a `Cut` cannot fail.
    let _ = write!(cut, "{what}");
    let length = cut.length;
    // What was cut inside a character ends before it.
    let valid = core::str::from_utf8(&bytes[..length]).map_or_else(|error| error.valid_up_to(), str::len);
    let text = core::str::from_utf8(&bytes[..valid]).unwrap_or_default();
    // SAFETY: the caller's promise.
    unsafe { write_text(text, why, why_size) }
}
