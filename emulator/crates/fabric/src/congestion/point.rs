//! The congestion point of a chip's CPU: what it tells the sources that ask.

use cubeyard_routing::qcn::Qcn;

/// What a CPU knows of its chip's queues.
#[derive(Clone, Debug)]
pub struct Point {
    qcn: Qcn,
    answers: bool,
    /// Queues at the last question, in bytes, by port.
    old: [u64; 256],
}

impl Point {
    /// Of empty queues. One that does not answer lets queues fill.
    pub fn new(qcn: Qcn, answers: bool) -> Point {
        Point {
            qcn,
            answers,
            old: [0; 256],
        }
    }

    /// A question: so much waits at a port. What its source is to be told; `None` where the CPU
    /// does not answer.
    pub fn ask(&mut self, port: u8, queue_bytes: u64) -> Option<u32> {
        let old = std::mem::replace(&mut self.old[usize::from(port)], queue_bytes);
        self.answers.then(|| self.qcn.feedback(queue_bytes, old))
    }
}
