//! What a test asks of a network: paths, and what servers know.

use cubeyard_dataplane::maps::Flow;
use cubeyard_dataplane::protocol::{Event, Inspection, Protocol, Time};
use cubeyard_routing::bcube::{Hop, Hops, Taken, shortest_parallel};
use cubeyard_topology::NodeId;

use super::{Network, PACKET};

impl Network {
    /// The servers on a flow's path, both ends included.
    pub fn path_of(&self, number: usize) -> Vec<NodeId> {
        let traffic = &self.traffic[number];
        let server = &self.servers[&traffic.source];
        let path = server
            .flows
            .get(&traffic.flow)
            .or_else(|| server.routes.get(&traffic.destination));
        let mut servers = vec![traffic.source];
        servers.extend(path.unwrap().route.servers(&self.shape, traffic.source).unwrap());
        servers
    }

    /// Whether a flow's latest packet arrived.
    pub fn flows_well(&self, number: usize) -> bool {
        let at = self.traffic[number].arrived_at;
        at.is_some_and(|at| at + 2 * PACKET >= self.now)
    }

    /// Whether any path leads from one server to another that a header can hold.
    pub fn connected(&self, source: NodeId, destination: NodeId) -> bool {
        let dead = |server| self.failures.node_failed(server);
        let mut hops = Hops::new();
        let alive = |from, to, level| self.shape.hop_alive(from, to, level, &self.failures);
        !dead(source)
            && !dead(destination)
            && shortest_parallel(
                &self.shape,
                source,
                destination,
                &Taken::default(),
                0,
                alive,
                &mut hops,
            )
            && hops.len() <= 8
    }

    /// What a server knows.
    pub fn inspect(&self, server: NodeId) -> Inspection {
        self.servers[&server].bsr.inspect(self.now)
    }

    /// Times that flows took another path since `since`.
    pub fn switches(&self, since: Time) -> Vec<Flow> {
        let switched = self.log.iter().filter(|(at, _, _)| *at >= since);
        switched
            .filter_map(|(_, _, event)| match event {
                Event::PathSwitched { flow, .. } => Some(*flow),
                _ => None,
            })
            .collect()
    }

    /// Flows on each directed link.
    pub fn load(&self) -> Vec<u32> {
        let mut load = vec![0; 2 * self.topology.link_count()];
        for number in 0..self.traffic.len() {
            for link in self.links_of(number) {
                load[link] += 1;
            }
        }
        load
    }

    pub(super) fn links_of(&self, number: usize) -> Vec<usize> {
        let servers = self.path_of(number);
        let hops: Vec<Hop> = servers
            .windows(2)
            .map(|pair| {
                let level = (0..self.shape.levels)
                    .find(|&level| self.shape.digit(pair[0], level) != self.shape.digit(pair[1], level));
                Hop {
                    server: pair[1],
                    level: level.unwrap() as u8,
                }
            })
            .collect();
        let mut links = Vec::new();
        self.shape.push_links(servers[0], &hops, &mut links);
        links.into_iter().map(|link| link as usize).collect()
    }
}
