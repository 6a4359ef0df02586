//! Reads `vectors/camcube/forwarding.json`: servers, and frames with their expected results.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cubeyard_dataplane::camcube::forwarding::SoftwareForwarding;
use cubeyard_dataplane::camcube::tables::{Config, DISJOINT_PATHS, NextHop, PORTS, Way};
use cubeyard_dataplane::forwarding::Forwarding;
use cubeyard_dataplane::tables::TableUpdate;
use serde::Deserialize;

use crate::forwarding_vectors::{Entrance, Leaves, Verdict, bytes, in_user_space, mac};

/// The result of a frame, in the same form for all forwardings. The frame is empty if none was
/// sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub verdict: Verdict,
    pub frame: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vectors {
    pub servers: BTreeMap<String, Server>,
    pub cases: Vec<Case>,
}

impl Vectors {
    pub fn read() -> Vectors {
        serde_json::from_str(include_str!("../../vectors/camcube/forwarding.json"))
            .expect("forwarding.json is well formed")
    }
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    ip: Ipv4Addr,
    vnic_ifindex: u32,
    vnic_mac: String,
    mtu: u32,
    disjoint_paths: bool,
    sizes: [u32; 3],
    neighbours: Vec<Neighbour>,
    ways: Vec<WayJson>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Neighbour {
    port: u8,
    ifindex: u32,
    next_mac: String,
    own_mac: String,
    up: bool,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct WayJson {
    to: u32,
    shortest: u8,
    disjoint: u8,
    onward: [u8; PORTS],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    pub server: String,
    pub enters: Entrance,
    frame: String,
    leaves: Leaves,
}

impl Server {
    pub fn config(&self) -> Config {
        Config {
            ip: self.ip.octets(),
            vnic_ifindex: self.vnic_ifindex,
            vnic_mac: mac(&self.vnic_mac),
            flags: if self.disjoint_paths { DISJOINT_PATHS } else { 0 },
            mtu: self.mtu,
            sizes: self.sizes,
            picos_per_byte: 8000,
        }
    }

    pub fn next_hops(&self) -> impl Iterator<Item = (u8, NextHop)> {
        self.neighbours.iter().map(|neighbour| {
            let entry = NextHop {
                ifindex: neighbour.ifindex,
                next_mac: mac(&neighbour.next_mac),
                own_mac: mac(&neighbour.own_mac),
                up: neighbour.up.into(),
                ..NextHop::default()
            };
            (neighbour.port, entry)
        })
    }

    /// The entries of the server's tables, as the fabric writes them.
    pub fn entries(&self) -> Vec<TableUpdate> {
        let next_hops = self.next_hops().map(|(port, hop)| hop.update(port));
        let ways = self.ways.iter().map(|way| {
            let entry = Way {
                shortest: way.shortest,
                disjoint: way.disjoint,
                onward: way.onward,
            };
            entry.update(way.to)
        });
        std::iter::once(self.config().update())
            .chain(next_hops)
            .chain(ways)
            .collect()
    }

    /// The port with the hardware address to which a frame was sent.
    fn port_of(&self, frame: &[u8]) -> Option<u8> {
        let mut hops = self.next_hops();
        hops.find(|(_, hop)| frame.get(6..12) == Some(&hop.own_mac))
            .map(|(port, _)| port)
    }

    /// This server's forwarding in user space, with the same state as the kernel's maps.
    pub fn software(&self) -> SoftwareForwarding {
        let mut software = SoftwareForwarding::default();
        for update in self.entries() {
            software.apply(&update).expect("an entry of its tables");
        }
        software
    }

    /// The result of a frame with the forwarding in user space.
    pub fn in_software(&self, software: &mut SoftwareForwarding, enters: Entrance, frame: &[u8]) -> Outcome {
        let (verdict, frame) = in_user_space(software, enters, frame, |frame| self.port_of(frame));
        Outcome { verdict, frame }
    }
}

impl Case {
    pub fn frame(&self) -> Vec<u8> {
        bytes(&self.frame)
    }

    /// The expected result of the frame.
    pub fn outcome(&self, server: &Server) -> Outcome {
        let port_of = |frame: &[u8]| server.port_of(frame).map(u32::from);
        let (verdict, frame) = self.leaves.outcome(&self.name, port_of);
        Outcome { verdict, frame }
    }
}
