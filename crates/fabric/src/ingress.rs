//! The receiving side of a switch port: what it holds of the packet memory, and the PAUSEs it has sent for it.
use backwater_control::flow_control::{Admission, Decision, Ingress, Level, Threshold};
use backwater_units::Span;

use crate::packet::Packet;

/// One ingress port and class.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Account {
    pub(crate) held: Ingress,
    /// Up to this much held nobody upstream need be told anything: 0 while a PAUSE is outstanding.
    pub(crate) calm: u32,
    /// What `calm` is when none is: no threshold can be crossed below it, whatever the others hold.
    quiet: u32,
    pub(crate) peak: u32,
    pub(crate) pauses_sent: u32,
    /// Timed pauses: when to look again.
    pub(crate) poll_at: u64,
    pub(crate) poll_armed: bool,
    pub(crate) outstanding: bool,
}

/// The packet memory of a switch with its ingress accounting.
pub(crate) struct Memory {
    classes: usize,
    /// `accounts[port * classes + class]`
    pub(crate) accounts: Vec<Account>,
    pub(crate) thresholds: Vec<Threshold>,
    /// Bytes of all packets held.
    pub(crate) used: u64,
    /// What the thresholds call shared: all memory (static), the pool (dynamic).
    pub(crate) shared: u64,
    pub(crate) capacity: u64,
    /// Accounts with a PAUSE outstanding.
    pub(crate) outstanding: u32,
    /// Ingress ports that each class holds paused, and when the last of them was let go.
    pub(crate) holding: [u16; 8],
    pub(crate) held_until: [u64; 8],
}

impl Memory {
    /// `lossless` is the set of classes under PFC.
    pub(crate) fn new(
        classes: usize,
        lossless: u8,
        thresholds: Vec<Threshold>,
        ports: usize,
        capacity: u64,
    ) -> Self {
        let account = |at: usize| {
            let (port, class) = (at / classes, at % classes);
            let quiet =
                if lossless & (1 << class) == 0 { u32::MAX } else { quiet(&thresholds[port], classes) };
            Account { calm: quiet, quiet, ..Account::default() }
        };
        Self {
            classes,
            accounts: (0..ports * classes).map(account).collect(),
            thresholds,
            used: 0,
            shared: 0,
            capacity,
            outstanding: 0,
            holding: [0; 8],
            held_until: [0; 8],
        }
    }

    /// Where a port and class stands.
    pub(crate) fn level(&self, port: u16, class: u8) -> Level {
        let first = port as usize * self.classes;
        let total = self.accounts[first..first + self.classes].iter().map(|a| a.held.total()).sum();
        let account = &self.accounts[first + class as usize];
        self.thresholds[port as usize].level(&account.held, total, self.shared)
    }

    /// Keeps the largest amount held: at the ends of windows and, exactly, above Xoff.
    pub(crate) fn note_peaks(&mut self) {
        for account in &mut self.accounts {
            account.peak = account.peak.max(account.held.total() as u32);
        }
    }

    pub(crate) fn note_peak(&mut self, port: u16, class: u8) {
        let account = &mut self.accounts[port as usize * self.classes + class as usize];
        account.peak = account.peak.max(account.held.total() as u32);
    }

    /// Whether no threshold is crossed, in whatever order `arriving[port * classes + class]` bytes come and others
    /// leave. `all` is the sum of `arriving`.
    pub(crate) fn stays_calm(&self, arriving: &[u32], all: u64) -> bool {
        if self.outstanding > 0 || self.used + all > self.capacity {
            return false;
        }
        self.accounts.iter().zip(arriving).enumerate().all(|(at, (account, arriving))| {
            let most = account.held.total() + u64::from(*arriving);
            most <= u64::from(account.calm)
                || self.thresholds[at / self.classes].spares(&account.held, most, self.shared + all)
        })
    }

    /// Books all that arrives in a window that [stays calm](Self::stays_calm).
    pub(crate) fn admit_all(&mut self, arriving: &[u32], all: u64, lossless: u8) {
        self.used += all;
        for (at, (account, arriving)) in self.accounts.iter_mut().zip(arriving).enumerate() {
            if lossless & (1 << (at % self.classes)) != 0 {
                account.held.bytes += arriving;
            }
        }
    }

    /// Unbooks a packet of such a window.
    #[inline]
    pub(crate) fn let_go(&mut self, packet: &Packet, lossless: u8) {
        let size = u32::from(packet.size);
        self.used -= u64::from(size);
        if lossless & (1 << packet.class) != 0 {
            let at = packet.port as usize * self.classes + packet.class as usize;
            self.accounts[at].held.bytes -= size;
        }
    }

    /// Finds out anew what is shared, after a window in which nobody asked.
    pub(crate) fn sum_shared(&mut self) {
        let held = self.accounts.iter().enumerate();
        self.shared =
            held.map(|(at, a)| self.thresholds.get(at / self.classes).map_or(0, |t| t.shared(&a.held))).sum();
    }

    /// Books a packet; false if it does not fit.
    #[inline]
    pub(crate) fn admit(&mut self, port: u16, class: u8, size: u32) -> bool {
        if self.used + u64::from(size) > self.capacity {
            return false;
        }
        let account = &mut self.accounts[port as usize * self.classes + class as usize];
        match self.thresholds[port as usize].admit(&mut account.held, self.shared, size) {
            Admission::Overflow => false,
            Admission::Admitted(shared) => {
                self.used += u64::from(size);
                self.shared += shared;
                true
            }
        }
    }

    /// Books a packet of a class without flow control.
    #[inline]
    pub(crate) fn admit_unpaused(&mut self, size: u32) -> bool {
        self.used += u64::from(size);
        self.used <= self.capacity
    }

    #[inline]
    pub(crate) fn release(&mut self, port: u16, class: u8, size: u32) {
        let account = &mut self.accounts[port as usize * self.classes + class as usize];
        self.used -= u64::from(size);
        self.shared -= self.thresholds[port as usize].release(&mut account.held, size);
    }

    #[inline]
    pub(crate) fn release_unpaused(&mut self, size: u32) {
        self.used -= u64::from(size);
    }

    /// Books that a PAUSE (of `pause`, or until RESUME) or a RESUME is sent for a port and class at `now`.
    pub(crate) fn book(&mut self, port: u16, class: u8, decision: Decision, now: u64, pause: Option<Span>) {
        let account = &mut self.accounts[port as usize * self.classes + class as usize];
        let before = std::mem::replace(&mut account.outstanding, decision == Decision::Pause);
        account.calm = if account.outstanding { 0 } else { account.quiet };
        let held_until = &mut self.held_until[class as usize];
        match (decision, pause) {
            (Decision::Pause, None) => self.holding[class as usize] += u16::from(!before),
            (Decision::Pause, Some(pause)) => *held_until = (*held_until).max(now + pause.as_ps()),
            (_, None) if before => {
                self.holding[class as usize] -= 1;
                *held_until = now;
            }
            _ => {}
        }
        account.pauses_sent += u32::from(decision == Decision::Pause);
        self.outstanding += u32::from(decision == Decision::Pause && !before);
        self.outstanding -= u32::from(decision != Decision::Pause && before);
    }

    /// The last instant at which this switch held a PAUSE over an upstream port of `class`.
    #[inline]
    pub(crate) fn last_hold(&self, class: u8, now: u64) -> u64 {
        if self.holding[class as usize] > 0 { now } else { self.held_until[class as usize].min(now) }
    }
}

fn quiet(threshold: &Threshold, classes: usize) -> u32 {
    let bytes = match *threshold {
        Threshold::Static { xoff, port_xoff, .. } => xoff.min(port_xoff / classes as u64),
        Threshold::Dynamic { reserve, .. } => reserve,
    };
    bytes.min(u64::from(u32::MAX)) as u32
}
