//! Measures the packet engine: packet-hops per CPU second compared with a bare event loop over the
//! same number of hops, memory, and scaling over seeds. The fastest of a few repetitions counts.
//! Run with `cargo bench -p cubeyard-sim --bench packets`.
//!
//! htsim cannot be installed here: measured elsewhere on a similar machine, it made 2.4 to 3.0 M
//! packet-hops per CPU second on the 128-host permutation. The last column divides by the upper
//! value.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use cubeyard_sim::packet::calendar::Calendar;
use cubeyard_sim::packet::flows::{Clock, Connection, Receiver, Sender};
use cubeyard_sim::packet::links::Links;
use cubeyard_sim::packet::wheel::{NEVER, Wheel};
use cubeyard_sim::{EngineKind, Experiment, Network, Progress};
use serde_json::{Value, json};

/// htsim's packet-hops a CPU second, at most.
const HTSIM_HOPS_PER_SEC: f64 = 3.0e6;

/// CPU time of this process so far, all threads together.
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn simulate(spec: &Value, experiment: &Value) -> Value {
    let network = Network::open(&spec.to_string()).expect("a valid spec");
    let experiment = Experiment::from_json(&experiment.to_string()).expect("a valid experiment");
    EngineKind::Packet
        .engine()
        .run(&network, &experiment, &Progress::default(), &mut |_| {})
        .expect("a possible run")
}

/// Seconds of CPU of the fastest of three, and what the work gave.
fn fastest<T>(mut work: impl FnMut() -> T) -> (f64, T) {
    let mut best: Option<(f64, T)> = None;
    for _ in 0..3 {
        let begun = cpu_time();
        let value = work();
        let secs = (cpu_time() - begun).as_secs_f64();
        if best.as_ref().is_none_or(|(least, _)| secs < *least) {
            best = Some((secs, value));
        }
    }
    best.expect("three tries")
}

/// A bare event loop: `packets` circulate over routes of `length` links out of `links`, with only a
/// queue of packets per link and the event queue, in which a link has one event. The engine has one
/// event per packet (`calendar`), and no queue per link.
fn bare(links: u32, packets: u32, length: u32, hops: u64) -> u64 {
    let mut wheel = Wheel::new(links as usize, 72_000_000, links as usize);
    let mut queues: Vec<VecDeque<(u64, u32)>> = vec![VecDeque::new(); links as usize];
    let mut busy = vec![0u64; links as usize];
    let next = |packet: u32, step: u32| {
        let place = packet
            .wrapping_mul(2_654_435_761)
            .wrapping_add(step % length * 40_503);
        place % links
    };
    let enter = |wheel: &mut Wheel,
                 queues: &mut Vec<VecDeque<(u64, u32)>>,
                 busy: &mut Vec<u64>,
                 now: u64,
                 link: u32,
                 packet: u32| {
        let leaves = busy[link as usize].max(now) + 12_000_000;
        busy[link as usize] = leaves;
        queues[link as usize].push_back((leaves + 60_000_000, packet));
        if wheel.due(link) == NEVER {
            wheel.push(link, queues[link as usize][0].0);
        }
    };
    let mut steps = vec![0u32; packets as usize];
    for packet in 0..packets {
        let link = next(packet, 0);
        enter(&mut wheel, &mut queues, &mut busy, 0, link, packet);
    }
    for _ in 0..hops {
        let Some((now, link)) = wheel.pop(NEVER - 1) else {
            break;
        };
        let Some((_, packet)) = queues[link as usize].pop_front() else {
            break;
        };
        if let Some(&(time, _)) = queues[link as usize].front() {
            wheel.push(link, time);
        }
        let step = &mut steps[packet as usize];
        *step += 1;
        let onto = next(packet, *step);
        enter(&mut wheel, &mut queues, &mut busy, now, onto, packet);
    }
    steps.iter().map(|&step| u64::from(step)).sum()
}

#[allow(clippy::print_stdout, reason = "a bench is there to print")]
fn main() {
    println!(
        "{:<44} {:>7} {:>12} {:>10} {:>10} {:>8} {:>8}",
        "packet engine", "links", "packet-hops", "M hops/s", "bare loop", "share", "x htsim"
    );
    let cases = [
        (
            "fat-tree permutation, 128 hosts",
            json!({"family": "fat_tree", "ports": 8}),
            json!({"kind": "permutation", "bytes": 20_000_000}),
        ),
        (
            "shuffle, 16 servers",
            json!({"family": "fat_tree", "ports": 4}),
            json!({"kind": "all-to-all", "bytes": 3_000_000}),
        ),
        (
            "BCube permutation, 128 servers",
            json!({"family": "bcube", "n": 8, "k": 2, "servers": 128}),
            json!({"kind": "permutation", "bytes": 10_000_000}),
        ),
        (
            "fat-tree permutation, 2,000 hosts",
            json!({"family": "fat_tree", "ports": 20}),
            json!({"kind": "permutation", "bytes": 500_000}),
        ),
        (
            "CamCube permutation, 8,000 servers",
            json!({"family": "torus3d", "x": 20, "y": 20, "z": 20}),
            json!({"kind": "permutation", "bytes": 100_000}),
        ),
    ];
    for (name, spec, workload) in cases {
        let experiment = json!({"engine": "packet", "workload": workload, "link_gbps": 1});
        let (secs, document) = fastest(|| simulate(&spec, &experiment));
        let hops = document["packet_hops"].as_u64().unwrap_or_default();
        let network = Network::open(&spec.to_string()).expect("a valid spec");
        let links = network.topology().link_count() as u32 * 2;
        let packets = document["most_packets"].as_u64().unwrap_or_default() as u32;
        let (bare_secs, bare_hops) = fastest(|| bare(links, packets.max(1), 12, hops));
        let (rate, ceiling) = (hops as f64 / secs, bare_hops as f64 / bare_secs);
        println!(
            "{name:<44} {links:>7} {hops:>12} {:>10.2} {:>10.2} {:>7.0}% {:>8.1}",
            rate / 1e6,
            ceiling / 1e6,
            100.0 * rate / ceiling,
            rate / HTSIM_HOPS_PER_SEC,
        );
    }
    let flow = size_of::<Connection>()
        + size_of::<Sender>()
        + size_of::<Clock>()
        + size_of::<Receiver>()
        + Wheel::BYTES_PER_EVENT
        + 16;
    println!(
        "bytes: {flow} a flow and 8 a link of its routes, {} an idle directed link, {} a packet in flight",
        Links::BYTES_PER_LINK,
        Calendar::BYTES_PER_PACKET,
    );
    let seeds = |count: u64| {
        let seeds: Vec<u64> = (1..=count).collect();
        let experiment = json!({
            "engine": "packet", "workload": {"kind": "permutation", "bytes": 2_000_000}, "link_gbps": 1, "seeds": seeds,
        });
        let begun = (Instant::now(), cpu_time());
        simulate(&json!({"family": "fat_tree", "ports": 8}), &experiment);
        [begun.0.elapsed(), cpu_time() - begun.1].map(|taken| taken.as_secs_f64() / count as f64)
    };
    let ([one, one_cpu], [sixteen, sixteen_cpu]) = (seeds(1), seeds(16));
    println!(
        "16 seeds on {} threads: {:.2} times the rate of one by the clock, which other work on the machine lowers; a seed takes {:.2} times the CPU time",
        std::thread::available_parallelism().map_or(1, usize::from),
        one / sixteen,
        sixteen_cpu / one_cpu
    );
}
