//! Shared helpers of tests: networks of topology families, and checks of this machine's features.

#![allow(dead_code, reason = "each test uses its part of it")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cubeyard_fabric::network::Network;
use cubeyard_topology::{Topology, TopologySpec};
use serde_json::{Value, json};

/// The description of the network of a whole topology, as the backend makes it.
pub fn describe(spec: &Value, run: &str, forwarding: &str, rate_bits_per_sec: f64) -> Value {
    let topology = Topology::build(&TopologySpec::from_json(spec).expect("a spec")).expect("a topology");
    let links = topology.links();
    let servers: Vec<Value> = (0..topology.server_count())
        .map(|id| json!({"id": id, "name": topology.node_name(id)}))
        .collect();
    let switches: Vec<Value> = (topology.server_count()..topology.node_count())
        .map(|id| json!({"id": id, "name": topology.node_name(id)}))
        .collect();
    let links: Vec<Value> = (0..links.len())
        .map(|link| {
            json!({"id": link, "a": [links.a[link], links.a_port[link]], "b": [links.b[link], links.b_port[link]],
                "level": links.level[link]})
        })
        .collect();
    let (protocol, forwarding) = behaviour(forwarding);
    json!({"run": run, "spec": spec, "rate_bits_per_sec": rate_bits_per_sec, "mtu": 9000, "protocol": protocol,
        "forwarding": forwarding, "seed": 1, "servers": servers, "switches": switches, "links": links})
}

/// Protocol and forwarding by a short name: `none` for servers that forward nothing, `routers`
/// where switches are routers, `portland` where switches are chips.
fn behaviour(forwarding: &str) -> (&str, Option<&str>) {
    match forwarding {
        "none" => ("none", None),
        "routers" => ("ip", None),
        "portland" => ("portland", None),
        other => ("bcube", Some(other)),
    }
}

/// A checked BCube_k of n-port switches.
pub fn bcube(n: u32, k: u32, run: &str) -> Network {
    let spec = json!({"family": "bcube", "n": n, "k": k});
    Network::from_json(describe(&spec, run, "kernel", 1e8)).expect("a network")
}

/// A network of servers in a row, each with a cable to the next. They are servers of a BCube with
/// two digits per level, in the order of a Gray code: neighbours differ at one level, whose ports
/// the cable joins. `host_of` returns the host of the server at a position. See [`in_row`] for the
/// ids.
pub fn row(servers: u32, run: &str, forwarding: &str, host_of: impl Fn(u32) -> usize) -> Value {
    let described: Vec<Value> = (0..servers)
        .map(|at| json!({"id": in_row(at), "name": format!("s{at}"), "host": host_of(at)}))
        .collect();
    let links: Vec<Value> = (1..servers)
        .map(|at| {
            let level = at.trailing_zeros();
            json!({"id": at - 1, "a": [in_row(at - 1), level], "b": [in_row(at), level]})
        })
        .collect();
    let (protocol, forwarding) = behaviour(forwarding);
    json!({"run": run, "spec": {"family": "bcube", "n": 2, "k": 2}, "rate_bits_per_sec": 1e8, "mtu": 9000,
        "protocol": protocol, "forwarding": forwarding, "seed": 1, "servers": described, "links": links})
}

/// The id of the server at a position of a row.
pub fn in_row(at: u32) -> u32 {
    at ^ (at >> 1)
}

/// A process in a separate network namespace, as in a container. Its node does not use the network,
/// so that tests can.
pub struct Container(Child);

/// Starts a server's container as an engine does: mounts its folder, then starts its program.
const AS_IN_A_CONTAINER: &str = "mount -t tmpfs tmpfs /run && mkdir /run/cubeyard && mount --bind \"$1\" /run/cubeyard && \
    mount -o remount,bind,ro /run/cubeyard && exec \"$2\" --socket \"$1/fabric.sock\"";

impl Container {
    /// Starts a process with this folder of a server, and waits until it sees the folder.
    pub fn start(folder: &Path) -> Container {
        Container::start_for(folder, "")
    }

    /// Starts a process as [`Container::start`] does, with the mark of a run.
    pub fn start_for(folder: &Path, run: &str) -> Container {
        let child = Command::new("unshare")
            .args(["--net", "--mount", "sh", "-c", AS_IN_A_CONTAINER, "container"])
            .arg(folder)
            .arg(silent_node())
            .env("CUBEYARD_RUN", run)
            .spawn()
            .expect("unshare starts");
        let socket = Path::new("/proc")
            .join(child.id().to_string())
            .join("root")
            .join("run/cubeyard/fabric.sock");
        let deadline = Instant::now() + Duration::from_secs(10);
        while !socket.exists() {
            assert!(Instant::now() < deadline, "the container sees no folder");
            std::thread::sleep(Duration::from_millis(2));
        }
        Container(child)
    }

    /// Process id of the container.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Whether the container's process has ended.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(Some(_)))
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Prefix that starts a program as if on a separate machine.
const APART: [&str; 7] = [
    "unshare",
    "--net",
    "--mount",
    "sh",
    "-c",
    "mount -t tmpfs tmpfs /run && ip link set lo up && exec \"$@\"",
    "apart",
];

/// A running fabric with a connection to it. Dropping it ends the fabric gently, so that it removes
/// everything it made.
pub struct Host {
    child: Child,
    folder: PathBuf,
    stream: BufReader<UnixStream>,
    calls: u64,
    /// Frames that arrived while waiting for answers.
    pub frames: Vec<Value>,
}

/// Whether this machine can run tests that create networks; prints the reason if not. In CI they
/// must run.
pub fn can_emulate(test: &str) -> bool {
    let tried = cubeyard_fabric::host::probe::try_without_chips();
    if let Err(error) = &tried {
        assert!(
            std::env::var_os("CI").is_none(),
            "in CI nothing may skip: {error}"
        );
        eprintln!("{test} skipped: this host cannot emulate: {error}");
    }
    tried.is_ok()
}

/// A run id that no other test, and no other test process, uses.
pub fn fresh_run() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::SeqCst);
    let nanos = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock after 1970")
        .subsec_nanos();
    format!(
        "t{:03x}{:04x}{nanos:08x}",
        count & 0xfff,
        std::process::id() & 0xffff
    )
}

/// A separate folder for the test, with a path short enough for sockets.
pub fn fresh_folder() -> PathBuf {
    std::env::temp_dir().join(format!("cyf-{}", fresh_run()))
}

/// The node that does not use the network, so that the test can.
pub fn silent_node() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_cubeyard-silent-node"))
}

/// Starts a fabric on a folder, which also gets its socket. `before` are the words of a program
/// that starts it.
pub fn spawn_fabric(folder: &Path, node: &Path, before: &[&str]) -> Child {
    spawn_for(folder, node, before, &[])
}

fn spawn_for(folder: &Path, node: &Path, before: &[&str], further: &[&str]) -> Child {
    std::fs::create_dir_all(folder).expect("a folder");
    let fabric = env!("CARGO_BIN_EXE_cubeyard-fabric");
    let mut words = before.iter().copied().chain([fabric]);
    Command::new(words.next().expect("the fabric at least"))
        .args(words)
        .args(["serve", "--socket"])
        .arg(folder.join("socket"))
        .arg("--state")
        .arg(folder.join("state"))
        .arg("--node")
        .arg(node)
        .args(further)
        .spawn()
        .expect("the fabric starts")
}

/// Connects as soon as the fabric listens.
pub fn connect(folder: &Path) -> UnixStream {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match UnixStream::connect(folder.join("socket")) {
            Ok(stream) => return stream,
            Err(error) => assert!(Instant::now() < deadline, "the fabric does not listen: {error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Host {
    /// Starts a fabric with nodes that do not use the network, so that the test can.
    pub fn start() -> Host {
        Host::start_in(fresh_folder())
    }

    /// Starts a fabric on a folder that may contain leftovers of another fabric.
    pub fn start_in(folder: PathBuf) -> Host {
        Host::start_with(folder, &[])
    }

    /// Starts a fabric as if on a separate machine, with its own network and its own names of
    /// namespaces.
    pub fn start_apart(folder: PathBuf) -> Host {
        Host::start_with(folder, &APART)
    }

    /// Kills the fabric of [`Host::start_apart`], and starts another one on its leftovers, on the
    /// same machine.
    pub fn kill_and_start_again(&mut self) {
        // This process keeps the machine's namespaces alive while there is no fabric.
        let mut holder = Command::new("nsenter")
            .args(["-m", "-n", "-t", &self.pid().to_string(), "sleep", "60"])
            .spawn()
            .expect("nsenter starts");
        std::thread::sleep(Duration::from_millis(200));
        self.child.kill().expect("it runs");
        let _ = self.child.wait();
        let pid = holder.id().to_string();
        let again = Host::start_with(self.folder.clone(), &["nsenter", "-m", "-n", "-t", &pid]);
        let mut old = std::mem::replace(self, again);
        old.folder = PathBuf::new();
        let _ = holder.kill();
        let _ = holder.wait();
    }

    /// Starts a fabric that also serves the user `uid`, and has the socket `api`.
    pub fn start_for(uid: u32) -> Host {
        let folder = fresh_folder();
        let api = folder.join("api").display().to_string();
        let further = ["--uid", &uid.to_string(), "--api-socket", &api];
        let child = spawn_for(&folder, &silent_node(), &[], &further);
        Host::of(child, folder)
    }

    fn start_with(folder: PathBuf, before: &[&str]) -> Host {
        let child = spawn_fabric(&folder, &silent_node(), before);
        Host::of(child, folder)
    }

    fn of(child: Child, folder: PathBuf) -> Host {
        let stream = BufReader::new(connect(&folder));
        Host {
            child,
            folder,
            stream,
            calls: 0,
            frames: Vec::new(),
        }
    }

    /// Sends a request and waits for the answer: a result or an error document.
    pub fn call(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        self.calls += 1;
        let request = json!({"id": self.calls, "method": method, "params": params});
        writeln!(self.stream.get_mut(), "{request}").expect("the fabric reads");
        loop {
            let mut line = self.read();
            if line.get("stream").is_some() {
                self.frames.push(line["frame"].take());
                continue;
            }
            assert_eq!(line["id"], self.calls);
            return match line.get("result") {
                Some(result) => Ok(result.clone()),
                None => Err(line["error"].take()),
            };
        }
    }

    /// Sends a request whose answer must be a result, and returns it.
    #[allow(clippy::needless_pass_by_value, reason = "callers write json! in place")]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.call(method, &params);
        answer.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Waits for a frame.
    pub fn next_frame(&mut self) -> Value {
        let mut line = self.read();
        line["frame"].take()
    }

    /// Waits for a frame with an event that `wanted` accepts; returns the event.
    pub fn wait_for_event(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..100 {
            let frame = self.next_frame();
            let events = frame["events"].as_array().expect("events");
            if let Some(event) = events.iter().find(|event| wanted(event)) {
                return event.clone();
            }
        }
        panic!("ten seconds went by without the event");
    }

    /// Prepares and wires a network without containers.
    pub fn build(&mut self, network: &Value) -> String {
        let run = network["run"].as_str().expect("a run").to_owned();
        self.ask("prepare", json!({"run": run, "network": network}));
        self.ask("wire", json!({"run": run, "plain": true}));
        run
    }

    /// Process id of the fabric.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the fabric answers");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
