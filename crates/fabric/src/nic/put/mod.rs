//! What a NIC does for its PUT streams: packets, ACKs and NACKs leave and come in, timers run out. What a stream decides is in
//! [`crate::transport::put`].
mod initiator;
mod log;
mod target;

use backwater_engine::Post;

use crate::ctx::Ctx;
use crate::nic::host::Host;
use crate::packet::Packet;
use crate::transport::put::{Frame, What};

impl Host {
    /// Sends what the streams frameed.
    #[inline(never)]
    pub(crate) fn send_put_frame<P: Post<Packet>>(&mut self, frame: Option<Frame>, cx: &mut Ctx<'_, P>) {
        match frame.map(|frame| frame.what) {
            Some(What::Ack(slot)) => self.send_ack(slot, cx),
            Some(What::Again(slot)) => self.repeat_put(slot, cx),
            Some(What::New(slot)) => self.send_put(slot, cx),
            None => {}
        }
    }
}
