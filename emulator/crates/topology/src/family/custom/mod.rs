//! A network as its user lists it: nodes with roles, links with rates and names of ports.
//!
//! Inside: name and parameters of the family (here), errors and warnings about a list (`findings`),
//! nodes and ports made from a list (`listed`), and the trait `Family` (`shape`).
//!
//! Servers do not relay: a link between two servers carries the traffic of these two only. Links
//! between the same two nodes are a trunk. A plan assumes that the switches of a tier are of one
//! model, and so are all servers. `[ours]`

mod findings;
mod listed;
mod shape;

pub(crate) use findings::validate;
pub(crate) use shape::Custom;

use crate::describe::{Description, Kind, Parameter};
use crate::spec::{CustomRole, CustomSpec, TopologySpec};

/// Most nodes and links: the list of a network of this size is below 2 MiB of JSON, which the API
/// takes.
const NODES_AT_MOST: u32 = 16_384;
const LINKS_AT_MOST: u32 = 32_768;
/// Most links of a server, and of a switch.
const SERVER_PORTS_AT_MOST: u32 = 64;
const SWITCH_PORTS_AT_MOST: u32 = 4_096;

pub(crate) const DESCRIPTION: Description = Description {
    family: "custom",
    title: "Custom network",
    summary: "Any network: servers, switches and links as you list them. Servers do not relay; paths are the shortest ones.",
    source: "[ours]",
    names: "The names that you give: lower-case letters, digits and hyphens, a letter first.",
    parameters: &[
        Parameter::integer("nodes", "", "Nodes", 1, NODES_AT_MOST)
            .kind(Kind::Nodes)
            .doc("Servers and switches: name, role and, for switches, the tier. Without one it follows from the distance to the nearest server."),
        Parameter::integer("links", "", "Links", 0, LINKS_AT_MOST)
            .kind(Kind::Links)
            .doc("Links by the names of their ends, with rate and ports if known. Several between the same two nodes are a trunk."),
        Parameter::number("link_gbps", "", "Link rate", 0.001, 1600.0)
            .unit("Gb/s")
            .default(10.0)
            .doc("The rate of links that have no rate."),
    ],
    presets: &[
        (
            "Two leaves, two spines, 4 servers",
            r#"{"family":"custom","nodes":[{"name":"leaf-1","role":"switch","tier":0},{"name":"leaf-2","role":"switch","tier":0},{"name":"spine-1","role":"switch","tier":1},{"name":"spine-2","role":"switch","tier":1},{"name":"web-1","role":"server"},{"name":"web-2","role":"server"},{"name":"db-1","role":"server"},{"name":"db-2","role":"server"}],"links":[{"a":"web-1","b":"leaf-1"},{"a":"web-2","b":"leaf-1"},{"a":"db-1","b":"leaf-2"},{"a":"db-2","b":"leaf-2"},{"a":"leaf-1","b":"spine-1","gbps":40},{"a":"leaf-1","b":"spine-2","gbps":40},{"a":"leaf-2","b":"spine-1","gbps":40},{"a":"leaf-2","b":"spine-2","gbps":40}]}"#,
        ),
        (
            "A ring of four switches, 1 Gb/s",
            r#"{"family":"custom","link_gbps":1,"nodes":[{"name":"s-1","role":"switch"},{"name":"s-2","role":"switch"},{"name":"s-3","role":"switch"},{"name":"s-4","role":"switch"},{"name":"h-1","role":"server"},{"name":"h-2","role":"server"},{"name":"h-3","role":"server"},{"name":"h-4","role":"server"}],"links":[{"a":"h-1","b":"s-1"},{"a":"h-2","b":"s-2"},{"a":"h-3","b":"s-3"},{"a":"h-4","b":"s-4"},{"a":"s-1","b":"s-2"},{"a":"s-2","b":"s-3"},{"a":"s-3","b":"s-4"},{"a":"s-4","b":"s-1"}]}"#,
        ),
    ],
    read: |parameters| serde_json::from_value(parameters).map(TopologySpec::Custom),
};

/// The list with the tier of every switch.
pub(crate) fn resolve(spec: &CustomSpec) -> CustomSpec {
    let tiers = listed::tiers(spec);
    let mut resolved = spec.clone();
    for (node, tier) in resolved.nodes.iter_mut().zip(tiers) {
        node.tier = (node.role == CustomRole::Switch).then_some(tier);
    }
    resolved
}

pub(crate) fn title(spec: &CustomSpec) -> String {
    let servers = spec.nodes.iter().filter(|node| node.role == CustomRole::Server);
    let (servers, nodes) = (servers.count(), spec.nodes.len());
    let plural = |count: usize, item: &str, several: &str| {
        format!("{count} {}", if count == 1 { item } else { several })
    };
    format!(
        "Custom, {} and {}",
        plural(servers, "server", "servers"),
        plural(nodes - servers, "switch", "switches")
    )
}
