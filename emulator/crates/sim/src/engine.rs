//! Engines, which compute experiments.
//!
//! Every engine takes the same description, an [`Experiment`] on a [`Network`], and returns frames
//! while it runs and one document at the end. An engine first returns an outline: all checks of the
//! input happen there, before any work is done.
//!
//! To add one: a variant of [`EngineKind`], a type that implements [`Engine`], and an arm in
//! [`EngineKind::engine`], which does not compile without it. The binding, the command line and the
//! API choose by [`Engine::name`].
//!
//! Not here: the emulation, which sends real packets and runs outside this library.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use cubeyard_topology::Finding;
use cubeyard_topology::fault::{CATALOG, FaultEntry};

use crate::count::{Cancelled, Progress};
use crate::experiment::Experiment;
use crate::flow::FlowEngine;
use crate::network::Network;
use crate::packet::PacketEngine;

/// The reason why a run has no result.
#[derive(Clone, Debug, PartialEq)]
pub enum PredictError {
    /// The input does not allow it.
    Findings(Vec<Finding>),
    /// The caller cancelled the run.
    Cancelled,
}

impl From<Cancelled> for PredictError {
    fn from(Cancelled: Cancelled) -> PredictError {
        PredictError::Cancelled
    }
}

impl From<Vec<Finding>> for PredictError {
    fn from(findings: Vec<Finding>) -> PredictError {
        PredictError::Findings(findings)
    }
}

/// A partial result that is emitted during a run: a JSON object with a `kind` in kebab-case.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The type of the frame; each engine documents its own.
    pub kind: &'static str,
    /// All fields except `kind`.
    pub fields: serde_json::Map<String, Value>,
}

impl Frame {
    /// The whole frame as one document.
    pub fn document(mut self) -> Value {
        self.fields.insert("kind".to_owned(), json!(self.kind));
        Value::Object(self.fields)
    }
}

/// Computes experiments. Engines keep no state between runs; all random draws come from the
/// experiment's seeds.
pub trait Engine: Sync {
    /// Its name in experiments and documents, in kebab-case.
    fn name(&self) -> &'static str;

    /// The usual word for its result: a prediction, a simulation.
    fn method(&self) -> &'static str;

    /// One sentence on what it computes.
    fn summary(&self) -> &'static str;

    /// Whether it takes a kind of fault.
    fn knows(&self, fault: &FaultEntry) -> bool;

    /// The field of an experiment that only this engine takes, and a form for it; `None` when there
    /// is none.
    fn settings(&self) -> Option<(&'static str, Value)> {
        None
    }

    /// The outline of the experiment's first seed, checked but not computed.
    ///
    /// # Errors
    ///
    /// The findings that [`Engine::run`] would return.
    fn outline(&self, network: &Network, experiment: &Experiment) -> Result<Value, Vec<Finding>>;

    /// Computes the experiment. `frames` gets the partial results in order, from the calling
    /// thread.
    ///
    /// # Errors
    /// Findings when the input does not allow it; [`PredictError::Cancelled`] soon after
    /// `progress.cancelled` is set.
    fn run(
        &self,
        network: &Network,
        experiment: &Experiment,
        progress: &Progress,
        frames: &mut dyn FnMut(Frame),
    ) -> Result<Value, PredictError>;
}

/// The engines, by their name in experiments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// The flow engine: flows as fluids.
    #[default]
    Flow,
    /// The packet engine: packet by packet.
    Packet,
}

/// Every kind, in the order of menus.
pub const ENGINES: &[EngineKind] = &[EngineKind::Flow, EngineKind::Packet];

impl EngineKind {
    /// The engine of this kind.
    pub fn engine(self) -> &'static dyn Engine {
        match self {
            EngineKind::Flow => &FlowEngine,
            EngineKind::Packet => &PacketEngine,
        }
    }
}

/// `[{name, method, summary, faults, settings, form}]` of every engine: `faults` are the kinds of
/// faults that it supports, `settings` the experiment's field that only this engine uses (or null),
/// and `form` the contents of that field.
pub fn engines_json() -> Value {
    let engines: Vec<Value> = ENGINES
        .iter()
        .map(|kind| kind.engine())
        .map(|engine| {
            let known = CATALOG.iter().filter(|entry| engine.knows(entry));
            let faults: Vec<&str> = known.map(|entry| entry.name).collect();
            let (settings, form) = engine.settings().unzip();
            json!({
                "name": engine.name(), "method": engine.method(), "summary": engine.summary(), "faults": faults,
                "settings": settings, "form": form,
            })
        })
        .collect();
    Value::Array(engines)
}
