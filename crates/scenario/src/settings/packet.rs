//! `[packet]` and `[ack]`
use backwater_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// Data packets: a flow is cut into packets of `payload`, the last one shorter; each has `header` more on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Packet {
    /// Data bytes of a full packet. authors, ideal, hpcc-ns3, conweave-ns3, pyrrha-ns3: 1000 B (TCD paper §5.1; `PACKET_PAYLOAD_SIZE` of the HPCC
    /// simulator); infiniband: 2048 B (TCD authors' flit-level model); isolation: 4 KiB (ICI paper, section 4.1);
    /// endpoint: 2 KiB (EC paper, Fig. 3; 512 B to 8 KB in the others);
    /// roce: 4096 B (the largest path MTU; with an interface MTU of 1500 B it is 1024 B);
    /// hpc: 2 KiB (reconstructed: the PFT paper does not say; the thresholds of its best setting are then four and a half and five packets);
    /// edr, hdr, ndr, xdr: 4096 B (the largest MTU of the InfiniBand specification); slingshot-like: 4096 B (as roce).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "65000B"))]
    pub payload: Quantity<Bytes>,
    /// Bytes added to every data packet on the wire. authors: 20 B (packets of 1020 B in the authors' release); ideal: 0 B (the
    /// paper's max(Ton) counts 1000 B packets without headers); pyrrha-ns3: 76 B (there);
    /// hpcc-ns3, conweave-ns3: 48 B (14 Ethernet, 20 IP, 8 UDP, 6 sequence number and
    /// priority); infiniband: 0 B (the flit-level model's packets have 2048 B in all); isolation: 0 B (packets of 4 KB in all,
    /// ICI paper, section 4.1); endpoint: 64 B (EC paper, section IV-B); hpc: 32 B, two flits (reconstructed: the PFT paper does
    /// not say); roce, slingshot-like: 62 B (14 Ethernet, 20 IPv4, 8 UDP, 12 BTH, 4 ICRC, 4 FCS); edr, hdr, ndr, xdr: 26 B (8 local route
    /// header, 12 BTH, 4 ICRC, 2 VCRC).
    #[schemars(extend("x-maximum" = "500B"))]
    pub header: Quantity<Bytes>,
    /// Whether every data packet is `payload` + `header` on the wire, also the last one of a flow. isolation: true (ICI paper,
    /// section 4.1: packets of a fixed size); the other profiles: false.
    pub padded: bool,
}

/// Acknowledgements of queue pairs (transport = roce).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Ack {
    /// One ACK per this many data packets, and one for the last packet of a flow; 0: none. authors, ideal, infiniband, isolation,
    /// endpoint, hpc, edr, hdr, ndr, xdr, slingshot-like: 0 (ACKs have no effect there; PUTs have those of `[put.ack]`); hpcc-ns3,
    /// conweave-ns3, pyrrha-ns3, roce: 1 (what `L2_ACK_INTERVAL` of
    /// the HPCC simulator effectively does). TIMELY flows have one per segment, flows with a window (dctcp, swift, hpcc) one per
    /// packet.
    #[schemars(range(max = 1_000_000))]
    pub every: u32,
    /// Size on the wire. pyrrha-ns3: 84 B (that simulator); hpcc-ns3, conweave-ns3: 60 B (those simulators' minimum); else 64 B (least Ethernet frame).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub size: Quantity<Bytes>,
    /// Priority of ACKs; without it that of the data they acknowledge, as in the HPCC simulator's switches. pyrrha-ns3: 3, that of data
    /// (`SWITCH_ACK_HIGH_PRIO 0`); conweave-ns3: 7, the control
    /// priority. For TIMELY, which
    /// wants ACKs undelayed (TIMELY paper §3), and for windows, which wait for them, it is the control priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub priority: Option<u8>,
}
