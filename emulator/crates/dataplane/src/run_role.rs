//! Roles for a whole run rather than for one server: controllers that read telemetry and write
//! tables. Services, which have an instance on every server, are in [`crate::service`].

use cubeyard_topology::NodeId;

use crate::event::Event;
use crate::protocol::Time;
use crate::tables::TableUpdate;

/// The input of a controller, once per tick. Columns have an entry per directed link: link `i` from
/// its end a to its end b is entry `2 * i`, the reverse direction `2 * i + 1`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tick {
    /// Average rate of each directed link since the previous tick, in bits per second.
    pub carried_bits_per_sec: Vec<f64>,
    /// Capacity of each directed link, in bits per second; 0 if the link is down.
    pub rate_bits_per_sec: Vec<f64>,
}

/// A controller, which decides for many servers.
pub trait Controller {
    /// Handles a tick. `now` never decreases.
    fn observe(&mut self, now: Time, tick: &Tick);

    /// The next action, in order; `None` when there is none left.
    fn poll_output(&mut self) -> Option<ControllerOutput>;
}

/// An action that a controller requests.
#[derive(Clone, Debug, PartialEq)]
pub enum ControllerOutput {
    /// Change an entry of a server's forwarding tables. The run's rules check it like a protocol's
    /// changes.
    Table {
        /// The server to change.
        server: NodeId,
        /// The change of its tables.
        update: TableUpdate,
    },
    /// Report an event to the log.
    Event(Event),
}
