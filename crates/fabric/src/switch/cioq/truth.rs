//! What a PAUSE of a combined switch is for.
use backwater_engine::Post;

use super::NOWHERE;
use crate::ctx::Ctx;
use crate::link::gates::Scope;
use crate::packet::Packet;
use crate::switch::chassis::Chassis;
use crate::switch::cioq::Cioq;
use crate::switch::truth::Holder;
use crate::world::World;

impl Cioq {
    /// A PAUSE for an ingress port is about to be sent. The egress port that the first packet of an ingress queue waits for
    /// holds up all of the queue. Of a class that is not above its own threshold, all queues of the port are the reason.
    #[cold]
    pub(crate) fn note_hold_at_ingress<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        port: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) {
        let own = chassis.memory.account(chassis.ports.at(port, class)).held()
            >= self.limits.bands.own[usize::from(class)].stop;
        let classes = if own { 1 << class } else { cx.world.lossless };
        for queue in (1..cx.world.classes.count).filter(|queue| classes & (1 << queue) != 0) {
            let at = chassis.ports.at(port, queue);
            let bytes = chassis.memory.account(at).held();
            let (line, input) = (&self.lines[at], &self.inputs[usize::from(port)]);
            let crossing = input.busy && input.moving.class == queue;
            let blocker = if line.out == NOWHERE && crossing { input.out } else { line.out };
            if bytes > 0 && blocker != NOWHERE {
                chassis.push_hold(
                    (port, class),
                    Holder { out: blocker, scope: Scope::class(queue), bytes },
                    cx,
                );
            }
        }
    }

    /// The egress queues that the first packets of the ingress queues cannot enter. A class is held back by its own queue, by that of
    /// its strays, or by all of them together.
    pub(crate) fn waits_across(&self, chassis: &Chassis, port: u16, class: u8, world: &World) -> Vec<Holder> {
        let ports = &chassis.ports;
        if ports.is_leaving(port, class) || self.inputs[usize::from(port)].busy {
            return Vec::new();
        }
        let out = |class: u8| self.lines[ports.at(port, class)].out;
        let own = out(class) != NOWHERE;
        let bytes = |class: u8| chassis.memory.account(ports.at(port, class)).held();
        (1..world.classes.count)
            .filter(|other| (*other == class || !own) && out(*other) != NOWHERE)
            .map(|class| Holder { out: out(class), scope: Scope::class(class), bytes: bytes(class) })
            .collect()
    }
}
