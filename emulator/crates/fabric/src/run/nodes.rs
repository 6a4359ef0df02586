//! The nodes of a run: their sockets and processes.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use cubeyard_messages::ToNode;
use cubeyard_messages::limits::DATAGRAM_BYTES;
use rustix::net::SocketType;

use super::node_socket::{self, NodeSocket, Received, listen_in, listen_inside};
use super::poller::{Poller, Token};
use crate::error::Result;
use crate::host::folder::Folder;
use crate::host::namespace::Namespace;
use crate::host::process::Process;
use crate::netlink::PathManager;
use crate::network::Network;
use crate::programs::Programs;

/// State of one server's node.
#[derive(Debug)]
struct Node {
    /// Name of the folder with the socket; containers mount it.
    name: String,
    /// `None` for a server on another host.
    listener: Option<OwnedFd>,
    /// Whether it listens inside the server's network namespace, where a user's program of the same
    /// server may run too.
    inside: bool,
    socket: Option<NodeSocket>,
    process: Option<Process>,
    /// Connections from processes other than the node that were closed since the last call.
    strangers: u64,
}

/// All nodes, by server.
#[derive(Debug)]
pub struct Nodes {
    folder: Folder,
    nodes: Vec<Node>,
    poller: Arc<Poller>,
    buffer: Vec<u8>,
}

impl Nodes {
    /// Makes a folder with a socket for every server of this host.
    ///
    /// Each container sees only its own subfolder, which is mounted. No other user can reach the
    /// sockets.
    pub fn listen(network: &Network, folder: Folder, poller: &Arc<Poller>) -> Result<Nodes> {
        let processes = network.description.services.iter().any(|service| service.process);
        let mut nodes = Vec::with_capacity(network.description.servers.len());
        for (at, server) in network.description.servers.iter().enumerate() {
            let name = server.id.to_string();
            let listener = if network.division.has_server(at) {
                let own = folder.make(&name, 0o755)?;
                if processes {
                    own.make("services", 0o755)?;
                }
                let listener = listen_in(&own, node_socket::NAME, SocketType::SEQPACKET)?;
                poller.add(&listener, Token::Listener(at))?;
                Some(listener)
            } else {
                None
            };
            nodes.push(Node {
                name,
                listener,
                inside: false,
                socket: None,
                process: None,
                strangers: 0,
            });
        }
        Ok(Nodes {
            folder,
            nodes,
            poller: poller.clone(),
            buffer: vec![0; DATAGRAM_BYTES],
        })
    }

    /// Listens inside a server's namespace from now on, instead of in the folder or in an earlier
    /// namespace.
    pub fn listen_inside(&mut self, server: usize, namespace: &Namespace) -> Result<()> {
        let listener = namespace.run(listen_inside)?;
        self.poller.add(&listener, Token::Listener(server))?;
        self.nodes[server].listener = Some(listener);
        self.nodes[server].inside = true;
        Ok(())
    }

    /// Number of servers of the run.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The folder of a server's socket.
    pub fn folder(&self, server: usize) -> Result<Folder> {
        self.folder.folder(&self.nodes[server].name)
    }

    /// The path of a server's folder.
    pub fn path(&self, server: usize) -> PathBuf {
        self.folder.path().join(&self.nodes[server].name)
    }

    /// Accepts a waiting connection; returns whether it is the node's. A server has one connection.
    /// Where the node's process is known, it must come from that process: another process in the
    /// container or pod cannot replace the node. A refused node connects again.
    pub fn accept(&mut self, server: usize) -> Result<bool> {
        let node = &mut self.nodes[server];
        let Some(socket) = node.listener.as_ref().and_then(NodeSocket::accept) else {
            return Ok(false);
        };
        let is_connected = node.socket.as_ref().is_some_and(|socket| !socket.is_closed());
        let process = node.process.as_ref().map(|process| process.pid);
        // A container's node may connect before its process id is known here; a pod's node cannot.
        let is_node = socket.peer() == process || process.is_none() && !node.inside;
        if is_connected || !is_node {
            node.strangers += 1;
            return Ok(false);
        }
        self.poller.add(&socket, Token::Node(server))?;
        node.socket = Some(socket);
        Ok(true)
    }

    /// Number of connections of other processes that were closed since the last call.
    pub fn take_strangers(&mut self, server: usize) -> u64 {
        std::mem::take(&mut self.nodes[server].strangers)
    }

    /// Whether the node of a server is connected.
    pub fn is_connected(&self, server: usize) -> bool {
        self.nodes[server].socket.is_some()
    }

    /// Closes the connection of a node.
    pub fn disconnect(&mut self, server: usize) {
        self.nodes[server].socket = None;
    }

    /// Sends a message that must arrive, with the socket that it describes, if any. It is passed as
    /// a descriptor because no process in a container can write to the server's folder. A pod has
    /// no folder, and its node gets no socket.
    pub fn send_with_socket(&mut self, server: usize, message: &ToNode) -> Result<()> {
        let (name, kind) = match message {
            ToNode::ChipListener => ("chip.sock".to_owned(), SocketType::STREAM),
            ToNode::ServiceProcess { id, .. } => (format!("services/{id}"), SocketType::SEQPACKET),
            _ => (String::new(), SocketType::STREAM),
        };
        let mut sockets = Vec::new();
        if !name.is_empty() && !self.nodes[server].inside {
            sockets.push(listen_in(&self.folder(server)?, &name, kind)?);
        }
        self.hand_over(server, message, sockets);
        Ok(())
    }

    /// Sends several messages that must arrive.
    pub fn send<'a>(&mut self, server: usize, messages: impl IntoIterator<Item = &'a ToNode>) {
        if let Some(socket) = &mut self.nodes[server].socket {
            for message in messages {
                socket.send(message);
            }
            self.update_interest(server);
        }
    }

    /// Sends a message that must arrive, with descriptors.
    pub fn hand_over(&mut self, server: usize, message: &ToNode, descriptors: Vec<OwnedFd>) {
        if let Some(socket) = &mut self.nodes[server].socket {
            socket.hand_over(message, descriptors);
            self.update_interest(server);
        }
    }

    /// Sends a message that must arrive to every node.
    pub fn send_to_all(&mut self, message: &ToNode) {
        for server in 0..self.nodes.len() {
            self.send(server, [message]);
        }
    }

    /// Sends a message that a busy node may miss; returns whether it was sent.
    pub fn announce(&mut self, server: usize, message: &ToNode) -> bool {
        let Some(socket) = &mut self.nodes[server].socket else {
            return false;
        };
        let taken = socket.announce(message);
        self.update_interest(server);
        taken
    }

    /// Sends queued messages once the node reads again.
    pub fn flush(&mut self, server: usize) {
        if let Some(socket) = &mut self.nodes[server].socket
            && socket.has_waiting()
        {
            socket.flush();
            self.update_interest(server);
        }
    }

    /// Waits for free space in a node's socket only while messages are queued.
    fn update_interest(&self, server: usize) {
        if let Some(socket) = &self.nodes[server].socket {
            let _ = self
                .poller
                .want_room(socket, Token::Node(server), socket.has_waiting());
        }
    }

    /// Receives the next message of a node.
    pub fn receive(&mut self, server: usize) -> Received {
        let Some(socket) = &mut self.nodes[server].socket else {
            return Received::Nothing;
        };
        let received = socket.receive(&mut self.buffer);
        if matches!(received, Received::Closed) {
            self.nodes[server].socket = None;
        }
        received
    }

    /// Why a message to a node could not be sent since the last call, if one could not.
    pub fn take_unsent(&mut self, server: usize) -> Option<String> {
        self.nodes[server].socket.as_mut()?.take_unsent()
    }

    /// Number of a node's messages dropped since the last call.
    pub fn take_refused(&mut self, server: usize) -> u64 {
        let socket = self.nodes[server].socket.as_mut();
        socket.map_or(0, NodeSocket::take_refused)
    }

    /// Watches the process of a server's node from now on. Disconnects a connection of another
    /// process.
    pub fn adopt(&mut self, server: usize, process: Process) -> Result<()> {
        self.poller.add(&process, Token::Process(server))?;
        let node = &mut self.nodes[server];
        if node
            .socket
            .as_ref()
            .is_some_and(|socket| socket.peer() != Some(process.pid))
        {
            node.socket = None;
            node.strangers += 1;
        }
        node.process = Some(process);
        Ok(())
    }

    /// Waits for notices of a server's programs from now on.
    pub fn watch_programs(&self, server: usize, programs: &Programs) -> Result<()> {
        self.poller.add(programs.notices.as_fd(), Token::Programs(server))
    }

    /// Waits for events of a server's MPTCP from now on.
    pub fn watch_subflows(&self, server: usize, paths: &PathManager) -> Result<()> {
        self.poller.add(paths, Token::Subflows(server))
    }

    /// The process of a server's node.
    pub fn process(&self, server: usize) -> Option<&Process> {
        self.nodes[server].process.as_ref()
    }

    /// Process id of a server's node.
    pub fn pid(&self, server: usize) -> Option<u32> {
        self.process(server).map(|process| process.pid)
    }

    /// Stops watching a server's process. Reaps it if it is a child that has ended.
    pub fn forget_process(&mut self, server: usize) {
        if let Some(mut process) = self.nodes[server].process.take() {
            process.collect();
        }
    }

    /// Stops watching a container's process, without waiting for its end.
    pub fn release_process(&mut self, server: usize) {
        self.nodes[server].process = None;
    }

    /// Ends a child process and waits for its end.
    pub fn end_process(&mut self, server: usize) {
        if let Some(process) = &self.nodes[server].process {
            process.kill();
        }
        self.forget_process(server);
    }

    /// Kills all processes, including those in containers.
    pub fn kill_processes(&self) {
        for process in self.nodes.iter().filter_map(|node| node.process.as_ref()) {
            process.kill();
        }
    }

    /// Ends all child processes and waits for their end.
    pub fn end_all_processes(&mut self) {
        self.kill_processes();
        for server in 0..self.nodes.len() {
            self.forget_process(server);
        }
    }
}
