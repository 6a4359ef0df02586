//! Counters of a server's traffic, the same for every forwarding: the maps `traffic` and
//! `flow_counts` in the kernel.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Number of ports of a server with separate counters.
pub const PORTS: usize = 8;
/// Maximum number of flows with counters per server; the least recently used one is removed first.
pub const FLOWS: usize = 4096;

/// The data that a flow has sent: value of `flow_counts`, byte for byte `struct cy_flow_count`.
/// Only the forwarding writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct FlowCount {
    /// Number of packets; each segment of a super-packet counts.
    pub packets: u64,
    /// Bytes of the packets without the protocol's header.
    pub bytes: u64,
    /// 1 once user space has been notified of the flow. After the entry is removed, the next packet
    /// causes another notice.
    pub announced: u32,
    /// Path of the latest packet; 0 where paths have no numbers.
    pub path_id: u32,
}

/// The traffic of a server: the only entry of `traffic` on each CPU, byte for byte
/// `struct cy_traffic`. Bytes exclude the protocol's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Traffic {
    /// Packets sent by the server's own applications.
    pub own_packets: u64,
    /// Bytes of these packets.
    pub own_bytes: u64,
    /// Packets relayed for other servers.
    pub relayed_packets: u64,
    /// Bytes of these packets.
    pub relayed_bytes: u64,
    /// Packets delivered to the server's applications.
    pub delivered_packets: u64,
    /// Bytes of these packets.
    pub delivered_bytes: u64,
    /// Notices that user space missed because of the rate limit or a full ring.
    pub notices_suppressed: u64,
    /// Packets sent by each port, own and relayed, including packets that its queue drops.
    pub sent_packets: [u64; PORTS],
}
