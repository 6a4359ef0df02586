//! One line per family, routing scheme and fault: the prediction for a small network. A change of
//! behaviour shows as a change of this table.

use std::fmt::Write;

use cubeyard_routing::names_for;
use cubeyard_sim::{Experiment, Network, Progress, predict};
use cubeyard_topology::families;
use serde_json::{Value, json};

fn networks() -> Vec<(&'static str, Value)> {
    vec![
        ("BCube(4,1)", json!({"family": "bcube", "n": 4, "k": 1})),
        (
            "partial BCube(3,2)",
            json!({"family": "bcube", "n": 3, "k": 2, "servers": 18}),
        ),
        ("DCell(4,1)", json!({"family": "dcell", "n": 4, "k": 1})),
        (
            "partial DCell(2,2)",
            json!({"family": "dcell", "n": 2, "k": 2, "servers": 30}),
        ),
        (
            "torus 4x3x2",
            json!({"family": "torus3d", "x": 4, "y": 3, "z": 2}),
        ),
        (
            "fat-tree, 4 ports",
            json!({"family": "fat_tree", "ports": 4, "layers": 3}),
        ),
        (
            "tree of 16",
            json!({"family": "tree", "edge_ports": 4, "servers": 16}),
        ),
        (
            "leaf-spine, 4 leaves",
            json!({"family": "leaf_spine", "leaves": 4, "spines": 2, "servers_per_leaf": 4, "uplink_gbps": 10}),
        ),
        (
            "leaf-spine, 2 pods",
            json!({"family": "leaf_spine", "leaves": 2, "spines": 2, "servers_per_leaf": 3, "uplink_gbps": 10,
                "super_spines": 2, "pods": 2, "spine_uplink_gbps": 10}),
        ),
        (
            "Subways type 1",
            json!({"family": "subways", "type": 1, "p": 2, "q": 4, "l": 6, "clusters": 2, "uplink_gbps": 10}),
        ),
        (
            "Subways type 2",
            json!({"family": "subways", "type": 2, "p": 2, "q": 4, "l": 6, "c": 2, "clusters": 2, "uplink_gbps": 10}),
        ),
        ("torus 4x5", json!({"family": "torus2d", "x": 4, "y": 5})),
        (
            "Jellyfish, 8 switches",
            json!({"family": "jellyfish", "switches": 8, "ports": 6, "servers_per_switch": 2}),
        ),
        (
            "Dragonfly, 5 groups",
            json!({"family": "dragonfly", "a": 2, "p": 2, "h": 2}),
        ),
        (
            "custom, ring of 4",
            json!({"family": "custom",
                "nodes": [{"name": "n", "role": "switch"}, {"name": "e", "role": "switch"}, {"name": "s", "role": "switch"},
                    {"name": "w", "role": "switch"}, {"name": "h-n", "role": "server"}, {"name": "h-e", "role": "server"},
                    {"name": "h-s", "role": "server"}, {"name": "h-w", "role": "server"}],
                "links": [{"a": "h-n", "b": "n"}, {"a": "h-e", "b": "e"}, {"a": "h-s", "b": "s"}, {"a": "h-w", "b": "w"},
                    {"a": "n", "b": "e"}, {"a": "e", "b": "s"}, {"a": "s", "b": "w"}, {"a": "w", "b": "n"}]}),
        ),
    ]
}

/// One row: the results of a workload.
fn row(network: &Network, workload: &Value, routing: &str, faults: &Value) -> String {
    let experiment = json!({"workload": workload, "routing": routing, "faults": faults, "seeds": [7]});
    let experiment = Experiment::from_json(&experiment.to_string()).unwrap();
    let document = predict(network, &experiment, &Progress::default()).unwrap();
    let number = |path: &str| document.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    format!(
        "{:>10.3} {:>7} {:>8} {:>9} {:>6.3} {:>4} {:>10.4}",
        number("/abt_gbps"),
        number("/flows"),
        number("/dropped_flows"),
        number("/max_link_flows"),
        number("/path_hops/mean"),
        number("/path_hops/max"),
        number("/maxmin/total_gbps"),
    )
}

#[test]
fn every_family_has_rows() {
    for family in families().as_array().unwrap() {
        let there = networks()
            .iter()
            .any(|(_, spec)| spec["family"] == family["family"]);
        assert!(
            there,
            "add a network of {} to `networks` of emulator/crates/sim/tests/golden.rs",
            family["family"]
        );
    }
}

#[test]
fn predictions_across_families_and_routings() {
    let faults = [
        ("whole", json!([])),
        (
            "switches 10 %",
            json!([{"target": {"kind": "switches", "ratio": 0.1}}]),
        ),
        (
            "servers 20 %",
            json!([{"target": {"kind": "servers", "ratio": 0.2}}]),
        ),
        ("links 5 %", json!([{"target": {"kind": "links", "ratio": 0.05}}])),
    ];
    let mut table = format!(
        "{:<20} {:<16} {:<14} {:>10} {:>7} {:>8} {:>9} {:>6} {:>4} {:>10}\n",
        "network",
        "routing",
        "failed",
        "ABT Gb/s",
        "flows",
        "dropped",
        "max flows",
        "hops",
        "most",
        "fair Gb/s"
    );
    for (name, spec) in networks() {
        let network = Network::open(&spec.to_string()).unwrap();
        for (routing, _) in names_for(network.topology().spec()) {
            for (what, faults) in &faults {
                // A torus has no switch to fail.
                if network.topology().switch_count() == 0 && what.starts_with("switches") {
                    continue;
                }
                writeln!(
                    table,
                    "{name:<20} {routing:<16} {what:<14} {}",
                    row(&network, &json!({"kind": "all-to-all"}), routing, faults)
                )
                .unwrap();
            }
        }
    }
    insta::assert_snapshot!(table);
}

/// Two adjacent logical racks send to all far racks of the loop: the case for which balancing and
/// detours exist.
#[test]
fn predictions_of_hot_subways_racks() {
    let mut table = format!(
        "{:<4} {:<5} {:<16} {:>10} {:>7} {:>8} {:>9} {:>6} {:>4} {:>10}\n",
        "type", "ports", "routing", "ABT Gb/s", "flows", "dropped", "max flows", "hops", "most", "fair Gb/s"
    );
    for (wiring_type, ports) in [(0, 2), (1, 2), (1, 3), (2, 2)] {
        let spec = json!({
            "family": "subways", "type": wiring_type, "p": ports, "q": 4 * ports, "l": 12, "clusters": 2,
            "c": if wiring_type == 2 { 2 } else { 1 }, "uplink_gbps": 10,
        });
        let network = Network::open(&spec.to_string()).unwrap();
        let mut entries = Vec::new();
        for (rack, far) in (2..4).flat_map(|rack| (6..11).map(move |far| (rack, far))) {
            for (from, to) in (0..4).flat_map(|from| (0..4).map(move |to| (from, to))) {
                entries.push((format!("0.{rack}.{from}"), format!("0.{far}.{to}"), 1));
            }
        }
        let workload = json!({"kind": "matrix", "entries": entries});
        for routing in ["subways-ecmp", "subways-adaptive", "subways-detour", "ecmp"] {
            writeln!(
                table,
                "{wiring_type:<4} {ports:<5} {routing:<16} {}",
                row(&network, &workload, routing, &json!([]))
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(table);
}
