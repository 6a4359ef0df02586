//! Predictions and published figures: computed in a separate thread while Python waits.
#![allow(clippy::needless_pass_by_value, reason = "Python hands its arguments over")]

use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use cubeyard_plan::PlanError;
use cubeyard_sim::workload::Requests;
use cubeyard_sim::{
    Experiment, Network, PredictError, Progress, delivery, faults, figures, given_paths, packet,
};
use cubeyard_topology::Finding;
use pyo3::prelude::*;
use serde_json::json;

use crate::{EngineCancelled, engine_error};

/// How often the progress callback is called.
const TELL_EVERY: Duration = Duration::from_millis(50);

/// Messages from the working thread to the waiting one.
enum Message {
    Frame(String),
    Done(Result<String, PredictError>),
}

/// The callbacks that are called while Python waits.
#[derive(Clone, Copy, Default)]
pub(crate) struct Callbacks<'a> {
    /// Called with units of work done and in all, at least every 50 ms; `False` cancels.
    pub progress: Option<&'a Py<PyAny>>,
    /// Called with the newest partial document, if there is one.
    pub partial: Option<&'a Py<PyAny>>,
    /// Called with every frame, in order.
    pub frame: Option<&'a Py<PyAny>>,
}

impl Callbacks<'_> {
    /// Reports progress and the partial document; returns whether the work should continue.
    fn tell(self, py: Python<'_>, progress: &Progress) -> PyResult<bool> {
        py.check_signals()?;
        if let (Some(callback), Some(document)) = (self.partial, progress.take_partial()) {
            callback.bind(py).call1((document,))?;
        }
        let Some(callback) = self.progress else {
            return Ok(true);
        };
        let done = progress.done.load(Ordering::Relaxed);
        let total = progress.total.load(Ordering::Relaxed);
        let answer = callback.bind(py).call1((done.min(total), total))?;
        // Only an answer of False cancels: a callback need not answer.
        Ok(answer.is_none() || answer.is_truthy()?)
    }
}

/// Runs `work` in a separate thread. The work is cancelled if a callback raises, if the progress
/// callback returns `False`, or by a signal such as Ctrl-C.
pub(crate) fn watched<F>(py: Python<'_>, callbacks: Callbacks<'_>, work: F) -> PyResult<String>
where
    F: FnOnce(&Progress, &mut dyn FnMut(String)) -> Result<String, PredictError> + Send,
{
    let progress = Progress::default();
    let wants_frames = callbacks.frame.is_some();
    let (outcome, raised) = py.detach(|| {
        std::thread::scope(|scope| {
            let (send, receive) = channel();
            let progress = &progress;
            scope.spawn(move || {
                let frames = send.clone();
                let outcome = work(progress, &mut |frame| {
                    if wants_frames {
                        // The receiver lives until this thread has ended.
                        let _ = frames.send(Message::Frame(frame));
                    }
                });
                send.send(Message::Done(outcome))
            });
            let mut raised = None;
            loop {
                let message = receive.recv_timeout(TELL_EVERY);
                let answer = match message {
                    Ok(Message::Done(outcome)) => return (Some(outcome), raised),
                    Err(RecvTimeoutError::Disconnected) => return (None, raised),
                    _ if progress.cancelled.load(Ordering::Relaxed) => continue,
                    Ok(Message::Frame(frame)) => Python::attach(|py| {
                        if let Some(callback) = callbacks.frame {
                            callback.bind(py).call1((frame,))?;
                        }
                        // Frames that come fast must not keep progress and cancellation waiting.
                        callbacks.tell(py, progress)
                    }),
                    Err(RecvTimeoutError::Timeout) => Python::attach(|py| callbacks.tell(py, progress)),
                };
                match answer {
                    Ok(true) => {}
                    Ok(false) => progress.cancelled.store(true, Ordering::Relaxed),
                    Err(error) => {
                        raised = Some(error);
                        progress.cancelled.store(true, Ordering::Relaxed);
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

/// The engines that take an experiment, as JSON:
/// `[{name, method, summary, faults, settings, form}]`. `faults` are the kinds that it models,
/// `settings` is the experiment's field that only this engine takes (or null), and `form` describes
/// its content.
#[pyfunction]
pub fn engines_json() -> String {
    cubeyard_sim::engines_json().to_string()
}

/// The result of an experiment on a topology spec or plan spec, computed by the engine that the
/// experiment names, as JSON. `on_frame` gets each frame `{kind, ...}` of a long run, in order.
/// Raises EngineError, EngineCancelled.
#[pyfunction]
#[pyo3(signature = (spec_json, experiment_json, on_progress=None, on_frame=None))]
pub fn predict(
    py: Python<'_>,
    spec_json: &str,
    experiment_json: &str,
    on_progress: Option<Py<PyAny>>,
    on_frame: Option<Py<PyAny>>,
) -> PyResult<String> {
    let callbacks = Callbacks {
        progress: on_progress.as_ref(),
        frame: on_frame.as_ref(),
        partial: None,
    };
    watched(py, callbacks, |progress, frames| {
        let network = Network::open(spec_json).map_err(|error| PredictError::Findings(error.findings))?;
        let experiment = Experiment::from_json(experiment_json)?;
        let engine = experiment.engine.engine();
        let document = engine.run(&network, &experiment, progress, &mut |frame| {
            frames(frame.document().to_string());
        })?;
        Ok(document.to_string())
    })
}

/// The outline of an experiment's first seed, checked by its engine but not computed, as JSON:
/// `{routing, flows, failed: {servers, switches, links, degraded_links}, keeps_paths}`; of engine
/// `packet` also `simulation: {bytes, packets, packet_hops, memory_bytes}`. Raises EngineError with
/// the findings of `predict`.
#[pyfunction]
pub fn outline(py: Python<'_>, spec_json: &str, experiment_json: &str) -> PyResult<String> {
    let outlined = py.detach(|| {
        let network = Network::open(spec_json).map_err(|error| error.findings)?;
        let experiment = Experiment::from_json(experiment_json)?;
        experiment.engine.engine().outline(&network, &experiment)
    });
    outlined.map(|document| document.to_string()).map_err(|findings| {
        let error = PlanError { findings };
        engine_error(py, error.to_string(), &error.findings)
    })
}

/// The nodes and links that each fault affects, as JSON: `[{nodes: [id], links: [id]}]`. Random
/// targets are drawn as in `predict`. Raises EngineError.
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

/// A BCube's edge-disjoint spanning trees from a server, as JSON: a list of trees, each a list of
/// `[parent, child]`, by id. Raises EngineError.
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

/// The clients and servers in a workload of requests, as JSON:
/// `{clients: [{server: id, asks: [id], seed}], request_bytes, response_bytes}`, with defaults
/// filled in. Raises EngineError.
#[pyfunction]
pub fn requests_of(py: Python<'_>, spec_json: &str, workload_json: &str, seed: u64) -> PyResult<String> {
    let found = py.detach(|| {
        let network = Network::open(spec_json)?;
        let asked: Requests = serde_json::from_str(workload_json).map_err(|error| {
            let (message, fix) = (format!("These are no requests: {error}."), "Leave it out.");
            let findings = vec![Finding::error("not-requests", "workload", message, fix)];
            PlanError { findings }
        })?;
        let clients = asked
            .clients(&network, seed)
            .map_err(|findings| PlanError { findings })?;
        let clients: Vec<_> = clients
            .iter()
            .map(|client| json!({"server": client.server, "asks": client.asks, "seed": client.seed}))
            .collect();
        let (request_bytes, response_bytes) = asked.bytes();
        Ok::<_, PlanError>(json!({
            "clients": clients, "request_bytes": request_bytes, "response_bytes": response_bytes,
        }))
    });
    found
        .map(|document| document.to_string())
        .map_err(|error| engine_error(py, error.to_string(), &error.findings))
}

/// Statistics of an experiment's requests of the first seed in the packet engine, for those that
/// start at `from_secs` or later, as JSON: `{requests, answered, mean_secs}`; the mean is null if
/// none is answered. Raises EngineError.
#[pyfunction]
pub fn requests_answered(
    py: Python<'_>,
    spec_json: &str,
    experiment_json: &str,
    from_secs: f64,
) -> PyResult<String> {
    watched(py, Callbacks::default(), |progress, _| {
        let network = Network::open(spec_json).map_err(|error| PredictError::Findings(error.findings))?;
        let experiment = Experiment::from_json(experiment_json)?;
        let found = packet::answered_since(&network, &experiment, from_secs, progress)?;
        let mean_secs = (found.answered > 0).then_some(found.mean_secs);
        Ok(
            json!({"requests": found.requests, "answered": found.answered, "mean_secs": mean_secs})
                .to_string(),
        )
    })
}

/// The max-min fair rate of each flow in Gb/s over its path: ids of servers, both ends included; an
/// empty path carries nothing. The slowest link has `link_gbps`. Raises EngineError for servers
/// that no link and no switch joins.
#[pyfunction]
pub fn rates_over_paths(
    py: Python<'_>,
    spec_json: &str,
    paths: Vec<Vec<u32>>,
    link_gbps: f64,
) -> PyResult<Vec<f64>> {
    let rates = py.detach(|| {
        let network = Network::open(spec_json)?;
        given_paths::rates_over(&network, &paths, link_gbps).map_err(|findings| PlanError { findings })
    });
    rates.map_err(|error| engine_error(py, error.to_string(), &error.findings))
}

/// The routing schemes that serve a plan, its paper's own first, as JSON: `[{name, summary}]`.
/// Raises EngineError.
#[pyfunction]
pub fn routings_json(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    let read = py.detach(|| cubeyard_plan::read_spec(spec_json));
    match read {
        Ok(spec) => Ok(cubeyard_sim::scheme::routings_json(&spec.topology)),
        Err(error) => Err(engine_error(py, error.to_string(), &error.findings)),
    }
}

/// The published figures, as JSON: `[{id, title, source, parts}]`; of `parts` equal parts of the
/// paper's data one is simulated, unless `whole` is true.
#[pyfunction]
pub fn figures_json() -> String {
    figures::figures_json()
}

/// A published figure recomputed and compared with the paper's values, as JSON:
/// `{id, title, rows, verdicts, series, axes, choices, provenance}`. `torus_side` is the number of
/// servers along each axis, in figures of a torus's services. `on_partial` gets partial results:
/// the same document with `partial: true`. Raises EngineError, EngineCancelled.
#[pyfunction]
#[pyo3(signature = (figure_id, seeds=None, whole=false, on_progress=None, on_partial=None, torus_side=None))]
pub fn figure(
    py: Python<'_>,
    figure_id: &str,
    seeds: Option<u64>,
    whole: bool,
    on_progress: Option<Py<PyAny>>,
    on_partial: Option<Py<PyAny>>,
    torus_side: Option<u32>,
) -> PyResult<String> {
    let callbacks = Callbacks {
        progress: on_progress.as_ref(),
        partial: on_partial.as_ref(),
        frame: None,
    };
    watched(py, callbacks, |progress, _| {
        let asked = figures::Asked {
            seeds,
            whole,
            torus_side,
            ..figures::Asked::default()
        };
        Ok(figures::figure(figure_id, asked, progress)?.to_string())
    })
}
