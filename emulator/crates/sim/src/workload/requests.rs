//! Requests and responses: clients ask servers, which answer as soon as a request has arrived.
//!
//! Flows come in pairs: the request, then its response. A client draws a server for each request.
//! It either sends requests at random moments, at a set average rate and regardless of unanswered
//! requests, or one at a time, each after a think time since the last response. `[subways §8.7]`
//! has clients of the first kind; choices that it leaves open are `[ours]`.
//!
//! Not here: the measurement of latencies (`crate::packet`).

use std::collections::BTreeSet;

use cubeyard_topology::asking::{asked_server, client_seed, pause_secs};
use cubeyard_topology::{Finding, NodeId};
use serde::{Deserialize, Serialize};

use super::demand::{Demand, Timetable, named_servers};
use crate::flows::{Flows, Pattern};
use crate::network::Network;

/// Requests of all clients together, at most.
pub const MAX_REQUESTS: u64 = 1_000_000;
/// The default number of requests per client.
const DEFAULT_COUNT: u64 = 100;
/// The default bytes of a request, and of a response.
const DEFAULT_BYTES: (u64, u64) = (100, 1_000);

/// The workload of clients and servers, as in an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// The servers that answer; by default the first server of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<String>>,
    /// The clients by name; by default all other servers.
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
    /// Requests of each client a second, on average, at drawn moments. When left out, a client
    /// waits for each response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_sec: Option<f64>,
    /// Seconds from a response to the client's next request, without a rate; 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_secs: Option<f64>,
    /// The target latency in seconds: the result includes the share of requests within it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_bound_secs: Option<f64>,
}

/// A client and its servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The server that is the client.
    pub server: NodeId,
    /// The servers from which it draws one for each request.
    pub asks: Vec<NodeId>,
    /// The seed of its draws (`cubeyard_topology::asking`).
    pub seed: u64,
}

/// The order in which flows are sent: flow `2 i` is a request, flow `2 i + 1` its response.
#[derive(Clone, Debug)]
pub struct Exchanges {
    /// For each flow, the flow after whose end it starts, and the delay in seconds; `None` if it
    /// starts by the timetable.
    pub after: Vec<Option<(u64, f64)>>,
    /// The latency that should not be exceeded, in seconds.
    pub bound_secs: Option<f64>,
}

impl Requests {
    /// The clients with their servers and seeds.
    ///
    /// # Errors
    ///
    /// A finding for an unknown name, and for a number out of its limits.
    pub fn clients(&self, network: &Network, seed: u64) -> Result<Vec<Client>, Vec<Finding>> {
        self.check()?;
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
        let of = |(place, server): (usize, NodeId)| {
            let asks: Vec<NodeId> = servers.iter().copied().filter(|&asked| asked != server).collect();
            if asks.is_empty() {
                let name = network.topology().node_name(server);
                let message = format!("Client {name} has no server to ask but itself.");
                let limit = "another server".to_owned();
                return Err(refused("workload.servers", message, servers.len(), limit));
            }
            let seed = client_seed(seed, place as u64);
            Ok(Client { server, asks, seed })
        };
        clients.into_iter().enumerate().map(of).collect()
    }

    /// Payloads of a request and of a response.
    pub fn bytes(&self) -> (u64, u64) {
        (
            self.request_bytes.unwrap_or(DEFAULT_BYTES.0),
            self.response_bytes.unwrap_or(DEFAULT_BYTES.1),
        )
    }

    /// The flows on a network.
    ///
    /// # Errors
    ///
    /// A finding for an unknown name, and for a number out of its limits.
    pub(super) fn demand(&self, network: &Network, seed: u64) -> Result<Demand, Vec<Finding>> {
        let clients = self.clients(network, seed)?;
        let count = self.count.unwrap_or(DEFAULT_COUNT);
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
        for client in &clients {
            demand.add_client(client, count);
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
                "think_secs has no effect with rate_per_sec: requests do not wait for responses.".to_owned();
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
            bytes: asked.bytes(),
            pairs: Vec::with_capacity(2 * requests),
            table: Timetable {
                bytes: Vec::with_capacity(2 * requests),
                starts_secs: Vec::with_capacity(2 * requests),
            },
            after: Vec::with_capacity(2 * requests),
        }
    }

    fn add_client(&mut self, client: &Client, count: u64) {
        let Client {
            server,
            ref asks,
            seed,
        } = *client;
        let client = server;
        let mut time = 0.0;
        for request in 0..count {
            let server = asks[asked_server(seed, request, asks.len() as u32) as usize];
            let flow = self.pairs.len() as u64;
            let after = match self.asked.rate_per_sec {
                Some(rate) => {
                    time += pause_secs(seed, request, rate);
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
