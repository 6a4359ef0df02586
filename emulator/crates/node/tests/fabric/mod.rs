//! The fabric's end of the sockets, and nodes that run as separate processes on loopback.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail")]

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, SockFlag, SockType, UnixAddr, accept4, bind, listen, recv, send,
    setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};
use serde_json::{Value, json};

/// Time limit of every wait.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A node with the socket to it.
pub struct Node {
    pub child: Child,
    socket: OwnedFd,
    pub path: PathBuf,
    _listener: OwnedFd,
}

fn seqpacket() -> OwnedFd {
    socket(
        AddressFamily::Unix,
        SockType::SeqPacket,
        SockFlag::SOCK_CLOEXEC,
        None,
    )
    .unwrap()
}

#[allow(unsafe_code, reason = "the library gives the new descriptor as a bare number")]
fn accept(listener: &OwnedFd) -> OwnedFd {
    use std::os::fd::FromRawFd;
    let fd = accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC).unwrap();
    // SAFETY: the descriptor is new, so nothing else owns it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    setsockopt(&fd, sockopt::ReceiveTimeout, &TimeVal::milliseconds(200)).unwrap();
    fd
}

impl Node {
    /// Starts a node and waits until it has connected.
    pub fn start(name: &str) -> Node {
        let directory = std::env::temp_dir().join(format!("cubeyard-node-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("fabric.sock");
        let listener = seqpacket();
        bind(listener.as_raw_fd(), &UnixAddr::new(&path).unwrap()).unwrap();
        listen(&listener, Backlog::new(1).unwrap()).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_cubeyard-node"))
            .arg("--socket")
            .arg(&path)
            .spawn()
            .unwrap();
        let socket = accept(&listener);
        Node {
            child,
            socket,
            path,
            _listener: listener,
        }
    }

    /// Closes the connection, and waits until the node has connected again.
    pub fn reconnect(&mut self) {
        nix::sys::socket::shutdown(self.socket.as_raw_fd(), nix::sys::socket::Shutdown::Both).unwrap();
        self.socket = accept(&self._listener);
    }

    /// Sends raw bytes, which need not be a message.
    pub fn send_bytes(&self, bytes: &[u8]) {
        send(self.socket.as_raw_fd(), bytes, MsgFlags::empty()).unwrap();
    }

    /// Sends a message.
    pub fn send(&self, message: &Value) {
        self.send_bytes(message.to_string().as_bytes());
    }

    /// Configures a server without a protocol and with a loopback address.
    pub fn configure(&self, server: u32) {
        let ip = format!("127.0.1.{}", server + 1);
        let spec = json!({"family": "tree", "edge_ports": 48, "servers": 96});
        let configuration = json!({"server": server, "spec": spec, "ports": [], "virtual_nic": 1001,
            "rate_bits_per_sec": 1e9, "mtu": 9000});
        self.send(
            &json!({"t": "configure", "protocol": "none", "forwarding": null, "address": ip,
            "configuration": configuration}),
        );
        self.wait(|message| message["t"] == "ready");
    }

    /// Waits for a message that `wanted` accepts; skips others.
    pub fn wait(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        let mut buffer = vec![0; 1 << 16];
        let mut seen = Vec::new();
        while begun.elapsed() < PATIENCE {
            let Ok(length) = recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) else {
                continue;
            };
            assert!(length > 0, "the node has gone; it sent {seen:?}");
            let message: Value = serde_json::from_slice(&buffer[..length]).unwrap();
            if wanted(&message) {
                return message;
            }
            seen.push(message);
        }
        panic!("the node said only {seen:?}");
    }

    /// Waits until the row of a flow satisfies `wanted`.
    pub fn wait_row(&self, id: u32, wanted: impl Fn(&Value) -> bool) -> Value {
        let row = |message: &Value| {
            let rows = message["rows"].as_array().cloned().unwrap_or_default();
            rows.into_iter().find(|row| row["id"] == id && wanted(row))
        };
        row(&self.wait(|message| row(message).is_some())).unwrap()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::fs::remove_dir_all(self.path.parent().unwrap()).unwrap();
    }
}

/// The order for one end of a TCP flow between two of these servers.
pub fn flow(id: u32, role: &str, peer: u32, bytes: Option<u64>) -> Value {
    json!({"id": id, "role": role, "peer_ip": format!("127.0.1.{}", peer + 1), "port": 5201 + id,
        "transport": "tcp", "bytes": bytes, "rate_bits_per_sec": null, "start_secs": 0.0, "pipeline": null})
}
