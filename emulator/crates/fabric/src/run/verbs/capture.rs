//! `capture`: opens an end of a link for a packet capture. The caller's thread reads the packets,
//! not the run's.

use serde::Deserialize;

use crate::capture::socket::CaptureSocket;
use crate::error::{FabricError, Result};
use crate::links::{self, Site};
use crate::names;
use crate::network::Place;
use crate::run::state::RunState;

/// The target of a capture, by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CaptureTarget {
    /// A link, at one of its ends on this host; at a server's end if there is one.
    Link(u32),
    /// A port of a server.
    Port([u32; 2]),
}

/// Opens the interface of an end of a link.
pub fn open_capture(run: &RunState, target: CaptureTarget) -> Result<CaptureSocket> {
    if !run.kernels.is_wired() {
        return Err(FabricError::state("the run is not wired", "call wire first"));
    }
    let network = &run.network;
    let (link, end) = match target {
        CaptureTarget::Link(id) => {
            let link = network.link(id)?;
            if !network.division.has_link(link) {
                let fix = "ask the host that has it";
                return Err(FabricError::not_found("link on this host", id, fix));
            }
            let kind = links::kind(network, link);
            let is_at_server = |end: &usize| matches!(kind.site(network, link, *end), Site::Server(_));
            (link, (0..2).find(is_at_server).unwrap_or(0))
        }
        CaptureTarget::Port([id, port]) => {
            let server = network.server(id)?;
            let given = format!("{port} of server {id} on this host");
            let missing =
                || FabricError::not_found("port", given, "name a port that has a link, on its host");
            let here = network.division.has_server(server);
            let port_end = u16::try_from(port).ok().filter(|_| here);
            let end = port_end
                .and_then(|port| network.port(server, port))
                .ok_or_else(missing)?;
            (end.link, end.end)
        }
    };
    let index = links::interface(network, link, end);
    let name = match network.places[link][end] {
        Place::Server { port, .. } => names::port_name(port),
        Place::Switch { .. } => names::switch_port_name(network.description.links[link].id, end),
    };
    let namespace = match links::kind(network, link).site(network, link, end) {
        Site::Room(room) => &run.kernels.rooms[room].namespace,
        Site::Server(server) => {
            let Some(kernel) = &run.kernels.servers[server] else {
                let message = format!("server {} is not wired", run.id(server));
                return Err(FabricError::state(message, "recover the server first"));
            };
            &kernel.namespace
        }
    };
    namespace.run(|| CaptureSocket::open(&name, index))
}
