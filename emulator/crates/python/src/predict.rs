//! Predictions and published figures: work in a thread of its own, watched from Python.
#![allow(clippy::needless_pass_by_value, reason = "Python hands its arguments over")]

use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use cubeyard_plan::PlanError;
use cubeyard_sim::{Experiment, Network, PredictError, Progress, delivery, faults, figures};
use pyo3::prelude::*;
use serde_json::json;

use crate::{EngineCancelled, engine_error};

/// How often whoever waits is told, and asked.
const TELL_EVERY: Duration = Duration::from_millis(50);

/// Runs `work` beside the interpreter. `on_progress(done, total)` is called at least every 50 ms while it runs, and
/// `on_partial(document)` whenever there is more to show; once the first returns `False` or either raises, and on a signal
/// such as Ctrl-C, the work is cancelled.
fn watched<F>(
    py: Python<'_>,
    on_progress: Option<&Py<PyAny>>,
    on_partial: Option<&Py<PyAny>>,
    work: F,
) -> PyResult<String>
where
    F: FnOnce(&Progress) -> Result<String, PredictError> + Send,
{
    let progress = Progress::default();
    let tell = |py: Python<'_>| -> PyResult<bool> {
        py.check_signals()?;
        if let (Some(callback), Some(document)) = (on_partial, progress.take_partial()) {
            callback.bind(py).call1((document,))?;
        }
        let Some(callback) = on_progress else {
            return Ok(true);
        };
        let done = progress.done.load(Ordering::Relaxed);
        let total = progress.total.load(Ordering::Relaxed);
        let answer = callback.bind(py).call1((done.min(total), total))?;
        // Only an answer of False stops: a callback need not answer.
        Ok(answer.is_none() || answer.is_truthy()?)
    };
    let (outcome, raised) = py.detach(|| {
        std::thread::scope(|scope| {
            let (send, receive) = channel();
            let progress = &progress;
            scope.spawn(move || send.send(work(progress)));
            let mut raised = None;
            loop {
                match receive.recv_timeout(TELL_EVERY) {
                    Ok(outcome) => return (Some(outcome), raised),
                    Err(RecvTimeoutError::Disconnected) => return (None, raised),
                    Err(RecvTimeoutError::Timeout) => {
                        if progress.cancelled.load(Ordering::Relaxed) {
                            continue;
                        }
                        match Python::attach(tell) {
                            Ok(true) => {}
                            Ok(false) => progress.cancelled.store(true, Ordering::Relaxed),
                            Err(error) => {
                                raised = Some(error);
                                progress.cancelled.store(true, Ordering::Relaxed);
                            }
                        }
                    }
                }
            }
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    match outcome {
        Some(Ok(document)) => Ok(document),
        Some(Err(PredictError::Findings(findings))) => {
            let error = PlanError { findings };
            Err(engine_error(py, error.to_string(), &error.findings))
        }
        Some(Err(PredictError::Cancelled)) | None => Err(EngineCancelled::new_err("cancelled")),
    }
}

/// What a plan carries under an experiment: the document, as JSON.
#[pyfunction]
#[pyo3(signature = (spec_json, experiment_json, on_progress=None))]
pub fn predict(
    py: Python<'_>,
    spec_json: &str,
    experiment_json: &str,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    watched(py, on_progress.as_ref(), None, |progress| {
        let network = Network::open(spec_json).map_err(|error| PredictError::Findings(error.findings))?;
        let experiment = Experiment::from_json(experiment_json)?;
        Ok(cubeyard_sim::predict(&network, &experiment, progress)?.to_string())
    })
}

/// What an experiment will ask of a plan, checked but not computed: the outline, as JSON.
#[pyfunction]
pub fn outline(py: Python<'_>, spec_json: &str, experiment_json: &str) -> PyResult<String> {
    let outlined = py.detach(|| {
        let network = Network::open(spec_json).map_err(|error| error.findings)?;
        cubeyard_sim::outline(&network, &Experiment::from_json(experiment_json)?)
    });
    outlined.map(|document| document.to_string()).map_err(|findings| {
        let error = PlanError { findings };
        engine_error(py, error.to_string(), &error.findings)
    })
}

/// What each fault strikes, as JSON: `[{"nodes": [id], "links": [id]}]`. What is drawn is drawn as in `predict`.
#[pyfunction]
pub fn fault_targets(py: Python<'_>, spec_json: &str, faults_json: &str, seed: u64) -> PyResult<String> {
    let struck = py.detach(|| {
        let network = Network::open(spec_json)?;
        let faults = faults::from_json(faults_json).map_err(|findings| PlanError { findings })?;
        let struck = faults::struck(&faults, &network, seed).map_err(|findings| PlanError { findings })?;
        let each: Vec<_> = struck
            .iter()
            .map(|failures| {
                let nodes: Vec<u32> = failures.nodes().iter().collect();
                let links: Vec<u32> = failures.links().iter().collect();
                json!({"nodes": nodes, "links": links})
            })
            .collect();
        Ok::<_, PlanError>(json!(each).to_string())
    });
    struck.map_err(|error| engine_error(py, error.to_string(), &error.findings))
}

/// A BCube's edge-disjoint spanning trees from a server, as JSON: a list of trees, each a list of `[parent, child]`.
#[pyfunction]
pub fn spanning_trees(py: Python<'_>, spec_json: &str, source: &str) -> PyResult<String> {
    let trees = py.detach(|| {
        let network = Network::open(spec_json)?;
        delivery::spanning_trees_of(&network, source).map_err(|findings| PlanError { findings })
    });
    trees
        .map(|document| document.to_string())
        .map_err(|error| engine_error(py, error.to_string(), &error.findings))
}

/// The routing schemes that serve a plan, its paper's own first: `[{name, summary}]`.
#[pyfunction]
pub fn routings_json(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    let read = py.detach(|| cubeyard_plan::read_spec(spec_json));
    match read {
        Ok(spec) => Ok(cubeyard_sim::scheme::routings_json(&spec.topology)),
        Err(error) => Err(engine_error(py, error.to_string(), &error.findings)),
    }
}

/// Ids, titles and sources of the published figures, as JSON.
#[pyfunction]
pub fn figures_json() -> String {
    figures::figures_json()
}

/// A published figure recomputed beside the paper's values, as JSON; what there is of it so far goes to `on_partial`.
#[pyfunction]
#[pyo3(signature = (figure_id, seeds=None, on_progress=None, on_partial=None))]
pub fn figure(
    py: Python<'_>,
    figure_id: &str,
    seeds: Option<u64>,
    on_progress: Option<Py<PyAny>>,
    on_partial: Option<Py<PyAny>>,
) -> PyResult<String> {
    watched(py, on_progress.as_ref(), on_partial.as_ref(), |progress| {
        Ok(figures::figure(figure_id, seeds, progress)?.to_string())
    })
}
