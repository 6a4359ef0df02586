//! The tables of a chip in the kernel are changed thousands of times while it relays packets. Needs
//! root; fails in CI without it.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::chain;

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use chain::{Chain, Dataplane, cpu_nanos};
use cubeyard_chip::bcube::SHARED;
use cubeyard_dataplane::drops::DropReason;

const MTU: u32 = 1500;
const COMMITS: u32 = 4000;
/// Two programs, each with: an offset for interface numbers in next hops, the end of the source
/// MAC, and the DSCP.
const KINDS: [(u32, u16, u8); 2] = [(0, 0x0a0a, 10), (1000, 0x1414, 20)];
const REDIRECT: &str = "action.act = REDIRECT_VIF;  action.vif = nha;";
const INTERFACE: &str = "SetVIfTable(nha, dstmac[nha], srcmac[nha], oport[nha]);";

/// BCube's program. The kind determines the DSCP that its entries set and the source MAC that its
/// interfaces set.
fn relaying((offset, mac, dscp): (u32, u16, u8)) -> String {
    let redirect = format!("action.act = REDIRECT_VIF;  action.vif = nha + {offset};  action.dscp = {dscp};");
    let interface = format!(r#"SetVIfTable(nha + {offset}, dstmac[nha], "02000000{mac:04x}", oport[nha]);"#);
    let text = SHARED.replace(REDIRECT, &redirect).replace(INTERFACE, &interface);
    assert!(text.contains(&redirect) && text.contains(&interface));
    text
}

/// A program that accepts packets whose DSCP and source MAC belong to the same kind, and discards
/// all others.
fn taking() -> String {
    let mut text = "SetUDLK(2, (B10-11, B15, B30-33));".to_owned();
    for (i, (_, mac, dscp)) in KINDS.into_iter().enumerate() {
        text += &format!(
            "val[0:1] = {mac}; val[2] = {}; val[3:6] = my_bcube_id; mask[0:6] = \"ffffffffffffff\";
             SetLookupTable(TCAM, {i}, 2, val, mask, {{act=REDIRECT_PORT, port=4}});",
            dscp << 2
        );
    }
    text
}

/// Sends datagrams with consecutive numbers until stopped; returns their count.
fn send_numbers(socket: &UdpSocket, to: SocketAddr, over: &AtomicBool) -> u64 {
    let mut number = 0_u64;
    while !over.load(Ordering::Relaxed) {
        socket.send_to(&number.to_be_bytes(), to).unwrap();
        number += 1;
    }
    number
}

/// Receives datagrams until there are none for some time. Returns whether their numbers always
/// increased, and how many arrived.
fn take_numbers(socket: &UdpSocket) -> (bool, u64) {
    let (mut bytes, mut next, mut grows, mut count) = ([0; 8], 0, true, 0);
    while socket.recv(&mut bytes).is_ok() {
        let number = u64::from_be_bytes(bytes);
        grows &= number >= next;
        next = number + 1;
        count += 1;
    }
    (grows, count)
}

/// Each packet meets entirely the old program or entirely the new one. A packet is lost only if two
/// commits happen while it is in the chip; such packets are counted.
#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn tables_that_change_a_thousand_times_per_second_lose_and_misroute_no_packet() {
    let Some(mut chain) = Chain::new(3, Dataplane::Chip, MTU) else {
        return;
    };
    let programs = KINDS.map(relaying);
    chain.servers[1].set_program(&programs[0]);
    chain.servers[2].set_program(&taking());
    let socket = |server: usize, port: u16| {
        let ip = chain.ip(server);
        chain.servers[server]
            .namespace
            .run(move || UdpSocket::bind((ip, port)).unwrap())
    };
    let (from, to) = (socket(0, 7000), socket(2, 7001));
    to.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let (address, over) = (to.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
    let taking = thread::spawn(move || take_numbers(&to));
    let ends = over.clone();
    let sending = thread::spawn(move || send_numbers(&from, address, &ends));

    let began = cpu_nanos();
    for commit in 1..=COMMITS as usize {
        chain.servers[1].set_program(&programs[commit % 2]);
    }
    // CPU time of this thread, since other programs may use the machine at the same time.
    let per_sec = f64::from(COMMITS) * 1e9 / (cpu_nanos() - began) as f64;
    over.store(true, Ordering::Relaxed);
    let sent = sending.join().unwrap();
    let (grows, taken) = taking.join().unwrap();

    let [first, relay, last] = [0, 1, 2].map(|server| chain.servers[server].traffic());
    let overtaken: u64 = match &chain.servers[1].drops()[..] {
        [] => 0,
        [(DropReason::Unconfigured, count)] => *count,
        others => panic!("{others:?}"),
    };
    println!(
        "{per_sec:.0} commits a second, {sent} packets of which {overtaken} were overtaken and {taken} taken"
    );
    assert!(per_sec >= 1000.0, "{per_sec:.0} commits a second");
    assert!(sent > u64::from(COMMITS), "a packet a commit at least: {sent}");
    assert_eq!(first.own_packets, sent);
    assert_eq!(relay.relayed_packets + overtaken, sent, "none is lost on the way");
    assert_eq!(
        last.delivered_packets, relay.relayed_packets,
        "none is of both programs"
    );
    assert_eq!(chain.servers[2].drops(), []);
    assert!(
        overtaken <= u64::from(COMMITS) / 2,
        "{overtaken} of two commits each"
    );
    assert!(grows && taken > 0 && taken <= last.delivered_packets, "in order");
}
