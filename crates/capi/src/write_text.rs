//! A text for C. `crates/crun` has this file, too.
use core::ffi::c_char;

/// Writes a text that is cut between characters and ended by NUL; returns its length.
///
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
