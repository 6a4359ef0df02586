//! Networks whose switches are routers, in the kernel (root): which servers are reachable, by which
//! path, with and without failures.

#[path = "../../topology/tests/cases.rs"]
mod cases;
mod common;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

use cases::short_or_long;
use common::{Host, can_emulate, describe, fresh_run};
use cubeyard_dataplane::address::{switch_of, virtual_ip};
use cubeyard_fabric::error::Result;
use cubeyard_fabric::host::namespace::{self, Namespace};
use cubeyard_routing::Failures;
use cubeyard_routing::hash::{self, FiveTuple};
use cubeyard_routing::tables::{Balance, Tables};
use cubeyard_topology::{Topology, TopologySpec};
use serde_json::{Value, json};

const PORT: u16 = 7000;
const FAT_TREE: &str = r#"{"family":"fat_tree","ports":4,"layers":3}"#;
const TREE: &str = r#"{"family":"tree","edge_ports":4,"servers":10}"#;
const LEAF_SPINE: &str = r#"{"family":"leaf_spine","leaves":4,"spines":4,"servers_per_leaf":3,"uplinks_per_spine":2,"server_gbps":1,"uplink_gbps":1}"#;
const SUPER_SPINES: &str = r#"{"family":"leaf_spine","leaves":2,"spines":2,"servers_per_leaf":2,"super_spines":2,"pods":2,"server_gbps":1,"uplink_gbps":1,"spine_uplink_gbps":1}"#;
const JELLYFISH: &str = r#"{"family":"jellyfish","switches":6,"ports":4,"servers_per_switch":1}"#;
const DRAGONFLY: &str = r#"{"family":"dragonfly","a":2,"p":1,"h":1}"#;
const CUSTOM: &str = r#"{"family":"custom","link_gbps":1,"nodes":[{"name":"a","role":"switch"},{"name":"b","role":"switch"},{"name":"c","role":"switch"},{"name":"x","role":"server"},{"name":"y","role":"server"},{"name":"z","role":"server"}],"links":[{"a":"x","b":"a"},{"a":"b","b":"y"},{"a":"z","b":"c"},{"a":"z","b":"b"},{"a":"a","b":"b"},{"a":"c","b":"b"},{"a":"a","b":"c"},{"a":"a","b":"c"}]}"#;
const TRUNKS: &str = r#"{"family":"subways","type":0,"p":2,"q":4,"l":4,"clusters":2}"#;
const ONE_CLUSTER: &str =
    r#"{"family":"subways","type":1,"p":2,"q":4,"l":4,"clusters":2,"aggs_per_cluster":2,"cores":2}"#;
const TWO_CLUSTERS: &str = r#"{"family":"subways","type":2,"p":2,"q":4,"l":4,"c":2,"clusters":2}"#;

/// A wired network of routers.
struct Routed {
    host: Host,
    run: String,
    topology: Topology,
}

impl Routed {
    fn build(spec: &str) -> Routed {
        let spec: Value = serde_json::from_str(spec).expect("JSON");
        let mut host = Host::start();
        let run = host.build(&describe(&spec, &fresh_run(), "routers", 1e9));
        let topology = Topology::build(&TopologySpec::from_json(&spec).expect("a spec")).expect("a topology");
        Routed { host, run, topology }
    }

    fn namespace(&self, node: u32) -> String {
        let kind = if self.topology.is_server(node) { "" } else { "sw" };
        format!("cy-{}-{kind}{node}", &self.run[..8])
    }

    fn within<T: Send>(&self, node: u32, work: impl FnOnce() -> Result<T> + Send) -> T {
        let namespace = Namespace::named(&self.namespace(node)).expect("a namespace");
        namespace.run(work).expect("work in it")
    }

    fn socket(&self, server: u32) -> UdpSocket {
        self.within(server, || {
            let bind = || UdpSocket::bind((address(server), PORT));
            let mut bound = bind();
            let latest = Instant::now() + Duration::from_secs(2);
            // A process that another test has forked keeps a copy of a closed socket until it calls
            // exec.
            while matches!(&bound, Err(error) if error.kind() == ErrorKind::AddrInUse)
                && Instant::now() < latest
            {
                std::thread::sleep(Duration::from_millis(10));
                bound = bind();
            }
            let socket = bound.expect("an address of its own");
            let wait = Some(Duration::from_millis(500));
            socket.set_read_timeout(wait).expect("a timeout");
            Ok(socket)
        })
    }

    /// Pairs of these servers between which both of two datagrams are lost. Two, since one may be
    /// late on a busy machine.
    fn lost(&self, servers: &[u32]) -> Vec<(u32, u32)> {
        let sockets: BTreeMap<u32, UdpSocket> = servers
            .iter()
            .map(|&server| (server, self.socket(server)))
            .collect();
        let pairs = servers.iter().flat_map(|&a| servers.iter().map(move |&b| (a, b)));
        let arrives = |&(a, b): &(u32, u32)| {
            let sent = [a.to_be_bytes(), b.to_be_bytes()].concat();
            if sockets[&a].send_to(&sent, (address(b), PORT)).is_err() {
                std::thread::sleep(Duration::from_millis(50));
                return false;
            }
            let mut bytes = [0; 16];
            matches!(sockets[&b].recv_from(&mut bytes), Ok((8, from)) if bytes[..8] == sent && from.ip() == address(a))
        };
        pairs
            .filter(|(a, b)| a != b)
            .filter(|pair| !arrives(pair) && !arrives(pair))
            .collect()
    }

    fn all_servers(&self) -> Vec<u32> {
        (0..self.topology.server_count()).collect()
    }

    /// Routes and next hops of every node, as `ip` shows them.
    fn tables(&self) -> Vec<[Value; 3]> {
        let nodes = 0..self.topology.node_count();
        nodes.map(|node| self.tables_of(node)).collect()
    }

    fn tables_of(&self, node: u32) -> [Value; 3] {
        let show = |what: &[&str]| -> Value {
            let output = Command::new("ip")
                .args(["-n", &self.namespace(node), "-j"])
                .args(what)
                .output()
                .expect("ip of iproute2");
            let mut rows: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
            rows.sort_by_key(|row| {
                let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
                [
                    text("dst"),
                    text("table"),
                    text("iif"),
                    format!("{:9}", row["id"]),
                ]
            });
            Value::Array(rows)
        };
        [
            show(&["-4", "route", "show", "table", "all"]),
            show(&["nexthop", "show"]),
            show(&["rule", "show"]),
        ]
    }

    fn inject(&mut self, fault: &Value) {
        self.host.ask("inject", json!({"run": self.run, "fault": fault}));
    }

    fn recover(&mut self) {
        self.host.ask("recover", json!({"run": self.run, "fault": "all"}));
    }

    /// Waits until the tables equal these, or until they differ.
    fn wait_for_tables(&self, tables: &[[Value; 3]], equal: bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        // Each node takes three programs, so compare only up to the first difference, and pause in
        // between.
        while (0..)
            .zip(tables)
            .all(|(node, tables)| self.tables_of(node) == *tables)
            != equal
        {
            assert!(
                Instant::now() < deadline,
                "the tables did not change as expected: equal {equal}"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn address(server: u32) -> Ipv4Addr {
    virtual_ip(server).expect("an address")
}

/// The ids of the switches on a packet's path, found as by `traceroute`: the senders of
/// time-exceeded errors.
fn trace(network: &Routed, source: u32, destination: u32, flow: u16) -> Vec<u32> {
    network.within(source, || {
        let socket = UdpSocket::bind((address(source), 40_000 + flow)).expect("a port");
        socket
            .set_read_timeout(Some(Duration::from_millis(300)))
            .expect("a timeout");
        let errors = icmp_socket();
        let mut path = Vec::new();
        for ttl in 1..12 {
            socket.set_ttl(ttl).expect("a time to live");
            let ask = |_| {
                let sent = socket.send_to(b"?", (address(destination), PORT));
                sent.expect("a route");
                next_error(&errors)
            };
            // On a busy machine an answer may be late.
            let (kind, from) = (0..5).find_map(ask).expect("an answer");
            match kind {
                11 => path.push(switch_of(from).expect("the address of a router")),
                _ => break, // the destination has no such port
            }
        }
        Ok(path)
    })
}

fn icmp_socket() -> std::os::fd::OwnedFd {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(ipproto::ICMP),
    );
    let socket = socket.expect("a raw socket");
    let wait = Some(Duration::from_millis(1000));
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, wait).expect("a timeout");
    socket
}

/// Type and sender of the next ICMP error; `None` if none arrives.
fn next_error(socket: &std::os::fd::OwnedFd) -> Option<(u8, Ipv4Addr)> {
    let mut bytes = [0; 256];
    let (_, length) = rustix::net::recv(socket, &mut bytes, rustix::net::RecvFlags::empty()).ok()?;
    assert!(length >= 28, "an IP header and an ICMP header");
    let from = Ipv4Addr::new(bytes[12], bytes[13], bytes[14], bytes[15]);
    Some((bytes[20], from))
}

#[test]
fn every_server_reaches_every_other_in_each_family() {
    if !can_emulate("every_server_reaches_every_other_in_each_family") {
        return;
    }
    let specs = [
        FAT_TREE,
        SUPER_SPINES,
        DRAGONFLY,
        CUSTOM,
        TWO_CLUSTERS,
        TREE,
        LEAF_SPINE,
        JELLYFISH,
        TRUNKS,
        ONE_CLUSTER,
    ];
    for spec in &specs[..short_or_long(5, specs.len())] {
        let mut network = Routed::build(spec);
        assert_eq!(network.lost(&network.all_servers()), [], "{spec}");
        let nodes = network.topology.node_count() as usize;
        let destroyed = network.host.ask("destroy", json!({"run": network.run}));
        // The namespace of bridges exists too, and counts.
        assert_eq!(destroyed["removed"], nodes + 1, "{spec}");
        let prefix = format!("cy-{}", &network.run[..8]);
        assert_eq!(namespace::names_with_prefix(&prefix), Vec::<String>::new());
    }
}

#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn traceroute_names_the_path() {
    if !can_emulate("traceroute_names_the_path") {
        return;
    }
    let network = Routed::build(FAT_TREE);
    let (topology, far) = (&network.topology, network.topology.server_count() - 1);
    let level = |node: u32| topology.tier_of(node).map_or(9, |tier| tier.level);
    let mut tops = std::collections::BTreeSet::new();
    for flow in 0..24 {
        let path = trace(&network, 0, far, flow);
        assert_eq!(
            path.iter().map(|&node| level(node)).collect::<Vec<_>>(),
            [0, 1, 2, 1, 0],
            "{path:?}"
        );
        tops.insert(path[2]);
    }
    assert!(tops.len() > 2, "flows take different core switches: {tops:?}");
    assert_eq!(
        trace(&network, 0, 1, 0).len(),
        1,
        "both are below one edge switch"
    );
}

#[test]
fn flows_take_the_paths_that_tables_and_hash_give() {
    if !can_emulate("flows_take_the_paths_that_tables_and_hash_give") {
        return;
    }
    let probe = cubeyard_fabric::host::probe::probe();
    assert!(
        probe.path_hash,
        "only Linux before 6.11 cannot: {:?}",
        probe.reasons
    );
    let specs = [FAT_TREE, TWO_CLUSTERS, LEAF_SPINE, SUPER_SPINES, ONE_CLUSTER];
    for spec in &specs[..short_or_long(2, specs.len())] {
        let network = Routed::build(spec);
        let topology = &network.topology;
        let tables = Tables::new(topology, &Failures::none(topology), Balance::Equal).expect("tables");
        let servers = topology.server_count();
        let mut paths: BTreeMap<_, std::collections::BTreeSet<_>> = BTreeMap::new();
        for flow in 0..40 {
            let (source, destination) = (u32::from(flow) % servers, (u32::from(flow) * 7 + 5) % servers);
            if source == destination {
                continue;
            }
            let tuple = FiveTuple {
                addresses: [source, destination].map(|server| address(server).octets()),
                protocol: 17,
                ports: [40_000 + flow, PORT],
            };
            // The description's seed is 1.
            let path = hash::path(&tables, 1, [source, destination], &tuple).expect("a path");
            let switches: Vec<u32> = path[..path.len() - 1].iter().map(|hop| hop.far).collect();
            assert_eq!(
                trace(&network, source, destination, flow),
                switches,
                "{tuple:?} in {spec}"
            );
            paths.entry((source, destination)).or_default().insert(switches);
        }
        assert!(
            paths.values().any(|paths| paths.len() > 1),
            "flows between the same two servers take several paths: {paths:?} in {spec}"
        );
    }
}

#[test]
fn routes_avoid_failed_parts_and_recovered_tables_equal_the_first_ones() {
    if !can_emulate("routes_avoid_failed_parts_and_recovered_tables_equal_the_first_ones") {
        return;
    }
    for spec in short_or_long(&[TWO_CLUSTERS][..], &[TWO_CLUSTERS, ONE_CLUSTER]) {
        routed_around(spec);
    }
}

fn routed_around(spec: &str) {
    let mut network = Routed::build(spec);
    let servers = network.all_servers();
    let first = network.tables();
    let tors = network.topology.tiers()[0].first;
    let core = network.topology.node_count() - 1;
    let uplink = network
        .topology
        .links()
        .a
        .iter()
        .position(|&a| a == tors)
        .expect("an uplink");
    for fault in [
        json!({"id": "f", "kind": "switch-off", "target": {"switch": tors}}),
        json!({"id": "f", "kind": "switch-off", "target": {"switch": core}}),
        json!({"id": "f", "kind": "cable-pulled", "target": {"link": uplink}}),
        json!({"id": "f", "kind": "cable-pulled", "target": {"port": [0, 1]}}),
        json!({"id": "f", "kind": "port-down", "target": {"port": [3, 0]}}),
    ] {
        network.inject(&fault);
        assert_eq!(network.lost(&servers), [], "{fault}");
        network.recover();
        assert_eq!(network.lost(&servers), [], "after {fault}");
        assert_eq!(network.tables(), first, "after {fault}");
    }
    // Only the server that is off is lost, and it returns.
    network.inject(&json!({"id": "f", "kind": "server-off", "target": {"server": 2}}));
    let others: Vec<u32> = servers.iter().copied().filter(|&server| server != 2).collect();
    assert_eq!(network.lost(&others), []);
    network.recover();
    assert_eq!((network.lost(&servers), network.tables()), (vec![], first));
}

#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn a_silent_router_answers_nothing_and_keeps_its_carriers() {
    if !can_emulate("a_silent_router_answers_nothing_and_keeps_its_carriers") {
        return;
    }
    let mut network = Routed::build(TREE);
    let edge = network.topology.tiers()[0].first;
    let first = network.tables();
    network.inject(&json!({"id": "f", "kind": "switch-silent", "target": {"switch": edge}}));
    assert_eq!(network.lost(&[0, 1]), [(0, 1), (1, 0)]);
    let up = network.within(0, || {
        Ok(std::fs::read_to_string("/sys/class/net/p0/carrier").map_err(|error| error.kind()))
    });
    assert!(
        matches!(up.as_deref(), Ok("1\n") | Err(ErrorKind::NotFound)),
        "{up:?}"
    );
    network.wait_for_tables(&first, false);
    network.recover();
    network.wait_for_tables(&first, true);
    assert_eq!(network.lost(&network.all_servers()), []);
}

#[test]
fn silent_parts_are_detected_by_hellos_and_recover_on_both_sides() {
    if !can_emulate("silent_parts_are_detected_by_hellos_and_recover_on_both_sides") {
        return;
    }
    let mut network = Routed::build(ONE_CLUSTER);
    let servers = network.all_servers();
    let first = network.tables();
    let tors = network.topology.tiers()[0].first;
    let core = network.topology.node_count() - 1;
    let uplinks = network.topology.links().a.iter();
    let uplink = uplinks.clone().position(|&a| a == tors).expect("an uplink");
    let faults = [
        json!({"id": "f", "kind": "switch-silent", "target": {"switch": tors}}),
        json!({"id": "f", "kind": "cable-cut-silent", "target": {"port": [0, 1]}}),
        json!({"id": "f", "kind": "switch-silent", "target": {"switch": core}}),
        json!({"id": "f", "kind": "cable-cut-silent", "target": {"link": uplink}}),
    ];
    for fault in &faults[..short_or_long(2, faults.len())] {
        network.inject(fault);
        network.wait_for_tables(&first, false);
        // All links of a switch are detected as dead within one round.
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(network.lost(&servers), [], "{fault}");
        network.recover();
        network.wait_for_tables(&first, true);
        assert_eq!(network.lost(&servers), [], "after {fault}");
    }
}

#[test]
fn several_hosts_and_foreign_links_are_refused_by_field() {
    let spec: Value = serde_json::from_str(TREE).expect("JSON");
    let network = |change: &dyn Fn(&mut Value)| {
        let mut network = describe(&spec, "abcdefgh", "routers", 1e8);
        change(&mut network);
        let error = cubeyard_fabric::network::Network::from_json(network).expect_err("a refusal");
        error.message.clone()
    };
    let hosts = json!({"here": 0, "underlays": ["192.0.2.1", "192.0.2.2"], "first_vni": 1});
    let message = network(&|network| network["hosts"] = hosts.clone());
    assert!(
        message.contains("network.hosts") && message.contains("one host"),
        "{message}"
    );
    let message = network(&|network| network["links"][3]["b"] = json!([13, 3]));
    assert!(message.contains("network.links"), "{message}");
    let cube = json!({"family": "bcube", "n": 2, "k": 1});
    let error = cubeyard_fabric::network::Network::from_json(describe(&cube, "abcdefgh", "routers", 1e8));
    assert!(error.is_err_and(|error| error.message.contains("network.protocol")));
}

#[test]
fn a_killed_fabric_leaves_no_router() {
    if !can_emulate("a_killed_fabric_leaves_no_router") {
        return;
    }
    let mut host = Host::start_apart(common::fresh_folder());
    let spec: Value = serde_json::from_str(FAT_TREE).expect("JSON");
    host.build(&describe(&spec, &fresh_run(), "routers", 1e8));
    let left = |host: &Host| {
        let output = Command::new("nsenter")
            .args(["-m", "-t", &host.pid().to_string(), "ls", namespace::NAMES])
            .output();
        let names = String::from_utf8(output.expect("nsenter").stdout).expect("names");
        names.lines().filter(|name| name.starts_with("cy-")).count()
    };
    assert_eq!(left(&host), 16 + 20 + 1);
    host.kill_and_start_again();
    assert_eq!(left(&host), 0);
}
