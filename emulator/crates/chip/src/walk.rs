//! A packet's path through the chips of a BCube's servers and the mini-switches between them
//! `[serverswitch §5.1]`.

use cubeyard_routing::bcube::{Hop, Shape, build_path_set};
use cubeyard_topology::{NodeId, Topology};
use serde::Serialize;

use crate::bcube::{self, mac};
use crate::flaw::Flaw;
use crate::pipeline::Chip;
use crate::profile::EXTERNAL_PORTS;
use crate::trace::Trace;

/// Chips that a packet passes at most: the source's, those of eight hops, and one to see that it
/// goes no further.
const MAX_CHIPS: usize = bcube::MAX_HOPS + 2;

/// One server on the path.
#[derive(Clone, Debug, Serialize)]
pub struct Visit {
    /// The id of the server.
    pub server: NodeId,
    /// Its name, like `01`.
    pub name: String,
    /// The trace through its chip.
    pub trace: Trace,
}

/// The complete path.
#[derive(Clone, Debug, Serialize)]
pub struct Walk {
    /// The path that the source chose, by name, both ends included.
    pub path: Vec<String>,
    /// The trace at each server of the path.
    pub visits: Vec<Visit>,
    /// Whether the path ends at a server that handed the packet to its CPU.
    pub arrived: bool,
}

/// The `k + 1` parallel paths from one server to another `[bcube §3.3]`. Errors: the same server,
/// or none.
pub fn paths(shape: &Shape, source: NodeId, destination: NodeId) -> Result<Vec<Vec<Hop>>, Flaw> {
    let servers = shape.servers();
    for (field, server) in [("from", source), ("to", destination)] {
        if server >= servers {
            let limit = format!("less than {servers}");
            return Err(Flaw::new(
                "bcube-server",
                field,
                server,
                limit,
                "Take a server of this BCube.",
            ));
        }
    }
    if source == destination {
        let fix = "Take two different servers.";
        return Err(Flaw::new(
            "bcube-server",
            "to",
            destination,
            "another server than from",
            fix,
        ));
    }
    Ok(build_path_set(shape, source, destination))
}

/// Sends a packet from a source's CPU over a path and follows it from chip to chip.
pub fn walk(
    topology: &Topology,
    shape: &Shape,
    source: NodeId,
    hops: &[Hop],
    payload: &[u8],
) -> Result<Walk, Flaw> {
    let mut packet = bcube::packet(source, hops, shape, payload)?;
    let path = std::iter::once(source).chain(hops.iter().map(|hop| hop.server));
    let mut walk = Walk {
        path: path.map(|server| topology.node_name(server)).collect(),
        visits: Vec::new(),
        arrived: false,
    };
    let (mut server, mut in_port) = (source, EXTERNAL_PORTS);
    while walk.visits.len() < MAX_CHIPS {
        let mut chip = Chip::new(bcube::program(shape, server)?).map_err(|mut flaws| flaws.remove(0))?;
        let trace = chip.trace(in_port, &packet)?;
        let sent = trace.sent.first().cloned();
        walk.visits.push(Visit {
            server,
            name: topology.node_name(server),
            trace,
        });
        let Some(sent) = sent else { break };
        if sent.cpu {
            walk.arrived = hops.last().is_some_and(|hop| hop.server == server);
            break;
        }
        packet = crate::entries::read_bytes("packet", &sent.packet)?;
        let Some(next) = across(shape, server, sent.port, &packet) else {
            break;
        };
        (server, in_port) = (next, sent.port);
    }
    Ok(walk)
}

/// The step through a mini-switch: the server at one of its ports that has the packet's destination
/// MAC.
fn across(shape: &Shape, from: NodeId, port: u8, packet: &[u8]) -> Option<NodeId> {
    let level = usize::from(port);
    let dmac = packet.get(..6)?;
    let digits = 0..*shape.radix.get(level)?;
    let mut others = digits.map(|digit| shape.with_digit(from, level, digit));
    others.find(|&server| server != from && mac(server, level).0 == dmac)
}
