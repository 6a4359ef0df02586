//! Packets of one service that wait for a link towards one of their keys. `[camcube §5]`

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::fair::Fair;
use crate::protocol::Time;
use crate::service::{Key, MAX_QUEUES, Packet, QueuePolicy};

/// Maximum packets in one queue, and maximum bytes in all queues of a service. `[ours]`
const MOST_PACKETS: usize = 4096;
const MOST_BYTES: usize = 16 << 20;

/// A packet in a queue.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The packet that waits.
    pub packet: Packet,
    /// Hops taken so far.
    pub hops: u8,
    /// The possible keys of the packet; it goes to one of them.
    pub keys: Vec<Key>,
    /// The port of arrival; `None` for a packet of this server.
    pub from: Option<u8>,
    /// Number of its queue.
    pub queue: u8,
}

#[derive(Debug)]
struct Queue {
    policy: QueuePolicy,
    packets: VecDeque<(Time, Waiting)>,
}

/// The queues of one service.
#[derive(Debug)]
pub struct Queues {
    queues: BTreeMap<u8, Queue>,
    /// By port: the turns of the queues on that link.
    turns: Vec<Fair>,
    /// Total bytes of waiting packets.
    bytes: usize,
}

/// A packet that could leave by a link: its position in a queue, and its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    queue: u8,
    at: usize,
}

impl Queues {
    /// Creates no queues yet, for this number of links.
    pub fn new(ports: u8) -> Queues {
        Queues {
            queues: BTreeMap::new(),
            turns: vec![Fair::default(); ports.into()],
            bytes: 0,
        }
    }

    /// Number of waiting packets.
    pub fn len(&self) -> usize {
        self.queues.values().map(|queue| queue.packets.len()).sum()
    }

    /// Adds a packet to its queue; `policy` is called if the queue is new. Returns `false`, and the
    /// packet is lost, if the queue or all queues of the service together are full, or if there are
    /// too many queues.
    pub fn push(&mut self, now: Time, policy: impl FnOnce() -> QueuePolicy, waiting: Waiting) -> bool {
        let bytes = waiting.packet.payload.len();
        if usize::from(waiting.queue) >= MAX_QUEUES || self.bytes + bytes > MOST_BYTES {
            return false;
        }
        let queue = self.queues.entry(waiting.queue).or_insert_with(|| Queue {
            policy: policy(),
            packets: VecDeque::new(),
        });
        let room = queue.packets.len() < MOST_PACKETS;
        if room {
            let until = now + Duration::from_millis(queue.policy.max_millis.into());
            queue.packets.push_back((until, waiting));
            self.bytes += bytes;
        }
        room
    }

    /// Drops packets that have waited too long; returns their number.
    pub fn expire(&mut self, now: Time) -> u64 {
        let mut expired = 0;
        for queue in self.queues.values_mut() {
            while queue.packets.front().is_some_and(|(until, _)| *until <= now) {
                let dropped = queue.packets.pop_front();
                self.bytes -= dropped.map_or(0, |(_, waiting)| waiting.packet.payload.len());
                expired += 1;
            }
        }
        expired
    }

    /// The next packet for a port. Candidates are the oldest packets that `fits` accepts, one per
    /// queue; the packet is taken from the queue that has its turn.
    pub fn candidate(&self, port: u8, fits: impl Fn(&Waiting) -> bool) -> Option<Candidate> {
        let turns = self.turns.get(usize::from(port))?;
        let oldest = self.queues.iter().filter_map(|(&queue, waiting)| {
            let at = waiting.packets.iter().position(|(_, waiting)| fits(waiting))?;
            Some(Candidate { queue, at })
        });
        oldest.min_by_key(|candidate| turns.turn(candidate.queue.into()))
    }

    /// Removes a candidate from its queue, to send it by the port.
    pub fn take(&mut self, port: u8, candidate: Candidate) -> Option<Waiting> {
        let queue = self.queues.get_mut(&candidate.queue)?;
        let (_, waiting) = queue.packets.remove(candidate.at)?;
        self.bytes -= waiting.packet.payload.len();
        if let Some(turns) = self.turns.get_mut(usize::from(port)) {
            let bytes = waiting.packet.payload.len();
            turns.take(candidate.queue.into(), bytes, queue.policy.weight);
        }
        Some(waiting)
    }
}
