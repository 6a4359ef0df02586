//! Messages of nodes: stores reports, and checks and carries out requests. A node may change only
//! its own server's tables, within the rules of the run.

use cubeyard_dataplane::event::SwitchReason;
use cubeyard_dataplane::tables::{TableError, TableUpdate};
use cubeyard_messages::{FlowRow, ToFabric, decode};

use super::events::EventKind;
use super::state::RunState;
use super::verbs::chip;
use super::verbs::inspect::on_inspected;

impl RunState {
    /// Handles one message of a node. A failure becomes an event.
    pub fn on_message(&mut self, server: usize, bytes: &[u8]) {
        let read = decode::<ToFabric>(bytes);
        let result = read.and_then(|message| {
            let handled = self.handle_message(server, message);
            handled.map_err(|error| error.to_string())
        });
        if let Err(message) = result {
            let server = self.id(server);
            self.events.add(EventKind::NodeRefused { server, message });
        }
    }

    fn handle_message(&mut self, server: usize, message: ToFabric) -> Result<(), TableError> {
        let id = self.id(server);
        match message {
            ToFabric::Ready => {
                self.wiring.on_ready(server);
                self.check_wiring();
            }
            ToFabric::Table(update) => self.apply(server, &update)?,
            ToFabric::Event { at_nanos, event } => self.events.add_of_node(id, at_nanos, event),
            ToFabric::Flows { rows } => {
                for row in rows {
                    self.on_flow(server, row);
                }
            }
            ToFabric::Latencies(counts) => self.latencies.set(server, counts),
            ToFabric::Traffic(counts) => self.telemetry.forwarding.set(server, counts),
            ToFabric::Inspected(inspection) => on_inspected(self, server, inspection),
            ToFabric::Chip { id, answer } => chip::on_answer(self, server, id, &answer),
            ToFabric::Call { asker, request } => {
                let called = self.on_call(server, asker, &request.0);
                called.map_err(|error| TableError::new("chip", error.to_string()))?;
            }
            ToFabric::Error { message } => {
                self.wiring.refuse(server, id, &message);
                self.events.add(EventKind::NodeError { server: id, message });
            }
        }
        Ok(())
    }

    /// Changes a server's table in the kernel, if the shape of the change is right and the rules of
    /// the run allow it. Does nothing for a server that has lost its programs with its container.
    fn apply(&mut self, server: usize, update: &TableUpdate) -> Result<(), TableError> {
        let kernel = self.kernels.servers[server].as_mut();
        let programs = kernel.and_then(|kernel| kernel.programs.as_mut());
        let (Some(programs), Some(rules)) = (programs, &self.network.places_of_servers.rules) else {
            return Ok(());
        };
        let unknown = || TableError::new(&update.table, "there is no such table");
        let schema = programs.schema(&update.table).ok_or_else(unknown)?;
        schema.check(update)?;
        rules.check(self.network.description.servers[server].id, update)?;
        programs.apply(update)
    }

    fn on_flow(&mut self, server: usize, row: FlowRow) {
        if let Some(at) = self.workload.update(server, &row) {
            // Only the port is new, so the flow has no other reason to move.
            self.tell_path(at, SwitchReason::Recovery);
            if let Some(responses) = self.workload.responses_to(at) {
                self.tell_path(responses, SwitchReason::Recovery);
            }
        }
        if row.done {
            let (server, flow, reason) = (self.id(server), row.id, row.reason);
            self.events.add(EventKind::FlowDone { server, flow, reason });
        }
    }
}
