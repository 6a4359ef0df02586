//! The data about an emulation that Python and the page need before it runs.
//!
//! Inside: the network that is emulated (nodes, addresses, links), whole or a slice, and the
//! profile of a topology's emulation (protocols, forwardings, settings). Documents are JSON text;
//! errors in an input are a list of findings.
//!
//! Not here: the emulation itself, which the fabric and the nodes run.

use cubeyard_dataplane::address::{MAX_SERVER, virtual_ip};
use cubeyard_dataplane::catalog::{self, ForwardingKind, ProtocolEntry, SwitchKind};
use cubeyard_dataplane::service::MAX_MESSAGE_BYTES;
use cubeyard_plan::plan::{PlanError, read_spec};
use cubeyard_routing::tables::Balance;
use cubeyard_topology::{Finding, NodeId, Part, Slice, Topology, TopologySpec};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::engine_error;

/// The network that is emulated: a plan's topology or a slice of it, `{servers: [names]}` or
/// `{within: name, k}`, as JSON. Ids, names, ports and digits are those of the whole plan. Raises
/// EngineError; fields of the slice are `slice...`.
///
/// `{servers: [{id, name, host, address, digits}], switches: [{id, name, host, level, digits}], links: [{id, a: [node, port], b: [node, port], level, rate_ratio}], outside: [names], whole, picture, slowest_bits_per_sec}`;
/// `picture` (`rows`, `rings`, `planes` or `tiers`) is the arrangement of nodes by their digits in
/// a diagram, `rate_ratio` a link's rate divided by that of the plan's slowest link.
#[pyfunction]
#[pyo3(signature = (spec_json, slice_json=None))]
pub fn emulation_network(py: Python<'_>, spec_json: &str, slice_json: Option<&str>) -> PyResult<String> {
    let network = py.detach(|| network_of(spec_json, slice_json));
    network
        .map(|document| document.to_string())
        .map_err(|error| engine_error(py, error.to_string(), &error.findings))
}

/// The options for emulating a topology, as JSON: the protocols that its servers can run, with
/// their forwardings, headers and settings, from the dataplane's catalogue. O(protocols). Raises
/// EngineError.
///
/// `{family, supported, refusal, default_protocol, protocols: [{name, title, description, header_bytes, header, max_ports, addresses_per_server, gateways, adapts, switches, switch_dataplane, balances: [{name, title}], routing, forwardings: [{name, title, in_user_space, one_host, program}], settings: [{name, title, description, type, unit, minimum, maximum, default, source}], services: [{name, title, description, messages: [{title, example, to_every_server}]}], max_message_bytes}], no_chips, transports, slice: {around_max_k}, addresses: {applications, outside}, max_servers}`;
/// `refusal` is null, or `{field, value, limit, message, hint}`. `no_chips` is null, or
/// `{title, message, hint}`: why switches of this size cannot be chips. `one_host` forwardings run
/// on one host only. `switch_dataplane` is the dataplane of the switches if they are chips, else
/// null.
#[pyfunction]
pub fn emulation_profile(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    let profile = py.detach(|| profile_of(spec_json));
    profile
        .map(|document| document.to_string())
        .map_err(|error| engine_error(py, error.to_string(), &error.findings))
}

fn profile_of(spec_json: &str) -> Result<Value, PlanError> {
    let spec = read_spec(spec_json)?.topology;
    let family = spec.family();
    let default = catalog::default_protocol(family);
    let refusal = match default {
        Some(entry) => (entry.check)(&spec).err().map(|error| {
            json!({
                "field": error.field.trim_start_matches("spec."),
                "value": error.value,
                "limit": error.limit,
                "message": error.to_string(),
                "hint": error.fix,
            })
        }),
        None => Some(no_protocol(family)),
    };
    let is_default = |entry: &ProtocolEntry| default.is_some_and(|default| default.name == entry.name);
    // One in which neither servers nor chips decide is for its own families; the others check the
    // specification.
    let serves = |entry: &ProtocolEntry| match (entry.protocol, entry.chips) {
        (None, None) => entry.families.contains(&family),
        _ => (entry.check)(&spec).is_ok(),
    };
    let others = catalog::PROTOCOLS
        .iter()
        .filter(|entry| !is_default(entry) && serves(entry));
    let protocols: Vec<Value> = match &refusal {
        Some(_) => Vec::new(),
        None => default
            .into_iter()
            .chain(others)
            .map(|entry| protocol_document(entry, &spec))
            .collect(),
    };
    let no_chips = catalog::PROTOCOLS
        .iter()
        .filter(|entry| entry.chips.is_some())
        .filter_map(|entry| Some((entry, (entry.check)(&spec).err()?)))
        .find(|(_, error)| error.field != "spec.family");
    let no_chips = no_chips.map(|(entry, error)| {
        json!({
            "title": entry.title,
            "message": format!("{} needs {}; this has {}.", entry.title, error.limit, error.value),
            "hint": error.fix,
        })
    });
    // Only routers have several paths for the subflows of a connection.
    let is_routed = default.is_some_and(|entry| entry.switches == SwitchKind::Router);
    let transports: &[&str] = if is_routed {
        &["tcp", "udp", "mptcp"]
    } else {
        &["tcp", "udp"]
    };
    Ok(json!({
        "family": family,
        "supported": refusal.is_none(),
        "refusal": refusal,
        "default_protocol": default.map(|entry| entry.name),
        "protocols": protocols,
        "no_chips": no_chips,
        "transports": transports,
        "slice": {"around_max_k": default.and_then(|entry| entry.slice_around_max_k)},
        "addresses": {"applications": "10.0.0.0/8", "outside": "198.18.0.1"},
        "max_servers": MAX_SERVER + 1,
    }))
}

fn no_protocol(family: &str) -> Value {
    let entries = catalog::PROTOCOLS.iter();
    let families: Vec<&str> = entries.flat_map(|entry| entry.families.iter().copied()).collect();
    json!({
        "field": "family",
        "value": family,
        "limit": families.join(" or "),
        "message": format!("No protocol forwards packets on the servers of a {family}."),
        "hint": "Choose the flow engine, or a family whose servers can be emulated.",
    })
}

fn protocol_document(entry: &ProtocolEntry, spec: &TopologySpec) -> Value {
    let forwardings: Vec<Value> = entry
        .forwardings
        .iter()
        .map(|forwarding| {
            json!({
                "name": forwarding.name,
                "title": forwarding.title,
                "in_user_space": matches!(forwarding.kind, ForwardingKind::Software(_)),
                "one_host": forwarding.one_host,
                "program": forwarding.program.map(|program| program.own),
            })
        })
        .collect();
    json!({
        "name": entry.name,
        "title": entry.title,
        "description": entry.description,
        "header_bytes": entry.header_bytes,
        "header": entry.header,
        "max_ports": entry.max_ports,
        "addresses_per_server": entry.addresses_per_server,
        "gateways": entry.gateways,
        "adapts": entry.adapts,
        "switches": match entry.switches {
            SwitchKind::Bridge => "bridges",
            SwitchKind::Router => "routers",
            SwitchKind::Chip => "chips",
        },
        // A dataplane that is the switches' and not the servers'.
        "switch_dataplane": entry.chips.map(|_| catalog::CHIP),
        "balances": balances(entry, spec),
        "routing": entry.routing,
        "forwardings": forwardings,
        "settings": entry.settings,
        "services": entry.services,
        "max_message_bytes": MAX_MESSAGE_BYTES,
    })
}

/// The balances with which routers and the servers next to them can spread flows; none if switches
/// are bridges.
fn balances(entry: &ProtocolEntry, spec: &TopologySpec) -> Vec<Value> {
    let suits = |balance: &Balance| entry.switches == SwitchKind::Router && balance.suits(spec);
    let balances = Balance::ALL.into_iter().filter(suits);
    let document = |balance: Balance| json!({"name": balance.name(), "title": balance.title()});
    balances.map(document).collect()
}

fn network_of(spec_json: &str, slice_json: Option<&str>) -> Result<Value, PlanError> {
    let spec = read_spec(spec_json)?;
    let host_prefix = spec.host_prefix();
    let topology = Topology::build(&spec.topology)?;
    let part = match slice_json {
        Some(text) => topology.slice(&read_slice(text)?)?,
        None => topology.whole(),
    };
    let servers: Vec<Value> = part
        .servers
        .iter()
        .map(|&server| server_document(&topology, &host_prefix, server))
        .collect::<Result<_, _>>()?;
    let switches: Vec<Value> = part
        .switches
        .iter()
        .map(|&switch| {
            json!({
                "id": switch,
                "name": topology.node_name(switch),
                "host": format!("{host_prefix}{}", topology.host_name(switch)),
                "level": topology.tier_of(switch).map(|tier| tier.level),
                "digits": topology.digits(switch),
            })
        })
        .collect();
    let outside: Vec<String> = part
        .outside
        .iter()
        .map(|&server| topology.node_name(server))
        .collect();
    Ok(json!({
        "servers": servers,
        "switches": switches,
        "links": links_document(&topology, &part),
        "outside": outside,
        "whole": part.is_whole(),
        "picture": topology.picture(),
        "slowest_bits_per_sec": topology.links().slowest_bits_per_sec(),
    }))
}

fn server_document(topology: &Topology, host_prefix: &str, server: NodeId) -> Result<Value, PlanError> {
    let Some(address) = virtual_ip(server) else {
        let limit = MAX_SERVER + 1;
        let finding = Finding::error(
            "no-address",
            "plan.servers",
            format!(
                "Server {} has number {server}; only the first {limit} servers of a plan have an address.",
                topology.node_name(server)
            ),
            "Choose a smaller plan, or a slice of its first servers.",
        );
        return Err(PlanError {
            findings: vec![finding.with_value(server).with_limit(limit)],
        });
    };
    Ok(json!({
        "id": server,
        "name": topology.node_name(server),
        "host": format!("{host_prefix}{}", topology.host_name(server)),
        "address": address.to_string(),
        "digits": topology.digits(server),
    }))
}

fn links_document(topology: &Topology, part: &Part) -> Vec<Value> {
    let links = topology.links();
    let slowest = links.slowest_bits_per_sec();
    part.links
        .iter()
        .map(|&id| {
            let at = id as usize;
            json!({
                "id": id,
                "a": [links.a[at], u32::from(links.a_port[at])],
                "b": [links.b[at], u32::from(links.b_port[at])],
                "level": links.level[at],
                "rate_ratio": links.rate_bits_per_sec(at) / slowest,
            })
        })
        .collect()
}

pub(crate) fn read_slice(text: &str) -> Result<Slice, PlanError> {
    serde_json::from_str(text).map_err(|_| {
        let shown: Value = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
        let finding = Finding::error(
            "not-a-slice",
            "slice",
            "This is not a slice.",
            "Give {\"servers\": [names]}, or {\"within\": name, \"k\": number}.",
        );
        PlanError {
            findings: vec![finding.with_value(shown)],
        }
    })
}
