//! Workloads as they are written in an experiment, and the flows they stand for.
//!
//! Every field but `kind` may be left out; what is then taken is said at the field. A server is named as on the
//! plan. Sources and destinations of one flow are always different servers.

use std::collections::BTreeSet;

use cubeyard_routing::random::Draws;
use cubeyard_topology::{Finding, NodeId};
use serde::de::{Error as _, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::flows::{Flows, Pattern};
use crate::network::Network;

/// The largest number of flows that one prediction takes: counters are 32 bits wide.
pub const MAX_FLOWS: u64 = 2_000_000_000;

/// Pairs that are listed one by one, rather than computed from their index.
pub const MAX_LISTED_FLOWS: u64 = 50_000_000;

/// Who sends to whom. In JSON an object with `kind`, or the kind alone as a string.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// Every server to every other. `[bcube §3.6]`
    AllToAll,
    /// One flow.
    OneToOne {
        /// The sender; the first server.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// The receiver; the last server.
        #[serde(skip_serializing_if = "Option::is_none")]
        destination: Option<String>,
    },
    /// One server to a few. `[bcube §3.4]`
    OneToSeveral {
        /// The sender; the first server.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// The receivers; else `count` of them are drawn.
        #[serde(skip_serializing_if = "Option::is_none")]
        destinations: Option<Vec<String>>,
        /// How many receivers to draw; 3, as replicas of a chunk.
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// One server to every other. `[bcube §3.5]`
    OneToAll {
        /// The sender; the first server.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
    /// Every server to one other and from one other, in a random cyclic order.
    Permutation,
    /// Independent uniform pairs.
    RandomPairs {
        /// How many; as many as there are servers.
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// Many servers to one.
    Incast {
        /// The receiver; the first server.
        #[serde(skip_serializing_if = "Option::is_none")]
        destination: Option<String>,
        /// The senders; else `count` of them are drawn.
        #[serde(skip_serializing_if = "Option::is_none")]
        sources: Option<Vec<String>>,
        /// How many senders to draw; all others.
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// Every one of the chosen servers to every other one of them; all servers when none are chosen.
    Shuffle {
        /// Chosen by name.
        #[serde(skip_serializing_if = "Option::is_none")]
        servers: Option<Vec<String>>,
        /// Chosen by the rack they stand in.
        #[serde(skip_serializing_if = "Option::is_none")]
        racks: Option<Vec<String>>,
    },
    /// Every server of the hot racks to every server outside them.
    HotRacks {
        /// The hot racks; else `count` of them are drawn.
        #[serde(skip_serializing_if = "Option::is_none")]
        racks: Option<Vec<String>>,
        /// How many racks to draw; 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// A traffic matrix: a flow for every entry above zero; the entry is its weight.
    Matrix {
        /// What the rows and columns stand for; the first servers of the plan.
        #[serde(skip_serializing_if = "Option::is_none")]
        servers: Option<Vec<String>>,
        /// A square matrix, sender by row.
        #[serde(skip_serializing_if = "Option::is_none")]
        rows: Option<Vec<Vec<f64>>>,
        /// Or its entries: sender, receiver, weight.
        #[serde(skip_serializing_if = "Option::is_none")]
        entries: Option<Vec<(String, String, f64)>>,
    },
}

/// The kinds of workload, as `kind` and `--workload` take them.
pub const KINDS: [&str; 10] = [
    "all-to-all",
    "one-to-one",
    "one-to-several",
    "one-to-all",
    "permutation",
    "random-pairs",
    "incast",
    "shuffle",
    "hot-racks",
    "matrix",
];

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Fields {
    AllToAll {},
    OneToOne {
        source: Option<String>,
        destination: Option<String>,
    },
    OneToSeveral {
        source: Option<String>,
        destinations: Option<Vec<String>>,
        count: Option<u64>,
    },
    OneToAll {
        source: Option<String>,
    },
    Permutation {},
    RandomPairs {
        count: Option<u64>,
    },
    Incast {
        destination: Option<String>,
        sources: Option<Vec<String>>,
        count: Option<u64>,
    },
    Shuffle {
        servers: Option<Vec<String>>,
        racks: Option<Vec<String>>,
    },
    HotRacks {
        racks: Option<Vec<String>>,
        count: Option<u64>,
    },
    Matrix {
        servers: Option<Vec<String>>,
        rows: Option<Vec<Vec<f64>>>,
        entries: Option<Vec<(String, String, f64)>>,
    },
}

impl<'de> Deserialize<'de> for Workload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match Value::deserialize(deserializer)? {
            Value::String(kind) => serde_json::json!({ "kind": kind }),
            other => other,
        };
        let fields = Fields::deserialize(value.into_deserializer()).map_err(D::Error::custom)?;
        Ok(match fields {
            Fields::AllToAll {} => Workload::AllToAll,
            Fields::OneToOne { source, destination } => Workload::OneToOne { source, destination },
            Fields::OneToSeveral {
                source,
                destinations,
                count,
            } => Workload::OneToSeveral {
                source,
                destinations,
                count,
            },
            Fields::OneToAll { source } => Workload::OneToAll { source },
            Fields::Permutation {} => Workload::Permutation,
            Fields::RandomPairs { count } => Workload::RandomPairs { count },
            Fields::Incast {
                destination,
                sources,
                count,
            } => Workload::Incast {
                destination,
                sources,
                count,
            },
            Fields::Shuffle { servers, racks } => Workload::Shuffle { servers, racks },
            Fields::HotRacks { racks, count } => Workload::HotRacks { racks, count },
            Fields::Matrix {
                servers,
                rows,
                entries,
            } => Workload::Matrix {
                servers,
                rows,
                entries,
            },
        })
    }
}

/// The flows of a workload, with their weights where it gives any.
#[derive(Clone, Debug)]
pub struct Demand {
    /// Who sends to whom.
    pub flows: Flows,
    /// The weight of every flow; `None` when all are alike.
    pub weights: Option<Vec<f64>>,
}

impl Workload {
    /// The workload's kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Workload::AllToAll => "all-to-all",
            Workload::OneToOne { .. } => "one-to-one",
            Workload::OneToSeveral { .. } => "one-to-several",
            Workload::OneToAll { .. } => "one-to-all",
            Workload::Permutation => "permutation",
            Workload::RandomPairs { .. } => "random-pairs",
            Workload::Incast { .. } => "incast",
            Workload::Shuffle { .. } => "shuffle",
            Workload::HotRacks { .. } => "hot-racks",
            Workload::Matrix { .. } => "matrix",
        }
    }

    /// The flows on a network; what is drawn is drawn from `seed`.
    ///
    /// # Errors
    /// A finding for each field that names what is not there or breaks a limit.
    pub fn demand(&self, network: &Network, seed: u64) -> Result<Demand, Vec<Finding>> {
        let servers = network.topology().server_count();
        let all = || (0..servers).collect::<Vec<NodeId>>();
        let plain = |flows| Ok(Demand { flows, weights: None });
        let demand = match self {
            Workload::AllToAll => plain(Flows::new(all(), Pattern::AllToAll)),
            Workload::Permutation => plain(Flows::new(all(), Pattern::Permutation { seed })),
            Workload::RandomPairs { count } => plain(Flows::new(
                all(),
                Pattern::RandomPairs {
                    count: count.unwrap_or(u64::from(servers)),
                    seed,
                },
            )),
            Workload::OneToOne { source, destination } => {
                let from = one_server(network, "workload.source", source.as_deref(), 0)?;
                let to = one_server(
                    network,
                    "workload.destination",
                    destination.as_deref(),
                    servers - 1,
                )?;
                plain(listed(vec![(from, to)]))
            }
            Workload::OneToAll { source } => {
                let from = one_server(network, "workload.source", source.as_deref(), 0)?;
                plain(listed(all().into_iter().map(|to| (from, to)).collect()))
            }
            Workload::OneToSeveral {
                source,
                destinations,
                count,
            } => {
                let from = one_server(network, "workload.source", source.as_deref(), 0)?;
                let to = some_servers(
                    network,
                    "workload.destinations",
                    destinations.as_deref(),
                    from,
                    count.unwrap_or(3),
                    seed,
                )?;
                plain(listed(to.into_iter().map(|to| (from, to)).collect()))
            }
            Workload::Incast {
                destination,
                sources,
                count,
            } => {
                let to = one_server(network, "workload.destination", destination.as_deref(), 0)?;
                let from = some_servers(
                    network,
                    "workload.sources",
                    sources.as_deref(),
                    to,
                    count.unwrap_or(u64::MAX),
                    seed,
                )?;
                plain(listed(from.into_iter().map(|from| (from, to)).collect()))
            }
            Workload::Shuffle { servers, racks } => {
                let mut chosen = BTreeSet::new();
                if let Some(names) = servers {
                    chosen.extend(named_servers(network, "workload.servers", names)?);
                }
                if let Some(names) = racks {
                    chosen.extend(rack_servers(network, "workload.racks", names)?);
                }
                let members = if servers.is_none() && racks.is_none() {
                    all()
                } else {
                    chosen.into_iter().collect()
                };
                plain(Flows::new(members, Pattern::AllToAll))
            }
            Workload::HotRacks { racks, count } => {
                let names = match racks {
                    Some(names) => names.clone(),
                    None => drawn_racks(network, count.unwrap_or(1), seed),
                };
                let hot: BTreeSet<NodeId> = rack_servers(network, "workload.racks", &names)?
                    .into_iter()
                    .collect();
                let to = all().into_iter().filter(|server| !hot.contains(server)).collect();
                plain(Flows::new(
                    Vec::new(),
                    Pattern::Shuffle {
                        from: hot.into_iter().collect(),
                        to,
                    },
                ))
            }
            Workload::Matrix {
                servers,
                rows,
                entries,
            } => matrix(network, servers.as_deref(), rows.as_deref(), entries.as_deref()),
        }?;
        match demand.flows.len() {
            flows if flows > MAX_FLOWS => Err(vec![
                Finding::error(
                    "too-many-flows",
                    "workload.kind",
                    format!(
                        "{} among {servers} servers is {flows} flows; the limit is {MAX_FLOWS}.",
                        self.kind()
                    ),
                    "Take random-pairs with a count, or a shuffle among some of the servers.",
                )
                .with_value(flows)
                .with_limit(MAX_FLOWS),
            ]),
            _ => Ok(demand),
        }
    }
}

fn listed(pairs: Vec<(NodeId, NodeId)>) -> Flows {
    let pairs = pairs.into_iter().filter(|(from, to)| from != to).collect();
    Flows::new(Vec::new(), Pattern::Listed(pairs))
}

/// The node with this name, or the finding that there is none.
pub(crate) fn server_named(network: &Network, field: &str, name: &str) -> Result<NodeId, Vec<Finding>> {
    let topology = network.topology();
    topology
        .node_by_name(name)
        .filter(|&node| topology.is_server(node))
        .ok_or_else(|| {
            vec![
                Finding::error(
                    "no-such-server",
                    field,
                    format!("There is no server {name} in this plan."),
                    format!(
                        "Servers are named like {} and {}.",
                        topology.node_name(0),
                        topology.node_name(topology.server_count() - 1)
                    ),
                )
                .with_value(name),
            ]
        })
}

fn one_server(
    network: &Network,
    field: &str,
    name: Option<&str>,
    default: NodeId,
) -> Result<NodeId, Vec<Finding>> {
    name.map_or(Ok(default), |name| server_named(network, field, name))
}

fn named_servers(network: &Network, field: &str, names: &[String]) -> Result<Vec<NodeId>, Vec<Finding>> {
    let mut found = Vec::with_capacity(names.len());
    let mut findings = Vec::new();
    for name in names {
        match server_named(network, field, name) {
            Ok(server) => found.push(server),
            Err(more) => findings.extend(more),
        }
    }
    if findings.is_empty() {
        Ok(found)
    } else {
        Err(findings)
    }
}

/// The servers of racks, by the racks' names.
pub(crate) fn rack_servers(
    network: &Network,
    field: &str,
    names: &[String],
) -> Result<Vec<NodeId>, Vec<Finding>> {
    let mut found = Vec::new();
    for name in names {
        let Some(rack) = network.rack(name) else {
            return Err(vec![no_rack(network, field, name)]);
        };
        found.extend(network.servers_of(rack));
    }
    Ok(found)
}

/// The finding that no rack has this name.
pub(crate) fn no_rack(network: &Network, field: &str, name: &str) -> Finding {
    let racks = network.racks();
    let hint = match (racks.first(), racks.last()) {
        (Some(first), Some(last)) => format!("Racks are named {} to {}.", first.name, last.name),
        _ => "This plan has no racks.".to_owned(),
    };
    Finding::error(
        "no-such-rack",
        field,
        format!("There is no rack {name} in this plan."),
        hint,
    )
    .with_value(name)
}

fn some_servers(
    network: &Network,
    field: &str,
    names: Option<&[String]>,
    other: NodeId,
    count: u64,
    seed: u64,
) -> Result<Vec<NodeId>, Vec<Finding>> {
    if let Some(names) = names {
        return named_servers(network, field, names);
    }
    let mut others: Vec<NodeId> = (0..network.topology().server_count())
        .filter(|&server| server != other)
        .collect();
    if count < others.len() as u64 {
        Draws::new(seed).shuffle(&mut others);
        others.truncate(count as usize);
        others.sort_unstable();
    }
    Ok(others)
}

fn drawn_racks(network: &Network, count: u64, seed: u64) -> Vec<String> {
    let mut with_servers: Vec<&str> = network
        .racks()
        .iter()
        .filter(|rack| network.servers_of(rack).next().is_some())
        .map(|rack| rack.name.as_str())
        .collect();
    Draws::new(seed).shuffle(&mut with_servers);
    with_servers.truncate(usize::try_from(count).unwrap_or(usize::MAX));
    with_servers.sort_unstable();
    with_servers.into_iter().map(str::to_owned).collect()
}

fn matrix(
    network: &Network,
    servers: Option<&[String]>,
    rows: Option<&[Vec<f64>]>,
    entries: Option<&[(String, String, f64)]>,
) -> Result<Demand, Vec<Finding>> {
    let mut pairs = Vec::new();
    let mut weights = Vec::new();
    let mut enter = |from: NodeId, to: NodeId, weight: f64, field: String| {
        if !(weight.is_finite() && weight >= 0.0) {
            return Err(vec![
                Finding::error(
                    "matrix-weight",
                    field,
                    format!("A weight of {weight} is not possible: weights are 0 or more."),
                    "Put 0 where nothing is sent.",
                )
                .with_value(weight.to_string())
                .with_limit(0),
            ]);
        }
        if weight > 0.0 && from != to {
            pairs.push((from, to));
            weights.push(weight);
        }
        Ok(())
    };
    if let Some(rows) = rows {
        let names = match servers {
            Some(names) => named_servers(network, "workload.servers", names)?,
            None => (0..network.topology().server_count()).take(rows.len()).collect(),
        };
        let size = names.len();
        let ragged = rows.iter().position(|row| row.len() != size);
        if rows.len() != size || ragged.is_some() {
            let (what, found) = match ragged {
                Some(row) => (format!("Row {row}"), rows[row].len()),
                None => ("The matrix".to_owned(), rows.len()),
            };
            return Err(vec![
                Finding::error(
                    "matrix-shape",
                    "workload.rows",
                    format!("{what} has {found} entries; there are {size} servers to send to and from."),
                    "Give a square matrix with a row and a column for each server, or list `entries`.",
                )
                .with_value(found)
                .with_limit(size),
            ]);
        }
        for (i, row) in rows.iter().enumerate() {
            for (j, &weight) in row.iter().enumerate() {
                enter(names[i], names[j], weight, format!("workload.rows[{i}][{j}]"))?;
            }
        }
    }
    for (i, (from, to, weight)) in entries.unwrap_or_default().iter().enumerate() {
        let field = format!("workload.entries[{i}]");
        let from = server_named(network, &field, from)?;
        let to = server_named(network, &field, to)?;
        enter(from, to, *weight, field)?;
    }
    Ok(Demand {
        flows: Flows::new(Vec::new(), Pattern::Listed(pairs)),
        weights: Some(weights),
    })
}
