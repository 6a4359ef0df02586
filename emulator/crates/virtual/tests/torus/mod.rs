//! A torus in virtual time, as the tests of services use it.

#![allow(dead_code, clippy::unwrap_used, reason = "no test uses all of it")]

use std::time::Duration;

use cubeyard_dataplane::camcube::ENTRY;
use cubeyard_dataplane::catalog::SOFTWARE;
use cubeyard_dataplane::inspection::Cell;
use cubeyard_dataplane::settings::Given;
use cubeyard_routing::torus::Shape;
use cubeyard_topology::{NodeId, Topology, TopologySpec, Torus3dSpec};
use cubeyard_virtual::{Network, Options};

/// By then a failure is known everywhere.
pub const SETTLED_SECS: f64 = 7.0;

/// A torus whose link state has converged.
pub fn torus(sizes: [u32; 3], rate_bits_per_sec: f64) -> Network {
    let [x, y, z] = sizes;
    let options = Options {
        protocol: &ENTRY,
        forwarding: SOFTWARE,
        spec: TopologySpec::Torus3d(Torus3dSpec { x, y, z }),
        present: None,
        gateways: Vec::new(),
        rate_bits_per_sec,
        settings: Given::new(),
        seed: 1,
    };
    let mut network = Network::new(options).unwrap();
    network.run(1.0);
    network
}

/// The shape of the torus.
pub fn shape_of(network: &Network) -> Shape {
    Shape::new(&network.topology).unwrap()
}

/// `x,y,z` of a server.
pub fn name(topology: &Topology, server: NodeId) -> String {
    topology.node_name(server).trim_matches(['(', ')']).to_owned()
}

/// The answers of services since a moment, as text.
pub fn answers(network: &Network, since: Duration) -> Vec<(NodeId, String)> {
    let said = network.answers.iter().filter(|(at, ..)| *at >= since);
    said.map(|(_, server, _, bytes)| (*server, String::from_utf8(bytes.clone()).unwrap()))
        .collect()
}

/// A counter of a server's service.
pub fn counter(network: &Network, server: NodeId, service: &str, counter: &str) -> u64 {
    let inspection = network.inspect(server);
    let rows = &inspection.section("services").unwrap().rows;
    let found = rows
        .iter()
        .find(|row| row[0] == Cell::Text(service.to_owned()) && row[2] == Cell::Text(counter.to_owned()));
    found.map_or(0, |row| match row[3] {
        Cell::Count(count) => count,
        ref other => panic!("{other:?}"),
    })
}
