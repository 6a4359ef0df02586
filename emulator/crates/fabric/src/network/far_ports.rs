//! Finds the server ports behind a tunnel to another host's part of a switch. Tunnels and switches
//! get them as configuration, so that they need not learn addresses. `[ours]`

use std::collections::BTreeSet;

use super::{Network, Place};

/// The links of each switch, by index.
pub fn links_of_switches(network: &Network) -> Vec<Vec<usize>> {
    let mut links = vec![Vec::new(); network.description.switches.len()];
    for (link, places) in network.places.iter().enumerate() {
        for place in places {
            if let Place::Switch { switch, .. } = place {
                links[*switch].push(link);
            }
        }
    }
    links
}

/// Ends that frames from `switch` reach through its tunnel to `host`, as server index and port:
/// those at the part there, and at the switches behind it. Linear in the size of the segment.
pub fn far_ports(
    network: &Network,
    links_of: &[Vec<usize>],
    switch: usize,
    host: usize,
) -> Vec<(usize, u16)> {
    let division = &network.division;
    let mut reached = Vec::new();
    let mut seen = BTreeSet::from([(switch, host)]);
    let mut waiting = vec![(switch, host)];
    while let Some((part, at)) = waiting.pop() {
        let mut next: Vec<(usize, usize)> = Vec::new();
        for link in links_of[part].iter().filter(|link| division.is_on(**link, at)) {
            for place in network.places[*link] {
                match place {
                    Place::Server { server, port } => reached.push((server, port)),
                    Place::Switch { switch: other, .. } => next.push((other, at)),
                }
            }
        }
        next.extend(division.hosts_of_switch(part).map(|other| (part, other)));
        // The other parts of this switch have their own tunnels.
        next.retain(|(other, _)| *other != switch);
        waiting.extend(next.into_iter().filter(|part| seen.insert(*part)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A network of two edge switches (10, 11) and a root (12), with servers 0 and 1 on the first
    /// edge, 2 and 3 on the second.
    fn tree(hosts: [usize; 4], here: usize) -> Network {
        let servers: Vec<Value> = (0..4).map(|id| json!({"id": id, "host": hosts[id]})).collect();
        let links = json!([
            {"id": 0, "a": [0, 0], "b": [4, 0]}, {"id": 1, "a": [1, 0], "b": [4, 1]},
            {"id": 2, "a": [2, 0], "b": [5, 0]}, {"id": 3, "a": [3, 0], "b": [5, 1]},
            {"id": 4, "a": [4, 2], "b": [6, 0]}, {"id": 5, "a": [5, 2], "b": [6, 1]},
        ]);
        let underlays = ["10.77.0.1", "10.77.0.2"];
        Network::from_json(
            json!({"run": "abcdefgh", "spec": {"family": "tree", "edge_ports": 2, "root_ports": 2, "servers": 4}, "protocol": "none",  "rate_bits_per_sec": 1e8, "mtu": 9000, "servers": servers,
            "switches": [{"id": 4}, {"id": 5}, {"id": 6}], "links": links,
            "hosts": {"here": here, "underlays": underlays, "first_vni": 4096}}),
        )
        .unwrap()
    }

    fn servers_behind(network: &Network, switch: usize, host: usize) -> Vec<usize> {
        let ports = far_ports(network, &links_of_switches(network), switch, host);
        let mut servers: Vec<usize> = ports.iter().map(|(server, _)| *server).collect();
        servers.sort_unstable();
        servers
    }

    #[test]
    fn ports_behind_a_tunnel_include_those_behind_switches_of_its_far_part() {
        // The first edge has its servers on two hosts; the root and the second edge are on host 1.
        let network = tree([0, 1, 1, 1], 0);
        assert_eq!(network.division.other_hosts(0).collect::<Vec<_>>(), [1]);
        let links_here = network.division.is_on(4, 0);
        assert!(links_here, "it is on the host of the first server");
        assert_eq!(servers_behind(&network, 0, 1), [1]);
        assert_eq!(servers_behind(&network, 2, 1), [2, 3]);
        let other = tree([0, 1, 1, 1], 1);
        assert_eq!(servers_behind(&other, 0, 0), [0, 2, 3]);
    }
}
