//! Roles that belong to a run rather than to one server's protocol: controllers that read telemetry
//! and write tables. Services, of which each server has an instance, are in [`crate::service`].

use cubeyard_topology::NodeId;

use crate::event::Event;
use crate::protocol::Time;
use crate::tables::TableUpdate;

/// The input of a controller once per tick. Columns are over the run's directed links: link `i`
/// from its end a to its end b is `2 * i`, and back `2 * i + 1`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tick {
    /// The average rate on each since the previous tick, in bits per second.
    pub carried_bits_per_sec: Vec<f64>,
    /// The capacity of each, in bits per second; 0 for a link that is down.
    pub rate_bits_per_sec: Vec<f64>,
}

/// Decides for many servers at once.
pub trait Controller {
    /// Takes in a tick. `now` never goes back from one call to the next.
    fn observe(&mut self, now: Time, tick: &Tick);

    /// The next thing to do, in order; `None` when there is nothing left to do.
    fn poll_output(&mut self) -> Option<ControllerOutput>;
}

/// An action that a controller requests.
#[derive(Clone, Debug, PartialEq)]
pub enum ControllerOutput {
    /// Change an entry of a server's forwarding tables. The run's rules check it as they do a
    /// protocol's.
    Table {
        /// The server to change.
        server: NodeId,
        /// The change of its tables.
        update: TableUpdate,
    },
    /// Report an event to the log.
    Event(Event),
}
