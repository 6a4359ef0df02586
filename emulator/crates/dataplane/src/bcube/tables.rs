//! BCube's forwarding tables, byte for byte the maps of `bpf/bcube/bcube.h`, and the records that
//! forwardings write for the protocol.
//!
//! IPv4 addresses and ports are in network byte order, everything else in the machine's.

use std::net::Ipv4Addr;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::nha::Nha;
use super::route::{NumberedPath, SourceRoute};
use crate::address::{port_mac, vnic_mac};
use crate::configuration::{Configuration, NeighbourAddress, Port};
use crate::counts::FLOWS;
use crate::flow::Flow;
use crate::tables::{TableKind, TableSchema, TableUpdate, Writer};

/// Maximum number of destinations with a default path per server.
pub const ROUTES: usize = 8192;
/// Name of the table that describes the server: one [`Config`].
pub const CONFIG: &str = "config";
/// Name of the neighbour status table: [`NextHop`] by [`Nha`] `[bcube §7.2]`.
pub const NST: &str = "nst";
/// Name of the table of flows' own paths: [`Path`] by [`Flow`].
pub const FLOW_PATHS: &str = "flows";
/// Name of the table of default paths: [`Path`] by virtual address.
pub const DEFAULT_PATHS: &str = "routes";
/// Name of the table of sent data per flow: see [`TableSchema::of_flow_counts`].
pub const FLOW_COUNTS: &str = "flow_counts";

/// The schemas of all tables.
pub const SCHEMAS: &[TableSchema] = &[
    TableSchema::of_server(CONFIG, size_of::<Config>()),
    TableSchema {
        name: NST,
        kind: TableKind::Array,
        key_bytes: 4,
        value_bytes: size_of::<NextHop>(),
        entries: Nha::VALUES,
        writer: Writer::Protocol,
    },
    TableSchema {
        name: FLOW_PATHS,
        kind: TableKind::LruHash,
        key_bytes: size_of::<Flow>(),
        value_bytes: size_of::<Path>(),
        entries: FLOWS,
        writer: Writer::Protocol,
    },
    TableSchema {
        name: DEFAULT_PATHS,
        kind: TableKind::Hash,
        key_bytes: 4,
        value_bytes: size_of::<Path>(),
        entries: ROUTES,
        writer: Writer::Protocol,
    },
    TableSchema::of_flow_counts(FLOW_COUNTS),
];

/// Flag of [`Config`]: the server is a gateway, and carries packets of addresses outside the
/// virtual network.
pub const GATEWAY: u16 = 1;
/// Kind of [`Notice`]: a packet of a new flow.
pub const NEW_FLOW: u32 = 1;
/// Kind of [`Notice`]: a packet was dropped because its next hop is down.
pub const NEXT_HOP_DEAD: u32 = 2;
/// Key of the default path to all external addresses, through a gateway [bcube §5.3].
pub const OUTSIDE: [u8; 4] = [0; 4];

/// The description of a server: the one entry of `config`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Config {
    /// The server's virtual address.
    pub ip: [u8; 4],
    /// Interface index of the virtual NIC, in the server's namespace.
    pub vnic_ifindex: u32,
    /// Hardware address of the virtual NIC.
    pub vnic_mac: [u8; 6],
    /// [`GATEWAY`], or 0.
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
    /// Number of the port, below [`crate::counts::PORTS`].
    pub port: u8,
    /// Reserved, always zero.
    pub reserved: [u8; 2],
}

/// A source route: value of `flows` and `routes`. Only user space writes either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Path {
    /// Virtual address of the server at the path's end; for an external destination, the gateway.
    pub dst: [u8; 4],
    /// Number of the path, chosen by the source.
    pub id: u32,
    /// Number of hops.
    pub count: u8,
    /// Reserved, always zero.
    pub reserved: [u8; 7],
    /// The hops' NHAs; zero past `count`.
    pub nha: [u8; SourceRoute::MAX_HOPS],
}

impl Path {
    /// The path `route` with number `id` to the server with virtual address `dst`.
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

    /// The route; `None` if `count` is out of bounds.
    pub fn route(&self) -> Option<SourceRoute> {
        let hops = self.nha.get(..usize::from(self.count))?;
        SourceRoute::new(hops.iter().map(|&byte| Nha(byte)))
    }
}

/// A record of the ring `events`, for the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Notice {
    /// The time of the event on CLOCK_MONOTONIC.
    pub at_nanos: u64,
    /// The kind of notice: [`NEW_FLOW`] or [`NEXT_HOP_DEAD`].
    pub kind: u32,
    /// Path of the packet; 0 if it had none.
    pub path_id: u32,
    /// Virtual address of the server at the path's start; for a new flow, its source address.
    pub src: [u8; 4],
    /// Virtual address of the server at the path's end; for a new flow, its destination address.
    pub dst: [u8; 4],
    /// The five-tuple of the packet.
    pub flow: Flow,
    /// NHA of the dead next hop.
    pub nha: u32,
    /// Reserved, always zero.
    pub reserved: u32,
}

impl Notice {
    /// The record of a new flow.
    pub fn new_flow(flow: Flow) -> Notice {
        Notice {
            kind: NEW_FLOW,
            src: flow.src,
            dst: flow.dst,
            flow,
            ..Notice::default()
        }
    }
}

impl Config {
    /// The entry for a server's configuration.
    pub fn of(configuration: &Configuration) -> Config {
        Config {
            ip: configuration.ip().octets(),
            vnic_ifindex: configuration.virtual_nic,
            vnic_mac: vnic_mac(configuration.server),
            flags: if configuration.is_gateway() { GATEWAY } else { 0 },
            mtu: configuration.mtu,
        }
    }

    /// The update that writes this entry.
    pub fn update(&self) -> TableUpdate {
        TableUpdate::set(CONFIG, &0u32.to_ne_bytes(), self.as_bytes())
    }
}

impl NextHop {
    /// The entry of a neighbour, which counts as alive.
    pub fn to(configuration: &Configuration, port: &Port, neighbour: &NeighbourAddress) -> NextHop {
        NextHop {
            ifindex: port.interface,
            next_mac: neighbour.mac(),
            own_mac: port_mac(configuration.server, port.port),
            up: 1,
            port: port.port,
            reserved: [0; 2],
        }
    }

    /// The update that writes this entry.
    pub fn update(&self, nha: Nha) -> TableUpdate {
        TableUpdate::set(NST, &u32::from(nha.0).to_ne_bytes(), self.as_bytes())
    }
}

impl Path {
    /// The update that makes this the path of a flow.
    pub fn of_flow(&self, flow: &Flow) -> TableUpdate {
        TableUpdate::set(FLOW_PATHS, flow.as_bytes(), self.as_bytes())
    }

    /// The update that makes this the default path to a virtual address, or to [`OUTSIDE`].
    pub fn to(&self, destination: [u8; 4]) -> TableUpdate {
        TableUpdate::set(DEFAULT_PATHS, &destination, self.as_bytes())
    }
}

/// A numbered path in the format of the table.
pub fn path(end: Ipv4Addr, path: &NumberedPath) -> Path {
    Path::new(end, path.id, &path.route)
}

/// The updates that remove a flow, so that its next packet counts as that of a new flow.
pub fn forget(flow: &Flow) -> [TableUpdate; 2] {
    [FLOW_PATHS, FLOW_COUNTS].map(|table| TableUpdate::remove(table, flow.as_bytes()))
}
