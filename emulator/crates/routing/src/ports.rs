//! Which link hangs on a server's port: the table that turns hops between servers into links.

use cubeyard_topology::{NodeId, Topology};

use crate::path::{DirectedLink, a_to_b, b_to_a};

/// A port with no cable.
pub const NO_LINK: u32 = u32::MAX;

/// The links of every server by port, `ports` entries a server.
#[derive(Clone, Debug)]
pub struct ServerPorts {
    ports: u32,
    link: Vec<u32>,
    far: Vec<NodeId>,
    server_is_a: Vec<bool>,
}

impl ServerPorts {
    /// Reads the table off a topology, in time linear in links.
    pub fn new(topology: &Topology) -> ServerPorts {
        let ports = topology.server_ports();
        let size = topology.server_count() as usize * ports as usize;
        let mut table = ServerPorts {
            ports,
            link: vec![NO_LINK; size],
            far: vec![NodeId::MAX; size],
            server_is_a: vec![false; size],
        };
        let links = topology.links();
        for link in 0..links.len() {
            let ends = [
                (links.a[link], links.a_port[link], links.b[link], true),
                (links.b[link], links.b_port[link], links.a[link], false),
            ];
            for (server, port, far, is_a) in ends {
                if topology.is_server(server) {
                    let slot = server as usize * ports as usize + usize::from(port);
                    table.link[slot] = link as u32;
                    table.far[slot] = far;
                    table.server_is_a[slot] = is_a;
                }
            }
        }
        table
    }

    /// The link on `server`'s `port`, or [`NO_LINK`].
    #[inline]
    pub fn link(&self, server: NodeId, port: u32) -> u32 {
        self.link[(server * self.ports + port) as usize]
    }

    /// What stands at the far end of that link.
    #[inline]
    pub fn far(&self, server: NodeId, port: u32) -> NodeId {
        self.far[(server * self.ports + port) as usize]
    }

    /// The direction out of `server` through `port`.
    #[inline]
    pub fn outward(&self, server: NodeId, port: u32) -> DirectedLink {
        let slot = (server * self.ports + port) as usize;
        if self.server_is_a[slot] {
            a_to_b(self.link[slot])
        } else {
            b_to_a(self.link[slot])
        }
    }

    /// The direction into `server` through `port`.
    #[inline]
    pub fn inward(&self, server: NodeId, port: u32) -> DirectedLink {
        self.outward(server, port) ^ 1
    }
}
