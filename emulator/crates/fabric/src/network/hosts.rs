//! A run on several hosts: the division of its network among them. A pure function, so every host
//! computes the same.
//!
//! A server is on one host with all its ports. A link to a switch is on the server's host, so that
//! only that host handles its rate, counters, carrier and faults. A switch has a part on each host
//! with one of its links; VXLAN joins the parts into one Ethernet. A link between servers of two
//! hosts is on both: each host has the port of its own server, and VXLAN joins the two. `[ours]`

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::error::{FabricError, Result};
use crate::network::{Description, Network, Place};

/// Maximum number of hosts of a run.
pub const MAX_HOSTS: usize = 64;
const VNI_LIMIT: u32 = 1 << 24;

/// The hosts of a run, as the caller describes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// Index of this host.
    pub here: usize,
    /// The hosts' addresses on the network between them.
    pub underlays: Vec<Ipv4Addr>,
    /// VXLAN number of the first switch; other switches have the numbers after it.
    pub first_vni: u32,
}

impl Hosts {
    /// Address of this host.
    pub fn own_address(&self) -> Ipv4Addr {
        self.underlays[self.here]
    }

    /// The range of VXLAN numbers of a run that needs `count`.
    pub fn vnis(&self, count: usize) -> std::ops::Range<u32> {
        self.first_vni..self.first_vni.saturating_add(count as u32)
    }

    /// Checks the hosts. `vnis` is the number of VXLAN numbers that the run needs. `field` names
    /// the hosts in errors.
    pub fn check(&self, field: &str, vnis: usize) -> Result<()> {
        let count = self.underlays.len();
        if !(1..=MAX_HOSTS).contains(&count) {
            let limit = format!("1 to {MAX_HOSTS} addresses");
            return Err(FabricError::bad(
                format!("{field}.underlays"),
                format!("{count} addresses"),
                limit,
                "name each host once",
            ));
        }
        for (at, address) in self.underlays.iter().enumerate() {
            if self.underlays[..at].contains(address) || address.is_unspecified() || address.is_multicast() {
                let limit = "a host's own address, unlike every other's";
                return Err(FabricError::bad(
                    format!("{field}.underlays[{at}]"),
                    address,
                    limit,
                    "give each host its address on the network between them",
                ));
            }
        }
        if self.here >= count {
            let limit = format!("less than {count}, the number of addresses");
            return Err(FabricError::bad(
                format!("{field}.here"),
                self.here,
                limit,
                "count the hosts from 0",
            ));
        }
        if self.first_vni == 0 || self.vnis(vnis).end > VNI_LIMIT {
            let limit = format!(
                "1 to {}: each switch, and each link between hosts, takes a number from there on",
                VNI_LIMIT - vnis as u32
            );
            return Err(FabricError::bad(
                format!("{field}.first_vni"),
                self.first_vni,
                limit,
                "use a smaller number",
            ));
        }
        Ok(())
    }
}

/// The host of each part of a network. Without several hosts, this host has all parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Division {
    here: usize,
    servers: Vec<usize>,
    /// By link: the hosts of both ends.
    links: Vec<[usize; 2]>,
    switches: Vec<BTreeSet<usize>>,
}

impl Division {
    /// Derives the division from the servers' hosts. Errors name the field.
    pub fn of(network: &Network) -> Result<Division> {
        let description = &network.description;
        let servers: Vec<usize> = description.servers.iter().map(|server| server.host).collect();
        check_servers(description)?;
        let mut homes = vec![None; description.switches.len()];
        for places in &network.places {
            if let [Place::Server { server, .. }, Place::Switch { switch, .. }]
            | [Place::Switch { switch, .. }, Place::Server { server, .. }] = *places
            {
                let first = homes[switch].get_or_insert(servers[server]);
                *first = servers[server].min(*first);
            }
        }
        let links: Vec<[usize; 2]> = network
            .places
            .iter()
            .map(|places| match *places {
                [Place::Server { server: a, .. }, Place::Server { server: b, .. }] => {
                    [servers[a], servers[b]]
                }
                [Place::Server { server, .. }, _] | [_, Place::Server { server, .. }] => [servers[server]; 2],
                // A link between switches is on one host: that of the first server of either
                // switch.
                [Place::Switch { switch: a, .. }, Place::Switch { switch: b, .. }] => {
                    [homes[a].or(homes[b]).unwrap_or(0); 2]
                }
            })
            .collect();
        let mut switches = vec![BTreeSet::new(); description.switches.len()];
        for (places, hosts) in network.places.iter().zip(&links) {
            for place in places {
                if let Place::Switch { switch, .. } = place {
                    switches[*switch].insert(hosts[0]);
                }
            }
        }
        for hosts in switches.iter_mut().filter(|hosts| hosts.is_empty()) {
            hosts.insert(0);
        }
        check_gateways(network, &servers)?;
        let division = Division {
            here: description.hosts.as_ref().map_or(0, |hosts| hosts.here),
            servers,
            links,
            switches,
        };
        if let Some(hosts) = &description.hosts {
            hosts.check("network.hosts", division.vni_count())?;
        }
        Ok(division)
    }

    /// Whether a server is on this host.
    pub fn has_server(&self, server: usize) -> bool {
        self.servers[server] == self.here
    }

    /// Whether a link, or an end of it, is on this host.
    pub fn has_link(&self, link: usize) -> bool {
        self.is_on(link, self.here)
    }

    /// Whether the ends of a link are on two hosts.
    pub fn is_spanning(&self, link: usize) -> bool {
        let [a, b] = self.links[link];
        a != b
    }

    /// For a link between this host and another one: the end on the other host, and the host's
    /// index.
    pub fn remote_end(&self, link: usize) -> Option<(usize, usize)> {
        if !self.is_spanning(link) || !self.has_link(link) {
            return None;
        }
        let end = usize::from(self.links[link][0] == self.here);
        Some((end, self.links[link][end]))
    }

    /// Whether this host has a part of a switch.
    pub fn has_switch(&self, switch: usize) -> bool {
        self.switches[switch].contains(&self.here)
    }

    /// Whether a link, or an end of it, is on a host.
    pub fn is_on(&self, link: usize, host: usize) -> bool {
        self.links[link].contains(&host)
    }

    /// The hosts with parts of a switch.
    pub fn hosts_of_switch(&self, switch: usize) -> impl Iterator<Item = usize> {
        self.switches[switch].iter().copied()
    }

    /// The other hosts with parts of a switch; none where the switch has no part here.
    pub fn other_hosts(&self, switch: usize) -> impl Iterator<Item = usize> {
        let others = self.hosts_of_switch(switch).filter(|host| *host != self.here);
        others.filter(move |_| self.has_switch(switch))
    }

    /// Number of VXLAN numbers that the run needs: one for each switch, and one for each link
    /// between hosts.
    pub fn vni_count(&self) -> usize {
        self.switches.len()
            + (0..self.links.len())
                .filter(|link| self.is_spanning(*link))
                .count()
    }

    /// The position of a link between hosts among the run's VXLAN numbers.
    pub fn vni_of_link(&self, link: usize) -> usize {
        self.switches.len() + (0..link).filter(|link| self.is_spanning(*link)).count()
    }
}

fn check_servers(description: &Description) -> Result<()> {
    let count = match &description.hosts {
        Some(hosts) => {
            hosts.check("network.hosts", description.switches.len())?;
            hosts.underlays.len()
        }
        None => 1,
    };
    match description.servers.iter().position(|server| server.host >= count) {
        Some(at) => {
            let limit = format!("less than {count}, the number of hosts");
            let field = format!("network.servers[{at}].host");
            let given = description.servers[at].host;
            Err(FabricError::bad(
                field,
                given,
                limit,
                "name a host of network.hosts",
            ))
        }
        None => Ok(()),
    }
}

/// Checks that all gateways are on one host, since the external network is one namespace.
fn check_gateways(network: &Network, servers: &[usize]) -> Result<()> {
    let gateways = network.description.gateways.iter();
    let hosts: BTreeSet<usize> = gateways
        .filter_map(|id| Some(servers[network.server(*id).ok()?]))
        .collect();
    if hosts.len() <= 1 {
        return Ok(());
    }
    let given = format!("on {} hosts", hosts.len());
    let fix = "take gateways whose servers are on one host";
    Err(FabricError::bad(
        "network.gateways",
        given,
        "all on one host",
        fix,
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn links_of(n: u32) -> Vec<Value> {
        let ends = (0..n * n).flat_map(|server| {
            [(0, server / n, server % n), (1, n + server % n, server / n)].map(|end| (server, end))
        });
        let links = ends.enumerate().map(|(id, (server, (port, switch, digit)))| {
            json!({"id": id, "a": [server, port], "b": [n * n + switch, digit]})
        });
        links.collect()
    }

    /// A BCube_1 of n-port switches with its servers on these hosts.
    fn bcube(n: u32, hosts: &[usize], count: u8, here: usize) -> Result<Network> {
        let servers: Vec<Value> = (0..n * n)
            .map(|id| json!({"id": id, "host": hosts[id as usize]}))
            .collect();
        let switches: Vec<Value> = (n * n..n * n + 2 * n).map(|id| json!({"id": id})).collect();
        let underlays: Vec<Ipv4Addr> = (1..=count).map(|host| Ipv4Addr::new(10, 77, 0, host)).collect();
        Network::from_json(
            json!({"run": "abcdefgh", "spec": {"family": "bcube", "n": n, "k": 1},
            "protocol": "bcube", "forwarding": "kernel", "rate_bits_per_sec": 1e8, "mtu": 9000, "servers": servers, "switches": switches,
            "links": links_of(n), "hosts": {"here": here, "underlays": underlays, "first_vni": 4096}}),
        )
    }

    fn division() -> impl Strategy<Value = (u32, u8, Vec<usize>)> {
        (2..5_u32, 1..5_u8).prop_flat_map(|(n, hosts)| {
            let servers = proptest::collection::vec(0..usize::from(hosts), (n * n) as usize);
            (Just(n), Just(hosts), servers)
        })
    }

    proptest! {
        #[test]
        fn every_part_is_somewhere_and_parts_find_each_other((n, count, hosts) in division()) {
            let everywhere: Vec<Network> =
                (0..usize::from(count)).map(|here| bcube(n, &hosts, count, here).unwrap()).collect();
            let having = |has: &dyn Fn(&Division) -> bool| -> Vec<usize> {
                let matches = everywhere.iter().enumerate().filter(|(_, network)| has(&network.division));
                matches.map(|(host, _)| host).collect()
            };
            for (server, host) in hosts.iter().enumerate() {
                prop_assert_eq!(having(&|division| division.has_server(server)), vec![*host]);
            }
            for (link, places) in everywhere[0].places.iter().enumerate() {
                let Place::Server { server, .. } = places[0] else { unreachable!("a BCube's links") };
                prop_assert_eq!(having(&|division| division.has_link(link)), vec![hosts[server]]);
            }
            for switch in 0..2 * n as usize {
                let parts = having(&|division| division.has_switch(switch));
                let wanted: BTreeSet<usize> = everywhere[0].places.iter()
                    .filter_map(|places| match *places {
                        [Place::Server { server, .. }, Place::Switch { switch: at, .. }] if at == switch => Some(hosts[server]),
                        _ => None,
                    })
                    .collect();
                prop_assert_eq!(&parts, &wanted.into_iter().collect::<Vec<_>>());
                for (host, network) in everywhere.iter().enumerate() {
                    let far: Vec<usize> = network.division.other_hosts(switch).collect();
                    let others: Vec<usize> = parts.iter().copied().filter(|other| *other != host).collect();
                    prop_assert_eq!(far, if parts.contains(&host) { others } else { Vec::new() });
                }
            }
        }
    }

    #[test]
    fn an_invalid_placement_is_refused_by_its_field() {
        let fields = |result: Result<Network>| result.unwrap_err().field.clone().unwrap();
        assert_eq!(fields(bcube(2, &[0, 0, 0, 2], 2, 0)), "network.servers[3].host");
        assert_eq!(fields(bcube(2, &[0; 4], 2, 2)), "network.hosts.here");
        assert_eq!(fields(bcube(2, &[0; 4], 0, 0)), "network.hosts.underlays");
        let hosts = |text: &str| -> Hosts { serde_json::from_str(text).unwrap() };
        let twice = hosts(r#"{"here": 0, "underlays": ["10.0.0.1", "10.0.0.1"], "first_vni": 1}"#);
        assert_eq!(
            twice.check("hosts", 4).unwrap_err().field.as_deref(),
            Some("hosts.underlays[1]")
        );
        let many = hosts(r#"{"here": 0, "underlays": ["10.0.0.1"], "first_vni": 16777210}"#);
        assert_eq!(
            many.check("hosts", 8).unwrap_err().field.as_deref(),
            Some("hosts.first_vni")
        );
        assert!(many.check("hosts", 6).is_ok());
    }

    #[test]
    fn a_forwarding_of_one_host_is_refused_on_several() {
        let network = |forwarding: &str, hosts: Value| {
            Network::from_json(
                json!({"run": "abcdefgh", "spec": {"family": "bcube", "n": 2, "k": 1},
                "protocol": "bcube", "forwarding": forwarding, "rate_bits_per_sec": 1e8, "mtu": 1500,
                "servers": [{"id": 0}, {"id": 1}], "links": [{"id": 0, "a": [0, 0], "b": [1, 0]}], "hosts": hosts}),
            )
        };
        let two = json!({"here": 0, "underlays": ["10.0.0.1", "10.0.0.2"], "first_vni": 1});
        let refused = network("serverswitch", two.clone()).unwrap_err();
        assert_eq!(refused.field.as_deref(), Some("network.forwarding"));
        assert!(network("serverswitch-software", two).is_ok());
        assert!(network("serverswitch", Value::Null).is_ok());
    }

    #[test]
    fn a_link_between_servers_of_two_hosts_is_on_both() {
        let network = |here: usize| {
            Network::from_json(
                json!({"run": "abcdefgh", "spec": {"family": "bcube", "n": 2, "k": 1},
                "protocol": "bcube", "forwarding": "kernel", "rate_bits_per_sec": 1e8, "mtu": 1500,
                "servers": [{"id": 0}, {"id": 1, "host": 1}, {"id": 3, "host": 1}],
                "links": [{"id": 0, "a": [0, 0], "b": [1, 0]}, {"id": 1, "a": [1, 1], "b": [3, 1]}],
                "hosts": {"here": here, "underlays": ["10.0.0.1", "10.0.0.2", "10.0.0.3"], "first_vni": 1}}),
            )
            .unwrap()
            .division
        };
        let here: Vec<[bool; 2]> = (0..3)
            .map(|host| [0, 1].map(|link| network(host).has_link(link)))
            .collect();
        assert_eq!(here, [[true, false], [true, true], [false, false]]);
        let remote: Vec<_> = (0..3).map(|host| network(host).remote_end(0)).collect();
        assert_eq!(remote, [Some((1, 1)), Some((0, 0)), None]);
        assert_eq!(
            network(0).vni_count(),
            1,
            "only the link between hosts takes a number"
        );
    }
}
