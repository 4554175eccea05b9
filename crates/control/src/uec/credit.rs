//! RCCC: a receiver shares its link out in credits. What a sender spends and asks for, what a receiver grants, and how fast.
//!
//! Reference: Ultra Ethernet Specification 1.0, section 3.6.14 (RCCC, after EQDS, NSDI 2022), which leaves the pacer to implementations. Where it
//! is silent, the Consortium's simulator, `ultraethernet/uet-htsim` at 40ccb05: `uec.cpp:799` (pull), `:1845` (speculation), `:1859` (target),
//! `:2912` (grant), `:3045` (pacer); `datacenter/main_uec.cpp:754` (0.99).
//!
//! ```text
//!   sender                                                        receiver
//!   credit := largest window, spent before anything is heard      target: the largest that data, trimmed data or an RTS said
//!   data, RTS ─── target: what it has to send − credit ─────────▶ latest < target: in turn with other senders (active)
//!   credit += 256·(pull − pull before), at most the largest ◀──── pull: latest := min(latest + 64, target), then a gap of so many quanta
//!   first thing heard: what is left of the first credit is void   nobody active: 64 each in turn, up to one largest window ahead (idle)
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | quantum | B | 256 | UE 3.6.14; `uec.cpp:33` |
//! | grant | quanta | 64 (16384 B) | `uec.cpp:36` |
//! | rate | of the link | 0.99 | `main_uec.cpp:754`; EQDS paces a little below the line, too |
//! | gap without a grant | quanta | 4 (1024 B) | `uec.cpp` `UecPullPacer::doNextEvent` |
//!
//! Pull numbers count quanta from 0, all that was granted so far: a lost pull is made up for by the next one.
use backwater_units::Rate;

/// What all senders and receivers of a kind share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditConfig {
    /// Bytes of a quantum.
    pub quantum: u32,
    /// Most quanta of a pull.
    pub grant: u32,
    /// The largest window: most credit that a sender holds, and that a receiver gives ahead.
    pub most: u64,
    /// A full packet on the wire.
    pub mtu: u32,
    /// Whether a sender may send before it has heard anything.
    pub speculates: bool,
}

/// What a sender wants credit for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Bytes that it has to send for the first time, and again.
    pub backlog: u64,
    /// See [`Self::backlog`].
    pub again: u64,
    /// Its window, if that rules, too.
    pub window: Option<i64>,
    /// Senders that wait for their turn at its NIC.
    pub waiting: u32,
}

/// The credit of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Credit {
    bytes: i64,
    pull: u64,
    speculates: bool,
}

impl Credit {
    /// That of a sender which has heard nothing.
    #[must_use]
    pub const fn new(config: &CreditConfig) -> Self {
        let bytes = if config.speculates { config.most.cast_signed() } else { 0 };
        Self { bytes, pull: 0, speculates: config.speculates }
    }

    /// Bytes that it may spend; less than none after the last packet.
    #[inline]
    pub const fn bytes(&self) -> i64 {
        self.bytes
    }

    /// The last pull number.
    #[inline]
    pub const fn pull(&self) -> u64 {
        self.pull
    }

    /// Whether a packet may leave, however long it is.
    #[inline]
    pub const fn may_send(&self) -> bool {
        self.bytes > 0
    }

    /// A packet leaves.
    #[inline]
    pub const fn spend(&mut self, size: u16) {
        self.bytes -= size as i64;
    }

    /// Its receiver has answered: what is left of the credit that it never gave is void.
    #[inline]
    pub fn heard(&mut self) {
        if self.speculates {
            self.speculates = false;
            self.bytes = self.bytes.min(0);
        }
    }

    /// A pull with this number has come.
    #[inline]
    pub fn on_pull(&mut self, config: &CreditConfig, number: u64) {
        if number > self.pull {
            let granted = (number - self.pull) * u64::from(config.quantum);
            self.bytes = (self.bytes + granted.cast_signed()).min(config.most.cast_signed());
            self.pull = number;
        }
    }

    /// The pull number that it wants to get to.
    #[inline]
    pub fn target(&self, config: &CreditConfig, wanted: &Wanted) -> u64 {
        let mut bytes = wanted.backlog.saturating_add(wanted.again).min(config.most).cast_signed();
        if let Some(window) = wanted.window {
            bytes = bytes.min(window + i64::from(config.mtu));
        }
        bytes -= self.bytes;
        if self.speculates && wanted.backlog > 0 {
            bytes = bytes.max(config.mtu.into());
        }
        if wanted.waiting > 1 {
            bytes /= i64::from(wanted.waiting);
        }
        // The pull may be 0, and what is wanted less than nothing.
        let quantum = i64::from(config.quantum);
        let target =
            self.pull.cast_signed() + bytes.div_euclid(quantum) + i64::from(bytes.rem_euclid(quantum) > 0);
        target.max(0).cast_unsigned()
    }
}

/// What a receiver has granted a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Grants {
    target: u64,
    latest: u64,
}

impl Grants {
    /// The sender wants to get to this pull number. Whether that is news.
    #[inline]
    pub const fn wants(&mut self, target: u64) -> bool {
        let news = target > self.target;
        if news {
            self.target = target;
        }
        news
    }

    /// The number that targets are near to.
    #[inline]
    pub fn near(&self) -> u64 {
        self.target.max(self.latest)
    }

    /// The number of the last pull.
    #[inline]
    pub const fn latest(&self) -> u64 {
        self.latest
    }

    /// Quanta that are wanted and not granted.
    #[inline]
    pub const fn owed(&self) -> u64 {
        self.target.saturating_sub(self.latest)
    }

    /// Grants in turn what is wanted: quanta.
    #[inline]
    pub fn grant(&mut self, config: &CreditConfig) -> u64 {
        let given = self.owed().min(config.grant.into());
        self.latest += given;
        given
    }

    /// Grants ahead of what is wanted, as nobody wants anything: quanta, and whether it may be done once more.
    pub fn grant_ahead(&mut self, config: &CreditConfig) -> (u64, bool) {
        let given = u64::from(config.grant);
        self.latest += given;
        let ahead = self.latest.saturating_sub(self.target);
        (given, self.owed() == 0 && ahead < config.most / u64::from(config.quantum))
    }
}

/// Picoseconds between pulls, for each quantum that was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    ps: u64,
}

impl Pace {
    /// Gap of a pull that grants nothing, in quanta of 256 B.
    const NOTHING: u64 = 1024;

    /// Of a link at a share of its rate.
    #[must_use]
    pub fn new(config: &CreditConfig, link: Rate, share: f64) -> Self {
        let bits = f64::from(config.quantum) * 8e12;
        Self { ps: (bits / link.as_bps() as f64 / share) as u64 }
    }

    /// Until the next pull if this one granted so many quanta and the rate is a `share` of the usual one.
    #[inline]
    pub fn gap(&self, config: &CreditConfig, quanta: u64, share: f64) -> u64 {
        let ps = if share < 1.0 { (self.ps as f64 / share) as u64 } else { self.ps };
        let quanta = if quanta == 0 { Self::NOTHING / u64::from(config.quantum) } else { quanta };
        ps * quanta.max(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The Consortium's default tree.
    const CONFIG: CreditConfig =
        CreditConfig { quantum: 256, grant: 64, most: 262_926, mtu: 4150, speculates: true };

    fn wanted(backlog: u64) -> Wanted {
        Wanted { backlog, again: 0, window: None, waiting: 1 }
    }

    #[test]
    fn on_its_first_credit_a_sender_asks_for_what_it_has_spent() {
        let mut credit = Credit::new(&CONFIG);
        let mut backlog = 2_031_360_u64;
        let targets: Vec<u64> = (0..5)
            .map(|_| {
                credit.spend(4150);
                backlog -= 4150;
                credit.target(&CONFIG, &wanted(backlog))
            })
            .collect();
        // ceil(4150·(j + 1)/256).
        assert_eq!(targets, [17, 33, 49, 65, 82]);
    }

    #[test]
    fn the_first_answer_voids_what_was_never_granted_and_debts_stay() {
        let mut credit = Credit::new(&CONFIG);
        credit.spend(4150);
        credit.heard();
        assert_eq!(credit.bytes(), 0);
        credit.on_pull(&CONFIG, 17);
        credit.spend(4150);
        credit.spend(4150);
        assert_eq!((credit.bytes(), credit.may_send()), (17 * 256 - 8300, false));
        credit.heard();
        credit.on_pull(&CONFIG, 16);
        assert_eq!(credit.bytes(), 17 * 256 - 8300, "an old pull says nothing");
        credit.on_pull(&CONFIG, 33);
        assert_eq!(credit.bytes(), 33 * 256 - 8300);
    }

    #[test]
    fn credit_never_is_more_than_the_largest_window() {
        let mut credit = Credit::new(&CONFIG);
        credit.on_pull(&CONFIG, 1_000_000);
        assert_eq!(credit.bytes(), 262_926);
    }

    #[test]
    fn a_grant_is_what_is_wanted_and_64_quanta_at_most() {
        let mut grants = Grants::default();
        assert!(grants.wants(100) && !grants.wants(90));
        assert_eq!([(); 3].map(|()| grants.grant(&CONFIG)), [64, 36, 0]);
        let ahead = std::iter::from_fn(|| Some(grants.grant_ahead(&CONFIG))).take_while(|(_, more)| *more);
        // 262 926/256 = 1027 quanta: after 16 of 64 there are 1024, so one more makes 1088.
        assert_eq!((ahead.count(), grants.latest()), (16, 100 + 17 * 64));
    }

    #[test]
    fn the_pace_at_100_gbps_is_20_686_ps_per_quantum() {
        let pace = Pace::new(&CONFIG, Rate::from_gbps(100), 0.99);
        assert_eq!([64, 1, 0].map(|quanta| pace.gap(&CONFIG, quanta, 1.0)), [1_323_904, 20_686, 82_744]);
        assert_eq!(pace.gap(&CONFIG, 1, 0.5), 41_372);
        assert_eq!(Pace::new(&CONFIG, Rate::from_gbps(400), 0.99).gap(&CONFIG, 1, 1.0), 5_171);
    }

    proptest! {
        #[test]
        fn what_is_granted_and_not_spent_is_bounded(events in prop::collection::vec((0..4_u8, 0..9_u32), 1..300)) {
            let (mut credit, mut grants) = (Credit::new(&CONFIG), Grants::default());
            let (mut backlog, mut spent) = (50_000_000_u64, 0_i64);
            for (event, waiting) in events {
                match event {
                    0 if credit.may_send() => {
                        credit.spend(4150);
                        backlog -= 4150;
                        spent += 4150;
                        grants.wants(credit.target(&CONFIG, &Wanted { waiting, ..wanted(backlog) }));
                    }
                    1 => {
                        grants.grant(&CONFIG);
                    }
                    2 => credit.on_pull(&CONFIG, grants.latest()),
                    _ => credit.heard(),
                }
                prop_assert!(credit.bytes() <= 262_926);
                // The first window is for nothing; one more packet may overdraw.
                prop_assert!(grants.latest().cast_signed() * 256 - spent <= 262_926 + 256);
                prop_assert!(spent <= grants.latest().cast_signed() * 256 + 262_926 + 4150);
            }
        }
    }
}
