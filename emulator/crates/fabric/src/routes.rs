//! The path a flow takes until its source has chosen one: BCubeRouting's where the structure is a BCube and all of
//! that path is there, else a shortest path over what is there.

use std::collections::VecDeque;

use cubeyard_dataplane::address::Nha;
use cubeyard_dataplane::route::SourceRoute;
use cubeyard_routing::bcube::{Hops, Shape, correct_digits};
use cubeyard_topology::Topology;

use crate::network::Checked;

/// Finds default paths in one network.
#[derive(Debug)]
pub struct Routes<'a> {
    network: &'a Checked,
    shape: Option<Shape>,
}

impl<'a> Routes<'a> {
    /// Prepares the structure's own arithmetic.
    pub fn new(network: &'a Checked) -> Routes<'a> {
        let topology = Topology::build(&network.spec).ok();
        let shape = topology.as_ref().and_then(Shape::new);
        Routes { network, shape }
    }

    /// The default paths of a server, to every other server that can be reached, by index.
    pub fn from(&self, source: usize) -> Vec<(usize, SourceRoute)> {
        let shortest = self.shortest_from(source);
        let servers = 0..self.network.network.servers.len();
        servers
            .filter(|&destination| destination != source)
            .filter_map(|destination| {
                let route = self
                    .digit_correcting(source, destination)
                    .or_else(|| SourceRoute::new(shortest[destination].iter().copied()))?;
                Some((destination, route))
            })
            .collect()
    }

    /// BCubeRouting's path, digits corrected from the highest down `[bcube §3.2]`; `None` where the slice lacks a hop.
    fn digit_correcting(&self, source: usize, destination: usize) -> Option<SourceRoute> {
        let shape = self.shape.as_ref()?;
        let servers = &self.network.network.servers;
        let (from, to) = (servers[source].id, servers[destination].id);
        let mut hops = Hops::new();
        correct_digits(shape, from, to, (0..shape.levels).rev(), &mut hops);
        let through: Vec<u32> = hops.iter().map(|hop| hop.server).collect();
        let route = SourceRoute::through(shape, from, &through)?;
        (end_of(self.network, source, route.hops()) == Some(destination)).then_some(route)
    }

    fn shortest_from(&self, source: usize) -> Vec<Vec<Nha>> {
        let mut paths = vec![Vec::new(); self.network.network.servers.len()];
        let mut waiting = VecDeque::from([source]);
        while let Some(server) = waiting.pop_front() {
            for neighbour in &self.network.neighbours[server] {
                if neighbour.server != source && paths[neighbour.server].is_empty() {
                    let mut path = paths[server].clone();
                    path.push(neighbour.nha);
                    paths[neighbour.server] = path;
                    waiting.push_back(neighbour.server);
                }
            }
        }
        paths
    }
}

/// Where a source route leads, by index; `None` where a hop on the way has no such neighbour.
pub fn end_of(network: &Checked, source: usize, route: &[Nha]) -> Option<usize> {
    route.iter().try_fold(source, |at, nha| {
        let neighbours = &network.neighbours[at];
        let found = neighbours.iter().find(|neighbour| neighbour.nha == *nha);
        found.map(|neighbour| neighbour.server)
    })
}
