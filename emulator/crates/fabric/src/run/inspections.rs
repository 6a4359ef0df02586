//! Inspections that the nodes have not answered yet. A node may be paused, so each has a deadline.
//! Then its caller gets an error; nothing else of the run waits for it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Reply;
use crate::error::{FabricError, Result};

/// Time limit for a node's answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// Most inspections that wait for one node. One more makes the oldest fail.
const MAX_WAITING: usize = 16;

#[derive(Debug)]
struct Waiting {
    reply: Reply,
    deadline: Instant,
}

/// Waiting inspections, by server.
#[derive(Debug)]
pub struct Inspections {
    waiting: Vec<VecDeque<Waiting>>,
}

impl Inspections {
    /// The initial state without callers.
    pub fn new(servers: usize) -> Inspections {
        Inspections {
            waiting: (0..servers).map(|_| VecDeque::new()).collect(),
        }
    }

    /// Adds a caller that waits for the node of a server.
    pub fn add(&mut self, server: usize, reply: &Reply, now: Instant) {
        let waiting = &mut self.waiting[server];
        if waiting.len() == MAX_WAITING
            && let Some(oldest) = waiting.pop_front()
        {
            let fix = "wait for answers before the next inspection";
            let _ = oldest.reply.send(Err(FabricError::state(
                "there are too many inspections of this server",
                fix,
            )));
        }
        waiting.push_back(Waiting {
            reply: reply.clone(),
            deadline: now + ANSWER_WITHIN,
        });
    }

    /// Answers all callers that wait for a server. A node ignores requests that arrive before its
    /// configuration, so one answer is for all of them.
    pub fn answer(&mut self, server: usize, answer: &Result<Value>) {
        for waiting in self.waiting[server].drain(..) {
            // The caller may have disconnected, so a failure is ignored.
            let _ = waiting.reply.send(answer.clone());
        }
    }

    /// Returns an error to callers whose deadline has passed. `id` maps a server's index to its id.
    pub fn expire(&mut self, now: Instant, id: impl Fn(usize) -> u32) {
        for (server, waiting) in self.waiting.iter_mut().enumerate() {
            while waiting.front().is_some_and(|first| first.deadline <= now)
                && let Some(late) = waiting.pop_front()
            {
                let _ = late.reply.send(Err(no_answer(id(server))));
            }
        }
    }
}

/// The error for a node that is paused or has ended.
pub fn no_answer(id: u32) -> FabricError {
    FabricError::state(
        format!("the node of server {id} does not answer"),
        "recover the server first",
    )
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_late_answer_is_an_error_for_those_who_waited_too_long_and_no_others() {
        let mut inspections = Inspections::new(2);
        let start = Instant::now();
        let (early, early_answer) = channel();
        let (later, later_answer) = channel();
        inspections.add(1, &early, start);
        inspections.add(1, &later, start + ANSWER_WITHIN / 2);
        inspections.expire(start + ANSWER_WITHIN, |server| server as u32 + 40);
        let error = early_answer.try_recv().unwrap().unwrap_err();
        assert!(error.message.contains("server 41"), "{error}");
        assert!(later_answer.try_recv().is_err(), "its time is not over");
        inspections.answer(1, &Ok(Value::Null));
        assert_eq!(later_answer.try_recv().unwrap(), Ok(Value::Null));
    }

    #[test]
    fn the_oldest_of_too_many_gets_an_error() {
        let mut inspections = Inspections::new(1);
        let now = Instant::now();
        let (oldest, answer) = channel();
        inspections.add(0, &oldest, now);
        let (others, _keep) = channel();
        for _ in 0..MAX_WAITING {
            inspections.add(0, &others, now);
        }
        assert_eq!(answer.try_recv().unwrap().unwrap_err().code, "state");
    }
}
