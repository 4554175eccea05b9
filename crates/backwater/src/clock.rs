//! How long a run takes.
use rustix::time::{ClockId, clock_gettime};
use std::time::Instant;

/// Wall and CPU time since the start. On one thread only its own CPU time counts, so that runs side by side do not
/// count each other's; on several it is that of the whole process.
pub(crate) struct Clock {
    cpu: ClockId,
    /// Since when it runs, by both times; `None`: it stands.
    since: Option<(Instant, f64)>,
    /// What it showed when it was stopped.
    shown: (f64, f64),
}

impl Clock {
    pub(crate) fn start(threads: usize) -> Self {
        let several = threads > 1;
        let cpu = if several { ClockId::ProcessCPUTime } else { ClockId::ThreadCPUTime };
        Self { cpu, since: Some((Instant::now(), seconds(cpu))), shown: (0.0, 0.0) }
    }

    /// Another one's time has passed on it before.
    pub(crate) fn after(&mut self, (wall_s, cpu_s): (f64, f64)) {
        self.shown = (self.shown.0 + wall_s, self.shown.1 + cpu_s);
    }

    /// Stops it. What passes then does not count.
    pub(crate) fn stop(&mut self) {
        self.shown = (self.wall_s(), self.cpu_s());
        self.since = None;
    }

    /// Goes on, in whatever thread this is.
    pub(crate) fn go_on(&mut self) {
        self.since = Some((Instant::now(), seconds(self.cpu)));
    }

    pub(crate) fn wall_s(&self) -> f64 {
        self.shown.0 + self.since.map_or(0.0, |(wall, _)| wall.elapsed().as_secs_f64())
    }

    pub(crate) fn cpu_s(&self) -> f64 {
        self.shown.1 + self.since.map_or(0.0, |(_, cpu)| seconds(self.cpu) - cpu)
    }
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
