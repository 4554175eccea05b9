//! The receiving side of a switch port: what it holds of the packet memory, and the PAUSEs it has sent for it.
use std::io::{Result, Write};

use backwater_control::flow_control::{Admission, Decision, Ingress, Level, LossyPool, Threshold};
use backwater_units::Span;
use backwater_units::relative::{self, deadline, tally};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::packet::Packet;
use crate::reuse::relative as view;

/// One ingress port and class.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Account {
    held: Ingress,
    /// Up to this much held nobody upstream need be notified: 0 while a PAUSE is outstanding.
    calm: u32,
    /// What `calm` is when none is: no threshold can be crossed below it, whatever the others hold.
    quiet: u32,
    #[borsh(serialize_with = "tally")]
    peak: u32,
    #[borsh(serialize_with = "tally")]
    pauses_sent: u32,
    /// Timed pauses: when to look again.
    #[borsh(serialize_with = "deadline")]
    pub(super) poll_at: u64,
    pub(super) poll_armed: bool,
    pub(super) outstanding: bool,
}

impl Account {
    /// Bytes held.
    #[inline]
    pub(crate) fn held(&self) -> u64 {
        self.held.total()
    }

    /// Bytes of them in the headroom.
    pub(crate) fn headroom(&self) -> u64 {
        u64::from(self.held.headroom)
    }

    /// Whether nobody upstream need be notified if so many bytes come in.
    #[inline]
    pub(crate) fn stays_calm(&self, size: u16) -> bool {
        self.held.total() + u64::from(size) <= u64::from(self.calm)
    }

    /// Whether a PAUSE is outstanding.
    #[inline]
    pub(crate) const fn is_outstanding(&self) -> bool {
        self.outstanding
    }

    /// Most bytes held.
    pub(crate) const fn peak(&self) -> u32 {
        self.peak
    }

    pub(crate) const fn pauses_sent(&self) -> u32 {
        self.pauses_sent
    }
}

/// The packet memory of a switch with its ingress accounting.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Memory {
    classes: usize,
    /// `accounts[port * classes + class]`
    pub(super) accounts: Vec<Account>,
    thresholds: Vec<Threshold>,
    /// Bytes of all packets held, but for those of classes under credits.
    used: u64,
    /// What of it classes hold that share a pool for what may be lost.
    lossy: u64,
    /// What the thresholds call shared: all memory (static), the pool (dynamic).
    /// It follows from the accounts, and is found out before it is asked for where it is stale.
    #[borsh(serialize_with = "tally")]
    shared: u64,
    #[borsh(serialize_with = "tally")]
    shared_is_stale: bool,
    /// Something was booked since the last look at the peaks.
    #[borsh(serialize_with = "tally")]
    grown: bool,
    capacity: u64,
    /// The least of all `quiet`.
    least_calm: u64,
    /// Dynamic thresholds: one that is nowhere more generous than any port's.
    tightest: Option<Threshold>,
    /// Accounts with a PAUSE outstanding.
    outstanding: u32,
    /// Ingress ports that each class holds paused, and when the last of them was let go.
    holding: [u16; 8],
    #[borsh(serialize_with = "save_holds")]
    held_until: [u64; 8],
    /// Classes under credits: their ingress ports are limited by what they grant, not here.
    credited: u8,
    /// No packet may pass the crossbar by.
    crossed: bool,
}

/// When a class was held last is asked for by few detectors.
fn save_holds<W: Write>(until: &[u64; 8], out: &mut W) -> Result<()> {
    match view::asks_last_hold() {
        Some(true) => until.iter().try_for_each(|until| relative::instant(until, out)),
        Some(false) => Ok(()),
        None => until.serialize(out),
    }
}

impl Memory {
    /// Bytes of a port of so many classes.
    pub(crate) const fn port_bytes(classes: usize) -> usize {
        classes * size_of::<Account>() + size_of::<Threshold>()
    }

    /// `lossless` is the set of classes under PFC, `credited` that of classes under credits; `crossed` says that every packet
    /// takes the way by the crossbar.
    pub(crate) fn new(
        classes: usize,
        lossless: u8,
        credited: u8,
        crossed: bool,
        thresholds: Vec<Threshold>,
        ports: usize,
        capacity: u64,
    ) -> Self {
        let account = |at: usize| {
            let (port, class) = (at / classes, at % classes);
            let quiet = if lossless & (1 << class) == 0 {
                u32::MAX
            } else {
                quiet(&thresholds[port], lossless.count_ones())
            };
            Account { calm: if crossed { 0 } else { quiet }, quiet, ..Account::default() }
        };
        let accounts: Vec<Account> = (0..ports * classes).map(account).collect();
        Self {
            classes,
            least_calm: accounts.iter().map(|account| u64::from(account.quiet)).min().unwrap_or(0),
            accounts,
            tightest: tightest(&thresholds),
            thresholds,
            used: 0,
            lossy: 0,
            shared: 0,
            shared_is_stale: false,
            grown: false,
            capacity,
            outstanding: 0,
            holding: [0; 8],
            held_until: [0; 8],
            credited,
            crossed,
        }
    }

    /// From now on judges by the thresholds of one that was built alike but for these. What is held, and the PAUSEs that were sent, stay:
    /// the next packet that comes or leaves is judged anew.
    pub(crate) fn judge_as(&mut self, other: &Self) {
        self.thresholds.clone_from(&other.thresholds);
        (self.tightest, self.least_calm) = (other.tightest, other.least_calm);
        for (account, other) in self.accounts.iter_mut().zip(&other.accounts) {
            account.quiet = other.quiet;
            account.calm = if account.outstanding || self.crossed { 0 } else { account.quiet };
        }
    }

    /// The account of the number that [`Ports::at`](crate::link::ports::Ports::at) gives for an ingress port and class.
    #[inline]
    pub(crate) fn account(&self, at: usize) -> &Account {
        &self.accounts[at]
    }

    pub(crate) fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// Bytes of all packets held, but for those of classes under credits.
    #[inline]
    pub(crate) const fn used(&self) -> u64 {
        self.used
    }

    #[inline]
    pub(crate) const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Classes under credits: a bit each.
    #[inline]
    pub(crate) const fn credited(&self) -> u8 {
        self.credited
    }

    /// Whether a class is under credits.
    #[inline]
    pub(crate) const fn is_credited(&self, class: u8) -> bool {
        self.credited & (1 << class) != 0
    }

    /// Whether any PAUSE is outstanding.
    pub(crate) const fn pauses(&self) -> bool {
        self.outstanding > 0
    }

    /// Whether a packet would take more than Xoff and `headroom`. Dynamic thresholds have a limit of their own.
    pub(crate) fn is_beyond(&self, port: u16, class: u8, size: u16, headroom: u64) -> bool {
        let account = &self.accounts[port as usize * self.classes + class as usize];
        match self.thresholds[port as usize] {
            Threshold::Static { xoff, .. } => {
                account.held.total() + u64::from(size) > xoff.saturating_add(headroom)
            }
            Threshold::Dynamic { .. } => false,
        }
    }

    /// What a port's headroom may hold.
    pub(crate) fn most_headroom(&self, port: u16) -> u64 {
        match self.thresholds[port as usize] {
            Threshold::Dynamic { headroom, .. } => headroom,
            Threshold::Static { .. } => 0,
        }
    }

    /// An upstream port of a class has been short of credits until `now`.
    pub(crate) const fn note_held_back(&mut self, class: u8, now: u64) {
        self.held_until[class as usize] = now;
    }

    /// A packet is in the memory that no threshold counts.
    #[inline]
    pub(crate) fn occupy(&mut self, size: u16) {
        self.used += u64::from(size);
    }

    /// An ingress port and class holds so many bytes more, whatever is in use in all.
    #[inline]
    pub(crate) fn charge(&mut self, at: usize, size: u16) {
        let account = &mut self.accounts[at];
        account.held.bytes += u32::from(size);
        account.peak = account.peak.max(account.held.bytes);
    }

    /// It holds so many bytes less.
    #[inline]
    pub(crate) fn discharge(&mut self, at: usize, size: u16) {
        self.accounts[at].held.bytes -= u32::from(size);
    }

    /// Bytes of its state.
    pub(crate) fn state_bytes(&self) -> usize {
        size_of_val(&*self.accounts) + size_of_val(&*self.thresholds)
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
        if !std::mem::take(&mut self.grown) {
            return;
        }
        for account in &mut self.accounts {
            account.peak = account.peak.max(account.held.total() as u32);
        }
    }

    pub(crate) fn note_peak(&mut self, port: u16, class: u8) {
        let account = &mut self.accounts[port as usize * self.classes + class as usize];
        account.peak = account.peak.max(account.held.total() as u32);
    }

    /// Whether no threshold can be crossed while `arriving` bytes come in, in whatever order and by whatever ports:
    /// even if all of them and all that is held belonged to one ingress port and class.
    pub(crate) fn stays_calm(&self, arriving: u64) -> bool {
        let most = self.used + arriving;
        self.outstanding == 0
            && most <= self.capacity
            && (most <= self.least_calm
                || self.tightest.is_some_and(|t| t.spares(&Ingress::default(), most, most))
                || self.accounts_stay_calm(arriving))
    }

    /// Whether a packet of a class without credits may pass without being booked: nobody upstream need be notified.
    #[inline]
    pub(crate) fn lets_pass(&self, port: u16, class: u8, size: u16) -> bool {
        let account = &self.accounts[port as usize * self.classes + class as usize];
        !account.outstanding && account.held.total() + u64::from(size) <= u64::from(account.quiet)
    }

    /// Whether a port and class that owes nobody a RESUME is below every threshold as things stand.
    #[inline]
    pub(crate) fn spares(&self, port: u16, class: u8) -> bool {
        let account = &self.accounts[port as usize * self.classes + class as usize];
        let held = &account.held;
        !account.outstanding && self.thresholds[port as usize].spares(held, held.total(), self.shared)
    }

    /// The same, account by account.
    fn accounts_stay_calm(&self, arriving: u64) -> bool {
        let shared = self.used + arriving; // at least what is shared
        self.accounts.iter().enumerate().all(|(at, account)| {
            let most = account.held.total() + arriving;
            most <= u64::from(account.calm)
                || self.thresholds[at / self.classes].spares(&account.held, most, shared)
        })
    }

    /// Whether the other end of a port is held already: then a PAUSE only keeps up another. A timed pause is kept up by polls; if none
    /// followed the last PAUSE in time, the pause has run out.
    pub(crate) fn holds(&self, port: u16, class: u8, now: u64) -> bool {
        let account = &self.accounts[port as usize * self.classes + class as usize];
        account.outstanding && now <= account.poll_at
    }

    /// Whether the thresholds of a port look at all its classes together.
    #[inline]
    pub(crate) fn whole_port(&self, port: u16) -> bool {
        let threshold = self.thresholds.get(port as usize);
        matches!(threshold, Some(Threshold::Static { port_xoff, .. }) if *port_xoff < u64::MAX)
    }

    /// Books a packet in a window that [stays calm](Self::stays_calm).
    #[inline]
    pub(crate) fn keep(&mut self, packet: &Packet, lossless: u8) {
        let size = u32::from(packet.size);
        self.used += u64::from(size);
        self.shared_is_stale = true;
        self.grown = true;
        if lossless & (1 << packet.class) != 0 {
            let at = packet.port as usize * self.classes + packet.class as usize;
            self.accounts[at].held.bytes += size;
        }
    }

    /// Unbooks a packet in such a window.
    #[inline]
    pub(crate) fn let_go(&mut self, packet: &Packet, lossless: u8) {
        let size = u32::from(packet.size);
        self.used -= u64::from(size);
        self.shared_is_stale = true;
        if lossless & (1 << packet.class) != 0 {
            let at = packet.port as usize * self.classes + packet.class as usize;
            self.accounts[at].held.bytes -= size;
        }
    }

    /// Finds out what is shared if packets were booked without asking.
    pub(crate) fn refresh_shared(&mut self) {
        if std::mem::take(&mut self.shared_is_stale) {
            let held = self.accounts.iter().zip(0..);
            let shared = held.map(|(account, at): (&Account, usize)| {
                self.thresholds.get(at / self.classes).map_or(0, |threshold| threshold.shared(&account.held))
            });
            self.shared = shared.sum();
        }
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
                self.grown = true;
                true
            }
        }
    }

    /// Books a packet of a class without flow control; false if it does not fit.
    #[inline]
    pub(crate) fn admit_unpaused(&mut self, size: u32) -> bool {
        let used = self.used + u64::from(size);
        if used > self.capacity {
            return false;
        }
        self.used = used;
        true
    }

    /// Books a packet of a class that may lose, for an egress queue of `queue` bytes, if it fits.
    pub(crate) fn admit_lossy(&mut self, pool: LossyPool, queue: u32, size: u32) -> bool {
        let fits = pool.takes(u64::from(queue), self.lossy, size) && self.admit_unpaused(size);
        self.lossy += if fits { u64::from(size) } else { 0 };
        fits
    }

    /// A packet of such a class has left the pool, and is still to leave the memory.
    pub(crate) fn release_lossy(&mut self, size: u32) {
        self.lossy -= u64::from(size);
    }

    /// What such classes hold.
    pub(crate) const fn lossy(&self) -> u64 {
        self.lossy
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "measured: a call of its own costs 2 instructions a hop")]
    pub(crate) fn release(&mut self, port: u16, class: u8, size: u32) {
        let account = &mut self.accounts[port as usize * self.classes + class as usize];
        self.used -= u64::from(size);
        self.shared -= self.thresholds[port as usize].release(&mut account.held, size);
    }

    /// Books a packet of a class under credits. There is room: the other end had credits for it, and the buffers of such
    /// classes are apart from the shared memory.
    #[inline]
    pub(crate) fn admit_credited(&mut self, port: u16, class: u8, size: u32) -> bool {
        self.grown = true;
        self.accounts[port as usize * self.classes + class as usize].held.bytes += size;
        true
    }

    #[inline]
    pub(crate) fn release_credited(&mut self, port: u16, class: u8, size: u32) {
        self.accounts[port as usize * self.classes + class as usize].held.bytes -= size;
    }

    #[inline]
    pub(crate) fn release_unpaused(&mut self, size: u32) {
        self.used -= u64::from(size);
    }

    /// The other end of an ingress port is told to wait.
    pub(crate) fn count_pause(&mut self, at: usize) {
        self.accounts[at].pauses_sent += 1;
    }

    /// Books that a PAUSE (of `pause`, or until RESUME) or a RESUME is sent for a port and class at `now`.
    pub(crate) fn book(&mut self, port: u16, class: u8, decision: Decision, now: u64, pause: Option<Span>) {
        let account = &mut self.accounts[port as usize * self.classes + class as usize];
        let before = std::mem::replace(&mut account.outstanding, decision == Decision::Pause);
        account.calm = if account.outstanding || self.crossed { 0 } else { account.quiet };
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
        if decision == Decision::Pause {
            self.count_pause(port as usize * self.classes + class as usize);
        }
        self.outstanding += u32::from(decision == Decision::Pause && !before);
        self.outstanding -= u32::from(decision != Decision::Pause && before);
    }

    /// The last instant at which this switch held a PAUSE over an upstream port of `class`.
    #[inline]
    pub(crate) fn last_hold(&self, class: u8, now: u64) -> u64 {
        if self.holding[class as usize] > 0 { now } else { self.held_until[class as usize].min(now) }
    }
}

/// What a class may hold without being looked at. Where the whole port has a threshold and several classes share
/// it, the others may hold anything.
fn quiet(threshold: &Threshold, lossless_classes: u32) -> u32 {
    let bytes = match *threshold {
        Threshold::Static { port_xoff, .. } if port_xoff < u64::MAX && lossless_classes > 1 => 0,
        Threshold::Static { xoff, port_xoff, .. } => xoff.min(port_xoff),
        Threshold::Dynamic { reserve, .. } => reserve,
    };
    bytes.min(u64::from(u32::MAX)) as u32
}

/// The least generous combination of dynamic thresholds; `None` if one is static.
fn tightest(thresholds: &[Threshold]) -> Option<Threshold> {
    let mut all: Option<Threshold> = None;
    for threshold in thresholds {
        let Threshold::Dynamic { shift, pool, reserve, headroom, hysteresis } = *threshold else {
            return None;
        };
        all = Some(match all {
            Some(Threshold::Dynamic { shift: s, pool: p, reserve: r, .. }) => Threshold::Dynamic {
                shift: shift.max(s),
                pool: pool.min(p),
                reserve: reserve.min(r),
                headroom,
                hysteresis,
            },
            _ => *threshold,
        });
    }
    all
}
