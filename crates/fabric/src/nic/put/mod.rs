//! What a NIC does for its PUT streams: packets, ACKs and NACKs leave and come in, timers run out. What a stream decides is in
//! [`crate::transport::put`].
mod initiator;
mod log;
mod target;

use backwater_engine::Post;

use crate::ctx::Ctx;
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::packet::Packet;
use crate::transport::put::What;

impl<N: Nics> Host<N> {
    /// Sends what the streams offered.
    #[inline]
    pub(crate) fn send_put_frame<P: Post<Packet>>(&mut self, what: What, cx: &mut Ctx<'_, P>) {
        match what {
            What::Ack(slot) => self.send_ack(slot, cx),
            What::Again(slot) => self.repeat_put(slot, cx),
            What::New(slot) => self.send_put(slot, cx),
        }
    }
}
