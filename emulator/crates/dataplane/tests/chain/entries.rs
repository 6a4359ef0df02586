//! The contents of each protocol's tables at a server of a chain: the server, its neighbours, and
//! all servers beyond them.

use cubeyard_dataplane::address::{port_mac, virtual_ip, vnic_mac};
use cubeyard_dataplane::bcube::nha::Nha;
use cubeyard_dataplane::bcube::route::SourceRoute;
use cubeyard_dataplane::tables::TableUpdate;
use cubeyard_dataplane::{bcube, camcube, dcell};

use super::{BACK, ON};

/// Local reroutes of a new DCell packet, as in the paper.
const RETRIES: u8 = 5;
/// The time per byte at 100 Gb/s, so fast that the clock of a CamCube port is never late.
const PICOS_PER_BYTE: u32 = 80;

/// A server's position in a chain, with its interfaces.
pub struct Place {
    pub own: u32,
    pub servers: u32,
    pub mtu: u32,
    pub vnic_ifindex: u32,
    /// By port, [`BACK`] and [`ON`]; `None` at the ends of the chain.
    pub ifindices: [Option<u32>; 2],
}

/// A cable of a server, at one of its ports.
struct Cable {
    port: u8,
    ifindex: u32,
    next_mac: [u8; 6],
    own_mac: [u8; 6],
}

impl Place {
    fn cables(&self) -> impl Iterator<Item = Cable> {
        [BACK, ON].into_iter().filter_map(|port| {
            let (neighbour, far_port) = if port == ON {
                (self.own + 1, BACK)
            } else {
                (self.own.checked_sub(1)?, ON)
            };
            Some(Cable {
                port,
                ifindex: self.ifindices[usize::from(port)]?,
                next_mac: port_mac(neighbour, far_port),
                own_mac: port_mac(self.own, port),
            })
        })
    }

    /// All other servers, each with the port towards it and the number of hops.
    fn others(&self) -> impl Iterator<Item = (u32, u8, u32)> {
        let own = self.own;
        let others = (0..self.servers).filter(move |&other| other != own);
        others.map(move |other| (other, if other > own { ON } else { BACK }, other.abs_diff(own)))
    }

    pub fn bcube(&self) -> Vec<TableUpdate> {
        use bcube::tables::{Config, Path};
        let config = Config {
            ip: virtual_ip(self.own).unwrap().octets(),
            vnic_ifindex: self.vnic_ifindex,
            vnic_mac: vnic_mac(self.own),
            flags: 0,
            mtu: self.mtu,
        };
        let hops = self.bcube_hops().map(|(nha, hop)| hop.update(nha));
        let paths = self.others().map(|(other, port, hops)| {
            let route = SourceRoute::new((0..hops).map(|_| nha(port))).unwrap();
            let to = virtual_ip(other).unwrap();
            Path::new(to, other, &route).to(to.octets())
        });
        [config.update()].into_iter().chain(hops).chain(paths).collect()
    }

    /// The entries of the neighbours, which are all alive.
    pub fn bcube_hops(&self) -> impl Iterator<Item = (Nha, bcube::tables::NextHop)> {
        self.cables().map(|cable| {
            let hop = bcube::tables::NextHop {
                ifindex: cable.ifindex,
                next_mac: cable.next_mac,
                own_mac: cable.own_mac,
                up: 1,
                port: cable.port,
                ..Default::default()
            };
            (nha(cable.port), hop)
        })
    }

    pub fn dcell(&self) -> Vec<TableUpdate> {
        use dcell::tables::{Config, HAS_HOP, NextHop, Route};
        let config = Config {
            ip: virtual_ip(self.own).unwrap().octets(),
            vnic_ifindex: self.vnic_ifindex,
            vnic_mac: vnic_mac(self.own),
            cell: 1,
            mtu: self.mtu,
            server: self.own,
            retries: RETRIES,
            reserved: [0; 3],
        };
        let hops = self.cables().map(|cable| {
            let hop = NextHop {
                ifindex: cable.ifindex,
                next_mac: cable.next_mac,
                own_mac: cable.own_mac,
                up: 1,
                port: cable.port,
                reserved: [0; 2],
            };
            hop.update(cable.port)
        });
        let routes = self.others().map(|(other, port, _)| {
            let route = Route {
                hop: port,
                flags: HAS_HOP,
                ..Default::default()
            };
            route.update(other)
        });
        [config.update()].into_iter().chain(hops).chain(routes).collect()
    }

    /// Entries for a torus with a single row, whose packets take the disjoint paths of the TCP/IP
    /// service.
    pub fn camcube(&self) -> Vec<TableUpdate> {
        use camcube::tables::{Config, DISJOINT_PATHS, NO_PORT, NextHop, PORTS, Way};
        let config = Config {
            ip: virtual_ip(self.own).unwrap().octets(),
            vnic_ifindex: self.vnic_ifindex,
            vnic_mac: vnic_mac(self.own),
            flags: DISJOINT_PATHS,
            mtu: self.mtu,
            sizes: [self.servers, 1, 1],
            picos_per_byte: PICOS_PER_BYTE,
        };
        let hops = self.cables().map(|cable| {
            let hop = NextHop {
                ifindex: cable.ifindex,
                next_mac: cable.next_mac,
                own_mac: cable.own_mac,
                up: 1,
                reserved: [0; 3],
            };
            hop.update(cable.port)
        });
        let ways = self.others().map(|(other, port, _)| {
            let mut onward = [NO_PORT; PORTS];
            onward[usize::from(if port == ON { BACK } else { ON })] = port;
            let way = Way {
                shortest: 1 << port,
                disjoint: 1 << port,
                onward,
            };
            way.update(other)
        });
        [config.update()].into_iter().chain(hops).chain(ways).collect()
    }
}

/// In a chain every server has the same two neighbours: one on each level.
fn nha(port: u8) -> Nha {
    if port == ON {
        nha_on()
    } else {
        Nha::new(BACK.into(), 0).unwrap()
    }
}

/// The next-hop byte of the next server.
pub fn nha_on() -> Nha {
    Nha::new(ON.into(), 1).unwrap()
}
