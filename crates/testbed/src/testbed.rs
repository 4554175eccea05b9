//! A data plane, resolved: every default applied, every name a number.
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::LazyLock;

use backwater_control::detector::Detector;
use backwater_document::{DocumentError, Problem, Rules, Source, Words, input, read};
use backwater_units::{Bytes, Rate, Span};
use backwater_wire::MacAddress;

use crate::resolve::resolve;
pub use crate::settings::ClockKind;
use crate::settings::{Action, Settings};

/// What time it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Clock {
    /// Where time comes from.
    pub kind: ClockKind,
    /// What a visit of a node adds, or adds at most; `None`: computed from the links.
    pub cap: Option<Span>,
    /// How far a process may be ahead (lockstep).
    pub lookahead: Span,
    /// A file that all processes map (lockstep).
    pub page: String,
    /// Number of this process, and how many there are (lockstep).
    pub process: (u32, u32),
    /// How long a start waits for links to come up.
    pub link_timeout: Span,
}

/// PFC of a port.
#[derive(Clone, Debug, PartialEq)]
pub struct Pfc {
    /// PAUSE above this.
    pub xoff: Bytes,
    /// RESUME at or below.
    pub xon: Bytes,
    /// Length of a PAUSE.
    pub quanta: u16,
    /// What an ingress priority may hold; `None`: as much as there are buffers.
    pub limit: Option<Bytes>,
    /// Storm after, over after.
    pub watchdog: Option<(Span, Span)>,
    /// What happens in a storm.
    pub action: Action,
}

/// Credits of a port.
#[derive(Clone, Debug, PartialEq)]
pub struct Credits {
    /// The buffers of a lane here and at the other end.
    pub buffer: Bytes,
    /// Tc.
    pub period: Span,
    /// The first message.
    pub phase: Span,
}

/// Who may send when on a port.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowControl {
    /// Whoever likes.
    None,
    /// By PAUSEs.
    Pfc(Pfc),
    /// By credits.
    Credits(Credits),
}

/// Where a port leads.
#[derive(Clone, Debug, PartialEq)]
pub enum Link {
    /// To the port of that number.
    Peer(usize),
    /// To a DPDK device.
    Device(String),
}

/// A port of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Its name, unique within its node.
    pub name: String,
    /// Its node.
    pub node: usize,
    /// Where it leads.
    pub link: Link,
    /// Its address: that of the node for hosts.
    pub mac: MacAddress,
    /// Emulated rate; `None`: the pace of the device.
    pub rate: Option<Rate>,
    /// The rate that times PAUSEs.
    pub nominal: Rate,
    /// Emulated delay.
    pub delay: Span,
    /// What a frame occupies beside its bytes.
    pub overhead: Bytes,
    /// Who may send when.
    pub flow_control: FlowControl,
    /// Bit p: priority p is under flow control.
    pub lossless: u8,
    /// What an egress queue without flow control holds; `None`: as much as there are buffers.
    pub lossy_queue: Option<Bytes>,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// Forwards.
    Switch {
        /// Whether by the addresses it has seen.
        learning: bool,
        /// How long those are kept.
        ageing: Span,
        /// What its egress ports mark.
        detector: Detector,
    },
    /// Sends.
    Sender,
    /// Counts.
    Receiver {
        /// Least time between two CNPs of a flow, and their priority; `None`: none are sent.
        cnp: Option<(Span, u8)>,
    },
    /// Is elsewhere.
    Remote,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// Its MAC address.
    pub mac: MacAddress,
    /// Its address.
    pub ip: Ipv4Addr,
    /// Its first port; the ports of a node follow each other.
    pub first_port: usize,
    /// How many it has.
    pub port_count: usize,
}

/// A switch knows where a station is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The switch.
    pub node: usize,
    /// The port, counted within the switch.
    pub port: usize,
    /// The station.
    pub mac: MacAddress,
}

/// A flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// The sender's number.
    pub from: usize,
    /// The receiver's.
    pub to: usize,
    /// `None`: whatever the link allows.
    pub rate: Option<Rate>,
    /// First packet.
    pub start: Span,
    /// No packet from then on.
    pub stop: Option<Span>,
    /// Payload in all.
    pub size: Option<Bytes>,
    /// Payload of a packet.
    pub payload: Bytes,
    /// Its priority.
    pub priority: u8,
    /// Variation of distances in millionths.
    pub jitter_ppm: u32,
    /// Whether what was held up is sent later.
    pub catch_up: bool,
    /// ECN bits.
    pub code: u8,
    /// Destination queue pair.
    pub queue_pair: u32,
}

/// A data plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Testbed {
    /// When it ends.
    pub duration: Option<Span>,
    /// Receivers count in windows of this length.
    pub window: Span,
    /// Of random numbers.
    pub seed: u64,
    /// Packet buffers, and the bytes of each.
    pub frames: (u32, Bytes),
    /// What time it is.
    pub clock: Clock,
    /// Its nodes.
    pub nodes: Vec<Node>,
    /// Their ports.
    pub ports: Vec<Port>,
    /// What switches with static forwarding know.
    pub entries: Vec<Entry>,
    /// Traffic.
    pub flows: Vec<Flow>,
    /// What works, but hardly as it was meant: a line each, with its place and a fix.
    pub warnings: Vec<String>,
}

/// Words of the literature and of other tools.
const WORDS: Words = Words {
    retired: &[],
    gone: &[],
    moved: &[],
    synonyms: &[
        ("flow-control.kind", "cbfc", "credits"),
        ("detector.kind", "ecn", "red"),
        ("detector.kind", "pcn", "np-ecn"),
        ("rate", "max", "line"),
    ],
    keys: &[
        ("vl", "priority", "the priority of a flow is its virtual lane under credits"),
        ("src", "from", "from is the sender's name"),
        ("dst", "to", "to is the receiver's name"),
        ("tc", "period", "period is Tc, the time between two credit messages"),
        ("mtu", "payload", "payload is what a packet carries behind its headers"),
    ],
};

fn rules() -> &'static Rules {
    static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::of::<Settings>("the testbed", WORDS));
    &RULES
}

impl Testbed {
    /// Reads a text; `origin` names it in messages.
    ///
    /// # Errors
    /// Everything that is no TOML, unknown, missing, of a wrong type or unit, out of range, or at odds with the rest.
    pub fn parse(text: &str, origin: &str) -> Result<Self, DocumentError> {
        let (settings, root) = read::<Settings>(text, origin, rules())?;
        let report = |problems| {
            DocumentError::new(vec![Source { name: origin.to_owned(), text: text.to_owned() }], problems)
        };
        let (bed, doubts) = resolve(&settings, &root).map_err(report)?;
        let doubts = report(doubts);
        let line = |doubt: &Problem| {
            let (name, line) = doubts.line_of(doubt);
            let (message, label) = (doubt.message(), doubt.label());
            format!("{name}:{line}: warning: {message}: {label}; {}", doubt.fix().unwrap_or_default())
        };
        Ok(Self { warnings: doubts.problems().iter().map(line).collect(), ..bed })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The text for people: why the file cannot be read, or the report of [`Self::parse`].
    pub fn load(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let bytes = input::read(path, input::MOST_WRITTEN)
            .map_err(|error| format!("{name} cannot be read: {error}"))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let byte = error.utf8_error().valid_up_to() + 1;
            format!("{name} is not UTF-8: byte {byte} begins no character; save the file as UTF-8")
        })?;
        Self::parse(&text, &name.to_string()).map_err(|error| error.to_string())
    }
}

/// The reference of all keys, in Markdown: part of `docs/testbed.md`, which a test keeps in step.
pub fn reference() -> String {
    let mut text = String::new();
    for (table, keys) in rules().describe() {
        let _ = writeln!(text, "### `{table}`\n");
        text.push_str(if keys.is_empty() { "No other keys.\n" } else { "| key | meaning |\n|---|---|\n" });
        for (key, meaning) in keys {
            let _ = writeln!(text, "| `{key}` | {meaning} |");
        }
        text.push('\n');
    }
    text
}
