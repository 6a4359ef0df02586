//! Predictions of emulations whose switches are routers: the path of each flow, and what it gets.

use cubeyard_dataplane::address::virtual_ip;
use cubeyard_plan::PlanError;
use cubeyard_routing::hash::{self, FiveTuple};
use cubeyard_routing::tables::Balance;
use cubeyard_sim::routed::{RoutedFlow, RoutedRun};
use cubeyard_sim::{Network, faults};
use cubeyard_topology::{Finding, NodeId};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::emulation::read_slice;
use crate::engine_error;

/// What is asked.
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
    /// By number, source and destination.
    flows: Vec<(u32, NodeId, NodeId)>,
}

/// The path that each flow takes through an emulation's routers, and max-min fair rates over these paths, as JSON:
/// `{"paths": [[id]], "gbps": [rate]}`. A flow without a path has an empty one and the rate 0.
///
/// `run_json`: `{"slice", "faults", "seed", "balance": "ecmp" | "wcmp" | "lb" | "detour", "link_gbps", "protocol", "flows": [[number, source,
/// destination]]}`; `protocol` is IP's number, `link_gbps` the rate of the slowest link.
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
    let flows: Option<Vec<RoutedFlow>> = asked
        .flows
        .iter()
        .map(|&(number, source, destination)| flow_of(number, [source, destination], asked.protocol))
        .collect();
    let flows = flows
        .filter(|flows| {
            flows
                .iter()
                .all(|flow| flow.ends.iter().all(|&end| topology.is_server(end)))
        })
        .ok_or_else(|| {
            let message = "A flow has no ports, or an end of it is no server of this plan.";
            refused(vec![Finding::error(
                "no-such-flow",
                "flows",
                message,
                "Number flows from 0; name servers by id.",
            )])
        })?;
    let found = run.flows(&network, &flows).map_err(refused)?;
    Ok(json!({"paths": found.paths, "gbps": found.gbps}))
}

/// The flow as its source sends it: from the port that its number gives.
fn flow_of(number: u32, ends: [NodeId; 2], protocol: u8) -> Option<RoutedFlow> {
    let [source, destination] = ends.map(virtual_ip);
    let tuple = FiveTuple {
        addresses: [source?.octets(), destination?.octets()],
        protocol,
        ports: [hash::source_port(number)?, hash::port(number)?],
    };
    Some(RoutedFlow { ends, tuple })
}
