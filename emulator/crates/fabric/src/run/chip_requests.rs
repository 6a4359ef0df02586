//! Requests to servers' chips that the nodes have not answered yet, each with a deadline.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Reply;
use super::inspections::no_answer;
use crate::error::{FabricError, Result};

/// Time limit for a node's answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// Maximum number of waiting requests.
const MAX_WAITING: usize = 256;

#[derive(Debug)]
struct Waiting {
    server: usize,
    reply: Reply,
    deadline: Instant,
}

/// Waiting requests, by number.
#[derive(Debug, Default)]
pub struct ChipRequests {
    waiting: BTreeMap<u64, Waiting>,
    latest: u64,
}

impl ChipRequests {
    /// Returns a number for a new request, whose answer goes to `reply`. Errors: too many requests
    /// are waiting.
    pub fn add(&mut self, server: usize, reply: &Reply, now: Instant) -> Result<u64> {
        if self.waiting.len() >= MAX_WAITING {
            let message = format!("{MAX_WAITING} requests to chips wait for answers");
            return Err(FabricError::state(
                message,
                "wait for answers before the next request",
            ));
        }
        self.latest += 1;
        let waiting = Waiting {
            server,
            reply: reply.clone(),
            deadline: now + ANSWER_WITHIN,
        };
        self.waiting.insert(self.latest, waiting);
        Ok(self.latest)
    }

    /// Passes on the answer to a request of this server; an answer without a waiting caller is
    /// dropped.
    pub fn answer(&mut self, server: usize, id: u64, answer: Result<Value>) {
        if self
            .waiting
            .get(&id)
            .is_some_and(|waiting| waiting.server == server)
            && let Some(waiting) = self.waiting.remove(&id)
        {
            // The caller may have disconnected, so a failure is ignored.
            let _ = waiting.reply.send(answer);
        }
    }

    /// Returns an error to all callers that wait for a server.
    pub fn end(&mut self, server: usize, error: &FabricError) {
        self.remove(|waiting| waiting.server == server, |_| error.clone());
    }

    /// Returns an error to callers whose deadline has passed. `id` maps a server's index to its id.
    pub fn expire(&mut self, now: Instant, id: impl Fn(usize) -> u32) {
        self.remove(|waiting| waiting.deadline <= now, |server| no_answer(id(server)));
    }

    fn remove(&mut self, which: impl Fn(&Waiting) -> bool, error: impl Fn(usize) -> FabricError) {
        self.waiting.retain(|_, waiting| {
            let over = which(waiting);
            if over {
                let _ = waiting.reply.send(Err(error(waiting.server)));
            }
            !over
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn each_gets_its_own_answer_and_nobody_that_of_another_server() {
        let mut requests = ChipRequests::default();
        let now = Instant::now();
        let (first, first_answer) = channel();
        let (second, second_answer) = channel();
        let ids = [
            requests.add(0, &first, now).unwrap(),
            requests.add(1, &second, now).unwrap(),
        ];
        requests.answer(0, ids[1], Ok(Value::Null));
        assert!(
            second_answer.try_recv().is_err(),
            "server 0 cannot answer for server 1"
        );
        requests.answer(1, ids[1], Ok(Value::from(7)));
        assert_eq!(second_answer.try_recv().unwrap().unwrap(), 7);
        requests.expire(now + ANSWER_WITHIN, |server| server as u32 + 40);
        assert!(
            first_answer
                .try_recv()
                .unwrap()
                .unwrap_err()
                .message
                .contains("server 40")
        );
        assert!(requests.waiting.is_empty());
    }

    #[test]
    fn too_many_are_refused() {
        let mut requests = ChipRequests::default();
        let (reply, _keep) = channel();
        for _ in 0..MAX_WAITING {
            requests.add(0, &reply, Instant::now()).unwrap();
        }
        assert_eq!(requests.add(0, &reply, Instant::now()).unwrap_err().code, "state");
    }
}
