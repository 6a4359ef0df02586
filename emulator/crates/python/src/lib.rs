//! The Python module `cubeyard_engine`: few, coarse calls; JSON documents and NumPy columns out.
//!
//! Inside: topologies (`topology`), plans (`plan`), paths by name (`paths`), predictions and
//! figures (`predict`), searches (`search`), lives of containers (`life`), data about an emulation
//! before it runs (`emulation`), services that users write (`services`), and programs of the
//! switching chip (`chip`). Every call that computes releases the GIL. Errors in an input raise one
//! exception, `EngineError`, whose `findings_json` lists what to change.
//!
//! Not here: any computation. The other crates compute the results; this one converts and reports
//! them.

mod beside;
mod chip;
mod emulation;
mod life;
mod paths;
mod plan;
mod predict;
mod routed;
mod search;
mod services;
mod topology;

use cubeyard_plan::summary::{ENGINE_VERSION, findings_json};
use cubeyard_topology::Finding;
use cubeyard_topology::fault::Fault;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use serde_json::json;

create_exception!(
    cubeyard_engine,
    EngineError,
    PyValueError,
    "Nothing can be computed from this input; `findings_json` (str) says why and what to change."
);

create_exception!(
    cubeyard_engine,
    EngineCancelled,
    PyException,
    "The call was cancelled by its progress callback."
);

/// The findings as a Python exception.
fn engine_error(py: Python<'_>, message: String, findings: &[Finding]) -> PyErr {
    let error = EngineError::new_err(message);
    match error.value(py).setattr("findings_json", findings_json(findings)) {
        Ok(()) => error,
        Err(failed) => failed,
    }
}

/// Version of the engine, as in every summary.
#[pyfunction]
fn engine_version() -> &'static str {
    ENGINE_VERSION
}

/// Version and digest of the sources: only builds with the same text compute the same bytes.
#[pyfunction]
fn engine_build() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), "+", env!("CUBEYARD_SOURCES"))
}

/// The built-in price books as JSON texts, oldest first.
#[pyfunction]
fn builtin_books() -> Vec<&'static str> {
    cubeyard_plan::builtin_books()
}

/// The kinds of fault as JSON:
/// `[{name, title, target, parameters: [{name, title, unit, minimum, maximum, default}], effect, silent, predicted, carries, process, stands_for}]`.
#[pyfunction]
fn fault_kinds() -> String {
    cubeyard_topology::fault::catalog_json().to_string()
}

/// A fault in its text form, like `cable-pulled=00/<0,0>@3-6`, as JSON.
#[pyfunction]
fn fault_from_text(py: Python<'_>, text: &str) -> PyResult<String> {
    let fault: Result<Fault, String> = text.parse();
    fault.map(|fault| json!(fault).to_string()).map_err(|message| {
        let hint = "Write KIND=TARGET@FROM-UNTIL.";
        let finding = Finding::error("not-a-fault", "fault", message.clone(), hint);
        engine_error(py, message, &[finding])
    })
}

/// JSON schema (2020-12) of a plan spec.
#[pyfunction]
fn plan_schema_json(py: Python<'_>) -> String {
    py.detach(|| cubeyard_plan::schema::plan_schema().to_string())
}

#[pymodule]
mod cubeyard_engine {
    #[pymodule_export]
    use super::EngineCancelled;
    #[pymodule_export]
    use super::EngineError;
    #[pymodule_export]
    use super::beside::{dfr_hops, torus_services};
    #[pymodule_export]
    use super::builtin_books;
    #[pymodule_export]
    use super::chip::{
        ChipModel, chip_bcube, chip_check_servers, chip_diff, chip_portland, chip_program, chip_trace,
        chip_walk,
    };
    #[pymodule_export]
    use super::emulation::emulation_network;
    #[pymodule_export]
    use super::emulation::emulation_profile;
    #[pymodule_export]
    use super::engine_build;
    #[pymodule_export]
    use super::engine_version;
    #[pymodule_export]
    use super::fault_from_text;
    #[pymodule_export]
    use super::fault_kinds;
    #[pymodule_export]
    use super::life::{check_life, failure_rates, life};
    #[pymodule_export]
    use super::paths::paths_between;
    #[pymodule_export]
    use super::plan::{Plan, build_plan, check_book, diff_plans, estimate_json, lifecycle};
    #[pymodule_export]
    use super::plan_schema_json;
    #[pymodule_export]
    use super::predict::{
        engines_json, fault_targets, figure, figures_json, outline, predict, rates_over_paths,
        requests_answered, requests_of, routings_json, spanning_trees,
    };
    #[pymodule_export]
    use super::routed::routed_flows;
    #[pymodule_export]
    use super::search::{check_search, search, search_metrics};
    #[pymodule_export]
    use super::services::{
        built_in_trial, service_limits, service_module, service_process_trial, service_trial,
    };
    #[pymodule_export]
    use super::topology::{Topology, build_topology, families_json};
}
