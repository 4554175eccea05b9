//! The topology file of the HPCC ns-3 simulator (Li et al., SIGCOMM 2019) and its descendants.
//!
//! ```text
//! 36 20 48                          nodes, switches, links
//! 16 17 18 …                        ids of the switches; all other ids are hosts
//! 0 16 100Gbps 1000ns 0.000000      one link per line: a, b, rate, one-way delay, loss rate
//! ```
//! SimAI (Wang et al., NSDI 2025) has another first line, and the switches within servers before all others:
//!
//! ```text
//! 76 8 4 8 288 H100                 nodes, GPUs of a server, NVSwitches, other switches, links, kind of GPU
//! 64 65 66 67 68 …                  ids of the NVSwitches, then those of the other switches
//! ```
//! White space separates; blank lines are skipped. That simulator reads no more lines than the header announces and
//! ignores the rest. Its own files have a description of the format there, which is ignored here, too; a link too many is an
//! error, since it is a mistake more often than a wish.
use std::collections::BTreeSet;
use std::str::FromStr;

use backwater_units::{ParseError, Rate, Span};

use crate::network::Known;
use crate::{Link, MAX_NODES, Network, Node, Role, TopologyError};

/// What is wrong, and in which line (from 1).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct ReadError {
    /// Line of the file, from 1; the last one if the file ends too early.
    pub line: usize,
    /// What is wrong there.
    pub kind: ReadErrorKind,
}

/// What is wrong with a line of a topology file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadErrorKind {
    /// The file is not text.
    #[error("the file is not UTF-8 text; save it as plain text")]
    NotUtf8,
    /// The file has no header.
    #[error("the file is empty; expected a line with the numbers of nodes, switches and links")]
    Empty,
    /// The first line has as many fields as no header.
    #[error(
        "expected 3 numbers (nodes, switches, links), found {fields} fields; SimAI's first line has 6: \
         nodes, GPUs of a server, NVSwitches, other switches, links, kind of GPU"
    )]
    Header {
        /// Number of fields found.
        fields: usize,
    },
    /// A field that should be a number.
    #[error("{what} \"{text}\" is not a whole number from 0 to 4294967295")]
    Number {
        /// What the field means.
        what: &'static str,
        /// The field.
        text: String,
    },
    /// The header's numbers contradict each other or are too large.
    #[error("{what} is {value}; expected at most {most}")]
    Count {
        /// What the number counts.
        what: &'static str,
        /// Its value.
        value: u32,
        /// The largest that makes sense.
        most: usize,
    },
    /// A server of more or fewer hosts than announced.
    #[error(
        "the header announces servers of {announced} GPUs, but the NVSwitch {id} joins {found}; correct one of them"
    )]
    Server {
        /// Number in the header.
        announced: u32,
        /// The switch.
        id: u32,
        /// Hosts at it.
        found: usize,
    },
    /// Fewer or more switch ids than announced.
    #[error(
        "the header announces {announced} switches, but {found} switch ids are listed; correct one of them"
    )]
    Switches {
        /// Number in the header.
        announced: u32,
        /// Number of ids up to this line.
        found: usize,
    },
    /// A switch id given twice.
    #[error("the switch id {id} is listed twice; every switch has one id")]
    DuplicateSwitch {
        /// The id.
        id: u32,
    },
    /// A node that does not exist.
    #[error("{what} is {id}, but the {nodes} nodes have ids from 0 to {}", nodes.saturating_sub(1))]
    UnknownNode {
        /// What the field means.
        what: &'static str,
        /// The id.
        id: u32,
        /// Number of nodes.
        nodes: u32,
    },
    /// A link line with missing or surplus fields.
    #[error("expected 5 fields (node, node, rate, delay, loss rate), found {fields}")]
    Fields {
        /// Number of fields found.
        fields: usize,
    },
    /// A rate or delay that does not parse.
    #[error("{what} \"{text}\": {source}")]
    Quantity {
        /// What the field means.
        what: &'static str,
        /// The field.
        text: String,
        /// Why it does not parse.
        source: ParseError,
    },
    /// The last column is not a number.
    #[error("the loss rate \"{text}\" is not a number; expected 0")]
    LossRate {
        /// The field.
        text: String,
    },
    /// A link that loses packets.
    #[error("the loss rate is {text}, but links that lose packets are not supported; set it to 0")]
    Lossy {
        /// The field.
        text: String,
    },
    /// The file ends before the last link.
    #[error("the file ends after {found} of the {announced} links that the header announces")]
    Truncated {
        /// Number in the header.
        announced: u32,
        /// Number of links found.
        found: usize,
    },
    /// Another link follows the last one.
    #[error(
        "the header announces {announced} links, but here is another one; correct the header or remove it"
    )]
    TooManyLinks {
        /// Number in the header.
        announced: u32,
    },
    /// All lines could be read, but the graph is not a network.
    #[error("{0} (links are counted from 0, in the order of the file)")]
    Topology(#[from] TopologyError),
}

/// Reads the text of a `topology.txt`. Several links may join two nodes. Node i gets the name `n<i>`; host indices follow the ids; port numbers are one
/// less than that simulator's, whose port 0 is the loopback device. SimAI's NVSwitches are [scale-up switches](Network::is_scale_up); where nothing
/// but them joins the hosts, they are switches like others.
///
/// # Errors
/// See [`ReadErrorKind`]. No input makes it panic; memory use is bounded by the text's length and [`MAX_NODES`].
pub fn hpcc(text: &str) -> Result<Network, ReadError> {
    let mut rest = Rest::new(text);
    let header = header(&mut rest)?;
    let (switches, within) = switch_ids(&mut rest, &header)?;
    let mut links = Vec::new();
    let mut line_of_link = Vec::new();
    while let Some((line, fields)) = rest.next() {
        if links.len() == header.links as usize {
            if is_meant_as_link(&fields) {
                return Err(at(line, ReadErrorKind::TooManyLinks { announced: header.links }));
            }
            continue;
        }
        links.push(link(&fields, &header).map_err(|kind| at(line, kind))?);
        line_of_link.push(line);
    }
    if links.len() < header.links as usize {
        let kind = ReadErrorKind::Truncated { announced: header.links, found: links.len() };
        return Err(at(rest.last, kind));
    }
    let node = |id: u32| Node {
        name: format!("n{id}"),
        role: if switches.contains(&id) { Role::Switch } else { Role::Host },
    };
    let known = Known { parallel: true, ..Known::default() };
    let refused = |error: TopologyError| {
        let line = error.link().and_then(|link| line_of_link.get(link)).copied();
        at(line.unwrap_or(header.line), error.into())
    };
    let network =
        Network::checked((0..header.nodes).map(node).collect(), links, Vec::new(), known).map_err(refused)?;
    for &id in &within {
        let hosts: BTreeSet<u32> = network.ports(id).iter().map(|port| port.peer).collect();
        let (announced, found) = (header.gpus, hosts.len());
        if found != announced as usize {
            return Err(at(header.line, ReadErrorKind::Server { announced, id, found }));
        }
    }
    let names: Vec<_> = within.iter().filter(|_| header.others > 0).map(|id| format!("n{id}")).collect();
    network.with_scale_up(&names).map_err(refused)
}

/// [`hpcc`] for the bytes of a file, which may not be text.
///
/// # Errors
/// As [`hpcc`], and [`ReadErrorKind::NotUtf8`] with the line of the first byte that is none.
pub fn hpcc_bytes(bytes: &[u8]) -> Result<Network, ReadError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].split(|&byte| byte == b'\n').count();
        at(line, ReadErrorKind::NotUtf8)
    })?;
    hpcc(text)
}

struct Header {
    line: usize,
    nodes: u32,
    /// Of a server that an NVSwitch joins; SimAI's alone.
    gpus: u32,
    /// Switches within servers; SimAI's alone.
    within: u32,
    /// All other switches.
    others: u32,
    links: u32,
}

impl Header {
    const fn switches(&self) -> u32 {
        self.within + self.others
    }
}

/// The lines that are not blank, split into fields.
struct Rest<'a> {
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    /// Number of the last line taken, from 1.
    last: usize,
}

impl<'a> Rest<'a> {
    fn new(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { lines: text.lines().enumerate(), last: 1 }
    }

    fn next(&mut self) -> Option<(usize, Vec<&'a str>)> {
        for (index, line) in self.lines.by_ref() {
            self.last = index + 1;
            let fields: Vec<&str> = line.split_whitespace().collect();
            if !fields.is_empty() {
                return Some((self.last, fields));
            }
        }
        None
    }
}

const fn at(line: usize, kind: ReadErrorKind) -> ReadError {
    ReadError { line, kind }
}

fn number(what: &'static str, text: &str) -> Result<u32, ReadErrorKind> {
    text.parse().map_err(|_| ReadErrorKind::Number { what, text: text.to_owned() })
}

fn quantity<T: FromStr<Err = ParseError>>(what: &'static str, text: &str) -> Result<T, ReadErrorKind> {
    text.parse().map_err(|source| ReadErrorKind::Quantity { what, text: text.to_owned(), source })
}

fn header(rest: &mut Rest) -> Result<Header, ReadError> {
    let Some((line, fields)) = rest.next() else {
        return Err(at(1, ReadErrorKind::Empty));
    };
    let parse = || {
        let (nodes, gpus, within, others, links) = match *fields.as_slice() {
            [nodes, switches, links] => (nodes, "0", "0", switches, links),
            [nodes, gpus, within, others, links] | [nodes, gpus, within, others, links, _, ..]
                if fields.len() <= 7 =>
            {
                (nodes, gpus, within, others, links)
            }
            _ => return Err(ReadErrorKind::Header { fields: fields.len() }),
        };
        let nodes = number("the number of nodes", nodes)?;
        let gpus = number("the number of GPUs of a server", gpus)?;
        let within = number("the number of NVSwitches", within)?;
        let others = number("the number of switches", others)?;
        let links = number("the number of links", links)?;
        if nodes as usize > MAX_NODES {
            let (what, most) = ("the number of nodes", MAX_NODES);
            return Err(ReadErrorKind::Count { what, value: nodes, most });
        }
        for (what, value, most) in [
            ("the number of NVSwitches", within, nodes),
            ("the number of switches", others, nodes - within.min(nodes)),
        ] {
            if value > most {
                return Err(ReadErrorKind::Count { what, value, most: most as usize });
            }
        }
        Ok(Header { line, nodes, gpus, within, others, links })
    };
    parse().map_err(|kind| at(line, kind))
}

/// All switches, and those within servers. The ids may be spread over several lines, as that simulator allows; the last one ends its line.
fn switch_ids(rest: &mut Rest, header: &Header) -> Result<(BTreeSet<u32>, Vec<u32>), ReadError> {
    let announced = header.switches();
    let mut ids = BTreeSet::new();
    let mut within = Vec::new();
    while ids.len() < announced as usize {
        let short = ReadErrorKind::Switches { announced, found: ids.len() };
        let Some((line, fields)) = rest.next() else {
            return Err(at(rest.last, short));
        };
        // a rate in the line: the links have begun
        if fields.len() == 5 && fields[2].parse::<u32>().is_err() {
            return Err(at(line, short));
        }
        for text in fields {
            let id = number("the switch id", text).map_err(|kind| at(line, kind))?;
            let nodes = header.nodes;
            if id >= nodes {
                return Err(at(line, ReadErrorKind::UnknownNode { what: "the switch id", id, nodes }));
            }
            if !ids.insert(id) {
                return Err(at(line, ReadErrorKind::DuplicateSwitch { id }));
            }
            if within.len() < header.within as usize {
                within.push(id);
            }
        }
        if ids.len() > announced as usize {
            return Err(at(line, ReadErrorKind::Switches { announced, found: ids.len() }));
        }
    }
    Ok((ids, within))
}

/// Whether a line after the last link looks like one more: text does not begin with two numbers.
fn is_meant_as_link(fields: &[&str]) -> bool {
    fields.len() > 1 && fields[..2].iter().all(|field| field.parse::<u32>().is_ok())
}

fn link(fields: &[&str], header: &Header) -> Result<Link, ReadErrorKind> {
    let &[a, b, rate, delay, loss] = fields else {
        return Err(ReadErrorKind::Fields { fields: fields.len() });
    };
    let node = |what: &'static str, text| {
        let id = number(what, text)?;
        if id < header.nodes {
            Ok(id)
        } else {
            Err(ReadErrorKind::UnknownNode { what, id, nodes: header.nodes })
        }
    };
    let a = node("the first node", a)?;
    let b = node("the second node", b)?;
    let rate: Rate = quantity("the rate", rate)?;
    let delay: Span = quantity("the delay", delay)?;
    match loss.parse::<f64>() {
        Ok(0.0) => Ok(Link { a, b, rate, delay }),
        Ok(rate) if !rate.is_nan() => Err(ReadErrorKind::Lossy { text: loss.to_owned() }),
        _ => Err(ReadErrorKind::LossRate { text: loss.to_owned() }),
    }
}
