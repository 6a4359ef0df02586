//! The flows of a workload in a network: names, racks and random draws become pairs of servers.

use std::collections::BTreeSet;

use cubeyard_routing::random::Draws;
use cubeyard_topology::{Finding, NodeId};

use super::{Exchanges, MAX_FLOWS, Workload};
use crate::flows::{Flows, Pattern};
use crate::network::Network;

/// The flows of a workload, with their weights where it gives any.
#[derive(Clone, Debug)]
pub struct Demand {
    /// Who sends to whom.
    pub flows: Flows,
    /// The weight of every flow; `None` when all are alike.
    pub weights: Option<Vec<f64>>,
    /// Size and start of every flow, if the workload sets them.
    pub timetable: Option<Timetable>,
    /// Which flows wait for others, if the workload sets it.
    pub exchanges: Option<Exchanges>,
}

/// Flows of a list, by their place in it.
#[derive(Clone, Debug)]
pub struct Timetable {
    /// Payload of each flow in bytes.
    pub bytes: Vec<u64>,
    /// Start of each flow in seconds.
    pub starts_secs: Vec<f64>,
}

impl Workload {
    /// The flows on a network; random choices are drawn from `seed`.
    ///
    /// # Errors
    ///
    /// A finding for each field that has an unknown name or is out of its limits.
    pub fn demand(&self, network: &Network, seed: u64) -> Result<Demand, Vec<Finding>> {
        let servers = network.topology().server_count();
        let all = || (0..servers).collect::<Vec<NodeId>>();
        let plain = |flows| {
            Ok(Demand {
                flows,
                weights: None,
                timetable: None,
                exchanges: None,
            })
        };
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
                other_server(network, "workload.destination", from, to)?;
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
                for &to in &to {
                    other_server(network, "workload.destinations", from, to)?;
                }
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
                for &from in &from {
                    other_server(network, "workload.sources", from, to)?;
                }
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
            Workload::Listed { flows } => timetable(network, flows),
            Workload::Requests(requests) => requests.demand(network, seed),
        }?;
        match demand.flows.len() {
            0 if servers > 1 => Err(vec![
                Finding::error(
                    "no-flows",
                    "workload",
                    format!("This {} workload has no flow in this plan.", self.kind()),
                    "Name at least one source and another server as its destination.",
                )
                .with_value(0)
                .with_limit(1),
            ]),
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

/// The finding that a flow goes from a server to itself.
fn other_server(network: &Network, field: &str, from: NodeId, to: NodeId) -> Result<(), Vec<Finding>> {
    if from != to {
        return Ok(());
    }
    let name = network.topology().node_name(from);
    Err(vec![
        Finding::error(
            "self-flow",
            field,
            format!("A flow goes from {name} to itself."),
            "Name two servers that differ.",
        )
        .with_value(name),
    ])
}

fn one_server(
    network: &Network,
    field: &str,
    name: Option<&str>,
    default: NodeId,
) -> Result<NodeId, Vec<Finding>> {
    name.map_or(Ok(default), |name| server_named(network, field, name))
}

pub(super) fn named_servers(
    network: &Network,
    field: &str,
    names: &[String],
) -> Result<Vec<NodeId>, Vec<Finding>> {
    let mut servers = Vec::with_capacity(names.len());
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for name in names {
        match server_named(network, field, name) {
            Ok(server) if !seen.insert(server) => findings.push(
                Finding::error(
                    "server-twice",
                    field,
                    format!("Server {name} is given twice."),
                    "Name each server once.",
                )
                .with_value(name.as_str()),
            ),
            Ok(server) => servers.push(server),
            Err(more) => findings.extend(more),
        }
    }
    if findings.is_empty() {
        Ok(servers)
    } else {
        Err(findings)
    }
}

/// The servers of racks, by the racks' names.
fn rack_servers(network: &Network, field: &str, names: &[String]) -> Result<Vec<NodeId>, Vec<Finding>> {
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
        if weight > 0.0 {
            other_server(network, &field, from, to)?;
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
        timetable: None,
        exchanges: None,
    })
}

/// The latest start of a listed flow, in seconds.
const LATEST_START_SECS: f64 = 1e6;

fn timetable(network: &Network, flows: &[(String, String, u64, f64)]) -> Result<Demand, Vec<Finding>> {
    let mut pairs = Vec::with_capacity(flows.len());
    let mut table = Timetable {
        bytes: Vec::with_capacity(flows.len()),
        starts_secs: Vec::with_capacity(flows.len()),
    };
    for (i, (from, to, bytes, start_secs)) in flows.iter().enumerate() {
        let field = format!("workload.flows[{i}]");
        let pair = (
            server_named(network, &field, from)?,
            server_named(network, &field, to)?,
        );
        other_server(network, &field, pair.0, pair.1)?;
        let wrong = if *bytes == 0 {
            Some(format!("Flow {i} has 0 bytes to send; it must have at least 1."))
        } else if !(0.0..=LATEST_START_SECS).contains(start_secs) {
            Some(format!(
                "Flow {i} starts at {start_secs} s; it must be 0 to {LATEST_START_SECS:e} s."
            ))
        } else {
            None
        };
        if let Some(message) = wrong {
            let hint = "Give source, destination, bytes and start_secs of each flow.";
            return Err(vec![Finding::error("listed-flow", field, message, hint)]);
        }
        pairs.push(pair);
        table.bytes.push(*bytes);
        table.starts_secs.push(*start_secs);
    }
    Ok(Demand {
        flows: Flows::new(Vec::new(), Pattern::Listed(pairs)),
        weights: None,
        timetable: Some(table),
        exchanges: None,
    })
}
