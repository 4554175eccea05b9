//! The flow list of the HPCC/ns-3 RoCE simulators: a count, then `src dst priority port bytes start` per flow.
//!
//! `src` and `dst` are node numbers, `port` is a UDP port (by convention 100 for normal and 200 for incast flows),
//! `start` is in seconds. Unlike in that simulator the lines need not be sorted by time.
//!
//! That simulator reads no more flows than announced and ignores the rest. Its own files have a description of the format there,
//! which is ignored here, too; flows too many are an error.
use backwater_units::{Bytes, Time};

use crate::flow::MAX_SIZE;

/// Why a text is not a flow list. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Nothing but white space.
    #[error("is empty; the first line must be the number of flows")]
    Empty,
    /// The first line is not a number.
    #[error("line {line}: `{text}` is not the number of flows")]
    Count {
        /// Where.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// Not six fields.
    #[error(
        "line {line}: `{text}` has {fields} fields; a flow is `src dst priority port bytes start-in-seconds`"
    )]
    Fields {
        /// Where.
        line: usize,
        /// What stands there.
        text: String,
        /// How many fields.
        fields: usize,
    },
    /// A field that is not a number in its range.
    #[error("line {line}: {field} `{text}` is not {wanted}")]
    Field {
        /// Where.
        line: usize,
        /// Which field.
        field: &'static str,
        /// What stands there.
        text: String,
        /// What is allowed.
        wanted: &'static str,
    },
    /// A node that does not exist or is a switch.
    #[error("line {line}: {field} {node} is not a host of the topology")]
    NoHost {
        /// Where.
        line: usize,
        /// `src` or `dst`.
        field: &'static str,
        /// The node number.
        node: u32,
    },
    /// Source and destination are the same.
    #[error("line {line}: the flow goes from node {node} to itself")]
    ToItself {
        /// Where.
        line: usize,
        /// The node number.
        node: u32,
    },
    /// A start before the origin of time.
    #[error("line {line}: starts at {start}, before the time origin {origin}; lower time-origin")]
    BeforeOrigin {
        /// Where.
        line: usize,
        /// Start in the file.
        start: Time,
        /// What counts as time zero.
        origin: Time,
    },
    /// Fewer or more flows than announced.
    #[error(
        "announces {announced} flows in its first line but holds {found}; {}",
        if found < announced { "is the file truncated?" } else { "correct the number, or remove the others" }
    )]
    Length {
        /// The first line.
        announced: usize,
        /// Lines that are there.
        found: usize,
    },
}

/// One line of the list, hosts resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HpccFlow {
    /// Source, as a host index.
    pub src: u32,
    /// Destination, as a host index.
    pub dst: u32,
    /// Priority, 0 to 7.
    pub priority: u8,
    /// Destination UDP port.
    pub port: u16,
    /// Payload.
    pub size: Bytes,
    /// Start, relative to the origin.
    pub start: Time,
}

/// Reads a flow list. `host_of` gives the host index of a node number, `origin` is the time in the file that
/// becomes time zero (the HPCC generator starts at 2 s).
pub fn hpcc(
    text: &str,
    origin: Time,
    host_of: impl Fn(u32) -> Option<u32>,
) -> Result<Vec<HpccFlow>, ReadError> {
    let numbered = text.lines().enumerate().map(|(index, text)| (index + 1, text.trim()));
    let mut lines = numbered.filter(|(_, text)| !text.is_empty());
    let (line, first) = lines.next().ok_or(ReadError::Empty)?;
    let announced: usize = first.parse().map_err(|_| ReadError::Count { line, text: shown(first) })?;
    let mut flows = Vec::new();
    for (line, text) in lines.by_ref().take(announced) {
        flows.push(parse_flow(line, text, origin, &host_of)?);
    }
    let found = flows.len() + lines.filter(|(_, text)| is_meant_as_flow(text)).count();
    if found == announced { Ok(flows) } else { Err(ReadError::Length { announced, found }) }
}

/// Whether a line after the last flow looks like one more: text does not begin with two numbers.
fn is_meant_as_flow(text: &str) -> bool {
    let mut fields = text.split_whitespace();
    (0..2).all(|_| fields.next().is_some_and(|field| field.parse::<u32>().is_ok()))
}

/// As much of a line as belongs into a message.
fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

fn parse_flow(
    line: usize,
    text: &str,
    origin: Time,
    host_of: &impl Fn(u32) -> Option<u32>,
) -> Result<HpccFlow, ReadError> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let &[src, dst, priority, port, size, start] = fields.as_slice() else {
        return Err(ReadError::Fields { line, text: shown(text), fields: fields.len() });
    };
    let bad = |field, text: &str, wanted| ReadError::Field { line, field, text: shown(text), wanted };
    let host = |field, text: &str| {
        let node = text.parse::<u32>().map_err(|_| bad(field, text, "a node number"))?;
        host_of(node).ok_or(ReadError::NoHost { line, field, node })
    };
    let (src, dst) = (host("src", src)?, host("dst", dst)?);
    if src == dst {
        return Err(ReadError::ToItself { line, node: fields[0].parse().unwrap_or(src) });
    }
    let priority = priority.parse::<u8>().ok().filter(|&p| p < 8);
    let port = port.parse::<u16>().map_err(|_| bad("port", port, "a UDP port from 0 to 65535"))?;
    let bytes = size.parse::<u64>().ok().filter(|&bytes| bytes > 0 && bytes <= MAX_SIZE.get());
    let when =
        seconds(start).ok_or_else(|| bad("start", start, "a decimal number of seconds from 0 to 10^7"))?;
    if when < origin {
        return Err(ReadError::BeforeOrigin { line, start: when, origin });
    }
    Ok(HpccFlow {
        src,
        dst,
        priority: priority.ok_or_else(|| bad("priority", fields[2], "a priority from 0 to 7"))?,
        port,
        size: Bytes::new(bytes.ok_or_else(|| bad("bytes", size, "a whole number from 1 to 10^15"))?),
        start: Time::from_ps(when.since(origin).as_ps()),
    })
}

/// Decimal seconds to picoseconds; digits beyond the twelfth decimal (artefacts of binary floats) are dropped.
fn seconds(text: &str) -> Option<Time> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !(digits(whole) && digits(decimals)) || whole.is_empty() {
        return None;
    }
    let whole = whole.parse::<u64>().ok().filter(|&s| s <= 10_000_000)?;
    let picos: String = decimals.chars().chain("000000000000".chars()).take(12).collect();
    Some(Time::from_ps(whole * backwater_units::PS_PER_S + picos.parse::<u64>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes 0 to 9 are hosts in reverse order, the others switches.
    fn read(text: &str) -> Result<Vec<HpccFlow>, ReadError> {
        hpcc(text, Time::from_ps(2 * backwater_units::PS_PER_S), |node| 9u32.checked_sub(node))
    }

    #[test]
    fn a_list_is_read_with_times_relative_to_its_origin_in_any_order() {
        let flows = read("2\n0 1 3 100 2067951 2.000032922\n\n1 0 3 200 1 2.0").unwrap();
        assert_eq!((flows[0].src, flows[0].dst), (9, 8));
        assert_eq!(flows[0].start, Time::from_ps(32_922_000));
        assert_eq!(flows[0].size, Bytes::new(2_067_951));
        assert_eq!((flows[1].start, flows[1].port), (Time::ZERO, 200));
    }

    #[test]
    fn a_binary_float_as_python_prints_it_is_cut_to_picoseconds() {
        let flows = read("1\n0 1 3 100 1 2.0000329219999999").unwrap();
        assert_eq!(flows[0].start, Time::from_ps(32_921_999));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        assert_eq!(read(" \n"), Err(ReadError::Empty));
        assert!(matches!(read("x\n"), Err(ReadError::Count { line: 1, .. })));
        assert!(matches!(read("1\n0 1 3 100 5"), Err(ReadError::Fields { line: 2, fields: 5, .. })));
        assert_eq!(read("1\n0 10 3 100 5 2"), Err(ReadError::NoHost { line: 2, field: "dst", node: 10 }));
        assert_eq!(read("1\n4 4 3 100 5 2"), Err(ReadError::ToItself { line: 2, node: 4 }));
        for (text, name) in [
            ("1\n0 1 8 100 5 2", "priority"),
            ("1\n0 1 3 70000 5 2", "port"),
            ("1\n0 1 3 100 0 2", "bytes"),
            ("1\n0 1 3 100 -5 2", "bytes"),
            ("1\n0 1 3 100 99999999999999999999 2", "bytes"),
            ("1\n0 1 3 100 5 2e0", "start"),
            ("1\n-1 1 3 100 5 2", "src"),
        ] {
            assert!(
                matches!(read(text), Err(ReadError::Field { line: 2, field, .. }) if field == name),
                "{text}"
            );
        }
        assert!(matches!(read("1\n0 1 3 100 5 1.9"), Err(ReadError::BeforeOrigin { line: 2, .. })));
    }

    #[test]
    fn a_description_of_the_format_after_the_last_flow_is_ignored_as_that_simulator_does() {
        let flow = "1\n0 1 3 100 5 2\n";
        // The words with which the file that comes with it ends.
        let described = "\nFirst line: # of flows\nsrc0 dst0 3 dst_port0 size0 start_time0\n...\n\nPlease order the flows!\n";
        assert_eq!(read(&format!("{flow}{described}")), read(flow));
        let error = read(&format!("{flow}{described}1 0 3\n")).unwrap_err();
        assert_eq!(error, ReadError::Length { announced: 1, found: 2 });
        assert!(error.to_string().ends_with("holds 2; correct the number, or remove the others"));
        assert!(matches!(read("2\n0 1 3 100 5 2\nsrc0 dst0"), Err(ReadError::Fields { line: 3, .. })));
    }

    #[test]
    fn a_truncated_list_is_refused() {
        let text = "3\n0 1 3 100 5 2\n1 0 3 100 5 2\n";
        assert_eq!(read(text), Err(ReadError::Length { announced: 3, found: 2 }));
    }
}
