//! Reading files that people name: regular files only, and no more of them than anybody means to give.
use std::fs::{File, Metadata};
use std::io::{Error, Read};
use std::path::Path;

/// Most bytes of a text that people write: a scenario, a testbed, run.json.
pub const MOST_WRITTEN: u64 = 64 << 20;
/// Most bytes of a file of data: flow lists, traces, programs, tables of sizes, patterns, what is imported.
pub const MOST_DATA: u64 = 4 << 30;

/// The bytes of a regular file of at most `most` bytes. Anything else is refused before it is opened: a device never ends, and a pipe
/// may have nobody who writes to it.
///
/// # Errors
/// Those of the system, and in the same words what the file is instead, or how large.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let found = std::fs::metadata(path)?;
    if !found.is_file() {
        return Err(Error::other(format!("it is {}, not a file", kind(&found))));
    }
    let too_large = |size: u64| {
        Error::other(format!("it has {size} bytes, and at most {most} are read: is it the right file?"))
    };
    if found.len() > most {
        return Err(too_large(found.len()));
    }
    let (mut bytes, mut file) = (Vec::new(), File::open(path)?);
    bytes.try_reserve_exact(found.len() as usize + 1)?;
    // Files of /proc have no size, and others may grow.
    let read = file.by_ref().take(most + 1).read_to_end(&mut bytes)?;
    if read as u64 > most { Err(too_large(read as u64)) } else { Ok(bytes) }
}

/// What is no regular file.
fn kind(found: &Metadata) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = found.file_type();
        if kind.is_fifo() {
            return "a named pipe";
        } else if kind.is_socket() {
            return "a socket";
        } else if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    if found.is_dir() { "a folder" } else { "something else" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_folders_are_named_and_not_read() {
        let said = |path: &str| read(Path::new(path), 10).unwrap_err().to_string();
        assert_eq!(said("/dev/zero"), "it is a device, not a file");
        assert_eq!(said("/"), "it is a folder, not a file");
        assert!(said("/proc/self/maps").starts_with("it has 11 bytes, and at most 10 are read"));
        assert!(read(Path::new("/nowhere"), 10).unwrap_err().to_string().contains("No such file"));
    }
}
