//! Times of building and certifying, printed as a table; the last column shows that cost grows with
//! links and nothing else. Run with `cargo bench -p cubeyard-topology`.

use std::time::{Duration, Instant};

use cubeyard_topology::{Topology, TopologySpec};

const CASES: &[(&str, &str)] = &[
    (
        "BCube(8,3), 2,048 servers",
        r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#,
    ),
    ("BCube(8,3)", r#"{"family":"bcube","n":8,"k":3}"#),
    (
        "DCell(8,2), 2,048 servers",
        r#"{"family":"dcell","n":8,"k":2,"servers":2048}"#,
    ),
    ("DCell(4,3)", r#"{"family":"dcell","n":4,"k":3}"#),
    ("CamCube 20^3", r#"{"family":"torus3d","x":20,"y":20,"z":20}"#),
    (
        "Fat-tree, 5 layers of 8",
        r#"{"family":"fat_tree","ports":8,"layers":5}"#,
    ),
    (
        "Tree 48/2,048",
        r#"{"family":"tree","edge_ports":48,"servers":2048}"#,
    ),
    (
        "Subways type 2",
        r#"{"family":"subways","type":2,"p":2,"q":40,"l":17,"c":2,"clusters":6}"#,
    ),
    // One family at 10^4, 10^5 and 10^6 links.
    (
        "BCube(10,3), 10^4 links",
        r#"{"family":"bcube","n":10,"k":3,"servers":3000}"#,
    ),
    (
        "BCube(17,3), 10^5 links",
        r#"{"family":"bcube","n":17,"k":3,"servers":24565}"#,
    ),
    ("BCube(22,3), 10^6 links", r#"{"family":"bcube","n":22,"k":3}"#),
    (
        "DCell(6,3), 3,263,442 servers",
        r#"{"family":"dcell","n":6,"k":3}"#,
    ),
];

/// Fastest of a few repetitions, within about a second.
fn fastest(mut work: impl FnMut()) -> Duration {
    let started = Instant::now();
    let mut best = Duration::MAX;
    for _ in 0..50 {
        let begun = Instant::now();
        work();
        best = best.min(begun.elapsed());
        if started.elapsed() > Duration::from_secs(1) {
            break;
        }
    }
    best
}

/// Peak memory of this process in MiB; `None` where the system does not report it.
fn peak_mebibytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

#[allow(clippy::print_stdout, reason = "a bench is there to print")]
fn main() {
    println!(
        "{:<32} {:>10} {:>12} {:>12} {:>14} {:>12}",
        "structure", "links", "build ms", "adjacency ms", "certificate ms", "build ns/link"
    );
    for (title, json) in CASES {
        let spec: TopologySpec = serde_json::from_str(json).expect("a valid specification");
        let mut built = None;
        let build = fastest(|| built = Some(Topology::build(&spec).expect("a buildable specification")));
        let topology = built.expect("built at least once");
        let adjacency = fastest(|| drop(topology.adjacency()));
        let mut passed = false;
        let certificate = fastest(|| passed = topology.certificate().passed);
        assert!(passed, "{title} must be certified");
        let links = topology.link_count();
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        println!(
            "{title:<32} {links:>10} {:>12.3} {:>12.3} {:>14.3} {:>12.2}",
            milliseconds(build),
            milliseconds(adjacency),
            milliseconds(certificate),
            build.as_secs_f64() * 1e9 / links as f64
        );
    }
    if let Some(peak) = peak_mebibytes() {
        println!("peak memory {peak} MiB");
    }
}
