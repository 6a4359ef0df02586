//! Computes the paths of packets from a server's link state. `[camcube §2.1.2, §3.1]`

use std::collections::VecDeque;

use cubeyard_routing::torus::{first_ways, next_way};
use cubeyard_topology::NodeId;

use super::structure::Structure;
use super::tables::{NO_PORT, PORTS, Way};

/// Whether packets can leave a server by a port and arrive, according to this server's link state.
pub type Alive<'a> = &'a dyn Fn(NodeId, u8) -> bool;

/// By destination: bit mask of the ports of `me` on shortest live paths; 0 for `me` and unreachable
/// servers. O(links).
pub fn shortest(structure: &Structure, me: NodeId, alive: Alive<'_>) -> Vec<u8> {
    let servers = structure.shape().servers() as usize;
    let (mut ways, mut hops) = (vec![0; servers], vec![u32::MAX; servers]);
    hops[me as usize] = 0;
    let mut waiting = VecDeque::from([me]);
    while let Some(at) = waiting.pop_front() {
        for port in (0..structure.ports()).filter(|&port| alive(at, port)) {
            let Some(next) = structure.far(at, port) else {
                continue;
            };
            let first = if at == me { 1 << port } else { ways[at as usize] };
            if hops[next as usize] == u32::MAX {
                hops[next as usize] = hops[at as usize] + 1;
                waiting.push_back(next);
            }
            if hops[next as usize] == hops[at as usize] + 1 {
                ways[next as usize] |= first;
            }
        }
    }
    ways
}

/// The next hops from `me` to every key, by the key's home server. O(servers × diameter).
pub fn all(structure: &Structure, me: NodeId, alive: Alive<'_>) -> Vec<Way> {
    let shortest = shortest(structure, me, alive);
    let way = |(home, &shortest): (NodeId, &u8)| Way {
        shortest,
        disjoint: if shortest == 0 {
            0
        } else {
            live_starts(structure, me, home, alive)
        },
        onward: onward(structure, me, home),
    };
    (0..).zip(&shortest).map(way).collect()
}

/// The first ports of disjoint paths from `me` whose links are all alive.
fn live_starts(structure: &Structure, me: NodeId, home: NodeId, alive: Alive<'_>) -> u8 {
    let starts = first_ways(structure.shape(), me, home).map(|(axis, up)| structure.port(axis, up));
    let living = starts.filter(|&port| {
        let (mut at, mut port) = (me, port);
        loop {
            let next = structure.far(at, port).filter(|_| alive(at, port));
            let Some(next) = next else { return false };
            if next == home {
                return true;
            }
            port = next_port(structure, next, home, structure.far_port(port));
            at = next;
        }
    });
    living.fold(0, |mask, port| mask | 1 << port)
}

/// The servers of the live disjoint path to a key that leaves `me` by a port, including both ends.
/// O(diameter).
pub fn disjoint_path(structure: &Structure, me: NodeId, home: NodeId, first: u8) -> Vec<NodeId> {
    let (mut servers, mut port) = (vec![me], first);
    while let Some(&at) = servers.last()
        && let Some(next) = structure.far(at, port).filter(|_| at != home)
    {
        port = if next == home {
            NO_PORT
        } else {
            next_port(structure, next, home, structure.far_port(port))
        };
        servers.push(next);
    }
    servers
}

/// The servers of a shortest live path to a key, including both ends; empty if there is none. Each
/// server takes the first port on a shortest path. O(links).
pub fn shortest_path(structure: &Structure, me: NodeId, home: NodeId, alive: Alive<'_>) -> Vec<NodeId> {
    let mut before = vec![NodeId::MAX; structure.shape().servers() as usize];
    before[me as usize] = me;
    let mut waiting = VecDeque::from([me]);
    while let Some(at) = waiting.pop_front() {
        for port in (0..structure.ports()).filter(|&port| alive(at, port)) {
            let Some(next) = structure.far(at, port) else {
                continue;
            };
            if before[next as usize] == NodeId::MAX {
                before[next as usize] = at;
                waiting.push_back(next);
            }
        }
    }
    if before[home as usize] == NodeId::MAX {
        return Vec::new();
    }
    let mut servers = vec![home];
    while let Some(&at) = servers.last()
        && at != me
    {
        servers.push(before[at as usize]);
    }
    servers.reverse();
    servers
}

/// The port by which a packet on a disjoint path leaves `at`, which it reached by `arrival`.
fn next_port(structure: &Structure, at: NodeId, home: NodeId, arrival: u8) -> u8 {
    let before = structure.far(at, arrival).unwrap_or(at);
    let (axis, _) = structure.way(arrival);
    let (axis, up) = next_way(structure.shape(), at, home, before, axis);
    structure.port(axis, up)
}

fn onward(structure: &Structure, me: NodeId, home: NodeId) -> [u8; PORTS] {
    std::array::from_fn(|arrival| {
        let arrival = arrival as u8;
        if me == home || arrival >= structure.ports() {
            NO_PORT
        } else {
            next_port(structure, me, home, arrival)
        }
    })
}

#[cfg(test)]
mod tests {
    use cubeyard_routing::torus::disjoint_paths;
    use cubeyard_routing::{FailureKind, Failures, PathSet};
    use cubeyard_topology::{Topology, TopologySpec};
    use proptest::prelude::*;

    use super::*;
    use crate::configuration::Configuration;
    use crate::settings::Given;

    fn torus(sizes: [u32; 3]) -> (Topology, Structure) {
        let [x, y, z] = sizes;
        let spec = TopologySpec::Torus3d(cubeyard_topology::Torus3dSpec { x, y, z });
        let configuration = Configuration {
            server: 0,
            spec: spec.clone(),
            present: None,
            gateways: Vec::new(),
            ports: Vec::new(),
            virtual_nic: 1,
            rate_bits_per_sec: 1e9,
            mtu: 1500,
            settings: Given::new(),
            seed: 0,
        };
        (
            Topology::build(&spec).unwrap(),
            Structure::new(&configuration).unwrap(),
        )
    }

    proptest! {
        /// The masks contain exactly the ports on shortest paths; the disjoint paths equal those of
        /// the model whose links are alive.
        #[test]
        fn ways_are_those_of_the_model(sizes in prop::array::uniform3(1u32..5), ratio in 0.0..0.3f64, seed in any::<u64>(), me in any::<prop::sample::Index>()) {
            prop_assume!(sizes.iter().product::<u32>() > 1);
            let (topology, structure) = torus(sizes);
            let mut failures = Failures::random(&topology, FailureKind::Link, ratio, seed);
            failures.add_random(&topology, FailureKind::Server, ratio / 2.0, seed);
            let shape = structure.shape();
            let alive = |server: NodeId, port: u8| {
                let link = shape.ports().link(server, port.into());
                failures.carries(topology.links(), link as usize)
            };
            let servers = shape.servers();
            let me = me.index(servers as usize) as NodeId;
            let ways = all(&structure, me, &alive);
            let hops_to = |to: NodeId| {
                // The expected result, by a plain search from the destination over the same links.
                let mut hops = vec![u32::MAX; servers as usize];
                hops[to as usize] = 0;
                for _ in 0..servers {
                    for at in 0..servers {
                        for port in (0..structure.ports()).filter(|&port| alive(at, port)) {
                            let next = hops[structure.far(at, port).unwrap() as usize];
                            hops[at as usize] = hops[at as usize].min(next.saturating_add(1));
                        }
                    }
                }
                hops
            };
            for home in (0..servers).filter(|&home| home != me) {
                let hops = hops_to(home);
                let nearer = |port: &u8| alive(me, *port) && hops[me as usize] != u32::MAX && hops[structure.far(me, *port).unwrap() as usize] + 1 == hops[me as usize];
                let wanted = (0..structure.ports()).filter(nearer).fold(0, |mask, port| mask | 1 << port);
                prop_assert_eq!(ways[home as usize].shortest, wanted);
                let mut model = PathSet::default();
                disjoint_paths(shape, me, home, &mut model);
                let live = model.iter().filter(|path| path.iter().all(|directed| failures.carries(topology.links(), *directed as usize / 2)));
                let first = |path: &[u32]| (0..structure.ports()).find(|&port| shape.ports().outward(me, port.into()) == path[0]).unwrap();
                let starts = live.map(first).fold(0, |mask, port| mask | 1 << port);
                prop_assert_eq!(ways[home as usize].disjoint, if wanted == 0 { 0 } else { starts });
                // The reported paths lead from end to end over live links, and have the expected
                // length.
                let joined = |path: &[NodeId]| path.windows(2).all(|hop| (0..structure.ports()).any(|port| structure.far(hop[0], port) == Some(hop[1]) && alive(hop[0], port)));
                let shortest = shortest_path(&structure, me, home, &alive);
                prop_assert_eq!(shortest.len(), if wanted == 0 { 0 } else { hops[me as usize] as usize + 1 });
                prop_assert!(joined(&shortest) && shortest.is_empty() || (shortest[0], shortest[shortest.len() - 1]) == (me, home));
                for port in (0..structure.ports()).filter(|port| ways[home as usize].disjoint >> port & 1 == 1) {
                    let path = disjoint_path(&structure, me, home, port);
                    prop_assert!(joined(&path) && path.first() == Some(&me) && path.last() == Some(&home));
                    prop_assert_eq!(structure.far(me, port), Some(path[1]));
                }
            }
        }
    }
}
