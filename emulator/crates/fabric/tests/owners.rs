//! Runs whose owner has disconnected.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Container, Host, can_emulate, connect, describe, fresh_folder, fresh_run, row, silent_node};
use cubeyard_fabric::host::namespace;
use serde_json::{Value, json};

/// A run must be removed within this time after its owner has disconnected.
const WITHIN: Duration = Duration::from_secs(6);

fn bcube() -> Value {
    describe(
        &json!({"family": "bcube", "n": 2, "k": 1}),
        &fresh_run(),
        "kernel",
        1e8,
    )
}

fn names_of(run: &str) -> usize {
    namespace::names_with_prefix(&format!("cy-{}", &run[..8])).len()
}

fn ask(stream: &mut UnixStream, method: &str, params: &Value) -> Value {
    writeln!(stream, "{}", json!({"id": 1, "method": method, "params": params})).expect("the fabric reads");
    let mut line = String::new();
    BufReader::new(stream)
        .read_line(&mut line)
        .expect("the fabric answers");
    let answer: Value = serde_json::from_str(&line).expect("a document");
    assert!(answer.get("error").is_none(), "{method}: {answer}");
    answer["result"].clone()
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + WITHIN;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_run_ends_when_its_owner_is_killed() {
    if !can_emulate("a_run_ends_when_its_owner_is_killed") {
        return;
    }
    let host = Host::start();
    let network = bcube();
    let run = network["run"].as_str().expect("a run");
    // The owner is a separate process that is killed, so it cannot end its runs itself.
    let socket = host.folder().join("socket");
    let script = "import json, socket, sys, time\n\
        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); answers = s.makefile()\n\
        for line in sys.stdin:\n    s.sendall(line.encode()); print(answers.readline(), end='', flush=True)\n\
        time.sleep(60)\n";
    let mut owner = Command::new("python3")
        .args(["-c", script])
        .arg(&socket)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python starts");
    let mut answers = BufReader::new(owner.stdout.take().expect("a pipe"));
    let mut requests = owner.stdin.take().expect("a pipe");
    for (method, params) in [
        (
            "prepare",
            json!({"run": run, "network": network, "ends_with_caller": true}),
        ),
        ("wire", json!({"run": run, "plain": true})),
    ] {
        writeln!(
            requests,
            "{}",
            json!({"id": 1, "method": method, "params": params})
        )
        .expect("it reads");
        let mut line = String::new();
        answers.read_line(&mut line).expect("it answers");
        let answer: Value = serde_json::from_str(&line).expect("a document");
        assert!(answer.get("result").is_some(), "{method}: {answer}");
    }
    assert_eq!(names_of(run), 5, "four servers and the switches");
    owner.kill().expect("it runs");
    owner.wait().expect("it ends");
    wait_until("the run is gone", || names_of(run) == 0);
}

#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn a_run_stays_when_its_owner_connects_again_or_was_not_bound() {
    if !can_emulate("a_run_stays_when_its_owner_connects_again_or_was_not_bound") {
        return;
    }
    let mut host = Host::start();
    let (bound, free) = (bcube(), bcube());
    for (network, ends) in [(&bound, true), (&free, false)] {
        let mut first = connect(host.folder());
        let run = &network["run"];
        ask(
            &mut first,
            "prepare",
            &json!({"run": run, "network": network, "ends_with_caller": ends}),
        );
        ask(&mut first, "wire", &json!({"run": run, "plain": true}));
    }
    let prepare = json!({"run": bound["run"], "network": bound, "ends_with_caller": true});
    host.ask("prepare", prepare);
    std::thread::sleep(Duration::from_secs(3));
    for network in [&bound, &free] {
        assert_eq!(names_of(network["run"].as_str().expect("a run")), 5);
    }
    let wrong = json!({"run": free["run"], "network": free, "ends_with_caller": 1});
    assert_eq!(
        host.call("prepare", &wrong).unwrap_err()["field"],
        "ends_with_caller"
    );
}

#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn the_processes_in_containers_end_with_the_owner() {
    if !can_emulate("the_processes_in_containers_end_with_the_owner") {
        return;
    }
    let host = Host::start();
    let network = row(2, &fresh_run(), "kernel", |_| 0);
    let run = &network["run"];
    let mut owner = connect(host.folder());
    let prepared = ask(
        &mut owner,
        "prepare",
        &json!({"run": run, "network": network, "ends_with_caller": true}),
    );
    let servers = prepared["servers"].as_array().expect("servers");
    let mut containers: Vec<Container> = servers
        .iter()
        .map(|server| Container::start(server["mount"].as_str().expect("a folder").as_ref()))
        .collect();
    let pids = json!({"0": containers[0].pid(), "1": containers[1].pid()});
    ask(&mut owner, "wire", &json!({"run": run, "pids": pids}));
    assert!(containers.iter_mut().all(|container| !container.has_ended()));
    drop(owner);
    let deadline = Instant::now() + WITHIN;
    while !containers.iter_mut().all(Container::has_ended) {
        assert!(Instant::now() < deadline, "the processes continue");
        std::thread::sleep(Duration::from_millis(50));
    }
    wait_until("the switches are gone", || {
        names_of(run.as_str().expect("a run")) == 0
    });
}

#[test]
fn a_fabric_that_hangs_up_or_quits_removes_everything() {
    if !can_emulate("a_fabric_that_hangs_up_or_quits_removes_everything") {
        return;
    }
    for signal in [rustix::process::Signal::HUP, rustix::process::Signal::QUIT] {
        let mut host = Host::start();
        let run = host.build(&bcube());
        assert_eq!(names_of(&run), 5);
        let pid = rustix::process::Pid::from_raw(host.pid() as i32).expect("a process");
        rustix::process::kill_process(pid, signal).expect("it runs");
        wait_until("the run is gone", || names_of(&run) == 0);
    }
}

#[test]
fn a_fabric_ends_after_the_program_that_started_it_and_its_last_run() {
    if !can_emulate("a_fabric_ends_after_the_program_that_started_it_and_its_last_run") {
        return;
    }
    let folder = fresh_folder();
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut starter = Command::new("sleep").arg("120").spawn().expect("sleep starts");
    let mut fabric = Command::new(env!("CARGO_BIN_EXE_cubeyard-fabric"))
        .args(["serve", "--starter", &starter.id().to_string(), "--socket"])
        .arg(folder.join("socket"))
        .arg("--state")
        .arg(folder.join("state"))
        .arg("--node")
        .arg(silent_node())
        .spawn()
        .expect("the fabric starts");
    let mut goes_on = || fabric.try_wait().expect("it is ours").is_none();
    let network = bcube();
    let run = &network["run"];
    let mut caller = connect(&folder);
    ask(&mut caller, "prepare", &json!({"run": run, "network": network}));
    ask(&mut caller, "wire", &json!({"run": run, "plain": true}));
    drop(caller);
    starter.kill().expect("it runs");
    starter.wait().expect("it ends");
    // Longer than a fabric without callers stays alive.
    std::thread::sleep(Duration::from_secs(12));
    assert!(goes_on(), "it has a run");
    let mut caller = connect(&folder);
    ask(&mut caller, "destroy", &json!({"run": run}));
    drop(caller);
    let deadline = Instant::now() + Duration::from_secs(30);
    while goes_on() {
        assert!(
            Instant::now() < deadline,
            "it has no run and no caller, and still runs"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!folder.join("socket").exists());
    assert_eq!(names_of(run.as_str().expect("a run")), 0);
}

#[test]
fn a_run_that_another_owner_has_taken_over_is_not_destroyed_by_the_previous_one() {
    if !can_emulate("a_run_that_another_owner_has_taken_over_is_not_destroyed_by_the_previous_one") {
        return;
    }
    let host = Host::start();
    let mut network = bcube();
    network["owner"] = json!("home-worker-1");
    let run = network["run"].as_str().expect("a run").to_owned();
    let mut stream = UnixStream::connect(host.folder().join("socket")).expect("the fabric listens");
    ask(&mut stream, "prepare", &json!({"run": run, "network": network}));
    ask(&mut stream, "wire", &json!({"run": run, "plain": true}));
    let destroy = |stream: &mut UnixStream, owner: &str| {
        ask(
            stream,
            "destroy",
            &json!({"run": run, "owner": owner, "strays": []}),
        );
        names_of(&run)
    };
    assert_eq!(
        destroy(&mut stream, "home-worker-0"),
        5,
        "the run has another owner now"
    );
    assert_eq!(destroy(&mut stream, "home-worker-1"), 0);
}
