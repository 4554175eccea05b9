//! The books of a run: whatever was sent has been delivered, was dropped, came twice, or is under way.
//!
//! ```text
//!   data of a flow      sent = delivered + duplicates + dropped, by reason + under way
//!   packets of a link   put on it = came in + lost on it, by reason + under way
//!   bytes of a switch   put on its links = sent on + dropped, by reason, or cut off + under way, if packets are trimmed
//! ```
//! Nothing of it is counted on the way of a packet: senders, receivers and queues have the numbers for the results, losses are counted
//! where they happen, and what is under way is looked for at the end, wherever it may be. By which port a packet came in nobody counts where
//! no wire can lose anything: there the links to a node have one account. That [`audit`](super::audit) adds up at each node, too: what came
//! in was sent on, dropped, or waits.
use std::fmt;

use backwater_engine::Engine;
use backwater_topology::{Network, Port};

use crate::link::ports::{Ports, Queue};
use crate::node::{FabricNode, HostRef};
use crate::packet::{Kind, Packet};
use crate::record::DropReason;
use crate::world::World;

/// What packets are counted of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Account {
    /// Data of a flow.
    Flow {
        /// Its number, as in the flows table.
        flow: u32,
        /// The host that sends.
        source: String,
        /// The host that receives.
        destination: String,
    },
    /// Packets on a link, in one direction.
    Link {
        /// The node that puts them on it.
        from: String,
        /// The node at which they come in.
        to: String,
    },
    /// Packets on all links to a node.
    Links {
        /// The nodes that put them on these.
        from: Vec<String>,
        /// The node at which they come in.
        to: String,
    },
    /// Bytes of packets on their way through a switch that trims.
    Bytes {
        /// The switch.
        of: String,
    },
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flow { flow, source, destination } => write!(f, "flow {flow} ({source} -> {destination})"),
            Self::Link { from, to } => write!(f, "link {from} -> {to}"),
            Self::Links { from, to } => write!(f, "links to {to} from {}", from.join(", ")),
            Self::Bytes { of } => write!(f, "bytes through {of}"),
        }
    }
}

/// What became of the packets of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    /// Packets sent, each as often as it was.
    pub sent: u64,
    /// Those that came, and were taken.
    pub delivered: u64,
    /// Those that came though they had come before.
    pub duplicates: u64,
    /// Those that were lost, or not taken.
    pub dropped: Vec<(DropReason, u64)>,
    /// Those that are on a wire, in a queue, or kept at the receiver until one before them is there.
    pub under_way: u64,
}

impl Book {
    /// Packets that are nowhere; below 0: that are too many. Counters of flows wrap around where ranks send for ever, their difference
    /// does not.
    #[allow(clippy::cast_possible_wrap, reason = "meant")]
    pub fn missing(&self) -> i32 {
        let ended = self.delivered + self.duplicates + self.all_dropped() + self.under_way;
        self.sent.wrapping_sub(ended) as i32
    }

    fn all_dropped(&self) -> u64 {
        self.dropped.iter().map(|(_, packets)| packets).sum()
    }

    fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.delivered += other.delivered;
        self.under_way += other.under_way;
        for (reason, packets) in &other.dropped {
            self.drop(*reason, *packets);
        }
    }

    fn drop(&mut self, reason: DropReason, packets: u64) {
        match self.dropped.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, all)) => *all += packets,
            None => self.dropped.push((reason, packets)),
        }
    }
}

impl fmt::Display for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, delivered, duplicates, dropped, under_way } = self;
        write!(
            f,
            "sent {sent}, delivered {delivered}, duplicates {duplicates}, dropped {}",
            self.all_dropped()
        )?;
        for (nth, (reason, packets)) in dropped.iter().enumerate() {
            write!(f, "{}{packets} {}", if nth == 0 { " (" } else { ", " }, reason.word())?;
        }
        write!(f, "{}, under way {under_way}: ", if dropped.is_empty() { "" } else { ")" })?;
        match self.missing() {
            missing @ 0.. => write!(f, "{missing} missing"),
            more => write!(f, "{} too many", more.unsigned_abs()),
        }
    }
}

/// The books of this process that do not balance.
pub(crate) fn check(engine: &Engine<FabricNode>, network: &Network, world: &World) -> Vec<(Account, Book)> {
    let on_wires = engine.messages();
    // What links are to send again is under way, too. Its receiver may be in another process.
    let kept: Vec<(u32, Packet)> =
        engine.nodes().iter().flat_map(|node| node.ports().kept_frames()).collect();
    let coming = kept.iter().map(|(node, packet)| network.port_id(*node, packet.port)).collect();
    let mut wrong = links(engine, &on_wires, &engine.processes().gather(coming), network, world);
    let all_under_way = [&on_wires[..], &kept].concat();
    wrong.extend(flows(engine, &all_under_way, network, world));
    // What wires lose is counted in packets.
    if world.trimming.is_some() && world.faults.is_none() {
        wrong.extend(bytes(engine, &on_wires, network, world));
    }
    wrong
}

/// What each port of the network has put on its link, in all processes.
fn put_on_links(
    engine: &Engine<FabricNode>,
    network: &Network,
    put_on: impl Fn(&Ports, u16) -> u64,
) -> Vec<u64> {
    let mut sent = vec![0_u64; network.port_count()];
    let of = |node: &FabricNode| {
        let (ports, number) = (node.ports(), node.ports().node());
        (0..ports.count())
            .map(|port| (network.port_id(number, port), put_on(ports, port)))
            .collect::<Vec<_>>()
    };
    let own = engine.nodes().into_iter().flat_map(of).filter(|(_, amount)| *amount > 0).collect();
    for (port, amount) in engine.processes().gather(own) {
        sent[port as usize] = amount;
    }
    sent
}

/// What has come to a switch that trims has left it, waits, was dropped or cut off.
fn bytes(
    engine: &Engine<FabricNode>,
    on_wires: &[(u32, Packet)],
    network: &Network,
    world: &World,
) -> Vec<(Account, Book)> {
    let of_port = |ports: &Ports, port: u16| {
        let first = ports.at(port, 0);
        ports.queues()[first..first + ports.classes()].iter().map(Queue::sent_bytes).sum::<u64>()
    };
    let sent = put_on_links(engine, network, of_port);
    let mut on_the_way = vec![0_u64; network.nodes().len()];
    for (node, packet) in on_wires.iter().filter(|(_, packet)| !packet.is_flow_control()) {
        on_the_way[*node as usize] += u64::from(packet.size);
    }
    let mut wrong = Vec::new();
    for node in engine.nodes().into_iter().filter(|node| matches!(node, FabricNode::Switch(_))) {
        let (ports, number) = (node.ports(), node.ports().node());
        let put_on = |link: &Port| sent[network.port_id(link.peer, link.peer_port) as usize];
        let waiting: u64 = ports.queues().iter().map(|queue| u64::from(queue.bytes())).sum();
        let mut book = Book {
            sent: network.ports(number).iter().map(put_on).sum(),
            delivered: (0..ports.count()).map(|port| of_port(ports, port)).sum(),
            under_way: on_the_way[number as usize] + waiting,
            ..Book::default()
        };
        for drops in ports.drop_counts(world) {
            book.drop(drops.reason, drops.bytes.get());
        }
        if book.missing() != 0 {
            wrong.push((Account::Bytes { of: network.nodes()[number as usize].name.clone() }, book));
        }
    }
    wrong
}

/// Packets that have not arrived, by the port at which their link ends.
fn under_way(on_wires: &[(u32, Packet)], network: &Network) -> Vec<u64> {
    let mut under_way = vec![0_u64; network.port_count()];
    for (node, packet) in on_wires.iter().filter(|(_, packet)| !packet.is_flow_control()) {
        under_way[network.port_id(*node, packet.port) as usize] += 1;
    }
    under_way
}

/// Packets that have come by each port of the network to nodes of this process.
pub(crate) fn arrived(engine: &Engine<FabricNode>, network: &Network) -> Vec<u64> {
    let (sent, under_way) = (put_on_links(engine, network, put_on), under_way(&engine.messages(), network));
    let nodes = 0..network.nodes().len() as u32;
    let links = nodes.flat_map(|node| network.ports(node)).zip(&under_way);
    let came = |(link, under_way): (&Port, &u64)| {
        sent[network.port_id(link.peer, link.peer_port) as usize].saturating_sub(*under_way)
    };
    links.map(came).collect()
}

/// `on_wires` are the frames that have not arrived, each with the node that it goes to; `coming`, by port, those that are to be sent again.
fn links(
    engine: &Engine<FabricNode>,
    on_wires: &[(u32, Packet)],
    coming: &[u32],
    network: &Network,
    world: &World,
) -> Vec<(Account, Book)> {
    let sent = put_on_links(engine, network, put_on);
    let put_on = |link: &Port| sent[network.port_id(link.peer, link.peer_port) as usize];
    let mut under_way = under_way(on_wires, network);
    for port in coming {
        under_way[*port as usize] += 1;
    }
    let mut wrong = Vec::new();
    for node in engine.nodes() {
        let (ports, number) = (node.ports(), node.ports().node());
        let links = network.ports(number);
        let Some(first) = (!links.is_empty()).then(|| network.port_id(number, 0) as usize) else { continue };
        let on_links = &under_way[first..first + links.len()];
        let by_port = world.loses_before(number);
        // Nearly always the sums agree, and nothing is to be told of single links.
        let sent: u64 = links.iter().map(put_on).sum();
        let lost: u64 = ports.lost_on_wires().map(|(.., packets)| packets).sum();
        if !by_port && sent == ports.packet_hops() + lost + on_links.iter().sum::<u64>() {
            continue;
        }
        let mut books: Vec<Book> = links
            .iter()
            .zip(on_links)
            .map(|(link, &under_way)| Book { sent: put_on(link), under_way, ..Book::default() })
            .collect();
        for (port, reason, packets) in ports.lost_on_wires() {
            books[usize::from(port)].drop(reason, packets);
        }
        let name = |node: u32| network.nodes()[node as usize].name.clone();
        let from = |port: usize| name(links[port].peer);
        if by_port {
            for (port, mut book) in books.into_iter().enumerate() {
                book.delivered = ports.spared_from(port);
                if book.missing() != 0 {
                    wrong.push((Account::Link { from: from(port), to: name(number) }, book));
                }
            }
            continue;
        }
        let mut used: Vec<String> = (0..books.len()).filter(|port| books[*port].sent > 0).map(from).collect();
        let mut all = Book { delivered: ports.packet_hops(), ..Book::default() };
        for book in &books {
            all.add(book);
        }
        let to = name(number);
        let account = if used.len() == 1 {
            Account::Link { from: used.remove(0), to }
        } else {
            Account::Links { from: used, to }
        };
        wrong.push((account, all));
    }
    wrong
}

/// Packets that a port has put on its link.
fn put_on(ports: &Ports, port: u16) -> u64 {
    let first = ports.at(port, 0);
    let sent: u64 = ports.queues()[first..first + ports.classes()].iter().map(Queue::sent_packets).sum();
    // Messages of isolation stand in the control queue like packets, and end at the next node.
    let made = ports.isolation_counts().cims_made(port);
    if made == 0 {
        return sent;
    }
    let is_message = |packet: &&Packet| packet.kind == Kind::Cim;
    let waiting = ports.pool().iter(*ports.queue(first).fifo()).filter(is_message).count();
    sent - (made - waiting as u64)
}

fn flows(
    engine: &Engine<FabricNode>,
    on_wires: &[(u32, Packet)],
    network: &Network,
    world: &World,
) -> Vec<(Account, Book)> {
    let (nodes, processes) = (engine.nodes(), engine.processes());
    let (mut under_way, mut lost) = (vec![0_u32; world.flows.len()], vec![0_u32; world.flows.len()]);
    let on_wires = on_wires.iter().map(|(_, packet)| packet);
    let kept = nodes.iter().filter_map(|node| node.host());
    let kept = kept.flat_map(HostRef::kept);
    let waiting = nodes.iter().flat_map(|node| node.ports().pool().taken());
    let crossing: Vec<Packet> = nodes.iter().flat_map(|node| node.crossing()).collect();
    for packet in on_wires.chain(kept).chain(waiting).chain(&crossing).filter(|packet| packet.is_data()) {
        under_way[packet.flow as usize] += 1;
    }
    if processes.count() > 1 {
        let own = (0_u32..).zip(&under_way).filter(|(_, packets)| **packets > 0);
        let all = processes.gather(own.map(|(flow, packets)| (flow, *packets)).collect());
        under_way.fill(0);
        for (flow, packets) in all {
            under_way[flow as usize] += packets;
        }
    }
    let all_lost: Vec<(u32, Option<DropReason>, u32)> =
        processes.gather(nodes.iter().flat_map(|node| node.ports().lost_of_flows()).collect());
    for (flow, _, packets) in &all_lost {
        lost[*flow as usize] += packets;
    }
    let host = |index: u32| engine.node(network.hosts()[index as usize])?.host();
    // Delivered, those that came twice, and those that were refused: what the source of a flow in another process does not know.
    let came = |index: u32, destination: HostRef<'_>| {
        let slot = world.receiver_slot[index as usize];
        let receiver = &destination.receivers()[slot as usize];
        (receiver.packets(), destination.duplicates(slot), receiver.refused())
    };
    let flows = || (0_u32..).zip(&world.flows);
    let elsewhere = flows().filter(|(_, flow)| host(flow.src).is_none());
    let elsewhere = elsewhere.filter_map(|(index, flow)| Some((index, came(index, host(flow.dst)?))));
    let mut elsewhere: Vec<(u32, (u32, u32, u32))> = processes.gather(elsewhere.collect());
    elsewhere.sort_unstable_by_key(|(index, _)| *index);
    let known = |index: u32, destination: u32| {
        host(destination).map_or_else(
            || {
                let at = elsewhere.binary_search_by_key(&index, |(index, _)| *index);
                elsewhere[at.expect("each host is in a process")].1
            },
            |destination| came(index, destination),
        )
    };
    let mut wrong = Vec::new();
    for (index, flow) in flows() {
        let Some(source) = host(flow.src) else { continue };
        let (delivered, twice, refused) = known(index, flow.dst);
        let mut book = Book {
            sent: u64::from(source.sender(world.sender_slot[index as usize]).all_sent()),
            delivered: u64::from(delivered),
            duplicates: u64::from(twice) + u64::from(lost[index as usize]),
            dropped: Vec::new(),
            under_way: u64::from(under_way[index as usize]) + u64::from(refused),
        };
        if book.missing() == 0 {
            continue;
        }
        // All of what ended is in it; now by its reasons.
        book.duplicates = u64::from(twice);
        book.under_way = u64::from(under_way[index as usize]);
        if refused > 0 {
            book.drop(DropReason::NotTaken, u64::from(refused));
        }
        for (_, reason, packets) in all_lost.iter().filter(|(flow, ..)| *flow == index) {
            match reason {
                Some(reason) => book.drop(*reason, u64::from(*packets)),
                None => book.duplicates += u64::from(*packets),
            }
        }
        let name = |index: u32| network.nodes()[network.hosts()[index as usize] as usize].name.clone();
        wrong
            .push((Account::Flow { flow: index, source: name(flow.src), destination: name(flow.dst) }, book));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book() -> Book {
        let dropped = vec![(DropReason::Pool, 2), (DropReason::NotTaken, 5)];
        Book { sent: 21, delivered: 10, duplicates: 3, dropped, under_way: 1 }
    }

    #[test]
    fn a_packet_is_in_one_place_and_counters_wrap_around() {
        assert_eq!(book().missing(), 0);
        assert_eq!(Book { delivered: 9, ..book() }.missing(), 1);
        assert_eq!(Book { under_way: 3, ..book() }.missing(), -2);
        // 2^32 + 4 were sent.
        let around = Book { sent: 4, delivered: u64::from(u32::MAX), under_way: 5, ..Book::default() };
        assert_eq!(around.missing(), 0);
    }

    #[test]
    fn a_book_is_told_with_the_reasons_of_what_was_dropped() {
        let told = Book { delivered: 9, ..book() }.to_string();
        assert_eq!(
            told,
            "sent 21, delivered 9, duplicates 3, dropped 7 (2 pool, 5 not-taken), under way 1: 1 missing"
        );
        let more = Book { delivered: 2, ..Book::default() }.to_string();
        assert_eq!(more, "sent 0, delivered 2, duplicates 0, dropped 0, under way 0: 2 too many");
    }
}
