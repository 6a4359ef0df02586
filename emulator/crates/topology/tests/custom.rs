//! Custom networks: each mistake is reported at its row with value, limit and fix, and unusual
//! lists get remarks.

use crate::common;

use common::{build, merge};
use cubeyard_topology::{Finding, Severity, TopologySpec};
use serde_json::{Value, json};

/// Two leaves with a server each, and a spine.
fn valid() -> Value {
    json!({
        "family": "custom",
        "nodes": [
            {"name": "leaf-1", "role": "switch", "tier": 0}, {"name": "leaf-2", "role": "switch"},
            {"name": "spine", "role": "switch"}, {"name": "web-1", "role": "server"}, {"name": "web-2", "role": "server"},
        ],
        "links": [
            {"a": "web-1", "b": "leaf-1", "a_port": "eth1", "b_port": "swp3"}, {"a": "leaf-2", "b": "web-2"},
            {"a": "leaf-1", "b": "spine", "gbps": 40}, {"a": "spine", "b": "leaf-2", "gbps": 40},
        ],
    })
}

fn findings(topology: &Value) -> Vec<Finding> {
    match TopologySpec::from_json(topology) {
        Ok(spec) => spec.validate(),
        Err(error) => error.findings,
    }
}

fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let mut topology = valid();
    change(&mut topology);
    topology
}

#[test]
fn errors_name_the_row_and_their_fix_leads_to_a_network() {
    let cases: Vec<(Value, &str, &str)> = vec![
        (
            changed(|it| it["links"][1]["b"] = json!("web-9")),
            "custom-unknown-end",
            "topology.links[1].b",
        ),
        (
            changed(|it| it["links"][3]["a"] = json!("leaf-2")),
            "custom-link-to-itself",
            "topology.links[3].b",
        ),
        (
            changed(|it| it["nodes"][1]["name"] = json!("leaf-1")),
            "custom-name-twice",
            "topology.nodes[1].name",
        ),
        (
            changed(|it| it["nodes"][2]["name"] = json!("Spine 1")),
            "custom-name",
            "topology.nodes[2].name",
        ),
        (
            changed(|it| it["nodes"][3]["tier"] = json!(1)),
            "custom-tier-of-server",
            "topology.nodes[3].tier",
        ),
        (
            changed(|it| it["links"][2]["a_port"] = json!("swp3")),
            "custom-port-twice",
            "topology.links[2].a_port",
        ),
        (
            changed(|it| it["links"][2]["b_port"] = json!("swp 3")),
            "custom-port-name",
            "topology.links[2].b_port",
        ),
        (
            changed(|it| it["links"][2]["gbps"] = json!(0)),
            "wrong-type",
            "topology.links[2].gbps",
        ),
        (
            changed(|it| it["nodes"][0]["role"] = json!("router")),
            "wrong-type",
            "topology.nodes[0].role",
        ),
        (
            changed(|it| it["nodes"][0]["rack"] = json!(1)),
            "unknown-parameter",
            "topology.nodes[0].rack",
        ),
        (
            changed(|it| it["links"][0] = json!(["web-1", "leaf-1"])),
            "wrong-type",
            "topology.links[0]",
        ),
        (
            changed(|it| {
                it["nodes"] = json!([{"name": "a", "role": "switch"}]);
                it["links"] = json!([]);
            }),
            "custom-no-server",
            "topology.nodes",
        ),
    ];
    for (topology, code, field) in cases {
        let found = findings(&topology);
        let error = found.iter().find(|finding| finding.is_error()).unwrap();
        assert_eq!((error.code, error.field.as_str()), (code, field), "{topology}");
        assert!(error.limit.is_some() && !error.hint.is_empty(), "{error:?}");
        let mut plan = json!({ "topology": topology });
        // One fix may uncover the next mistake: a renamed node leaves links behind.
        for _ in 0..3 {
            let found = findings(&plan["topology"]);
            if let Some(error) = found.iter().find(|finding| finding.is_error()) {
                merge(&mut plan, error.fix.as_ref().unwrap());
            }
        }
        assert!(
            !findings(&plan["topology"]).iter().any(Finding::is_error),
            "{plan}"
        );
    }
}

#[test]
fn lists_beyond_the_limits_are_refused() {
    let node = |index: u32| json!({"name": format!("n{index}"), "role": "server"});
    let topology =
        json!({"family": "custom", "nodes": (0..16_385).map(node).collect::<Vec<_>>(), "links": []});
    let error = findings(&topology).remove(0);
    assert_eq!(
        (error.field.as_str(), error.value),
        ("topology.nodes", Some(json!(16_385)))
    );
    assert_eq!(error.limit, Some(json!([1, 16_384])));
    let star = json!({
        "family": "custom",
        "nodes": (0..66).map(node).collect::<Vec<_>>(),
        "links": (1..66).map(|index| json!({"a": "n0", "b": format!("n{index}")})).collect::<Vec<_>>(),
    });
    let error = findings(&star).remove(0);
    assert_eq!(
        (error.code, error.field.as_str()),
        ("custom-too-many-links", "topology.links[64].a")
    );
}

#[test]
fn what_is_odd_is_said() {
    let codes = |topology: &Value| -> Vec<(&str, Severity)> {
        findings(topology)
            .iter()
            .map(|finding| (finding.code, finding.severity))
            .collect()
    };
    assert_eq!(codes(&valid()), []);
    let twice = |link: Value| changed(|it| it["links"].as_array_mut().unwrap().push(link));
    assert_eq!(
        codes(&twice(json!({"a": "spine", "b": "leaf-1"}))),
        [("custom-duplicate-link", Severity::Warning)]
    );
    assert_eq!(
        codes(&twice(json!({"a": "spine", "b": "leaf-1", "a_port": "p9"}))),
        [("custom-trunk", Severity::Info)]
    );
    assert_eq!(
        codes(&twice(json!({"a": "web-1", "b": "web-2"}))),
        [("custom-direct-link", Severity::Info)]
    );
    let parted = changed(|it| drop(it["links"].as_array_mut().unwrap().pop()));
    assert_eq!(codes(&parted), [("custom-cut-off", Severity::Warning)]);
    assert!(!build(&parted.to_string()).certificate().passed);
}

#[test]
fn names_ports_tiers_and_rates_are_those_of_the_list() {
    let topology = build(&valid().to_string());
    let node = |name: &str| topology.node_by_name(name).unwrap();
    assert_eq!(topology.host_name(node("web-1")), "web-1");
    assert_eq!(topology.port_name(node("web-1"), 0), "eth1");
    let leaf = topology.tier_of(node("leaf-2")).unwrap();
    assert_eq!(
        (leaf.role, leaf.level, leaf.count, leaf.ports, leaf.uplink_ports),
        ("tier-0", 0, 2, 2, 1)
    );
    assert_eq!(
        (leaf.port_rate_bits_per_sec, leaf.uplink_rate_bits_per_sec),
        (10e9, 40e9)
    );
    assert_eq!(topology.tier_of(node("spine")).unwrap().level, 1);
    assert_eq!(topology.links().level, [0, 0, 1, 1]);
    assert!(topology.certificate().passed);
}
