//! A run spread over several hosts: what of its network is where. Pure, and the same on every host.
//!
//! A server is on one host with all its ports and cables, so that rates, counters, carriers and faults of a link are
//! that host's alone. A switch has a part on each host that has a cable of it; its parts are one Ethernet, joined by
//! VXLAN with a number of the switch's own, as a switch's boards are by its backplane. `[ours]`

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::error::{FabricError, Result};
use crate::network::{Checked, Network, Place};

/// Most hosts of one run.
pub const MAX_HOSTS: usize = 64;
const VNI_LIMIT: u32 = 1 << 24;

/// The hosts of a run, as the caller describes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// Which of them this is.
    pub here: usize,
    /// Their addresses on the network between them.
    pub underlays: Vec<Ipv4Addr>,
    /// VXLAN number of the first switch; the others' follow in order.
    pub first_vni: u32,
}

impl Hosts {
    /// Our own address.
    pub fn own_address(&self) -> Ipv4Addr {
        self.underlays[self.here]
    }

    /// The VXLAN numbers of a run with so many switches.
    pub fn vnis(&self, switches: usize) -> std::ops::Range<u32> {
        self.first_vni..self.first_vni.saturating_add(switches as u32)
    }

    /// Checks the hosts by themselves. `field` is what they are called in errors.
    pub fn check(&self, field: &str, switches: usize) -> Result<()> {
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
        if self.first_vni == 0 || self.vnis(switches).end > VNI_LIMIT {
            let limit = format!(
                "1 to {}, with a number for each switch from there",
                VNI_LIMIT - switches as u32
            );
            return Err(FabricError::bad(
                format!("{field}.first_vni"),
                self.first_vni,
                limit,
                "take a smaller one",
            ));
        }
        Ok(())
    }
}

/// Which host has which part of a network. Of a network on one host that is all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Division {
    here: usize,
    servers: Vec<usize>,
    links: Vec<usize>,
    switches: Vec<BTreeSet<usize>>,
}

impl Division {
    /// Works it out from the servers' hosts. Errors name the field.
    pub fn of(network: &Checked) -> Result<Division> {
        let description = &network.network;
        check_hosts(description)?;
        let servers: Vec<usize> = description.servers.iter().map(|server| server.host).collect();
        let mut homes = vec![None; description.switches.len()];
        for places in &network.places {
            if let [Place::Server { server, .. }, Place::Switch { switch, .. }]
            | [Place::Switch { switch, .. }, Place::Server { server, .. }] = *places
            {
                let first = homes[switch].get_or_insert(servers[server]);
                *first = servers[server].min(*first);
            }
        }
        let mut links = Vec::with_capacity(network.places.len());
        for (link, places) in network.places.iter().enumerate() {
            links.push(match *places {
                [Place::Server { server: a, .. }, Place::Server { server: b, .. }]
                    if servers[a] != servers[b] =>
                {
                    let limit = "a link to a switch, or between two servers of one host";
                    let given = format!("between hosts {} and {}", servers[a], servers[b]);
                    return Err(FabricError::bad(
                        format!("network.links[{link}]"),
                        given,
                        limit,
                        "put both servers on one host",
                    ));
                }
                [Place::Server { server, .. }, _] | [_, Place::Server { server, .. }] => servers[server],
                // A cable between switches is where the first server of either of them is.
                [Place::Switch { switch: a, .. }, Place::Switch { switch: b, .. }] => {
                    homes[a].or(homes[b]).unwrap_or(0)
                }
            });
        }
        let mut switches = vec![BTreeSet::new(); description.switches.len()];
        for (places, host) in network.places.iter().zip(&links) {
            for place in places {
                if let Place::Switch { switch, .. } = place {
                    switches[*switch].insert(*host);
                }
            }
        }
        for hosts in switches.iter_mut().filter(|hosts| hosts.is_empty()) {
            hosts.insert(0);
        }
        check_gateways(network, &servers)?;
        let here = description.hosts.as_ref().map_or(0, |hosts| hosts.here);
        Ok(Division {
            here,
            servers,
            links,
            switches,
        })
    }

    /// Whether a server is on this host.
    pub fn has_server(&self, server: usize) -> bool {
        self.servers[server] == self.here
    }

    /// Whether a link is on this host.
    pub fn has_link(&self, link: usize) -> bool {
        self.links[link] == self.here
    }

    /// Whether a part of a switch is on this host.
    pub fn has_switch(&self, switch: usize) -> bool {
        self.switches[switch].contains(&self.here)
    }

    /// The other hosts that a switch's part on this one is joined to; none where the switch is not here.
    pub fn far_ends(&self, switch: usize) -> impl Iterator<Item = usize> {
        let others = self.switches[switch]
            .iter()
            .copied()
            .filter(|host| *host != self.here);
        others.filter(move |_| self.has_switch(switch))
    }
}

fn check_hosts(network: &Network) -> Result<()> {
    let count = match &network.hosts {
        Some(hosts) => {
            hosts.check("network.hosts", network.switches.len())?;
            hosts.underlays.len()
        }
        None => 1,
    };
    match network.servers.iter().position(|server| server.host >= count) {
        Some(at) => {
            let limit = format!("less than {count}, the number of hosts");
            let field = format!("network.servers[{at}].host");
            Err(FabricError::bad(
                field,
                network.servers[at].host,
                limit,
                "name a host of network.hosts",
            ))
        }
        None => Ok(()),
    }
}

/// What lies outside is one namespace, so it is on one host.
fn check_gateways(network: &Checked, servers: &[usize]) -> Result<()> {
    let gateways = network.network.gateways.iter();
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

    /// A BCube_1 of n-port switches whose servers are on these hosts.
    fn bcube(n: u32, hosts: &[usize], count: u8, here: usize) -> Result<Checked> {
        let servers: Vec<Value> = (0..n * n)
            .map(|id| json!({"id": id, "host": hosts[id as usize]}))
            .collect();
        let switches: Vec<Value> = (n * n..n * n + 2 * n).map(|id| json!({"id": id})).collect();
        let underlays: Vec<Ipv4Addr> = (1..=count).map(|host| Ipv4Addr::new(10, 77, 0, host)).collect();
        Checked::from_json(
            json!({"run": "abcdefgh", "family": "bcube", "spec": {"n": n, "k": 1},
            "rate_bits_per_sec": 1e8, "mtu": 9000, "dataplane": "kernel", "servers": servers, "switches": switches,
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
            let everywhere: Vec<Checked> =
                (0..usize::from(count)).map(|here| bcube(n, &hosts, count, here).unwrap()).collect();
            let having = |has: &dyn Fn(&Division) -> bool| -> Vec<usize> {
                let found = everywhere.iter().enumerate().filter(|(_, checked)| has(&checked.division));
                found.map(|(host, _)| host).collect()
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
                for (host, checked) in everywhere.iter().enumerate() {
                    let far: Vec<usize> = checked.division.far_ends(switch).collect();
                    let others: Vec<usize> = parts.iter().copied().filter(|other| *other != host).collect();
                    prop_assert_eq!(far, if parts.contains(&host) { others } else { Vec::new() });
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_spread_is_refused_by_the_field() {
        let fields = |result: Result<Checked>| result.unwrap_err().field.clone().unwrap();
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
    fn a_cable_between_servers_stays_on_one_host() {
        let network = |far: usize| {
            Checked::from_json(
                json!({"run": "abcdefgh", "family": "dcell", "spec": {"n": 2, "k": 0},
                "rate_bits_per_sec": 1e8, "mtu": 1500, "dataplane": "kernel",
                "servers": [{"id": 0}, {"id": 1, "host": far}], "links": [{"id": 0, "a": [0, 0], "b": [1, 0]}],
                "hosts": {"here": 0, "underlays": ["10.0.0.1", "10.0.0.2"], "first_vni": 1}}),
            )
        };
        assert!(network(0).is_ok());
        assert_eq!(network(1).unwrap_err().field.as_deref(), Some("network.links[0]"));
    }
}
