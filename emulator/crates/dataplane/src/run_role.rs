//! What belongs to a run and not to one server's protocol: controllers that read telemetry and
//! write tables. Services, of which each server has an instance, are in [`crate::service`].

use cubeyard_topology::NodeId;

use crate::event::Event;
use crate::protocol::Time;
use crate::tables::TableUpdate;

/// What a controller sees of the network, once a tick. Columns are over the run's directed links:
/// link `i` from its end a to its end b is `2 * i`, and back `2 * i + 1`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tick {
    /// What each carried since the tick before, in bits per second.
    pub carried_bits_per_sec: Vec<f64>,
    /// What each can carry, in bits per second; 0 for one that is down.
    pub rate_bits_per_sec: Vec<f64>,
}

/// Decides for many servers at once.
pub trait Controller {
    /// Takes in a tick. `now` never goes back from one call to the next.
    fn observe(&mut self, now: Time, tick: &Tick);

    /// The next thing to do, in order; `None` when there is nothing left to do.
    fn poll_output(&mut self) -> Option<ControllerOutput>;
}

/// What a controller wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum ControllerOutput {
    /// Change an entry of a server's forwarding tables. The run's rules check it as they do a
    /// protocol's.
    Table {
        /// The server.
        server: NodeId,
        /// The change.
        update: TableUpdate,
    },
    /// Report an event.
    Event(Event),
}
