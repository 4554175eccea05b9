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
        let puts = world.is_put(self.senders[pair as usize].flow());
        if puts {
            self.begin_put(pair, now, world);
        }
        puts
    }

    /// A frame of one of them has come.
    #[inline]
    pub(crate) fn on_frame<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        match packet.kind {
            Kind::Put => self.on_put(packet, cx),
            Kind::PutAck | Kind::PutNack => self.on_put_ack(packet, cx),
            Kind::Nack => self.on_nack(packet, cx),
            other => unreachable!("no host takes a frame of kind {}", other.word()),
        }
    }

    /// A timer of one of them goes off.
    pub(crate) fn on_timer<P: Post<Packet>>(&mut self, purpose: Purpose, argument: u32, cx: &mut Ctx<'_, P>) {
        match purpose {
            Purpose::Effect => self.effect_due(argument, cx),
            Purpose::Stream => self.stream_due(argument, cx),
            Purpose::Retry => self.retry_due(argument, cx),
            other => unreachable!("no host sets a timer for {other:?}"),
        }
    }

    /// Sends what one of them offered.
    #[inline]
    pub(crate) fn take_from_transport<P: Post<Packet>>(&mut self, what: What, cx: &mut Ctx<'_, P>) {
        match what {
            What::Put(what) => self.send_put_frame(what, cx),
        }
    }
}
