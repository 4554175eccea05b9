//! What every detector is, and the list of them made into one type, and into the table in which people choose one.
use backwater_units::Time;
#[cfg(feature = "config")]
use backwater_units::{Bytes, Rate, Span};

#[cfg(feature = "config")]
use super::DetectorSettings;
use super::{Departure, Registers};
#[cfg(feature = "config")]
use crate::config::Quantity;
use crate::{CodePoint, ConfigError};

/// A detector: its parameters at the ports of one rate. What it remembers is in [`Registers`].
pub trait CongestionPoint: Sized {
    /// Whether [`Self::on_arrival`] can be true at all.
    const ARRIVALS: bool = false;
    /// What it reads beside its own table: the ramp ([`RAMP`]), or nothing.
    #[cfg(feature = "config")]
    const SHARED: &'static [&'static str] = &[];
    /// Whether it can mark UE.
    #[cfg(feature = "config")]
    const MARKS_UE: bool = false;
    /// The share of a flow's packets that have to be marked before its receiver reports congestion; 0: one is enough.
    #[cfg(feature = "config")]
    const CONGESTED_SHARE: f64 = 0.0;

    /// A packet's header reached the input buffer while `queue` bytes, without the packet, waited for its output port and
    /// VL. True if the packet is a candidate for a mark: then the caller remembers that, takes it back whenever it finds
    /// the packet at the head of its queue without enough credit, and shows its departure even if the port is settled.
    #[inline]
    fn on_arrival(&self, _queue: u64) -> bool {
        false
    }

    /// The gate of the port opened: a RESUME arrived while paused, the pause ran out, or an update made room for a packet
    /// that had found too few credits. `queue` is the egress queue in bytes before anything leaves it, `packets` counts
    /// what is in it and is called only if that is asked. A RESUME or an update at an open gate is no such event; nor is
    /// the closing one, since TCD measures from the end of an OFF period (§4.1).
    #[inline]
    fn on_resume(&self, _: &mut Registers, _now: Time, _queue: u64, _packets: impl FnOnce() -> u32) {}

    /// Judges the port and returns the packet's new code point. `draw` gives 32 uniform random bits; it is called
    /// at most once, and only where the outcome is random.
    fn on_dequeue(&self, _: &mut Registers, _: &Departure, draw: impl FnOnce() -> u32) -> CodePoint;

    /// The longest queue that is never marked and never congested while [`Registers::is_settled`].
    fn calm(&self) -> u64;

    /// Whether [`Departure::last_hold`] is read at all.
    #[inline]
    fn wants_last_hold(&self) -> bool {
        false
    }

    /// Refuses parameters outside the ranges in which the algorithm is defined.
    fn validate(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    /// The parameters at a port of what people write.
    #[cfg(feature = "config")]
    fn resolve(settings: &DetectorSettings, port: &PortFacts) -> Result<Self, ConfigError>;
}

/// What parameters follow from at one egress port.
#[cfg(feature = "config")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortFacts {
    /// C.
    pub rate: Rate,
    /// tp, one way.
    pub delay: Span,
    /// The largest packet.
    pub mtu: Bytes,
    /// How far the thresholds of the flow control are apart, B1 − B0.
    pub gap: Bytes,
    /// Tc, if credits come back periodically.
    pub credits: Option<Span>,
}

/// The keys of the ramp, which several detectors share, and where they look.
#[cfg(feature = "config")]
pub const RAMP: &[&str] = &["kmin", "kmax", "pmax", "by-rate", "guaranteed", "last-hop"];

/// The ramp at egress ports of one rate.
#[cfg(feature = "config")]
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ByRate {
    /// The rate of the egress ports.
    #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
    pub rate: Quantity<Rate>,
    /// No mark up to this queue.
    #[schemars(extend("x-maximum" = "1TB"))]
    pub kmin: Quantity<Bytes>,
    /// Always a mark above this queue.
    #[schemars(extend("x-maximum" = "1TB"))]
    pub kmax: Quantity<Bytes>,
    /// Probability of a mark just below `kmax`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pmax: f64,
}

/// Defaults of the ramp: those of the DCQCN paper, with kmax as in the TCD paper, §5.1.
#[cfg(feature = "config")]
pub(super) mod defaults {
    use super::{Bytes, Quantity};
    use crate::detector::Red;

    pub(in crate::detector) fn kmin() -> Quantity<Bytes> {
        Quantity(Red::standard().kmin())
    }
    pub(in crate::detector) fn kmax() -> Quantity<Bytes> {
        Quantity(Red::standard().kmax())
    }
    pub(in crate::detector) fn pmax() -> f64 {
        Red::standard().pmax()
    }
    pub(in crate::detector) fn guaranteed() -> Quantity<Bytes> {
        Quantity(Red::standard().guaranteed())
    }
    pub(in crate::detector) const fn last_hop() -> bool {
        true
    }
}

#[cfg(feature = "config")]
impl DetectorSettings {
    /// The ramp of egress ports of `rate`: kmin, kmax, pmax.
    pub fn ramp(&self, rate: Rate) -> (Bytes, Bytes, f64) {
        let own = self.by_rate.iter().find(|ramp| ramp.rate.0 == rate);
        let (kmin, kmax, pmax) =
            own.map_or((self.kmin, self.kmax, self.pmax), |ramp| (ramp.kmin, ramp.kmax, ramp.pmax));
        (kmin.0, kmax.0, pmax)
    }
}

/// Makes the family of a list of detectors: `Variant(Type) = "word", table: Keys;`, or without a table of its own keys.
macro_rules! family {
    ($($(#[$doc:meta])* $kind:ident($state:ty) = $word:literal $(, $field:ident: $params:ty)?;)*) => {
        /// The detectors, with their parameters.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Detector {
            /// Nothing is ever marked.
            None,
            $($(#[$doc])* $kind($state),)*
        }

        impl Detector {
            /// See [`CongestionPoint::on_arrival`].
            #[inline]
            pub fn on_arrival(&self, queue: u64) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$kind(one) => one.on_arrival(queue),)*
                }
            }

            /// See [`CongestionPoint::ARRIVALS`].
            #[inline]
            pub const fn wants_arrivals(&self) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$kind(_) => <$state as CongestionPoint>::ARRIVALS,)*
                }
            }

            /// See [`CongestionPoint::on_resume`].
            #[inline]
            pub fn on_resume(&self, registers: &mut Registers, now: Time, queue: u64, packets: impl FnOnce() -> u32) {
                match self {
                    Self::None => {}
                    $(Self::$kind(one) => one.on_resume(registers, now, queue, packets),)*
                }
            }

            /// See [`CongestionPoint::on_dequeue`].
            #[inline]
            pub fn on_dequeue(
                &self,
                registers: &mut Registers,
                departure: &Departure,
                draw: impl FnOnce() -> u32,
            ) -> CodePoint {
                match self {
                    Self::None => departure.code,
                    $(Self::$kind(one) => one.on_dequeue(registers, departure, draw),)*
                }
            }

            /// See [`CongestionPoint::calm`].
            pub fn calm(&self) -> u64 {
                match self {
                    Self::None => u64::MAX,
                    $(Self::$kind(one) => one.calm(),)*
                }
            }

            /// See [`CongestionPoint::wants_last_hold`].
            #[inline]
            pub fn wants_last_hold(&self) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$kind(one) => one.wants_last_hold(),)*
                }
            }

            /// See [`CongestionPoint::validate`].
            pub fn validate(&self) -> Result<(), ConfigError> {
                match self {
                    Self::None => Ok(()),
                    $(Self::$kind(one) => one.validate(),)*
                }
            }
        }

        #[cfg(feature = "config")]
        crate::config::kinds! {
            /// Which detector the egress ports of the switches run.
            DetectorKind;
            /// No marks.
            None = "none" reads crate::config::Reads::Only(&[]);
            $($(#[$doc])* $kind = $word reads crate::config::Reads::Only(<$state as CongestionPoint>::SHARED);)*
        }

        #[cfg(feature = "config")]
        impl DetectorKind {
            /// Whether it reads the ramp.
            pub fn has_ramp(self) -> bool {
                crate::config::Kinds::reads(self, RAMP[0])
            }

            /// See [`CongestionPoint::MARKS_UE`].
            pub const fn marks_ue(self) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$kind => <$state as CongestionPoint>::MARKS_UE,)*
                }
            }

            /// See [`CongestionPoint::CONGESTED_SHARE`].
            pub const fn congested_share(self) -> f64 {
                match self {
                    Self::None => 0.0,
                    $(Self::$kind => <$state as CongestionPoint>::CONGESTED_SHARE,)*
                }
            }
        }

        /// Congestion detection, one instance per egress port and priority: `kind` chooses, the table of that name has what it alone
        /// reads. What several kinds read stands here.
        #[cfg(feature = "config")]
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        #[schemars(rename = "Detector", transform = crate::config::readers::<DetectorKind>)]
        pub struct DetectorSettings {
            /// Which detector. pyrrha-ns3: none; authors, ideal, infiniband: tcd (the TCD paper's system); hpcc-ns3, conweave-ns3, isolation, roce: red;
            /// endpoint: none (PUTs cannot be marked); hpc: none (the PFT paper has none; `kmin`, `kmax` and `pmax` as in
            /// isolation); edr, hdr, ndr, xdr: none (subnet managers leave it off); slingshot-like: none (swift goes by delay).
            pub kind: DetectorKind,
            /// No mark up to this queue. authors: 5.15 KB (5 units of 1030 B, authors' release); ideal: 5 KB (DCQCN
            /// paper); hpcc-ns3, roce: 400 KB (`run.py` at 100 Gbps); pyrrha-ns3: 100 KB (`KMIN_MAP`); conweave-ns3: 101 049 B (100 KB beside the reserve of a queue);
            /// infiniband: 50 KB, a step (TCD paper §3.1);
            /// isolation: 40 KiB, 10 packets (reconstructed: the ICI paper does not say).
            #[serde(default = "family::defaults::kmin")]
            #[schemars(extend("x-maximum" = "1TB"))]
            pub kmin: Quantity<Bytes>,
            /// Always a mark above this queue. authors: 206 KB (200 units of 1030 B); ideal: 200 KB (TCD paper
            /// §5.1); hpcc-ns3, roce: 1600 KB (`run.py` at 100 Gbps); conweave-ns3: 401 049 B; pyrrha-ns3: 400 KB (`KMAX_MAP`); infiniband: 50 KB (TCD paper §3.1);
            /// isolation: 160 KiB, 40
            /// packets of the 64 of the egress (reconstructed: the ICI paper does not say).
            #[serde(default = "family::defaults::kmax")]
            #[schemars(extend("x-maximum" = "1TB"))]
            pub kmax: Quantity<Bytes>,
            /// Probability of a mark just below `kmax`. authors, ideal: 0.01 (DCQCN paper); hpcc-ns3, conweave-ns3, pyrrha-ns3, roce: 0.2
            /// (`run.py`); infiniband: 1, without effect on a step; isolation: 0.2 (`run.py` of the HPCC simulator; the ICI paper
            /// does not say).
            #[serde(default = "family::defaults::pmax")]
            #[schemars(range(min = 0.0, max = 1.0))]
            pub pmax: f64,
            /// Other `kmin`, `kmax` and `pmax` for egress ports of exactly these rates (`KMIN_MAP`, `KMAX_MAP`,
            /// `PMAX_MAP` of the HPCC simulator; its `run.py` scales them with the rate).
            #[serde(default)]
            pub by_rate: alloc::vec::Vec<ByRate>,
            /// Bytes of a queue that are not counted. authors: 1030 B (the guaranteed part of a queue in the authors'
            /// release); else 0.
            #[serde(default = "family::defaults::guaranteed")]
            #[schemars(extend("x-maximum" = "1TB"))]
            pub guaranteed: Quantity<Bytes>,
            /// Whether ports to hosts have a detector, too. All profiles: true (reconstructed: no paper at hand excepts them).
            /// Ultra Ethernet turns it off where receivers give credits (`cc.kind = "rccc"`, `"nscc+rccc"`), as their links are
            /// for the receivers to share out (UE 1.0; `main_uec.cpp:708` of the Consortium's simulator).
            #[serde(default = "family::defaults::last_hop")]
            pub last_hop: bool,
            $($(
                #[doc = concat!("kind = ", $word, ": what it alone reads.")]
                #[serde(default, rename = $word)]
                pub $field: $params,
            )?)*
        }

        #[cfg(feature = "config")]
        impl DetectorSettings {
            /// The detector of a port.
            ///
            /// # Errors
            /// See [`CongestionPoint::validate`].
            pub fn resolve(&self, port: &PortFacts) -> Result<Detector, ConfigError> {
                let made = match self.kind {
                    DetectorKind::None => Detector::None,
                    $(DetectorKind::$kind => Detector::$kind(<$state as CongestionPoint>::resolve(self, port)?),)*
                };
                made.validate().map(|()| made)
            }
        }
    };
}
pub(super) use family;
