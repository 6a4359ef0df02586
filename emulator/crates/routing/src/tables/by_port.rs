//! Routes to the addresses that servers have by port, and from them. `[subways §4.3, §5.1]`
//!
//! A packet to the address of a port arrives by that port, and a packet from that address leaves by
//! it. So the two addresses of a connection choose the ToRs of both ends. Between these ToRs,
//! packets are routed like others to the server.

use cubeyard_topology::Topology;

use super::{Balance, Hop, LiveLinks, NodeTable, Prefix, Tables, Ways};
use crate::failures::Failures;
use crate::path::link_of;
use crate::subflows::PortAddresses;

impl Tables {
    /// These tables, with routes by port for servers with links to several neighbours. In time
    /// proportional to ports of servers times links.
    pub fn with_ports(mut self, topology: &Topology, failures: &Failures, balance: Balance) -> Tables {
        let network = LiveLinks::of(
            topology,
            failures,
            balance.weigh(topology),
            balance.follows_load(),
        );
        let mut ways = Ways::new(topology.node_count());
        let addresses = PortAddresses::of(topology);
        let servers = (0..topology.server_count()).filter(|&server| !failures.node_failed(server));
        for server in servers.filter(|&server| !addresses.ports(server).is_empty()) {
            for link in network.ups[server as usize].clone() {
                let id = link_of(link.directed);
                let port = topology.links().a_port[id as usize] as u8;
                let out = Hop::straight(link.directed, link.far, 1);
                self.nodes[server as usize].add(Prefix::From(port), vec![out]);
                ways.find_by(&network, server, |directed| directed == link.directed);
                for &switch in &network.switches {
                    let (hops, _) = ways.hops(&network, false, switch, (None, None));
                    let leads_elsewhere = |hop: &Hop| hop.far == server && link_of(hop.directed) != id;
                    let hops = hops.into_iter().filter(|hop| !leads_elsewhere(hop)).collect();
                    self.nodes[switch as usize].add(Prefix::Port(server, port), hops);
                }
            }
        }
        self.nodes
            .iter_mut()
            .for_each(|table| table.routes.sort_unstable());
        self
    }
}

impl NodeTable {
    /// Adds a route without keeping the order.
    fn add(&mut self, prefix: Prefix, hops: Vec<Hop>) {
        if hops.is_empty() {
            return;
        }
        let known = self.groups.iter().position(|group| *group == hops);
        let group = known.unwrap_or_else(|| {
            self.groups.push(hops);
            self.groups.len() - 1
        });
        self.routes.push((prefix, group));
    }
}

impl Balance {
    /// The default weights of a link: as an upward link, and as a server's last link.
    pub(super) fn weigh(self, topology: &Topology) -> impl Fn(usize) -> [u64; 2] + '_ {
        move |link| match self {
            Balance::Equal | Balance::ByLoad | Balance::ByDetour => [1; 2],
            // In units of 1 Mb/s, the least difference that rates of ports have.
            Balance::ByRate => [(topology.links().rate_bits_per_sec(link) / 1e6).round().max(1.0) as u64; 2],
        }
    }
}
