//! The built-in traffic generator: flows between servers, given as a list by the fabric. Patterns
//! (one-to-all, permutation, incast, …) are not visible here.
//!
//! If the peer of a flow is lost, a sender tries to connect for [`CONNECT_SECS`]; once connected,
//! TCP retransmits for [`tcp::USER_TIMEOUT_MILLIS`]. Then the flow is reported as done, with the
//! reason. It restarts only with its peer: then the fabric adds it again at both ends.

mod requests;
mod tcp;
mod udp;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use cubeyard_dataplane::configuration::secs;
use cubeyard_dataplane::flow::Flow;
use cubeyard_dataplane::protocol::Time;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::write;

use crate::poller::Poller;
use cubeyard_messages::limits::{FLOWS, RATES_BITS_PER_SEC};
use cubeyard_messages::{Exchange, FlowOrder, FlowRow, Latencies, Role, SubflowRow, Transport};
pub use requests::values::AskedValues;

/// A sender tries to connect for this many seconds.
pub const CONNECT_SECS: f64 = 10.0;
/// Size of the block that senders send repeatedly.
const BLOCK_BYTES: usize = 1 << 20;

/// State that all flows share.
#[derive(Debug)]
struct Shared {
    /// The server's own address, the source of connections.
    ip: Ipv4Addr,
    /// A file of [`BLOCK_BYTES`] in memory: the kernel sends its pages without a copy.
    block: OwnedFd,
    /// Buffer for received bytes, which are discarded.
    sink: Vec<u8>,
    /// Rate of UDP flows for which no rate is given.
    link_bits_per_sec: f64,
    /// Longest payload of a datagram, in bytes.
    datagram_bytes: usize,
}

/// The state of one end of a flow.
#[derive(Debug)]
enum End {
    TcpSender(tcp::Sender),
    TcpReceiver(tcp::Receiver),
    UdpSender(udp::Sender),
    UdpReceiver(udp::Receiver),
    TcpAsker(requests::tcp::Asker),
    TcpAnswerer(requests::tcp::Answerer),
    UdpAsker(requests::udp::Asker),
    UdpAnswerer(requests::udp::Answerer),
}

/// Progress of one end of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    /// Bytes sent or received.
    pub bytes: u64,
    /// Bytes of responses: sent by the server, received by the client.
    pub response_bytes: u64,
    /// Retransmitted segments; for TCP senders.
    pub retransmits: u64,
    /// Lost datagrams, for UDP receivers; requests that were given up, for clients over UDP.
    pub lost: u64,
    /// Subflows; for MPTCP senders.
    pub subflows: Vec<SubflowRow>,
    /// Whether the flow has ended.
    pub done: bool,
    /// Why the flow ended, unless all data was transferred.
    pub reason: Option<String>,
}

impl Progress {
    fn stop(&mut self, reason: impl Into<String>) {
        self.done = true;
        self.reason = Some(reason.into());
    }
}

#[derive(Debug)]
struct Entry {
    order: FlowOrder,
    end: End,
    progress: Progress,
    reported: Option<FlowRow>,
    /// The last reported row of responses, if there are any.
    response_reported: Option<FlowRow>,
    /// Start time of the flow; `None` before the workload starts.
    begins: Option<Time>,
    /// Bytes when the rate was last computed.
    measured_bytes: u64,
    /// Whether the end was reported to the protocol.
    end_reported: bool,
}

/// All flows with an end at this server.
#[derive(Debug)]
pub struct Workload {
    shared: Shared,
    entries: BTreeMap<u32, Entry>,
    timers: BTreeSet<(Time, u32)>,
    client: requests::Client,
    /// Connections of restarted flows whose end was not yet reported to the protocol.
    replaced: Vec<Flow>,
}

/// A message to the protocol about a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlowNews {
    /// The current rate of a flow.
    Rate {
        /// Five-tuple of the packets that this server sends.
        flow: Flow,
        /// Rate of the flow.
        bits_per_sec: f64,
    },
    /// A flow has ended.
    Ended {
        /// Five-tuple of the flow.
        flow: Flow,
    },
}

impl Workload {
    /// Creates a workload without flows, for a server with this address.
    pub fn new(ip: Ipv4Addr, link_bits_per_sec: f64, nic_mtu: u32) -> nix::Result<Workload> {
        let block = memfd_create(c"workload", MFdFlags::MFD_CLOEXEC)?;
        let pattern: Vec<u8> = (0..BLOCK_BYTES).map(|place| (place % 251) as u8).collect();
        let mut rest = pattern.as_slice();
        while !rest.is_empty() {
            rest = &rest[write(&block, rest)?..];
        }
        Ok(Workload {
            shared: Shared {
                ip,
                block,
                sink: vec![0; BLOCK_BYTES],
                link_bits_per_sec,
                datagram_bytes: (nic_mtu as usize)
                    .saturating_sub(udp::IP_AND_UDP_BYTES)
                    .max(udp::HEAD_BYTES),
            },
            entries: BTreeMap::new(),
            timers: BTreeSet::new(),
            replaced: Vec::new(),
            client: requests::Client::default(),
        })
    }

    /// Adds flows; receivers listen immediately. A flow that exists already begins again, because
    /// its other end was restarted. Returns the error of the first flow that cannot be added.
    pub fn add(&mut self, orders: Vec<FlowOrder>, poller: &Poller) -> Result<(), String> {
        for order in orders {
            let id = order.id;
            if self.entries.len() >= FLOWS {
                return Err(format!(
                    "Flow {id} is one too many: at most {FLOWS} a server; take a smaller workload."
                ));
            }
            if !(0.0..=1e6).contains(&order.start_secs) {
                return Err(format!(
                    "Flow {id}: start_secs is {}, but must be 0 to 1000000.",
                    order.start_secs
                ));
            }
            if order
                .rate_bits_per_sec
                .is_some_and(|rate| !RATES_BITS_PER_SEC.contains(&rate))
            {
                return Err(format!(
                    "Flow {id}: rate_bits_per_sec must be 1e3 to 1e12, or null."
                ));
            }
            let most = self.shared.datagram_bytes as u32;
            if let Some(bytes) = order.datagram_bytes
                && !(udp::HEAD_BYTES as u32..=most).contains(&bytes)
            {
                return Err(format!(
                    "Flow {id}: datagram_bytes is {bytes}, but must be {} to {most}.",
                    udp::HEAD_BYTES
                ));
            }
            if let Some(exchange) = &order.exchange {
                self.check_exchange(&order, exchange)?;
            }
            // Removed before its port is bound again. The protocol forgets the old connection,
            // unless the new one uses the same ports.
            if let Some(former) = self.entries.remove(&id) {
                self.client.forget(former.unanswered());
                let open = Some(former).filter(|former| !former.end_reported);
                self.replaced
                    .extend(open.and_then(|former| former.flow(&self.shared)));
            }
            let mut progress = Progress::default();
            let end = match (order.role, order.transport) {
                (Role::Send, Transport::Tcp) if order.exchange.is_some() => {
                    End::TcpAsker(requests::tcp::Asker::default())
                }
                (Role::Send, Transport::Udp) if order.exchange.is_some() => {
                    End::UdpAsker(requests::udp::Asker::default())
                }
                (Role::Receive, Transport::Tcp) if order.exchange.is_some() => End::TcpAnswerer(
                    requests::tcp::Answerer::listen(&order, &self.shared, poller, &mut progress),
                ),
                (Role::Receive, Transport::Udp) if order.exchange.is_some() => End::UdpAnswerer(
                    requests::udp::Answerer::listen(&order, &self.shared, poller, &mut progress),
                ),
                (Role::Send, Transport::Tcp | Transport::Mptcp) => End::TcpSender(tcp::Sender::default()),
                (Role::Send, Transport::Udp) => End::UdpSender(udp::Sender::default()),
                (Role::Receive, Transport::Tcp | Transport::Mptcp) => {
                    End::TcpReceiver(tcp::Receiver::listen(&order, &self.shared, poller, &mut progress))
                }
                (Role::Receive, Transport::Udp) => {
                    End::UdpReceiver(udp::Receiver::listen(&order, &self.shared, poller, &mut progress))
                }
            };
            let entry = Entry {
                order,
                end,
                progress,
                reported: None,
                response_reported: None,
                begins: None,
                measured_bytes: 0,
                end_reported: false,
            };
            self.entries.insert(id, entry);
        }
        Ok(())
    }

    /// Refuses requests that do not fit a datagram, and a second client.
    fn check_exchange(&mut self, order: &FlowOrder, exchange: &Exchange) -> Result<(), String> {
        let (request, response) = match order.transport {
            Transport::Tcp => (requests::MOST_BYTES, requests::MOST_BYTES),
            Transport::Udp => (self.shared.datagram_bytes as u64, requests::MOST_UDP_BYTES),
            Transport::Mptcp => {
                return Err(format!(
                    "Flow {}: requests go by tcp or udp, not by mptcp.",
                    order.id
                ));
            }
        };
        requests::check_bytes(
            order.id,
            [
                ("request_bytes", exchange.request_bytes, request),
                ("response_bytes", exchange.response_bytes, response),
            ],
        )?;
        match order.role {
            Role::Send => self.client.add(order.id, &exchange.asking),
            Role::Receive => Ok(()),
        }
    }

    /// Whether this server answers requests.
    pub fn answers_requests(&self) -> bool {
        let ends = self.entries.values().map(|entry| &entry.end);
        ends.into_iter()
            .any(|end| matches!(end, End::TcpAnswerer(_) | End::UdpAnswerer(_)))
    }

    /// Address of this server.
    pub fn address(&self) -> Ipv4Addr {
        self.shared.ip
    }

    /// Starts the flows that have not started yet.
    pub fn start(&mut self, now: Time) {
        self.client.start(now);
        self.timers.extend(self.client.next_timeout());
        for (&id, entry) in &mut self.entries {
            if entry.begins.is_none() {
                let begins = now + secs(entry.order.start_secs);
                entry.begins = Some(begins);
                if entry.order.role == Role::Send {
                    self.timers.insert((begins, id));
                }
            }
        }
    }

    /// Ends and removes all flows; returns those that the protocol should remove too.
    pub fn stop(&mut self) -> Vec<Flow> {
        self.timers.clear();
        self.client = requests::Client::default();
        let entries = std::mem::take(&mut self.entries);
        let open = entries.into_values().filter(|entry| !entry.end_reported);
        open.filter_map(|entry| entry.flow(&self.shared)).collect()
    }

    /// When the next flow is due.
    pub fn next_timeout(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Handles the flows that are due.
    pub fn on_timeout(&mut self, now: Time, poller: &Poller) {
        while let Some(&(at, id)) = self.timers.first().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, id));
            self.advance(id, now, poller);
        }
    }

    /// Handles a ready socket of a flow.
    pub fn on_ready(&mut self, id: u32, now: Time, poller: &Poller) {
        self.advance(id, now, poller);
    }

    /// Advances a flow, and the flows that pass on the data it receives.
    fn advance(&mut self, id: u32, now: Time, poller: &Poller) {
        let allowance = self.allowance(id);
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        if entry.progress.done {
            // The flow has ended because its server is lost, so give up the requests to that
            // server.
            while self.client.take(id, now).is_some() {
                self.client.gave_up(now);
            }
            self.timers.extend(self.client.next_timeout());
            return;
        }
        let before = entry.progress.bytes;
        let begins = entry.begins.unwrap_or(now);
        let (order, progress) = (&entry.order, &mut entry.progress);
        let again = match (&mut entry.end, &order.exchange) {
            (End::TcpSender(sender), _) => {
                sender.advance(order, begins, now, allowance, &mut self.shared, poller, progress)
            }
            (End::TcpReceiver(receiver), _) => {
                receiver.advance(order, &mut self.shared, poller, progress);
                None
            }
            (End::UdpSender(sender), _) => sender.advance(order, now, allowance, &mut self.shared, progress),
            (End::UdpReceiver(receiver), _) => {
                receiver.advance(order, progress);
                None
            }
            (End::TcpAsker(asker), Some(exchange)) => asker.advance(
                order,
                exchange,
                begins,
                now,
                &mut self.client,
                &mut self.shared,
                poller,
                progress,
            ),
            (End::UdpAsker(asker), Some(exchange)) => asker.advance(
                order,
                exchange,
                now,
                &mut self.client,
                &mut self.shared,
                poller,
                progress,
            ),
            (End::TcpAnswerer(answerer), Some(exchange)) => {
                answerer.advance(order, exchange, &mut self.shared, poller, progress);
                None
            }
            (End::UdpAnswerer(answerer), Some(exchange)) => {
                answerer.advance(order, exchange, &mut self.shared, progress);
                None
            }
            (_, None) => None,
        };
        if order.exchange.is_some() {
            self.timers.extend(self.client.next_timeout());
        }
        if let Some(at) = again {
            self.timers.insert((at, id));
        }
        let entry = &self.entries[&id];
        if entry.order.role == Role::Receive && (entry.progress.bytes > before || entry.progress.done) {
            let waits =
                |(_, other): &(&u32, &Entry)| other.order.pipeline == Some(id) && !other.progress.done;
            let waiting: Vec<u32> = self
                .entries
                .iter()
                .filter(waits)
                .map(|(&other, _)| other)
                .collect();
            for other in waiting {
                // Flows that have not begun must wait for their start time.
                if self.entries[&other].begins.is_some_and(|begins| begins <= now) {
                    self.advance(other, now, poller);
                }
            }
        }
    }

    /// Number of bytes that a flow may have sent at this time, and whether that is the final
    /// amount.
    fn allowance(&self, id: u32) -> Allowance {
        let Some(entry) = self.entries.get(&id) else {
            return Allowance::default();
        };
        let own = entry.order.bytes;
        match entry.order.pipeline.map(|upstream| self.entries.get(&upstream)) {
            None => Allowance {
                bytes: own.unwrap_or(u64::MAX),
                is_final: own.is_some(),
            },
            Some(None) => Allowance {
                bytes: 0,
                is_final: true,
            },
            Some(Some(upstream)) => {
                let received = upstream.progress.bytes;
                Allowance {
                    bytes: received.min(own.unwrap_or(u64::MAX)),
                    is_final: upstream.progress.done || own.is_some_and(|own| received >= own),
                }
            }
        }
    }

    /// The rows of flows that have changed since the last call. With `retransmits`, first reads
    /// TCP's counters.
    pub fn rows(&mut self, now: Time, poller: &Poller, retransmits: bool) -> Vec<FlowRow> {
        // Read bytes below the receivers' low-water mark too, so that they count.
        let receivers = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.order.role == Role::Receive);
        let open: Vec<u32> = receivers
            .filter(|(_, entry)| !entry.progress.done)
            .map(|(&id, _)| id)
            .collect();
        for id in open {
            self.advance(id, now, poller);
        }
        let mut rows = Vec::new();
        for (&id, entry) in &mut self.entries {
            if retransmits {
                entry.ask_retransmits();
            }
            let flow = entry.flow(&self.shared);
            let row = entry.row(id, entry.order.role, entry.progress.bytes, flow);
            // Responses count as a separate flow in the other direction.
            let response = entry.order.exchange.as_ref().map(|exchange| {
                let role = match entry.order.role {
                    Role::Send => Role::Receive,
                    Role::Receive => Role::Send,
                };
                entry.row(exchange.response, role, entry.progress.response_bytes, flow)
            });
            if entry.begins.is_some() {
                rows.extend(changed(&mut entry.reported, Some(row)));
                rows.extend(changed(&mut entry.response_reported, response));
            }
        }
        rows
    }

    /// Latencies of this client's requests, if they have changed since the last call.
    pub fn latencies(&mut self) -> Option<Latencies> {
        self.client.report()
    }

    /// News of the flows since the last call, with their rates.
    pub fn news(&mut self, elapsed_secs: f64) -> Vec<FlowNews> {
        let mut news = Vec::new();
        for flow in std::mem::take(&mut self.replaced) {
            if !self
                .entries
                .values()
                .any(|entry| entry.flow(&self.shared) == Some(flow))
            {
                news.push(FlowNews::Ended { flow });
            }
        }
        for entry in self.entries.values_mut().filter(|entry| !entry.end_reported) {
            let Some(flow) = entry.flow(&self.shared) else {
                continue;
            };
            if entry.progress.done {
                entry.end_reported = true;
                news.push(FlowNews::Ended { flow });
                continue;
            }
            let answers = entry.order.exchange.is_some() && entry.order.role == Role::Receive;
            let bytes = if answers {
                entry.progress.response_bytes
            } else {
                entry.progress.bytes
            };
            let carried = bytes - entry.measured_bytes;
            entry.measured_bytes = bytes;
            // The packets that a receiver sends are acknowledgements: almost no rate, but the flow
            // is alive.
            let sends = entry.order.role == Role::Send || answers;
            let bits_per_sec = if sends {
                carried as f64 * 8.0 / elapsed_secs
            } else {
                0.0
            };
            if carried > 0 {
                news.push(FlowNews::Rate { flow, bits_per_sec });
            }
        }
        news
    }
}

/// The row, if it differs from the last one.
fn changed(reported: &mut Option<FlowRow>, row: Option<FlowRow>) -> Option<FlowRow> {
    if *reported == row {
        return None;
    }
    *reported = row;
    reported.clone()
}

/// The result of [`Workload::allowance`].
#[derive(Clone, Copy, Debug, Default)]
struct Allowance {
    bytes: u64,
    is_final: bool,
}

impl Entry {
    /// Number of requests that wait here for their responses.
    fn unanswered(&self) -> usize {
        match &self.end {
            End::TcpAsker(asker) => asker.unanswered(),
            End::UdpAsker(asker) => asker.unanswered(),
            _ => 0,
        }
    }

    /// Reads the number of retransmitted segments.
    fn ask_retransmits(&mut self) {
        match &self.end {
            End::TcpSender(sender) => sender.ask_retransmits(self.order.transport, &mut self.progress),
            End::TcpAsker(asker) => asker.ask_retransmits(&mut self.progress),
            End::TcpAnswerer(answerer) => answerer.ask_retransmits(&mut self.progress),
            _ => {}
        }
    }

    /// The row of a flow that this end sends or receives; `flow` is the five-tuple of the packets
    /// that it sends.
    fn row(&self, id: u32, role: Role, bytes: u64, flow: Option<Flow>) -> FlowRow {
        let flow = flow.filter(|_| role == Role::Send);
        FlowRow {
            id,
            role,
            bytes,
            retransmits: self.progress.retransmits,
            lost: self.progress.lost,
            source_port: flow.map(|flow| flow.source_port()),
            subflows: self.progress.subflows.clone(),
            done: self.progress.done,
            reason: self.progress.reason.clone(),
        }
    }

    /// The five-tuple of the flow's packets that this server sends; `None` before the peer is
    /// known.
    fn flow(&self, shared: &Shared) -> Option<Flow> {
        let (proto, peer_port) = match &self.end {
            End::TcpSender(sender) => (6, sender.local_port()?),
            End::TcpReceiver(receiver) => (6, receiver.peer_port()?),
            End::UdpSender(sender) => (17, sender.local_port()?),
            End::UdpReceiver(_) => return None,
            End::TcpAsker(asker) => (6, asker.local_port()?),
            End::TcpAnswerer(answerer) => (6, answerer.peer_port()?),
            End::UdpAsker(asker) => (17, asker.local_port()?),
            End::UdpAnswerer(answerer) => (17, answerer.peer_port()?),
        };
        let (sport, dport) = match self.order.role {
            Role::Send => (peer_port, self.order.port),
            Role::Receive => (self.order.port, peer_port),
        };
        let own_ip = self.order.own_ip.unwrap_or(shared.ip);
        Some(Flow::new(own_ip, self.order.peer_ip, proto, sport, dport))
    }
}
