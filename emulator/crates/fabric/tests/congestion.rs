//! Congestion notification with real packets `[serverswitch §5.2, §6.3]`: a UDP source at 100 Mb/s
//! behind a chip whose port is then limited to 20. Root.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail")]

mod common;

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Host, can_emulate, fresh_run, in_row, row};
use cubeyard_dataplane::address::virtual_ip;
use cubeyard_fabric::host::namespace::Namespace;
use cubeyard_fabric::names::RunId;
use serde_json::{Value, json};

const SOURCE: u32 = 0;
const LAST: u32 = 2;
/// The link between the chip and the last server. Its first end is the chip's.
const LINK: usize = 1;
/// Rate of the source's link, then of the slowed link.
const LINE_BITS_PER_SEC: f64 = 1e8;
const SLOW_BITS_PER_SEC: f64 = 2e7;
/// Ticks (0.1 s each): for the source to settle, then for the measurement.
const SETTLING: usize = 15;
const TICKS: usize = 20;
/// Number of sending sockets. A packet counts against its socket until it leaves the last queue, so
/// that one socket alone cannot fill a queue.
const SENDERS: u16 = 8;
/// Limit of the median reaction time while these senders, and the kernel's work for their packets,
/// use the processors.
const REPLY_MICROS: f64 = 150.0;

/// Queue lengths of the port in bytes, its total drops, and the run's counters of questions and
/// answers.
struct Seen {
    queue_bytes: f64,
    drops: u64,
    counts: Value,
}

impl Seen {
    /// How much the queue can grow during the reaction time. On a machine that is busy with other
    /// work, answers are late.
    fn grown_bytes(&self) -> f64 {
        let reaction_secs = self.counts["reaction_micros"].as_f64().unwrap() * 1e-6;
        (LINE_BITS_PER_SEC - SLOW_BITS_PER_SEC) / 8.0 * reaction_secs
    }
}

/// Checks that the queue stays near its target.
fn check_queue(seen: &Seen, aim: f64) {
    assert!(
        seen.queue_bytes > 0.4 * aim && seen.queue_bytes < 1.8 * aim + seen.grown_bytes(),
        "{} {}",
        seen.queue_bytes,
        seen.counts
    );
}

/// Checks the reaction time: a separate thread answers, faster than the run's own thread could.
fn check_reply(counts: &Value) {
    let micros = |name: &str| counts[name].as_f64().unwrap();
    let (median, p99) = (micros("median_reaction_micros"), micros("p99_reaction_micros"));
    let longest = micros("longest_reaction_micros");
    assert!(0.0 < median && median <= p99 && p99 <= longest, "{counts}");
    assert!(median <= REPLY_MICROS, "{counts}");
}

/// Whether the machine's load of the last minute leaves its cores free.
fn machine_is_quiet() -> bool {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    let load: f64 = load.split(' ').next().unwrap().parse().unwrap();
    load <= std::thread::available_parallelism().unwrap().get() as f64
}

fn inside(run: &str, at: u32) -> Namespace {
    let run: RunId = run.parse().unwrap();
    Namespace::named(&run.server_namespace(in_row(at))).unwrap()
}

fn socket(run: &str, at: u32, port: u16) -> UdpSocket {
    let bind = || Ok(UdpSocket::bind((virtual_ip(in_row(at)).unwrap(), port)).unwrap());
    inside(run, at).run(bind).unwrap()
}

/// Ticks of the port while the source sends as fast as it is allowed.
fn measure(host: &mut Host, congestion: &Value, queue_bytes: u32) -> Seen {
    let run = fresh_run();
    let mut network = row(3, &run, "serverswitch", |_| 0);
    network["mtu"] = json!(1500);
    network["congestion"] = congestion.clone();
    network["settings"] = json!({"queue_bytes": queue_bytes});
    host.build(&network);
    host.ask("subscribe", json!({"run": run}));
    let fault = json!({"id": "slow", "kind": "link-rate", "target": {"link": LINK}, "rate_bits_per_sec": SLOW_BITS_PER_SEC});
    host.ask("inject", json!({"run": run, "fault": fault}));
    let senders: Vec<UdpSocket> = (0..SENDERS).map(|at| socket(&run, SOURCE, 4000 + at)).collect();
    let receiver = socket(&run, LAST, 4000);
    let to = receiver.local_addr().unwrap();
    let is_over = AtomicBool::new(false);
    let mut seen = Seen {
        queue_bytes: 0.0,
        drops: 0,
        counts: Value::Null,
    };
    std::thread::scope(|scope| {
        for sender in &senders {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    // When the port is limited, packets wait in the socket's buffer.
                    let _ = sender.send_to(&[0; 1400], to);
                }
            });
        }
        host.frames.clear();
        for tick in 0..SETTLING + TICKS {
            let links = host.next_frame()["links"].take();
            seen.drops += links["drops"][LINK].as_u64().unwrap();
            if tick >= SETTLING {
                seen.queue_bytes += links["queue"][LINK].as_f64().unwrap() / TICKS as f64;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    check_registers(host, &run);
    let runs = host.ask("runs", json!({}));
    seen.counts = runs["runs"][0]["congestion"].clone();
    host.ask("destroy", json!({"run": run}));
    seen
}

/// The chip in the middle counts forwarded packets. Counters can be cleared, queues cannot.
fn check_registers(host: &mut Host, run: &str) {
    let asked = |register: Value, value: Value| json!({"run": run, "server": in_row(1), "register": register, "value": value});
    let registers = host.ask("registers", asked(Value::Null, Value::Null))["registers"].take();
    // Packets arrive from the source by port 0, and leave to the last server by port 1.
    for name in ["IN_PACKETS_PORT0", "OUT_PACKETS_PORT1", "OUT_BYTES_PORT1"] {
        assert!(registers[name].as_u64().unwrap() > 1000, "{name}: {registers}");
    }
    assert_eq!(
        (&registers["L3_ENABLE"], &registers["MISS_TO_CPU"]),
        (&json!(1), &json!(0))
    );
    let alone = host.ask("registers", asked(json!("OUT_BYTES_PORT1"), Value::Null));
    let read = &alone["registers"];
    assert!(read["OUT_BYTES_PORT1"].as_u64() >= registers["OUT_BYTES_PORT1"].as_u64());
    assert_eq!(read.as_object().map(serde_json::Map::len), Some(1), "{read}");
    eprintln!("a register read: {} ns", alone["nanos"]);
    let unknown = host
        .call("registers", &asked(json!("NONE"), Value::Null))
        .unwrap_err();
    assert_eq!(unknown["code"], "bad-input", "{unknown}");
    let cleared = host.ask("registers", asked(json!("IN_PACKETS_PORT0"), json!(0)));
    assert!(cleared["registers"]["IN_PACKETS_PORT0"].as_u64() < registers["IN_PACKETS_PORT0"].as_u64());
    let switched = host.ask("registers", asked(json!("MISS_TO_CPU"), json!(1)));
    assert_eq!(switched["registers"]["MISS_TO_CPU"], 1);
    for (name, value) in [
        ("OUTPUT_QUEUE_BYTES_PORT1", 0),
        ("IN_PACKETS_PORT0", 5),
        ("L3_ENABLE", 2),
        ("NONE", 0),
    ] {
        let refused = host
            .call("registers", &asked(json!(name), json!(value)))
            .unwrap_err();
        assert_eq!(refused["code"], "bad-input", "{refused}");
    }
}

#[test]
fn a_source_keeps_the_queue_near_its_target_if_it_gets_answers() {
    if !can_emulate("congestion") {
        return;
    }
    let mut host = Host::start();
    aimed_at(&mut host, 60_000);
    let silent = measure(
        &mut host,
        &json!({"queue_bytes": 60_000, "answers": false}),
        400_000,
    );
    assert!(
        silent.drops > 0 && silent.queue_bytes > 300_000.0,
        "{} {}",
        silent.drops,
        silent.queue_bytes
    );
    assert_eq!(silent.counts["told"], 0);
}

#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn twice_the_aim_is_about_twice_the_queue() {
    if !can_emulate("congestion") {
        return;
    }
    let is_quiet = machine_is_quiet();
    let mut host = Host::start();
    let [one, twice] = [60_000, 120_000].map(|aim| aimed_at(&mut host, aim));
    // On a busy machine, sources do not fill the queue, and their limits follow late.
    let is_quick = is_quiet
        && [&one, &twice]
            .iter()
            .all(|seen| seen.grown_bytes() < 0.2 * 60_000.0);
    let ratio = twice.queue_bytes / one.queue_bytes;
    assert!(
        (1.4..2.8).contains(&ratio) || !is_quick,
        "{} after {}",
        twice.queue_bytes,
        one.queue_bytes
    );
}

/// The queue of a source with this target, in bytes.
fn aimed_at(host: &mut Host, aim: u32) -> Seen {
    let seen = measure(host, &json!({"queue_bytes": aim}), 4_000_000);
    eprintln!("{}", seen.counts);
    assert_eq!(seen.drops, 0, "{}", seen.counts);
    check_queue(&seen, aim.into());
    assert!(seen.counts["told"].as_u64().unwrap() > 10, "{}", seen.counts);
    check_reply(&seen.counts);
    seen
}

#[test]
fn a_network_that_cannot_have_it_is_refused_by_its_field() {
    let refused = |forwarding: &str, congestion: Value| {
        let mut network = row(3, &fresh_run(), forwarding, |_| 0);
        network["congestion"] = congestion;
        let error = cubeyard_fabric::network::Network::from_json(network).unwrap_err();
        error.to_string()
    };
    let allowed = json!({"queue_bytes": 50_000});
    for forwarding in ["kernel", "software", "serverswitch-software"] {
        assert!(
            refused(forwarding, allowed.clone()).contains("network.congestion"),
            "{forwarding}"
        );
    }
    for bytes in [0, 2_999, 8_000_001] {
        let message = refused("serverswitch", json!({"queue_bytes": bytes}));
        assert!(message.contains("network.congestion.queue_bytes"), "{message}");
    }
}
