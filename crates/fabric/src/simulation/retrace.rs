//! For `backwater diff`: a run once more, looked at from outside. Digests of its beginning up to given times say between which of
//! them two runs part; every frame that arrives between two times says where.
use std::sync::atomic::AtomicBool;

use backwater_engine::{Limits, Stop};
use backwater_units::Time;

use crate::packet::Packet;
use crate::simulation::Simulation;
use crate::violation::Violation;

/// What had happened before a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The time; nothing at it or after it is in the digests.
    pub time: Time,
    /// The trajectory digest, as a run that ends here reports it.
    pub digest: u64,
    /// A digest that also two runs on different networks share if the same happened in both: nodes count by their names, and
    /// those at which nothing happened do not count.
    pub by_name: u64,
    /// Frames that arrived.
    pub arrivals: u64,
}

/// A frame that arrived completely at a node (its header, where the node cuts through): what the digest is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub time: Time,
    /// Where.
    pub node: u32,
    /// The port that it came in by.
    pub port: u16,
    /// What it is: data, ack, cnp, pfc, credit, cim, nack, put, put-ack, put-nack, or one of UEC (uec-data and so on).
    pub kind: &'static str,
    /// The flow that it belongs to; of credits and isolation messages, the first field of the frame.
    pub flow: u32,
    /// The number of a data packet in its flow; of other frames, their second field.
    pub seq: u32,
    /// That field as it is in the frame; of a PUT it also says what the packet acknowledges.
    pub word: u32,
    /// Source and destination, as host indices, and the traffic entry, of a frame of a flow.
    pub of_flow: Option<(u32, u32, u16)>,
    /// Bytes on the wire.
    pub bytes: u16,
    /// The two ECN bits: 0 not-ECT, 1 ECT, 2 UE, 3 CE.
    pub code: u8,
    /// What an ACK or CNP reports, in the same numbers.
    pub echo: u8,
    /// Queue class.
    pub class: u8,
}

impl Simulation {
    /// What the instants at which the model looks at itself are multiples of, in picoseconds: the shortest link delay.
    pub fn window_ps(&self) -> u64 {
        self.engine.grid().as_ps()
    }

    /// Runs from the start to the last of `times` (ascending) and says what had happened before each of them; fewer if it is
    /// interrupted.
    ///
    /// # Errors
    /// A [`Violation`] if an invariant breaks.
    pub fn prefixes(
        &mut self,
        times: &[Time],
        interrupt: Option<&AtomicBool>,
    ) -> Result<Vec<Prefix>, Violation> {
        let mut found = Vec::with_capacity(times.len());
        for &time in times {
            let limits = Limits { until: time.as_ps(), interrupt, ..Limits::default() };
            match self.engine.run(&self.world, &limits) {
                Stop::Failed => return Err(self.failure()),
                Stop::Interrupted => break,
                _ => found.push(self.prefix(time)),
            }
        }
        Ok(found)
    }

    /// Runs from the start to `to` and returns every frame that arrived at `from` or later, in order of time and node.
    ///
    /// # Errors
    /// A [`Violation`] if an invariant breaks.
    pub fn arrivals(
        &mut self,
        from: Time,
        to: Time,
        interrupt: Option<&AtomicBool>,
    ) -> Result<Vec<Arrival>, Violation> {
        self.engine.keep_messages(from.as_ps());
        self.prefixes(&[to], interrupt)?;
        let mut found: Vec<Arrival> =
            self.engine.kept_messages().iter().map(|(node, packet)| self.arrival(*node, packet)).collect();
        found.sort_by_key(|arrival| (arrival.time, arrival.node, arrival.port));
        Ok(found)
    }

    fn prefix(&self, time: Time) -> Prefix {
        let nodes = self.engine.nodes();
        let named = self.network.nodes().iter().zip(&nodes);
        let by_name = named
            .filter(|(_, node)| node.ports().trajectory().events() > 0)
            .map(|(named, node)| node.ports().trajectory().of_named(&named.name));
        Prefix {
            time,
            digest: self.engine.digest(),
            by_name: by_name.fold(0, u64::wrapping_add),
            arrivals: self.engine.events(),
        }
    }

    fn arrival(&self, node: u32, packet: &Packet) -> Arrival {
        let flow = self.world.flows.get(packet.flow as usize).filter(|_| !packet.is_flow_control());
        Arrival {
            time: Time::from_ps(packet.time),
            node,
            port: packet.port,
            kind: packet.kind.word(),
            flow: packet.flow,
            seq: if packet.is_data() { packet.number() } else { packet.seq },
            word: packet.seq,
            of_flow: flow.map(|flow| (flow.src, flow.dst, flow.group)),
            bytes: packet.size,
            code: packet.code as u8,
            echo: packet.echo as u8,
            class: packet.class,
        }
    }
}
