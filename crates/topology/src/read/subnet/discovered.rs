//! The topology file of `ibnetdiscover`: a record for each node, and in it a line for each port with a cable.
//!
//! ```text
//! switchguid=0xb8cef60300e5d2a0(b8cef60300e5d2a0)
//! Switch  40 "S-b8cef60300e5d2a0"     # "MF0;leaf-1:MQM8790/U1" enhanced port 0 lid 1 lmc 0
//! [1]     "H-0c42a10300a1b2c4"[1](c42a10300a1b2c4)        # "node01 mlx5_0" lid 5 4xHDR
//! ```
use super::{Joint, Kind, Raw, Record, Subnet, SubnetError, data_rate, wrong};

/// Reads one.
///
/// # Errors
/// [`SubnetError`] with the line.
pub fn discovered(text: &str) -> Result<Subnet, SubnetError> {
    let mut raw = Raw::default();
    let mut current: Option<String> = None;
    for (line, content) in (1..).zip(text.lines()) {
        raw.lines = line;
        let content = content.trim();
        let first = content.split_whitespace().next().unwrap_or_default();
        let kind = match first {
            "Switch" => Kind::Switch,
            "Ca" | "Hca" => Kind::Host,
            "Rt" => Kind::Router,
            _ if content.starts_with('[') => {
                let Some(id) = &current else {
                    return wrong(line, "a port before the first node; give the whole output");
                };
                port(&mut raw, id, content, line)?;
                continue;
            }
            _ if is_about(content) => continue,
            _ => {
                return wrong(
                    line,
                    "expected a node (Switch, Ca, Rt), a port ([1] ...) or an empty line, as ibnetdiscover prints them",
                );
            }
        };
        let Some((id, rest)) = quoted(&content[first.len()..]) else {
            return wrong(line, format!("expected {first}, a number of ports and an id between quotes"));
        };
        let description =
            rest.split_once('#').map_or("", |(_, comment)| between(comment).unwrap_or_default());
        let guid = id.split_once('-').and_then(|(_, digits)| u64::from_str_radix(digits, 16).ok());
        let (id, description) = (id.to_owned(), description.to_owned());
        raw.node(Record { kind, id: id.clone(), guid, description, line })?;
        current = Some(id);
    }
    raw.finish()
}

/// Lines that say nothing of cables: comments, `vendid=0x2c9`, chassis of a grouped output.
fn is_about(line: &str) -> bool {
    let key = line
        .split_once('=')
        .is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_lowercase()) && !key.is_empty());
    line.is_empty()
        || line.starts_with('#')
        || key
        || ["Chassis", "Non-Chassis", "Hostname"].iter().any(|word| line.starts_with(word))
}

/// `[1](guid) "S-1"[23] # ...`
fn port(raw: &mut Raw, id: &str, content: &str, line: usize) -> Result<(), SubnetError> {
    let shape = "expected [PORT] \"ID\"[PORT] and what follows # as ibnetdiscover prints them";
    let Some((own, rest)) = in_brackets(content) else { return wrong(line, shape) };
    let (cable, comment) = rest.split_once('#').unwrap_or((rest, ""));
    let Some((to, rest)) = quoted(cable) else { return wrong(line, shape) };
    let Some((port, _)) = in_brackets(rest) else { return wrong(line, shape) };
    let speed = comment.split_whitespace().rev().find_map(|word| {
        let (lanes, speed) = word.split_once('x')?;
        data_rate(lanes, speed)
    });
    let after = comment.rsplit_once('"').map_or(comment, |(_, after)| after);
    if speed.is_none()
        && let Some(word) = after
            .split_whitespace()
            .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('x'))
    {
        return wrong(
            line,
            format!(
                "{word} is no width and speed: SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR of 1, 2, 4, 8 or 12 lanes"
            ),
        );
    }
    // A host's own LID stands before the description of its neighbour; that of the neighbour after it.
    let (before, own_line) = match comment.split_once('"') {
        Some((before, _)) => (before, before.contains("lid")),
        None => (comment, true),
    };
    if own_line {
        note_lid(raw, id, before);
    }
    note_lid(raw, to, after);
    raw.joint(id, own, Joint { to: to.to_owned(), port, rate: speed, line })
}

/// Remembers the number behind the word `lid`.
fn note_lid(raw: &mut Raw, id: &str, text: &str) {
    let mut words = text.split_whitespace().skip_while(|word| *word != "lid").skip(1);
    if let Some(lid) = words.next().and_then(|word| word.parse::<u32>().ok()).filter(|lid| *lid > 0) {
        raw.lids.entry(id.to_owned()).or_insert(lid);
    }
}

/// A port number between brackets at the beginning, and what follows.
fn in_brackets(text: &str) -> Option<(u8, &str)> {
    let (number, rest) = text.trim_start().strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, rest))
}

/// The first text between quotes, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once('"')?;
    let (inner, rest) = rest.split_once('"')?;
    (!inner.is_empty()).then_some((inner, rest))
}

/// What stands between the first and the last quote.
fn between(text: &str) -> Option<&str> {
    let (first, last) = (text.find('"')?, text.rfind('"')?);
    text.get(first + 1..last)
}
