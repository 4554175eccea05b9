//! The table in which people choose a reaction point, made of the list of all that there are.
use alloc::string::String;

use backwater_units::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CcSettings, ReactionConfig};
use crate::config::{AutoOr, Kinds, Quantity, Unit};
use crate::notify::{Mode, NotifyConfig};

/// What people write of one reaction point.
pub trait Parameters {
    /// The keys above its table that it reads.
    const SHARED: &'static [&'static str];
    /// Whether it listens to marks.
    const MARKS: bool = true;

    /// What the controller takes. `path` is asked only by those that follow from it: to find it takes as long as there are flows.
    fn resolve(&self, cc: &CcSettings, path: &dyn Fn() -> PathFacts) -> ReactionConfig;

    /// What it wants of the network beside what its controller says ([`super::Controller`]).
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// What a choice among its own keys makes idle.
    fn unread(&self) -> Unread {
        Unread::default()
    }

    /// The first of its keys that follows from the network, if one does.
    fn follows(&self) -> Option<&'static str> {
        None
    }
}

/// What a reaction point wants of receivers and switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// CNPs.
    pub notifications: Notifications,
    /// Round-trip times of segments, each with an ACK of its own.
    pub segments: Option<Segments>,
    /// The marks that ACKs echo: without ACKs it never reacts.
    pub echoes: bool,
    /// Every packet above one threshold marked, not a growing share of them.
    pub step: bool,
}

/// When a reaction point wants CNPs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notifications {
    /// Never.
    #[default]
    None,
    /// As `np` says.
    Chosen,
    /// At every marked packet.
    EachMark,
    /// At the end of each period in which a packet came, with the rate at which they came.
    Advice,
}

impl Notifications {
    /// The share of a period's packets that must be marked, as whoever wants them has it.
    pub const fn share(self) -> f64 {
        match self {
            // PCN's, in its authors' code.
            Self::Advice => 0.95,
            Self::None | Self::Chosen | Self::EachMark => 0.0,
        }
    }
}

/// What counts as one transmission where round trips are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segments {
    /// `segment` and `pacing`.
    Chosen,
    /// Every packet; one round trip at a time is measured.
    OncePerRoundTrip,
}

/// Keys that are idle next to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// The choice: `variant = "…"` of its own table.
    pub why: (&'static str, &'static str),
    /// Keys above its table.
    pub shared: &'static [&'static str],
    /// Keys of its own.
    pub own: &'static [&'static str],
}

/// The network as one flow has it for itself: what parameters that follow from it follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathFacts {
    /// Twice the longest propagation between the ends of a flow.
    pub propagation: Span,
    /// The longest round trip of a packet and its ACK, with their times on each wire.
    pub rtt: Span,
    /// The shortest.
    pub shortest: Span,
    /// Links of the longest path, one way.
    pub links: u64,
    /// The rate of the fastest sender.
    pub line: Rate,
    /// That of the slowest.
    pub slowest: Rate,
    /// What a full packet carries.
    pub payload: Bytes,
    /// All of it, on the wire.
    pub mtu: Bytes,
}

impl PathFacts {
    /// Bandwidth-delay product, `packet` bytes at least.
    pub fn bdp(&self, packet: u32) -> u64 {
        self.line.bytes_in(self.rtt).get().max(u64::from(packet))
    }

    /// The first window and the largest, of which the words `auto` follow from the bandwidth-delay product.
    pub(super) fn windows(&self, mss: u32, window: AutoOr<Bytes>, most: AutoOr<Bytes>) -> (u64, u64) {
        let bdp = self.bdp(mss);
        let most = or_auto(most, Bytes::new(4 * bdp)).get();
        // What is left to follow from the network follows from a largest window that is smaller, too.
        (or_auto(window, Bytes::new(bdp.min(most))).get(), most)
    }
}

/// The quantity, or what `auto` stands for.
pub(super) fn or_auto<T: Unit>(value: AutoOr<T>, auto: T) -> T {
    match value {
        AutoOr::Auto => auto,
        AutoOr::Given(Quantity(given)) => given,
    }
}

/// When the receiver sends CNPs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Np {
    /// At the ends of fixed slots of `cnp-interval` that start with the flow's first packet (authors' release).
    Grid,
    /// At the first mark, then at most one per `cnp-interval` (DCQCN paper).
    FirstMark,
    /// At every marked packet, with its own mark (BECN of the InfiniBand specification).
    EachMark,
}

/// What of a flow with segments is spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Segments; the packets of one leave back to back (TIMELY paper §3, ns3-rdma).
    Burst,
    /// Every packet.
    Packet,
}

/// What windows count of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowCounts {
    /// All of it.
    Wire,
    /// Its payload.
    Payload,
}

impl CcSettings {
    /// A full packet as windows count it.
    pub(super) fn mss(&self, path: &PathFacts) -> u32 {
        match self.window_counts {
            WindowCounts::Wire => path.mtu.get() as u32,
            WindowCounts::Payload => path.payload.get() as u32,
        }
    }

    /// The notification point, if receivers send CNPs.
    pub fn notify(&self) -> Option<NotifyConfig> {
        let mode = match (self.wants().notifications, self.np) {
            (Notifications::None, _) => return None,
            (Notifications::Advice, _) => Mode::Advice,
            (Notifications::EachMark, _) | (_, Np::EachMark) => return Some(NotifyConfig::each_mark()),
            (Notifications::Chosen, Np::Grid) => Mode::Grid,
            (Notifications::Chosen, Np::FirstMark) => Mode::FirstMark,
        };
        let fraction = self.np_fraction.unwrap_or_default();
        Some(NotifyConfig { interval: self.cnp_interval.0, mode, fraction })
    }

    /// Keys of its own table with that in front.
    pub fn own_key(&self, key: &str) -> String {
        alloc::format!("{}.{key}", self.kind.word())
    }
}

/// Makes the table of the list of [`super::controller::reactions`].
macro_rules! settings {
    ($($(#[$doc:meta])* $kind:ident($($state:ident),*) = $word:literal, $field:ident: $params:ty;)*) => {
        crate::config::kinds! {
            /// The reaction point of flows under congestion control.
            CcKind;
            /// Always line rate.
            None = "none" reads crate::config::Reads::Only(&[]);
            $($(#[$doc])* $kind = $word reads crate::config::Reads::Only(<$params as Parameters>::SHARED);)*
        }

        impl CcKind {
            /// See [`Controller::WINDOW`].
            pub const fn has_window(self) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$kind => false $(|| <$state as Controller>::WINDOW)*,)*
                }
            }

            /// See [`Controller::TELEMETRY`].
            pub const fn wants_telemetry(self) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$kind => false $(|| <$state as Controller>::TELEMETRY)*,)*
                }
            }

            /// See [`Controller::NOTIFIED`]; a function of the user's decides by itself.
            pub const fn takes_cnps(self) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$kind => true $(&& <$state as Controller>::NOTIFIED)*,)*
                }
            }

            /// See [`Parameters::MARKS`].
            pub const fn listens_to_marks(self) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$kind => <$params as Parameters>::MARKS,)*
                }
            }
        }

        /// The reaction point: `kind` chooses, the table of that name has what it alone reads. What several kinds read stands here. Flows
        /// start at line rate.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        #[schemars(rename = "Cc", transform = crate::config::readers::<CcKind>)]
        pub struct CcSettings {
            /// The reaction point. pyrrha-ns3: none; authors, ideal, hpcc-ns3, conweave-ns3, isolation, roce: dcqcn; infiniband: ib-cc; endpoint: none (the rest
            /// as in ideal); hpc: none (the PFT paper has no other control; the rest as in isolation); edr, hdr, ndr, xdr: none (subnet
            /// managers leave congestion control off until they are told otherwise: manual page of OpenSM); slingshot-like: swift (an idealisation).
            pub kind: CcKind,
            /// Least rate. authors, ideal, infiniband, isolation, conweave-ns3, pyrrha-ns3: 100 Mbps (authors' release); hpcc-ns3: 1 Gbps
            /// (`run.py`); roce: 100 Mbps (a choice of ours: NICs go down to 1 Mbps, at which a packet of 4096 B takes 33 ms).
            #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
            pub min_rate: Quantity<Rate>,
            /// Least time between CNPs of a flow. 50 µs (DCQCN paper; authors' release).
            #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
            pub cnp_interval: Quantity<Span>,
            /// When the receiver sends CNPs. authors: grid; the other profiles: first-mark. ib-cc has one
            /// for every marked packet, pcn one for every period.
            pub np: Np,
            /// A slot is reported as congested only if at least this share of its packets carried CE; 0: one is enough.
            /// Default 0 (DCQCN paper), and 0.95 for pcn, and if the detector is np-ecn (NP-ECN, as the TCD paper describes it in §7).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(range(min = 0.0, max = 1.0))]
            pub np_fraction: Option<f64>,
            /// Size of a CNP on the wire. 64 B (least Ethernet frame).
            #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
            pub cnp_size: Quantity<Bytes>,
            /// Payload of a segment, in whole packets; one round-trip time is measured for each. 16 KB (TIMELY paper: 16 to
            /// 64 KB; ns3-rdma: 16 KB).
            #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
            pub segment: Quantity<Bytes>,
            /// What is spaced. burst (TIMELY paper, ns3-rdma).
            pub pacing: Pacing,
            /// What windows count of a packet. hpcc-ns3, conweave-ns3, pyrrha-ns3: payload (those simulators, as TCP); the other profiles: wire
            /// (ours: the papers do not say).
            pub window_counts: WindowCounts,
            $(
                #[doc = concat!("kind = ", $word, ": what it alone reads.")]
                #[serde(rename = $word)]
                pub $field: $params,
            )*
        }

        impl CcSettings {
            /// See [`Parameters::resolve`].
            pub fn resolve(&self, path: &dyn Fn() -> PathFacts) -> ReactionConfig {
                match self.kind {
                    CcKind::None => ReactionConfig::LineRate(()),
                    $(CcKind::$kind => self.$field.resolve(self, path),)*
                }
            }

            /// See [`Parameters::wants`].
            pub fn wants(&self) -> Wants {
                match self.kind {
                    CcKind::None => Wants::default(),
                    $(CcKind::$kind => self.$field.wants(),)*
                }
            }

            /// See [`Parameters::unread`].
            pub fn unread(&self) -> Unread {
                match self.kind {
                    CcKind::None => Unread::default(),
                    $(CcKind::$kind => self.$field.unread(),)*
                }
            }

            /// See [`Parameters::follows`].
            pub fn follows(&self) -> Option<&'static str> {
                match self.kind {
                    CcKind::None => None,
                    $(CcKind::$kind => self.$field.follows(),)*
                }
            }
        }
    };
}
pub(super) use settings;
