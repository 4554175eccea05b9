//! How a run keeps time.

/// How a run keeps time, and what goes first of what happens at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// In picoseconds. Ports that are free again go first, then flow control, arrivals and timers; ports in an order that is drawn.
    #[default]
    Exact,
    /// As simulators on ns-3 do: times on the wire are cut to whole nanoseconds, and so are the gaps of queue pairs that send again what
    /// is lost. Timers go first, then flow control, arrivals, and ports that are free again. There what was made first goes first, and waits
    /// that end at one instant were made the earlier, the longer they are. Of arrivals the one goes first whose link was idle last, then
    /// that at the port with the lowest number.
    Ns3,
}
