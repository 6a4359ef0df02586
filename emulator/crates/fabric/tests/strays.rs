//! Leftovers of a container after its engine was killed: a shim, a process and control groups.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::{Container, Host, can_emulate, fresh_run, row};
use cubeyard_fabric::host::namespace::Namespace;
use cubeyard_fabric::host::process::Process;
use cubeyard_fabric::host::strays::{ContainerId, each_process};
use serde_json::{Value, json};

/// A hierarchy of control groups in which this process can create some.
const HIERARCHIES: [&str; 2] = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];

/// Starts a process named like a shim, for a container of this run, as this user.
fn start_shim(folder: &Path, id: &str, run: &str, user: u32) -> Child {
    start_shim_of(folder, id, run, user, &json!({}))
}

/// Starts such a process with additions to the container's description.
fn start_shim_of(folder: &Path, id: &str, run: &str, user: u32, more: &Value) -> Child {
    let bundle = folder.join(id);
    fs::create_dir_all(&bundle).expect("a folder");
    let mut described = json!({"process": {"env": ["PATH=/bin", format!("CUBEYARD_RUN={run}")]}});
    for name in ["mounts", "linux"] {
        described[name] = more[name].clone();
    }
    fs::write(bundle.join("config.json"), described.to_string()).expect("a file");
    let shim = bundle.join("containerd-shim-runc-v2");
    fs::write(
        &shim,
        "#!/bin/sh\nexec 2>/dev/null\nwhile sleep 0.2; do :; done\n",
    )
    .expect("a file");
    fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)).expect("ours");
    Command::new(&shim)
        .args(["-namespace", "moby", "-id", id])
        .current_dir(&bundle)
        .uid(user)
        .spawn()
        .expect("it starts")
}

/// A control group named after a container.
fn group_of(id: &str) -> PathBuf {
    let folder = format!("cubeyard-test-{}", std::process::id());
    let candidates = HIERARCHIES.map(|root| Path::new(root).join(&folder).join(id));
    let made = candidates
        .into_iter()
        .find(|group| fs::create_dir_all(group).is_ok());
    made.expect("root may make control groups")
}

fn start_in(group: &Path, run: &str) -> Child {
    let child = Command::new("sleep").arg("60").env("CUBEYARD_RUN", run).spawn();
    let child = child.expect("sleep starts");
    fs::write(group.join("cgroup.procs"), child.id().to_string()).expect("it joins the group");
    child
}

fn still_runs(child: &mut Child) -> bool {
    child.try_wait().expect("a child").is_none()
}

fn has_ended(child: &mut Child) -> bool {
    let deadline = Instant::now() + Duration::from_secs(5);
    while Instant::now() < deadline {
        if child.try_wait().expect("a child").is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// The state of a process in `/proc`: `S` is sleeping, `T` is stopped.
fn state_of(child: &Child) -> String {
    let status = fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it runs");
    let rest = status.rsplit(')').next().expect("its name is in parentheses");
    rest.trim_start()[..1].to_owned()
}

#[test]
fn signals_reach_the_processes_of_a_container_that_have_the_servers_network_and_no_others() {
    if !can_emulate("signals_reach_the_processes_of_a_container_that_have_the_servers_network_and_no_others")
    {
        return;
    }
    let id = "7c".repeat(32);
    let folder = format!("cubeyard-test-signals-{}", std::process::id());
    let candidates = HIERARCHIES.map(|root| Path::new(root).join(&folder).join(&id));
    let group = candidates
        .into_iter()
        .find(|group| fs::create_dir_all(group).is_ok())
        .expect("root may make control groups");
    let start = |program: &[&str]| {
        Command::new(program[0])
            .args(&program[1..])
            .spawn()
            .expect("it starts")
    };
    let mut inside = [start(&["sleep", "60"]), start(&["sleep", "60"])];
    let mut elsewhere = start(&["unshare", "--net", "sleep", "60"]);
    let mut outside = start(&["sleep", "60"]);
    std::thread::sleep(Duration::from_millis(300));
    for child in inside.iter().chain([&elsewhere]) {
        fs::write(group.join("cgroup.procs"), child.id().to_string()).expect("it joins the group");
    }
    let container = ContainerId::try_from(id).expect("64 digits");
    let ours = Namespace::current().and_then(|item| item.id()).expect("ours");
    each_process(&container, ours, |process| process.freeze(true));
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(inside.each_ref().map(state_of), ["T", "T"]);
    assert_eq!([&elsewhere, &outside].map(state_of), ["S", "S"]);
    each_process(&container, ours, |process| process.freeze(false));
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(inside.each_ref().map(state_of), ["S", "S"]);
    each_process(&container, ours, Process::kill);
    assert!(inside.iter_mut().all(has_ended));
    for child in [&mut elsewhere, &mut outside] {
        assert!(
            child.try_wait().expect("a child").is_none(),
            "none of the caller's"
        );
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }
    fs::remove_dir(&group).expect("it is empty");
    fs::remove_dir(group.parent().expect("a parent")).expect("it is empty");
}

#[test]
fn shims_processes_and_groups_of_containers_without_an_engine_are_removed() {
    if !can_emulate("shims_processes_and_groups_of_containers_without_an_engine_are_removed") {
        return;
    }
    let mut host = Host::start();
    let run = fresh_run();
    let (ours, other) = ("5a".repeat(32), "6b".repeat(32));
    let mut shims = [&ours, &other].map(|id| start_shim(host.folder(), id, &run, 0));
    let groups = [&ours, &other].map(|id| group_of(id));
    let mut inside = start_in(&groups[0], &run);
    host.ask("destroy", json!({"run": run, "strays": [ours]}));
    assert!(has_ended(&mut shims[0]), "the shim of the container");
    assert!(has_ended(&mut inside), "the process in it");
    let deadline = Instant::now() + Duration::from_secs(3);
    while groups[0].exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!groups[0].exists(), "its control group");
    assert!(still_runs(&mut shims[1]), "another container's shim still runs");
    assert!(groups[1].exists());
    end(&mut shims[1]);
    fs::remove_dir(&groups[1]).expect("it is empty");
}

#[test]
fn containers_of_no_run_and_of_another_one_are_no_strays() {
    if !can_emulate("containers_of_no_run_and_of_another_one_are_no_strays") {
        return;
    }
    let mut host = Host::start();
    let (run, another) = (fresh_run(), fresh_run());
    let (theirs, faked) = ("9e".repeat(32), "8d".repeat(32));
    let (group, faked_group) = (group_of(&theirs), group_of(&faked));
    // A process of another user with a shim's name is no proof.
    fs::set_permissions(host.folder(), fs::Permissions::from_mode(0o755)).expect("ours");
    let mut going = [
        start_shim(host.folder(), &theirs, &another, 0),
        start_in(&group, &another),
        start_shim(host.folder(), &faked, &run, 65_534),
        start_in(&faked_group, &another),
    ];
    // A group with the same name at another place is no proof either.
    let elsewhere = faked_group
        .parent()
        .expect("a parent")
        .join("elsewhere")
        .join(&faked);
    fs::create_dir_all(&elsewhere).expect("a folder");
    let mut named = start_in(&elsewhere, &run);
    host.ask("destroy", json!({"run": run, "strays": [theirs, faked]}));
    assert!(has_ended(&mut named), "it has the run's mark");
    assert!(going.iter_mut().all(still_runs));
    going.iter_mut().for_each(end);
    for group in [&group, &faked_group] {
        fs::remove_dir(group).expect("it is empty");
    }
}

#[test]
fn containers_of_a_run_that_another_fabric_has_are_no_strays() {
    if !can_emulate("containers_of_a_run_that_another_fabric_has_are_no_strays") {
        return;
    }
    let (mut host, mut another) = (Host::start(), Host::start());
    let run = fresh_run();
    let prepared = host.ask(
        "prepare",
        json!({"run": run, "network": row(2, &run, "kernel", |_| 0)}),
    );
    let mount = prepared["servers"][0]["mount"].as_str().expect("a folder");
    let ids = ["1a".repeat(32), "2b".repeat(32), "3c".repeat(32)];
    let group = group_of(&ids[0]);
    let mut container = Container::start_for(Path::new(mount), &run);
    fs::write(group.join("cgroup.procs"), container.pid().to_string()).expect("it joins the group");
    let of_server = json!({"mounts": [{"destination": "/run/cubeyard", "source": mount}]});
    let network = format!("/proc/{}/ns/net", container.pid());
    let beside = json!({"linux": {"namespaces": [{"type": "network", "path": network}]}});
    let mut shims = [(&ids[1], of_server), (&ids[2], beside)]
        .map(|(id, more)| start_shim_of(another.folder(), id, &run, 0, &more));
    another.ask("destroy", json!({"run": run, "strays": ids}));
    assert!(!container.has_ended() && shims.iter_mut().all(still_runs));
    assert_eq!(
        host.ask("destroy", json!({"run": run, "owner": "another", "strays": ids}))["removed"],
        0
    );
    assert!(!container.has_ended() && shims.iter_mut().all(still_runs));
    host.ask("destroy", json!({"run": run, "strays": ids}));
    assert!(shims.iter_mut().all(has_ended));
    std::thread::sleep(Duration::from_millis(100));
    assert!(container.has_ended(), "its run is removed");
}

fn end(child: &mut Child) {
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    // The kernel needs a moment to empty the process's group.
    std::thread::sleep(Duration::from_millis(50));
}
