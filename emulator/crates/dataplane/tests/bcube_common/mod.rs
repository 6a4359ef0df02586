//! Reads `vectors/forwarding.json`: servers, and frames with their expected results.
#![allow(dead_code, reason = "each test uses some of it")]

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cubeyard_dataplane::bcube::nha::Nha;
use cubeyard_dataplane::bcube::tables::{Config, GATEWAY, NEW_FLOW, NEXT_HOP_DEAD, NextHop, Notice, Path};
use cubeyard_dataplane::flow::Flow;
use cubeyard_dataplane::forwarding::Forwarding;
use cubeyard_dataplane::tables::TableUpdate;
use serde::Deserialize;
use zerocopy::FromBytes;

use crate::forwarding_vectors::{Entrance, Leaves, Verdict, bytes, in_user_space, mac};

/// The result of a frame, in the same form for all forwardings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub verdict: Verdict,
    /// The frame that was sent; empty if there is none.
    pub frame: Vec<u8>,
    /// Notices, with their times set to 0.
    pub notices: Vec<Notice>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vectors {
    pub servers: BTreeMap<String, Server>,
    pub cases: Vec<Case>,
}

impl Vectors {
    pub fn read() -> Vectors {
        serde_json::from_str(include_str!("../../vectors/bcube/forwarding.json"))
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
    gateway: bool,
    neighbours: Vec<Neighbour>,
    routes: Vec<Route>,
    flows: Vec<FlowPath>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Neighbour {
    nha: u8,
    port: u8,
    ifindex: u32,
    next_mac: String,
    own_mac: String,
    up: bool,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Route {
    to: Ipv4Addr,
    path: PathJson,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowPath {
    flow: FlowJson,
    path: PathJson,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PathJson {
    end: Ipv4Addr,
    id: u32,
    count: u8,
    nha: Vec<u8>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowJson {
    src: Ipv4Addr,
    dst: Ipv4Addr,
    proto: u8,
    sport: u16,
    dport: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    pub server: String,
    pub enters: Entrance,
    frame: String,
    leaves: Leaves,
    events: Vec<EventJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventJson {
    kind: String,
    src: Ipv4Addr,
    dst: Ipv4Addr,
    path_id: u32,
    nha: u32,
    flow: FlowJson,
}

impl FlowJson {
    fn flow(&self) -> Flow {
        Flow::new(self.src, self.dst, self.proto, self.sport, self.dport)
    }
}

impl PathJson {
    /// The path as stored in a map, valid or not.
    fn path(&self) -> Path {
        let mut path = Path {
            dst: self.end.octets(),
            id: self.id,
            count: self.count,
            ..Path::default()
        };
        path.nha[..self.nha.len()].copy_from_slice(&self.nha);
        path
    }
}

impl Server {
    pub fn config(&self) -> Config {
        Config {
            ip: self.ip.octets(),
            vnic_ifindex: self.vnic_ifindex,
            vnic_mac: mac(&self.vnic_mac),
            flags: if self.gateway { GATEWAY } else { 0 },
            mtu: self.mtu,
        }
    }

    pub fn next_hops(&self) -> impl Iterator<Item = (Nha, NextHop)> {
        self.neighbours.iter().map(|neighbour| {
            let entry = NextHop {
                ifindex: neighbour.ifindex,
                next_mac: mac(&neighbour.next_mac),
                own_mac: mac(&neighbour.own_mac),
                up: neighbour.up.into(),
                port: neighbour.port,
                ..NextHop::default()
            };
            (Nha(neighbour.nha), entry)
        })
    }

    pub fn routes(&self) -> impl Iterator<Item = (Ipv4Addr, Path)> {
        self.routes.iter().map(|route| (route.to, route.path.path()))
    }

    pub fn flows(&self) -> impl Iterator<Item = (Flow, Path)> {
        self.flows.iter().map(|flow| (flow.flow.flow(), flow.path.path()))
    }

    /// The next hop with the hardware address to which a frame was sent.
    fn hop_of(&self, frame: &[u8]) -> Option<NextHop> {
        let mut hops = self.next_hops().map(|(_, hop)| hop);
        hops.find(|hop| frame.get(6..12) == Some(&hop.own_mac))
    }

    /// The contents of the server's tables.
    pub fn updates(&self) -> Vec<TableUpdate> {
        let next_hops = self.next_hops().map(|(nha, hop)| hop.update(nha));
        let routes = self.routes().map(|(to, path)| path.to(to.octets()));
        let flows = self.flows().map(|(flow, path)| path.of_flow(&flow));
        let updates = next_hops.chain(routes).chain(flows);
        std::iter::once(self.config().update()).chain(updates).collect()
    }

    /// This server's forwarding in user space, with the same state as the kernel's maps.
    pub fn software<F: Forwarding + Default>(&self) -> F {
        let mut software = F::default();
        for update in self.updates() {
            software.apply(&update).expect("an entry of its tables");
        }
        software
    }

    /// The result of a frame with the forwarding in user space.
    pub fn in_software(&self, software: &mut dyn Forwarding, enters: Entrance, frame: &[u8]) -> Outcome {
        let port_of = |frame: &[u8]| self.hop_of(frame).map(|hop| hop.port);
        let (verdict, frame) = in_user_space(software, enters, frame, port_of);
        let notices = software.take_notices();
        Outcome {
            verdict,
            frame,
            notices: notices
                .iter()
                .map(|bytes| Notice::read_from_bytes(bytes).unwrap())
                .collect(),
        }
    }
}

impl Case {
    pub fn frame(&self) -> Vec<u8> {
        bytes(&self.frame)
    }

    /// The expected result of the frame.
    pub fn outcome(&self, server: &Server) -> Outcome {
        let ifindex_of = |frame: &[u8]| server.hop_of(frame).map(|hop| hop.ifindex);
        let (verdict, frame) = self.leaves.outcome(&self.name, ifindex_of);
        let notices = self.events.iter().map(EventJson::notice).collect();
        Outcome {
            verdict,
            frame,
            notices,
        }
    }
}

impl EventJson {
    fn notice(&self) -> Notice {
        Notice {
            at_nanos: 0,
            kind: match self.kind.as_str() {
                "new-flow" => NEW_FLOW,
                "next-hop-dead" => NEXT_HOP_DEAD,
                other => panic!("no events are called {other}"),
            },
            path_id: self.path_id,
            src: self.src.octets(),
            dst: self.dst.octets(),
            flow: self.flow.flow(),
            nha: self.nha,
            reserved: 0,
        }
    }
}
