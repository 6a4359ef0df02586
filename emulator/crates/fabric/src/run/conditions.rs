//! Brings the network into the condition that the faults ask for, by what differs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::actor::{Actor, monotonic_nanos};
use super::messages::link_rate;
use crate::assembly;
use crate::error::{FabricError, Result};
use crate::faults::{Conditions, Effect, EndCondition, Fault, QueueCondition, ServerCondition, fault_name};
use crate::names;
use crate::netlink::{
    Batch, Impairment, no_excuse, replace_leaf_with_fifo, replace_leaf_with_impairment, set_rate, set_up,
};
use crate::network::{Checked, Place};
use crate::probe;
use crate::routes::Routes;
use crate::wiring::{self, PortEnd};

/// Packets a link with delay may hold: 10 s of full packets at 100 Mb/s and MTU 9000.
const IMPAIRED_QUEUE_PACKETS: u32 = 14_000;

impl Actor {
    pub(super) fn inject(&mut self, fault: Value) -> Result<Value> {
        let fault = Fault::from_json(&self.network, fault)?;
        if self.switches.is_none() {
            return Err(FabricError::state("the run is not wired", "call wire first"));
        }
        if self.faults.iter().any(|other| other.id == fault.id) {
            let fix = "recover it first, or give another id";
            return Err(FabricError::bad(
                "fault.id",
                &fault.id,
                "unlike every fault's that is in effect",
                fix,
            ));
        }
        if fault.needs_netem() && !probe::has_netem() {
            let fix = "use link-rate, or a kernel with sch_netem";
            return Err(FabricError::unsupported(
                "this kernel has no netem, so links cannot lose or delay",
                fix,
            ));
        }
        if !self.plain && matches!(fault.effect, Effect::Freeze(_)) {
            return Err(FabricError::unsupported(
                "containers are frozen by their engine",
                "use docker pause",
            ));
        }
        let (id, kind) = (fault.id.clone(), fault.kind);
        self.faults.push(fault);
        self.apply_conditions()?;
        let at_nanos = monotonic_nanos();
        self.tell(
            json!({"kind": "fault-injected", "fault": id, "what": format!("{kind:?}"), "at_nanos": at_nanos}),
        );
        Ok(json!({"at_nanos": at_nanos}))
    }

    pub(super) fn recover(&mut self, fault: &Value) -> Result<Value> {
        let before = self.faults.len();
        if fault == "all" {
            self.faults.clear();
        } else {
            let name = fault_name(fault)?;
            self.faults.retain(|fault| fault.id != name);
            if self.faults.len() == before {
                return Err(FabricError::not_found(
                    "fault",
                    name,
                    "name a fault that is in effect, or all",
                ));
            }
        }
        self.apply_conditions()?;
        let at_nanos = monotonic_nanos();
        self.tell(json!({"kind": "fault-recovered", "fault": fault, "at_nanos": at_nanos}));
        Ok(json!({"at_nanos": at_nanos, "recovered": before - self.faults.len()}))
    }

    /// Compares the condition of everything with what the faults ask for, and changes what differs.
    pub(super) fn apply_conditions(&mut self) -> Result<()> {
        let wanted = Conditions::under(&self.network, &self.faults);
        let applied = std::mem::replace(&mut self.applied, wanted.clone());
        for (server, (was, is)) in applied.servers.iter().zip(&wanted.servers).enumerate() {
            // A process ends before its ports go, and comes back after them.
            if was != is && *is != ServerCondition::Running {
                self.change_process(server, *is);
            }
        }
        self.apply_links(&applied, &wanted)?;
        self.apply_outside(&applied, &wanted)?;
        self.tell_rates(&applied, &wanted);
        for (server, (was, is)) in applied.servers.iter().zip(&wanted.servers).enumerate() {
            if was != is && *is == ServerCondition::Running {
                self.bring_back(server, *was)?;
            }
        }
        Ok(())
    }

    fn apply_links(&mut self, applied: &Conditions, wanted: &Conditions) -> Result<()> {
        let mut of_switches = Batch::new();
        let mut of_servers: BTreeMap<usize, Batch> = BTreeMap::new();
        let links = applied.ends.iter().zip(&wanted.ends).enumerate();
        for (link, (was, is)) in links.filter(|(link, _)| self.network.division.has_link(*link)) {
            for end in 0..2 {
                let (was, is) = (&was[end], &is[end]);
                if was == is {
                    continue;
                }
                match self.network.places[link][end] {
                    Place::Switch { .. } => self.change_end(&mut of_switches, link, end, was, is),
                    Place::Server { server, port } => {
                        let batch = of_servers.entry(server).or_default();
                        self.change_end(batch, link, end, was, is);
                        if is.up && !was.up {
                            wiring::port_neighbours(batch, &self.network, server, port);
                        }
                    }
                }
            }
        }
        for (switch, (was, is)) in applied.switches.iter().zip(&wanted.switches).enumerate() {
            if was != is && self.network.division.has_switch(switch) {
                let id = self.network.network.switches[switch].id;
                set_up(&mut of_switches, names::switch_index(id), *is);
            }
        }
        if let Some(switches) = &mut self.switches {
            switches.netlink.run(&mut of_switches, no_excuse)?;
        }
        for (server, mut batch) in of_servers {
            // A server that is not there has no ports; it gets its condition when it is wired again.
            if let Some(kernel) = &mut self.kernels[server] {
                kernel.netlink.run(&mut batch, no_excuse)?;
            }
        }
        Ok(())
    }

    /// A gateway that is off has no cable to the outside either.
    fn apply_outside(&mut self, applied: &Conditions, wanted: &Conditions) -> Result<()> {
        let Some(outside) = &mut self.outside else {
            return Ok(());
        };
        for (server, (was, is)) in applied.servers.iter().zip(&wanted.servers).enumerate() {
            let (was, is) = (*was != ServerCondition::Killed, *is != ServerCondition::Killed);
            // Of a container that is gone the cable is too; it comes back when the server is wired again.
            if was != is && self.kernels[server].is_some() {
                outside.set_joined(&self.network, server, is)?;
            }
        }
        Ok(())
    }

    /// Nodes measure what is left of their links' rates: they learn of those that change.
    fn tell_rates(&mut self, applied: &Conditions, wanted: &Conditions) {
        for server in 0..self.nodes.len() {
            let rate = |conditions: &Conditions, port: &PortEnd| {
                conditions.ends[port.link][port.end].rate_bits_per_sec
            };
            let changed: Vec<_> = self.ports[server]
                .iter()
                .filter(|port| rate(applied, port) != rate(wanted, port))
                .map(|port| link_rate(port.port, rate(wanted, port)))
                .collect();
            if let Some(socket) = &mut self.nodes[server].socket {
                for message in &changed {
                    socket.send(message);
                }
            }
            self.watch_room(server);
        }
    }

    fn change_end(&self, batch: &mut Batch, link: usize, end: usize, was: &EndCondition, is: &EndCondition) {
        let index = wiring::end_index(&self.network, link, end);
        let mut shape = wiring::end_shape(&self.network, link);
        if was.rate_bits_per_sec != is.rate_bits_per_sec {
            shape.rate_bits_per_sec = is.rate_bits_per_sec;
            set_rate(batch, index, &shape);
        }
        if was.queue != is.queue {
            match is.queue {
                QueueCondition::Normal => replace_leaf_with_fifo(batch, index, shape.queue_bytes),
                QueueCondition::Cut => replace_leaf_with_fifo(batch, index, 0),
                QueueCondition::Impaired { delay_secs, loss } => {
                    let queue_packets = IMPAIRED_QUEUE_PACKETS;
                    let impairment = Impairment {
                        delay_secs,
                        loss,
                        queue_packets,
                    };
                    replace_leaf_with_impairment(batch, index, &impairment);
                }
            }
        }
        if was.up != is.up {
            set_up(batch, index, is.up);
        }
    }

    fn change_process(&mut self, server: usize, condition: ServerCondition) {
        if !self.plain {
            return;
        }
        if let Some(process) = &self.nodes[server].process {
            match condition {
                ServerCondition::Killed => process.kill(),
                ServerCondition::Frozen => process.freeze(true),
                ServerCondition::Running => process.freeze(false),
            }
        }
    }

    fn bring_back(&mut self, server: usize, was: ServerCondition) -> Result<()> {
        if !self.plain {
            return Ok(());
        }
        if was == ServerCondition::Frozen {
            self.change_process(server, ServerCondition::Running);
            return Ok(());
        }
        // A server that was off has forgotten its flows and what it knew of its neighbours.
        if let Some(mut process) = self.nodes[server].process.take() {
            process.kill();
            process.collect();
        }
        self.nodes[server].socket = None;
        self.nodes[server].last_counts.clear();
        let routes = Routes::new(&self.network);
        if let Some(fast_path) = self.kernels[server]
            .as_mut()
            .and_then(|kernel| kernel.fast_path.as_mut())
        {
            fast_path.forget_flows();
            assembly::fill_maps(&self.network, &routes, server, fast_path)?;
        }
        self.start_node(server)
    }
}

/// A server's ports whose links have another rate than the network's, with it.
pub(super) fn unusual_rates(network: &Checked, applied: &Conditions, ports: &[PortEnd]) -> Vec<(u16, f64)> {
    let rate = |port: &PortEnd| applied.ends[port.link][port.end].rate_bits_per_sec;
    let usual = network.network.rate_bits_per_sec;
    let unusual = ports.iter().filter(|port| rate(port) != usual);
    unusual.map(|port| (port.port, rate(port))).collect()
}
