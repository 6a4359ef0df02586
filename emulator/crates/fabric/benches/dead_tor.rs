//! Measures how long TCP flows pause when a ToR of Subways is switched off, and when it keeps its
//! carriers but drops everything; both for the sources' ToR and for the destinations'. The result
//! is the longest pause of any flow, as the receivers' applications see it, next to the pause of
//! the same flows without a fault. Fails above a limit. Needs root. Run with
//! `cargo bench -p cubeyard-fabric --bench dead_tor`.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use common::{Host, can_emulate, describe, fresh_run};
use cubeyard_dataplane::address::virtual_ip;
use cubeyard_fabric::host::namespace::Namespace;
use cubeyard_topology::{Topology, TopologySpec};
use serde_json::{Value, json};

/// 16 servers, 4 ToRs and 2 aggregation switches.
const SPEC: &str = r#"{"family":"subways","type":1,"p":2,"q":8,"l":4,"aggs_per_cluster":2}"#;
const RATE_BITS_PER_SEC: f64 = 1e8;
const SERVERS_OF_RACK: u32 = 4;
const FLOWS: u32 = 16;
const FIRST_PORT: u16 = 7000;
/// Size and period of a flow's messages. Half of the flows fit into one link, so that queues stay
/// short and only the fault causes pauses. Flows that fill their links have timeouts, and thus
/// pauses, even without a fault.
const BLOCK_BYTES: usize = 4 * 1024;
const EVERY: Duration = Duration::from_millis(4);
/// Name of the case, kind of the fault, whether the dead ToR is the sources', and the longest pause
/// allowed.
const CASES: [(&str, &str, bool, Duration); 4] = [
    (
        "off, the sources' ToR",
        "switch-off",
        true,
        Duration::from_millis(300),
    ),
    (
        "off, the destinations' ToR",
        "switch-off",
        false,
        Duration::from_millis(800),
    ),
    (
        "silent, the sources' ToR",
        "switch-silent",
        true,
        Duration::from_secs(1),
    ),
    (
        "silent, the destinations' ToR",
        "switch-silent",
        false,
        Duration::from_secs(1),
    ),
];
const ROUNDS: u32 = 3;
const WARM: Duration = Duration::from_secs(1);
const BEFORE: Duration = Duration::from_secs(2);
const AFTER: Duration = Duration::from_secs(4);
const REST: Duration = Duration::from_secs(1);

fn address(server: u32) -> Ipv4Addr {
    virtual_ip(server).expect("an address")
}

fn within(run: &str, server: u32) -> Namespace {
    Namespace::named(&format!("cy-{}-{server}", &run[..8])).expect("a namespace")
}

/// A TCP flow with a steady rate. `join` returns the arrival times of its bytes.
struct Flow {
    receiver: JoinHandle<Vec<Instant>>,
    sender: JoinHandle<()>,
}

impl Flow {
    fn start(run: &str, [from, to]: [u32; 2], port: u16, stop: &Arc<AtomicBool>) -> Flow {
        let to_address = SocketAddr::from((address(to), port));
        let listener = within(run, to)
            .run(|| Ok(TcpListener::bind(to_address).expect("a port")))
            .expect("a listener");
        let mut out = within(run, from)
            .run(|| Ok(TcpStream::connect_timeout(&to_address, Duration::from_secs(5)).expect("a route")))
            .expect("a connection");
        let (mut into, _) = listener.accept().expect("a connection");
        let stopped = Arc::clone(stop);
        let sender = thread::spawn(move || {
            let block = vec![0; BLOCK_BYTES];
            while !stopped.load(Ordering::Relaxed) {
                out.write_all(&block).expect("no connection is lost");
                thread::sleep(EVERY);
            }
        });
        let receiver = thread::spawn(move || {
            let mut block = vec![0; BLOCK_BYTES];
            let mut times = Vec::new();
            while into.read(&mut block).expect("no connection is lost") > 0 {
                times.push(Instant::now());
            }
            times
        });
        Flow { receiver, sender }
    }

    fn join(self) -> Vec<Instant> {
        self.sender.join().expect("it ends well");
        self.receiver.join().expect("it ends well")
    }
}

/// The longest time without bytes in an interval, including its end.
fn pause(times: &[Instant], from: Instant, to: Instant) -> Duration {
    let within = times.iter().copied().filter(|at| (from..=to).contains(at));
    let mut last = from;
    let mut longest = Duration::ZERO;
    for at in within.chain([to]) {
        longest = longest.max(at - last);
        last = at;
    }
    longest
}

/// Longest pause of any flow before the fault, and after it.
fn round(host: &mut Host, run: &str, fault: &Value, pairs: &[[u32; 2]]) -> [Duration; 2] {
    let stop = Arc::new(AtomicBool::new(false));
    let flows: Vec<Flow> = pairs
        .iter()
        .zip(FIRST_PORT..)
        .map(|(pair, port)| Flow::start(run, *pair, port, &stop))
        .collect();
    thread::sleep(WARM);
    let began = Instant::now();
    thread::sleep(BEFORE);
    let failed = Instant::now();
    host.ask("inject", json!({"run": run, "fault": fault}));
    thread::sleep(AFTER);
    let ended = Instant::now();
    stop.store(true, Ordering::Relaxed);
    // Recover before waiting for the flows, since some may be stalled.
    host.ask("recover", json!({"run": run, "fault": "all"}));
    let times: Vec<Vec<Instant>> = flows.into_iter().map(Flow::join).collect();
    thread::sleep(REST);
    [(began, failed), (failed, ended)].map(|(from, to)| {
        let pauses = times.iter().map(|times| pause(times, from, to));
        pauses.max().expect("a flow")
    })
}

fn main() -> ExitCode {
    if !can_emulate("dead_tor") {
        return ExitCode::SUCCESS;
    }
    let spec: Value = serde_json::from_str(SPEC).expect("JSON");
    let topology = Topology::build(&TopologySpec::from_json(&spec).expect("a spec")).expect("a topology");
    let tors = topology.tiers()[0].first;
    let mut host = Host::start();
    let run = host.build(&describe(&spec, &fresh_run(), "routers", RATE_BITS_PER_SEC));
    println!(
        "Longest pause of any of {FLOWS} TCP flows of {:.1e} bit/s on links of {RATE_BITS_PER_SEC:e}, {ROUNDS} rounds",
        BLOCK_BYTES as f64 * 8.0 / EVERY.as_secs_f64()
    );
    let mut broken = 0;
    for (what, kind, is_source, bound) in CASES {
        let mut rounds = Vec::new();
        for turn in 0..ROUNDS {
            // A ToR serves the rack with its number and the next one; the other two racks do not
            // use it.
            let racks = topology.server_count() / SERVERS_OF_RACK;
            let tor = turn % racks;
            let server = |rack: u32, at: u32| (tor + rack) % racks * SERVERS_OF_RACK + at % SERVERS_OF_RACK;
            let pairs: Vec<[u32; 2]> = (0..FLOWS)
                .map(|at| [server(at / 8, at), server(2 + at / 8, at + at / 4)])
                .map(|[near, far]| if is_source { [near, far] } else { [far, near] })
                .collect();
            let fault = json!({"id": "f", "kind": kind, "target": {"switch": tors + tor}});
            rounds.push(round(&mut host, &run, &fault, &pairs));
        }
        let [before, after] = [0, 1].map(|at| rounds.iter().map(|pauses| pauses[at]).max().expect("a round"));
        let kept = if after <= bound { "kept" } else { "BROKEN" };
        broken += u8::from(after > bound);
        let each: Vec<String> = rounds.iter().map(|[_, after]| format!("{after:.2?}")).collect();
        println!(
            "{what:<30}  {after:>7.2?} ({bound:?}) {kept:<6}  rounds {}; without a fault {before:.2?}",
            each.join(", ")
        );
    }
    ExitCode::from(broken)
}
