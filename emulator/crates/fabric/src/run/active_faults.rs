//! The faults in effect. Brings the network into the state that they require.

use std::collections::BTreeSet;

use super::state::RunState;
use super::verbs::wire::start_node;
use crate::error::{FabricError, Result};
use crate::faults::{Conditions, EndCondition, Fault, ServerCondition};
use crate::links::{self, Requests, Site};
use crate::netlink::no_excuse;
use crate::network::{Network, PortEnd};
use crate::servers::{interfaces, maps};
use crate::switches;
use cubeyard_messages::ToNode;

/// The faults in effect, and the current state of the network.
#[derive(Debug)]
pub struct ActiveFaults {
    faults: Vec<Fault>,
    applied: Conditions,
}

impl ActiveFaults {
    /// The initial state without faults.
    pub fn new(network: &Network) -> ActiveFaults {
        ActiveFaults {
            faults: Vec::new(),
            applied: Conditions::under(network, []),
        }
    }

    /// Names of the faults in effect.
    pub fn ids(&self) -> Vec<String> {
        self.faults.iter().map(|fault| fault.id.clone()).collect()
    }

    /// Adds a fault, which takes effect with [`RunState::apply_faults`].
    pub fn add(&mut self, fault: Fault) -> Result<()> {
        if self.faults.iter().any(|other| other.id == fault.id) {
            let limit = "unique among the faults in effect";
            let fix = "recover that fault first, or give another id";
            return Err(FabricError::bad("fault.id", &fault.id, limit, fix));
        }
        self.faults.push(fault);
        Ok(())
    }

    /// Removes the fault of this name.
    pub fn remove(&mut self, name: &str) -> Result<()> {
        let Some(at) = self.faults.iter().position(|fault| fault.id == name) else {
            let fix = "name a fault that is in effect, or all";
            return Err(FabricError::not_found("fault", name, fix));
        };
        self.faults.remove(at);
        Ok(())
    }

    /// Removes all faults; returns their number.
    pub fn clear(&mut self) -> usize {
        std::mem::take(&mut self.faults).len()
    }

    /// State of a server's process.
    pub fn server(&self, server: usize) -> ServerCondition {
        self.applied.servers[server]
    }

    /// Indices of the links with an end that is down.
    pub fn links_down(&self) -> impl Iterator<Item = usize> {
        let ends = self.applied.ends.iter().enumerate();
        ends.filter(|(_, ends)| ends.iter().any(|end| !end.up))
            .map(|(link, _)| link)
    }

    /// Whether an end of a link is set up.
    pub fn is_end_up(&self, link: usize, end: usize) -> bool {
        self.applied.ends[link][end].up
    }

    /// Records that these servers and their links were created again, and are in the state without
    /// faults.
    pub fn forget(&mut self, network: &Network, servers: &BTreeSet<usize>) {
        let normal = Conditions::under(network, []);
        for server in servers {
            self.applied.servers[*server] = ServerCondition::Running;
            for port in &network.ports[*server] {
                self.applied.ends[port.link] = normal.ends[port.link];
            }
        }
    }

    /// The current rate of a port's link.
    pub fn rate(&self, port: &PortEnd) -> f64 {
        rate(&self.applied, port)
    }

    /// Those of the given ports whose links do not have the network's default rate, with their
    /// rates.
    pub fn unusual_rates(&self, network: &Network, ports: &[PortEnd]) -> Vec<(u16, f64)> {
        let usual = network.description.rate_bits_per_sec;
        let rates = ports.iter().map(|port| (port.port, rate(&self.applied, port)));
        rates.filter(|(_, rate)| *rate != usual).collect()
    }
}

fn rate(conditions: &Conditions, port: &PortEnd) -> f64 {
    conditions.ends[port.link][port.end].rate_bits_per_sec
}

impl RunState {
    /// Compares the state of all parts with the state that the faults require, and applies the
    /// differences.
    pub fn apply_faults(&mut self) -> Result<()> {
        let wanted = Conditions::under(&self.network, &self.active_faults.faults);
        let applied = std::mem::replace(&mut self.active_faults.applied, wanted.clone());
        let changed = applied.servers.iter().zip(&wanted.servers).enumerate();
        let changed = changed.filter(|(_, (was, is))| was != is);
        let changed: Vec<_> = changed.map(|(server, (was, is))| (server, *was, *is)).collect();
        for &(server, _, is) in &changed {
            // A process must end before its ports are removed; it restarts after they are back.
            if is != ServerCondition::Running {
                self.change_process(server, is);
            }
        }
        let requests = change_network(&self.network, &applied, &wanted);
        self.kernels.run(requests, no_excuse)?;
        let up = |ends: &[EndCondition; 2]| ends.map(|end| end.up);
        for (link, (was, is)) in applied.ends.iter().zip(&wanted.ends).enumerate() {
            if up(was) != up(is) {
                self.routes.lose(&self.network, link);
            }
        }
        self.bring_routes()?;
        for &(server, was, is) in &changed {
            // A gateway that is off must have no cable to the external network.
            let (was, is) = (was != ServerCondition::Killed, is != ServerCondition::Killed);
            if was != is {
                self.kernels.set_external(server, is)?;
            }
        }
        self.send_rates(&applied, &wanted);
        for &(server, was, is) in &changed {
            if is == ServerCondition::Running {
                self.bring_back(server, was)?;
            }
        }
        Ok(())
    }

    /// Sends changed rates to nodes: they measure the free capacity of their links.
    fn send_rates(&mut self, applied: &Conditions, wanted: &Conditions) {
        for server in self.network.servers_here() {
            let ports = self.network.ports[server].iter();
            let changed = ports.filter(|port| rate(applied, port) != rate(wanted, port));
            let messages: Vec<_> = changed
                .map(|port| ToNode::LinkRate {
                    port: port.port as u8,
                    rate_bits_per_sec: rate(wanted, port),
                })
                .collect();
            self.nodes.send(server, &messages);
        }
    }

    fn change_process(&mut self, server: usize, condition: ServerCondition) {
        // The container engine kills and pauses processes in containers.
        if !self.wiring.plain {
            return;
        }
        if let Some(process) = self.nodes.process(server) {
            match condition {
                ServerCondition::Killed => process.kill(),
                ServerCondition::Frozen => process.freeze(true),
                ServerCondition::Running => process.freeze(false),
            }
        }
    }

    fn bring_back(&mut self, server: usize, was: ServerCondition) -> Result<()> {
        if !self.wiring.plain || !self.network.division.has_server(server) {
            return Ok(());
        }
        if was == ServerCondition::Frozen {
            self.change_process(server, ServerCondition::Running);
            return Ok(());
        }
        // A server that was killed has lost its flows and its state of neighbours.
        self.nodes.end_process(server);
        self.nodes.disconnect(server);
        self.flow_rates.forget(server);
        let kernel = self.kernels.servers[server].as_mut();
        if let Some(programs) = kernel.and_then(|kernel| kernel.programs.as_mut()) {
            programs.forget_flows();
            maps::fill(&self.network, server, programs)?;
        }
        start_node(self, server)
    }
}

/// The requests that bring links and switches of this host from one state to another.
fn change_network(network: &Network, applied: &Conditions, wanted: &Conditions) -> Requests {
    let mut requests = Requests::default();
    let ends = applied.ends.iter().zip(&wanted.ends).enumerate();
    for (link, (was, is)) in ends.filter(|(link, _)| network.division.has_link(*link)) {
        for end in (0..2).filter(|end| was[*end] != is[*end]) {
            let (was, is) = (&was[end], &is[end]);
            links::change_end(&mut requests, network, link, end, [was, is]);
            // The kernel removes the neighbours of a port that goes down, so they are added again.
            let site = links::kind(network, link).site(network, link, end);
            if let Site::Server(server) = site
                && is.up
                && !was.up
            {
                let port = network.ports[server]
                    .iter()
                    .find(|port| port.link == link && port.end == end);
                if let Some(port) = port {
                    interfaces::add_neighbours(requests.at(site), network, server, port.port);
                }
            }
        }
    }
    let forwarding = applied.switches.iter().zip(&wanted.switches).enumerate();
    for (switch, (_, is)) in forwarding.filter(|(_, (was, is))| was != is) {
        if network.division.has_switch(switch) {
            let batch = requests.at(Site::Room(network.rooms.of_switch(switch)));
            switches::kind(network, switch).set_forwarding(batch, network, switch, *is);
        }
    }
    requests
}
