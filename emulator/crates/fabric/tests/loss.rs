//! Loss on links, with real packets: the share of lost packets in each direction, and that they
//! count as drops. Root.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail")]

mod common;

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{Host, can_emulate, describe, fresh_run, in_row, row};
use cubeyard_dataplane::address::virtual_ip;
use cubeyard_fabric::host::namespace::Namespace;
use cubeyard_fabric::names::RunId;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use serde_json::{Value, json};

const PACKETS: u32 = 10_000;
/// Control messages, some of which may be lost too.
const OTHERS: u64 = 40;
const LINE_BITS_PER_SEC: f64 = 1e9;
/// Consecutive losses of one link.
const LOSSES: [f64; 2] = [0.2, 0.5];
/// Time after which no further packet or counter arrives.
const QUIET: Duration = Duration::from_millis(250);

fn socket(run: &str, server: u32) -> UdpSocket {
    let run: RunId = run.parse().unwrap();
    let namespace = Namespace::named(&run.server_namespace(server)).unwrap();
    let bind = || Ok(UdpSocket::bind((virtual_ip(server).unwrap(), 4000)).unwrap());
    let socket = namespace.run(bind).unwrap();
    // A large buffer, so that a receiver that waits for a processor loses no packets at its socket.
    set_socket_recv_buffer_size_force(&socket, 1 << 25).unwrap();
    socket.set_read_timeout(Some(QUIET)).unwrap();
    socket
}

/// Sends packets; returns how many arrive.
fn arriving(from: &UdpSocket, to: &UdpSocket) -> u64 {
    let is_sent = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let mut bytes = [0; 256];
            let mut arrived = 0;
            loop {
                let waits_for_more = !is_sent.load(Ordering::Relaxed);
                match to.recv(&mut bytes) {
                    Ok(_) => arrived += 1,
                    Err(_) if waits_for_more => {}
                    Err(_) => return arrived,
                }
            }
        });
        for _ in 0..PACKETS {
            from.send_to(&[0; 100], to.local_addr().unwrap()).unwrap();
        }
        is_sent.store(true, Ordering::Relaxed);
        receiver.join().unwrap()
    })
}

/// Drops at both ends of a link since the last call.
fn drops(host: &mut Host, link: usize) -> u64 {
    let latest = Instant::now() + QUIET;
    while Instant::now() < latest {
        let frame = host.next_frame();
        host.frames.push(frame);
    }
    let frames = host.frames.drain(..);
    frames
        .map(|frame| {
            let drops = frame["links"]["drops"].as_array().unwrap();
            let from_end = |at: usize| drops[at].as_u64().unwrap();
            from_end(link) + from_end(drops.len() / 2 + link)
        })
        .sum()
}

fn spec_of(family: &Value, forwarding: &str) -> Value {
    describe(family, &fresh_run(), forwarding, LINE_BITS_PER_SEC)
}

/// Three networks: servers with a cable between them, bridges, and routers. Each has two servers,
/// and a link that their packets cross from its first end to its second.
fn networks() -> [(&'static str, Value, [u32; 2]); 3] {
    let mut servers = row(3, &fresh_run(), "kernel", |_| 0);
    servers["rate_bits_per_sec"] = json!(LINE_BITS_PER_SEC);
    let bcube = json!({"family": "bcube", "n": 2, "k": 0});
    let spine = json!({"family": "leaf_spine", "leaves": 2, "spines": 1, "servers_per_leaf": 1, "server_gbps": 1, "uplink_gbps": 1});
    let mut routed = spec_of(&spine, "routers");
    // Long enough that lost hellos do not remove routes.
    routed["settings"] = json!({"hello_secs": 5, "dead_after": 20});
    [
        ("relayed between servers", servers, [in_row(0), in_row(2)]),
        ("through a bridge", spec_of(&bcube, "kernel"), [0, 1]),
        ("between routers", routed, [0, 1]),
    ]
}

/// Index of the link with loss, the last one of the path: between servers, or between switches.
fn lossy_link(network: &Value) -> usize {
    let links = network["links"].as_array().unwrap();
    links.len() - 1
}

#[test]
fn a_link_loses_the_given_share_both_ways_and_counts_it() {
    if !can_emulate("a_link_loses_the_given_share_both_ways_and_counts_it") {
        return;
    }
    for (name, network, servers) in networks() {
        let mut host = Host::start();
        let run = host.build(&network);
        host.ask("subscribe", json!({"run": run}));
        let link = lossy_link(&network);
        let [near, far] = servers.map(|server| socket(&run, server));
        let ways = [(&near, &far), (&far, &near)];
        for (number, loss) in LOSSES.iter().enumerate() {
            let fault =
                json!({"id": number, "kind": "link-loss", "target": {"link": link}, "loss_ratio": loss});
            host.ask("inject", json!({"run": run, "fault": fault}));
            let kept: f64 = LOSSES[..=number].iter().map(|loss| 1.0 - loss).product();
            let sampling = 5.0 * (kept * (1.0 - kept) * f64::from(PACKETS)).sqrt();
            for (from, to) in ways {
                let arrived = arriving(from, to);
                let lost = drops(&mut host, link);
                let wanted = f64::from(PACKETS) * (1.0 - kept);
                assert!(
                    (lost as f64 - wanted).abs() <= sampling + OTHERS as f64,
                    "{name}: {lost} of {wanted} are lost"
                );
                assert!(
                    (arrived + lost).abs_diff(PACKETS.into()) <= OTHERS,
                    "{name}: {arrived} arrive, {lost} are lost"
                );
            }
        }
        host.ask("recover", json!({"run": run, "fault": "all"}));
        for (from, to) in ways {
            assert_eq!(arriving(from, to), u64::from(PACKETS), "{name}: after the fault");
        }
        assert_eq!(drops(&mut host, link), 0, "{name}");
    }
}
