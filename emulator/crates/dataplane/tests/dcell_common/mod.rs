//! Reads `vectors/dcell/forwarding.json`, and runs its frames through the forwarding in user space.

#![allow(clippy::unwrap_used, dead_code, reason = "each test uses its part of it")]

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cubeyard_dataplane::dcell::forwarding::SoftwareForwarding;
use cubeyard_dataplane::dcell::tables::{
    Config, HAS_ALTERNATIVE, HAS_HOP, NEW_FLOW, NextHop, Notice, REROUTED, Route,
};
use cubeyard_dataplane::flow::Flow;
use cubeyard_dataplane::forwarding::Forwarding;
use serde::Deserialize;
use zerocopy::FromBytes;

use crate::forwarding_vectors::{Entrance, Leaves, Verdict, bytes, in_user_space, mac};

/// The result of a frame.
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

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    ip: Ipv4Addr,
    vnic_ifindex: u32,
    vnic_mac: String,
    cell: u16,
    mtu: u32,
    server: u32,
    retries: u8,
    hops: Vec<Hop>,
    routes: Vec<RouteJson>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hop {
    port: u8,
    ifindex: u32,
    next_mac: String,
    own_mac: String,
    up: bool,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteJson {
    to: u32,
    hop: Option<u8>,
    alternatives: Vec<Alternative>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Alternative {
    hop: u8,
    proxy: u32,
    cell: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    pub server: String,
    pub enters: Entrance,
    frame: String,
    leaves: Leaves,
    notices: Vec<NoticeJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoticeJson {
    kind: String,
    proxy: u32,
    src: Ipv4Addr,
    dst: Ipv4Addr,
    proto: u8,
    sport: u16,
    dport: u16,
}

impl Vectors {
    pub fn read() -> Vectors {
        serde_json::from_str(include_str!("../../vectors/dcell/forwarding.json")).unwrap()
    }
}

impl Server {
    pub fn config(&self) -> Config {
        Config {
            ip: self.ip.octets(),
            vnic_ifindex: self.vnic_ifindex,
            vnic_mac: mac(&self.vnic_mac),
            cell: self.cell,
            mtu: self.mtu,
            server: self.server,
            retries: self.retries,
            reserved: [0; 3],
        }
    }

    pub fn next_hops(&self) -> impl Iterator<Item = (u8, NextHop)> {
        (0u8..).zip(&self.hops).map(|(number, hop)| {
            let entry = NextHop {
                ifindex: hop.ifindex,
                next_mac: mac(&hop.next_mac),
                own_mac: mac(&hop.own_mac),
                up: hop.up.into(),
                port: hop.port,
                reserved: [0; 2],
            };
            (number, entry)
        })
    }

    pub fn routes(&self) -> impl Iterator<Item = (u32, Route)> {
        self.routes.iter().map(|json| {
            let mut route = Route {
                hop: json.hop.unwrap_or(0),
                flags: if json.hop.is_some() { HAS_HOP } else { 0 },
                ..Route::default()
            };
            for (place, alternative) in json.alternatives.iter().enumerate() {
                route.flags |= HAS_ALTERNATIVE << place;
                route.alternative_hops[place] = alternative.hop;
                route.alternative_cells[place] = alternative.cell;
                route.proxies[place] = alternative.proxy;
            }
            (json.to, route)
        })
    }

    /// The port with the hardware address to which a frame was sent.
    fn port_of(&self, frame: &[u8]) -> Option<u8> {
        let mut hops = self.next_hops();
        hops.find(|(_, hop)| frame.get(6..12) == Some(&hop.own_mac))
            .map(|(_, hop)| hop.port)
    }

    /// This server's forwarding in user space, with the same state as the kernel's maps.
    pub fn software(&self) -> SoftwareForwarding {
        let mut software = SoftwareForwarding::default();
        let next_hops = self.next_hops().map(|(number, hop)| hop.update(number));
        let routes = self.routes().map(|(to, route)| route.update(to));
        for update in std::iter::once(self.config().update())
            .chain(next_hops)
            .chain(routes)
        {
            software.apply(&update).unwrap();
        }
        software
    }

    /// The result of a frame with the forwarding in user space.
    pub fn in_software(&self, software: &mut SoftwareForwarding, enters: Entrance, frame: &[u8]) -> Outcome {
        let (verdict, frame) = in_user_space(software, enters, frame, |frame| self.port_of(frame));
        let notices = software.take_notices();
        let notices = notices
            .iter()
            .map(|bytes| Notice::read_from_bytes(bytes).unwrap());
        Outcome {
            verdict,
            frame,
            notices: notices.collect(),
        }
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
        let notices = self.notices.iter().map(|json| Notice {
            at_nanos: 0,
            kind: match json.kind.as_str() {
                "new-flow" => NEW_FLOW,
                "rerouted" => REROUTED,
                other => panic!("no notices are called {other}"),
            },
            proxy: json.proxy,
            flow: Flow::new(json.src, json.dst, json.proto, json.sport, json.dport),
        });
        Outcome {
            verdict,
            frame,
            notices: notices.collect(),
        }
    }
}
