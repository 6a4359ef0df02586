//! What waits between a service in a process and whoever owns its socket.

use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::rc::Rc;

use crate::limits::{PROCESS_ANSWER_BYTES, PROCESS_BYTES};

/// What both sides see.
#[derive(Debug, Default)]
pub struct Between {
    /// Whether the service would talk to a process now.
    pub open: bool,
    /// Whether there is one.
    pub connected: bool,
    /// Whether the service wants its connection ended.
    pub hang_up: bool,
    /// Calls that the process did not read yet.
    pub calls: VecDeque<Vec<u8>>,
    /// Their bytes.
    pub bytes: usize,
    /// Answers that the service did not read yet.
    pub answers: VecDeque<Vec<u8>>,
}

/// The end of a service in a process that whoever owns its socket holds. After every change the
/// service is woken ([`cubeyard_dataplane::service::Services::wake`]).
#[derive(Clone, Debug, Default)]
pub struct ProcessLink(Rc<RefCell<Between>>);

impl ProcessLink {
    /// Both sides' state.
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

    /// What the process has said. One that is too long is not kept, and no answer.
    pub fn answer(&self, bytes: &[u8]) {
        let kept = if bytes.len() > PROCESS_ANSWER_BYTES {
            &[]
        } else {
            bytes
        };
        self.between().answers.push_back(kept.to_vec());
    }

    /// Whether so many more bytes may wait for the process.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.0.borrow().bytes + bytes <= PROCESS_BYTES
    }
}
