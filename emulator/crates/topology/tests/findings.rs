//! Bad parameters: every error names field, value, limit and a fix that leads to something valid.

use crate::common;

use common::{cases, merge};
use cubeyard_topology::{Finding, Size, TopologySpec, families, json_schema};
use proptest::prelude::*;
use serde_json::{Value, json};

fn findings(topology: &Value) -> Vec<Finding> {
    match TopologySpec::from_json(topology) {
        Ok(spec) => spec.validate(),
        Err(error) => error.findings,
    }
}

fn first_error(topology: &Value) -> Option<Finding> {
    findings(topology).into_iter().find(Finding::is_error)
}

/// Clicks the fix of the first error until none is left.
fn repaired(mut topology: Value) -> Result<Value, String> {
    for _ in 0..24 {
        let Some(error) = first_error(&topology) else {
            return Ok(topology);
        };
        let Some(fix) = &error.fix else {
            return Err(format!("no fix: {error:?} for {topology}"));
        };
        let mut plan = json!({ "topology": topology });
        merge(&mut plan, fix);
        if plan["topology"] == topology {
            return Err(format!("the fix changes nothing: {error:?} for {topology}"));
        }
        topology = plan["topology"].take();
    }
    Err(format!("never repaired, at {topology}"))
}

/// Small and huge whole numbers, as users mistype them.
fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => (0u64..=60).prop_map(Value::from),
        2 => (0u64..=5_000).prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => (-10.0..200.0f64).prop_map(Value::from),
    ]
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        any::<f64>().prop_map(Value::from),
        "[a-z0-9 .+-]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map("[a-z_]{0,8}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Objects of a known family whose known parameters have the given kind of values.
fn filled(value: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    let value = value.boxed();
    let Value::Array(all) = families() else {
        unreachable!()
    };
    let one = all.into_iter().map(move |family| {
        let names: Vec<String> = family["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p["name"].as_str().unwrap().to_owned())
            .collect();
        let tag = family["family"].clone();
        proptest::collection::vec(proptest::option::weighted(0.7, value.clone()), names.len()).prop_map(
            move |values| {
                let mut object = json!({ "family": tag });
                for (name, value) in names.iter().zip(values) {
                    if let Some(value) = value {
                        object[name] = value;
                    }
                }
                object
            },
        )
    });
    proptest::strategy::Union::new(one).boxed()
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn any_json_is_read_or_refused_with_reasons(value in prop_oneof![anything(), filled(anything())]) {
        for finding in findings(&value) {
            prop_assert!(finding.field.starts_with("topology"));
            prop_assert!(!finding.message.is_empty());
            prop_assert!(!finding.is_error() || !finding.hint.is_empty(), "{finding:?}");
        }
        let by_serde = serde_json::from_value::<TopologySpec>(value.clone());
        prop_assert_eq!(by_serde.is_ok(), TopologySpec::from_json(&value).is_ok());
    }

    #[test]
    fn every_error_can_be_clicked_away(value in prop_oneof![filled(number()), filled(anything()), anything()]) {
        let fixed = repaired(value);
        prop_assert!(fixed.is_ok(), "{}", fixed.unwrap_err());
    }

    #[test]
    fn what_is_valid_and_small_can_be_built(value in filled(number())) {
        if let Ok(spec) = TopologySpec::from_json(&value)
            && let Ok(Size { links, .. }) = spec.size()
        {
            prop_assert!(links <= cubeyard_topology::MAX_LINKS);
            prop_assert!(!spec.title().is_empty());
            if links <= 20_000 {
                let topology = cubeyard_topology::Topology::build(&spec).unwrap();
                prop_assert_eq!(topology.link_count() as u64, links);
                let certificate = topology.certificate();
                prop_assert!(certificate.passed, "{:?}: {:?}", spec, certificate);
                topology.metrics();
            }
        }
    }
}

#[test]
fn one_click_fixes_give_the_nearest_valid_values() {
    let cases = [
        (
            json!({"family":"jellyfish","switches":10,"ports":4,"servers_per_switch":3}),
            "jellyfish-too-few-ports",
            json!({"ports":5}),
        ),
        (
            json!({"family":"jellyfish","switches":4,"ports":16,"servers_per_switch":3}),
            "jellyfish-too-many-ports",
            json!({"ports":6}),
        ),
        (
            json!({"family":"jellyfish","switches":10,"ports":8,"servers_per_switch":3,"servers":31}),
            "jellyfish-servers",
            json!({"servers":30}),
        ),
        (
            json!({"family":"dragonfly","a":4,"p":2,"h":2,"groups":10}),
            "dragonfly-too-many-groups",
            json!({"groups":9}),
        ),
        (
            json!({"family":"bcube","n":8,"k":3,"servers":2000}),
            "bcube-servers-not-whole",
            json!({"servers":2048}),
        ),
        (
            json!({"family":"bcube","n":8,"k":3,"servers":5000}),
            "bcube-too-many-servers",
            json!({"servers":4096}),
        ),
        (
            json!({"family":"bcube","n":1,"k":3}),
            "out-of-range",
            json!({"n":2}),
        ),
        (
            json!({"family":"bcube","n":"8","k":3}),
            "wrong-type",
            json!({"n":8}),
        ),
        (
            json!({"family":"bcube","n":8.0,"k":3}),
            "wrong-type",
            json!({"n":8}),
        ),
        (
            json!({"family":"bcube","k":3}),
            "missing-parameter",
            json!({"n":8}),
        ),
        (
            json!({"family":"bcube","n":8,"k":3,"server":512}),
            "unknown-parameter",
            json!({"server":null,"servers":512}),
        ),
        (
            json!({"family":"bcube","n":8,"k":20}),
            "topology-too-large",
            json!({"k":6}),
        ),
        (
            json!({"family":"dcell","n":8,"k":2,"servers":9999}),
            "dcell-too-many-servers",
            json!({"servers":5256}),
        ),
        (
            json!({"family":"fattree","ports":8}),
            "unknown-family",
            json!({"family":"fat_tree"}),
        ),
        // By a word of its title.
        (
            json!({"family":"CamCube","x":4,"y":4,"z":4}),
            "unknown-family",
            json!({"family":"torus3d"}),
        ),
        (
            json!({"family":"fat_tree","ports":7}),
            "fat-tree-odd-ports",
            json!({"ports":8}),
        ),
        (
            json!({"family":"fat_tree","ports":8,"servers":50}),
            "fat-tree-servers-not-whole",
            json!({"servers":52}),
        ),
        (
            json!({"family":"subways","type":1,"p":4,"q":40,"l":3}),
            "subways-loop-too-short",
            json!({"l":4}),
        ),
        (
            json!({"family":"subways","type":1,"p":4,"q":30,"l":9}),
            "subways-ports-not-whole",
            json!({"q":32}),
        ),
        (
            json!({"family":"subways","type":2,"p":2,"q":30,"l":12,"c":3,"clusters":4}),
            "subways-clusters-not-whole",
            json!({"clusters":3}),
        ),
        (
            json!({"family":"subways","type":0,"p":2,"q":30,"l":12,"server_gbps":[10,25]}),
            "subways-mixed-trunk",
            json!({"server_gbps":10.0}),
        ),
        (
            json!({"family":"leaf_spine","leaves":4,"spines":0,"servers_per_leaf":2}),
            "out-of-range",
            json!({"spines":1}),
        ),
        (
            json!({"family":"leaf_spine","leaves":4,"spines":2,"servers_per_leaf":2.5}),
            "wrong-type",
            json!({"servers_per_leaf":3}),
        ),
        (
            json!({"family":"leaf_spine","leaves":4,"spines":2,"servers_per_leaf":2,"pods":3}),
            "leaf-spine-pods-apart",
            json!({"super_spines":2}),
        ),
        (
            json!({"family":"leaf_spine","leaves":4,"spines":512,"servers_per_leaf":2,"pods":200,"super_spines":2}),
            "leaf-spine-too-many-ports",
            json!({"pods":128}),
        ),
        (
            json!({"family":"torus3d","x":4000,"y":4000,"z":4}),
            "topology-too-large",
            json!({"x":256,"y":256,"z":4}),
        ),
    ];
    for (topology, code, fix) in cases {
        let error = first_error(&topology).unwrap_or_else(|| panic!("{topology} must be refused"));
        assert_eq!(
            (error.code, error.fix),
            (code, Some(json!({ "topology": fix }))),
            "{topology}"
        );
    }
}

#[test]
fn messages_name_field_value_limit_and_fix() {
    let error = first_error(&json!({"family":"bcube","n":8,"k":3,"servers":2000})).unwrap();
    assert_eq!(error.field, "topology.servers");
    assert_eq!((error.value, error.limit), (Some(json!(2000)), Some(json!(512))));
    assert_eq!(
        error.message,
        "servers is 2000, but must be a multiple of n^k = 512: whole BCube_2s."
    );
    assert_eq!(error.hint, "The nearest valid values are 1536 or 2048.");
    let json = serde_json::to_value(first_error(&json!({"family":"bcube","n":-3,"k":3})).unwrap()).unwrap();
    assert_eq!(
        json,
        json!({
            "severity": "error",
            "code": "out-of-range",
            "where": "topology.n",
            "message": "n is -3, but must be a whole number from 2 to 1024.",
            "hint": "The nearest valid value is 2.",
            "fix": {"topology": {"n": 2}},
            "value": -3,
            "limit": [2, 1024],
        })
    );
    let text = serde_json::from_str::<TopologySpec>(r#"{"family":"bcube","n":1,"k":3}"#)
        .unwrap_err()
        .to_string();
    assert!(
        text.starts_with("topology.n: n is 1, but must be a whole number from 2 to 1024."),
        "{text}"
    );
}

#[test]
fn odd_but_valid_specifications_carry_remarks() {
    for (topology, code) in [
        (json!({"family":"torus2d","x":2,"y":4}), "torus-short-axis"),
        (
            json!({"family":"jellyfish","switches":5,"ports":4,"servers_per_switch":1}),
            "jellyfish-odd-port",
        ),
        (
            json!({"family":"dragonfly","a":4,"p":2,"h":2,"groups":4}),
            "dragonfly-free-ports",
        ),
        (
            json!({"family":"dragonfly","a":4,"p":1,"h":2}),
            "dragonfly-unbalanced",
        ),
        (
            json!({"family":"bcube","n":8,"k":3,"servers":512}),
            "bcube-idle-top-level",
        ),
        (
            json!({"family":"bcube","n":8,"k":3,"servers":2048}),
            "bcube-partial",
        ),
        (
            json!({"family":"dcell","n":8,"k":2,"servers":2048}),
            "dcell-partial",
        ),
        (
            json!({"family":"dcell","n":8,"k":2,"servers":72}),
            "dcell-idle-top-level",
        ),
        (json!({"family":"torus3d","x":4,"y":2,"z":1}), "torus-short-axis"),
        (
            json!({"family":"tree","edge_ports":4,"root_ports":4,"servers":64}),
            "tree-more-levels",
        ),
        (
            json!({"family":"leaf_spine","leaves":1,"spines":2,"servers_per_leaf":2}),
            "leaf-spine-one-leaf",
        ),
        (
            json!({"family":"leaf_spine","leaves":2,"spines":1,"servers_per_leaf":2}),
            "leaf-spine-one-spine",
        ),
        (
            json!({"family":"leaf_spine","leaves":4,"spines":4,"servers_per_leaf":48}),
            "leaf-spine-oversubscribed",
        ),
        (
            json!({"family":"leaf_spine","leaves":16,"spines":4,"servers_per_leaf":16,"super_spines":4,"pods":4}),
            "leaf-spine-spines-oversubscribed",
        ),
        (
            json!({"family":"leaf_spine","leaves":2,"spines":2,"servers_per_leaf":2,"super_spines":2}),
            "leaf-spine-one-pod",
        ),
        (
            json!({"family":"leaf_spine","leaves":2,"spines":2,"servers_per_leaf":2,"super_spines":1,"pods":2}),
            "leaf-spine-one-super-spine",
        ),
        (
            json!({"family":"subways","type":1,"p":3,"q":30,"l":3}),
            "subways-multihoming",
        ),
        (
            json!({"family":"subways","type":1,"p":3,"q":30,"l":5,"c":2}),
            "subways-clusters-per-loop-unused",
        ),
    ] {
        let found = findings(&topology);
        assert!(
            found.iter().all(|finding| !finding.is_error()),
            "{topology}: {found:?}"
        );
        assert!(
            found.iter().any(|finding| finding.code == code),
            "{topology}: {found:?}"
        );
    }
}

#[test]
fn the_oversubscription_of_leaves_is_told() {
    for (uplinks, server_gbps, ratio, sentence) in [
        (
            1,
            10.0,
            "3:1",
            Some(
                "Oversubscription 3:1: the servers of a leaf can send 480 Gb/s, its uplinks carry 160 Gb/s.",
            ),
        ),
        (
            1,
            12.5,
            "3.75:1",
            Some(
                "Oversubscription 3.75:1: the servers of a leaf can send 600 Gb/s, its uplinks carry 160 Gb/s.",
            ),
        ),
        (3, 10.0, "1:1", None),
        (6, 10.0, "0.5:1", None),
    ] {
        let topology = json!({
            "family": "leaf_spine", "leaves": 16, "spines": 4, "servers_per_leaf": 48,
            "uplinks_per_spine": uplinks, "server_gbps": server_gbps,
        });
        let spec = TopologySpec::from_json(&topology).unwrap();
        assert_eq!(
            spec.title(),
            format!("Leaf-spine, 16 leaves and 4 spines, {ratio}")
        );
        let messages: Vec<String> = spec
            .validate()
            .into_iter()
            .map(|finding| finding.message)
            .collect();
        assert_eq!(messages, Vec::from_iter(sentence.map(str::to_owned)));
    }
}

#[test]
fn descriptions_are_complete_and_presets_are_valid() {
    let Value::Array(families) = families() else {
        panic!("a list")
    };
    for family in &families {
        for key in ["family", "title", "summary", "source", "names"] {
            assert!(!family[key].as_str().unwrap().is_empty(), "{key} of {family}");
        }
        for parameter in family["parameters"].as_array().unwrap() {
            for key in ["name", "title", "kind", "doc"] {
                assert!(
                    !parameter[key].as_str().unwrap().is_empty(),
                    "{key} of {parameter}"
                );
            }
            assert!(parameter["min"].as_f64().unwrap() <= parameter["max"].as_f64().unwrap());
            let required = parameter["required"].as_bool().unwrap();
            let has_default = !parameter["default"].is_null() || !parameter["default_doc"].is_null();
            assert_eq!(required, !has_default, "{parameter}");
            if !parameter["default"].is_null() {
                let name = parameter["name"].as_str().unwrap();
                let mut left_out = family["example"].clone();
                left_out.as_object_mut().unwrap().remove(name);
                let mut stated = left_out.clone();
                stated[name] = parameter["default"].clone();
                assert_eq!(
                    TopologySpec::from_json(&left_out).unwrap(),
                    TopologySpec::from_json(&stated).unwrap(),
                    "{name} left out is its default"
                );
            }
        }
        assert_eq!(family["presets"][0]["spec"], family["example"]);
        for preset in family["presets"].as_array().unwrap() {
            let spec = TopologySpec::from_json(&preset["spec"]).unwrap();
            assert!(spec.size().is_ok(), "{preset}");
            assert_eq!(preset["spec"]["family"], family["family"]);
        }
    }
    assert_eq!(json_schema()["oneOf"].as_array().unwrap().len(), families.len());
}
