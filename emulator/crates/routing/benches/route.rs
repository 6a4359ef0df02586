//! Routing and counting every flow of an all-to-all, beside a bare loop that counts the same hops from memory.
//! CPU time of one thread; fastest of a few repetitions. Run with `cargo bench -p cubeyard-routing`.

use std::hint::black_box;
use std::time::Duration;

use cubeyard_routing::random::mix;
use cubeyard_routing::{FailureKind, Failures, Flow, Routed, Router, router};
use cubeyard_topology::{Topology, TopologySpec};

const BCUBE: &str = r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#;
const DCELL: &str = r#"{"family":"dcell","n":8,"k":2,"servers":2048}"#;
const FAT_TREE: &str = r#"{"family":"fat_tree","ports":8,"layers":5,"servers":2048}"#;
const TORUS: &str = r#"{"family":"torus3d","x":16,"y":16,"z":8}"#;

/// Topology, scheme, what has failed and how much of it.
const CASES: &[(&str, &str, FailureKind, f64)] = &[
    (BCUBE, "bcube-fixed", FailureKind::Switch, 0.0),
    (BCUBE, "bsr", FailureKind::Switch, 0.0),
    (BCUBE, "bsr", FailureKind::Switch, 0.02),
    (BCUBE, "bsr", FailureKind::Switch, 0.1),
    (BCUBE, "bsr", FailureKind::Switch, 0.2),
    (BCUBE, "bsr", FailureKind::Server, 0.1),
    (BCUBE, "bsr", FailureKind::Server, 0.2),
    (BCUBE, "shortest", FailureKind::Switch, 0.0),
    (DCELL, "dcell", FailureKind::Switch, 0.0),
    (DCELL, "dfr", FailureKind::Switch, 0.0),
    (DCELL, "dfr", FailureKind::Switch, 0.1),
    (DCELL, "dfr", FailureKind::Switch, 0.2),
    (FAT_TREE, "fat-tree", FailureKind::Switch, 0.0),
    (FAT_TREE, "fat-tree", FailureKind::Switch, 0.1),
    (TORUS, "torus-multipath", FailureKind::Switch, 0.0),
    // How it grows with the number of servers.
    (
        r#"{"family":"bcube","n":8,"k":2}"#,
        "bsr",
        FailureKind::Switch,
        0.0,
    ),
    (
        r#"{"family":"bcube","n":8,"k":3}"#,
        "bsr",
        FailureKind::Switch,
        0.0,
    ),
];

/// CPU time of this thread so far: other work on the machine makes wall-clock time longer but hardly this.
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn fastest(mut work: impl FnMut()) -> Duration {
    (0..5)
        .map(|_| {
            let begun = cpu_time();
            work();
            cpu_time() - begun
        })
        .min()
        .unwrap_or_default()
}

/// Flows routed at a time: their links stay in the nearest cache.
const BATCH: usize = 512;

/// Calls `visit` with every batch of an all-to-all.
fn for_each_batch(router: &dyn Router, servers: u32, mut visit: impl FnMut(&Routed)) {
    let (mut flows, mut routed) = (Vec::with_capacity(BATCH), Routed::default());
    let mut index = 0;
    for source in 0..servers {
        for destination in (0..servers).filter(|&server| server != source) {
            flows.push(Flow {
                source,
                destination,
                seed: mix(index),
            });
            index += 1;
            if flows.len() == BATCH {
                router.route_batch(&flows, &mut routed);
                visit(&routed);
                flows.clear();
            }
        }
    }
    router.route_batch(&flows, &mut routed);
    visit(&routed);
}

#[allow(clippy::print_stdout, reason = "a bench is there to print")]
fn main() {
    println!(
        "{:<10} {:<16} {:>8} {:>9} {:>11} {:>11} {:>11} {:>7}",
        "family", "routing", "failed", "flows", "hops/flow", "bare ns", "route ns", "ratio"
    );
    for &(json, name, kind, ratio) in CASES {
        let spec: TopologySpec = serde_json::from_str(json).expect("a valid specification");
        let topology = Topology::build(&spec).expect("a buildable specification");
        let failures = Failures::random(&topology, kind, ratio, 1);
        let router = router(name, &topology, failures).expect("a scheme of this family");
        let servers = topology.server_count();
        let directed = topology.link_count() * 2;
        let (mut ends, mut links) = (Vec::new(), Vec::new());
        for_each_batch(router.as_ref(), servers, |routed| {
            let before = links.len() as u32;
            links.extend_from_slice(&routed.links);
            ends.extend(routed.ends.iter().map(|end| before + end));
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
            for_each_batch(router.as_ref(), servers, |routed| {
                for &link in &routed.links {
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
