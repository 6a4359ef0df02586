//! Measures the time of 1,000 updates of weights: replaces groups of next hops in a separate
//! namespace, first with one request at a time, as when the weights of one node change, then in one
//! batch. Fails above a limit. Needs root. Run with
//! `cargo bench -p cubeyard-fabric --bench weights`.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::net::Ipv4Addr;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use cubeyard_fabric::host::probe::probe;
use cubeyard_fabric::names::LOOPBACK_INDEX;
use cubeyard_fabric::netlink::{
    Batch, End, GroupMember, Netlink, RT_TABLE_MAIN, RouteByHop, Veth, add_address, add_group, add_next_hop,
    add_route_by_hop, add_veth, no_excuse, set_up,
};
use nix::sched::{CloneFlags, unshare};
use serde_json::Value;

const UPDATES: u32 = 1000;
/// Limit for all updates together.
const BOUND: Duration = Duration::from_secs(1);
const ROUNDS: u32 = 5;
/// Next hops of a node, each over a separate cable.
const HOPS: u32 = 8;
const GROUPS: u32 = 100;
const ROUTES_OF_GROUP: u32 = 10;
const FIRST_GROUP: u32 = 1000;
const WEIGHTS: u32 = 256;
const ADDRESS: Ipv4Addr = Ipv4Addr::new(172, 16, 0, 1);

/// A node with next hops, groups of all of them, and routes by each group.
fn node() -> Netlink {
    let mut netlink = Netlink::open().expect("a socket");
    let mut batch = Batch::new();
    set_up(&mut batch, LOOPBACK_INDEX, true);
    add_address(&mut batch, LOOPBACK_INDEX, ADDRESS, 32);
    for hop in 1..=HOPS {
        let end = |name: &str, index: u32| End {
            name: format!("{name}{hop}"),
            index,
            mac: [2, 0, 0, 0, u8::from(name == "f"), hop as u8],
            arp: false,
            bridge: None,
            namespace: None,
        };
        let (near, far) = (end("n", 10 + hop), end("f", 100 + hop));
        add_veth(
            &mut batch,
            &Veth {
                near,
                far,
                mtu: 1500,
                super_packet_bytes: 65_000,
            },
        );
        set_up(&mut batch, 100 + hop, true);
    }
    for hop in 1..=HOPS {
        add_next_hop(&mut batch, hop, 10 + hop, Ipv4Addr::new(100, 64, 0, hop as u8));
    }
    for group in 0..GROUPS {
        replace(&mut batch, group, 1);
        for route in 0..ROUTES_OF_GROUP {
            add_route_by_hop(
                &mut batch,
                &RouteByHop {
                    to: Ipv4Addr::from(0x0a00_0000 + group * ROUTES_OF_GROUP + route),
                    prefix_bits: 32,
                    hop: FIRST_GROUP + group,
                    source: ADDRESS,
                    table: RT_TABLE_MAIN.into(),
                    mtu: None,
                },
            );
        }
    }
    netlink.run(&mut batch, no_excuse).expect("a node");
    netlink
}

/// The request that gives a group's next hops other weights.
fn replace(batch: &mut Batch, group: u32, weight: u32) {
    let members: Vec<GroupMember> = (1..=HOPS)
        .map(|id| GroupMember {
            id,
            weight: if id == 1 { weight } else { 1 },
        })
        .collect();
    add_group(batch, FIRST_GROUP + group, &members);
}

/// The kernel's weight of a group's first next hop.
fn weight(group: u32) -> u64 {
    let id = (FIRST_GROUP + group).to_string();
    let shown = Command::new("ip")
        .args(["-j", "nexthop", "show", "id", &id])
        .output();
    let shown: Value = serde_json::from_slice(&shown.expect("ip of iproute2").stdout).expect("JSON");
    shown[0]["group"][0]["weight"].as_u64().unwrap_or(1)
}

/// Time of the updates, one after the other or all in one batch; the longest of several rounds.
fn updates(netlink: &mut Netlink, at_once: u32, round: u32) -> Duration {
    let began = Instant::now();
    let (mut update, mut last) = (0, 0);
    while update < UPDATES {
        let mut batch = Batch::new();
        for _ in 0..at_once {
            last = 1 + (round + update / GROUPS) % (WEIGHTS - 1);
            replace(&mut batch, update % GROUPS, last);
            update += 1;
        }
        netlink.run(&mut batch, no_excuse).expect("the kernel takes it");
    }
    let took = began.elapsed();
    assert_eq!(weight(GROUPS - 1), u64::from(last), "the last update is in force");
    took
}

fn main() -> ExitCode {
    if !probe().can_emulate() || unshare(CloneFlags::CLONE_NEWNET).is_err() {
        assert!(
            std::env::var_os("CI").is_none(),
            "CI must allow network namespaces"
        );
        eprintln!("skipped: network namespaces need root here");
        return ExitCode::SUCCESS;
    }
    let mut netlink = node();
    let mut broken = 0;
    let mut round = 0;
    for (how, at_once) in [("one by one", 1), ("in one batch", UPDATES)] {
        let took = (0..ROUNDS).map(|_| {
            round += 17;
            updates(&mut netlink, at_once, round)
        });
        let longest = took.max().expect("a round");
        let kept = if longest <= BOUND { "kept" } else { "BROKEN" };
        broken += u8::from(longest > BOUND);
        println!(
            "{UPDATES} updates of weights {how}: {longest:>9.1?} at most of {ROUNDS} rounds ({BOUND:?}) {kept}"
        );
    }
    ExitCode::from(broken)
}
