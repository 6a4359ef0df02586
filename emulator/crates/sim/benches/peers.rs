//! The same tasks by others, in the same run: NetworkX routes and counts, igraph counts hops,
//! SimGrid shares rates.
//!
//! CPU time of both sides. Programs that are not installed are skipped; the output shows how to
//! install them. The Python is that of the environment in `VENV`, else `python3`. Run with
//! `cargo bench -p cubeyard-sim --bench peers`.
#![allow(clippy::print_stdout, reason = "a bench is there to print")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use cubeyard_routing::{FailureKind, Failures};
use cubeyard_sim::Progress;
use cubeyard_sim::flows::{Flows, Pattern};
use cubeyard_sim::hops::all_pairs_links;
use cubeyard_sim::maxmin::max_min_rates;
use cubeyard_sim::paths::Paths;
use cubeyard_sim::scheme::Scheme;
use cubeyard_topology::{Topology, TopologySpec};

/// The paper's container, and ones on the way to it: SimGrid keeps an object a flow.
const CONTAINER: &str = r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#;
const FOR_SIMGRID: [&str; 3] = [
    r#"{"family":"bcube","n":8,"k":1}"#,
    r#"{"family":"bcube","n":8,"k":2,"servers":256}"#,
    r#"{"family":"bcube","n":8,"k":2}"#,
];
/// Sources that NetworkX and igraph take of the 2,048: every flow costs them the same.
const SOURCES: u32 = 64;

/// CPU time of this process so far, all threads together.
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn fastest<T>(mut work: impl FnMut() -> T) -> f64 {
    let times = (0..3).map(|_| {
        let begun = cpu_time();
        black_box(work());
        (cpu_time() - begun).as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers")
}

/// Runs a program on an input; the numbers it prints, or nothing where it cannot run.
fn ask(mut program: Command, input: &str) -> Option<Vec<f64>> {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // A child that ends before it has read everything reports the failure by its exit status.
    let _ = child.stdin.take()?.write_all(input.as_bytes());
    let output = child.wait_with_output().ok()?;
    let numbers = String::from_utf8(output.stdout).ok()?;
    let read = numbers
        .split_whitespace()
        .map(|number| number.parse().ok())
        .collect();
    if output.status.success() { read } else { None }
}

fn ask_python(script: &str, input: &str) -> Option<Vec<f64>> {
    let python =
        std::env::var("VENV").map_or_else(|_| "python3".to_owned(), |venv| format!("{venv}/bin/python"));
    let mut program = Command::new(python);
    program.arg(peers().join(script));
    ask(program, input)
}

/// SimGrid's solver, compiled into its own folder; `None` if the library or a compiler is missing.
fn simgrid(folder: &Path) -> Option<PathBuf> {
    let program = folder.join("simgrid_lmm");
    let built = Command::new("c++")
        .args(["-O2", "-std=c++17", "-o"])
        .arg(&program)
        .arg(peers().join("simgrid_lmm.cpp"))
        .arg("-lsimgrid")
        .stderr(Stdio::null())
        .status();
    built.is_ok_and(|status| status.success()).then_some(program)
}

/// `promise`: the ratio promised at least, and the one aimed at, where there is one.
fn row(what: &str, ours: f64, other: &str, theirs: f64, promise: Option<(f64, f64)>) {
    let ratio = theirs / ours;
    let verdict = match promise {
        Some((at_least, aim)) => {
            let word = match ratio {
                _ if ratio >= aim => "aim reached",
                _ if ratio >= at_least => "kept",
                _ => "BROKEN",
            };
            format!("at least {at_least}x, aim {aim}x: {word}")
        }
        None => String::new(),
    };
    println!(
        "{what:<44} {:>10.2} ms {:>12.2} ms {ratio:>9.1}x  {other}  {verdict}",
        ours * 1e3,
        theirs * 1e3
    );
}

fn built(json: &str) -> Topology {
    let spec: TopologySpec = serde_json::from_str(json).expect("a valid specification");
    Topology::build(&spec).expect("a buildable specification")
}

fn all_to_all(topology: &Topology) -> Flows {
    Flows::new((0..topology.server_count()).collect(), Pattern::AllToAll)
}

fn edges(topology: &Topology) -> String {
    let links = topology.links();
    let mut text = format!(
        "{} {} {SOURCES}\n",
        topology.node_count(),
        topology.server_count()
    );
    for (a, b) in links.a.iter().zip(&links.b) {
        let _ = writeln!(text, "{a} {b}");
    }
    text
}

fn routes_and_hops() {
    let topology = built(CONTAINER);
    let flows = all_to_all(&topology);
    let none = Failures::none(&topology);
    let input = edges(&topology);
    let share = f64::from(topology.server_count() / SOURCES);
    match ask_python("networkx_routes.py", &input).as_deref() {
        Some(&[secs, _]) => {
            for (what, kind, ratio, promise) in [
                (
                    "route and count, 4,192,256 flows",
                    FailureKind::Switch,
                    0.0,
                    Some((100.0, 100.0)),
                ),
                (
                    "the same, 10 % of the switches failed",
                    FailureKind::Switch,
                    0.1,
                    None,
                ),
                (
                    "the same, 10 % of the servers failed",
                    FailureKind::Server,
                    0.1,
                    None,
                ),
            ] {
                let failures = Failures::random(&topology, kind, ratio, 1);
                let scheme = Scheme::new(Some("bsr"), &topology, failures).expect("a scheme of this family");
                let ours = fastest(|| scheme.count_links(&flows, &[], 7, &Progress::default()));
                row(what, ours, "NetworkX, nothing failed", secs * share, promise);
            }
        }
        _ => println!("NetworkX is not installed: pip install networkx"),
    }
    match ask_python("igraph_hops.py", &input).as_deref() {
        Some(&[secs, sum]) => {
            let found = all_pairs_links(&topology, &none, &Progress::default()).expect("nobody cancels");
            let all = found.mean() * found.pairs() as f64;
            assert!(
                (all / share - sum).abs() <= 1e-3 * sum,
                "igraph counts {sum}, we {}",
                all / share
            );
            let ours = fastest(|| all_pairs_links(&topology, &none, &Progress::default()));
            row(
                "hops between all pairs, 2,048 servers",
                ours,
                "igraph",
                secs * share,
                Some((5.0, 25.0)),
            );
        }
        _ => println!("igraph is not installed: pip install igraph"),
    }
}

fn instance(paths: &Paths, capacity: &[f64]) -> String {
    let mut text = format!("{} {}\n", capacity.len(), paths.len());
    for rate in capacity {
        let _ = write!(text, "{rate} ");
    }
    for flow in 0..paths.len() {
        let path = paths.path(flow);
        let _ = write!(text, "\n{}", path.len());
        for link in path {
            let _ = write!(text, " {link}");
        }
    }
    text
}

fn rates() {
    let folder = std::env::temp_dir().join(format!("cubeyard-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for a program");
    match simgrid(&folder) {
        Some(program) => {
            for json in FOR_SIMGRID {
                let topology = built(json);
                let flows = all_to_all(&topology);
                let scheme =
                    Scheme::new(None, &topology, Failures::none(&topology)).expect("the family's own");
                let paths = scheme
                    .route(&flows, 7, &Progress::default())
                    .expect("nobody cancels");
                let capacity = vec![1.0; topology.link_count() * 2];
                let rates = max_min_rates(&paths, &capacity);
                let carried: f64 = (0..paths.len())
                    .map(|flow| rates[flow] * paths.path(flow).len() as f64)
                    .sum();
                let answer = ask(Command::new(&program), &instance(&paths, &capacity));
                let Some(&[start, solve, theirs]) = answer.as_deref() else {
                    println!("SimGrid does not run: is it another version than 3.32?");
                    break;
                };
                assert!(
                    (carried - theirs).abs() <= 1e-3 * carried,
                    "SimGrid carries {theirs}, we {carried}"
                );
                let ours = fastest(|| max_min_rates(&paths, &capacity));
                let what = format!("max-min rates, {} flows", flows.len());
                row(
                    &what,
                    ours,
                    "SimGrid's start and solve",
                    start + solve,
                    Some((10.0, 30.0)),
                );
            }
        }
        None => println!("SimGrid is not installed: apt-get install libsimgrid-dev g++"),
    }
    std::fs::remove_dir_all(&folder).expect("the folder just made");
}

fn main() {
    println!(
        "{:<44} {:>13} {:>15} {:>10}",
        "CPU time", "ours", "theirs", "ratio"
    );
    routes_and_hops();
    rates();
}
