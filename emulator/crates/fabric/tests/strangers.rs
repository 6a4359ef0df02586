//! Processes and runs of other users, which a caller must not affect.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Container, Host, can_emulate, connect, describe, fresh_run, row};
use cubeyard_fabric::host::namespace;
use serde_json::{Value, json};

const NOBODY: u32 = 65_534;

/// A process of another user in a separate network, with a cable that carries packets.
struct Stranger(Child);

impl Stranger {
    /// Starts the process with these environment variables.
    fn start(environment: &[(&str, &str)]) -> Stranger {
        let script = "ip link add theirs type veth peer other && ip link set theirs up && ip link set other up && \
            exec sleep 120";
        let child = Command::new("unshare")
            .args(["--net", "sh", "-c", script])
            .envs(environment.iter().copied())
            .spawn();
        let stranger = Stranger(child.expect("unshare starts"));
        for _ in 0..500 {
            if stranger.links().contains("LOWER_UP") && stranger.name() == "sleep" {
                return stranger;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("its cable does not come up");
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn name(&self) -> String {
        let name = fs::read_to_string(format!("/proc/{}/comm", self.pid())).unwrap_or_default();
        name.trim().to_owned()
    }

    /// Its interfaces except loopback, as `ip link` shows them.
    fn links(&self) -> String {
        let shown = Command::new("nsenter")
            .args(["--net", "--target", &self.pid().to_string(), "ip", "-o", "link"])
            .output()
            .expect("nsenter starts");
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        let links = shown.lines().filter(|line| !line.contains(": lo:"));
        links.collect::<Vec<_>>().join("\n")
    }

    fn is_untouched(&mut self) -> bool {
        let links = self.links();
        links.lines().count() == 2
            && links.matches("LOWER_UP").count() == 2
            && self.0.try_wait().expect("a child").is_none()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn mounts_of(prepared: &Value) -> Vec<PathBuf> {
    let servers = prepared["servers"].as_array().expect("servers").iter();
    servers
        .map(|server| server["mount"].as_str().expect("a folder").into())
        .collect()
}

fn prepare(host: &mut Host, run: &str) -> Vec<PathBuf> {
    let network = row(2, run, "kernel", |_| 0);
    mounts_of(&host.ask("prepare", json!({"run": run, "network": network})))
}

#[test]
fn a_process_that_was_not_started_for_the_server_is_not_wired_and_not_ended() {
    if !can_emulate("a_process_that_was_not_started_for_the_server_is_not_wired_and_not_ended") {
        return;
    }
    let mut host = Host::start();
    let (run, another) = (fresh_run(), fresh_run());
    let mut stranger = Stranger::start(&[("CUBEYARD_RUN", &run)]);
    let theirs = prepare(&mut host, &another);
    let network = row(2, &run, "kernel", |_| 0);
    let mut owner = connect(host.folder());
    let params = json!({"run": run, "network": network, "ends_with_caller": true});
    writeln!(
        owner,
        "{}",
        json!({"id": 1, "method": "prepare", "params": params})
    )
    .expect("the fabric reads");
    let mut line = String::new();
    BufReader::new(&owner)
        .read_line(&mut line)
        .expect("the fabric answers");
    let answer: Value = serde_json::from_str(&line).expect("a document");
    let mounts = mounts_of(&answer["result"]);
    let mut containers = [&mounts[0], &mounts[1], &theirs[0]].map(|folder| Container::start(folder));
    let [first, second, others] = containers.each_ref().map(Container::pid);
    for (pids, field) in [
        (json!({"0": stranger.pid(), "1": second}), "pids.0"),
        (json!({"0": others, "1": second}), "pids.0"),
        (json!({"0": second, "1": first}), "pids.0"),
        (json!({"0": first, "1": std::process::id()}), "pids.1"),
    ] {
        let refused = host.call("wire", &json!({"run": run, "pids": pids})).unwrap_err();
        assert_eq!(refused["field"], field, "{refused}");
        assert!(
            refused["fix"].as_str().expect("a fix").contains("/run/cubeyard"),
            "{refused}"
        );
    }
    assert!(stranger.is_untouched());
    host.ask("wire", json!({"run": run, "pids": {"0": first, "1": second}}));
    // The fabric ends the processes of the run's containers once the owner has disconnected.
    drop(owner);
    let [ours, also_ours, others] = &mut containers;
    let deadline = Instant::now() + Duration::from_secs(10);
    while !(ours.has_ended() && also_ours.has_ended()) {
        assert!(
            Instant::now() < deadline,
            "containers of a run without an owner still run"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!others.has_ended() && stranger.is_untouched());
}

#[test]
fn a_container_with_a_network_of_others_is_not_wired() {
    if !can_emulate("a_container_with_a_network_of_others_is_not_wired") {
        return;
    }
    let mut host = Host::start();
    let run = fresh_run();
    let mounts = prepare(&mut host, &run);
    let containers = [&mounts[0], &mounts[1]].map(|folder| Container::start(folder));
    let [first, second] = containers.each_ref().map(Container::pid);
    let script = "ip link add theirs type veth peer other && ip link set theirs up && ip link set other up";
    let made = Command::new("nsenter")
        .args(["--net", "--target", &first.to_string(), "sh", "-c", script])
        .status();
    assert!(made.expect("nsenter starts").success());
    let refused = host
        .call("wire", &json!({"run": run, "pids": {"0": first, "1": second}}))
        .unwrap_err();
    assert_eq!(refused["field"], "pids.0");
    assert!(
        refused["fix"].as_str().expect("a fix").contains("--network none"),
        "{refused}"
    );
}

/// A hierarchy of control groups in which this process can create some.
const HIERARCHIES: [&str; 2] = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];

#[test]
fn only_pods_of_the_run_are_isolated_and_wired() {
    if !can_emulate("only_pods_of_the_run_are_isolated_and_wired") {
        return;
    }
    let mut host = Host::start();
    let run = fresh_run();
    prepare(&mut host, &run);
    for (environment, id, is_ours) in [
        (Vec::new(), "9e".repeat(32), false),
        (vec![("CUBEYARD_RUN", "0123456789abcdef")], "af".repeat(32), false),
        (vec![("CUBEYARD_RUN", run.as_str())], "b0".repeat(32), true),
    ] {
        let mut pod = Stranger::start(&environment);
        let name = format!("cubeyard-test-pods-{}", std::process::id());
        let candidates = HIERARCHIES.map(|root| Path::new(root).join(&name).join(&id));
        let group = candidates
            .into_iter()
            .find(|group| fs::create_dir_all(group).is_ok())
            .expect("root may make control groups");
        fs::write(group.join("cgroup.procs"), pod.pid().to_string()).expect("it joins the group");
        let params = json!({"run": run, "containers": {"0": id}});
        if is_ours {
            host.ask("isolate", params);
            assert_eq!(pod.links().matches("LOWER_UP").count(), 0, "{}", pod.links());
        } else {
            for method in ["isolate", "wire"] {
                let mut params = params.clone();
                if method == "wire" {
                    params["rest_follows"] = json!(true);
                }
                let refused = host.call(method, &params).unwrap_err();
                let limit = refused["limit"].as_str().expect("a limit");
                assert!(
                    limit.contains(&format!("CUBEYARD_RUN={run}")),
                    "{method}: {refused}"
                );
            }
            assert!(pod.is_untouched());
        }
        drop(pod);
        std::thread::sleep(Duration::from_millis(50));
        fs::remove_dir(&group).expect("it is empty");
    }
}

/// A caller whose user is not root.
struct OtherUser {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl OtherUser {
    fn connect(socket: &Path) -> OtherUser {
        // Frames of a subscription arrive between the answers.
        let script = "import json, os, socket, sys\nos.setgroups([]); os.setgid(65534); os.setuid(65534)\n\
            s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); lines = s.makefile()\n\
            for request in sys.stdin:\n    s.sendall(request.encode())\n\
            \x20   answer = next(line for line in lines if 'stream' not in json.loads(line))\n\
            \x20   print(answer, end='', flush=True)\n";
        let mut process = Command::new("python3")
            .args(["-c", script])
            .arg(socket)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python starts");
        let requests = process.stdin.take().expect("a pipe");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        OtherUser {
            process,
            requests,
            answers,
        }
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        let request = json!({"id": 1, "method": method, "params": params});
        writeln!(self.requests, "{request}").expect("it reads");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).expect("a document")
    }
}

impl Drop for OtherUser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn bcube() -> Value {
    describe(
        &json!({"family": "bcube", "n": 2, "k": 1}),
        &fresh_run(),
        "kernel",
        1e8,
    )
}

#[test]
fn a_user_has_nothing_of_another_users_runs() {
    if !can_emulate("a_user_has_nothing_of_another_users_runs") {
        return;
    }
    let mut host = Host::start_for(NOBODY);
    let mut network = bcube();
    network["owner"] = json!("somebody");
    let roots = host.build(&network);
    let mut other = OtherUser::connect(&host.folder().join("socket"));
    let own = bcube();
    let answer = other.call("prepare", &json!({"run": own["run"], "network": own}));
    assert!(answer.get("result").is_some(), "{answer}");
    let wire = json!({"run": own["run"], "plain": true});
    assert!(other.call("wire", &wire).get("result").is_some());
    for (method, params) in [
        (
            "prepare",
            json!({"run": roots, "network": network, "ends_with_caller": true}),
        ),
        ("wire", json!({"run": roots, "plain": true})),
        ("isolate", json!({"run": roots, "containers": {}})),
        ("subscribe", json!({"run": roots})),
        ("inspect", json!({"run": roots, "server": 0})),
        ("stop", json!({"run": roots})),
        ("capture", json!({"run": roots, "target": {"port": [0, 0]}})),
        (
            "destroy",
            json!({"run": roots, "owner": "somebody", "strays": []}),
        ),
        ("end", json!({})),
    ] {
        let answer = other.call(method, &params);
        assert_eq!(answer["error"]["code"], "denied", "{method}: {answer}");
        assert!(
            answer["error"]["message"]
                .as_str()
                .expect("words")
                .contains(&roots),
            "{answer}"
        );
    }
    let listed = other.call("runs", &json!({}));
    let runs = listed["result"]["runs"].as_array().expect("runs").iter();
    assert_eq!(runs.map(|run| &run["run"]).collect::<Vec<_>>(), [&own["run"]]);
    let reaped = other.call("reap", &json!({"keep": []}));
    assert_eq!(reaped["result"]["removed"], json!([own["run"]]));
    drop(other);
    std::thread::sleep(Duration::from_secs(3));
    let names = namespace::names_with_prefix(&format!("cy-{}", &roots[..8]));
    assert_eq!(names.len(), 5, "root's run still exists");
    host.ask("destroy", json!({"run": roots}));
}

/// The API's methods. Adding one needs a reason at `Rights::Watch`.
const FOR_THE_API: [&str; 10] = [
    "probe",
    "host",
    "runs",
    "inspect",
    "subscribe",
    "capture",
    "tell",
    "program",
    "chip",
    "registers",
];

#[test]
fn the_socket_for_the_api_makes_and_ends_no_run() {
    if !can_emulate("the_socket_for_the_api_makes_and_ends_no_run") {
        return;
    }
    let mut host = Host::start_for(NOBODY);
    let mut worker = OtherUser::connect(&host.folder().join("socket"));
    let network = bcube();
    let run = &network["run"];
    for (method, params) in [
        ("prepare", json!({"run": run, "network": network})),
        ("wire", json!({"run": run, "plain": true})),
    ] {
        assert!(worker.call(method, &params).get("result").is_some(), "{method}");
    }
    let mut api = OtherUser::connect(&host.folder().join("api"));
    let listed = worker.call("anything", &json!({}))["error"]["limit"].clone();
    let listed = listed.as_str().expect("the methods").replace(" or ", ", ");
    let methods: Vec<&str> = listed.split(", ").chain(["anything"]).collect();
    assert!(
        FOR_THE_API.iter().all(|method| methods.contains(method)),
        "{methods:?}"
    );
    for method in methods {
        let answer = api.call(
            method,
            &json!({"run": run, "network": network, "keep": [], "strays": []}),
        );
        let denied = answer["error"]["code"] == "denied";
        assert_eq!(denied, !FOR_THE_API.contains(&method), "{method}: {answer}");
    }
    for (method, params) in [
        ("probe", json!({})),
        ("host", json!({})),
        ("inspect", json!({"run": run, "server": 0})),
        ("subscribe", json!({"run": run})),
    ] {
        let answer = api.call(method, &params);
        assert!(answer.get("result").is_some(), "{method}: {answer}");
    }
    let mut again = OtherUser::connect(&host.folder().join("api"));
    assert_eq!(again.call("runs", &json!({}))["result"]["runs"][0]["run"], *run);
    host.ask("destroy", json!({"run": run}));
}

#[test]
fn callers_of_the_apis_socket_keep_out_no_worker() {
    if !can_emulate("callers_of_the_apis_socket_keep_out_no_worker") {
        return;
    }
    let host = Host::start_for(NOBODY);
    let crowd: Vec<_> = (0..80)
        .map(|_| UnixStream::connect(host.folder().join("api")).expect("it listens"))
        .collect();
    let mut worker = OtherUser::connect(&host.folder().join("socket"));
    let answer = worker.call("runs", &json!({}));
    assert!(answer.get("result").is_some(), "{answer}");
    let mut line = String::new();
    let mut last = BufReader::new(crowd.last().expect("a crowd"));
    last.read_line(&mut line).expect("an answer");
    assert!(line.contains("too many callers"), "{line}");
}

#[test]
fn a_caller_gets_each_frame_once_however_often_it_subscribes() {
    if !can_emulate("a_caller_gets_each_frame_once_however_often_it_subscribes") {
        return;
    }
    let mut host = Host::start();
    let run = host.build(&bcube());
    for _ in 0..3 {
        host.ask("subscribe", json!({"run": run}));
    }
    host.frames.clear();
    let ticks: Vec<u64> = (0..6)
        .map(|_| host.next_frame()["tick"].as_u64().expect("a number"))
        .collect();
    assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]), "{ticks:?}");
    host.ask("destroy", json!({"run": run}));
}
