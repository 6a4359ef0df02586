//! The CPU of a server's chip: a thread that sleeps until the chip forwards a question to it, and
//! answers it. The run's own thread cannot do this: it may be busy for milliseconds, but a source
//! needs its answer within microseconds.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

use super::message::{Answer, PORT};
use super::{Point, Tally};
use crate::error::{During, Result};
use crate::host::clock::monotonic_nanos;
use crate::host::scheduling::{run_at_once, run_on};
use crate::programs::{Questions, Queues};

/// How often the queue is read until the question's packet has reached it: the packet is a
/// microsecond away, on another processor.
const MOST_LOOKS: usize = 20;

/// Inputs and outputs of the thread.
pub struct Work {
    /// Index of the server.
    pub server: usize,
    /// Questions that the chip forwards.
    pub questions: Questions,
    /// Queue lengths of the server's ports.
    pub queues: Queues,
    /// Socket that sends answers.
    pub socket: UdpSocket,
    /// Secret that is part of each answer.
    pub key: u64,
    /// Computes the feedback.
    pub point: Point,
    /// Counters of questions and answers.
    pub tally: Arc<Tally>,
}

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub struct ChipCpu {
    /// Readable when the thread must end.
    end: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl ChipCpu {
    /// Starts the thread.
    pub fn start(work: Work) -> Result<ChipCpu> {
        let starting = || "starting the CPU of a chip".to_owned();
        let end = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).during(starting)?);
        let ended = end.clone();
        let thread = std::thread::Builder::new()
            .name("chip-cpu".to_owned())
            .spawn(move || work.run(&ended))
            .during(starting)?;
        Ok(ChipCpu {
            end,
            thread: Some(thread),
        })
    }
}

impl Drop for ChipCpu {
    fn drop(&mut self) {
        let notified = rustix::io::write(&self.end, &1_u64.to_ne_bytes());
        if let (Ok(_), Some(thread)) = (notified, self.thread.take()) {
            // A thread that panicked has ended too, so its result is ignored.
            let _ended = thread.join();
        }
    }
}

impl Work {
    fn run(mut self, end: &OwnedFd) {
        // The chip limits the number of questions per second, so high priority is safe. Where the
        // kernel does not grant it, answers are later.
        let _granted = run_at_once();
        let mut processor = None;
        loop {
            let mut sources = [
                PollFd::from_borrowed_fd(self.questions.as_fd(), PollFlags::IN),
                PollFd::new(end, PollFlags::IN),
            ];
            match poll(&mut sources, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            if !sources[1].revents().is_empty() {
                return;
            }
            while let Some(question) = self.questions.next_copy() {
                let Some(question) = question else { continue };
                let queue_bytes = self.queue_bytes(question.out_port, question.at_nanos);
                let feedback = self.point.ask(question.out_port, queue_bytes);
                if let Some(feedback) = feedback {
                    let answer = Answer {
                        source_port: question.source_port,
                        feedback: feedback as u8,
                        queue_bytes: u32::try_from(queue_bytes).unwrap_or(u32::MAX),
                    };
                    let to = SocketAddr::from((question.source, PORT));
                    let bytes = answer.emit(self.key);
                    let since_asked = || monotonic_nanos().saturating_sub(question.at_nanos);
                    let reaction_nanos = since_asked();
                    // Notices may be lost, like any packet. The call also forwards the notice to
                    // the next server and runs other waiting work of this processor, so the
                    // reaction time is taken before it.
                    let _lost = self.socket.send_to(&bytes, to);
                    self.tally.reacted(self.server, reaction_nanos, since_asked());
                }
                self.tally.asked_for(self.server, queue_bytes);
                // The next question most likely comes from the same processor. Waking the thread
                // there needs no interrupt of another processor.
                if processor != Some(question.processor) {
                    processor = Some(question.processor);
                    let _granted = run_on(question.processor);
                }
            }
        }
    }

    /// The queue length when the question's packet reached the port; an older reading if the packet
    /// is still on its way after several readings.
    fn queue_bytes(&self, port: u8, asked_nanos: u64) -> u64 {
        let mut waiting = self.queues.get(port);
        for _ in 1..MOST_LOOKS {
            if waiting.at_nanos >= asked_nanos {
                break;
            }
            std::thread::yield_now();
            waiting = self.queues.get(port);
        }
        waiting.bytes
    }
}
