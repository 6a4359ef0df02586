//! Shared by several test files.
#![allow(dead_code, clippy::unwrap_used)]

use cubeyard_routing::path::link_of;
use cubeyard_routing::{FailureKind, Failures};
use cubeyard_topology::{NodeId, Topology, TopologySpec};
use proptest::prelude::*;

pub fn build(spec: &str) -> Topology {
    let spec: TopologySpec = serde_json::from_str(spec).unwrap();
    Topology::build(&spec).unwrap()
}

/// Walks directed links and checks that they join up from source to destination over live parts.
pub fn assert_walks(
    topology: &Topology,
    source: NodeId,
    destination: NodeId,
    path: &[u32],
    failures: &Failures,
) {
    let links = topology.links();
    let mut at = source;
    for &directed in path {
        let link = link_of(directed) as usize;
        let (from, to) = if directed % 2 == 0 {
            (links.a[link], links.b[link])
        } else {
            (links.b[link], links.a[link])
        };
        assert_eq!(from, at, "links join up");
        assert!(
            !failures.link_failed(link as u32) && !failures.node_failed(to),
            "links and nodes are alive"
        );
        at = to;
    }
    assert_eq!(at, destination);
}

/// Small networks of every family, partial and odd ones among them.
pub const NETWORKS: &[&str] = &[
    r#"{"family":"bcube","n":2,"k":0}"#,
    r#"{"family":"bcube","n":3,"k":2}"#,
    r#"{"family":"bcube","n":4,"k":2,"servers":32}"#,
    r#"{"family":"bcube","n":4,"k":2,"servers":16}"#,
    r#"{"family":"dcell","n":2,"k":2}"#,
    r#"{"family":"dcell","n":4,"k":1}"#,
    r#"{"family":"dcell","n":3,"k":2,"servers":100}"#,
    r#"{"family":"dcell","n":2,"k":0}"#,
    r#"{"family":"torus3d","x":3,"y":4,"z":5}"#,
    r#"{"family":"torus3d","x":2,"y":1,"z":6}"#,
    r#"{"family":"fat_tree","ports":4,"layers":3}"#,
    r#"{"family":"fat_tree","ports":4,"layers":4,"servers":20}"#,
    r#"{"family":"fat_tree","ports":6,"layers":1}"#,
    r#"{"family":"tree","edge_ports":4,"servers":14}"#,
    r#"{"family":"tree","edge_ports":2,"root_ports":2,"servers":9}"#,
    r#"{"family":"leaf_spine","leaves":4,"spines":3,"servers_per_leaf":4}"#,
    r#"{"family":"leaf_spine","leaves":3,"spines":2,"servers_per_leaf":3,"uplinks_per_spine":2,"server_gbps":25}"#,
    r#"{"family":"leaf_spine","leaves":3,"spines":2,"servers_per_leaf":2,"super_spines":3,"pods":2,"uplinks_per_super_spine":2}"#,
    r#"{"family":"subways","type":0,"p":2,"q":4,"l":4,"clusters":2}"#,
    r#"{"family":"subways","type":1,"p":2,"q":4,"l":5,"clusters":3}"#,
    r#"{"family":"subways","type":2,"p":3,"q":6,"l":6,"c":2,"clusters":4,"cluster_gbps":[10,25,10,25]}"#,
    r#"{"family":"torus2d","x":4,"y":5}"#,
    r#"{"family":"torus2d","x":2,"y":3}"#,
    r#"{"family":"jellyfish","switches":10,"ports":6,"servers_per_switch":2}"#,
    r#"{"family":"jellyfish","switches":7,"ports":5,"servers_per_switch":2,"servers":9,"seed":5}"#,
    r#"{"family":"dragonfly","a":3,"p":1,"h":1}"#,
    r#"{"family":"dragonfly","a":2,"p":2,"h":2,"groups":3}"#,
    r#"{"family":"custom","nodes":[{"name":"a","role":"switch"},{"name":"b","role":"switch"},{"name":"c","role":"switch"},{"name":"d","role":"switch","tier":3},{"name":"s1","role":"server"},{"name":"s2","role":"server"},{"name":"s3","role":"server"},{"name":"s4","role":"server"}],"links":[{"a":"s1","b":"a"},{"a":"s2","b":"a"},{"a":"b","b":"s2"},{"a":"s3","b":"b"},{"a":"s4","b":"c"},{"a":"a","b":"b"},{"a":"c","b":"b"},{"a":"c","b":"d"},{"a":"a","b":"d"},{"a":"a","b":"d","gbps":40}]}"#,
    r#"{"family":"custom","link_gbps":25,"nodes":[{"name":"x","role":"server"},{"name":"y","role":"server"},{"name":"z","role":"server"},{"name":"one","role":"switch"},{"name":"two","role":"switch"}],"links":[{"a":"x","b":"one"},{"a":"y","b":"one"},{"a":"x","b":"y"},{"a":"z","b":"two"},{"a":"one","b":"two"}]}"#,
];

/// A random one of them.
pub fn any_topology() -> impl Strategy<Value = Topology> {
    proptest::sample::select(NETWORKS).prop_map(build)
}

/// Random failures of any one kind, or none.
pub fn any_failures() -> impl Strategy<Value = (FailureKind, f64, u64)> {
    let kind = prop_oneof![
        Just(FailureKind::Server),
        Just(FailureKind::Switch),
        Just(FailureKind::Link)
    ];
    (kind, prop_oneof![Just(0.0), 0.0..0.5f64], any::<u64>())
}
