//! All-to-all traffic on whole leaf-spine networks against its closed form.

use cubeyard_sim::{Experiment, Network, Progress, predict};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Aggregate bottleneck throughput of `routing`, in Gb/s, and its upper bound with balanced paths.
fn abt_and_bound(spec: &Value, routing: &str) -> (f64, f64) {
    let network = Network::open(&spec.to_string()).unwrap();
    let experiment = json!({"workload": {"kind": "all-to-all"}, "routing": routing, "seeds": [7]});
    let experiment = Experiment::from_json(&experiment.to_string()).unwrap();
    let document = predict(&network, &experiment, &Progress::default()).unwrap();
    let server_gbps = spec["server_gbps"].as_f64().unwrap();
    let bound = network.topology().metrics().all_to_all_throughput.unwrap();
    (document["abt_gbps"].as_f64().unwrap(), bound.value * server_gbps)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..crate::cases::cases(64) })]

    /// No choice of paths beats the closed form, and where there is no choice, or none that matters
    /// because the servers' own links are the bottleneck even with all flows of a leaf on one
    /// uplink, the prediction equals it.
    #[test]
    fn all_to_all_is_bounded_by_its_closed_form_and_equals_it_without_choice(
        leaves in 2u32..=6, spines in 1u32..=4, servers_per_leaf in 1u32..=6, uplinks_per_spine in 1u32..=2,
        server_gbps in prop_oneof![Just(1.0), Just(10.0), Just(25.0)],
        uplink_gbps in prop_oneof![Just(10.0), Just(40.0), Just(1600.0)],
        (super_spines, pods) in prop_oneof![Just((0u32, 1u32)), (1u32..=3, 1u32..=3)],
        spine_uplink_gbps in prop_oneof![Just(10.0), Just(100.0), Just(1600.0)],
    ) {
        let spec = json!({
            "family": "leaf_spine", "leaves": leaves, "spines": spines, "servers_per_leaf": servers_per_leaf,
            "uplinks_per_spine": uplinks_per_spine, "server_gbps": server_gbps, "uplink_gbps": uplink_gbps,
            "super_spines": super_spines, "pods": pods, "spine_uplink_gbps": spine_uplink_gbps,
        });
        let (abt, bound) = abt_and_bound(&spec, "leaf-spine");
        prop_assert!(abt <= bound * (1.0 + 1e-9), "{abt} of {bound}");
        let servers = f64::from(pods * leaves * servers_per_leaf);
        let leaving = |below: u32| f64::from(below) * (servers - f64::from(below));
        let one_way = spines * uplinks_per_spine == 1 && super_spines <= 1;
        let of_server = (servers - 1.0) / server_gbps;
        let wide_enough = leaving(servers_per_leaf) / uplink_gbps <= of_server
            && leaving(leaves * servers_per_leaf) / spine_uplink_gbps <= of_server;
        if one_way || wide_enough {
            prop_assert!((abt - bound).abs() <= bound * 1e-9, "{abt}, but {bound} in closed form");
        }
    }
}

#[test]
fn one_spine_carries_what_the_closed_form_says() {
    // 16 servers on 4 leaves with one uplink of 10 Gb/s each. At 1:1 the servers' links are the
    // bottleneck, 15 flows on each: 240 flows of 2.5 Gb/s / 15. At 4:1 the bottleneck is the
    // uplinks, with 4 x 12 flows on each: 240 flows of 10 Gb/s / 48.
    for (server_gbps, expected) in [(2.5, 40.0), (10.0, 50.0)] {
        let spec = json!({
            "family": "leaf_spine", "leaves": 4, "spines": 1, "servers_per_leaf": 4,
            "server_gbps": server_gbps, "uplink_gbps": 10,
        });
        for routing in ["leaf-spine", "ecmp", "shortest"] {
            let (abt, bound) = abt_and_bound(&spec, routing);
            assert!((abt - expected).abs() < 1e-9, "{routing}: {abt}");
            assert!((bound - expected).abs() < 1e-9, "{bound}");
        }
    }
}

#[test]
fn one_super_spine_carries_what_the_closed_form_says() {
    // 16 servers on 4 leaves of 2 pods, with one uplink of 10 Gb/s a leaf and one uplink a spine.
    // Uplinks of leaves carry 4 x 12 flows, those of spines 8 x 8: 240 flows of 10 Gb/s / 64 where
    // they are equally fast, else 10 Gb/s / 48.
    for (spine_uplink_gbps, expected) in [(10.0, 37.5), (40.0, 50.0)] {
        let spec = json!({
            "family": "leaf_spine", "leaves": 2, "spines": 1, "servers_per_leaf": 4, "super_spines": 1, "pods": 2,
            "server_gbps": 10.0, "uplink_gbps": 10, "spine_uplink_gbps": spine_uplink_gbps,
        });
        for routing in ["leaf-spine", "ecmp", "shortest"] {
            let (abt, bound) = abt_and_bound(&spec, routing);
            assert!((abt - expected).abs() < 1e-9, "{routing}: {abt}");
            assert!((bound - expected).abs() < 1e-9, "{bound}");
        }
    }
}

#[test]
fn many_flows_come_close_to_balance() {
    let spec = json!({
        "family": "leaf_spine", "leaves": 8, "spines": 4, "servers_per_leaf": 32, "server_gbps": 10, "uplink_gbps": 40,
    });
    let (abt, bound) = abt_and_bound(&spec, "leaf-spine");
    // 32 x 224 flows over 4 uplinks: 1,792 each on average, with a deviation of sqrt(1792 x 3/4) =
    // 37; 5 of them are 10 %.
    assert!((0.9 * bound..bound).contains(&abt), "{abt} of {bound}");
}
