//! How long a run takes.
use rustix::time::{ClockId, clock_gettime};
use std::time::Instant;

/// Wall and CPU time since the start. On one thread only its own CPU time counts, so that runs side by side do not
/// count each other's; on several it is that of the whole process.
pub(crate) struct Clock {
    start: Instant,
    cpu: ClockId,
    cpu_start: f64,
}

impl Clock {
    pub(crate) fn start(threads: usize) -> Self {
        let several = threads > 1;
        let cpu = if several { ClockId::ProcessCPUTime } else { ClockId::ThreadCPUTime };
        Self { start: Instant::now(), cpu, cpu_start: seconds(cpu) }
    }

    pub(crate) fn wall_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    pub(crate) fn cpu_s(&self) -> f64 {
        seconds(self.cpu) - self.cpu_start
    }
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
