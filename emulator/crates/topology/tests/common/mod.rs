//! Shared by several tests: random valid specifications, and merge patches.
#![allow(
    dead_code,
    missing_docs,
    clippy::unwrap_used,
    reason = "each test binary uses a part"
)]

use cubeyard_topology::{
    BcubeSpec, CustomLink, CustomNode, CustomRole, CustomSpec, DcellGrowth, DcellSpec, DragonflySpec,
    FatTreeSpec, Finding, GbpsList, JellyfishSpec, LeafSpineSpec, SubwaysSpec, Topology, TopologySpec,
    Torus2dSpec, Torus3dSpec, TreeSpec,
};
use proptest::prelude::*;
use serde_json::Value;

pub fn spec(json: &str) -> TopologySpec {
    serde_json::from_str(json).unwrap()
}

pub fn build(json: &str) -> Topology {
    Topology::build(&spec(json)).unwrap()
}

/// The seed is fixed, so every machine tries the same cases; failures print their input.
pub fn cases(number: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        max_global_rejects: u32::MAX,
        rng_seed: proptest::test_runner::RngSeed::Fixed(20_090_817),
        ..crate::cases::cases(number)
    }
}

pub fn has_error(spec: &TopologySpec) -> bool {
    spec.validate().iter().any(Finding::is_error)
}

/// A JSON merge patch (RFC 7396).
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let target = target.as_object_mut().unwrap();
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

fn bcube(largest: u32) -> impl Strategy<Value = TopologySpec> {
    (
        prop_oneof![4 => 2u32..=6, 1 => 11u32..=13],
        0u32..=4,
        1u32..=13,
        any::<bool>(),
    )
        .prop_filter("small", move |&(n, k, ..)| n.pow(k + 1) <= largest)
        .prop_map(|(n, k, groups, whole)| {
            let servers = (!whole).then(|| groups.min(n) * n.pow(k));
            TopologySpec::Bcube(BcubeSpec { n, k, servers })
        })
}

fn dcell(largest: u32) -> impl Strategy<Value = TopologySpec> {
    (2u32..=12, 0u32..=3, 0.0..1.0f64, any::<bool>())
        .prop_map(|(n, k, share, whole)| {
            let full = (0..k).fold(n, |size, _| size.saturating_mul(size.saturating_add(1)));
            let servers = (!whole).then_some(1 + (f64::from(full - 1) * share) as u32);
            (n, k, servers, full)
        })
        .prop_filter("small", move |&(.., full)| full <= largest)
        .prop_map(|(n, k, servers, _)| {
            let growth = DcellGrowth::Filling;
            TopologySpec::Dcell(DcellSpec {
                n,
                k,
                servers,
                growth,
            })
        })
}

/// DCell_3s that grow from the top down: the first whole DCell_1s.
fn top_down(largest: u32) -> impl Strategy<Value = TopologySpec> {
    (2u32..=4)
        .prop_flat_map(move |n| (Just(n), 1..=(largest / (n * (n + 1))).max(1)))
        .prop_filter("small", move |(n, racks)| n * (n + 1) * racks <= largest)
        .prop_map(|(n, racks)| {
            TopologySpec::Dcell(DcellSpec {
                n,
                k: 3,
                servers: Some(n * (n + 1) * racks),
                growth: DcellGrowth::TopDown,
            })
        })
}

fn torus(largest: u32) -> impl Strategy<Value = TopologySpec> {
    (1u32..=9, 1u32..=9, 1u32..=9)
        .prop_filter("small", move |&(x, y, z)| x * y * z <= largest)
        .prop_map(|(x, y, z)| TopologySpec::Torus3d(Torus3dSpec { x, y, z }))
}

fn fat_tree(largest: u32) -> impl Strategy<Value = TopologySpec> {
    (1u32..=6, 1u32..=4, 0.0..1.0f64, any::<bool>())
        .prop_filter("small", move |&(m, layers, ..)| 2 * m.pow(layers) <= largest)
        .prop_map(|(m, layers, share, whole)| {
            let group = if layers == 1 { 1 } else { m };
            let groups = 2 * m.pow(layers) / group;
            let servers = (!whole).then_some((1 + (f64::from(groups - 1) * share) as u32) * group);
            TopologySpec::FatTree(FatTreeSpec {
                ports: 2 * m,
                layers,
                servers,
            })
        })
}

fn tree(largest: u32) -> impl Strategy<Value = TopologySpec> {
    (1u32..=7, proptest::option::of(2u32..=5), 1u32..=largest).prop_map(
        |(edge_ports, root_ports, servers)| {
            TopologySpec::Tree(TreeSpec {
                edge_ports,
                root_ports,
                servers,
            })
        },
    )
}

fn leaf_spine(largest: u32) -> impl Strategy<Value = TopologySpec> {
    (
        1u32..=9,
        1u32..=5,
        1u32..=12,
        1u32..=3,
        prop_oneof![Just(10.0), Just(25.0), Just(40.0)],
        prop_oneof![
            Just((0u32, 1u32, 1u32, 100.0)),
            (1u32..=4, 1u32..=4, 1u32..=2, prop_oneof![Just(40.0), Just(100.0)])
        ],
    )
        .prop_filter("small", move |&(leaves, _, servers, _, _, (_, pods, ..))| {
            pods * leaves * servers <= largest
        })
        .prop_map(
            |(leaves, spines, servers_per_leaf, uplinks_per_spine, server_gbps, third)| {
                let (super_spines, pods, uplinks_per_super_spine, spine_uplink_gbps) = third;
                TopologySpec::LeafSpine(LeafSpineSpec {
                    super_spines,
                    pods,
                    uplinks_per_super_spine,
                    spine_uplink_gbps,
                    leaves,
                    spines,
                    servers_per_leaf,
                    uplinks_per_spine,
                    server_gbps,
                    uplink_gbps: 40.0,
                })
            },
        )
}

fn subways(largest: u32) -> impl Strategy<Value = TopologySpec> {
    let shape = (
        0u8..=2,
        1u32..=5,
        1u32..=3,
        0u32..=6,
        1u32..=4,
        1u32..=3,
        1u32..=2,
    );
    let upper = (
        proptest::option::of(1u32..=4),
        proptest::option::of(1u32..=6),
        proptest::option::of(0.5..6.0f64),
        proptest::option::of(0.5..6.0f64),
        0u8..=2,
    );
    (shape, upper)
        .prop_map(
            |((wiring_type, p, r, longer, c, groups, loops_per_cluster), upper)| {
                let (aggs_per_cluster, cores, tor_oversubscription, agg_oversubscription, rates) = upper;
                let c = if wiring_type == 2 { c } else { 1 };
                let clusters = c * groups;
                let per_port = rates == 1 && wiring_type != 0;
                SubwaysSpec {
                    wiring_type,
                    p,
                    q: p * r,
                    l: if wiring_type == 0 { 1 + longer } else { p + longer },
                    c,
                    clusters,
                    loops_per_cluster,
                    aggs_per_cluster,
                    cores,
                    tor_oversubscription,
                    agg_oversubscription,
                    server_gbps: if per_port {
                        GbpsList::PerPort((0..p).map(|port| [10.0, 25.0][port as usize % 2]).collect())
                    } else {
                        GbpsList::One(10.0)
                    },
                    cluster_gbps: (rates == 2)
                        .then(|| (0..clusters).map(|i| [10.0, 25.0][i as usize % 2]).collect()),
                    uplink_gbps: 40.0,
                    former_type: (wiring_type == 2 && longer % 2 == 0).then_some(1),
                }
            },
        )
        .prop_map(TopologySpec::Subways)
        .prop_filter("valid and small", move |spec| {
            let TopologySpec::Subways(s) = spec else {
                return false;
            };
            s.clusters * s.loops_per_cluster * s.l * (s.q / s.p) <= largest && !has_error(spec)
        })
}

fn torus2d(largest: u32) -> impl Strategy<Value = TopologySpec> {
    (1u32..=12, 1u32..=12)
        .prop_filter("small", move |&(x, y)| x * y <= largest)
        .prop_map(|(x, y)| TopologySpec::Torus2d(Torus2dSpec { x, y }))
}

fn jellyfish(largest: u32) -> impl Strategy<Value = TopologySpec> {
    (1u32..=24, 2u32..=8, 1u32..=6, 0.0..1.0f64, any::<u32>())
        .prop_map(|(switches, between, on_switch, share, seed)| {
            let between = between.min(switches - 1);
            let servers = switches + (f64::from(switches * (on_switch - 1)) * share) as u32;
            TopologySpec::Jellyfish(JellyfishSpec {
                switches,
                ports: servers.div_ceil(switches) + between,
                servers_per_switch: on_switch,
                servers: (share < 0.7).then_some(servers),
                seed,
                link_gbps: 10.0,
            })
        })
        .prop_filter("valid and small", move |spec| {
            let TopologySpec::Jellyfish(s) = spec else {
                return false;
            };
            s.switches * s.servers_per_switch <= largest && !has_error(spec)
        })
}

fn dragonfly(largest: u32) -> impl Strategy<Value = TopologySpec> {
    (1u32..=5, 1u32..=3, 1u32..=3, proptest::option::of(1u32..=16))
        .prop_map(|(a, p, h, groups)| {
            let groups = groups.map(|groups| groups.min(a * h + 1));
            TopologySpec::Dragonfly(DragonflySpec {
                a,
                p,
                h,
                groups,
                link_gbps: 10.0,
            })
        })
        .prop_filter("small", move |spec| {
            spec.size().is_ok_and(|size| size.servers <= u64::from(largest))
        })
}

/// Connected networks of switches with servers on them: links in any direction, trunks, ports with
/// and without names, tiers given or not, servers with several links or with one to another server.
fn custom(largest: u32) -> impl Strategy<Value = TopologySpec> {
    let switches = 1usize..=9;
    let shape = (switches, 1..=largest.min(24) as usize, 0usize..=12, any::<u64>());
    shape.prop_map(|(switches, servers, more, seed)| {
        let mut draws = cubeyard_topology::random::Draws::new(seed);
        let mut below = move |bound: usize| draws.below(bound as u32) as usize;
        let given = below(2) == 0;
        let mut nodes: Vec<CustomNode> = Vec::new();
        for index in 0..servers {
            nodes.push(CustomNode {
                name: format!("h-{index}"),
                role: CustomRole::Server,
                tier: None,
            });
        }
        for index in 0..switches {
            let tier = (given && index % 2 == 0).then_some((index % 4) as u8);
            nodes.push(CustomNode {
                name: format!("sw{index}"),
                role: CustomRole::Switch,
                tier,
            });
        }
        let (server, switch) = (
            |index: usize| format!("h-{index}"),
            |index: usize| format!("sw{index}"),
        );
        let mut pairs: Vec<(String, String)> = (1..switches)
            .map(|index| (switch(index), switch(below(index))))
            .collect();
        pairs.extend((0..servers).map(|index| (server(index), switch(below(switches)))));
        for _ in 0..more {
            let (a, b) = (below(switches), below(switches));
            pairs.push(if a == b {
                (server(below(servers)), switch(a))
            } else {
                (switch(a), switch(b))
            });
        }
        if servers > 1 && given {
            pairs.push((server(0), server(1)));
        }
        let mut links: Vec<CustomLink> = Vec::new();
        for (index, (a, b)) in pairs.into_iter().enumerate() {
            let (a, b) = if below(2) == 0 { (a, b) } else { (b, a) };
            links.push(CustomLink {
                a,
                b,
                gbps: (below(3) == 0).then_some([1.0, 25.0, 40.0][below(3)]),
                a_port: (below(3) == 0).then(|| format!("P{}", index % 7 + 50 * index)),
                b_port: (below(4) == 0).then(|| format!("swp{index}/1")),
            });
        }
        // Any order of nodes is a list.
        for index in (1..nodes.len()).rev() {
            nodes.swap(index, below(index + 1));
        }
        TopologySpec::Custom(CustomSpec {
            nodes,
            links,
            link_gbps: 10.0,
        })
    })
}

/// A valid specification of any family with at most about `largest` servers.
pub fn any_spec(largest: u32) -> BoxedStrategy<TopologySpec> {
    prop_oneof![
        bcube(largest),
        dcell(largest),
        top_down(largest),
        torus(largest),
        fat_tree(largest),
        tree(largest),
        leaf_spine(largest),
        subways(largest),
        torus2d(largest),
        jellyfish(largest),
        dragonfly(largest),
        custom(largest),
    ]
    .boxed()
}

/// Whether servers forward for others.
pub fn servers_relay(spec: &TopologySpec) -> bool {
    matches!(
        spec,
        TopologySpec::Bcube(_) | TopologySpec::Dcell(_) | TopologySpec::Torus2d(_) | TopologySpec::Torus3d(_)
    )
}
