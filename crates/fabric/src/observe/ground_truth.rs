//! The ground truth of congestion: who holds back whom, which flows crowd a port, where a packet waited. No detector
//! sees any of it and no packet feels it: it is what detectors are judged by.
//!
//! ```text
//!   PAUSE decided   ─▶ HoldRecord   which egress queues hold what came in by that ingress port
//!   dequeue above K ─▶ CrowdRecord  which flows leave a long queue, how many of their packets with CE
//!   followed packet ─▶ WaitRecord   from when to when it waited in an egress queue
//! ```
use backwater_control::CodePoint;
use backwater_units::{Bytes, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::observe::roots::Shown;
use crate::packet::{Kind, LAST, Packet};
use crate::record::{CrowdRecord, FOLLOWED};
use crate::world::World;

/// A crowd is written out at least so often, in periods counted from the start of the run, so that its packets can be
/// placed in time. In picoseconds.
const PERIOD: u64 = 100_000_000;

/// What a switch keeps to record the ground truth.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Truth {
    /// Per egress port the threshold K.
    above: Vec<u32>,
    /// `crowds[port * classes + class]`
    crowds: Vec<Crowd>,
    /// Bytes of such a queue that stand behind gates of their own, or have not yet left since one opened: empty where classes have no
    /// queues of their own. They do not crowd the port.
    held: Vec<u32>,
}

/// The flows that leave a queue while it stays above K.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Crowd {
    /// When it began; meaningless while there are no members.
    start: u64,
    /// Sorted by flow.
    members: Vec<Member>,
}

#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
struct Member {
    flow: u32,
    packets: u32,
    ce: u32,
    ce_before: u32,
    bytes: u64,
}

/// The queue that a crowd leaves, as it is now.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Left {
    pub(crate) node: u32,
    pub(crate) port: u16,
    pub(crate) priority: u8,
    /// Bytes in the queue.
    pub(crate) queue: u64,
    /// Its threshold K.
    pub(crate) threshold: u64,
}

impl Truth {
    pub(crate) fn new(above: &[Bytes], classes: usize) -> Self {
        Self {
            above: above.iter().map(|above| above.get().min(u64::from(u32::MAX)) as u32).collect(),
            crowds: vec![Crowd::default(); above.len() * classes],
            held: Vec::new(),
        }
    }

    /// So many bytes of the egress port and class of this number are held, or were and have not left.
    pub(crate) fn set_held(&mut self, at: usize, bytes: u32) {
        self.held.resize(self.crowds.len(), 0);
        self.held[at] = bytes;
    }

    /// What of an egress queue does not crowd its port.
    pub(crate) fn held(&self, at: usize) -> u32 {
        self.held.get(at).copied().unwrap_or_default()
    }

    /// What left a queue before it was shown to be a root is a crowd by itself. Returns how many records that made.
    pub(crate) fn cut(&mut self, shown: Shown, records: &mut Vec<CrowdRecord>) -> u64 {
        self.crowds[shown.at].disperse(shown.left, shown.now, records)
    }

    /// The threshold K of an egress port.
    pub(crate) fn threshold(&self, port: u16) -> u32 {
        self.above[usize::from(port)]
    }

    /// The crowd of the egress port and class of this number.
    pub(crate) fn crowd(&mut self, at: usize) -> &mut Crowd {
        &mut self.crowds[at]
    }
}

impl Crowd {
    /// A packet has left a queue with `code`. Returns how many records that made.
    pub(crate) fn leaves(
        &mut self,
        packet: &Packet,
        code: CodePoint,
        left: Left,
        now: u64,
        records: &mut Vec<CrowdRecord>,
    ) -> u64 {
        let above = left.queue > left.threshold;
        let over = !self.members.is_empty() && (!above || now / PERIOD != self.start / PERIOD);
        let made = if over { self.disperse(left, now, records) } else { 0 };
        if above && packet.is_data() {
            self.add(packet, code, now);
        }
        made
    }

    fn add(&mut self, packet: &Packet, code: CodePoint, now: u64) {
        if self.members.is_empty() {
            self.start = now;
        }
        let at = match self.members.binary_search_by_key(&packet.flow, |member| member.flow) {
            Ok(at) => at,
            Err(at) => {
                self.members
                    .insert(at, Member { flow: packet.flow, packets: 0, ce: 0, ce_before: 0, bytes: 0 });
                at
            }
        };
        let member = &mut self.members[at];
        member.packets += 1;
        member.ce += u32::from(code == CodePoint::Congestion);
        member.ce_before += u32::from(packet.code == CodePoint::Congestion);
        member.bytes += u64::from(packet.size);
    }

    /// Ends the crowd and records it; returns the number of records.
    pub(crate) fn disperse(&mut self, left: Left, now: u64, records: &mut Vec<CrowdRecord>) -> u64 {
        let record = |member: &Member| CrowdRecord {
            start: Time::from_ps(self.start),
            end: Time::from_ps(now),
            node: left.node,
            port: left.port,
            priority: left.priority,
            flow: member.flow,
            packets: u64::from(member.packets),
            bytes: Bytes::new(member.bytes),
            ce: u64::from(member.ce),
            ce_before: u64::from(member.ce_before),
            queue: Bytes::new(left.queue),
            threshold: Bytes::new(left.threshold),
        };
        records.extend(self.members.iter().map(record));
        let count = self.members.len() as u64;
        self.members.clear();
        count
    }
}

/// Whether a data packet is followed, and whether it is its flow's last.
#[inline]
pub(crate) fn followed(packet: &Packet, world: &World) -> Option<bool> {
    let number = world.number(packet);
    let last = packet.seq & LAST != 0
        || packet.kind == Kind::Data && number == world.last_packet[packet.flow as usize];
    (last || number.is_multiple_of(FOLLOWED)).then_some(last)
}
