//! The structs of the eBPF maps, byte for byte those of `bpf/cubeyard.h`.
//!
//! A map's value is the bytes of one of these: `zerocopy::transmute!(value)` makes `[u8; size_of::<T>()]`, which a
//! loader passes to the kernel, and `T::read_from_bytes` reads what the kernel gives back. IPv4 addresses and ports
//! are bytes in network order, everything else is in the machine's.

use std::net::Ipv4Addr;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::address::Nha;
use crate::route::SourceRoute;

/// Flows that are remembered per server; the least recently used one is forgotten first.
pub const FLOWS: usize = 4096;
/// Destinations with a default path per server.
pub const ROUTES: usize = 8192;
/// Ports of a server that the fast path knows apart.
pub const PORTS: usize = 8;
/// Bytes of the ring of events.
pub const EVENT_BYTES: usize = 65_536;
/// Flag of [`Config`]: the server is a gateway, and carries packets of addresses outside the virtual network.
pub const GATEWAY: u16 = 1;
/// Kind of [`Event`]: a five-tuple that was not seen before.
pub const EVENT_NEW_FLOW: u32 = 1;
/// Kind of [`Event`]: a packet was dropped because its next hop is down.
pub const EVENT_NEXT_HOP_DEAD: u32 = 2;
/// Time between events of one kind, in the long run.
pub const EVENT_GAP_NANOS: u64 = 1_000_000;
/// Events of one kind that may come at once after silence.
pub const EVENT_BURST: u64 = 256;
/// Key of the route to everywhere that has no route of its own: to a gateway [bcube §5.3].
pub const DEFAULT_ROUTE: [u8; 4] = [0; 4];

/// What one server is: the one entry of `config`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Config {
    /// The server's virtual address.
    pub ip: [u8; 4],
    /// Interface index of the virtual NIC, in the server's namespace.
    pub vnic_ifindex: u32,
    /// Hardware address of the virtual NIC.
    pub vnic_mac: [u8; 6],
    /// [`GATEWAY`] or 0.
    pub flags: u16,
    /// MTU of the ports, in bytes.
    pub mtu: u32,
}

/// An entry of the neighbour status table `nst`, indexed by NHA [bcube §7.2].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct NextHop {
    /// Interface index of the port towards the neighbour (OutPort); 0: no such neighbour.
    pub ifindex: u32,
    /// Hardware address of the neighbour's port (NeighborMAC).
    pub next_mac: [u8; 6],
    /// Hardware address of our port.
    pub own_mac: [u8; 6],
    /// 1 while the neighbour is alive (StatusFlag).
    pub up: u8,
    /// Number of the port, below [`PORTS`].
    pub port: u8,
    /// Zero.
    pub reserved: [u8; 2],
}

/// A five-tuple: key of `flows` and `flow_counts`.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
)]
#[repr(C)]
pub struct Flow {
    /// Source address.
    pub src: [u8; 4],
    /// Destination address.
    pub dst: [u8; 4],
    /// Source port, in network order; 0 where the protocol has none and in fragments.
    pub sport: [u8; 2],
    /// Destination port, in network order; 0 where the protocol has none and in fragments.
    pub dport: [u8; 2],
    /// IP protocol.
    pub proto: u8,
    /// Zero.
    pub reserved: [u8; 3],
}

impl Flow {
    /// The flow of a five-tuple; ports are 0 where the protocol has none.
    pub fn new(src: Ipv4Addr, dst: Ipv4Addr, proto: u8, sport: u16, dport: u16) -> Flow {
        Flow {
            src: src.octets(),
            dst: dst.octets(),
            sport: sport.to_be_bytes(),
            dport: dport.to_be_bytes(),
            proto,
            reserved: [0; 3],
        }
    }

    /// Source port.
    pub fn source_port(&self) -> u16 {
        u16::from_be_bytes(self.sport)
    }

    /// Destination port.
    pub fn destination_port(&self) -> u16 {
        u16::from_be_bytes(self.dport)
    }
}

/// A source route: value of `flows` and `routes`. Only user space writes either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Path {
    /// Virtual address of the server at its end: of a gateway, where the destination is outside.
    pub dst: [u8; 4],
    /// Number of the path, chosen by the source.
    pub id: u32,
    /// Hops.
    pub count: u8,
    /// Zero.
    pub reserved: [u8; 7],
    /// The hops' NHAs; zero past `count`.
    pub nha: [u8; SourceRoute::MAX_HOPS],
}

impl Path {
    /// The path of number `id` along `route` to the server of virtual address `dst`.
    pub fn new(dst: Ipv4Addr, id: u32, route: &SourceRoute) -> Path {
        let mut nha = [0; SourceRoute::MAX_HOPS];
        for (byte, hop) in nha.iter_mut().zip(route.hops()) {
            *byte = hop.0;
        }
        Path {
            dst: dst.octets(),
            id,
            count: route.hops().len() as u8,
            reserved: [0; 7],
            nha,
        }
    }

    /// The hops. `None` where `count` is out of bounds.
    pub fn route(&self) -> Option<SourceRoute> {
        let hops = self.nha.get(..usize::from(self.count))?;
        SourceRoute::new(hops.iter().map(|&byte| Nha(byte)))
    }
}

/// What a flow has sent: value of `flow_counts`. Only the fast path writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct FlowCount {
    /// Packets; a super-packet counts as the packets in it.
    pub packets: u64,
    /// Bytes of the packets without the BCube header.
    pub bytes: u64,
    /// 1 when user space has been told of the flow; deleting the entry has it told again.
    pub announced: u32,
    /// Path of the latest packet.
    pub path_id: u32,
}

/// What a server has carried: the one entry of `traffic` on each CPU. Bytes are without the BCube header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Traffic {
    /// Packets sent by the server's own applications.
    pub own_packets: u64,
    /// Their bytes.
    pub own_bytes: u64,
    /// Packets relayed for others.
    pub relayed_packets: u64,
    /// Their bytes.
    pub relayed_bytes: u64,
    /// Packets delivered to the server's applications.
    pub delivered_packets: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Events that were not sent to user space: too many at a time, or nobody read them.
    pub events_suppressed: u64,
    /// Packets sent out of each port, own and relayed; those that its queue then drops are among them.
    pub sent_packets: [u64; PORTS],
}

/// A record of the ring `events`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Event {
    /// When, on CLOCK_MONOTONIC.
    pub at_nanos: u64,
    /// [`EVENT_NEW_FLOW`] or [`EVENT_NEXT_HOP_DEAD`].
    pub kind: u32,
    /// Path of the packet; 0 where it had none.
    pub path_id: u32,
    /// Virtual address of the server at the path's start; of a new flow, its source address.
    pub src: [u8; 4],
    /// Virtual address of the server at the path's end; of a new flow, its destination address.
    pub dst: [u8; 4],
    /// The packet's five-tuple.
    pub flow: Flow,
    /// NHA of the dead next hop.
    pub nha: u32,
    /// Zero.
    pub reserved: u32,
}
