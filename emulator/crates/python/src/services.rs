//! Services that users write: whether a module can be one, and what it does in virtual time before
//! it runs on packets. Not here: the check and the trial, which are the sandbox's.
#![allow(clippy::needless_pass_by_value, reason = "Python hands its arguments over")]

use std::sync::atomic::Ordering;

use cubeyard_sandbox::trial::{GoesOn, Options, Report, run, run_built_in, run_process};
use cubeyard_sandbox::{Flaw, Module, limits};
use cubeyard_sim::PredictError;
use cubeyard_topology::Finding;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;

use crate::engine_error;
use crate::predict::{Callbacks, watched};

/// Servers of the largest torus that a trial takes: 20 x 20 x 20.
const MAX_TRIAL_SERVERS: u64 = 8000;
const MAX_TRIAL_SECS: f64 = 3600.0;
/// Steps of the progress of a trial.
const PARTS: u64 = 1000;

/// Limits of services that users write, as JSON:
/// `{"module_bytes", "services", "first_id", "last_id", "max_servers", "max_secs"}`, the last two
/// of a trial.
#[pyfunction]
pub fn service_limits() -> String {
    let limits = json!({
        "module_bytes": limits::MODULE_BYTES,
        "services": limits::SERVICES,
        "first_id": limits::FIRST_ID,
        "last_id": u16::MAX,
        "max_servers": MAX_TRIAL_SERVERS,
        "max_secs": MAX_TRIAL_SECS,
    });
    limits.to_string()
}

/// Converts a module to the binary format (from binary or text) and checks that it can be a
/// service. Raises EngineError with the errors, in the field `module`.
#[pyfunction]
pub fn service_module<'py>(py: Python<'py>, module: Vec<u8>) -> PyResult<Bound<'py, PyBytes>> {
    let checked = py.detach(|| {
        let binary = cubeyard_sandbox::binary(&module)?.into_owned();
        Module::new(&binary).map(|_| binary)
    });
    match checked {
        Ok(binary) => Ok(PyBytes::new(py, &binary)),
        Err(flaw) => Err(refused(py, "module", &flaw)),
    }
}

/// Runs a module on every server of a torus in virtual time; returns the report as JSON:
/// `{servers, secs, carried, delivered, hops: {hops: packets}, calls, fuel, lost: {reason: count}, counters, answers, said: [[second, server, text]], ended_early}`.
/// `options_json`: `{size: [x, y, z], secs, message, rate_bits_per_sec, seed}`; in `message`,
/// `{key}` is a key drawn for each server. `on_progress` is called with the elapsed thousandths of
/// that time, and with 1000 at the end. Raises EngineError, EngineCancelled.
#[pyfunction]
#[pyo3(signature = (module, options_json, on_progress=None))]
pub fn service_trial(
    py: Python<'_>,
    module: Vec<u8>,
    options_json: &str,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let options = read_options(py, options_json)?;
    trial(py, "module", on_progress.as_ref(), |goes_on| {
        Module::new(&module).and_then(|module| run(&module, &options, goes_on))
    })
}

/// The same as `service_trial` for a service that every server of a run hosts, by its name: it
/// takes no fuel, and its calls are not counted. Raises EngineError, EngineCancelled.
#[pyfunction]
#[pyo3(signature = (name, options_json, on_progress=None))]
pub fn built_in_trial(
    py: Python<'_>,
    name: &str,
    options_json: &str,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let options = read_options(py, options_json)?;
    trial(py, "service", on_progress.as_ref(), |goes_on| {
        run_built_in(name, &options, goes_on)
    })
}

/// Runs a trial in a separate thread while Python waits. Errors name `field`.
fn trial(
    py: Python<'_>,
    field: &str,
    on_progress: Option<&Py<PyAny>>,
    work: impl FnOnce(GoesOn<'_>) -> Result<Option<Report>, Flaw> + Send,
) -> PyResult<String> {
    let callbacks = Callbacks {
        progress: on_progress,
        ..Callbacks::default()
    };
    watched(py, callbacks, |progress, _| {
        progress.total.store(PARTS, Ordering::Relaxed);
        let report = work(&mut |share| {
            progress
                .done
                .store((share * PARTS as f64) as u64, Ordering::Relaxed);
            !progress.cancelled.load(Ordering::Relaxed)
        });
        match report {
            Ok(Some(report)) => Ok(json!(report).to_string()),
            Ok(None) => Err(PredictError::Cancelled),
            Err(flaw) => Err(PredictError::Findings(vec![finding(field, &flaw)])),
        }
    })
}

/// The same as `service_trial` for a service in a process. `answer` is called with each call to the
/// process and returns its answer; an exception in it ends the trial and is raised here. Raises
/// EngineError.
#[pyfunction]
pub fn service_process_trial(
    py: Python<'_>,
    answer: &Bound<'_, PyAny>,
    options_json: &str,
) -> PyResult<String> {
    let options = read_options(py, options_json)?;
    let mut raised = None;
    let report = run_process(
        |call| {
            let said = answer.call1((PyBytes::new(py, call),));
            let said = said.and_then(|said| said.extract::<Vec<u8>>());
            said.map(Some).map_err(|error| {
                raised = Some(error);
                Flaw {
                    code: "process-gone",
                    message: "The process is gone.".to_owned(),
                    fix: "Start it again.".to_owned(),
                }
            })
        },
        &options,
    );
    match (raised, report) {
        (Some(error), _) => Err(error),
        (None, Ok(report)) => Ok(json!(report).to_string()),
        (None, Err(flaw)) => Err(refused(py, "options", &flaw)),
    }
}

fn read_options(py: Python<'_>, options_json: &str) -> PyResult<Options> {
    let options: Options = serde_json::from_str(options_json).map_err(|error| {
        let flaw = Flaw {
            code: "not-options",
            message: format!("These are not the options of a trial: {error}."),
            fix: "Give size, secs, message, rate_bits_per_sec and seed.".to_owned(),
        };
        refused(py, "options", &flaw)
    })?;
    let servers: u64 = options.size.iter().map(|size| u64::from(*size)).product();
    let fits = (2..=MAX_TRIAL_SERVERS).contains(&servers) && options.size.iter().all(|size| *size <= 256);
    if fits
        && (0.0..=MAX_TRIAL_SECS).contains(&options.secs)
        && (1e3..=1e12).contains(&options.rate_bits_per_sec)
    {
        return Ok(options);
    }
    let flaw = Flaw {
        code: "trial-too-large",
        message: format!(
            "A trial of {servers} servers for {} s is not possible.",
            options.secs
        ),
        fix: format!(
            "Take 2 to {MAX_TRIAL_SERVERS} servers, at most {MAX_TRIAL_SECS} s, and a rate of 1e3 to 1e12 b/s."
        ),
    };
    Err(refused(py, "options", &flaw))
}

fn refused(py: Python<'_>, field: &str, flaw: &Flaw) -> PyErr {
    engine_error(py, flaw.to_string(), &[finding(field, flaw)])
}

fn finding(field: &str, flaw: &Flaw) -> Finding {
    Finding::error(flaw.code, field, flaw.message.clone(), flaw.fix.clone())
}
