//! The search of the design space, for Python: callbacks report its progress and can cancel it, as
//! with a prediction.
#![allow(clippy::needless_pass_by_value, reason = "Python hands its arguments over")]

use cubeyard_plan::Book;
use cubeyard_search::{SearchSpec, metrics_json, search as search_space};
use cubeyard_sim::PredictError;
use pyo3::prelude::*;

use crate::predict::{Callbacks, watched};

/// The metrics by which plans can be judged, as JSON:
/// `[{"name", "title", "unit", "units", "stage", "more", "doc"}]`.
#[pyfunction]
pub fn search_metrics() -> String {
    metrics_json().to_string()
}

/// Checks a question against the price book of its plans without searching. Raises `EngineError`
/// with the errors.
#[pyfunction]
pub fn check_search(py: Python<'_>, question_json: &str, book_json: &str) -> PyResult<()> {
    let checked = py.detach(|| {
        let asked = SearchSpec::from_json(question_json)?;
        asked.check_currency(&Book::from_json(book_json)?.currency)
    });
    checked.map_err(|findings| {
        let error = cubeyard_plan::PlanError { findings };
        crate::engine_error(py, error.to_string(), &error.findings)
    })
}

/// The Pareto front of a question with a price book, as JSON: see `cubeyard_search::run`.
/// `on_frame` gets each frame `{kind, ...}` in order: `space`, `progress`, `point`. `False` from
/// `on_progress` cancels. Raises EngineError, EngineCancelled.
#[pyfunction]
#[pyo3(signature = (question_json, book_json, on_progress=None, on_frame=None))]
pub fn search(
    py: Python<'_>,
    question_json: &str,
    book_json: &str,
    on_progress: Option<Py<PyAny>>,
    on_frame: Option<Py<PyAny>>,
) -> PyResult<String> {
    let callbacks = Callbacks {
        progress: on_progress.as_ref(),
        frame: on_frame.as_ref(),
        partial: None,
    };
    watched(py, callbacks, |progress, frames| {
        let book = Book::from_json(book_json).map_err(PredictError::Findings)?;
        let document = search_space(question_json, &book, progress, &mut |frame| {
            frames(frame.to_string());
        })?;
        Ok(document.to_string())
    })
}
