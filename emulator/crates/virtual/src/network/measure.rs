//! The periodic measurements of links that servers and controllers receive.

use cubeyard_dataplane::protocol::Input;
use cubeyard_dataplane::run_role::{ControllerOutput, Tick};
use cubeyard_topology::NodeId;

use super::Network;
use crate::flow::fair_shares;

/// Share of the former value that a smoothed measurement keeps: as a node's meters, over a second.
const KEPT: f64 = 0.8187;

impl Network {
    /// Gives every flow its max-min fair rate, and passes the free bandwidth of their links to the
    /// servers.
    pub(super) fn measure(&mut self) {
        let rate = self.options.rate_bits_per_sec;
        let shares: Vec<(&[usize], f64)> = (0..self.flows.len())
            .map(|number| {
                let flow = &self.flows[number];
                let links = if self.flows_well(number) {
                    &flow.links[..]
                } else {
                    &[]
                };
                (links, flow.most_bits_per_sec / rate)
            })
            .collect();
        let (shares, left) = fair_shares(&shares, 2 * self.topology.link_count());
        for (seen, left) in self.seen_left.iter_mut().zip(&left) {
            *seen = KEPT * *seen + (1.0 - KEPT) * left;
        }
        for server in self.servers() {
            for port in self.wiring.ports(server) {
                let seen = |link: Option<usize>| link.map_or(0.0, |link| self.seen_left[link] * rate);
                let available = Input::Available {
                    port,
                    out_bits_per_sec: seen(self.wiring.outward((server, port))),
                    in_bits_per_sec: seen(self.wiring.inward((server, port))),
                };
                self.input(server, available);
            }
        }
        for (number, share) in shares.into_iter().enumerate() {
            let bits_per_sec = share * rate;
            let state = &mut self.flows[number];
            state.rate_bits_per_sec = bits_per_sec;
            let (flow, source) = (state.flow, state.source);
            self.input(source, Input::FlowRate { flow, bits_per_sec });
        }
        self.tell_controllers(&left);
    }

    /// Shows the controllers a tick, and does what they want done.
    fn tell_controllers(&mut self, left: &[f64]) {
        let (now, rate) = (self.now(), self.options.rate_bits_per_sec);
        let works = |link: usize| !self.failures.link_failed(link as u32 / 2);
        let tick = Tick {
            carried_bits_per_sec: left.iter().map(|left| (1.0 - left) * rate).collect(),
            rate_bits_per_sec: (0..left.len())
                .map(|link| if works(link) { rate } else { 0.0 })
                .collect(),
        };
        let mut controllers = std::mem::take(&mut self.controllers);
        for controller in &mut controllers {
            controller.observe(now, &tick);
            while let Some(output) = controller.poll_output() {
                match output {
                    ControllerOutput::Table { server, update } => self.apply(server, &update),
                    ControllerOutput::Event(event) => self.log.push((now, NodeId::MAX, event)),
                }
            }
        }
        self.controllers = controllers;
    }
}
