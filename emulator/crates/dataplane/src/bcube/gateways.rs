//! Gateways from a server's point of view: chooses the gateway for its packets to an external
//! network. `[bcube §5.3]`
//!
//! The paper leaves the choice to the operator, or to the state of the network. We choose the
//! nearest gateway with a usable path and keep it as long as it has one, so that flows do not
//! alternate between gateways.

use cubeyard_routing::bcube::Shape;
use cubeyard_topology::NodeId;

use super::bsr::Bsr;
use super::structure::Path;
use super::tables::OUTSIDE;
use crate::address::{is_virtual, server_of, virtual_ip};
use crate::event::{Event, PathSummary, SwitchReason};
use crate::flow::Flow;
use crate::protocol::Time;

/// Gateways in a server's order of preference: by hops; equally near ones in an order that differs
/// between servers, to spread the load. `[ours]`
pub fn nearest_first(shape: &Shape, server: NodeId, gateways: &[NodeId]) -> Vec<NodeId> {
    let count = gateways.len().max(1);
    let mut ordered: Vec<(usize, usize, NodeId)> = gateways
        .iter()
        .enumerate()
        .map(|(place, &gateway)| {
            let differs = |level: &usize| shape.digit(server, *level) != shape.digit(gateway, *level);
            let hops = (0..shape.levels).filter(differs).count();
            (hops, (place + server as usize) % count, gateway)
        })
        .collect();
    ordered.sort_unstable();
    ordered.into_iter().map(|(_, _, gateway)| gateway).collect()
}

/// One server's view of the gateways.
#[derive(Debug, Default)]
pub(super) struct Gateways {
    /// The gateways, nearest first.
    preferred: Vec<NodeId>,
    /// Whether this server is a gateway. A gateway also answers for external addresses.
    am_one: bool,
    in_use: Option<(NodeId, Path)>,
}

impl Gateways {
    /// Number of the path to the gateway in use; 0 for none.
    pub(super) fn path_id(&self) -> u32 {
        self.in_use.as_ref().map_or(0, |(_, path)| path.numbered.id)
    }

    pub(super) fn new(shape: &Shape, server: NodeId, gateways: &[NodeId]) -> Gateways {
        Gateways {
            preferred: nearest_first(shape, server, gateways),
            am_one: gateways.contains(&server),
            in_use: None,
        }
    }
}

impl Bsr {
    /// The server at the end of a flow's path; `None` for a flow that this server must not send.
    pub(super) fn destination_of(&self, flow: &Flow) -> Option<NodeId> {
        let (src, dst) = (flow.src.into(), flow.dst.into());
        let is_ours = virtual_ip(self.me) == Some(src) || self.gateways.am_one && !is_virtual(src);
        let to = if is_virtual(dst) {
            server_of(dst)
        } else {
            self.gateways.in_use.as_ref().map(|(gateway, _)| *gateway)
        };
        to.filter(|&server| is_ours && server != self.me && self.structure.is_present(server))
    }

    /// Updates the path to the gateway after failures. If the gateway changes, moves the flows that
    /// use it.
    pub(super) fn refresh_gateway(&mut self, now: Time) {
        if self.gateways.am_one {
            return;
        }
        let before = self.gateways.in_use.take();
        let kept = before.as_ref().map(|(gateway, _)| *gateway);
        let choice = kept
            .iter()
            .chain(&self.gateways.preferred)
            .find_map(|&gateway| Some((gateway, self.default_path(gateway)?)));
        // Without any usable gateway, keep the last one: the packets are dropped and counted at the
        // failure.
        self.gateways.in_use = choice.clone().or(before.clone());
        let Some((gateway, path)) = choice.filter(|choice| Some(choice) != before.as_ref()) else {
            return;
        };
        self.set_default(OUTSIDE, gateway, &path.numbered);
        if kept != Some(gateway) {
            for flow in self.flows.keys() {
                if !is_virtual(flow.dst.into()) {
                    self.redirect(now, &flow, gateway, &path);
                }
            }
        }
    }

    /// Redirects a flow to another gateway: first by the default path, until the flow's own paths
    /// have been probed.
    fn redirect(&mut self, now: Time, flow: &Flow, gateway: NodeId, path: &Path) {
        let Some(state) = self.flows.get_mut(flow) else {
            return;
        };
        if let Some(round) = state.round.take() {
            self.rounds.remove(&round.id);
        }
        let from_path_id = state.path_id();
        state.destination = gateway;
        state.good.clear();
        state.current = Some(path.clone());
        state.switches += 1;
        self.set_flow(flow, gateway, &path.numbered);
        self.report_event(Event::PathSwitched {
            flow: *flow,
            from_path_id,
            path: PathSummary {
                path_id: path.numbered.id,
                servers: path.servers.clone(),
                available_bits_per_sec: None,
                others: 0,
            },
            reason: SwitchReason::Failure,
        });
        self.flows.schedule(flow, now);
    }
}
