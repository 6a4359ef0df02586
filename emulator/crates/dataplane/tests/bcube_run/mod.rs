//! A run of BCube(n, k), or of a slice of it, in the form in which the fabric describes it to
//! servers.

#![allow(clippy::unwrap_used)]

use cubeyard_dataplane::address::port_ip;
use cubeyard_dataplane::configuration::{Configuration, NeighbourAddress, Port, RunPlan};
use cubeyard_dataplane::settings::Given;
use cubeyard_routing::bcube::Shape;
use cubeyard_topology::{BcubeSpec, NodeId, Topology, TopologySpec};

pub fn spec(n: u32, k: u32) -> TopologySpec {
    TopologySpec::Bcube(BcubeSpec { n, k, servers: None })
}

pub fn shape(n: u32, k: u32) -> Shape {
    Shape::new(&Topology::build(&spec(n, k)).unwrap()).unwrap()
}

pub fn run(n: u32, k: u32, present: Option<&[NodeId]>, gateways: &[NodeId]) -> RunPlan {
    let shape = shape(n, k);
    let servers: Vec<NodeId> = present.map_or_else(|| (0..shape.servers()).collect(), <[NodeId]>::to_vec);
    let port = |server: NodeId, level: usize| Port {
        port: level as u8,
        name: format!("p{level}"),
        interface: 11 + level as u32,
        neighbours: (0..shape.radix[level])
            .map(|digit| shape.with_digit(server, level, digit))
            .filter(|other| *other != server && servers.contains(other))
            .map(|other| NeighbourAddress {
                server: other,
                port: level as u8,
                ip: port_ip(other, level as u8).unwrap(),
            })
            .collect(),
    };
    let configuration = |&server: &NodeId| Configuration {
        server,
        spec: spec(n, k),
        present: present.map(<[NodeId]>::to_vec),
        gateways: gateways.to_vec(),
        ports: (0..shape.levels).map(|level| port(server, level)).collect(),
        virtual_nic: 10,
        rate_bits_per_sec: 1e8,
        mtu: 1500,
        settings: Given::new(),
        seed: 0,
    };
    RunPlan {
        servers: servers.iter().map(configuration).collect(),
    }
}
