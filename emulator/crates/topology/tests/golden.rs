//! One table of counts and closed forms, so that a change of behaviour shows as a diff, and the
//! papers' own numbers.

use crate::common;

use std::collections::BTreeSet;
use std::fmt::Write;

use common::{any_spec, build, servers_relay};
use cubeyard_topology::{Metric, TopologySpec, families, json_schema};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

const SPECS: &[&str] = &[
    r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#,
    r#"{"family":"bcube","n":8,"k":3}"#,
    r#"{"family":"bcube","n":4,"k":1}"#,
    r#"{"family":"bcube","n":4,"k":0}"#,
    r#"{"family":"bcube","n":48,"k":1}"#,
    r#"{"family":"dcell","n":8,"k":2,"servers":2048}"#,
    r#"{"family":"dcell","n":8,"k":2}"#,
    r#"{"family":"dcell","n":4,"k":1}"#,
    r#"{"family":"dcell","n":4,"k":2}"#,
    r#"{"family":"dcell","n":4,"k":3}"#,
    r#"{"family":"torus3d","x":20,"y":20,"z":20}"#,
    r#"{"family":"torus3d","x":12,"y":12,"z":12}"#,
    r#"{"family":"torus3d","x":3,"y":3,"z":3}"#,
    r#"{"family":"torus3d","x":4,"y":2,"z":1}"#,
    r#"{"family":"subways","type":0,"p":2,"q":30,"l":12,"clusters":2,"uplink_gbps":10}"#,
    r#"{"family":"subways","type":1,"p":2,"q":30,"l":12,"clusters":2,"uplink_gbps":10}"#,
    r#"{"family":"subways","type":2,"p":2,"q":30,"l":12,"c":2,"clusters":2,"uplink_gbps":10}"#,
    r#"{"family":"subways","type":2,"p":2,"q":30,"l":12,"c":2,"clusters":2,"cluster_gbps":[10,25]}"#,
    r#"{"family":"subways","type":1,"p":2,"q":8,"l":4,"aggs_per_cluster":2}"#,
    r#"{"family":"fat_tree","ports":8,"layers":5,"servers":2048}"#,
    r#"{"family":"fat_tree","ports":4,"layers":3}"#,
    r#"{"family":"fat_tree","ports":48,"layers":3}"#,
    r#"{"family":"fat_tree","ports":8,"layers":4,"servers":100}"#,
    r#"{"family":"tree","edge_ports":48,"servers":2048}"#,
    r#"{"family":"tree","edge_ports":4,"root_ports":4,"servers":64}"#,
    r#"{"family":"leaf_spine","leaves":64,"spines":4,"servers_per_leaf":32}"#,
    r#"{"family":"leaf_spine","leaves":16,"spines":4,"servers_per_leaf":16,"super_spines":4,"pods":4}"#,
    r#"{"family":"leaf_spine","leaves":5,"spines":2,"servers_per_leaf":3,"uplinks_per_spine":2,"server_gbps":25,"uplink_gbps":25}"#,
    r#"{"family":"torus2d","x":8,"y":5}"#,
    r#"{"family":"jellyfish","switches":64,"ports":16,"servers_per_switch":4}"#,
    r#"{"family":"jellyfish","switches":245,"ports":14,"servers_per_switch":3,"servers":686}"#,
    r#"{"family":"jellyfish","switches":9,"ports":4,"servers_per_switch":1,"seed":3}"#,
    r#"{"family":"dragonfly","a":4,"p":2,"h":2}"#,
    r#"{"family":"dragonfly","a":8,"p":4,"h":4}"#,
    r#"{"family":"dragonfly","a":4,"p":2,"h":2,"groups":4}"#,
    r#"{"family":"custom","nodes":[{"name":"leaf-1","role":"switch"},{"name":"leaf-2","role":"switch"},{"name":"top","role":"switch"},{"name":"web-1","role":"server"},{"name":"web-2","role":"server"},{"name":"db","role":"server"}],"links":[{"a":"web-1","b":"leaf-1","gbps":25,"a_port":"ens1","b_port":"swp1"},{"a":"leaf-2","b":"web-2"},{"a":"db","b":"leaf-1"},{"a":"db","b":"leaf-2"},{"a":"top","b":"leaf-1","gbps":100},{"a":"leaf-2","b":"top","gbps":100},{"a":"leaf-2","b":"top","gbps":100}]}"#,
];

/// Every described family is tested: a new family needs a row here and a strategy among the random
/// specifications.
#[test]
fn every_family_is_tried() {
    let described = families();
    let rows: BTreeSet<&str> = SPECS.iter().map(|json| common::spec(json).family()).collect();
    let mut runner = TestRunner::new(common::cases(1));
    let mut random = BTreeSet::new();
    for _ in 0..2_000 {
        let spec = any_spec(100).new_tree(&mut runner).unwrap().current();
        random.insert(spec.family());
    }
    for family in described.as_array().unwrap() {
        let name = family["family"].as_str().unwrap();
        assert!(
            rows.contains(name),
            "add a row of {name} to `SPECS` of tests/golden.rs"
        );
        assert!(
            random.contains(name),
            "add {name} to `any_spec` of tests/common/mod.rs"
        );
        let example = build(&family["example"].to_string());
        assert_eq!(
            servers_relay(example.spec()),
            example.servers_relay(),
            "`servers_relay` of tests/common/mod.rs beside `relays` of the family {name}"
        );
    }
}

fn shown(metric: &Metric) -> String {
    let value = (metric.value * 1e4).round() / 1e4;
    format!("{}{value}", if metric.exact { "" } else { "~" })
}

#[test]
fn counts_and_closed_forms() {
    let mut table = String::new();
    for json in SPECS {
        let topology = build(json);
        let metrics = topology.metrics();
        let tiers: Vec<String> = topology
            .tiers()
            .iter()
            .map(|tier| format!("{}x{} {}", tier.count, tier.ports, tier.role))
            .collect();
        let mut levels = vec![0; topology.level_count()];
        for &level in &topology.links().level {
            levels[usize::from(level)] += 1;
        }
        let average = |metric: &Option<Metric>| metric.as_ref().map_or("-".to_owned(), shown);
        let last = topology.node_count() - 1;
        writeln!(
            table,
            "{}\n  {json}\n  servers {} x{} ports, switches {} ({}), links {} {levels:?}\n  \
             diameter {} {} / {} links, mean {} / {} links, bisection {} links {} Gb/s, disjoint {}, all-to-all {}, ports used {}\n  \
             first {} {}, last {}, certificate {}",
            topology.spec().title(),
            topology.server_count(),
            topology.server_ports(),
            topology.switch_count(),
            tiers.join(", "),
            topology.link_count(),
            shown(&metrics.diameter),
            metrics.diameter.unit,
            shown(&metrics.diameter_links),
            average(&metrics.average_path),
            average(&metrics.average_path_links),
            shown(&metrics.bisection),
            metrics.bisection_bits_per_sec.value / 1e9,
            shown(&metrics.disjoint_paths),
            average(&metrics.all_to_all_throughput),
            average(&metrics.switch_ports_used),
            topology.node_name(0),
            topology.node_name(topology.server_count().min(last)),
            topology.node_name(last),
            topology.certificate().passed,
        )
        .unwrap();
    }
    insta::assert_snapshot!("counts_and_closed_forms", table);
}

#[test]
fn descriptions_and_schema() {
    insta::assert_json_snapshot!("families", families());
    insta::assert_json_snapshot!("schema", json_schema());
}

#[test]
fn certificate_of_the_papers_container() {
    insta::assert_json_snapshot!("certificate", build(SPECS[0]).certificate());
}

fn counts(json: &str) -> (u32, u32, usize) {
    let topology = build(json);
    (
        topology.server_count(),
        topology.switch_count(),
        topology.link_count(),
    )
}

#[test]
fn bcube_table_2() {
    // [bcube §8, Table 2] switches from the text, wires from the table.
    assert_eq!(counts(SPECS[0]), (2048, 1280, 8192));
    assert_eq!(
        counts(r#"{"family":"dcell","n":8,"k":2,"servers":2048}"#),
        (2048, 256, 3468)
    );
    assert_eq!(
        counts(r#"{"family":"fat_tree","ports":8,"layers":5,"servers":2048}"#),
        (2048, 2304, 10240)
    );
    assert_eq!(
        counts(r#"{"family":"tree","edge_ports":48,"servers":2048}"#),
        (2048, 44, 2091)
    );
}

#[test]
fn dcell_sizes() {
    for (n, k, servers) in [(4, 1, 20), (4, 2, 420), (4, 3, 176_820)] {
        assert_eq!(
            counts(&format!(r#"{{"family":"dcell","n":{n},"k":{k}}}"#)).0,
            servers
        );
    }
    let TopologySpec::Dcell(resolved) = common::spec(r#"{"family":"dcell","n":6,"k":3}"#).resolve() else {
        panic!()
    };
    assert_eq!(resolved.servers, Some(3_263_442));
}

/// Name and port at the other end of a port.
fn across(json: &str, name: &str, port: u16) -> String {
    let topology = build(json);
    let node = topology.node_by_name(name).unwrap();
    let links = topology.links();
    let end = (0..links.len()).find_map(|i| {
        let (a, b) = ((links.a[i], links.a_port[i]), (links.b[i], links.b_port[i]));
        if a == (node, port) {
            Some(b)
        } else {
            (b == (node, port)).then_some(a)
        }
    });
    let (node, port) = end.unwrap();
    format!("{} {}", topology.node_name(node), topology.port_name(node, port))
}

#[test]
fn wires_the_papers_name() {
    let bcube = r#"{"family":"bcube","n":8,"k":3}"#;
    // [bcube Fig. 4] 0001 reaches 1001 by <3,001>, and 0011 by <1,001>.
    assert_eq!(across(bcube, "0001", 3), "<3,001> P0");
    assert_eq!(across(bcube, "<3,001>", 1), "1001 eth3");
    assert_eq!(across(bcube, "0001", 1), "<1,001> P0");
    assert_eq!(across(bcube, "<1,001>", 1), "0011 eth1");
    // The testbed path of DCell_1 with n = 4: [0,3] to [4,0].
    assert_eq!(
        across(r#"{"family":"dcell","n":4,"k":1}"#, "[0,3]", 1),
        "[4,0] eth1"
    );
    let torus = r#"{"family":"torus3d","x":3,"y":4,"z":5}"#;
    assert_eq!(across(torus, "(2,1,0)", 0), "(0,1,0) x-");
    assert_eq!(across(torus, "(2,1,0)", 5), "(2,1,4) z+");
    assert_eq!(
        across(r#"{"family":"torus3d","x":1,"y":2,"z":1}"#, "(0,1,0)", 0),
        "(0,0,0) y+"
    );
    let classic = r#"{"family":"fat_tree","ports":4,"layers":3}"#;
    assert_eq!(across(classic, "310", 0), "<0,31> P0");
    assert_eq!(across(classic, "<0,31>", 3), "<1,31> P1");
    assert_eq!(across(classic, "<1,31>", 2), "<2,01> P3");
    assert_eq!(
        across(
            r#"{"family":"tree","edge_ports":48,"servers":2048}"#,
            "<0,42>",
            48
        ),
        "<1,0> P42"
    );
    // Two links to each spine: the second one of leaf 2 to spine 1 is its last port.
    let leaf_spine =
        r#"{"family":"leaf_spine","leaves":4,"spines":2,"servers_per_leaf":3,"uplinks_per_spine":2}"#;
    assert_eq!(across(leaf_spine, "2.1", 0), "<0,2> P1");
    assert_eq!(across(leaf_spine, "<0,2>", 6), "<1,1> P5");
    assert_eq!(across(leaf_spine, "<1,0>", 4), "<0,2> P3");
    // Three tiers: leaf and spine as above, within pod 1; the second wire of spine 1.1 to
    // super-spine 2 is its port 6 + 2 x 2 + 1.
    let pods = r#"{"family":"leaf_spine","leaves":3,"spines":2,"servers_per_leaf":2,"uplinks_per_spine":2,"super_spines":3,"pods":2,"uplinks_per_super_spine":2}"#;
    assert_eq!(across(pods, "1.2.0", 0), "<0,1.2> P0");
    assert_eq!(across(pods, "<0,1.2>", 5), "<1,1.1> P5");
    assert_eq!(across(pods, "<1,1.1>", 11), "<2,2> P7");
    assert_eq!(across(pods, "<2,0>", 2), "<1,0.1> P6");
    // p = 3: own ToR, one to the left, one to the right, around the loop.
    let subways = r#"{"family":"subways","type":1,"p":3,"q":30,"l":9}"#;
    assert_eq!(across(subways, "0.0.4", 0), "<0,0.0> P4");
    assert_eq!(across(subways, "0.0.4", 1), "<0,0.8> P14");
    assert_eq!(across(subways, "0.0.4", 2), "<0,0.1> P24");
}

#[test]
fn subways_switch_counts_follow_the_oversubscription() {
    // [subways §8.1] 36-port ToRs (30 down, 6 up), 6 aggregation switches with 12 ports down, 4:1
    // above.
    let topology = build(SPECS[14]);
    let tiers: Vec<_> = topology
        .tiers()
        .iter()
        .map(|tier| (tier.count, tier.ports, tier.uplink_ports))
        .collect();
    assert_eq!(tiers, [(24, 36, 6), (12, 15, 3), (18, 2, 0)]);
    let TopologySpec::Subways(resolved) = topology.spec() else {
        panic!()
    };
    assert_eq!(
        (resolved.tor_oversubscription, resolved.agg_oversubscription),
        (Some(5.0), Some(4.0))
    );
}

#[test]
fn subways_type_2_gives_every_cluster_equally_many_tors() {
    for (l, c, clusters, loops) in [(9, 2, 2, 1), (7, 3, 6, 2), (5, 4, 4, 3)] {
        let topology = build(&format!(
            r#"{{"family":"subways","type":2,"p":3,"q":9,"l":{l},"c":{c},"clusters":{clusters},"loops_per_cluster":{loops},"aggs_per_cluster":2}}"#
        ));
        let mut tors = vec![0; clusters];
        let links = topology.links();
        for link in (0..links.len()).filter(|&link| links.level[link] == 1) {
            tors[topology.digits(links.b[link])[1] as usize] += 1;
        }
        assert!(tors.iter().all(|&count| count == 2 * l * loops), "{tors:?}");
    }
}

#[test]
fn subways_more_ports_keep_every_cable() {
    // [subways §4.2] With the racks unchanged, a third port adds cables and moves none.
    let links = |p: u32, q: u32| {
        let topology = build(&format!(
            r#"{{"family":"subways","type":1,"p":{p},"q":{q},"l":9}}"#
        ));
        let links = topology.links();
        (0..links.len())
            .filter(|&i| links.level[i] == 0)
            .map(|i| {
                (
                    topology.node_name(links.a[i]),
                    links.a_port[i],
                    topology.node_name(links.b[i]),
                    links.b_port[i],
                )
            })
            .collect::<BTreeSet<_>>()
    };
    for p in 1..9 {
        assert!(
            links(p, 10 * p).is_subset(&links(p + 1, 10 * (p + 1))),
            "{p} to {} ports",
            p + 1
        );
    }
}

#[test]
fn heterogeneous_rates_reach_the_links() {
    let topology = build(SPECS[17]);
    let links = topology.links();
    assert_eq!(links.rates_bits_per_sec, [10e9, 25e9, 40e9]);
    for link in 0..links.len() {
        let expected = match links.level[link] {
            // Loop o, ToR j is in cluster (o + j) mod 2, the second of 25 Gb/s.
            0 => [10e9, 25e9][topology.digits(links.b[link])[1..].iter().sum::<u32>() as usize % 2],
            _ => 40e9,
        };
        assert_eq!(links.rate_bits_per_sec(link), expected);
    }
}
