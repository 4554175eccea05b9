//! Credits of a slow host, which keeps packets in the buffer of its link until it has drained them.
use super::Credits;
use crate::link::ports::Ports;
use crate::packet::Packet;

impl Credits {
    /// Bytes that a lane of a port may hold while its other end is sure not to wait for credits.
    pub(crate) fn spare_bytes(&self, port: u16) -> u64 {
        self.settings.unit.size().get()
            * u64::from(self.settings.units.saturating_sub(self.ample[port as usize]))
    }
}

impl Ports {
    /// A slow host keeps a packet in its buffer; what would be held and the buffer, if it does not fit.
    pub(crate) fn take_in(&mut self, packet: &Packet) -> Result<(), (u32, u32)> {
        let at = self.at(packet.port, packet.class);
        let credits = self.owned_credits();
        let units = credits.units(packet.size);
        if credits.govern(packet.class) && !credits.lanes[at].receiver.on_arrival(units) {
            return Err(credits.held(at));
        }
        Ok(())
    }

    /// A slow host takes a packet out of its buffer that it had kept there.
    pub(crate) fn give_back(&mut self, packet: &Packet, now: u64) {
        let at = self.at(packet.port, packet.class);
        let credits = self.owned_credits();
        if credits.govern(packet.class) {
            let units = credits.units(packet.size);
            credits.lanes[at].receiver.on_freed(units);
            if !self.is_armed(packet.port, packet.class) {
                self.tell_at(packet.port, packet.class, now);
            }
        }
    }

    /// Whether a lane has no room for another full packet.
    pub(crate) fn lane_is_full(&self, port: u16, class: u8) -> bool {
        self.credits.as_ref().is_some_and(|credits| {
            let (held, buffer) = credits.held(self.at(port, class));
            credits.govern(class) && held + credits.packet > buffer
        })
    }
}
