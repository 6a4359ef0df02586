//! Paths between two servers of a plan, given by name.

use cubeyard_plan::PlanError;
use cubeyard_sim::Network;
use cubeyard_sim::between::{self, Between};
use pyo3::prelude::*;

use crate::engine_error;

/// The parallel paths of two servers without the parts named in `without`, as JSON: see
/// `cubeyard_sim::between`.
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
