//! Whole plans: documents as JSON text, cables as numpy columns, labels and names as lists.

use std::ops::Range;

use cubeyard_plan::book::Book;
use cubeyard_plan::plan::{PlanError, plan, read_spec};
use cubeyard_plan::{diff, scene, sheets, summary};
use cubeyard_routing::host_routes::{HostRoute, host_routes};
use numpy::PyArray1;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::engine_error;

fn raise<T>(py: Python<'_>, result: Result<T, PlanError>) -> PyResult<T> {
    result.map_err(|error| engine_error(py, error.to_string(), &error.findings))
}

fn route_document(route: &HostRoute) -> Value {
    let hops: Vec<[u32; 2]> = route.hops.iter().map(|hop| [hop.link, hop.via]).collect();
    json!([route.first, route.last, hops])
}

/// A computed plan. Device index = row of the scene's devices, cable index = link index.
#[pyclass(frozen, module = "cubeyard_engine")]
pub struct Plan(cubeyard_plan::Plan);

/// Computes a plan from a topology spec or plan spec and a price book. Raises EngineError.
#[pyfunction]
pub fn build_plan(py: Python<'_>, spec_json: &str, book_json: &str) -> PyResult<Plan> {
    let built = py.detach(|| {
        let spec = read_spec(spec_json)?;
        plan(&spec, &Book::from_json(book_json)?)
    });
    raise(py, built).map(Plan)
}

/// The work order that turns one plan's cabling into the other's, as JSON.
#[pyfunction]
pub fn diff_plans(py: Python<'_>, before: &Plan, after: &Plan) -> String {
    py.detach(|| diff::diff_json(&before.0, &after.0))
}

/// How hard a plan's wiring is to put up, and to get to from another plan, as JSON:
/// `{"deployment", "expansion"}`; see `cubeyard_plan::lifecycle`. `expansion` is `null` without
/// another plan.
#[pyfunction]
#[pyo3(signature = (plan, before=None))]
pub fn lifecycle(py: Python<'_>, plan: &Plan, before: Option<&Plan>) -> String {
    py.detach(|| {
        let grown = before
            .map(|before| cubeyard_plan::lifecycle::expansion(&before.0, &diff::diff(&before.0, &plan.0)));
        json!({"deployment": cubeyard_plan::lifecycle::deployment(&plan.0), "expansion": grown}).to_string()
    })
}

/// Sizes a spec would have, without building it: `{servers, switches, nodes, links}`. Raises
/// EngineError.
#[pyfunction]
pub fn estimate_json(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    let read = py.detach(|| {
        let size = read_spec(spec_json)?.topology.size()?;
        Ok(json!({
            "servers": size.servers,
            "switches": size.switches,
            "nodes": size.servers + size.switches,
            "links": size.links,
        })
        .to_string())
    });
    raise(py, read)
}

/// Checks a price book and returns its canonical content hash. Raises `EngineError` with the
/// errors.
#[pyfunction]
pub fn check_book(py: Python<'_>, book_json: &str) -> PyResult<String> {
    let checked = py.detach(|| {
        Ok(cubeyard_plan::hash::book_hash(
            &Book::from_json(book_json).map_err(PlanError::from)?,
        ))
    });
    raise(py, checked)
}

impl Plan {
    /// `start..stop`, cut to the cables there are.
    fn cable_range(&self, start: usize, stop: Option<usize>) -> Range<usize> {
        let count = self.0.wiring.part.len();
        let stop = stop.unwrap_or(count).min(count);
        start.min(stop)..stop
    }
}

#[pymethods]
impl Plan {
    #[getter]
    fn plan_hash(&self) -> &str {
        &self.0.hash
    }

    #[getter]
    fn cable_count(&self) -> usize {
        self.0.wiring.part.len()
    }

    #[getter]
    fn device_count(&self) -> u32 {
        self.0.topology.node_count()
    }

    fn summary_json(&self, py: Python<'_>) -> String {
        py.detach(|| summary::summary_json(&self.0))
    }

    fn scene_json(&self, py: Python<'_>) -> String {
        py.detach(|| scene::scene_json(&self.0))
    }

    fn bom_json(&self, py: Python<'_>) -> String {
        py.detach(|| summary::bom_json(&self.0))
    }

    /// The values that the `route`, `colour` and `part` columns of cables index.
    fn cable_tables_json(&self, py: Python<'_>) -> String {
        py.detach(|| scene::cable_tables_json(&self.0))
    }

    /// Columns of the cables `start..stop`: a_device u32, a_port u16, b_device u32, b_port u16,
    /// level u8, route u8, length_mm u32, stock_mm u32, part u16 (65535: none fits), colour u8,
    /// bundle i32 (-1: within a rack), lead u32 (the row of the whole cable: its own row, or that
    /// of a breakout's first leg), leg u8 (from 1; 0: no breakout), trunk u8 (the end with the
    /// breakout's one plug: 1 for `a`, 2 for `b`; 0: no breakout).
    #[pyo3(signature = (start=0, stop=None))]
    fn cables<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        stop: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let range = self.cable_range(start, stop);
        let links = self.0.topology.links();
        let wiring = &self.0.wiring;
        let part: Vec<u16> = py.detach(|| {
            wiring.part[range.clone()]
                .iter()
                .map(|&part| self.0.used_parts.dense_of(part))
                .collect()
        });
        let breakouts = &wiring.breakouts;
        let lead = |link: usize| {
            let first = breakouts
                .of(link)
                .and_then(|(cable, _)| cable.links.first().copied());
            first.unwrap_or(link as u32)
        };
        let leg = |link: usize| breakouts.of(link).map_or(0, |(_, leg)| leg + 1);
        let leads: Vec<u32> = range.clone().map(lead).collect();
        let legs: Vec<u8> = range.clone().map(leg).collect();
        let trunk = |link: usize| {
            breakouts
                .of(link)
                .map_or(0, |(cable, _)| if cable.trunk_is_a { 1 } else { 2 })
        };
        let trunks: Vec<u8> = range.clone().map(trunk).collect();
        let columns = PyDict::new(py);
        columns.set_item("lead", PyArray1::from_slice(py, &leads))?;
        columns.set_item("leg", PyArray1::from_slice(py, &legs))?;
        columns.set_item("trunk", PyArray1::from_slice(py, &trunks))?;
        columns.set_item("a_device", PyArray1::from_slice(py, &links.a[range.clone()]))?;
        columns.set_item("a_port", PyArray1::from_slice(py, &links.a_port[range.clone()]))?;
        columns.set_item("b_device", PyArray1::from_slice(py, &links.b[range.clone()]))?;
        columns.set_item("b_port", PyArray1::from_slice(py, &links.b_port[range.clone()]))?;
        columns.set_item("level", PyArray1::from_slice(py, &links.level[range.clone()]))?;
        columns.set_item("route", PyArray1::from_slice(py, &wiring.route[range.clone()]))?;
        columns.set_item(
            "length_mm",
            PyArray1::from_slice(py, &wiring.length_mm[range.clone()]),
        )?;
        columns.set_item(
            "stock_mm",
            PyArray1::from_slice(py, &wiring.stock_mm[range.clone()]),
        )?;
        columns.set_item("part", PyArray1::from_slice(py, &part))?;
        columns.set_item("colour", PyArray1::from_slice(py, &wiring.colour[range.clone()]))?;
        columns.set_item("bundle", PyArray1::from_slice(py, &wiring.bundle[range]))?;
        Ok(columns)
    }

    /// Labels of the cables `start..stop`: the texts at the `a` end, and at the `b` end.
    #[pyo3(signature = (start=0, stop=None))]
    fn labels(&self, py: Python<'_>, start: usize, stop: Option<usize>) -> (Vec<String>, Vec<String>) {
        let range = self.cable_range(start, stop);
        py.detach(|| {
            (
                range.clone().map(|cable| self.0.label(cable)).collect(),
                range.map(|cable| self.0.far_label(cable)).collect(),
            )
        })
    }

    /// Port names of the cables `start..stop` at their `a` ends, and at their `b` ends.
    #[pyo3(signature = (start=0, stop=None))]
    fn cable_port_names(
        &self,
        py: Python<'_>,
        start: usize,
        stop: Option<usize>,
    ) -> (Vec<String>, Vec<String>) {
        let range = self.cable_range(start, stop);
        let links = self.0.topology.links();
        let topology = &self.0.topology;
        py.detach(|| {
            (
                range
                    .clone()
                    .map(|i| topology.port_name(links.a[i], links.a_port[i]))
                    .collect(),
                range
                    .map(|i| topology.port_name(links.b[i], links.b_port[i]))
                    .collect(),
            )
        })
    }

    /// Names of the devices `start..stop`.
    #[pyo3(signature = (start=0, stop=None))]
    fn device_names(&self, py: Python<'_>, start: u32, stop: Option<u32>) -> Vec<String> {
        let count = self.0.topology.node_count();
        let stop = stop.unwrap_or(count).min(count);
        py.detach(|| {
            (start..stop)
                .map(|device| self.0.topology.node_name(device))
                .collect()
        })
    }

    /// Names of all ports of a device, by port number. Raises KeyError for an index out of range.
    fn port_names(&self, device: u32) -> PyResult<Vec<String>> {
        let topology = &self.0.topology;
        if device >= topology.node_count() {
            return Err(PyKeyError::new_err(format!(
                "there is no device {device}; there are {}",
                topology.node_count()
            )));
        }
        Ok((0..topology.port_count(device))
            .map(|port| topology.port_name(device, port as u16))
            .collect())
    }

    /// Index of the device with this name; `None` when there is none.
    fn device_index(&self, name: &str) -> Option<u32> {
        self.0.topology.node_by_name(name)
    }

    /// Transceiver part (one at each end) of the cables `start..stop`, as in the `part` column;
    /// 65535 for none.
    #[pyo3(signature = (start=0, stop=None))]
    fn transceivers<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        stop: Option<usize>,
    ) -> Bound<'py, PyArray1<u16>> {
        let range = self.cable_range(start, stop);
        let parts: Vec<u16> = self.0.wiring.transceiver[range]
            .iter()
            .map(|&part| self.0.used_parts.dense_of(part))
            .collect();
        PyArray1::from_slice(py, &parts)
    }

    /// Static routes that connect any two servers, as JSON:
    /// `{"bridges": bool, "routes": [[[first, last, [[link, via], ...]], ...], ...]}`, indexed by
    /// node; `bridges` is true if servers relay and switches are therefore bridges. All numbers are
    /// ids.
    fn host_routes_json(&self, py: Python<'_>) -> String {
        py.detach(|| {
            let nodes: Vec<Vec<_>> = host_routes(&self.0.topology)
                .iter()
                .map(|routes| routes.iter().map(route_document).collect())
                .collect();
            json!({"bridges": self.0.topology.servers_relay(), "routes": nodes}).to_string()
        })
    }

    /// The parts that the `part` columns index, each as its price book has it: manufacturer,
    /// attributes, prices, sources.
    fn parts_json(&self, py: Python<'_>) -> String {
        py.detach(|| {
            let parts: Vec<_> = self
                .0
                .used_parts
                .book_index
                .iter()
                .map(|&i| &self.0.book.parts[usize::from(i)])
                .collect();
            json!(parts).to_string()
        })
    }

    /// The rate of each cable `start..stop` in Gb/s: the topology's, or the plan's override.
    #[pyo3(signature = (start=0, stop=None))]
    fn cable_gbps<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        stop: Option<usize>,
    ) -> Bound<'py, PyArray1<f64>> {
        let range = self.cable_range(start, stop);
        let links = self.0.topology.links();
        let asked = self.0.spec.cabling.link_gbps;
        let rates: Vec<f64> = py.detach(|| {
            range
                .map(|link| {
                    asked.unwrap_or(links.rates_bits_per_sec[usize::from(links.rate_class[link])] / 1e9)
                })
                .collect()
        });
        PyArray1::from_vec(py, rates)
    }

    /// The IPv4 address of each device.
    fn addresses<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        let addresses =
            (0..self.0.topology.node_count()).map(|device| self.0.addresses.of_device(device).to_bits());
        PyArray1::from_vec(py, addresses.collect())
    }

    /// The networks of those addresses as JSON:
    /// `{"servers", "switches", "gateways": {network: address}, "dns", "domain"}`; a network
    /// without devices is null.
    fn networks_json(&self) -> String {
        let spec = self.0.spec.site.addresses.as_ref();
        self.0.addresses.document(spec, &self.0.topology).to_string()
    }

    /// A device with every port, its cable, and where the far end is, as JSON; `None` for an
    /// unknown name.
    fn device_json(&self, py: Python<'_>, name: &str) -> Option<String> {
        py.detach(|| sheets::device_json(&self.0, name))
    }

    /// A rack with its devices and every cable end in it, as JSON; `None` for an unknown name.
    fn rack_json(&self, py: Python<'_>, name: &str) -> Option<String> {
        py.detach(|| sheets::rack_json(&self.0, name))
    }
}
