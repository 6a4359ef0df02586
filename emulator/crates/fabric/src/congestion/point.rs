//! The congestion point of a chip's CPU: computes the feedback for sources.

use cubeyard_routing::qcn::Qcn;

/// A CPU's data about its chip's queues.
#[derive(Clone, Debug)]
pub struct Point {
    qcn: Qcn,
    answers: bool,
    /// Queue lengths at the last question, in bytes, by port.
    old: [u64; 256],
}

impl Point {
    /// Starts with empty queues. Without `answers`, queues fill up.
    pub fn new(qcn: Qcn, answers: bool) -> Point {
        Point {
            qcn,
            answers,
            old: [0; 256],
        }
    }

    /// Handles a question about a port with `queue_bytes` waiting. Returns the feedback for the
    /// source; `None` where the CPU does not answer.
    pub fn ask(&mut self, port: u8, queue_bytes: u64) -> Option<u32> {
        let old = std::mem::replace(&mut self.old[usize::from(port)], queue_bytes);
        self.answers.then(|| self.qcn.feedback(queue_bytes, old))
    }
}
