//! The interface of protocols: the control half of a server.
//!
//! A protocol is sans-IO: the caller passes the time and an event ([`Input`]) and polls for actions
//! ([`Output`]). A container feeds it from sockets and the monotonic clock; the crate
//! `cubeyard-virtual` feeds it from an event queue in virtual time. Packets are the other half: see
//! [`crate::forwarding`].

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::event::Event;
use crate::flow::Flow;
use crate::inspection::Inspection;
use crate::service::Services;
use crate::tables::TableUpdate;

/// A time, measured from the clock's zero. It never decreases.
pub type Time = Duration;

/// The protocol of one server.
pub trait Protocol {
    /// Handles an event. `now` never decreases from one call to the next.
    fn handle(&mut self, now: Time, input: Input<'_>);

    /// The next action, in order; `None` when there is none left.
    fn poll_output(&mut self) -> Option<Output>;

    /// When [`Input::Timeout`] is due if no other event comes first.
    fn next_timeout(&self) -> Option<Time>;

    /// The protocol's state, for users.
    fn inspect(&self, now: Time) -> Inspection;

    /// Number of the path that a flow from this server takes now; 0 without a path, or if paths
    /// have no numbers.
    fn path_of(&self, flow: &Flow) -> u32;

    /// The services of this server; `None` for a protocol without services.
    fn services(&mut self) -> Option<&mut dyn Services> {
        None
    }

    /// Time over which the caller smooths the values of [`Input::Available`]: older loads count for
    /// less than a third. `[ours]`
    fn load_memory(&self) -> Duration {
        Duration::from_secs(1)
    }
}

/// An event at a server.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// The time of [`Protocol::next_timeout`] has come. An early one does no harm.
    Timeout,
    /// A control message arrived at a port. Its sender is not authenticated.
    Message {
        /// The port of arrival.
        port: u8,
        /// The address of the sender.
        from: Ipv4Addr,
        /// The payload of the datagram.
        bytes: &'a [u8],
    },
    /// A record of the forwarding in the protocol's own format, for example a new flow or a dead
    /// next hop.
    Notice(&'a [u8]),
    /// The current rate of a flow from this server, in bits per second. It also shows that the flow
    /// is alive.
    FlowRate {
        /// The flow's five-tuple.
        flow: Flow,
        /// The flow's rate.
        bits_per_sec: f64,
    },
    /// A flow from this server has ended.
    FlowEnded(Flow),
    /// A port has lost or regained its carrier.
    Carrier {
        /// The number of the port.
        port: u8,
        /// Whether the port has a carrier.
        up: bool,
    },
    /// Free bandwidth of a port's link, in bits per second.
    Available {
        /// The number of the port.
        port: u8,
        /// Free bandwidth from the server.
        out_bits_per_sec: f64,
        /// Free bandwidth to the server.
        in_bits_per_sec: f64,
    },
}

/// An action that a protocol requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Send a control message to a neighbour.
    Send {
        /// The port to send by.
        port: u8,
        /// The address of the neighbour.
        to: Ipv4Addr,
        /// The payload of the datagram.
        bytes: Vec<u8>,
    },
    /// Change an entry of the forwarding tables.
    Table(TableUpdate),
    /// Report an event to the log.
    Event(Event),
}
