//! Routing and counting every flow of an all-to-all, beside a bare loop that counts the same hops from memory.
//! Single-threaded; fastest of a few repetitions. Run with `cargo bench -p cubeyard-routing`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cubeyard_routing::random::mix;
use cubeyard_routing::{FailureKind, Failures, Router, router};
use cubeyard_topology::{Topology, TopologySpec};

const BCUBE: &str = r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#;
const DCELL: &str = r#"{"family":"dcell","n":8,"k":2,"servers":2048}"#;
const FAT_TREE: &str = r#"{"family":"fat_tree","ports":8,"layers":5,"servers":2048}"#;
const TORUS: &str = r#"{"family":"torus3d","x":16,"y":16,"z":8}"#;

/// Topology, scheme, ratio of failed switches.
const CASES: &[(&str, &str, f64)] = &[
    (BCUBE, "bcube-fixed", 0.0),
    (BCUBE, "bsr", 0.0),
    (BCUBE, "bsr", 0.02),
    (BCUBE, "bsr", 0.1),
    (BCUBE, "bsr", 0.2),
    (BCUBE, "shortest", 0.0),
    (DCELL, "dcell", 0.0),
    (DCELL, "dfr", 0.1),
    (FAT_TREE, "fat-tree", 0.0),
    (FAT_TREE, "fat-tree", 0.1),
    (TORUS, "torus-multipath", 0.0),
    // How it grows with the number of servers.
    (r#"{"family":"bcube","n":8,"k":2}"#, "bsr", 0.0),
    (r#"{"family":"bcube","n":8,"k":3}"#, "bsr", 0.0),
];

fn fastest(mut work: impl FnMut()) -> Duration {
    (0..5)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed()
        })
        .min()
        .unwrap_or_default()
}

/// Calls `visit` with every flow's path; a flow without one has the empty path.
fn for_each_path(router: &dyn Router, servers: u32, mut visit: impl FnMut(&[u32])) {
    let mut path = Vec::with_capacity(64);
    let mut index = 0;
    for source in 0..servers {
        for destination in (0..servers).filter(|&server| server != source) {
            if router.route(source, destination, mix(index), &mut path).is_err() {
                path.clear();
            }
            visit(&path);
            index += 1;
        }
    }
}

#[allow(clippy::print_stdout, reason = "a bench is there to print")]
fn main() {
    println!(
        "{:<10} {:<16} {:>8} {:>9} {:>11} {:>11} {:>11} {:>7}",
        "family", "routing", "failed", "flows", "hops/flow", "bare ns", "route ns", "ratio"
    );
    for &(json, name, ratio) in CASES {
        let spec: TopologySpec = serde_json::from_str(json).expect("a valid specification");
        let topology = Topology::build(&spec).expect("a buildable specification");
        let failures = Failures::random(&topology, FailureKind::Switch, ratio, 1);
        let router = router(name, &topology, failures).expect("a scheme of this family");
        let servers = topology.server_count();
        let directed = topology.link_count() * 2;
        let (mut ends, mut links) = (Vec::new(), Vec::new());
        for_each_path(router.as_ref(), servers, |path| {
            links.extend_from_slice(path);
            ends.push(links.len() as u32);
        });
        let mut bare_count = vec![0u32; directed];
        let bare = fastest(|| {
            bare_count.fill(0);
            let mut start = 0;
            for &end in black_box(&ends) {
                for &link in &links[start as usize..end as usize] {
                    bare_count[link as usize] += 1;
                }
                start = end;
            }
            black_box(&mut bare_count);
        });
        let mut count = vec![0u32; directed];
        let routed = fastest(|| {
            count.fill(0);
            for_each_path(router.as_ref(), servers, |path| {
                for &link in path {
                    count[link as usize] += 1;
                }
            });
            black_box(&mut count);
        });
        assert_eq!(count, bare_count, "both count the same hops");
        let flows = ends.len() as f64;
        let nanoseconds = |time: Duration| time.as_secs_f64() * 1e9 / flows;
        println!(
            "{:<10} {name:<16} {:>7}% {:>9} {:>11.2} {:>11.2} {:>11.2} {:>7.2}",
            spec.family(),
            ratio * 100.0,
            ends.len(),
            links.len() as f64 / flows,
            nanoseconds(bare),
            nanoseconds(routed),
            routed.as_secs_f64() / bare.as_secs_f64()
        );
    }
}
