//! Programs of the switching chip: parse, compare, generate, and step through them without a run.
//! Not here: the chip itself, which is a separate crate.

use cubeyard_chip::api::{Limits, MAX_MESSAGE_BYTES, Session};
use cubeyard_chip::walk::{paths, walk};
use cubeyard_chip::{
    Chip, Flaw, Frame, MAX_FRAME_BYTES, Program, ServerSwitch, Table, bcube, diff, document, portland, text,
};
use cubeyard_topology::{Topology, TopologySpec};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};

use crate::EngineError;

/// Payload of the packets that a walk sends.
const PAYLOAD: &[u8] = b"cubeyard";

/// A chip without a run, called as programs on a server's socket call it (`cubeyard_chip::api`).
#[pyclass(module = "cubeyard_engine")]
pub struct ChipModel {
    switch: ServerSwitch,
    session: Session,
}

/// Packets: a port and bytes each.
type Packets<'py> = Vec<(u8, Bound<'py, PyBytes>)>;

#[pymethods]
impl ChipModel {
    /// A chip with a program, as text or JSON. Raises EngineError with findings.
    #[new]
    fn new(py: Python<'_>, program: &str) -> PyResult<ChipModel> {
        let mut switch = ServerSwitch::new();
        let loaded = text::read(program).and_then(|program| switch.load(program));
        loaded.map_err(|flaws| refused(py, &flaws))?;
        let session = Session::default();
        Ok(ChipModel { switch, session })
    }

    /// Carries out a request without its length. Returns the answer with its length, and the
    /// packets that left by external ports.
    fn call<'py>(&mut self, py: Python<'py>, request: &[u8]) -> (Bound<'py, PyBytes>, Packets<'py>) {
        let limits = Limits {
            packet_bytes: MAX_FRAME_BYTES,
            ports: 0x0f,
            part_bytes: MAX_MESSAGE_BYTES / 2,
        };
        let mut sent = Vec::new();
        let mut out = |port: u8, bytes: &[u8]| sent.push((port, PyBytes::new(py, bytes)));
        let answered = self.session.handle(request, &limits, &mut self.switch, &mut out);
        (PyBytes::new(py, &answered.bytes), sent)
    }

    /// Processes a packet that arrives at a port. Returns the packets that leave by external ports.
    /// Raises EngineError for an invalid port or packet.
    fn receive<'py>(&mut self, py: Python<'py>, in_port: u8, packet: &[u8]) -> PyResult<Packets<'py>> {
        let mut sent = Vec::new();
        let mut out = |port: u8, bytes: &[u8]| sent.push((port, PyBytes::new(py, bytes)));
        let done =
            Frame::new(packet).and_then(|mut frame| self.switch.receive(in_port, &mut frame, &mut out));
        done.map_err(|flaw| refused(py, &[flaw]))?;
        Ok(sent)
    }

    /// The next packet for the CPU, if one waits: its port, packets lost so far, and its bytes.
    fn take<'py>(&mut self, py: Python<'py>) -> Option<(u8, u64, Bound<'py, PyBytes>)> {
        let (port, bytes) = self.switch.recv_packet()?;
        Some((port, self.switch.lost_punts(), PyBytes::new(py, &bytes)))
    }
}

type Made<T> = Result<T, Vec<Flaw>>;

fn refused(py: Python<'_>, flaws: &[Flaw]) -> PyErr {
    let message = flaws.first().map(ToString::to_string).unwrap_or_default();
    let error = EngineError::new_err(message);
    match error.value(py).setattr("findings_json", json!(flaws).to_string()) {
        Ok(()) => error,
        Err(failed) => failed,
    }
}

fn answered(py: Python<'_>, made: Made<Value>) -> PyResult<String> {
    made.map(|value| value.to_string())
        .map_err(|flaws| refused(py, &flaws))
}

fn one(flaw: Flaw) -> Vec<Flaw> {
    vec![flaw]
}

/// Describes a program in one document.
fn described(program: &Program) -> Value {
    let tables: serde_json::Map<String, Value> = Table::ALL
        .into_iter()
        .map(|table| {
            let counts = json!({"entries": program.table(table).len(), "size": table.size()});
            (table.name().to_owned(), counts)
        })
        .collect();
    let keys: Vec<Value> = (1..=2)
        .filter_map(|i| {
            program
                .udlk(i)
                .map(|udlk| json!({"i": i, "fields": udlk.to_string(), "bytes": udlk.len()}))
        })
        .collect();
    let never: Vec<Value> = program
        .shadowed()
        .iter()
        .map(|(i, above)| json!({"i": i, "above": above}))
        .collect();
    json!({
        "profile": program.profile().name(),
        "udlks": keys,
        "tables": tables,
        "vifs": program.vifs().len(),
        "never_matched": never,
        "text": text::print(program),
        "document": document::write(program),
    })
}

/// A program, from text or JSON, for a server of a BCube if one is named:
/// `{profile, udlks: [{i, fields, bytes}], tables: {name: {entries, size}}, vifs, never_matched: [{i, above}], text, document}`.
/// Raises EngineError with findings that have `line` and `column`.
#[pyfunction]
#[pyo3(signature = (program, spec_json=None, server=None))]
pub fn chip_program(
    py: Python<'_>,
    program: &str,
    spec_json: Option<&str>,
    server: Option<&str>,
) -> PyResult<String> {
    let made = py.detach(|| read_for(program, spec_json, server).map(|program| described(&program)));
    answered(py, made)
}

/// A program, for a server of a BCube if there is one: the first if none is named.
fn read_for(program: &str, spec_json: Option<&str>, server: Option<&str>) -> Made<Program> {
    let Some(spec_json) = spec_json else {
        return text::read(program);
    };
    let (topology, shape) = bcube_of(spec_json)?;
    let id = server.map_or(Ok(0), |server| server_of(&topology, "server", server))?;
    let server = bcube::server(&shape, id).map_err(one)?;
    text::Source::parse(program)?.program(Some(&server))
}

/// Whether every server of a BCube, or of some of its servers by id, can run a program that they
/// share. Raises EngineError with findings that have `line` and `column`.
#[pyfunction]
#[pyo3(signature = (spec_json, servers, program, in_kernel))]
#[allow(clippy::needless_pass_by_value, reason = "Python hands its arguments over")]
pub fn chip_check_servers(
    py: Python<'_>,
    spec_json: &str,
    servers: Vec<u32>,
    program: &str,
    in_kernel: bool,
) -> PyResult<()> {
    let made: Made<()> = py.detach(|| {
        let source = text::Source::parse(program)?;
        let (_, shape) = bcube_of(spec_json)?;
        let server = |id: &u32| {
            let mut server = bcube::server(&shape, *id)?;
            let there = |item: &bcube::Neighbour| servers.contains(&bcube::neighbour(&shape, *id, item.hop));
            server.neighbours.retain(there);
            Ok(server)
        };
        let servers: Vec<text::Server> = servers
            .iter()
            .map(server)
            .collect::<Result<_, _>>()
            .map_err(one)?;
        source.check_for(servers, in_kernel)
    });
    made.map_err(|flaws| refused(py, &flaws))
}

/// The differences between two programs: `[{what, before?, after?}]`. Raises EngineError.
#[pyfunction]
pub fn chip_diff(py: Python<'_>, before: &str, after: &str) -> PyResult<String> {
    let made = py.detach(|| {
        let (before, after) = (text::read(before)?, text::read(after)?);
        Ok(json!(diff::diff(&before, &after)))
    });
    answered(py, made)
}

/// A packet, in hexadecimal digits, through a chip with a program, for a server of a BCube if one
/// is named:
/// `{in_port, packet, steps: [{stage, text, key?, entry?, before?, after?, changed?}], sent: [{port, cpu, copy, packet}], outcome, reason?, summary, hits: [{table, i, packets}]}`.
/// Raises EngineError.
#[pyfunction]
#[pyo3(signature = (program, in_port, packet, spec_json=None, server=None))]
pub fn chip_trace(
    py: Python<'_>,
    program: &str,
    in_port: u8,
    packet: &str,
    spec_json: Option<&str>,
    server: Option<&str>,
) -> PyResult<String> {
    let made = py.detach(|| {
        let bytes = cubeyard_chip::read_bytes("packet", packet).map_err(one)?;
        let mut chip = Chip::new(read_for(program, spec_json, server)?)?;
        Ok(json!(chip.trace(in_port, &bytes).map_err(one)?))
    });
    answered(py, made)
}

/// The paper's BCube program as text: for one server, or the text that all servers of a run share.
/// Raises EngineError.
#[pyfunction]
#[pyo3(signature = (spec_json, server=None))]
pub fn chip_bcube(py: Python<'_>, spec_json: &str, server: Option<&str>) -> PyResult<String> {
    let made: Made<String> = py.detach(|| {
        let Some(server) = server else {
            return Ok(bcube::SHARED.to_owned());
        };
        let (topology, shape) = bcube_of(spec_json)?;
        let server = server_of(&topology, "server", server)?;
        Ok(text::print(&bcube::program(&shape, server).map_err(one)?))
    });
    made.map_err(|flaws| refused(py, &flaws))
}

/// A packet through the chips of a BCube's servers, over one of the parallel paths:
/// `{paths: [[names]], path, visits: [{server, name, trace}], arrived}`. Raises EngineError.
#[pyfunction]
pub fn chip_walk(
    py: Python<'_>,
    spec_json: &str,
    source: &str,
    destination: &str,
    path: usize,
) -> PyResult<String> {
    let made = py.detach(|| {
        let (topology, shape) = bcube_of(spec_json)?;
        let source = server_of(&topology, "from", source)?;
        let destination = server_of(&topology, "to", destination)?;
        let found = paths(&shape, source, destination).map_err(one)?;
        let Some(hops) = found.get(path) else {
            let limit = format!("0 to {}", found.len() - 1);
            let fix = "These servers have so many parallel paths.";
            return Err(one(Flaw::new("bcube-path", "path", path, limit, fix)));
        };
        let walked = walk(&topology, &shape, source, hops, PAYLOAD).map_err(one)?;
        let mut document = json!(walked);
        let names = |hops: &Vec<cubeyard_routing::bcube::Hop>| {
            let servers = std::iter::once(source).chain(hops.iter().map(|hop| hop.server));
            servers
                .map(|server| topology.node_name(server))
                .collect::<Vec<_>>()
        };
        document["paths"] = json!(found.iter().map(names).collect::<Vec<_>>());
        Ok(document)
    });
    answered(py, made)
}

fn bcube_of(spec_json: &str) -> Made<(Topology, cubeyard_routing::bcube::Shape)> {
    let spec: TopologySpec = serde_json::from_str(spec_json).map_err(|error| {
        let flaw = Flaw::new(
            "bcube-spec",
            "spec",
            "this",
            "a topology",
            "Write for example {\"family\":\"bcube\",\"n\":4,\"k\":1}.",
        );
        one(flaw.saying(format!("This is not a topology: {error}.")))
    })?;
    bcube::shape(&spec).map_err(one)
}

fn server_of(topology: &Topology, field: &str, name: &str) -> Made<u32> {
    let found = topology
        .node_by_name(name)
        .filter(|&node| topology.is_server(node));
    found.ok_or_else(|| {
        let last = topology.node_name(topology.server_count() - 1);
        let limit = format!("a server, {} to {last}", topology.node_name(0));
        one(Flaw::new(
            "bcube-server",
            field,
            format!("\"{name}\""),
            limit,
            "Take a server of this BCube by its name.",
        ))
    })
}

/// PortLand on 20 chips in virtual time: a packet from one host to another before and after
/// switches and links fail:
/// `{from: [address, pmac], to, attempts: [{state, at_micros, visits: [{switch, at_micros, kind, trace}], arrived}], pairs}`.
/// Raises EngineError.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "Python hands its arguments over")]
pub fn chip_portland(
    py: Python<'_>,
    source: &str,
    destination: &str,
    source_port: u16,
    failures: Vec<String>,
) -> PyResult<String> {
    let made = py.detach(|| portland::trial(source, destination, source_port, &failures).map_err(one));
    answered(py, made.map(|trial| json!(trial)))
}
