//! The all-to-all of BCube's Fig. 8 at no failure: flows on the most loaded directed link, by
//! scheme.

use crate::common;

use common::build;
use cubeyard_routing::random::mix;
use cubeyard_routing::{FailureKind, Failures, router};

/// Aggregate bottleneck throughput over 1 Gb/s links, and the most loaded directed link's flows.
fn abt(spec: &str, name: &str, failed_switches: f64) -> (f64, u32) {
    let topology = build(spec);
    let failures = Failures::random(&topology, FailureKind::Switch, failed_switches, 3);
    let router = router(name, &topology, failures).unwrap();
    let mut load = vec![0u32; topology.link_count() * 2];
    let (mut flows, mut path) = (0u64, Vec::new());
    for source in 0..topology.server_count() {
        for destination in (0..topology.server_count()).filter(|&server| server != source) {
            let flow = mix(u64::from(source) << 32 | u64::from(destination));
            if router.route(source, destination, flow, &mut path).is_ok() {
                flows += 1;
                path.iter().for_each(|&directed| load[directed as usize] += 1);
            }
        }
    }
    let most = load.into_iter().max().unwrap();
    (flows as f64 / f64::from(most), most)
}

#[test]
fn bsr_carries_about_2006_gigabits_and_765_or_more_at_20_percent() {
    let bcube = r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#;
    let (whole, _) = abt(bcube, "bsr", 0.0);
    assert!((1990.0..2075.0).contains(&whole), "{whole}");
    let (fixed, _) = abt(bcube, "bcube-fixed", 0.0);
    assert!((2338.0..2341.0).contains(&fixed), "{fixed}");
    let (broken, _) = abt(bcube, "bsr", 0.2);
    assert!((850.0..1150.0).contains(&broken), "{broken}");
}

#[test]
fn the_fat_tree_carries_about_1895_gigabits() {
    let fat_tree = r#"{"family":"fat_tree","ports":8,"layers":5,"servers":2048}"#;
    let (whole, _) = abt(fat_tree, "fat-tree", 0.0);
    assert!((1860.0..1945.0).contains(&whole), "{whole}");
    let (broken, _) = abt(fat_tree, "fat-tree", 0.06);
    assert!((350.0..1100.0).contains(&broken), "{broken}");
}

#[test]
fn dfr_without_failures_is_dcell_routing_to_the_flow() {
    let dcell = r#"{"family":"dcell","n":8,"k":2,"servers":2048}"#;
    assert_eq!(abt(dcell, "dfr", 0.0).1, 14_047);
    assert_eq!(abt(dcell, "dcell", 0.0).1, 14_047);
}
