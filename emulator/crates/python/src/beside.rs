//! Models of experiments of any size, for figures that are measured with real packets.

#![allow(clippy::needless_pass_by_value, reason = "Python hands its arguments over")]

use cubeyard_plan::PlanError;
use cubeyard_sim::Network;
use cubeyard_sim::beside::{self, TorusQuestion};
use cubeyard_topology::Finding;
use pyo3::prelude::*;

use crate::engine_error;

/// Models of a torus's services of any size, as JSON: `{aggregation, joins, source, lookups}`,
/// those of them that `asked_json` has:
/// `{aggregation: {root, seeds}, joins: [{root, members}], source, lookups: {keys, exponent, lookups, seed}}`.
/// Raises EngineError.
#[pyfunction]
pub fn torus_services(py: Python<'_>, spec_json: &str, asked_json: &str) -> PyResult<String> {
    let found = py.detach(|| {
        let network = Network::open(spec_json)?;
        let asked: TorusQuestion = serde_json::from_str(asked_json).map_err(|error| PlanError {
            findings: vec![Finding::error(
                "beside",
                "asked",
                error.to_string(),
                "Give the fields that it names.",
            )],
        })?;
        beside::torus_services(&network, &asked).map_err(|findings| PlanError { findings })
    });
    found
        .map(|document| document.to_string())
        .map_err(|error| engine_error(py, error.to_string(), &error.findings))
}

/// The hops of every pair of a DCell's servers by DFR's tables, if these nodes and links have
/// failed: rows of sources, `None` if there is no path. Raises EngineError.
#[pyfunction]
pub fn dfr_hops(
    py: Python<'_>,
    spec_json: &str,
    nodes: Vec<u32>,
    links: Vec<u32>,
    group_level: usize,
    retries: u32,
) -> PyResult<Vec<Vec<Option<u32>>>> {
    let found = py.detach(|| {
        let network = Network::open(spec_json)?;
        beside::dfr_hops(&network, &nodes, &links, group_level, retries)
            .map_err(|findings| PlanError { findings })
    });
    found.map_err(|error| engine_error(py, error.to_string(), &error.findings))
}
