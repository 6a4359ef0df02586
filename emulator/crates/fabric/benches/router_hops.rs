//! Compares the cost of a packet and of a byte over routers with that over bridges: the fabric
//! builds the same tree with each kind of switch, and all runs on one CPU. Rounds alternate between
//! the kinds, so that other load of the machine affects both. Fails above a limit. Needs root. Run
//! with `cargo bench -p cubeyard-fabric --bench router_hops`.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::time::Duration;

use common::{Host, can_emulate, describe, fresh_run};
use cubeyard_dataplane::address::virtual_ip;
use cubeyard_fabric::host::namespace::Namespace;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use serde_json::json;

/// Limit: cost over routers relative to bridges.
const BOUND: f64 = 1.05;
const ROUNDS: usize = 25;
/// Number of switches, and two servers: both below one switch, and below two switches that a third
/// one joins.
const PAIRS: [(u32, u32, u32); 2] = [(1, 0, 1), (3, 0, 7)];
/// Higher than the rate of the measured packets, so that no queue waits for its timer.
const RATE_BITS_PER_SEC: f64 = 1e11;
/// Port of the first pair. Each pair has its own, since one server is in both pairs.
const PORT: u16 = 7000;
/// UDP payload in bytes.
const PACKET_BYTES: usize = 64;
/// Packets in flight. They fit into a socket's buffer.
const WINDOW: usize = 64;
const PACKETS: usize = 400 * WINDOW;
const BLOCK_BYTES: usize = 64 * 1024;
const BLOCKS: usize = 2048;

/// The tree with one kind of switch.
struct Kind {
    name: &'static str,
    pairs: Vec<Pair>,
    _host: Host,
}

/// Sockets of two servers, which stay in their namespaces.
struct Pair {
    datagrams: [UdpSocket; 2],
    stream: [TcpStream; 2],
}

fn address(server: u32) -> Ipv4Addr {
    virtual_ip(server).expect("an address")
}

impl Kind {
    fn new(name: &'static str, behaviour: &str) -> Kind {
        let spec = json!({"family": "tree", "edge_ports": 4, "servers": 8});
        let mut host = Host::start();
        let run = host.build(&describe(&spec, &fresh_run(), behaviour, RATE_BITS_PER_SEC));
        let pairs = (PORT..).zip(PAIRS);
        let pairs = pairs.map(|(port, (_, from, to))| Pair::new(&run, port, from, to));
        Kind {
            name,
            pairs: pairs.collect(),
            _host: host,
        }
    }
}

impl Pair {
    fn new(run: &str, port: u16, from: u32, to: u32) -> Pair {
        let within =
            |server: u32| Namespace::named(&format!("cy-{}-{server}", &run[..8])).expect("a namespace");
        let datagrams = [from, to].map(|server| {
            let bound = within(server).run(|| Ok(UdpSocket::bind((address(server), port)).expect("a port")));
            bound.expect("a socket")
        });
        datagrams[0].connect((address(to), port)).expect("an address");
        datagrams[1]
            .set_read_timeout(Some(Duration::from_secs(2)))
            .expect("a timeout");
        let listener = within(to)
            .run(|| Ok(TcpListener::bind((address(to), port)).expect("a port")))
            .expect("a listener");
        let out = within(from)
            .run(|| {
                let to = SocketAddr::from((address(to), port));
                Ok(TcpStream::connect_timeout(&to, Duration::from_secs(5)).expect("a route"))
            })
            .expect("a connection");
        let (into, _) = listener.accept().expect("a connection");
        for stream in [&out, &into] {
            stream.set_nonblocking(true).expect("a socket");
        }
        Pair {
            datagrams,
            stream: [out, into],
        }
    }

    /// CPU time per datagram in nanoseconds, from the sender's call to the receiver's.
    fn nanos_per_packet(&self, packets: usize) -> f64 {
        let [from, to] = &self.datagrams;
        let mut bytes = [0; PACKET_BYTES];
        let spent = nanos(|| {
            for _ in 0..packets / WINDOW {
                for _ in 0..WINDOW {
                    from.send(&bytes).expect("it is sent");
                }
                for _ in 0..WINDOW {
                    assert_eq!(to.recv(&mut bytes).expect("none is lost"), PACKET_BYTES);
                }
            }
        });
        spent / packets as f64
    }

    /// CPU time per byte of a TCP connection, in nanoseconds.
    fn nanos_per_byte(&mut self, blocks: usize) -> f64 {
        let [from, to] = &mut self.stream;
        let (mut block, bytes) = (vec![0; BLOCK_BYTES], blocks * BLOCK_BYTES);
        let (mut sent, mut received) = (0, 0);
        let would_block = |error: std::io::Error| {
            assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
            std::io::Result::Ok(0)
        };
        let spent = nanos(|| {
            while received < bytes {
                let rest = BLOCK_BYTES.min(bytes - sent);
                sent += from.write(&block[..rest]).or_else(would_block).expect("a peer");
                received += to.read(&mut block).or_else(would_block).expect("a peer");
            }
        });
        spent / bytes as f64
    }
}

/// CPU time of some work in nanoseconds: that of this thread, and of the kernel's packet thread on
/// the same CPU.
fn nanos(work: impl FnOnce()) -> f64 {
    let spent = || run_nanos("/proc/thread-self") + kernel_thread().map_or(0, |thread| run_nanos(&thread));
    let before = spent();
    work();
    (spent() - before) as f64
}

fn run_nanos(process: &str) -> u64 {
    let stat = std::fs::read_to_string(format!("{process}/schedstat")).expect("the kernel reports run times");
    let nanos = stat.split_whitespace().next().expect("a number");
    nanos.parse().expect("a number")
}

fn kernel_thread() -> Option<String> {
    let processes = std::fs::read_dir("/proc")
        .expect("processes")
        .map_while(Result::ok);
    let is_it = |path: &String| {
        std::fs::read_to_string(format!("{path}/comm")).is_ok_and(|comm| comm == "ksoftirqd/0\n")
    };
    processes
        .map(|entry| entry.path().display().to_string())
        .find(is_it)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> ExitCode {
    if !can_emulate("router_hops") {
        return ExitCode::SUCCESS;
    }
    let mut kinds = [Kind::new("routers", "routers"), Kind::new("bridges", "none")];
    // Restricted only now, so that the fabrics run on the other CPUs.
    let mut only = CpuSet::new();
    only.set(0).expect("a CPU");
    sched_setaffinity(Pid::from_raw(0), &only).expect("a CPU of ours");
    println!("CPU on the whole way, median of {ROUNDS} rounds");
    println!(
        "{:<28}  {:>8}  {:>8}  routers/bridges",
        "", kinds[0].name, kinds[1].name
    );
    let mut broken = 0;
    for (at, (switches, ..)) in PAIRS.into_iter().enumerate() {
        let way = format!("over {switches} switches");
        let mut row = |what: &str, unit: &str, cost: &mut dyn FnMut(&mut Pair, usize) -> f64| {
            let mut turn = |share: usize| kinds.each_mut().map(|kind| cost(&mut kind.pairs[at], share));
            turn(8); // to warm up
            let rounds: Vec<[f64; 2]> = (0..ROUNDS).map(|_| turn(1)).collect();
            let ratio = median(rounds.iter().map(|turn| turn[0] / turn[1]));
            let [routers, bridges] = [0, 1].map(|kind| median(rounds.iter().map(|turn| turn[kind])));
            let kept = if ratio <= BOUND { "kept" } else { "BROKEN" };
            broken += u8::from(ratio > BOUND);
            println!(
                "{:<28}  {routers:>5.2} {unit}  {bridges:>5.2} {unit}  {ratio:>4.2} ({BOUND}) {kept}",
                format!("{what} {way}")
            );
        };
        row("a packet", "ns", &mut |pair, share| {
            pair.nanos_per_packet(PACKETS / share)
        });
        row("a byte", "ns", &mut |pair, share| {
            pair.nanos_per_byte(BLOCKS / share)
        });
    }
    ExitCode::from(broken)
}
