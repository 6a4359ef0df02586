//! Networks whose switches are switching chips, in the kernel (root): which servers are reachable,
//! by which path, with and without failures.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

use common::{Host, can_emulate, describe, fresh_run};
use cubeyard_chip::portland::{Control, Tree};
use cubeyard_dataplane::address::virtual_ip;
use cubeyard_fabric::error::Result;
use cubeyard_fabric::host::namespace::Namespace;
use serde_json::{Value, json};

const PORT: u16 = 7000;

/// A wired fat-tree of four ports.
struct Fabric {
    host: Host,
    run: String,
    tree: Tree,
}

fn address(server: u32) -> Ipv4Addr {
    virtual_ip(server).expect("an address")
}

impl Fabric {
    fn build() -> Fabric {
        let spec = json!({"family": "fat_tree", "ports": 4, "layers": 3});
        let mut host = Host::start();
        let mut description = describe(&spec, &fresh_run(), "portland", 1e9);
        description["settings"] = json!({"hello_secs": 0.02});
        let run = host.build(&description);
        let tree = Tree::new();
        Fabric { host, run, tree }
    }

    fn within<T: Send>(&self, server: u32, work: impl FnOnce() -> Result<T> + Send) -> T {
        let namespace = Namespace::named(&format!("cy-{}-{server}", &self.run[..8])).expect("a namespace");
        namespace.run(work).expect("work in it")
    }

    fn socket(&self, server: u32, port: u16) -> UdpSocket {
        self.within(server, || {
            let socket = UdpSocket::bind((address(server), port)).expect("an address of its own");
            let wait = Some(Duration::from_millis(300));
            socket.set_read_timeout(wait).expect("a timeout");
            Ok(socket)
        })
    }

    /// Pairs of these servers between which a datagram from this source port is lost.
    fn lost(&self, servers: &[u32], source_port: u16) -> Vec<(u32, u32)> {
        let sockets = |port: u16| -> BTreeMap<u32, UdpSocket> {
            servers
                .iter()
                .map(|&server| (server, self.socket(server, port)))
                .collect()
        };
        let (senders, receivers) = (sockets(source_port), sockets(PORT));
        let arrives = |&(a, b): &(u32, u32)| {
            let sent = [a.to_be_bytes(), b.to_be_bytes()].concat();
            if senders[&a].send_to(&sent, (address(b), PORT)).is_err() {
                return false;
            }
            let mut bytes = [0; 16];
            matches!(receivers[&b].recv_from(&mut bytes), Ok((8, from)) if bytes[..8] == sent && from.ip() == address(a))
        };
        let pairs = servers.iter().flat_map(|&a| servers.iter().map(move |&b| (a, b)));
        pairs
            .filter(|(a, b)| a != b)
            .filter(|pair| !arrives(pair))
            .collect()
    }

    fn inject(&mut self, kind: &str, target: &Value) {
        let fault = json!({"id": "f", "kind": kind, "target": target});
        self.host.ask("inject", json!({"run": self.run, "fault": fault}));
    }

    fn recover(&mut self) {
        self.host.ask("recover", json!({"run": self.run, "fault": "all"}));
    }

    fn inspect(&mut self, node: u32) -> Value {
        self.host.ask("inspect", json!({"run": self.run, "server": node}))
    }

    /// Packets that a switch's TCAM has handled, for the entries that name this interface.
    fn decided(&mut self, switch: u32) -> u64 {
        let inspected = self.inspect(switch);
        let sections = inspected["sections"].as_array().expect("sections");
        let tcam = sections
            .iter()
            .find(|section| section["name"] == "chip-tcam")
            .expect("its TCAM");
        let rows = tcam["rows"].as_array().expect("rows").iter();
        let redirects = rows.filter(|row| {
            row[4]
                .as_str()
                .is_some_and(|action| action.starts_with("REDIRECT"))
        });
        redirects.map(|row| row[1].as_u64().expect("packets")).sum()
    }
}

fn all() -> Vec<u32> {
    (0..16).collect()
}

/// The MACs of a server's neighbours, by their addresses.
fn neighbours(fabric: &Fabric, server: u32) -> BTreeMap<String, String> {
    let name = format!("cy-{}-{server}", &fabric.run[..8]);
    let output = Command::new("ip")
        .args(["-n", &name, "-j", "neigh"])
        .output()
        .expect("ip of iproute2");
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    rows.iter()
        .map(|row| (text(row, "dst"), text(row, "lladdr")))
        .collect()
}

/// All checks use one network: the kernel takes half a second of a processor to verify each of its
/// twenty chips.
#[test]
fn a_fat_tree_of_chips_carries_packets_and_reports_events() {
    if !can_emulate("a_fat_tree_of_chips_carries_packets_and_reports_events") {
        return;
    }
    let mut fabric = Fabric::build();
    hosts_reach_each_other_by_pmacs_and_flows_take_the_paths_that_were_told(&mut fabric);
    an_edge_switch_tells_its_hosts(&mut fabric);
    packets_dropped_by_a_chip_count_as_drops_of_the_run(&mut fabric);
}

fn hosts_reach_each_other_by_pmacs_and_flows_take_the_paths_that_were_told(fabric: &mut Fabric) {
    for source_port in 40_000..40_004 {
        assert_eq!(fabric.lost(&all(), source_port), []);
    }
    for server in all() {
        let known = neighbours(fabric, server);
        assert_eq!(known.len(), 15);
        for other in all().into_iter().filter(|&other| other != server) {
            let (edge, port) = fabric.tree.edge_of(other);
            let (pod, position) = fabric.tree.place(edge);
            let prefix = format!("00:{pod:02x}:{position:02x}:{port:02x}:");
            let mac = &known[&address(other).to_string()];
            assert!(mac.starts_with(&prefix), "{mac} of {other} at {server}: {prefix}");
        }
    }
    let control = Control::new();
    for (source_port, from, to) in [
        (40_100, 0, 15),
        (40_101, 0, 15),
        (40_102, 3, 8),
        (40_103, 12, 5),
        (40_104, 0, 1),
    ] {
        let path = control.path([from, to], source_port);
        let switches: BTreeSet<u32> = path[1..path.len() - 1].iter().copied().collect();
        let before: Vec<u64> = fabric
            .tree
            .switches()
            .map(|switch| fabric.decided(switch))
            .collect();
        let (sender, receiver) = (fabric.socket(from, source_port), fabric.socket(to, PORT));
        for _ in 0..20 {
            sender
                .send_to(b"one way", (address(to), PORT))
                .expect("a neighbour");
            receiver.recv_from(&mut [0; 16]).expect("a datagram");
        }
        let after = fabric
            .tree
            .switches()
            .map(|switch| fabric.decided(switch))
            .collect::<Vec<_>>();
        let counted = fabric.tree.switches().zip(before.iter().zip(after));
        let passed: BTreeSet<u32> = counted
            .filter(|(_, (before, after))| after - *before >= 20)
            .map(|(at, _)| at)
            .collect();
        assert_eq!(passed, switches, "from {source_port}");
    }
}

#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn packets_avoid_failed_parts_and_return_after_the_recovery() {
    if !can_emulate("packets_avoid_failed_parts_and_return_after_the_recovery") {
        return;
    }
    let mut fabric = Fabric::build();
    let every_way = |fabric: &Fabric| {
        (40_000..40_004)
            .map(|port| fabric.lost(&all(), port))
            .collect::<Vec<_>>()
    };
    let none = vec![Vec::new(); 4];
    assert_eq!(every_way(&fabric), none);
    let switches: Vec<u32> = fabric.tree.switches().collect();
    let (core, aggregation) = (switches[19], switches[8]);
    let uplink = uplink_of(&fabric.tree, switches[0]);
    for (kind, target) in [
        ("switch-off", json!({"switch": core})),
        ("switch-off", json!({"switch": aggregation})),
        ("cable-pulled", json!({"link": uplink})),
    ] {
        fabric.inject(kind, &target);
        assert_eq!(every_way(&fabric), none, "{kind} {target}");
        fabric.recover();
        assert_eq!(every_way(&fabric), none, "after {kind} {target}");
    }
    // A silent core switch keeps its carriers, so its neighbours detect the missing hellos.
    fabric.inject("switch-silent", &json!({"switch": core}));
    let deadline = Instant::now() + Duration::from_secs(10);
    while every_way(&fabric) != none {
        assert!(Instant::now() < deadline, "the silent core was not detected");
    }
    fabric.recover();
    // Only the server that is off is lost. When it returns, its cable is a new one.
    fabric.inject("server-off", &json!({"server": 2}));
    let others: Vec<u32> = all().into_iter().filter(|&server| server != 2).collect();
    assert_eq!(fabric.lost(&others, 40_000), []);
    fabric.recover();
    assert_eq!(every_way(&fabric), none);
    let destroyed = fabric.host.ask("destroy", json!({"run": fabric.run}));
    assert_eq!(destroyed["removed"], 37, "and the namespace that bridges share");
}

/// The number of the link from an edge switch upwards.
fn uplink_of(tree: &Tree, edge: u32) -> u32 {
    let links = tree.topology().links();
    let matches =
        (0..links.len()).find(|&link| links.a[link] == edge && !tree.topology().is_server(links.b[link]));
    matches.expect("an uplink") as u32
}

fn an_edge_switch_tells_its_hosts(fabric: &mut Fabric) {
    assert_eq!(fabric.lost(&[0, 1, 9], 40_000), []);
    let edge = fabric.tree.edge_of(0).0;
    let inspected = fabric.inspect(edge);
    let hosts = &inspected["sections"][0];
    assert_eq!(hosts["name"], "portland-hosts");
    let addresses: Vec<&Value> = hosts["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| &row[1])
        .collect();
    assert_eq!(
        addresses,
        [&json!(address(0).to_string()), &json!(address(1).to_string())]
    );
}

#[test]
fn requests_to_servers_without_a_chip_are_refused() {
    let wider = describe(
        &json!({"family": "fat_tree", "ports": 6, "layers": 3}),
        &fresh_run(),
        "portland",
        1e9,
    );
    let refused = cubeyard_fabric::network::Network::from_json(wider).expect_err("six ports");
    assert!(refused.to_string().contains("a chip has four ports"), "{refused}");
}

#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn a_host_that_falls_silent_is_forgotten_and_comes_back() {
    if !can_emulate("a_host_that_falls_silent_is_forgotten_and_comes_back") {
        return;
    }
    let mut fabric = Fabric::build();
    assert_eq!(fabric.lost(&[0, 1, 9], 40_000), []);
    let edge = fabric.tree.edge_of(9).0;
    let state = |fabric: &mut Fabric| {
        let hosts = fabric.inspect(edge)["sections"][0]["rows"].take();
        let mut rows = hosts.as_array().expect("rows").iter();
        let own = rows.find(|row| row[1] == json!(address(9).to_string()));
        own.expect("a host that it has met")[4].clone()
    };
    assert_eq!(state(&mut fabric), "answers");
    fabric.host.ask("subscribe", json!({"run": fabric.run}));
    let event_of = |fabric: &mut Fabric, what: &str| {
        let deadline = Instant::now() + Duration::from_secs(25);
        let event = loop {
            assert!(Instant::now() < deadline, "no event {what} was reported");
            let events = fabric.host.next_frame()["events"].take();
            let mut events = events.as_array().cloned().unwrap_or_default().into_iter();
            if let Some(event) = events.find(|event| event["what"] == what) {
                break event;
            }
        };
        assert_eq!(event["server"], edge, "{event}");
        assert_eq!(event["cells"][0]["value"], 9, "{event}");
    };
    let answer_arp = |fabric: &Fabric, is_answered: bool| {
        let ignore = if is_answered { "0" } else { "8" };
        fabric.within(9, || {
            cubeyard_fabric::host::namespace::set_sysctl("ipv4/conf/all/arp_ignore", ignore)
        });
    };
    answer_arp(&fabric, false);
    let began = Instant::now();
    event_of(&mut fabric, "host-silent");
    let took = began.elapsed();
    assert!(took > Duration::from_secs(3), "{took:?}");
    assert_eq!(state(&mut fabric), "silent");
    assert_eq!(fabric.lost(&[0, 1], 40_000), [], "others are reached");
    answer_arp(&fabric, true);
    event_of(&mut fabric, "host-back");
    assert_eq!(state(&mut fabric), "answers");
    assert_eq!(fabric.lost(&[0, 1, 9], 40_000), []);
}

fn packets_dropped_by_a_chip_count_as_drops_of_the_run(fabric: &mut Fabric) {
    assert_eq!(fabric.lost(&[0, 9], 40_000), []);
    fabric.host.ask("subscribe", json!({"run": fabric.run}));
    // Give the server a static neighbour entry for a host that does not exist.
    let name = format!("cy-{}-0", &fabric.run[..8]);
    let nobody = Ipv4Addr::from(u32::from(address(15)) + 100);
    let route = Command::new("ip")
        .args(["-n", &name, "-j", "route", "get", &nobody.to_string()])
        .output();
    let route: Value = serde_json::from_slice(&route.expect("ip of iproute2").stdout).expect("JSON");
    let device = route[0]["dev"].as_str().expect("a route");
    let known = Command::new("ip")
        .args(["-n", &name, "neigh", "replace", &nobody.to_string()])
        .args(["lladdr", "02:7f:7f:7f:7f:7f", "dev", device])
        .status();
    assert!(known.expect("ip of iproute2").success());
    let sent: u64 = 20;
    let socket = fabric.socket(0, 40_001);
    for _ in 0..sent {
        socket.send_to(&[0; 64], (nobody, PORT)).expect("a neighbour");
    }
    let mut dropped = 0;
    for _ in 0..20 {
        let frame = fabric.host.next_frame();
        dropped += frame["drops"]["unknown-next-hop"].as_u64().unwrap_or(0);
    }
    assert_eq!(dropped, sent);
}
