//! Invariants that a run must not break, and how a broken one is explained.
use backwater_codes::Code;
use backwater_units::{Bytes, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use thiserror::Error;

use crate::check::books::{Account, Book};
use crate::user::UserFault;

/// What a node found broken. Carries indices; [`crate::Simulation`] turns them into names.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Breach {
    pub(crate) time: u64,
    pub(crate) node: u32,
    pub(crate) port: u16,
    pub(crate) what: What,
}

#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) enum What {
    /// (bytes that would be held, capacity)
    Buffer(u64, u64),
    /// (headroom bytes that would be used, headroom)
    Headroom(u64, u64),
    /// (bytes that the ingress region would hold, region)
    Region(u64, u64),
    /// (units of credit that would be held, those of the buffer)
    Credits(u32, u32),
    /// (flow, expected packet, packet that came)
    Order(u32, u32, u32),
    /// (bytes that a host's receive queue would hold, its depth, whether the class is lossless)
    Receive(u64, u64, bool),
    /// A host that will never drain anything again holds back or refuses what comes.
    Stuck,
    /// A message of a rank is longer than what its receive has room for: the op of its sender, the op at which the receiver is.
    Truncated { rank: u32, from: u32, op: u32, at: u32, room: u64 },
    /// A rank has more requests outstanding, or messages that it has not received, than there may be.
    TooMuchOpen { rank: u32, at: u32, unexpected: u32 },
    /// A packet of a PUT stream has expired too often.
    NoAck { flow: u32, seq: u32, times: u32 },
}

/// A broken invariant: the run stopped at the end of the window in which it happened.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Violation {
    /// The packet memory of a switch is full.
    #[error(
        "{time}: the packet memory of switch {node} overflows: {held} would be held, {buffer} exist. \
         A frame from {from} ({arithmetic}). {fix}"
    )]
    BufferOverflow {
        /// When.
        time: Time,
        /// The switch.
        node: String,
        /// The upstream neighbour whose frame did not fit.
        from: String,
        /// Bytes that would be held with the frame.
        held: Bytes,
        /// The packet memory.
        buffer: Bytes,
        /// What fills it.
        arithmetic: String,
        /// What to change.
        fix: String,
    },
    /// The headroom of an ingress port is full while the shared pool has no room either.
    #[error(
        "{time}: the headroom of ingress port {from} -> {node} overflows: {used} would be used, {headroom} exist. \
         After PAUSE a port must absorb {arithmetic}. Set switch.pfc.headroom to at least that."
    )]
    HeadroomOverflow {
        /// When.
        time: Time,
        /// The switch.
        node: String,
        /// The upstream neighbour.
        from: String,
        /// Headroom that would be used.
        used: Bytes,
        /// Headroom of the port.
        headroom: Bytes,
        /// The headroom arithmetic.
        arithmetic: String,
    },
    /// The ingress region of a port is full.
    #[error(
        "{time}: the ingress region of port {from} -> {node} overflows: {held} would be held, {region} exist. {fix}"
    )]
    RegionOverflow {
        /// When.
        time: Time,
        /// The switch.
        node: String,
        /// The upstream neighbour.
        from: String,
        /// Bytes that would be held.
        held: Bytes,
        /// The region.
        region: Bytes,
        /// What to change, and why.
        fix: String,
    },
    /// A packet came for which the ingress port had granted no credits: a bug in the model, not in the scenario.
    #[error(
        "{time}: the buffer of ingress port {from} -> {node} would hold {held} units of {unit}, {buffer} exist: a packet came \
         without credits (a bug)"
    )]
    CreditOverflow {
        /// When.
        time: Time,
        /// The receiving node.
        node: String,
        /// The upstream neighbour.
        from: String,
        /// Units that would be held.
        held: u32,
        /// Units of the buffer.
        buffer: u32,
        /// What a credit stands for.
        unit: Bytes,
    },
    /// Packets of one flow arrived out of order: a bug in the model, not in the scenario.
    #[error(
        "{time}: flow {flow} expected packet {expected} at {node}, got {got}: per-flow order is broken (a bug)"
    )]
    OutOfOrder {
        /// When.
        time: Time,
        /// The receiving host.
        node: String,
        /// Flow index.
        flow: u32,
        /// Packet number expected.
        expected: u32,
        /// Packet number received.
        got: u32,
    },
    /// The receive queue of a slow host is full.
    #[error(
        "{time}: the receive queue of host {node} overflows: {held} would be held, {depth} exist. A frame from {from}. {fix}"
    )]
    ReceiveOverflow {
        /// When.
        time: Time,
        /// The host.
        node: String,
        /// The switch that it came from.
        from: String,
        /// Bytes that would be held with the frame.
        held: Bytes,
        /// The receive queue.
        depth: Bytes,
        /// What to change; under PFC with the headroom arithmetic.
        fix: String,
    },
    /// Hosts whose drain rate is 0 and stays 0 have packets in their receive queues.
    #[error("{time}: no progress: {}", stuck(hosts))]
    NoProgress {
        /// When it was noticed.
        time: Time,
        /// The hosts.
        hosts: Vec<Stuck>,
    },
    /// A PUT expired again and again, and none of its stream got through.
    #[error(
        "{time}: no progress: PUT {seq} of the stream {source_host} -> {target} (flow {flow}) was not acknowledged in time {times} times in a row, \
         and nothing else of the stream was. {}; put.retries is the limit",
        dropping(faults)
    )]
    NoAck {
        /// When.
        time: Time,
        /// The initiator.
        source_host: String,
        /// The target.
        target: String,
        /// Flow index of the packet.
        flow: u32,
        /// Its number in the stream.
        seq: u32,
        /// How often it has expired.
        times: u32,
        /// The faults that lost packets of this flow, each with its number and kind.
        faults: Vec<String>,
    },
    /// Ranks wait for what will never come.
    #[error("{time}: no progress: {}", ranks(waiting, failed, *unfinished))]
    RanksWait {
        /// When it was noticed.
        time: Time,
        /// Ranks whose programs have not ended.
        unfinished: u64,
        /// Each rank that waits, and for what.
        waiting: Vec<String>,
        /// Each queue pair between ranks that is in error, and the message that it has given up.
        failed: Vec<String>,
    },
    /// A rank has more requests outstanding, or messages that it has not received, than there may be.
    #[error(
        "{time}: {rank} has {unexpected} messages that it has not received, and too many requests or messages open: at most 1048576 of \
         either. Wait in each turn of a loop for what it posts, receive what others send, or set run.until"
    )]
    TooMuchOpen {
        /// When.
        time: Time,
        /// The rank, and where in its program it is.
        rank: String,
        /// Messages that it has not received.
        unexpected: u32,
    },
    /// A message is longer than what its receive has room for.
    #[error(
        "{time}: {receiver} has room for {room} in its receive, but the message is longer: {sender} sends {size} \
         (MPI_ERR_TRUNCATE). Give the receive as many bytes as the send"
    )]
    Truncated {
        /// When they met.
        time: Time,
        /// The rank that receives, and where in its program it is.
        receiver: String,
        /// The rank that sends, and the place of the send.
        sender: String,
        /// Bytes of the message.
        size: Bytes,
        /// Room of the receive.
        room: Bytes,
    },
    /// Egress ports wait for each other in a circle, or nothing can move any more although flows are not finished.
    #[error("{time}: deadlock: {}{}", deadlock(circle, blocked, paused, *unfinished), storming(storms))]
    Deadlock {
        /// When it was found.
        time: Time,
        /// Flows that have not finished.
        unfinished: u64,
        /// Egress ports whose gate is closed.
        paused: String,
        /// The egress ports of the circle, each waiting for the next and the last for the first; empty if there is none.
        circle: Vec<String>,
        /// The flows of which data stands in the circle.
        blocked: Vec<String>,
        /// Hosts whose NIC sends PAUSE without end.
        storms: Vec<String>,
    },
    /// NICs throttle themselves to nothing, and no credit comes back that would change that.
    #[error(
        "{time}: nothing moves any more, {}, and the throttle lets nothing leave: {}. It waits for \
         credits that do not come back: look at what holds or loses them, or lower m or k of host.throttle.pft, so that a NIC with many credits in \
         use still sends",
        unfinished_flows(*unfinished),
        few(hosts, ", ")
    )]
    Throttled {
        /// When it was noticed.
        time: Time,
        /// Flows that have not finished.
        unfinished: u64,
        /// The hosts, each with the credits that it uses.
        hosts: Vec<String>,
    },
    /// The simulated time is used up before the flows are done.
    #[error(
        "{time}: the longest simulated time is reached, {}. Set run.until, send less, or raise the rates.",
        unfinished_flows(*unfinished)
    )]
    TooLong {
        /// When.
        time: Time,
        /// Flows that have not finished.
        unfinished: u64,
    },
    /// Packets are not accounted for at the end of the run: a bug in the model.
    #[error(
        "{time}: packets are missing, or counted twice (a bug): {}. Do not use the results. Report the scenario and the output of \
         backwater doctor; if the core has code of your own, look there first",
        books(wrong)
    )]
    PacketsMissing {
        /// When.
        time: Time,
        /// The flows and links that do not balance, with what is known of their packets.
        wrong: Vec<(Account, Book)>,
    },
    /// A counter does not add up at the end of the run: a bug in the model.
    #[error("{time}: {what} at {node} (a bug)")]
    Audit {
        /// When.
        time: Time,
        /// The node.
        node: String,
        /// What does not add up.
        what: String,
    },
    /// A function of the user's failed; who knows its name explains it.
    #[error("{}: a function of the user's failed", .0.time())]
    User(UserFault),
    /// The sink of the records failed.
    #[error("writing results failed: {0}")]
    Sink(String),
    /// Another process of the run tells what is broken.
    #[error("another process tells what is broken")]
    Elsewhere,
}

impl Violation {
    /// The code that `backwater explain` knows it by.
    pub fn code(&self) -> Code {
        match self {
            Self::BufferOverflow { .. } => Code::BufferOverflow,
            Self::HeadroomOverflow { .. } => Code::HeadroomOverflow,
            Self::RegionOverflow { .. } => Code::RegionOverflow,
            Self::CreditOverflow { .. } => Code::CreditOverflow,
            Self::OutOfOrder { .. } => Code::OutOfOrder,
            Self::ReceiveOverflow { .. } => Code::ReceiveOverflow,
            Self::NoProgress { .. } => Code::NoProgress,
            Self::NoAck { .. } => Code::NoAck,
            Self::RanksWait { .. } => Code::RanksWait,
            Self::TooMuchOpen { .. } => Code::TooMuchOpen,
            Self::Truncated { .. } => Code::Truncated,
            Self::Deadlock { .. } => Code::Deadlock,
            Self::Throttled { .. } => Code::Throttled,
            Self::TooLong { .. } => Code::TooLong,
            Self::PacketsMissing { .. } => Code::PacketsMissing,
            // Nobody is shown the code of what another process tells.
            Self::Audit { .. } | Self::Elsewhere => Code::Audit,
            Self::User(_) => Code::UserFunction,
            Self::Sink(_) => Code::Results,
        }
    }
}

/// A host that will never drain anything again.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Stuck {
    /// Its name.
    pub host: String,
    /// Packets in its receive queue.
    pub packets: u32,
    /// Bytes in its receive queue.
    pub held: Bytes,
    /// The flows that they belong to, by source and destination.
    pub flows: Vec<String>,
    /// Flows to this host that have not finished.
    pub unfinished: u64,
}

/// So many of a list are named.
const NAMED: usize = 16;

fn few(names: &[String], join: &str) -> String {
    let named = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(join);
    if names.len() > NAMED { format!("{named}{join}… {} more …", names.len() - NAMED) } else { named }
}

fn books(wrong: &[(Account, Book)]) -> String {
    let told: Vec<String> = wrong.iter().map(|(account, book)| format!("{account}: {book}")).collect();
    few(&told, "; ")
}

fn stuck(hosts: &[Stuck]) -> String {
    let one = |stuck: &Stuck| {
        let Stuck { host, packets, held, flows, unfinished } = stuck;
        format!(
            "host {host} has {packets} packets ({held}) in its receive queue and will never drain them, of {}; \
             {unfinished} flows to it are unfinished",
            few(flows, ", ")
        )
    };
    let all: Vec<String> = hosts.iter().map(one).collect();
    format!(
        "{}. Its drain rate is 0 and stays 0: raise host.drain, let host.pattern end at a rate above 0, or send it nothing",
        few(&all, "; ")
    )
}

fn ranks(waiting: &[String], failed: &[String], unfinished: u64) -> String {
    let open =
        format!("{unfinished} ranks have not ended, and nothing is under way that they could go on by");
    let waiting = few(waiting, "; ");
    if failed.is_empty() {
        return format!("{open}: {waiting}. Each of them waits for a call of another rank that never comes");
    }
    format!(
        "{open}. No ACK came after the last retry: {}. So there waits: {waiting}. Look at what loses the packets \
         (drop_counts), or raise retries or timeouts of [transport]",
        few(failed, "; ")
    )
}

fn dropping(faults: &[String]) -> String {
    if faults.is_empty() {
        return "Look at what drops it (probe.puts, probe.drops): raise host.drain, host.queue or switch.port-buffer, or put.retry \
                if the round trip is longer than that"
            .to_owned();
    }
    format!(
        "Packets of it were lost by {}: end that sooner, or raise put.retries or put.retry",
        few(faults, ", ")
    )
}

fn storming(hosts: &[String]) -> String {
    if hosts.is_empty() {
        return String::new();
    }
    format!(
        ". The NIC of {} sends PAUSE without end: set switch.pfc.watchdog.action, or end the fault (until)",
        few(hosts, ", ")
    )
}

fn unfinished_flows(count: u64) -> String {
    if count == 1 { "1 flow is unfinished".to_owned() } else { format!("{count} flows are unfinished") }
}

fn deadlock(circle: &[String], blocked: &[String], paused: &str, unfinished: u64) -> String {
    let unfinished = unfinished_flows(unfinished);
    let Some(first) = circle.first() else {
        return format!("nothing moves any more, {unfinished}; paused: {paused}");
    };
    format!(
        "{} waits for {first} again; blocked in this circle: {}; {unfinished}. \
         No egress port of a circle can ever send again: use routes that go up and then down (leaf-spine, fat-tree), \
         or spread the traffic over priorities so that none of them closes the circle",
        few(circle, " waits for "),
        few(blocked, ", ")
    )
}
