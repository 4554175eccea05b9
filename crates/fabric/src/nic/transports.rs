//! What a NIC hands to the transports beside its queue pairs: flows that start, frames that come, timers, the turn to send.
use backwater_engine::Post;

use crate::ctx::Ctx;
use crate::link::ports::Purpose;
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::packet::{Kind, Packet};
use crate::transport::What;
use crate::world::World;

impl<N: Nics> Host<N> {
    /// A sender has something to send from now on: whether one of them takes it.
    pub(crate) fn begin_beside(&mut self, pair: u32, now: u64, world: &World) -> bool {
        let flow = self.senders[pair as usize].flow();
        if world.is_put(flow) {
            self.begin_put(pair, now, world);
        } else if let Some(kind) = world.uec_kind(flow) {
            self.begin_uec(pair, kind, now, world);
        } else {
            return false;
        }
        true
    }

    /// A frame of one of them has come.
    #[inline]
    pub(crate) fn on_frame<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        match packet.kind {
            Kind::Put => self.on_put(packet, cx),
            Kind::PutAck | Kind::PutNack => self.on_put_ack(packet, cx),
            Kind::Nack => self.on_nack(packet, cx),
            _ => self.on_frame_of_uec(packet, cx),
        }
    }

    /// One of UEC: apart from the others, which it would cost 2 instructions a hop.
    #[inline(never)]
    fn on_frame_of_uec<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        assert!(packet.kind.is_of_uec(), "no host takes a frame of kind {}", packet.kind.word());
        self.on_uec(packet, cx);
    }

    /// A timer of one of them goes off.
    pub(crate) fn on_timer<P: Post<Packet>>(&mut self, purpose: Purpose, argument: u32, cx: &mut Ctx<'_, P>) {
        match purpose {
            Purpose::Effect => self.effect_due(argument, cx),
            Purpose::Stream => self.stream_due(argument, cx),
            Purpose::Retry => self.retry_due(argument, cx),
            Purpose::Expiry => self.expiry_due(argument, cx),
            Purpose::Pull => self.pull_due(cx),
            Purpose::Look => self.look_due(argument, cx),
            other => unreachable!("no host sets a timer for {other:?}"),
        }
    }

    /// Sends what one of them offered.
    #[inline]
    pub(crate) fn take_from_transport<P: Post<Packet>>(&mut self, what: What, cx: &mut Ctx<'_, P>) {
        match what {
            What::Put(what) => self.send_put_frame(what, cx),
            What::Uec(what) => self.send_uec(what, cx),
        }
    }
}
