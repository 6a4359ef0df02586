//! A sealed container's life, watched from Python like a prediction.
#![allow(clippy::needless_pass_by_value, reason = "Python hands its arguments over")]

use cubeyard_life::{Prepared, live as live_through, rates_json};
use cubeyard_plan::{Book, PlanError};
use cubeyard_sim::PredictError;
use pyo3::prelude::*;

use crate::predict::{Callbacks, watched};
use crate::{EngineCancelled, engine_error};

/// The catalogue of failure rates, as JSON:
/// `[{"part", "title", "unit", "afr", "basis", "confidence", "date", "source", "note"}]`.
#[pyfunction]
pub fn failure_rates() -> String {
    rates_json().to_string()
}

/// Checks a question and plans it, without simulating any life. Raises `EngineError` with the
/// errors.
#[pyfunction]
pub fn check_life(py: Python<'_>, question_json: &str, book_json: &str) -> PyResult<()> {
    let prepared = py.detach(|| {
        let book = Book::from_json(book_json).map_err(PredictError::Findings)?;
        Prepared::new(question_json, &book).map(|_| ())
    });
    match prepared {
        Ok(()) => Ok(()),
        Err(PredictError::Findings(findings)) => {
            let error = PlanError { findings };
            Err(engine_error(py, error.to_string(), &error.findings))
        }
        Err(PredictError::Cancelled) => Err(EngineCancelled::new_err("cancelled")),
    }
}

/// The lives of a plan, as JSON: curves with bands, times below floors, swaps and costs by policy.
/// `on_frame` gets each frame `{kind, ...}` in order: `plan`, `progress`, `servers`. `False` from
/// `on_progress` cancels. Raises EngineError, EngineCancelled.
#[pyfunction]
#[pyo3(signature = (question_json, book_json, on_progress=None, on_frame=None))]
pub fn life(
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
        let document = live_through(question_json, &book, progress, &mut |frame| {
            frames(frame.to_string());
        })?;
        Ok(document.to_string())
    })
}
