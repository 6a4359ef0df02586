//! Topologies alone: counts, certificate, links as columns or as text lines.

use std::fmt::Write as _;

use cubeyard_plan::plan::{PlanError, read_spec};
use numpy::{IntoPyArray as _, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;

use crate::engine_error;

/// Families and their parameters as JSON:
/// `[{family, title, summary, source, parameters, example}]`.
#[pyfunction]
pub fn families_json(py: Python<'_>) -> String {
    py.detach(|| cubeyard_topology::families().to_string())
}

/// A topology built from a spec.
#[pyclass(frozen, module = "cubeyard_engine")]
pub struct Topology(cubeyard_topology::Topology);

/// Builds the topology of a topology spec or plan spec. Raises EngineError.
#[pyfunction]
pub fn build_topology(py: Python<'_>, spec_json: &str) -> PyResult<Topology> {
    let built = py.detach(|| -> Result<_, PlanError> {
        Ok(cubeyard_topology::Topology::build(
            &read_spec(spec_json)?.topology,
        )?)
    });
    built
        .map(Topology)
        .map_err(|error| engine_error(py, error.to_string(), &error.findings))
}

/// The `a`, `b` and `level` columns of links.
type Edges<'py> = (
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u8>>,
);

#[pymethods]
impl Topology {
    /// `{"title", "servers", "switches", "links", "levels": [{"level", "label", "cables"}], "tiers": [...]}`.
    fn counts_json(&self, py: Python<'_>) -> String {
        py.detach(|| {
            let topology = &self.0;
            let mut links_of = [0u64; 256];
            topology.links().level.iter().for_each(|&level| links_of[usize::from(level)] += 1);
            let levels: Vec<_> = (0..topology.level_count())
                .map(|level| {
                    json!({"level": level, "label": topology.level_label(level as u8), "cables": links_of[level]})
                })
                .collect();
            json!({
                "title": topology.spec().title(),
                "servers": topology.server_count(),
                "switches": topology.switch_count(),
                "links": topology.links().len(),
                "levels": levels,
                "tiers": topology.tiers(),
            })
            .to_string()
        })
    }

    /// `{passed, checks: [{name, statement, checked, passed, detail}]}`.
    fn certificate_json(&self, py: Python<'_>) -> String {
        py.detach(|| json!(self.0.certificate()).to_string())
    }

    fn metrics_json(&self, py: Python<'_>) -> String {
        py.detach(|| json!(self.0.metrics()).to_string())
    }

    #[getter]
    fn link_count(&self) -> usize {
        self.0.links().len()
    }

    #[getter]
    fn node_count(&self) -> u32 {
        self.0.node_count()
    }

    /// Links as `(a u32[], b u32[], level u8[])`; servers come first among the ids.
    fn edges<'py>(&self, py: Python<'py>) -> Edges<'py> {
        let links = self.0.links();
        let (a, b, level) = py.detach(|| (links.a.clone(), links.b.clone(), links.level.clone()));
        (a.into_pyarray(py), b.into_pyarray(py), level.into_pyarray(py))
    }

    /// Port numbers at both ends of every link, as `(a_port u16[], b_port u16[])`.
    fn ports<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<u16>>, Bound<'py, PyArray1<u16>>) {
        let links = self.0.links();
        let (a, b) = py.detach(|| (links.a_port.clone(), links.b_port.clone()));
        (a.into_pyarray(py), b.into_pyarray(py))
    }

    /// Names of the nodes `start..stop`.
    fn names(&self, py: Python<'_>, start: u32, stop: u32) -> Vec<String> {
        let stop = stop.min(self.0.node_count());
        py.detach(|| (start..stop).map(|node| self.0.node_name(node)).collect())
    }

    /// Lines `a b level` of the links `start..stop`, each ended by a newline.
    fn edge_lines<'py>(&self, py: Python<'py>, start: usize, stop: usize) -> Bound<'py, PyBytes> {
        let links = self.0.links();
        let stop = stop.min(links.len());
        let text = py.detach(|| {
            let mut out = String::with_capacity(stop.saturating_sub(start) * 24);
            for link in start..stop {
                self.0.write_name(links.a[link], &mut out);
                out.push(' ');
                self.0.write_name(links.b[link], &mut out);
                // Writing to a String cannot fail.
                let _ = writeln!(out, " {}", links.level[link]);
            }
            out
        });
        PyBytes::new(py, text.as_bytes())
    }
}
