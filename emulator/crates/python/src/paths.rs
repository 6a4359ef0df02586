//! Paths between two servers of a plan, given by name.

use cubeyard_plan::PlanError;
use cubeyard_sim::Network;
use cubeyard_sim::between::{self, Between};
use pyo3::prelude::*;

use crate::engine_error;

/// The most paths of two servers that share no device, of the least total length, without the
/// servers, switches, racks and links (`a/b`) in `without`, as JSON:
/// `{source, destination, without, reason, paths: [{links, devices}]}`, the shortest first.
/// `reason` is null, or `source-failed`, `destination-failed` or `no-path`. Raises EngineError.
#[pyfunction]
pub fn paths_between(
    py: Python<'_>,
    spec_json: &str,
    source: String,
    destination: String,
    without: Vec<String>,
) -> PyResult<String> {
    let asked = Between {
        source,
        destination,
        without,
    };
    let found = py.detach(|| {
        let network = Network::open(spec_json)?;
        between::paths_between(&network, &asked).map_err(|findings| PlanError { findings })
    });
    found
        .map(|document| document.to_string())
        .map_err(|error| engine_error(py, error.to_string(), &error.findings))
}
