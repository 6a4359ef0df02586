//! Predictions of emulations whose switches are routers: the path of each flow, and what it gets.

use std::collections::BTreeSet;

use cubeyard_dataplane::address::{port_ip, virtual_ip};
use cubeyard_dataplane::catalog;
use cubeyard_dataplane::switch_control::SwitchControl;
use cubeyard_plan::PlanError;
use cubeyard_routing::hash::{self, FiveTuple};
use cubeyard_routing::subflows::{PortAddresses, Subflow};
use cubeyard_routing::tables::Balance;
use cubeyard_sim::routed::{RoutedFlow, RoutedRun};
use cubeyard_sim::{Network, faults};
use cubeyard_topology::{Finding, NodeId, TopologySpec};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::emulation::read_slice;
use crate::engine_error;

/// The run whose flows are routed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoutedJson {
    #[serde(default)]
    slice: Value,
    #[serde(default)]
    faults: Value,
    seed: u64,
    balance: String,
    link_gbps: f64,
    protocol: u8,
    /// Where flows are MPTCP: the most subflows of each, 0 for as many as addresses make.
    #[serde(default)]
    subflows: Option<u32>,
    /// Where switches are chips: the protocol whose control writes their tables, by its name in the
    /// catalogue.
    #[serde(default)]
    chips: Option<String>,
    /// By number, source and destination.
    flows: Vec<(u32, NodeId, NodeId)>,
}

/// The path that each flow takes through an emulation's routers, and max-min fair rates over these
/// paths, as JSON: `{"paths": [[id]], "gbps": [rate]}`. A flow without a path has an empty one and
/// the rate 0.
///
/// `run_json`:
/// `{"slice", "faults", "seed", "balance": "ecmp" | "wcmp" | "lb" | "detour", "link_gbps", "protocol", "flows": [[number, source, destination]]}`;
/// with `"chips"` the switches are chips of that protocol, whose programs choose the path.
/// `protocol` is the IP protocol number, `link_gbps` the rate of the slowest link. With
/// `"subflows"` (a number, 0 for the default) flows are MPTCP and their subflows share links like
/// TCP flows. The result then has each flow's total rate, the path of its first subflow, and in
/// `"subflows"` a list of `{"ports": [port or null, port or null], "path", "gbps"}` for each flow.
#[pyfunction]
pub fn routed_flows(py: Python<'_>, spec_json: &str, run_json: &str) -> PyResult<String> {
    let found = py.detach(|| flows_of(spec_json, run_json));
    found
        .map(|document| document.to_string())
        .map_err(|error| engine_error(py, error.to_string(), &error.findings))
}

fn flows_of(spec_json: &str, run_json: &str) -> Result<Value, PlanError> {
    let refused = |findings: Vec<Finding>| PlanError { findings };
    let asked: RoutedJson = serde_json::from_str(run_json).map_err(|error| {
        let message = format!("This is no run of routers: {error}.");
        refused(vec![Finding::error(
            "not-a-run",
            "run",
            message,
            "Give what the binding names.",
        )])
    })?;
    let balance = Balance::named(&asked.balance).ok_or_else(|| {
        let message = format!("There is no balance {:?}.", asked.balance);
        refused(vec![Finding::error(
            "not-a-balance",
            "balance",
            message,
            "Give ecmp, wcmp, lb or detour.",
        )])
    })?;
    let network = Network::open(spec_json)?;
    let topology = network.topology();
    let part = match &asked.slice {
        Value::Null => topology.whole(),
        slice => topology.slice(&read_slice(&slice.to_string())?)?,
    };
    let faults = match &asked.faults {
        Value::Null => Vec::new(),
        faults => faults::from_json(&faults.to_string()).map_err(refused)?,
    };
    let run = RoutedRun {
        part: &part,
        damage: faults::apply(&faults, &network, asked.seed).map_err(refused)?,
        balance,
        seed: asked.seed,
        link_gbps: asked.link_gbps,
    };
    let is_server = |end: NodeId| topology.is_server(end);
    let are_servers =
        |&(_, source, destination): &(u32, NodeId, NodeId)| is_server(source) && is_server(destination);
    let known = asked.flows.iter().all(are_servers);
    let addresses = asked.subflows.map(|_| PortAddresses::of(topology));
    let flows: Option<Vec<Vec<RoutedFlow>>> = asked
        .flows
        .iter()
        .filter(|_| known)
        .map(|&(number, source, destination)| {
            let ends = [source, destination];
            match &addresses {
                None => flow_of(number, ends, asked.protocol).map(|flow| vec![flow]),
                Some(addresses) => {
                    let most = asked.subflows.filter(|most| *most > 0);
                    let planned = addresses.subflows(number, ends, most);
                    planned
                        .into_iter()
                        .map(|item| subflow_of(number, ends, item))
                        .collect()
                }
            }
        })
        .collect();
    let flows = flows.filter(|_| known).ok_or_else(|| {
        let message = "A flow has no ports, or an end of it is no server of this plan.";
        refused(vec![Finding::error(
            "no-such-flow",
            "flows",
            message,
            "Number flows from 0; name servers by id.",
        )])
    })?;
    let flat = flows.concat();
    let found = match &asked.chips {
        None => run.flows(&network, &flat).map_err(refused)?,
        Some(name) => {
            let mut control = control_of(name, topology.spec()).map_err(refused)?;
            let paths = |dead: &BTreeSet<(NodeId, NodeId)>| {
                control.on_failures(dead);
                let path = |flow: &RoutedFlow| control.path(flow.ends, flow.tuple.ports[0]);
                flat.iter().map(path).collect()
            };
            run.flows_by(&network, &flat, paths).map_err(refused)?
        }
    };
    if addresses.is_none() {
        return Ok(json!({"paths": found.paths, "gbps": found.gbps}));
    }
    let mut each = found.paths.iter().zip(found.gbps);
    let (mut paths, mut gbps, mut subflows) = (Vec::new(), Vec::new(), Vec::new());
    for planned in &flows {
        let of_flow: Vec<(&RoutedFlow, (&Vec<NodeId>, f64))> = planned.iter().zip(each.by_ref()).collect();
        let mut with_path = of_flow
            .iter()
            .map(|(_, (path, _))| *path)
            .filter(|path| !path.is_empty());
        paths.push(with_path.next().cloned().unwrap_or_default());
        gbps.push(of_flow.iter().map(|(_, (_, gbps))| gbps).sum::<f64>());
        let document = |(flow, (path, gbps)): &(&RoutedFlow, (&Vec<NodeId>, f64))| json!({"ports": flow.by_port, "path": path, "gbps": gbps});
        subflows.push(of_flow.iter().map(document).collect::<Vec<Value>>());
    }
    Ok(json!({"paths": paths, "gbps": gbps, "subflows": subflows}))
}

/// The control of the chips that a network's switches are.
fn control_of(protocol: &str, spec: &TopologySpec) -> Result<Box<dyn SwitchControl>, Vec<Finding>> {
    let chips = catalog::protocol(protocol).and_then(|entry| entry.chips);
    let chips = chips.ok_or_else(|| {
        let message = format!("There is no protocol {protocol:?} whose switches are chips.");
        vec![Finding::error(
            "no-chips",
            "chips",
            message,
            "Take it from the emulation's profile.",
        )]
    })?;
    (chips.control)(spec).map_err(|error| {
        let message = format!("{} is {}, but must be {}.", error.field, error.value, error.limit);
        vec![Finding::error("no-chips", error.field, message, error.fix)]
    })
}

/// A subflow of the connection of this number.
fn subflow_of(number: u32, ends: [NodeId; 2], planned: Subflow) -> Option<RoutedFlow> {
    let address = |end: usize| match planned.by_port[end] {
        Some(port) => port_ip(ends[end], port),
        None => virtual_ip(ends[end]),
    };
    let tuple = FiveTuple {
        addresses: [address(0)?.octets(), address(1)?.octets()],
        protocol: 6,
        ports: [planned.source_port?, hash::port(number)?],
    };
    Some(RoutedFlow {
        ends,
        tuple,
        by_port: planned.by_port,
    })
}

/// The flow as its source sends it: from the port that its number gives.
fn flow_of(number: u32, ends: [NodeId; 2], protocol: u8) -> Option<RoutedFlow> {
    let [source, destination] = ends.map(virtual_ip);
    let tuple = FiveTuple {
        addresses: [source?.octets(), destination?.octets()],
        protocol,
        ports: [hash::source_port(number)?, hash::port(number)?],
    };
    Some(RoutedFlow {
        ends,
        tuple,
        by_port: [None; 2],
    })
}
