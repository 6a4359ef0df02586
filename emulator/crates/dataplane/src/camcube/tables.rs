//! CamCube's forwarding tables, byte for byte the maps of `bpf/camcube/camcube.h`.
//!
//! IPv4 addresses are in network byte order, everything else in the machine's.

use cubeyard_topology::NodeId;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::structure::Structure;
use crate::address::{port_mac, vnic_mac};
use crate::configuration::{Configuration, NeighbourAddress, Port};
use crate::tables::{TableKind, TableSchema, TableUpdate, Writer};

/// Maximum number of servers of a torus.
pub const SERVERS: usize = 1024;
/// Maximum number of ports of a server: two per axis.
pub const PORTS: usize = 6;
/// Value in [`Way::onward`] for no port.
pub const NO_PORT: u8 = 255;
/// Flag of [`Config`]: unmodified applications' packets take the TCP/IP service's disjoint paths.
pub const DISJOINT_PATHS: u16 = 1;

/// Name of the table that describes the server: one [`Config`].
pub const CONFIG: &str = "config";
/// Name of the neighbour status table: [`NextHop`] by port.
pub const NST: &str = "nst";
/// Name of the table of paths: [`Way`] by the key's home server.
pub const WAYS: &str = "ways";
/// Name of the table of sent data per flow: see [`TableSchema::of_flow_counts`].
pub const FLOW_COUNTS: &str = "flow_counts";

/// The schemas of all tables. The virtual clocks of ports and the packet counts of keys are
/// internal to the forwarding.
pub const SCHEMAS: &[TableSchema] = &[
    TableSchema::of_server(CONFIG, size_of::<Config>()),
    TableSchema {
        name: NST,
        kind: TableKind::Array,
        key_bytes: 4,
        value_bytes: size_of::<NextHop>(),
        entries: PORTS,
        writer: Writer::Protocol,
    },
    TableSchema {
        name: WAYS,
        kind: TableKind::Array,
        key_bytes: 4,
        value_bytes: size_of::<Way>(),
        entries: SERVERS,
        writer: Writer::Protocol,
    },
    TableSchema::of_flow_counts(FLOW_COUNTS),
];

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
    /// [`DISJOINT_PATHS`], or 0.
    pub flags: u16,
    /// MTU of the ports, in bytes.
    pub mtu: u32,
    /// Number of servers along each axis.
    pub sizes: [u32; 3],
    /// Time of a link per byte, in picoseconds.
    pub picos_per_byte: u32,
}

/// An entry of the neighbour status table `nst`, indexed by port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct NextHop {
    /// Interface index of the port; 0 for a missing port.
    pub ifindex: u32,
    /// Hardware address of the neighbour's port.
    pub next_mac: [u8; 6],
    /// Hardware address of our port.
    pub own_mac: [u8; 6],
    /// 1 while the neighbour is alive.
    pub up: u8,
    /// Reserved, always zero.
    pub reserved: [u8; 3],
}

/// The next hops of packets from this server to a key: an entry of `ways`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Way {
    /// Bit mask of ports on shortest live paths; 0 if the server is dead or unreachable.
    pub shortest: u8,
    /// Bit mask of ports by which live disjoint paths leave this server as their source.
    pub disjoint: u8,
    /// Indexed by port of arrival: the port by which a packet on a disjoint path leaves, or
    /// [`NO_PORT`].
    pub onward: [u8; PORTS],
}

impl Default for Way {
    /// The entry without any path.
    fn default() -> Way {
        Way {
            shortest: 0,
            disjoint: 0,
            onward: [NO_PORT; PORTS],
        }
    }
}

impl Config {
    /// The entry for a server's configuration; `disjoint` applies to the packets of its
    /// applications.
    pub fn of(configuration: &Configuration, structure: &Structure, disjoint: bool) -> Config {
        Config {
            ip: configuration.ip().octets(),
            vnic_ifindex: configuration.virtual_nic,
            vnic_mac: vnic_mac(configuration.server),
            flags: if disjoint { DISJOINT_PATHS } else { 0 },
            mtu: configuration.mtu,
            sizes: structure.shape().sizes(),
            // The cast saturates, so a link slower than 2 kb/s counts as one of 2 kb/s.
            picos_per_byte: (8e12 / configuration.rate_bits_per_sec) as u32,
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
            reserved: [0; 3],
        }
    }

    /// The update that writes the entry of a port.
    pub fn update(&self, port: u8) -> TableUpdate {
        TableUpdate::set(NST, &u32::from(port).to_ne_bytes(), self.as_bytes())
    }
}

impl Way {
    /// The update that writes the entry of a key's home server.
    pub fn update(&self, home: NodeId) -> TableUpdate {
        TableUpdate::set(WAYS, &home.to_ne_bytes(), self.as_bytes())
    }
}
