//! Messages between the CPUs of the switches and the fabric manager, over a separate network that
//! has a delay and can lose them. Each side numbers its messages, repeats them until the other side
//! confirms them, and accepts them in order, each once. `[ours]`

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use cubeyard_topology::NodeId;

use super::edge::{ToEdge, ToManager};

/// A message without a confirmation after this time is sent again.
pub const RETRY_MICROS: u64 = 20_000;
/// The most messages in flight from one side to the other; further ones wait.
const WINDOW: usize = 32;
/// The most waiting messages; beyond it, queries of hosts are dropped, because hosts repeat them.
const MOST_WAITING: usize = 1024;

/// One datagram: a message with its number, if there is one, and the number of messages received
/// from the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Datagram<Message> {
    numbered: Option<(u64, Message)>,
    confirms: u64,
}

/// One side of one edge's connection.
#[derive(Clone, Debug)]
struct End<Says> {
    /// Messages that were sent and not confirmed, then messages that wait for space in the window;
    /// the next field is the number of the first.
    waiting: VecDeque<Says>,
    first: u64,
    /// How many of them have been sent.
    said: usize,
    /// The time at which they are sent again; `None` if nothing is unconfirmed.
    retry_at: Option<u64>,
    /// The number of messages received from the other side.
    heard: u64,
}

impl<Says: Clone + PartialEq> End<Says> {
    fn new() -> End<Says> {
        End {
            waiting: VecDeque::new(),
            first: 0,
            said: 0,
            retry_at: None,
            heard: 0,
        }
    }

    /// Queues a message. A message that may be lost is dropped if it is queued already, or if too
    /// many are. O(queue).
    fn add(&mut self, message: Says, must_arrive: bool) {
        if must_arrive || self.waiting.len() < MOST_WAITING && !self.waiting.contains(&message) {
            self.waiting.push_back(message);
        }
    }

    /// The datagrams to send now: new messages that fit in the window, or the whole window if it is
    /// due again.
    fn leave(&mut self, now: u64) -> Vec<Datagram<Says>> {
        if self.retry_at.is_some_and(|at| at <= now) {
            (self.said, self.retry_at) = (0, None);
        }
        let until = self.waiting.len().min(WINDOW);
        let numbers = self.first..;
        let all = numbers.zip(&self.waiting).take(until).skip(self.said);
        let leaving: Vec<Datagram<Says>> = all
            .map(|(number, message)| Datagram {
                numbered: Some((number, message.clone())),
                confirms: self.heard,
            })
            .collect();
        self.said = until;
        if until > 0 && self.retry_at.is_none() {
            self.retry_at = Some(now + RETRY_MICROS);
        }
        leaving
    }

    /// A datagram of the other side: its message, if that is the next one, and the confirmation
    /// that it gets.
    fn arrive<Hears>(&mut self, datagram: Datagram<Hears>) -> (Option<Hears>, Option<Datagram<Says>>) {
        while self.first < datagram.confirms && self.waiting.pop_front().is_some() {
            self.first += 1;
            self.said = self.said.saturating_sub(1);
            self.retry_at = None;
        }
        let Some((number, message)) = datagram.numbered else {
            return (None, None);
        };
        let is_next = number == self.heard;
        self.heard += u64::from(is_next);
        // A repeated message is confirmed again, because its confirmation was lost.
        let confirms = Datagram {
            numbered: None,
            confirms: self.heard,
        };
        (is_next.then_some(message), Some(confirms))
    }
}

/// A message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// A message from an edge to the manager.
    AtManager(NodeId, ToManager),
    /// A message from the manager to an edge.
    AtEdge(NodeId, ToEdge),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Flight {
    Up(NodeId, Datagram<ToManager>),
    Down(NodeId, Datagram<ToEdge>),
}

/// By when it arrives, and in order of leaving.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Flying {
    at: u64,
    order: u64,
    flight: Flight,
}

impl Ord for Flying {
    fn cmp(&self, other: &Flying) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl PartialOrd for Flying {
    fn partial_cmp(&self, other: &Flying) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Both sides of an edge's connection: the edge's, then the manager's.
type Ends = (End<ToManager>, End<ToEdge>);

/// The connections of all edges with the fabric manager.
#[derive(Clone, Debug)]
pub struct Channel {
    edges: BTreeMap<NodeId, Ends>,
    flying: BinaryHeap<Reverse<Flying>>,
    delay_micros: u64,
    /// Whether each of the next datagrams is lost; none after them.
    losses: VecDeque<bool>,
    latest: u64,
    lost: u64,
}

impl Channel {
    /// A channel without losses.
    pub fn new(delay_micros: u64) -> Channel {
        Channel {
            edges: BTreeMap::new(),
            flying: BinaryHeap::new(),
            delay_micros,
            losses: VecDeque::new(),
            latest: 0,
            lost: 0,
        }
    }

    /// Has the next datagrams lost where it is true, and no other.
    pub fn lose(&mut self, losses: impl IntoIterator<Item = bool>) {
        self.losses = losses.into_iter().collect();
    }

    /// Datagrams that were lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Datagrams that are still to be lost or spared.
    pub fn losses_left(&self) -> usize {
        self.losses.len()
    }

    /// Sends a message from an edge.
    pub fn say(&mut self, edge: NodeId, message: ToManager, now: u64) {
        let (end, _) = self.edge(edge);
        // Positions of hosts must arrive; a host that sent a query repeats it.
        end.add(message, !matches!(message, ToManager::Query(..)));
        self.send(edge, now);
    }

    /// Sends a message from the manager to an edge.
    pub fn tell(&mut self, edge: NodeId, message: ToEdge, now: u64) {
        let (_, end) = self.edge(edge);
        end.add(message, matches!(message, ToEdge::Learn(_)));
        self.send(edge, now);
    }

    /// The time of the next arrival or repetition; `None` if nothing is pending.
    pub fn next_at(&self) -> Option<u64> {
        let flying = self.flying.peek().map(|Reverse(first)| first.at);
        let ends = self.edges.values();
        let retries = ends.flat_map(|(up, down)| [up.retry_at, down.retry_at]);
        retries.chain([flying]).flatten().min()
    }

    /// The first message that has arrived by this time; call it until it returns `None`.
    pub fn next_arrival(&mut self, now: u64) -> Option<Arrived> {
        let due = |ends: &Ends| {
            [ends.0.retry_at, ends.1.retry_at]
                .iter()
                .flatten()
                .any(|at| *at <= now)
        };
        let edges: Vec<NodeId> = self
            .edges
            .iter()
            .filter(|(_, ends)| due(ends))
            .map(|(id, _)| *id)
            .collect();
        edges.into_iter().for_each(|edge| self.send(edge, now));
        while self.flying.peek().is_some_and(|Reverse(first)| first.at <= now)
            && let Some(Reverse(flying)) = self.flying.pop()
        {
            let (edge, arrived) = match flying.flight {
                Flight::Up(edge, datagram) => {
                    let (message, confirmation) = self.edge(edge).1.arrive(datagram);
                    if let Some(confirmation) = confirmation {
                        self.fly(now, Flight::Down(edge, confirmation));
                    }
                    (edge, message.map(|message| Arrived::AtManager(edge, message)))
                }
                Flight::Down(edge, datagram) => {
                    let (message, confirmation) = self.edge(edge).0.arrive(datagram);
                    if let Some(confirmation) = confirmation {
                        self.fly(now, Flight::Up(edge, confirmation));
                    }
                    (edge, message.map(|message| Arrived::AtEdge(edge, message)))
                }
            };
            // The confirmation has made space in the window.
            self.send(edge, now);
            if arrived.is_some() {
                return arrived;
            }
        }
        None
    }

    fn edge(&mut self, edge: NodeId) -> &mut Ends {
        self.edges.entry(edge).or_insert_with(|| (End::new(), End::new()))
    }

    fn send(&mut self, edge: NodeId, now: u64) {
        let (up, down) = self.edge(edge);
        let (up, down) = (up.leave(now), down.leave(now));
        for datagram in up {
            self.fly(now, Flight::Up(edge, datagram));
        }
        for datagram in down {
            self.fly(now, Flight::Down(edge, datagram));
        }
    }

    fn fly(&mut self, now: u64, flight: Flight) {
        if self.losses.pop_front() == Some(true) {
            self.lost += 1;
            return;
        }
        self.latest += 1;
        let (at, order) = (now + self.delay_micros, self.latest);
        self.flying.push(Reverse(Flying { at, order, flight }));
    }
}
