//! Compares the time to route and count every flow of an all-to-all with a bare loop that counts
//! the same hops from memory, and prints the ratio next to the scheme's target. Times are CPU time
//! of one thread; both loops alternate, and the fastest of a few repetitions counts. Run with
//! `cargo bench -p cubeyard-routing`; `-- bsr` runs the schemes whose name contains it.
//!
//! Why some schemes miss their targets; for BSR also the lower bound measured without the rest of
//! the scheme:
//!
//! - BSR: 31 % (10 % failed) and 55 % (20 %) of the flows draw a path with a dead switch. Checking
//!   which paths to the destination are alive, and drawing where the search for a substitute
//!   begins, costs ratios of 5.8 and 6.6 before any substitute is chosen or written; with dead
//!   servers 4.7 and 6.2. The substitutes of a flow's other broken paths are computed first (1.5
//!   and 1.8 per flow), and 35 % and 45 % of the broken flows need a substitute that uses digits of
//!   neither end. Reading the ports of the corners from four cached words instead of sixteen
//!   servers gave ratios of 10.4 and 17.6 instead of 11.0 and 18.3 (dead servers: 9.8 and 24.4
//!   instead of 10.2 and 25.2), medians of three alternating runs whose ranges overlap: too little
//!   to keep.
//! - DFR (1.2 to 1.5 with nothing failed, 1.5 to 1.8 and 2.3 to 3.0 with 10 % and 20 % of switches
//!   failed, 4.8 to 6.3 with 10 % of servers, 4.3 to 4.5 with 10 % of links): flows of one server
//!   to one DCell_1 share the links up to it, and a cached link-state path is used like
//!   DCellRouting's if it is the only shortest path. The remaining cost is random draws among
//!   equally short paths and among proxies.
//! - Fat-tree (3.9; 1.8 with nothing failed): four choices of turns from one draw are tested
//!   against masks of live choices, without a branch, and the path is written from sums. Three or
//!   six choices at a time were no faster, nor was a second hash per draw. Drawing and writing one
//!   flow at a time with bounds checks cost 4.2 (2.2).
//! - Torus (4.8; 5.3 when each of two walks ended by itself): a hop waits for the choice before it,
//!   ten in a row; interleaving two flows hides part of that. Interleaving four flows, and sorting
//!   flows by length, were slower (6), and so was adding up positions of an unrolled torus instead
//!   of a table look-up per hop (5.8). Packing choices and links into half and a quarter of their
//!   bytes to fit the L1 cache, or keeping a choice in one register, changed nothing. According to
//!   perf, the hops take three fifths of the time, the start of each walk a tenth, and the loop
//!   that generates the flows an eighth. With further draws in the same function: 5.0.

use std::hint::black_box;
use std::time::Duration;

use cubeyard_routing::random::mix;
use cubeyard_routing::{FailureKind, Failures, Flow, Routed, Router, router};
use cubeyard_topology::{Topology, TopologySpec};

const BCUBE: &str = r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#;
const DCELL: &str = r#"{"family":"dcell","n":8,"k":2,"servers":2048}"#;
const FAT_TREE: &str = r#"{"family":"fat_tree","ports":8,"layers":5,"servers":2048}"#;
const TORUS: &str = r#"{"family":"torus3d","x":16,"y":16,"z":8}"#;

/// Topology, scheme, kind and share of failures, and the target ratio; 0 means no target.
const CASES: &[(&str, &str, FailureKind, f64, f64)] = &[
    (BCUBE, "bcube-fixed", FailureKind::Switch, 0.0, 0.0),
    (BCUBE, "bsr", FailureKind::Switch, 0.0, 0.0),
    (BCUBE, "bsr", FailureKind::Switch, 0.02, 0.0),
    (BCUBE, "bsr", FailureKind::Switch, 0.1, 5.0),
    (BCUBE, "bsr", FailureKind::Switch, 0.2, 8.0),
    (BCUBE, "bsr", FailureKind::Server, 0.1, 5.0),
    (BCUBE, "bsr", FailureKind::Server, 0.2, 8.0),
    (BCUBE, "shortest", FailureKind::Switch, 0.0, 0.0),
    (DCELL, "dcell", FailureKind::Switch, 0.0, 0.0),
    (DCELL, "dfr", FailureKind::Switch, 0.0, 0.0),
    (DCELL, "dfr", FailureKind::Switch, 0.1, 5.0),
    (DCELL, "dfr", FailureKind::Switch, 0.2, 5.0),
    (DCELL, "dfr", FailureKind::Server, 0.1, 5.0),
    (DCELL, "dfr", FailureKind::Link, 0.1, 5.0),
    (FAT_TREE, "fat-tree", FailureKind::Switch, 0.0, 0.0),
    (FAT_TREE, "fat-tree", FailureKind::Switch, 0.1, 4.0),
    (TORUS, "torus-multipath", FailureKind::Switch, 0.0, 5.0),
    // How it grows with the number of servers.
    (
        r#"{"family":"bcube","n":8,"k":2}"#,
        "bsr",
        FailureKind::Switch,
        0.0,
        0.0,
    ),
    (
        r#"{"family":"bcube","n":8,"k":3}"#,
        "bsr",
        FailureKind::Switch,
        0.0,
        0.0,
    ),
];

/// CPU time of this thread so far: other work on the machine makes wall-clock time longer but
/// hardly this.
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// The fastest of a few alternating runs of each, so that a temporary slowdown of the machine
/// affects both.
fn fastest(mut first: impl FnMut(), mut second: impl FnMut()) -> [Duration; 2] {
    let mut least = [Duration::MAX; 2];
    let mut timed = |which: usize, work: &mut dyn FnMut()| {
        let begun = cpu_time();
        work();
        least[which] = least[which].min(cpu_time() - begun);
    };
    for _ in 0..7 {
        timed(0, &mut first);
        timed(1, &mut second);
    }
    least
}

/// Flows routed at a time: their links stay in the nearest cache.
const BATCH: usize = 512;

/// Calls `visit` with every batch of an all-to-all.
fn for_each_batch(router: &dyn Router, servers: u32, mut visit: impl FnMut(&Routed)) {
    let (mut flows, mut routed) = (Vec::with_capacity(BATCH), Routed::default());
    let (mut source, mut rest) = (0, 0);
    let total = u64::from(servers) * u64::from(servers - 1);
    for first in (0..total).step_by(BATCH) {
        flows.clear();
        flows.extend((first..total.min(first + BATCH as u64)).map(|index| {
            let flow = Flow {
                source,
                destination: rest + u32::from(rest >= source),
                seed: mix(index),
            };
            rest += 1;
            if rest == servers - 1 {
                (source, rest) = (source + 1, 0);
            }
            flow
        }));
        router.route_batch(&flows, &mut routed);
        visit(&routed);
    }
}

#[allow(clippy::print_stdout, reason = "a bench is there to print")]
fn main() {
    println!(
        "{:<10} {:<16} {:>14} {:>9} {:>11} {:>11} {:>11} {:>7} {:>5}",
        "family", "routing", "failed", "flows", "hops/flow", "bare ns", "route ns", "ratio", "aim"
    );
    let wanted = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let chosen = |name: &str| wanted.as_ref().is_none_or(|word| name.contains(word.as_str()));
    for &(json, name, kind, ratio, aim) in CASES.iter().filter(|case| chosen(case.1)) {
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
        let (mut bare_count, mut count) = (vec![0u32; directed], vec![0u32; directed]);
        let mut bare = || {
            bare_count.fill(0);
            let mut start = 0;
            for &end in black_box(&ends) {
                for &link in &links[start as usize..end as usize] {
                    bare_count[link as usize] += 1;
                }
                start = end;
            }
            black_box(&mut bare_count);
        };
        let mut routed = || {
            count.fill(0);
            for_each_batch(router.as_ref(), servers, |routed| {
                for &link in &routed.links {
                    count[link as usize] += 1;
                }
            });
            black_box(&mut count);
        };
        let [bare, routed] = fastest(&mut bare, &mut routed);
        assert_eq!(count, bare_count, "both count the same hops");
        let flows = ends.len() as f64;
        let nanoseconds = |time: Duration| time.as_secs_f64() * 1e9 / flows;
        println!(
            "{:<10} {name:<16} {:>14} {:>9} {:>11.2} {:>11.2} {:>11.2} {:>7.2} {:>5}",
            spec.family(),
            format!("{:.0}% {kind:?}", ratio * 100.0),
            ends.len(),
            links.len() as f64 / flows,
            nanoseconds(bare),
            nanoseconds(routed),
            routed.as_secs_f64() / bare.as_secs_f64(),
            if aim > 0.0 { aim.to_string() } else { String::new() }
        );
    }
}
