//! What a switch does with its detectors' verdicts: marks, states, their accounts and records.
use backwater_control::detector::{Departure, Detector, MarkBasis};
use backwater_control::reaction::IntHop;
use backwater_control::{CodePoint, PortState};
use backwater_engine::Post;
use backwater_units::{Bytes, Time};
use rand_core::Rng;

use crate::ctx::Ctx;
use crate::link::ports::Queue;
use crate::link::telemetry;
use crate::observe::ground_truth::Left;
use crate::packet::{Kind, Packet};
use crate::record::{MarkRecord, StateRecord};

use crate::switch::chassis::{Chassis, Fabric};

impl Chassis {
    /// Shows a departure to the port's detector.
    #[inline(never)]
    pub(crate) fn judge<P: Post<Packet>>(
        &mut self,
        out: u16,
        packet: &Packet,
        cx: &mut Ctx<'_, P>,
    ) -> CodePoint {
        if packet.class == 0 {
            return packet.code;
        }
        if cx.world.telemetry {
            self.write_into(out, packet, cx);
        }
        let queue = match cx.world.mark.basis {
            MarkBasis::Queue => self.ports.queue(self.ports.at(out, packet.class)).bytes(),
            MarkBasis::Port => self.waiting_at(out),
        };
        let code = self.ask_detector(out, packet, u64::from(queue), cx);
        if self.truth.is_some() {
            self.crowd(out, packet, code, cx);
        }
        code
    }

    /// Writes what there is to know of the port into the packet that leaves by it.
    fn write_into<P: Post<Packet>>(&mut self, out: u16, packet: &Packet, cx: &Ctx<'_, P>) {
        if packet.kind != Kind::Data || !cx.world.wants_telemetry(packet.flow) {
            return;
        }
        let own = self.ports.queue(self.ports.at(out, 0)).sent_bytes();
        let hop = IntHop {
            id: self.ports.node() << 10 | u32::from(out),
            rate: self.ports.egress(out).rate(),
            at: Time::from_ps(cx.now),
            sent: own + self.ports.data_queues(out).iter().map(Queue::sent_bytes).sum::<u64>(),
            queue: u64::from(self.waiting_at(out)),
        };
        self.ports.extensions_mut().append(packet, &telemetry::encode(&hop));
    }

    /// Bytes in all queues of an egress port but that of the control frames.
    pub(crate) fn waiting_at(&self, out: u16) -> u32 {
        self.ports.data_queues(out).iter().map(Queue::bytes).sum()
    }

    /// What the port's detector says of a packet with `bytes` in the queue that it looks at.
    #[inline]
    pub(crate) fn ask_detector<P: Post<Packet>>(
        &mut self,
        out: u16,
        packet: &Packet,
        bytes: u64,
        cx: &mut Ctx<'_, P>,
    ) -> CodePoint {
        let at = self.ports.at(out, packet.class);
        let (node, detector) = (self.ports.node(), self.ports.egress(out).detector());
        let detector = &cx.world.detectors[usize::from(detector)];
        let registers = self.ports.queue_mut(at).registers_mut();
        let before = registers.state();
        let last_hold =
            if detector.wants_last_hold() { self.memory.last_hold(packet.class, cx.now) } else { 0 };
        let departure = Departure {
            now: Time::from_ps(cx.now),
            queue: bytes,
            code: packet.code,
            last_hold: Time::from_ps(last_hold),
            size: u32::from(packet.size),
            candidate: packet.is_flagged(),
        };
        let random = &mut self.random[out as usize];
        let draw = || random.next_u32();
        let code = match (detector, &mut self.user) {
            (Detector::Custom(_), Some(user)) => {
                user.on_dequeue((node, out, at), registers, &departure, draw, &cx.world.user)
            }
            (Detector::Oracle(oracle), _) => {
                let roots = self.roots.as_mut().expect("they are kept where an oracle asks");
                if let (Some(shown), Some(truth)) = (roots.take_shown(), &mut self.truth) {
                    cx.post.recorded(truth.cut(shown, &mut self.ports.records_mut().crowds));
                }
                let left = Left {
                    node,
                    port: out,
                    priority: cx.world.classes.priority(packet.class),
                    queue: bytes,
                    threshold: 0,
                };
                let registers = self.ports.queue_mut(at).registers_mut();
                oracle.on_verdict(registers, roots.departs(at, cx.now, left), packet.code)
            }
            _ => detector.on_dequeue(registers, &departure, draw),
        };
        let after = self.ports.queue(at).registers().state();
        if before != after {
            self.judged_anew(out, packet.class, before, cx);
        }
        if code != packet.code {
            self.marked(out, packet, code, cx);
        }
        code
    }

    #[cold]
    pub(crate) fn judged_anew<P: Post<Packet>>(
        &mut self,
        port: u16,
        class: u8,
        before: PortState,
        cx: &mut Ctx<'_, P>,
    ) {
        let at = self.ports.at(port, class);
        self.ports.left_state(at, before, cx.now);
        if cx.world.states {
            let state = self.ports.queue(at).registers().state() as u8;
            let (time, priority) = (Time::from_ps(cx.now), cx.world.classes.priority(class));
            let node = self.ports.node();
            self.ports.records_mut().states.push(StateRecord { time, node, port, priority, state });
            cx.post.recorded(1);
        }
    }

    #[cold]
    pub(crate) fn marked<P: Post<Packet>>(
        &mut self,
        port: u16,
        packet: &Packet,
        code: CodePoint,
        cx: &mut Ctx<'_, P>,
    ) {
        let at = self.ports.at(port, packet.class);
        self.ports.gate_mut(at).count_mark(code);
        if cx.world.marks {
            let record = MarkRecord {
                time: Time::from_ps(cx.now),
                node: self.ports.node(),
                port,
                priority: cx.world.classes.priority(packet.class),
                code: code as u8,
                flow: packet.flow,
                seq: cx.world.number(packet),
                queue: Bytes::new(u64::from(self.ports.queue(at).bytes())),
            };
            self.ports.records_mut().marks.push(record);
            cx.post.recorded(1);
        }
    }

    /// The gate of an egress queue opened.
    #[cold]
    pub(crate) fn resumed<F: Fabric, P: Post<Packet>>(
        &mut self,
        fabric: &mut F,
        port: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) {
        let (now, world) = (cx.now, cx.world);
        fabric.gate_opened(self, port, class, now);
        let at = self.ports.at(port, class);
        let queue = self.ports.queue(at);
        let (waiting, mut registers) = (u64::from(queue.bytes()), *queue.registers());
        if let Some(user) = &mut self.user {
            let place = (self.ports.node(), port, at);
            user.on_resume(place, &mut registers, Time::from_ps(now), waiting, &world.user);
        }
        world.detectors[usize::from(self.ports.egress(port).detector())].on_resume(
            &mut registers,
            Time::from_ps(now),
            waiting,
            || self.waiting(fabric, at).count() as u32,
        );
        *self.ports.queue_mut(at).registers_mut() = registers;
        let told = self.roots.as_mut().and_then(|roots| roots.opened(at, now, waiting));
        if let Some(frame) = told {
            self.tell_truth(port, &frame, cx);
        }
    }
}

/// The detectors in use, each once.
pub(crate) fn each_once(all: &[Vec<Detector>]) -> Vec<Detector> {
    let mut detectors: Vec<Detector> = Vec::new();
    for detector in all.iter().flatten() {
        if !detectors.contains(detector) {
            detectors.push(*detector);
        }
    }
    detectors
}
