//! The interface of forwardings in user space: the packet half of a server.
//!
//! Sans-IO: frames come in as bytes, verdicts go out as values. The kernel's programs (`bpf/`) do
//! the same with the same tables, and both are tested with the same vectors.

use cubeyard_chip::ServerSwitch;

use crate::counts::{FlowCount, Traffic};
use crate::drops::DropReason;
use crate::flow::Flow;
use crate::frame::PacketBuffer;
use crate::inspection::Section;
use crate::protocol::Time;
use crate::tables::{TableError, TableUpdate};

/// The decision on a frame. A frame can have several verdicts (broadcast, replication), or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send the buffer's frame by a port.
    Send {
        /// The port to send by.
        port: u8,
    },
    /// Send another frame by a port: a copy with other addresses or headers.
    SendCopy {
        /// The port to send by.
        port: u8,
        /// The frame to send.
        frame: Vec<u8>,
    },
    /// Give the buffer's frame to the server's applications.
    Deliver,
    /// Leave the frame to the kernel's stack: control traffic.
    Pass,
    /// Drop the frame, which has been counted.
    Drop(DropReason),
}

/// The forwarding state of one server.
pub trait Forwarding {
    /// Free bytes in front of a frame that [`Forwarding::send`] needs.
    fn headroom_bytes(&self) -> usize;

    /// Handles a frame of the server's own applications, as the virtual network card sent it.
    /// Appends verdicts to `out`.
    fn send(&mut self, packet: &mut PacketBuffer, now: Time, out: &mut Vec<Verdict>);

    /// Handles a frame that arrived at a port. Appends verdicts to `out`.
    fn receive(&mut self, port: u8, packet: &mut PacketBuffer, now: Time, out: &mut Vec<Verdict>);

    /// Changes a table. Errors: an unknown table, or a key or value of the wrong length.
    fn apply(&mut self, update: &TableUpdate) -> Result<(), TableError>;

    /// Replaces the current program by a user's program, if the forwarding supports that
    /// ([`crate::catalog::ForwardingEntry::program`]). Errors: not supported, or a program that
    /// cannot run here; then nothing has changed.
    fn set_program(&mut self, text: &str) -> Result<(), TableError> {
        let _ = text;
        Err(TableError::new(
            "program",
            "this forwarding runs no programs of users",
        ))
    }

    /// The switching chip of this forwarding, for users' programs that call it; `None` without a
    /// chip.
    fn chip(&mut self) -> Option<&mut ServerSwitch> {
        None
    }

    /// State for display that is not in the protocol's tables.
    fn inspect(&self) -> Vec<Section> {
        Vec::new()
    }

    /// The traffic of the server so far.
    fn traffic(&self) -> Traffic;

    /// Packets dropped so far, by [`DropReason::index`].
    fn drops(&self) -> &[u64; DropReason::COUNT];

    /// The data that each flow from this server has sent so far, ordered by five-tuple.
    fn flow_counts(&self) -> Vec<(Flow, FlowCount)>;

    /// The records for the protocol ([`crate::protocol::Input::Notice`]) since the last call.
    fn take_notices(&mut self) -> Vec<Vec<u8>>;
}
