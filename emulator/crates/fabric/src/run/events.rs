//! The log of events between two frames: observations of the fabric, and reports of nodes.

use std::collections::VecDeque;

use cubeyard_dataplane::event::{Event as NodeEvent, PathSummary};
use serde::Serialize;
use serde_json::Value;

use crate::host::clock::monotonic_nanos;

/// Events of one frame; further ones are only counted. When a workload starts, each flow causes
/// four: two directions, a probe and a path.
const MAX_EVENTS: usize = 10_000;
/// Events that are kept while there are no subscribers.
const UNSEEN_EVENTS: usize = 250;

/// An event that the fabric observed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EventKind {
    /// A server's port has gained or lost its carrier.
    Carrier {
        /// Id of the server.
        server: u32,
        /// Number of the port.
        port: u16,
        /// Whether it has a carrier now.
        up: bool,
    },
    /// The process of a server's node has ended.
    NodeLost {
        /// Id of the server.
        server: u32,
    },
    /// A message of a node was refused, or a connection of another process.
    NodeRefused {
        /// Id of the server.
        server: u32,
        /// The reason for the refusal.
        message: String,
    },
    /// A node refused a message.
    NodeError {
        /// Id of the server.
        server: u32,
        /// The reason for the refusal.
        message: String,
    },
    /// A node exceeded its message rate; the excess messages were dropped.
    NodeFlooding {
        /// Id of the server.
        server: u32,
        /// Number of dropped messages.
        messages: u64,
    },
    /// A flow of the workload has ended.
    FlowDone {
        /// Id of the reporting server.
        server: u32,
        /// Id of the flow.
        flow: u32,
        /// The reason; `null` if all data has arrived.
        reason: Option<String>,
    },
    /// An MPTCP connection has a new subflow, or a subflow has a new path.
    SubflowUp {
        /// Id of the sending server.
        server: u32,
        /// Id of the flow.
        flow: u32,
        /// Number of the subflow in the connection; 0 is the first one.
        subflow: u8,
        /// The ports whose addresses the subflow uses at both ends; `null` for a server's own
        /// address.
        ports: [Option<u8>; 2],
        /// Path of the subflow; absent where paths are not computed.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<PathSummary>,
    },
    /// An MPTCP connection has lost a subflow.
    SubflowDown {
        /// Id of the sending server.
        server: u32,
        /// Id of the flow.
        flow: u32,
        /// Number of the subflow in the connection.
        subflow: u8,
        /// The reason: `closed` or `no-path`.
        reason: &'static str,
    },
    /// A caller sent a message to a service.
    ServiceMessage {
        /// Id of the receiving server.
        server: u32,
        /// Name of the service.
        service: String,
        /// The beginning of the message.
        message: String,
        /// Length of the whole message, in bytes.
        bytes: usize,
    },
    /// A user's program was loaded into the chips of the servers.
    ProgramCommitted {
        /// Number of servers.
        servers: usize,
        /// Time to load it into all chips, in microseconds.
        micros: u64,
    },
    /// A fault took effect.
    FaultInjected {
        /// Id of the fault.
        fault: String,
        /// Kind of the fault.
        what: &'static str,
    },
    /// Faults were recovered.
    FaultRecovered {
        /// Id of the fault, or `all`.
        fault: Value,
    },
    /// Packets for the tunnels were dropped: they came from no host of the run, or from a program
    /// on this host.
    StrangersRefused {
        /// Number of packets since the last such event.
        packets: u64,
    },
    /// There were more events than fit a frame.
    EventsLost {
        /// Number of missing events.
        count: u64,
    },
    /// An operation of the fabric failed.
    FabricError {
        /// The problem and its cause.
        message: String,
    },
}

/// An event with its time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Event {
    /// An event of the fabric.
    Own {
        /// Kind of the event and its fields.
        #[serde(flatten)]
        kind: EventKind,
        /// Time on the monotonic clock.
        at_nanos: u64,
    },
    /// An event of a server's protocol.
    OfNode {
        /// The node's event.
        #[serde(flatten)]
        event: NodeEvent,
        /// Id of the server.
        server: u32,
        /// Time on the monotonic clock.
        at_nanos: u64,
    },
}

/// Events that no frame has reported yet.
#[derive(Debug, Default)]
pub struct EventLog {
    waiting: VecDeque<Event>,
    lost: u64,
}

impl EventLog {
    /// Adds an event of the fabric that happens now.
    pub fn add(&mut self, kind: EventKind) {
        self.add_at(kind, monotonic_nanos());
    }

    /// Adds an event of the fabric that happened at this time.
    pub fn add_at(&mut self, kind: EventKind, at_nanos: u64) {
        self.push(Event::Own { kind, at_nanos });
    }

    /// Adds an event of a server's protocol.
    pub fn add_of_node(&mut self, server: u32, at_nanos: u64, event: NodeEvent) {
        self.push(Event::OfNode {
            event,
            server,
            at_nanos,
        });
    }

    fn push(&mut self, event: Event) {
        if self.waiting.len() < MAX_EVENTS {
            self.waiting.push_back(event);
        } else {
            self.lost += 1;
        }
    }

    /// Drops all but the latest events, while there are no subscribers.
    pub fn forget_old(&mut self) {
        let excess = self.waiting.len().saturating_sub(UNSEEN_EVENTS);
        self.waiting.drain(..excess);
    }

    /// Events since the last call. If some were dropped, the last event has their number.
    pub fn take(&mut self) -> Vec<Event> {
        let mut events: Vec<Event> = std::mem::take(&mut self.waiting).into();
        let count = std::mem::take(&mut self.lost);
        if count > 0 {
            let kind = EventKind::EventsLost { count };
            events.push(Event::Own {
                kind,
                at_nanos: monotonic_nanos(),
            });
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn as_json(event: &Event) -> Value {
        serde_json::to_value(event).unwrap()
    }

    #[test]
    fn an_event_is_flat_with_its_kind_and_time() {
        let mut log = EventLog::default();
        let carrier = EventKind::Carrier {
            server: 3,
            port: 1,
            up: false,
        };
        log.add_at(carrier, 17);
        let done = EventKind::FlowDone {
            server: 2,
            flow: 9,
            reason: None,
        };
        log.add_at(done, 18);
        let alive = NodeEvent::NeighbourAlive {
            neighbour: 4,
            port: 1,
        };
        log.add_of_node(1, 5, alive);
        let events: Vec<Value> = log.take().iter().map(as_json).collect();
        assert_eq!(
            events,
            [
                json!({"kind": "carrier", "server": 3, "port": 1, "up": false, "at_nanos": 17}),
                json!({"kind": "flow-done", "server": 2, "flow": 9, "reason": null, "at_nanos": 18}),
                json!({"kind": "neighbour-alive", "neighbour": 4, "port": 1, "server": 1, "at_nanos": 5}),
            ]
        );
    }

    #[test]
    fn events_beyond_the_limit_are_counted_and_told_once() {
        let mut log = EventLog::default();
        for server in 0..MAX_EVENTS as u32 + 5 {
            log.add(EventKind::NodeLost { server });
        }
        let events = log.take();
        assert_eq!(events.len(), MAX_EVENTS + 1);
        let last = as_json(&events[MAX_EVENTS]);
        assert_eq!(
            (&last["kind"], &last["count"]),
            (&json!("events-lost"), &json!(5))
        );
        assert_eq!(log.take(), []);
    }
}
