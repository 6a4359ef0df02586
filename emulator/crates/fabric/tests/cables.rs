//! Cables from server to server, in namespaces and in containers that are started again.

mod common;

use std::collections::BTreeMap;
use std::process::Command;

use common::{Container, Host, can_emulate, describe, fresh_run, row};
use serde_json::{Value, json};

/// Whether a process's namespace reaches an address.
fn pings(pid: u32, address: &str) -> bool {
    let words = [
        "-n",
        "-t",
        &pid.to_string(),
        "ping",
        "-c",
        "3",
        "-i",
        "0.3",
        "-W",
        "2",
        address,
    ]
    .map(str::to_owned);
    let output = Command::new("nsenter").args(words).output();
    output.expect("nsenter starts").status.success()
}

fn addresses(pid: u32, interface: &str) -> String {
    let words = [
        "-n",
        "-t",
        &pid.to_string(),
        "ip",
        "-o",
        "-4",
        "address",
        "show",
        interface,
    ]
    .map(str::to_owned);
    let output = Command::new("nsenter").args(words).output();
    String::from_utf8_lossy(&output.expect("nsenter starts").stdout).into_owned()
}

/// Starts a container for each server and wires all of them. Returns the containers by server, and
/// their folders.
fn deploy(host: &mut Host, network: &Value) -> (BTreeMap<u64, Container>, BTreeMap<u64, String>) {
    let (containers, folders) = start(host, network);
    host.ask(
        "wire",
        json!({"run": network["run"], "pids": pids(containers.iter())}),
    );
    (containers, folders)
}

/// The containers' processes, by server.
fn pids<'a>(containers: impl Iterator<Item = (&'a u64, &'a Container)>) -> BTreeMap<String, u32> {
    containers
        .map(|(id, item)| (id.to_string(), item.pid()))
        .collect()
}

/// Starts a container for each server, without wiring them.
fn start(host: &mut Host, network: &Value) -> (BTreeMap<u64, Container>, BTreeMap<u64, String>) {
    let run = &network["run"];
    let prepared = host.ask("prepare", json!({"run": run, "network": network}));
    let folders: BTreeMap<u64, String> = prepared["servers"]
        .as_array()
        .expect("servers")
        .iter()
        .map(|server| {
            let mount = server["mount"].as_str().expect("a folder").to_owned();
            (server["id"].as_u64().expect("an id"), mount)
        })
        .collect();
    let containers: BTreeMap<u64, Container> = folders
        .iter()
        .map(|(id, folder)| (*id, Container::start(folder.as_ref())))
        .collect();
    (containers, folders)
}

#[test]
fn a_container_that_is_started_again_gets_its_cables_back_at_both_ends() {
    if !can_emulate("a_container_that_is_started_again_gets_its_cables_back_at_both_ends") {
        return;
    }
    let mut host = Host::start();
    let network = row(3, &fresh_run(), "kernel", |_| 0);
    let run = &network["run"];
    let (mut containers, folders) = deploy(&mut host, &network);
    assert!(pings(containers[&0].pid(), "10.0.0.4"), "0 to 3, relayed by 1");
    containers.remove(&1);
    host.ask("subscribe", json!({"run": run}));
    let lost = host.wait_for_event(|event| event["kind"] == "node-lost");
    assert_eq!(lost["server"], 1);
    containers.insert(1, Container::start(folders[&1].as_ref()));
    let pids = json!({"1": containers[&1].pid()});
    host.ask("wire", json!({"run": run, "pids": pids}));
    // The neighbours' ports were made again too, so they need addresses, queues and programs again.
    assert!(addresses(containers[&0].pid(), "p0").contains("100.64.0.1/16"));
    assert!(addresses(containers[&3].pid(), "p1").contains("100.65.0.4/16"));
    assert!(
        pings(containers[&0].pid(), "10.0.0.4"),
        "0 to 3, relayed by 1 again"
    );
    assert!(pings(containers[&3].pid(), "10.0.0.1"));
    assert_eq!(host.ask("destroy", json!({"run": run}))["removed"], 4);
    assert_eq!(
        addresses(containers[&0].pid(), "p0"),
        "",
        "nothing of ours stays in a container"
    );
    assert_eq!(addresses(containers[&0].pid(), "cy0"), "");
}

#[test]
fn without_forwarding_a_server_has_several_ports_with_addresses() {
    if !can_emulate("without_forwarding_a_server_has_several_ports_with_addresses") {
        return;
    }
    let mut host = Host::start();
    let mut network = row(3, &fresh_run(), "none", |_| 0);
    network["servers"][1]["addresses"] = json!([{"address": "10.9.0.1", "prefix_bits": 24, "port": 1}]);
    network["servers"][2]["addresses"] = json!([{"address": "10.9.0.2", "prefix_bits": 24, "port": 1}]);
    let run = &network["run"];
    let (containers, _folders) = deploy(&mut host, &network);
    assert!(pings(containers[&0].pid(), "10.0.0.2"), "over the first cable");
    assert!(pings(containers[&1].pid(), "10.9.0.2"), "over the second");
    assert!(
        !pings(containers[&0].pid(), "10.9.0.2"),
        "nothing forwards between them"
    );
    let mut twice = network.clone();
    twice["run"] = json!(fresh_run());
    twice["servers"][2]["addresses"][0]["address"] = json!("10.9.0.1");
    let refused = host.call("prepare", &json!({"network": twice})).unwrap_err();
    assert_eq!(refused["field"], "network.servers[2].addresses[0].address");
    host.ask("destroy", json!({"run": run}));
}

#[test]
fn servers_are_wired_as_they_come() {
    if !can_emulate("servers_are_wired_as_they_come") {
        return;
    }
    let with_switches = describe(
        &json!({"family": "bcube", "n": 2, "k": 1}),
        &fresh_run(),
        "kernel",
        1e8,
    );
    for (network, far) in [(row(3, &fresh_run(), "kernel", |_| 0), 3), (with_switches, 3)] {
        let mut host = Host::start();
        let run = &network["run"];
        let (containers, _folders) = start(&mut host, &network);
        let of = |wanted: &dyn Fn(u64) -> bool| pids(containers.iter().filter(|(id, _)| wanted(**id)));
        let ends = of(&|id| id == 0 || id == far);
        let refused = host.call("wire", &json!({"run": run, "pids": ends})).unwrap_err();
        assert_eq!(
            refused["field"], "pids",
            "in the first call without a word that the rest follows"
        );
        host.ask("wire", json!({"run": run, "pids": ends, "rest_follows": true}));
        let address = format!("10.0.0.{}", far + 1);
        assert!(
            !pings(containers[&0].pid(), &address),
            "nobody is between them yet"
        );
        let rest = of(&|id| id != 0 && id != far);
        host.ask("wire", json!({"run": run, "pids": rest}));
        assert!(pings(containers[&0].pid(), &address));
        assert!(pings(containers[&far].pid(), "10.0.0.1"));
        host.ask("destroy", json!({"run": run}));
        assert_eq!(addresses(containers[&0].pid(), "cy0"), "");
    }
}
