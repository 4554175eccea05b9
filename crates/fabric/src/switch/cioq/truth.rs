//! What a PAUSE of a combined switch is for.
use backwater_engine::Post;

use super::NOWHERE;
use crate::ctx::Ctx;
use crate::packet::Packet;
use crate::switch::chassis::Chassis;
use crate::switch::cioq::Combined;

impl Combined {
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
        let limits = cx.world.combined.as_ref().expect("only switches with a combined crossbar come here");
        let own = u64::from(chassis.memory.accounts[chassis.ports.at(port, class)].held.bytes)
            >= limits.bands.own[usize::from(class)].stop;
        let classes = if own { 1 << class } else { cx.world.lossless };
        for queue in (1..cx.world.classes.count).filter(|queue| classes & (1 << queue) != 0) {
            let at = chassis.ports.at(port, queue);
            let bytes = u64::from(chassis.memory.accounts[at].held.bytes);
            let (line, input) = (&self.lines[at], &self.inputs[usize::from(port)]);
            let crossing = input.busy && input.moving.class == queue;
            let blocker = if line.out == NOWHERE && crossing { input.out } else { line.out };
            if bytes > 0 && blocker != NOWHERE {
                chassis.push_hold(port, class, blocker, queue, bytes, cx.now, cx.world);
                cx.post.recorded(1);
            }
        }
    }
}
