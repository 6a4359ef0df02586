//! The flows of a run: sources, destinations and progress.

use std::collections::{BTreeMap, BTreeSet};

use cubeyard_contract::tick::FlowColumns;
use cubeyard_dataplane::flow::Flow;
use cubeyard_messages::{Exchange, FlowOrder, FlowRow, Role, SubflowRow, ToNode, Transport, split_orders};
use cubeyard_routing::hash;
use cubeyard_routing::subflows::Subflow;
use serde::Deserialize;
use serde_json::Value;

use super::flow_paths::FlowPath;
use crate::error::{FabricError, Result};
use crate::host::clock::monotonic_nanos;
use crate::network::Network;

/// A flow, as the caller describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowJson {
    id: u32,
    source: u32,
    destination: u32,
    proto: Transport,
    #[serde(default)]
    bytes: Option<u64>,
    #[serde(default, alias = "rate")]
    rate_bits_per_sec: Option<f64>,
    #[serde(default)]
    datagram_bytes: Option<u32>,
    #[serde(default)]
    start_secs: f64,
    #[serde(default)]
    pipeline: Option<u32>,
    /// Requests instead of one stream.
    #[serde(default)]
    requests: Option<Exchange>,
    /// The flow of responses to this flow's requests, in the reverse direction; it follows the
    /// requests in the list.
    #[serde(default)]
    answers: Option<u32>,
}

/// Counters of a flow, as its ends report them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Progress {
    received: u64,
    retransmits: u64,
    /// Whether the destination has received the end of the flow without an error.
    is_done: bool,
}

/// The flows in the order they were given.
#[derive(Debug, Default)]
pub struct Workload {
    index: BTreeMap<u32, usize>,
    ends: Vec<(usize, usize)>,
    now: Vec<Progress>,
    reported: Vec<Progress>,
    /// Transport and destination port of each flow.
    sent_to: Vec<(Transport, u16)>,
    /// Source port of each flow, once its source has reported it.
    sent_from: Vec<Option<u16>>,
    /// For flows of requests: the index of the flow with their responses, from the server to the
    /// client.
    answered_by: BTreeMap<usize, usize>,
    /// Path state of each flow, where the fabric computes paths.
    paths: Vec<FlowPath>,
    /// The subflows of each MPTCP flow, in order; none for other flows.
    subflows: Vec<Vec<SubflowState>>,
    /// Flow orders for the node of each server.
    orders: Vec<Vec<FlowOrder>>,
    started_nanos: Option<u64>,
}

impl Workload {
    /// Reads flows and checks them against the network.
    pub fn from_json(network: &Network, flows: Value) -> Result<Workload> {
        let flows: Vec<FlowJson> = serde_path_to_error::deserialize(flows)
            .map_err(|error| FabricError::malformed(format!("flows{}: {}", error.path(), error.inner())))?;
        let mut workload = Workload {
            orders: vec![Vec::new(); network.description.servers.len()],
            ..Workload::default()
        };
        for (at, flow) in flows.iter().enumerate() {
            workload.add(network, at, flow)?;
        }
        Ok(workload)
    }

    fn add(&mut self, network: &Network, at: usize, flow: &FlowJson) -> Result<()> {
        let field = |name: &str| format!("flows[{at}].{name}");
        let (source, destination) = (network.server(flow.source)?, network.server(flow.destination)?);
        if source == destination {
            let fix = "leave the flow out";
            return Err(FabricError::bad(
                field("destination"),
                flow.destination,
                "another server than the source",
                fix,
            ));
        }
        // Responses use the ports of the requests.
        let request_flow = match flow.answers {
            Some(requests) => Some(self.asked_by(at, flow, requests, [source, destination])?),
            None => None,
        };
        let number = flow.answers.unwrap_or(flow.id);
        let Some(port) = hash::port(number) else {
            let limit = format!("at most {}", u16::MAX - hash::FIRST_PORT);
            return Err(FabricError::bad(
                field("id"),
                flow.id,
                limit,
                "number the flows from 0",
            ));
        };
        if !(0.0..=1e6).contains(&flow.start_secs) {
            return Err(FabricError::bad(
                field("start_secs"),
                flow.start_secs,
                "0 to 1e6",
                "start it earlier",
            ));
        }
        if flow
            .rate_bits_per_sec
            .is_some_and(|rate| !(rate > 0.0 && rate <= 1e12))
        {
            let given = flow.rate_bits_per_sec.unwrap_or_default();
            return Err(FabricError::bad(
                field("rate_bits_per_sec"),
                given,
                "above 0, at most 1e12",
                "leave it out",
            ));
        }
        if flow
            .datagram_bytes
            .is_some_and(|_| flow.proto != Transport::Udp || flow.requests.is_some())
        {
            let given = flow.datagram_bytes.unwrap_or_default();
            let limit = "given with udp and without requests";
            return Err(FabricError::bad(
                field("datagram_bytes"),
                given,
                limit,
                "leave it out",
            ));
        }
        if self.index.insert(flow.id, at).is_some() {
            return Err(FabricError::bad(
                field("id"),
                flow.id,
                "unlike every other flow's",
                "number each once",
            ));
        }
        let planned = planned_subflows(network, &field("proto"), flow)?;
        // Switches hash the source port: with this port the flow takes the predicted path.
        let source_port = match planned.first() {
            Some(first) => first.source_port,
            None => hash::source_port(flow.id).filter(|_| network.switches_decide()),
        };
        if let Some(requests) = request_flow {
            self.answered_by.insert(requests, at);
            self.push([source, destination], flow.proto, 0, planned);
            return Ok(());
        }
        let by_port = planned.first().map_or([None; 2], |first| first.by_port);
        let address = |server: usize| {
            let end = usize::from(server == destination);
            network.end_address(server, by_port[end])
        };
        let ends = [
            (Role::Receive, destination, source),
            (Role::Send, source, destination),
        ];
        for (role, server, peer) in ends {
            self.orders[server].push(FlowOrder {
                id: flow.id,
                role,
                own_ip: Some(address(server)).filter(|ip| *ip != network.address(server)),
                peer_ip: address(peer),
                port,
                source_port: source_port.filter(|_| role == Role::Send),
                transport: flow.proto,
                bytes: flow.bytes,
                rate_bits_per_sec: flow.rate_bits_per_sec,
                datagram_bytes: flow.datagram_bytes,
                start_secs: flow.start_secs,
                // Only a sender depends on data that another flow has received.
                pipeline: flow.pipeline.filter(|_| role == Role::Send),
                exchange: flow.requests.clone(),
            });
        }
        self.push([source, destination], flow.proto, port, planned);
        Ok(())
    }

    fn push(
        &mut self,
        [source, destination]: [usize; 2],
        proto: Transport,
        port: u16,
        planned: Vec<Subflow>,
    ) {
        self.ends.push((source, destination));
        self.sent_to.push((proto, port));
        self.sent_from.push(None);
        self.paths.push(FlowPath::default());
        self.subflows
            .push(planned.into_iter().map(SubflowState::new).collect());
        self.now.push(Progress::default());
        self.reported.push(Progress::default());
    }

    /// The index of the flow whose requests a flow answers.
    fn asked_by(&self, at: usize, flow: &FlowJson, requests: u32, ends: [usize; 2]) -> Result<usize> {
        let [source, destination] = ends;
        self.index
            .get(&requests)
            .copied()
            .filter(|&asked| {
                self.ends[asked] == (destination, source) && !self.answered_by.contains_key(&asked)
            })
            .ok_or_else(|| {
                FabricError::bad(
                    format!("flows[{at}].answers"),
                    requests,
                    format!(
                        "a flow before it, from its destination to its source, that flow {} alone answers",
                        flow.id
                    ),
                    "list each flow of responses after its requests",
                )
            })
    }

    /// Starts the flows unless they are running; returns their start time.
    pub fn start(&mut self) -> u64 {
        *self.started_nanos.get_or_insert_with(monotonic_nanos)
    }

    /// Start time of the flows, on the monotonic clock.
    pub fn started_nanos(&self) -> Option<u64> {
        self.started_nanos
    }

    /// Number of flows of the workload.
    pub fn flow_count(&self) -> usize {
        self.ends.len()
    }

    /// The flow orders for a server's node, split into messages of limited length.
    pub fn orders(&self, server: usize) -> Vec<ToNode> {
        messages(self.orders.get(server).map_or(&[][..], |orders| orders))
    }

    /// Orders for a restarted server and its peers. Its incomplete flows begin again at both ends,
    /// and so do the flows whose data they pass on, since the server has lost that data.
    pub fn begun_again(&self, server: usize) -> BTreeMap<usize, Vec<ToNode>> {
        // A flow of unlimited size is always open: only its sender ends it.
        let open = |order: &&FlowOrder| order.bytes.is_none() || !self.now[self.index[&order.id]].is_done;
        let own: Vec<&FlowOrder> = self.orders[server].iter().filter(open).collect();
        let again: BTreeSet<u32> = own
            .iter()
            .flat_map(|order| [Some(order.id), order.pipeline])
            .flatten()
            .collect();
        let elapsed = self.started_nanos.map_or(0, |at| monotonic_nanos() - at);
        let begin = |order: &FlowOrder| FlowOrder {
            start_secs: (order.start_secs - elapsed as f64 / 1e9).max(0.0),
            ..order.clone()
        };
        let lists = self.orders.iter().enumerate().map(|(end, orders)| {
            let orders = orders.iter().filter(|order| again.contains(&order.id));
            (end, orders.map(begin).collect::<Vec<FlowOrder>>())
        });
        lists
            .filter(|(_, orders)| !orders.is_empty())
            .map(|(end, orders)| (end, messages(&orders)))
            .collect()
    }

    /// Source and destination of a flow, by the flow's index.
    pub fn ends(&self, at: usize) -> [usize; 2] {
        self.ends[at].into()
    }

    /// The flow with the responses to this flow's requests, if it has any.
    pub fn responses_to(&self, at: usize) -> Option<usize> {
        self.answered_by.get(&at).copied()
    }

    /// The five-tuple of a flow; `None` until its source has reported its port.
    pub fn tuple(&self, network: &Network, at: usize) -> Option<Flow> {
        let [source, destination] = self.ends(at);
        let [from, to_end] = self.by_port(at);
        let addresses = [
            network.end_address(source, from),
            network.end_address(destination, to_end),
        ];
        let (transport, to) = self.sent_to[at];
        let protocol = match transport {
            Transport::Tcp | Transport::Mptcp => 6,
            Transport::Udp => 17,
        };
        // Responses go to a port that the client must report first.
        (to != 0).then_some(())?;
        Some(Flow::new(
            addresses[0],
            addresses[1],
            protocol,
            self.sent_from[at]?,
            to,
        ))
    }

    /// The ports whose addresses an MPTCP flow uses at both ends: those of its first subflow.
    pub fn by_port(&self, at: usize) -> [Option<u8>; 2] {
        self.subflows[at]
            .first()
            .map_or([None; 2], |first| first.planned.by_port)
    }

    /// The subflows of an MPTCP flow, in order; none for other flows.
    pub fn subflows(&self, at: usize) -> &[SubflowState] {
        &self.subflows[at]
    }

    /// The subflows of an MPTCP flow, for changing them.
    pub fn subflows_mut(&mut self, at: usize) -> &mut [SubflowState] {
        &mut self.subflows[at]
    }

    /// The MPTCP flow that a server sends to this destination port.
    pub fn mptcp_sent_to(&self, server: usize, port: u16) -> Option<usize> {
        let id = port.checked_sub(hash::FIRST_PORT)?;
        let at = *self.index.get(&u32::from(id))?;
        (self.ends[at].0 == server && !self.subflows[at].is_empty()).then_some(at)
    }

    /// The destination port of a flow.
    pub fn sent_to(&self, at: usize) -> u16 {
        self.sent_to[at].1
    }

    /// The id of a flow.
    pub fn id(&self, at: usize) -> u32 {
        u32::from(self.sent_to[at].1 - hash::FIRST_PORT)
    }

    /// The path state of a flow.
    pub fn path(&self, at: usize) -> &FlowPath {
        &self.paths[at]
    }

    /// Stores the path of a flow.
    pub fn set_path(&mut self, at: usize, path: FlowPath) {
        self.paths[at] = path;
    }

    /// Updates a flow with a node's report. Returns its index if its source port has changed.
    /// Reports about flows that do not end at the node are ignored.
    pub fn update(&mut self, server: usize, row: &FlowRow) -> Option<usize> {
        let at = *self.index.get(&row.id)?;
        let (source, destination) = self.ends[at];
        // A restarted node counts from zero again.
        if server == destination {
            self.now[at].received = restarted(&mut self.reported[at].received, row.bytes);
            self.now[at].is_done = row.done && row.reason.is_none();
        } else if server == source {
            self.now[at].retransmits = restarted(&mut self.reported[at].retransmits, row.retransmits);
            for subflow in &mut self.subflows[at] {
                let is_it = |other: &&SubflowRow| subflow.source_port == Some(other.source_port);
                if let Some(other) = row.subflows.iter().find(is_it) {
                    // The counter of a replaced subflow starts at zero.
                    restarted(&mut subflow.reported, other.bytes);
                    subflow.bytes = other.bytes;
                }
            }
            if let Some(port) = row.source_port
                && self.sent_from[at] != Some(port)
            {
                self.sent_from[at] = Some(port);
                if let Some(&response) = self.answered_by.get(&at) {
                    self.sent_to[response].1 = port;
                }
                return Some(at);
            }
        }
        None
    }

    /// Bytes of subflows since the last call: index of the flow, number of the subflow, bytes.
    pub fn subflow_rows(&mut self) -> Vec<[u64; 3]> {
        let mut rows = Vec::new();
        for (at, subflows) in self.subflows.iter_mut().enumerate() {
            for (number, subflow) in subflows.iter_mut().enumerate() {
                let bytes = subflow.bytes.saturating_sub(subflow.reported);
                subflow.reported = subflow.bytes;
                if bytes > 0 {
                    rows.push([at as u64, number as u64, bytes]);
                }
            }
        }
        rows
    }

    /// Bytes and retransmissions of all flows since the last call.
    pub fn columns(&mut self) -> FlowColumns {
        let mut columns = FlowColumns::default();
        for (now, reported) in self.now.iter().zip(&mut self.reported) {
            columns.bytes.push(now.received.saturating_sub(reported.received));
            columns
                .retransmits
                .push(now.retransmits.saturating_sub(reported.retransmits));
            *reported = *now;
        }
        columns
    }
}

/// A subflow of an MPTCP connection, with its state.
#[derive(Clone, Debug)]
pub struct SubflowState {
    /// The planned subflow.
    pub planned: Subflow,
    /// Its source port, once it exists.
    pub source_port: Option<u16>,
    /// The nodes of its path; empty if the tables lead nowhere, or while the subflow does not
    /// exist.
    pub path: Vec<u32>,
    /// Whether an event has reported its path.
    pub is_told: bool,
    /// Bytes that have arrived so far.
    bytes: u64,
    reported: u64,
}

impl SubflowState {
    fn new(planned: Subflow) -> SubflowState {
        SubflowState {
            planned,
            source_port: None,
            path: Vec::new(),
            is_told: false,
            bytes: 0,
            reported: 0,
        }
    }

    /// Bytes that have arrived so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The subflows of a flow, if it is MPTCP.
fn planned_subflows(network: &Network, field: &str, flow: &FlowJson) -> Result<Vec<Subflow>> {
    if flow.proto != Transport::Mptcp {
        return Ok(Vec::new());
    }
    if flow.rate_bits_per_sec.is_some() {
        let fix = "leave rate_bits_per_sec out, or send by tcp";
        let limit = "a flow without a rate: MPTCP paces no connection";
        return Err(FabricError::bad(field, "mptcp", limit, fix));
    }
    let routing = network.routing.as_ref();
    let planned = routing.and_then(|routing| routing.subflows(flow.id, [flow.source, flow.destination]));
    planned.ok_or_else(|| {
        let limit = "tcp or udp in a network without subflows";
        FabricError::bad(
            field,
            "mptcp",
            limit,
            "give network.subflows where switches are routers",
        )
    })
}

fn messages(orders: &[FlowOrder]) -> Vec<ToNode> {
    let lists = split_orders(orders).into_iter();
    lists.map(|flows| ToNode::Workload { flows }).collect()
}

/// Returns the counter. If it decreased, the node was restarted and counts from zero, so the
/// reported value is reset.
fn restarted(reported: &mut u64, now: u64) -> u64 {
    if now < *reported {
        *reported = 0;
    }
    now
}
