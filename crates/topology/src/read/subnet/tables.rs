//! Linear forwarding tables: what `dump_lfts` (`dump_fts`, `ibroute`) prints, and `ibdiagnet2.fdbs`. Both have the switch, then a line for
//! each LID.
//!
//! ```text
//! Unicast lids [0x0-0x5] of switch Lid 1 guid 0xb8cef60300e5d2a0 (MF0;leaf-1:MQM8790/U1):
//! 0x0005 001 : (Channel Adapter portguid 0x0c42a10300a1b2c4: 'node01 mlx5_0')
//!
//! osm_ucast_mgr_dump_ucast_routes: Switch 0xb8cef60300e5d2a0
//! 0x0005 : 001  : 00   : yes
//! ```
use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Subnet, SubnetError, hexadecimal, wrong};

/// The tables of a subnet's switches as a file of [`crate::read::table`], and what was left out.
///
/// # Errors
/// [`SubnetError`] with the line.
pub fn tables(subnet: &Subnet, text: &str) -> Result<(String, Vec<String>), SubnetError> {
    let mut ways = BTreeMap::<(&str, &str), Vec<&str>>::new();
    let mut seen = BTreeMap::<(&str, &str), usize>::new();
    let mut switch: Option<Option<&String>> = None;
    let (mut strangers, mut unknown, mut last) = (0usize, 0usize, 1);
    for (line, content) in (1..).zip(text.lines()) {
        last = line;
        let content = content.trim();
        if let Some(words) = heading(content) {
            let Some(guid) = words.split_whitespace().next().and_then(hexadecimal) else {
                return wrong(line, "expected the GUID of a switch, such as 0xb8cef60300e5d2a0");
            };
            let found = subnet.by_guid.get(&guid);
            strangers += usize::from(found.is_none());
            switch = Some(found);
            continue;
        }
        let Some(lid) = content.split([' ', '\t', ':']).next().and_then(hexadecimal) else { continue };
        let Some(switch) = switch else {
            return wrong(line, "a LID before the first switch; give the whole output");
        };
        let Some(switch) = switch else { continue };
        let port = content.split([' ', '\t', ':']).filter(|word| !word.is_empty()).nth(1).unwrap_or_default();
        if port == "UNREACHABLE" {
            continue;
        }
        let Ok(port) = port.parse::<u8>() else {
            return wrong(line, format!("port {port:?} is no number from 0 to 255"));
        };
        let Some(host) = u32::try_from(lid).ok().and_then(|lid| subnet.by_lid.get(&lid)) else {
            unknown += 1;
            continue;
        };
        let Some(next) = subnet.behind.get(&(switch.clone(), port)) else {
            return wrong(
                line,
                format!(
                    "port {port} of {switch} leads to {host} here, but the topology file has no cable at it; give files of the same day"
                ),
            );
        };
        if let Some(first) = seen.insert((switch, host), line) {
            return wrong(line, format!("LID {lid:#06x} of {switch} stands in line {first} already"));
        }
        ways.entry((switch, next)).or_default().push(host);
    }
    if ways.is_empty() {
        return wrong(last, "no table of a switch of the topology file is in this file");
    }
    let mut table = String::new();
    for ((switch, port), hosts) in ways {
        let _ = writeln!(table, "{switch} {port} {}", hosts.join(" "));
    }
    let mut notes = Vec::new();
    if strangers > 0 {
        notes.push(format!(
            "tables of switches that the topology file does not have are left out: {strangers}"
        ));
    }
    if unknown > 0 {
        notes.push(format!("entries for LIDs that are no hosts' first ones, such as those of switches, are left out: {unknown}"));
    }
    Ok((table, notes))
}

/// Of a line that begins a table, what its GUID begins.
fn heading(line: &str) -> Option<&str> {
    if line.starts_with("Unicast lids") {
        return Some(line.split_once(" guid ").map_or("", |(_, rest)| rest));
    }
    line.strip_prefix("osm_ucast_mgr_dump_ucast_routes: Switch")
}
