//! Sentences for C: into a buffer of the caller, always ended by NUL, never more than fits, cut between characters.
use core::ffi::c_char;

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

/// # Safety
/// `to` is NULL or points to `size` bytes.
pub(crate) unsafe fn write_text(text: &str, to: *mut c_char, size: usize) -> usize {
    if to.is_null() || size == 0 {
        return 0;
    }
    let mut length = text.len().min(size - 1);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    // SAFETY: `length < size`.
    unsafe {
        core::ptr::copy_nonoverlapping(text.as_ptr().cast::<c_char>(), to, length);
        to.add(length).write(0);
    }
    length
}
