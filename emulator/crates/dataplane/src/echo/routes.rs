//! Next hops from the topology: which neighbours of a server are on a shortest path to each
//! destination.

use std::collections::VecDeque;

use cubeyard_topology::{Csr, NodeId, Topology, TopologySpec};

use super::tables::NextHop;
use crate::address::MAX_SERVER;
use crate::configuration::{Configuration, ConfigurationError};

/// The neighbours of a server, and which of them are on shortest paths.
#[derive(Debug)]
pub struct NextHops {
    me: NodeId,
    /// The neighbours' table entries, in the order of the configuration.
    entries: Vec<NextHop>,
    /// By destination: the neighbours on shortest paths.
    nearest: Vec<Vec<usize>>,
}

/// Whether the servers of a topology can relay for each other: no link must join two switches.
pub fn check(spec: &TopologySpec) -> Result<(), ConfigurationError> {
    build(spec).map(|_| ())
}

fn build(spec: &TopologySpec) -> Result<Topology, ConfigurationError> {
    let wrong = |field: &str, value: String, limit: String, fix: &str| ConfigurationError {
        field: field.to_owned(),
        value,
        limit,
        fix: fix.to_owned(),
    };
    let topology = Topology::build(spec).map_err(|error| {
        let limit = "a topology that can be built".to_owned();
        wrong("spec", error.to_string(), limit, "See its findings.")
    })?;
    let mut ends = topology.links().a.iter().zip(&topology.links().b);
    let between_switches = ends.any(|(&a, &b)| !topology.is_server(a) && !topology.is_server(b));
    if between_switches {
        let limit = "a family whose servers relay".to_owned();
        let fix = "Take a family without links between switches.";
        return Err(wrong("spec.family", spec.family().to_owned(), limit, fix));
    }
    if topology.server_count() > MAX_SERVER + 1 {
        let limit = format!("at most {}", MAX_SERVER + 1);
        let count = topology.server_count().to_string();
        return Err(wrong("spec", count, limit, "Take a smaller topology."));
    }
    Ok(topology)
}

/// The servers that a server reaches without passing another server, in the order of its links.
fn neighbours(links: &Csr, servers: u32, server: NodeId) -> Vec<NodeId> {
    let mut result = Vec::new();
    for &near in links.neighbours_of(server) {
        if near < servers {
            result.push(near);
        } else {
            let others = links.neighbours_of(near).iter();
            result.extend(others.filter(|&&other| other != server));
        }
    }
    result
}

impl NextHops {
    /// The next hops of a configuration's server, among the servers that exist. O(servers + links)
    /// per neighbour of a destination. Errors: a topology whose servers do not relay, or that does
    /// not contain the server.
    pub fn new(configuration: &Configuration) -> Result<NextHops, ConfigurationError> {
        let topology = build(&configuration.spec)?;
        let servers = topology.server_count();
        if configuration.server >= servers {
            return Err(ConfigurationError {
                field: "server".to_owned(),
                value: configuration.server.to_string(),
                limit: format!("below {servers}"),
                fix: "Name a server of the topology.".to_owned(),
            });
        }
        let mut there = vec![configuration.present.is_none(); servers as usize];
        for &server in configuration.present.iter().flatten() {
            if let Some(there) = there.get_mut(server as usize) {
                *there = true;
            }
        }
        let ports = configuration.ports.iter();
        let direct: Vec<(NodeId, NextHop)> = ports
            .flat_map(|port| port.neighbours.iter().map(move |neighbour| (port, neighbour)))
            .map(|(port, neighbour)| {
                (
                    neighbour.server,
                    NextHop::to(configuration.server, port, neighbour),
                )
            })
            .collect();
        let links = topology.adjacency();
        // Hops from each neighbour to each server on paths that avoid this server.
        let hops: Vec<Vec<u32>> = direct
            .iter()
            .map(|(neighbour, _)| hops_from(&links, &there, configuration.server, *neighbour))
            .collect();
        let nearest = (0..servers as usize).map(|destination| {
            let least = hops.iter().map(|hops| hops[destination]).min();
            let least = least.filter(|least| *least != u32::MAX);
            let near = |index: &usize| Some(hops[*index][destination]) == least;
            (0..hops.len()).filter(near).collect()
        });
        Ok(NextHops {
            me: configuration.server,
            nearest: nearest.collect(),
            entries: direct.into_iter().map(|(_, entry)| entry).collect(),
        })
    }

    /// Every other server that can be reached, ascending.
    pub fn destinations(&self) -> Vec<NodeId> {
        let reached = (0..)
            .zip(&self.nearest)
            .filter(|(_, nearest)| !nearest.is_empty());
        let others = reached.map(|(destination, _)| destination);
        others.filter(|&destination| destination != self.me).collect()
    }

    /// The next hop to a destination: among the live neighbours on shortest paths, the one that a
    /// hash of the destination selects.
    pub fn towards(&self, destination: NodeId, alive: impl Fn(usize) -> bool) -> Option<usize> {
        let living: Vec<usize> = self.nearest[destination as usize]
            .iter()
            .copied()
            .filter(|&index| alive(index))
            .collect();
        let pick = destination.wrapping_mul(0x9e37_79b1) as usize % living.len().max(1);
        living.get(pick).copied()
    }

    /// A neighbour's entry in the forwarding table.
    pub fn entry(&self, index: usize) -> &NextHop {
        &self.entries[index]
    }
}

/// Distances from a server to all others, by breadth-first search, on paths that avoid `me`.
fn hops_from(links: &Csr, there: &[bool], me: NodeId, start: NodeId) -> Vec<u32> {
    let mut hops = vec![u32::MAX; there.len()];
    hops[start as usize] = 0;
    let mut waiting = VecDeque::from([start]);
    while let Some(server) = waiting.pop_front() {
        for next in neighbours(links, there.len() as u32, server) {
            if next != me && there[next as usize] && hops[next as usize] == u32::MAX {
                hops[next as usize] = hops[server as usize] + 1;
                waiting.push_back(next);
            }
        }
    }
    hops
}
