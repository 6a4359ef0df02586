//! The interface of every per-server protocol: the control half of a server.
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

/// A moment, as the time since the clock's own zero. It never goes back.
pub type Time = Duration;

/// The protocol of one server.
pub trait Protocol {
    /// Takes in what happened. `now` never goes back from one call to the next.
    fn handle(&mut self, now: Time, input: Input<'_>);

    /// The next thing to do, in order; `None` when there is nothing left to do.
    fn poll_output(&mut self) -> Option<Output>;

    /// When [`Input::Timeout`] is due if nothing else happens before.
    fn next_timeout(&self) -> Option<Time>;

    /// The protocol's state, for people.
    fn inspect(&self, now: Time) -> Inspection;

    /// Number of the path that a flow from this server takes now; 0 where there is none or paths
    /// have no numbers.
    fn path_of(&self, flow: &Flow) -> u32;

    /// The services that run next to it, of which each server has an instance; `None` for a
    /// protocol without services.
    fn services(&mut self) -> Option<&mut dyn Services> {
        None
    }

    /// Time over which the caller smooths what it reports as [`Input::Available`]: a load older
    /// than this counts for less than a third. `[ours]`
    fn load_memory(&self) -> Duration {
        Duration::from_secs(1)
    }
}

/// An event at a server.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// The time of [`Protocol::next_timeout`] has come. A superfluous one does no harm.
    Timeout,
    /// A control message arrived by a port. Its sender is not authenticated.
    Message {
        /// The port of arrival.
        port: u8,
        /// The address of the sender.
        from: Ipv4Addr,
        /// The payload of the datagram.
        bytes: &'a [u8],
    },
    /// A record that the forwarding half wrote, in the protocol's own format: a new flow, a dead
    /// next hop.
    Notice(&'a [u8]),
    /// The current rate of a flow from this server, in bits per second; also a sign that the flow
    /// is alive.
    FlowRate {
        /// The flow's five-tuple.
        flow: Flow,
        /// The flow's rate.
        bits_per_sec: f64,
    },
    /// A flow from this server has ended.
    FlowEnded(Flow),
    /// A port's cable lost its carrier or has it again.
    Carrier {
        /// The number of the port.
        port: u8,
        /// Whether there is a carrier.
        up: bool,
    },
    /// Bandwidth that a port's link has left, in bits per second.
    Available {
        /// The number of the port.
        port: u8,
        /// The rate from the server.
        out_bits_per_sec: f64,
        /// The rate to the server.
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
