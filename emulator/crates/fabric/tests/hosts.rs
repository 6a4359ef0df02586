//! One run over two hosts: two fabrics, each in a separate network, joined by a cable.

mod common;

use std::process::{Command, Output};

use common::{Host, can_emulate, describe, fresh_folder, fresh_run, row};
use serde_json::{Value, json};

const UNDERLAY_MTU: u32 = 9100;

/// Runs a program and waits for its end.
fn output_of(words: &[&str]) -> Output {
    Command::new(words[0])
        .args(&words[1..])
        .output()
        .expect("the program starts")
}

fn done(words: &[&str]) -> String {
    let output = output_of(words);
    assert!(
        output.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Hosts with the addresses `10.77.0.1`, `10.77.0.2`, …, on a network with this MTU.
fn hosts<const N: usize>(underlay_mtu: u32) -> [Host; N] {
    let hosts = [(); N].map(|()| Host::start_apart(fresh_folder()));
    let pids = hosts.each_ref().map(|host| host.pid().to_string());
    let mtu = underlay_mtu.to_string();
    // The first host contains the switch that connects all hosts.
    let first = |words: &[&str]| done(&[&["nsenter", "-n", "-t", &pids[0], "ip", "link"], words].concat());
    first(&["add", "under", "type", "bridge"]);
    for (at, pid) in pids.iter().enumerate().skip(1) {
        let port = format!("port{at}");
        first(&[
            "add", &port, "mtu", &mtu, "type", "veth", "peer", "name", "under", "mtu", &mtu, "netns", pid,
        ]);
        first(&["set", &port, "master", "under", "up"]);
    }
    first(&["set", "under", "mtu", &mtu]);
    for (at, pid) in pids.iter().enumerate() {
        let address = format!("10.77.0.{}/24", at + 1);
        let inside = ["nsenter", "-n", "-t", pid, "ip"];
        done(&[&inside[..], &["address", "add", &address, "dev", "under"]].concat());
        done(&[&inside[..], &["link", "set", "under", "up"]].concat());
    }
    hosts
}

/// A BCube_1 of four-port switches on `count` hosts, each with an equal range of server ids.
fn spread(run: &str, count: usize, here: usize) -> Value {
    let mut network = describe(&json!({"family": "bcube", "n": 4, "k": 1}), run, "kernel", 1e8);
    for (id, server) in network["servers"]
        .as_array_mut()
        .expect("servers")
        .iter_mut()
        .enumerate()
    {
        server["host"] = json!(id * count / 16);
    }
    network["owner"] = json!("the test");
    let underlays: Vec<String> = (1..=count).map(|host| format!("10.77.0.{host}")).collect();
    network["hosts"] = json!({"here": here, "underlays": underlays, "first_vni": 4096});
    network
}

fn build(hosts: &mut [Host]) -> String {
    let run = fresh_run();
    let count = hosts.len();
    for (at, host) in hosts.iter_mut().enumerate() {
        host.build(&spread(&run, count, at));
    }
    run
}

/// How many of 200 pings from one server to another are answered.
fn echoes(host: &Host, run: &str, from: u32, to: u32) -> u32 {
    let (pid, namespace) = (host.pid().to_string(), format!("cy-{}-{from}", &run[..8]));
    let address = format!("10.0.0.{}", to + 1);
    let inside = [
        "nsenter", "-m", "-n", "-t", &pid, "ip", "netns", "exec", &namespace,
    ];
    let ping = ["ping", "-q", "-c", "200", "-i", "0.01", "-W", "1", &address];
    let output = output_of(&[&inside[..], &ping[..]].concat()).stdout;
    let text = String::from_utf8_lossy(&output).into_owned();
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "received,");
    words[at.expect("a summary") - 1].parse().expect("a number")
}

/// Whether one server reaches another. One answer to three pings is enough: the first ping may be
/// sent before the kernel uses a link that was just recovered.
fn pings(host: &Host, run: &str, from: u32, to: u32, bytes: u32) -> bool {
    let (pid, namespace) = (host.pid().to_string(), format!("cy-{}-{from}", &run[..8]));
    let (bytes, address) = (bytes.to_string(), format!("10.0.0.{}", to + 1));
    let inside = [
        "nsenter", "-m", "-n", "-t", &pid, "ip", "netns", "exec", &namespace,
    ];
    let ping = [
        "ping", "-c", "3", "-i", "0.3", "-W", "2", "-M", "do", "-s", &bytes, &address,
    ];
    output_of(&[&inside[..], &ping[..]].concat()).status.success()
}

fn names_of(host: &Host) -> String {
    done(&[
        "nsenter",
        "-m",
        "-n",
        "-t",
        &host.pid().to_string(),
        "ip",
        "netns",
        "list",
    ])
}

/// Whether a tunnel's socket is open in the host's own network.
fn has_tunnels(host: &Host) -> bool {
    let udp = done(&[
        "nsenter",
        "-n",
        "-t",
        &host.pid().to_string(),
        "cat",
        "/proc/net/udp",
    ]);
    udp.contains(&format!(":{:04X} ", cubeyard_fabric::netlink::PORT))
}

#[test]
fn servers_of_two_hosts_reach_each_other_with_whole_packets() {
    if !can_emulate("servers_of_two_hosts_reach_each_other_with_whole_packets") {
        return;
    }
    let mut hosts = hosts::<2>(UNDERLAY_MTU);
    let run = build(&mut hosts);
    assert_eq!(
        names_of(&hosts[0]).lines().count(),
        9,
        "8 servers and the switches"
    );
    // Pings with the largest packet: IP and ICMP take 28 bytes, BCube's header 36.
    for (from, to) in [(0, 8), (0, 12), (3, 14), (0, 1), (1, 15)] {
        assert!(pings(&hosts[0], &run, from, to, 9000 - 36 - 28), "{from} to {to}");
        assert!(pings(&hosts[1], &run, to.max(8), from, 64), "{to} to {from}");
    }
    for host in &mut hosts {
        host.ask("subscribe", json!({"run": run}));
    }
    let length = |value: &Value| value.as_array().map(Vec::len);
    let frame = hosts[1].next_frame();
    assert_eq!(
        (length(&frame["links"]["tx"]), length(&frame["servers"]["own"])),
        (Some(32), Some(16))
    );
    let nobody = hosts[1]
        .call("inspect", &json!({"run": run, "server": 3}))
        .unwrap_err();
    assert_eq!(nobody["code"], "not-found", "{nobody}");
    for host in &mut hosts {
        assert!(has_tunnels(host));
        assert_eq!(host.ask("runs", json!({}))["runs"][0]["owner"], "the test");
        assert_eq!(host.ask("destroy", json!({"run": run}))["removed"], 9);
        assert_eq!(names_of(host), "");
        assert!(!has_tunnels(host), "its numbers are free at once");
    }
}

/// The addresses in the tables of a host's switches and tunnels.
fn addresses(host: &Host, run: &str) -> String {
    let switches = format!("cy-{}-sw", &run[..8]);
    let pid = host.pid().to_string();
    let table = done(&[
        "nsenter", "-m", "-n", "-t", &pid, "ip", "netns", "exec", &switches, "bridge", "fdb", "show",
    ]);
    let mut lines: Vec<&str> = table.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// Sends Ethernet frames with the addresses of servers to each tunnel of a host, over UDP from an
/// ordinary socket.
const FORGE: &str = "
import socket, sys
port, source, target, *macs = sys.argv[1:]
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.bind((source, 0))
for vni in range(4096, 4104):
    for mac in macs:
        frame = b'\\xff' * 6 + bytes.fromhex(mac) + b'\\x88\\xb5' + bytes(46)
        try:
            sender.sendto(b'\\x08\\0\\0\\0' + vni.to_bytes(3, 'big') + b'\\0' + frame, (target, int(port)))
        except PermissionError:
            pass
";

/// Sends forged frames of four servers to 8 tunnels, from the network of `from`.
fn forge(from: &Host, source: &str, target: &str) {
    let (pid, port) = (from.pid().to_string(), cubeyard_fabric::netlink::PORT.to_string());
    let macs = [0, 4, 8, 12].map(|server| {
        let mac = cubeyard_dataplane::address::port_mac(server, 1);
        mac.map(|byte| format!("{byte:02x}")).concat()
    });
    let words = [
        "nsenter", "-n", "-t", &pid, "python3", "-c", FORGE, &port, source, target,
    ];
    done(&[&words[..], &macs.each_ref().map(String::as_str)[..]].concat());
}

/// Waits until this host has reported this many refused packets.
fn wait_for_refused(host: &mut Host, packets: u64) {
    let mut counted = 0;
    while counted < packets {
        let event = host.wait_for_event(|event| event["kind"] == "strangers-refused");
        counted += event["packets"].as_u64().expect("a number");
    }
    assert_eq!(counted, packets);
}

#[test]
fn frames_from_elsewhere_are_refused_and_told_and_move_no_address() {
    if !can_emulate("frames_from_elsewhere_are_refused_and_told_and_move_no_address") {
        return;
    }
    // The third host is not part of the run. It has a second cable to the first one.
    let mut hosts = hosts::<3>(UNDERLAY_MTU);
    let pids = hosts.each_ref().map(|host| host.pid().to_string());
    let inside = |at: usize, words: &[&str]| {
        done(&[&["nsenter", "-n", "-t", &pids[at]], words].concat());
    };
    let peer = ["peer", "name", "side", "netns", &pids[2]];
    inside(
        0,
        &[&["ip", "link", "add", "side", "type", "veth"], &peer[..]].concat(),
    );
    for (at, address) in [(0, "10.78.0.1/24"), (2, "10.78.0.3/24")] {
        inside(at, &["ip", "address", "add", address, "dev", "side"]);
        inside(at, &["ip", "link", "set", "side", "up"]);
        inside(at, &["ip", "link", "set", "lo", "up"]);
    }
    inside(
        0,
        &[
            "sysctl",
            "-qw",
            "net.ipv4.conf.all.rp_filter=0",
            "net.ipv4.conf.side.rp_filter=0",
        ],
    );
    inside(2, &["sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1"]);
    inside(2, &["ip", "address", "add", "10.77.0.2/32", "dev", "lo"]);

    let run = build(&mut hosts[..2]);
    for (from, to) in [(0, 8), (0, 12), (1, 4), (4, 12)] {
        assert!(pings(&hosts[0], &run, from, to, 64));
    }
    let before = addresses(&hosts[0], &run);
    hosts[0].ask("subscribe", json!({"run": run}));
    for (from, source, target) in [
        (0, "127.0.0.1", "127.0.0.1"),
        (1, "10.77.0.2", "10.77.0.1"),
        (2, "10.77.0.3", "10.77.0.1"),
        (2, "10.77.0.2", "10.78.0.1"),
    ] {
        forge(&hosts[from], source, target);
        if from == 1 {
            hosts[1].ask("subscribe", json!({"run": run}));
            wait_for_refused(&mut hosts[1], 32);
        } else {
            wait_for_refused(&mut hosts[0], 32);
        }
    }
    // Root on the network between the hosts can forge packets of a host. They must not move any
    // address in the tables.
    forge(&hosts[2], "10.77.0.2", "10.77.0.1");
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(addresses(&hosts[0], &run), before);
    assert!(pings(&hosts[0], &run, 0, 12, 64));
    for host in &mut hosts[..2] {
        host.ask("destroy", json!({"run": run}));
    }
    forge(&hosts[0], "127.0.0.1", "127.0.0.1");
}

#[test]
fn a_switch_may_have_parts_on_three_hosts() {
    if !can_emulate("a_switch_may_have_parts_on_three_hosts") {
        return;
    }
    let mut hosts = hosts::<3>(UNDERLAY_MTU);
    let run = build(&mut hosts);
    // Servers 1, 5, 9 and 13 are at one switch, on hosts 0, 0, 1 and 2.
    for (host, from, to) in [
        (0, 1, 5),
        (0, 1, 9),
        (0, 5, 13),
        (1, 9, 13),
        (2, 13, 1),
        (2, 15, 0),
    ] {
        assert!(
            pings(&hosts[host], &run, from, to, 9000 - 36 - 28),
            "{from} to {to}"
        );
    }
}

#[test]
fn a_fault_is_each_hosts_part_of_it() {
    if !can_emulate("a_fault_is_each_hosts_part_of_it") {
        return;
    }
    let mut hosts = hosts::<2>(UNDERLAY_MTU);
    let run = build(&mut hosts);
    for host in &mut hosts {
        host.ask("subscribe", json!({"run": run}));
    }
    // Switch <1,0> is at port 1 of servers 0, 4, 8 and 12: two on each host.
    let off = json!({"id": "off", "kind": "switch-off", "target": {"switch": 20}});
    for host in &mut hosts {
        host.ask("inject", json!({"run": run, "fault": off}));
    }
    for (host, servers) in hosts.iter_mut().zip([[0, 4], [8, 12]]) {
        let mut lost: Vec<Value> = Vec::new();
        while lost.len() < 2 {
            let frame = host.frames.pop().unwrap_or_else(|| host.next_frame());
            let events = frame["events"].as_array().expect("events").iter();
            lost.extend(events.filter(|event| event["kind"] == "carrier").cloned());
        }
        lost.sort_by_key(|event| event["server"].as_u64());
        assert_eq!(lost.len(), 2, "{lost:?}");
        for (event, server) in lost.iter().zip(servers) {
            assert_eq!(
                (&event["server"], &event["port"], &event["up"]),
                (&json!(server), &json!(1), &json!(false))
            );
        }
    }
    for host in &mut hosts {
        host.ask("recover", json!({"run": run, "fault": "all"}));
    }
    assert!(pings(&hosts[0], &run, 0, 12, 64), "over switch <1,0> again");
    // The cable belongs to a server of the other host. This host accepts the call, which has no
    // effect here.
    let pulled = json!({"id": "cable", "kind": "cable-pulled", "target": {"port": [12, 1]}});
    for host in &mut hosts {
        host.ask("inject", json!({"run": run, "fault": pulled}));
    }
    let gone = hosts[1].wait_for_event(|event| event["kind"] == "carrier" && event["up"] == false);
    assert_eq!((&gone["server"], &gone["port"]), (&json!(12), &json!(1)));
    assert!(
        !pings(&hosts[0], &run, 0, 12, 64),
        "the flow is not moved: these nodes do nothing"
    );
}

#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn the_next_start_removes_the_tunnels_of_a_fabric_that_was_killed() {
    if !can_emulate("the_next_start_removes_the_tunnels_of_a_fabric_that_was_killed") {
        return;
    }
    let mut hosts = hosts::<2>(UNDERLAY_MTU);
    let run = build(&mut hosts);
    hosts[1].kill_and_start_again();
    assert_eq!(names_of(&hosts[1]), "");
    assert!(!has_tunnels(&hosts[1]));
    // The same run again, with the same numbers.
    hosts[0].ask("destroy", json!({"run": run}));
    for (at, host) in hosts.iter_mut().enumerate() {
        host.build(&spread(&run, 2, at));
    }
    assert!(pings(&hosts[0], &run, 0, 15, 64));
}

#[test]
fn packets_too_long_for_the_underlay_are_refused() {
    if !can_emulate("packets_too_long_for_the_underlay_are_refused") {
        return;
    }
    let mut hosts = hosts::<2>(1500);
    let mut prepare = |change: &dyn Fn(&mut Value)| {
        let mut network = spread(&fresh_run(), 2, 0);
        change(&mut network);
        hosts[0].call("prepare", &json!({"network": network}))
    };
    let refused = prepare(&|_| {}).unwrap_err();
    assert_eq!(refused["field"], "network.mtu");
    assert!(
        refused["limit"]
            .as_str()
            .is_some_and(|limit| limit.starts_with("at most 1450")),
        "{refused}"
    );
    assert!(prepare(&|network| network["mtu"] = json!(1450)).is_ok());
    let twice = prepare(&|network| network["mtu"] = json!(1450)).unwrap_err();
    assert_eq!(twice["field"], "network.hosts.first_vni", "another run has them");
    let elsewhere = prepare(&|network| network["hosts"]["underlays"][0] = json!("10.78.0.1")).unwrap_err();
    assert_eq!(elsewhere["field"], "network.hosts.underlays[0]");
    let params = json!({"hosts": {"here": 0, "underlays": ["10.77.0.1", "10.77.0.2"], "first_vni": 1}});
    assert_eq!(hosts[0].ask("probe", params)["underlay_mtu"], 1500);
}

/// The next event of a changed carrier, as server, port and state.
fn next_carrier(host: &mut Host) -> (u64, u64, bool) {
    let event = host.wait_for_event(|event| event["kind"] == "carrier");
    let number = |name: &str| event[name].as_u64().expect("a number");
    (number("server"), number("port"), event["up"] == true)
}

#[test]
fn a_cable_between_servers_of_two_hosts_carries_counts_and_breaks_as_one() {
    if !can_emulate("a_cable_between_servers_of_two_hosts_carries_counts_and_breaks_as_one") {
        return;
    }
    let mut hosts = hosts::<2>(UNDERLAY_MTU);
    let run = fresh_run();
    // In the row 0, 1, 3, 2 the first two servers are on host 0, so the cable from 1 to 3 is
    // between the hosts.
    for (here, host) in hosts.iter_mut().enumerate() {
        let mut network = row(4, &run, "kernel", |server| server as usize / 2);
        let underlays = ["10.77.0.1", "10.77.0.2"];
        network["hosts"] = json!({"here": here, "underlays": underlays, "first_vni": 4096});
        host.build(&network);
        host.ask("subscribe", json!({"run": run}));
    }
    assert!(
        pings(&hosts[0], &run, 1, 3, 9000 - 36 - 28),
        "over the cable alone"
    );
    assert!(
        pings(&hosts[1], &run, 2, 0, 9000 - 36 - 28),
        "relayed on both hosts"
    );
    let far = json!({"run": run, "fault": {"id": "far", "kind": "link-rate", "target": {"link": 1}, "rate_bits_per_sec": 1e7}});
    for host in &mut hosts {
        host.ask("inject", far.clone());
        host.ask("recover", json!({"run": run, "fault": "all"}));
    }
    // Each host counts the traffic that its own server sends over the cable.
    for (host, (own, other)) in hosts.iter_mut().zip([("tx", "rx"), ("rx", "tx")]) {
        let mut sent = [0; 2];
        for frame in std::mem::take(&mut host.frames)
            .into_iter()
            .chain([host.next_frame()])
        {
            for (sum, column) in sent.iter_mut().zip([own, other]) {
                *sum += frame["links"][column][1].as_u64().expect("bytes");
            }
        }
        assert!(sent[0] > 9000 && sent[1] == 0, "{own}: {sent:?}");
    }
    // Each host drops part of what its own server sends, so one of four pings is answered.
    let lossy = json!({"id": "f", "kind": "link-loss", "target": {"link": 1}, "loss_ratio": 0.5});
    for host in &mut hosts {
        host.ask("inject", json!({"run": run, "fault": lossy}));
    }
    let arrived = echoes(&hosts[0], &run, 1, 3);
    assert!((20..=85).contains(&arrived), "{arrived} of 200");
    for host in &mut hosts {
        host.ask("recover", json!({"run": run, "fault": "all"}));
    }
    assert_eq!(echoes(&hosts[0], &run, 1, 3), 200);
    let faults = [
        (
            json!({"id": "f", "kind": "cable-pulled", "target": {"link": 1}}),
            [Some((1, 1)), Some((3, 1))],
        ),
        (
            json!({"id": "f", "kind": "port-down", "target": {"port": [1, 1]}}),
            [Some((1, 1)), Some((3, 1))],
        ),
        (
            json!({"id": "f", "kind": "server-off", "target": {"server": 3}}),
            [Some((1, 1)), None],
        ),
    ];
    for (fault, lose) in faults {
        for host in &mut hosts {
            host.ask("inject", json!({"run": run, "fault": fault}));
        }
        for (host, port) in hosts.iter_mut().zip(lose) {
            if let Some((server, port)) = port {
                assert_eq!(next_carrier(host), (server, port, false), "{fault}");
            }
        }
        assert!(!pings(&hosts[0], &run, 1, 3, 64), "{fault}");
        for host in &mut hosts {
            host.ask("recover", json!({"run": run, "fault": "all"}));
        }
        assert!(pings(&hosts[0], &run, 1, 3, 64), "recovered from {fault}");
        for host in &mut hosts {
            host.frames.clear();
            let later = host.next_frame()["tick"].as_u64().expect("a tick") + 3;
            while host.next_frame()["tick"].as_u64() < Some(later) {}
        }
    }
    for host in &mut hosts {
        assert!(has_tunnels(host));
        host.ask("destroy", json!({"run": run}));
        assert!(!has_tunnels(host));
        assert_eq!(names_of(host), "");
    }
}
