//! Requests and responses: clients ask servers, which answer as soon as a request has arrived.
//!
//! Flows come in pairs: the request, then its response. A client draws a server for each request. It sends requests at drawn
//! moments, as many a second as wanted on average, whatever is still unanswered; or one at a time, the next one when it has
//! thought about the last response. `[subways §8.7]` has clients of the first kind; what it leaves open is `[ours]`.
//!
//! Not here: what a latency is measured from (`crate::packet`).

use std::collections::BTreeSet;

use cubeyard_routing::random::{Draws, mix};
use cubeyard_topology::{Finding, NodeId};
use serde::{Deserialize, Serialize};

use super::demand::{Demand, Timetable, named_servers};
use crate::flows::{Flows, Pattern};
use crate::network::Network;

/// Requests of all clients together, at most.
pub const MAX_REQUESTS: u64 = 1_000_000;
/// Requests of a client when the workload does not say how many.
const DEFAULT_COUNT: u64 = 100;
/// Bytes of a request, and of a response, when the workload does not say how many.
const DEFAULT_BYTES: (u64, u64) = (100, 1_000);
/// Draws of servers and of times are apart.
const OF_SERVERS: u64 = 0x7365_7276;
const OF_TIMES: u64 = 0x7469_6d65;

/// What clients ask, as an experiment has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Who answers; the first server of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<String>>,
    /// Who asks; all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<Vec<String>>,
    /// Requests of each client; 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Payload of a request; 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_bytes: Option<u64>,
    /// Payload of a response; 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_bytes: Option<u64>,
    /// Requests of each client a second, on average, at drawn moments. When left out, a client waits for each response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_sec: Option<f64>,
    /// Seconds from a response to the client's next request, without a rate; 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_secs: Option<f64>,
    /// The latency that should not be exceeded, in seconds: the share of requests that keep it is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_bound_secs: Option<f64>,
}

/// The order in which flows are sent: flow `2 i` is a request, flow `2 i + 1` its response.
#[derive(Clone, Debug)]
pub struct Exchanges {
    /// The flow after whose end each flow starts, and the seconds between; `None` for those that start by the timetable.
    pub after: Vec<Option<(u64, f64)>>,
    /// The latency that should not be exceeded, in seconds.
    pub bound_secs: Option<f64>,
}

impl Requests {
    /// The flows on a network.
    ///
    /// # Errors
    /// A finding for a name that is not there, and for a number out of its limits.
    pub(super) fn demand(&self, network: &Network, seed: u64) -> Result<Demand, Vec<Finding>> {
        self.check()?;
        let count = self.count.unwrap_or(DEFAULT_COUNT);
        let servers = match &self.servers {
            Some(names) => named_servers(network, "workload.servers", names)?,
            None => vec![0],
        };
        let clients = match &self.clients {
            Some(names) => named_servers(network, "workload.clients", names)?,
            None => {
                let answering: BTreeSet<NodeId> = servers.iter().copied().collect();
                let all = 0..network.topology().server_count();
                all.filter(|server| !answering.contains(server)).collect()
            }
        };
        let requests = count.saturating_mul(clients.len() as u64);
        if requests > MAX_REQUESTS {
            let message = format!(
                "{} clients with {count} requests each are {requests} requests; the limit is {MAX_REQUESTS}.",
                clients.len()
            );
            return Err(refused(
                "workload.count",
                message,
                requests,
                MAX_REQUESTS.to_string(),
            ));
        }
        let mut demand = Pairs::new(self, requests as usize);
        for (client, &from) in clients.iter().enumerate() {
            let others: Vec<NodeId> = servers.iter().copied().filter(|&server| server != from).collect();
            if others.is_empty() {
                let message = format!(
                    "Client {} has no server to ask but itself.",
                    network.topology().node_name(from)
                );
                return Err(refused(
                    "workload.servers",
                    message,
                    servers.len(),
                    "another server".to_owned(),
                ));
            }
            demand.add_client(from, &others, count, mix(seed ^ mix(client as u64)));
        }
        Ok(demand.whole())
    }

    fn check(&self) -> Result<(), Vec<Finding>> {
        let numbers = [
            (
                "count",
                self.count.map(|count| count as f64),
                1.0,
                MAX_REQUESTS as f64,
            ),
            (
                "request_bytes",
                self.request_bytes.map(|bytes| bytes as f64),
                1.0,
                1e12,
            ),
            (
                "response_bytes",
                self.response_bytes.map(|bytes| bytes as f64),
                1.0,
                1e12,
            ),
            ("rate_per_sec", self.rate_per_sec, 1e-3, 1e9),
            ("think_secs", self.think_secs, 0.0, 1e6),
            ("latency_bound_secs", self.latency_bound_secs, 1e-9, 1e6),
        ];
        for (name, value, least, most) in numbers {
            if let Some(value) = value.filter(|value| !(least..=most).contains(value)) {
                let message = format!("{name} is {value}; it must be {least} to {most}.");
                return Err(refused(
                    &format!("workload.{name}"),
                    message,
                    value,
                    format!("{least} to {most}"),
                ));
            }
        }
        if let (Some(_), Some(think)) = (self.rate_per_sec, self.think_secs) {
            let message =
                "think_secs says nothing beside rate_per_sec: requests do not wait for responses.".to_owned();
            return Err(refused(
                "workload.think_secs",
                message,
                think,
                "one of the two".to_owned(),
            ));
        }
        Ok(())
    }
}

fn refused(field: &str, message: String, value: impl Into<serde_json::Value>, limit: String) -> Vec<Finding> {
    let hint = "Change it, or leave it out for its default.";
    vec![
        Finding::error("requests", field, message, hint)
            .with_value(value)
            .with_limit(limit),
    ]
}

/// The flows, as far as they are known.
struct Pairs<'a> {
    asked: &'a Requests,
    bytes: (u64, u64),
    pairs: Vec<(NodeId, NodeId)>,
    table: Timetable,
    after: Vec<Option<(u64, f64)>>,
}

impl Pairs<'_> {
    fn new(asked: &Requests, requests: usize) -> Pairs<'_> {
        Pairs {
            asked,
            bytes: (
                asked.request_bytes.unwrap_or(DEFAULT_BYTES.0),
                asked.response_bytes.unwrap_or(DEFAULT_BYTES.1),
            ),
            pairs: Vec::with_capacity(2 * requests),
            table: Timetable {
                bytes: Vec::with_capacity(2 * requests),
                starts_secs: Vec::with_capacity(2 * requests),
            },
            after: Vec::with_capacity(2 * requests),
        }
    }

    fn add_client(&mut self, client: NodeId, servers: &[NodeId], count: u64, seed: u64) {
        let mut time = 0.0;
        for request in 0..count {
            let server = servers[Draws::of(seed ^ OF_SERVERS, request).below(servers.len() as u32) as usize];
            let flow = self.pairs.len() as u64;
            let after = match self.asked.rate_per_sec {
                Some(rate) => {
                    time -= (1.0 - Draws::of(seed ^ OF_TIMES, request).unit()).ln() / rate;
                    None
                }
                None if request == 0 => None,
                None => Some((flow - 1, self.asked.think_secs.unwrap_or(0.0))),
            };
            self.add((client, server), self.bytes.0, time, after);
            self.add((server, client), self.bytes.1, 0.0, Some((flow, 0.0)));
        }
    }

    fn add(&mut self, pair: (NodeId, NodeId), bytes: u64, start_secs: f64, after: Option<(u64, f64)>) {
        self.pairs.push(pair);
        self.table.bytes.push(bytes);
        self.table.starts_secs.push(start_secs);
        self.after.push(after);
    }

    fn whole(self) -> Demand {
        Demand {
            flows: Flows::new(Vec::new(), Pattern::Listed(self.pairs)),
            weights: None,
            timetable: Some(self.table),
            exchanges: Some(Exchanges {
                after: self.after,
                bound_secs: self.asked.latency_bound_secs,
            }),
        }
    }
}
