//! DCell's forwarding tables, byte for byte the maps of `bpf/dcell/dcell.h`, and the records that
//! forwardings write for the protocol.
//!
//! IPv4 addresses and ports are in network byte order, everything else in the machine's.

use cubeyard_topology::NodeId;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::header::Rerouting;
use crate::address::{port_mac, vnic_mac};
use crate::configuration::{Configuration, NeighbourAddress, Port};
use crate::drops::DropReason;
use crate::flow::Flow;
use crate::tables::{TableKind, TableSchema, TableUpdate, Writer};

/// Name of the table that describes the server: one [`Config`].
pub const CONFIG: &str = "config";
/// Name of the neighbour status table: [`NextHop`] by hop, which is the neighbour's index in the
/// configuration.
pub const NST: &str = "nst";
/// Name of the forwarding table: [`Route`] by the destination's id `[dcell §7.2]`.
pub const FIB: &str = "fib";
/// Name of the table of sent data per flow: see [`TableSchema::of_flow_counts`].
pub const FLOW_COUNTS: &str = "flow_counts";
/// Maximum number of neighbours of a server.
pub const HOPS: usize = 256;
/// Maximum number of destinations in the forwarding table, equal to the most servers of a run.
pub const DESTINATIONS: usize = 1024;

/// The schemas of all tables.
pub const SCHEMAS: &[TableSchema] = &[
    TableSchema::of_server(CONFIG, size_of::<Config>()),
    TableSchema {
        name: NST,
        kind: TableKind::Array,
        key_bytes: 4,
        value_bytes: size_of::<NextHop>(),
        entries: HOPS,
        writer: Writer::Protocol,
    },
    TableSchema {
        name: FIB,
        kind: TableKind::Hash,
        key_bytes: 4,
        value_bytes: size_of::<Route>(),
        entries: DESTINATIONS,
        writer: Writer::Protocol,
    },
    TableSchema::of_flow_counts(FLOW_COUNTS),
];

/// Flag of [`Route`]: the hop exists.
pub const HAS_HOP: u8 = 1;
/// Flag of [`Route`]: the first alternative exists. The second alternative's flag is twice this.
pub const HAS_ALTERNATIVE: u8 = 2;
/// All flags of [`Route`] together.
pub const ALL_FLAGS: u8 = 7;
/// Kind of [`Notice`]: a packet of a new flow.
pub const NEW_FLOW: u32 = 1;
/// Kind of [`Notice`]: a packet was rerouted to a proxy.
pub const REROUTED: u32 = 2;

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
    /// 1 + the index of the server's DCell_b.
    pub cell: u16,
    /// MTU of the ports, in bytes.
    pub mtu: u32,
    /// The id of the server.
    pub server: u32,
    /// Number of local reroutes allowed for a new packet.
    pub retries: u8,
    /// Reserved, always zero.
    pub reserved: [u8; 3],
}

/// An entry of the neighbour status table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct NextHop {
    /// Interface index of the port towards the neighbour; 0: no such neighbour.
    pub ifindex: u32,
    /// Hardware address of the neighbour's port.
    pub next_mac: [u8; 6],
    /// Hardware address of our port.
    pub own_mac: [u8; 6],
    /// 1 while the neighbour is alive.
    pub up: u8,
    /// Number of the port, below [`crate::counts::PORTS`].
    pub port: u8,
    /// Reserved, always zero.
    pub reserved: [u8; 2],
}

/// The next hop of packets to a destination. An alternative is used if there is no hop or it is
/// down. The second one is used if the first leads to the DCell_b that last rerouted the packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Route {
    /// The hop to take.
    pub hop: u8,
    /// Flags: [`HAS_HOP`] and [`HAS_ALTERNATIVE`].
    pub flags: u8,
    /// The hops towards the alternatives' proxies.
    pub alternative_hops: [u8; 2],
    /// 1 + the index of the DCell_b to which an alternative leads; 0 if it stays in this DCell_b.
    pub alternative_cells: [u16; 2],
    /// The proxies of the alternatives.
    pub proxies: [u32; 2],
}

/// A record of the ring `events`, for the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Notice {
    /// The time of the event on CLOCK_MONOTONIC.
    pub at_nanos: u64,
    /// The kind of notice: [`NEW_FLOW`] or [`REROUTED`].
    pub kind: u32,
    /// The proxy of the rerouted packet.
    pub proxy: u32,
    /// The packet's five-tuple; the ports are 0 if a relay rerouted it.
    pub flow: Flow,
}

/// A chosen hop, with the packet's header fields after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The hop to take.
    pub hop: u8,
    /// The rerouting fields of the header.
    pub rerouting: Rerouting,
    /// Whether this server rerouted the packet.
    pub rerouted: bool,
}

impl Route {
    /// The alternative 0 or 1, if it exists.
    pub fn alternative(&self, place: usize) -> Option<(u8, NodeId)> {
        let there = self.flags & (HAS_ALTERNATIVE << place) != 0;
        there.then(|| (self.alternative_hops[place], self.proxies[place]))
    }

    /// Chooses the next hop of a packet at a server of `cell`: the route's hop, or else the hop to
    /// an alternative's proxy. `[dcell §4.3]`
    ///
    /// Errors: [`DropReason::NoPath`] if the table has no path, [`DropReason::RetriesUsed`], and
    /// [`DropReason::NextHopDead`] if all known hops are down.
    pub fn choose(
        &self,
        rerouting: Rerouting,
        cell: u16,
        is_up: impl Fn(u8) -> bool,
    ) -> Result<Choice, DropReason> {
        let has_hop = self.flags & HAS_HOP != 0;
        if has_hop && is_up(self.hop) {
            return Ok(Choice {
                hop: self.hop,
                rerouting,
                rerouted: false,
            });
        }
        let returns = rerouting.rerouted_in != 0 && self.alternative_cells[0] == rerouting.rerouted_in;
        let second = self.alternative(1).filter(|_| returns);
        let Some((hop, proxy)) = second.or(self.alternative(0)) else {
            return Err(if has_hop {
                DropReason::NextHopDead
            } else {
                DropReason::NoPath
            });
        };
        if rerouting.retries == 0 {
            return Err(DropReason::RetriesUsed);
        }
        if !is_up(hop) {
            return Err(DropReason::NextHopDead);
        }
        Ok(Choice {
            hop,
            rerouting: Rerouting {
                retries: rerouting.retries - 1,
                proxy: Some(proxy),
                rerouted_in: cell,
            },
            rerouted: true,
        })
    }

    /// The update that makes this the route to a destination.
    pub fn update(&self, destination: NodeId) -> TableUpdate {
        TableUpdate::set(FIB, &destination.to_ne_bytes(), self.as_bytes())
    }
}

/// The update that removes the route to a destination.
pub fn forget_route(destination: NodeId) -> TableUpdate {
    TableUpdate::remove(FIB, &destination.to_ne_bytes())
}

/// The update that removes a flow's counters, so that its next packet counts as that of a new flow.
pub fn forget_flow(flow: &Flow) -> TableUpdate {
    TableUpdate::remove(FLOW_COUNTS, flow.as_bytes())
}

impl Config {
    /// The entry for a server of the DCell_b `cell` (1 + its index).
    pub fn of(configuration: &Configuration, cell: u16, retries: u8) -> Config {
        Config {
            ip: configuration.ip().octets(),
            vnic_ifindex: configuration.virtual_nic,
            vnic_mac: vnic_mac(configuration.server),
            cell,
            mtu: configuration.mtu,
            server: configuration.server,
            retries,
            reserved: [0; 3],
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
    pub fn update(&self, hop: u8) -> TableUpdate {
        TableUpdate::set(NST, &u32::from(hop).to_ne_bytes(), self.as_bytes())
    }
}
