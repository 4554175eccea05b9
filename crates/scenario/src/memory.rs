//! How much memory this process may still take, before it takes it.
use std::fs;

use backwater_units::Bytes;

/// The environment variable that says it instead, such as `64GB`.
pub const VARIABLE: &str = "BACKWATER_MEMORY";

/// Memory that can be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Free {
    /// Bytes.
    pub bytes: u64,
    /// What says so: the tightest of several limits.
    pub source: &'static str,
}

/// The least of what the variable, or else the machine, the container and the limits of the process leave; `None` where nothing is
/// known.
///
/// # Errors
/// A variable that is set and says no size.
pub fn free() -> Result<Option<Free>, String> {
    if let Some(told) = std::env::var_os(VARIABLE).filter(|told| !told.is_empty()) {
        return match told.to_str().and_then(|text| text.parse::<Bytes>().ok()) {
            Some(told) => Ok(Some(Free { bytes: told.get(), source: VARIABLE })),
            None => Err(format!(
                "{VARIABLE}={} is no size: write a number and its unit, such as {VARIABLE}=64GB, or unset it",
                told.display()
            )),
        };
    }
    let found = [
        (machine(), "MemAvailable of the machine"),
        (container(), "the limit of the container"),
        (process(), "ulimit -v"),
    ];
    let known = found.into_iter().filter_map(|(bytes, source)| Some(Free { bytes: bytes?, source }));
    Ok(known.min_by_key(|free| free.bytes))
}

/// What Linux says can be had without swapping.
fn machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// The cgroup's limit, less what it holds that cannot be given back.
fn container() -> Option<u64> {
    let number = |file: &str| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    let own = fs::read_to_string("/proc/self/cgroup").ok();
    let path = own.as_deref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("0::")));
    let second = |path: &str| {
        let folder = format!("/sys/fs/cgroup{}", path.trim_end_matches('/'));
        let cache = fs::read_to_string(format!("{folder}/memory.stat")).ok()?;
        let cache =
            cache.lines().find_map(|line| line.strip_prefix("inactive_file "))?.parse::<u64>().ok()?;
        let used = number(&format!("{folder}/memory.current"))?.saturating_sub(cache);
        Some(number(&format!("{folder}/memory.max"))?.saturating_sub(used))
    };
    path.and_then(second).or_else(|| second("")).or_else(|| {
        let folder = "/sys/fs/cgroup/memory";
        let limit = number(&format!("{folder}/memory.limit_in_bytes"))?;
        Some(limit.saturating_sub(number(&format!("{folder}/memory.usage_in_bytes"))?))
    })
}

/// What `ulimit -v` leaves of the address space.
fn process() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit = line.split_whitespace().next()?.parse::<u64>().ok()?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let used = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    Some(limit.saturating_sub(used.split_whitespace().next()?.parse::<u64>().ok()? * 1024))
}
