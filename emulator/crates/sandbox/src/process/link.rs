//! The queue between a service in a process and the owner of its socket.

use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::rc::Rc;

use crate::limits::{PROCESS_ANSWER_BYTES, PROCESS_BYTES};

/// The state that both sides share.
#[derive(Debug, Default)]
pub struct Between {
    /// Whether the service would talk to a process now.
    pub open: bool,
    /// Whether there is one.
    pub connected: bool,
    /// Whether the service wants the connection closed.
    pub hang_up: bool,
    /// Calls that the process did not read yet.
    pub calls: VecDeque<Vec<u8>>,
    /// Bytes of the waiting calls.
    pub bytes: usize,
    /// Answers that the service did not read yet.
    pub answers: VecDeque<Vec<u8>>,
}

/// The end that the owner of the process's socket holds. After every change the owner wakes the
/// service ([`cubeyard_dataplane::service::Services::wake`]).
#[derive(Clone, Debug, Default)]
pub struct ProcessLink(Rc<RefCell<Between>>);

impl ProcessLink {
    /// The state of both sides.
    pub(super) fn between(&self) -> RefMut<'_, Between> {
        self.0.borrow_mut()
    }

    /// Whether a process may connect now: one at a time, and none while the service is stopped.
    pub fn is_open(&self) -> bool {
        let between = self.0.borrow();
        between.open && !between.connected
    }

    /// A process has connected.
    pub fn connect(&self) {
        let mut between = self.between();
        between.connected = true;
        between.hang_up = false;
    }

    /// It is gone, or its connection was ended.
    pub fn disconnect(&self) {
        let mut between = self.between();
        between.connected = false;
        between.hang_up = false;
        between.calls.clear();
        between.bytes = 0;
        between.answers.clear();
    }

    /// Whether there is a process whose connection is to end.
    pub fn hangs_up(&self) -> bool {
        let between = self.0.borrow();
        between.connected && between.hang_up
    }

    /// The next call for the process.
    pub fn next_call(&self) -> Option<Vec<u8>> {
        let mut between = self.between();
        let call = between.calls.pop_front()?;
        between.bytes -= call.len();
        Some(call)
    }

    /// A call that there was no room for: it stays the next.
    pub fn put_back(&self, call: Vec<u8>) {
        let mut between = self.between();
        between.bytes += call.len();
        between.calls.push_front(call);
    }

    /// Queues an answer of the process. An answer that is too long counts as invalid and is not
    /// stored.
    pub fn answer(&self, bytes: &[u8]) {
        let kept = if bytes.len() > PROCESS_ANSWER_BYTES {
            &[]
        } else {
            bytes
        };
        self.between().answers.push_back(kept.to_vec());
    }

    /// Whether this number of bytes can be added to the queue for the process.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.0.borrow().bytes + bytes <= PROCESS_BYTES
    }
}
