//! Echo: the smallest complete protocol, as an example for adding others. `[ours]`
//!
//! Servers relay for each other on shortest paths over the topology, one next hop per destination,
//! ties broken by a hash of the destination. A neighbour is alive while it echoes our hellos. A
//! dead next hop is replaced by another neighbour on a shortest path, if there is one; there is no
//! other reaction to failures.
//!
//! | file | job |
//! |---|---|
//! | `mod.rs` | the catalogue's entry, and the control half |
//! | `header.rs` | the 8 bytes between Ethernet and IP |
//! | `routes.rs` | next hops from the topology |
//! | `tables.rs` | the forwarding table, and the entries that a run allows |
//! | `forwarding.rs` | packets, in user space alone |
//!
//! Not here: forwarding in the kernel, and what all protocols share: addresses and neighbour
//! maintenance.

pub mod forwarding;
pub mod header;
pub mod routes;
pub mod tables;

use std::collections::{BTreeMap, VecDeque};

use cubeyard_topology::NodeId;

use self::routes::NextHops;
use crate::catalog::{ForwardingEntry, ForwardingKind, ProtocolEntry, SOFTWARE, SwitchKind};
use crate::configuration::{Configuration, ConfigurationError, secs};
use crate::event::{DeathCause, Event};
use crate::flow::Flow;
use crate::inspection::{Cell, ColumnKind, Inspection, Section};
use crate::neighbours::{Intervals, Neighbours};
use crate::protocol::{Input, Output, Protocol, Time};
use crate::settings::{Setting, read};

/// Echo in the catalogue. No family uses it by default.
pub const ENTRY: ProtocolEntry = ProtocolEntry {
    name: "echo",
    title: "Echo (example)",
    description: "Shortest paths by destination, in user space: the worked example for adding a protocol.",
    families: &[],
    header_bytes: header::HEADER_BYTES as u32,
    header: Some(header::FORMAT),
    max_ports: 8,
    max_switch_ports: u32::MAX,
    addresses_per_server: 1,
    switches: SwitchKind::Bridge,
    chips: None,
    gateways: false,
    adapts: false,
    routing: "shortest",
    settings: SETTINGS,
    services: &[],
    check: routes::check,
    protocol: Some(make),
    forwardings: &[ForwardingEntry {
        name: SOFTWARE,
        kind: ForwardingKind::Software(forwarding::forwarding),
        title: "User space",
        tables: tables::SCHEMAS,
        own_entries: tables::own_entries,
        rules: tables::rules,
        one_host: false,
        program: None,
    }],
    slice_around_max_k: None,
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "hello_secs",
        title: "Hello interval",
        description: "Time from one hello to the next.",
        whole: false,
        unit: "s",
        minimum: 0.01,
        maximum: 60.0,
        default: 0.5,
        source: "[ours]",
    },
    Setting {
        name: "dead_after",
        title: "Missed hellos before a neighbour is dead",
        description: "Hellos missed in a row after which a neighbour counts as dead.",
        whole: true,
        unit: "",
        minimum: 1.0,
        maximum: 100.0,
        default: 3.0,
        source: "[ours]",
    },
];

/// First byte of every message. The second byte: whether the sender receives the receiver's hellos.
const HELLO: u8 = 0xec;

/// The control half of a server.
#[derive(Debug)]
pub struct Echo {
    neighbours: Neighbours,
    next_hops: NextHops,
    /// The current forwarding table: the index of the neighbour, by destination.
    table: BTreeMap<NodeId, usize>,
    outputs: VecDeque<Output>,
}

fn make(configuration: &Configuration, now: Time) -> Result<Box<dyn Protocol>, ConfigurationError> {
    let settings = read(SETTINGS, &configuration.settings)?;
    let hello = secs(settings["hello_secs"]);
    let intervals = Intervals {
        hello,
        dead: hello * settings["dead_after"] as u32,
        claim: hello,
    };
    let mut echo = Echo {
        neighbours: Neighbours::new(
            &configuration.ports,
            configuration.rate_bits_per_sec,
            intervals,
            now,
        ),
        next_hops: NextHops::new(configuration)?,
        table: BTreeMap::new(),
        outputs: VecDeque::new(),
    };
    echo.refresh();
    Ok(Box::new(echo))
}

impl Echo {
    /// Updates the forwarding table for the neighbours that are alive.
    fn refresh(&mut self) {
        for destination in self.next_hops.destinations() {
            let alive = |index: usize| self.neighbours.list()[index].up;
            let Some(index) = self.next_hops.towards(destination, alive) else {
                continue;
            };
            if self.table.insert(destination, index) != Some(index) {
                let update = tables::set(destination, self.next_hops.entry(index));
                self.outputs.push_back(Output::Table(update));
            }
        }
    }

    fn on_deaths(&mut self, died: &[usize], cause: DeathCause) {
        for &index in died {
            let neighbour = &self.neighbours.list()[index];
            self.outputs.push_back(Output::Event(Event::NeighbourDead {
                neighbour: neighbour.server,
                port: neighbour.port,
                cause,
            }));
        }
        if !died.is_empty() {
            self.refresh();
        }
    }

    fn send_hello(&mut self, index: usize, hears_you: bool) {
        let neighbour = &self.neighbours.list()[index];
        self.outputs.push_back(Output::Send {
            port: neighbour.port,
            to: neighbour.ip,
            bytes: vec![HELLO, hears_you.into()],
        });
    }

    fn on_hello(&mut self, now: Time, index: usize, hears_us: bool) {
        let (revived, answer) = self.neighbours.on_hello(now, index, hears_us);
        if answer {
            self.send_hello(index, true);
        }
        if revived {
            let neighbour = &self.neighbours.list()[index];
            self.outputs.push_back(Output::Event(Event::NeighbourAlive {
                neighbour: neighbour.server,
                port: neighbour.port,
            }));
            self.refresh();
        }
    }
}

impl Protocol for Echo {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Timeout => {
                let (died, hellos) = self.neighbours.on_timeout(now);
                for (index, hears_you) in hellos {
                    self.send_hello(index, hears_you);
                }
                self.on_deaths(&died, DeathCause::Silence);
            }
            Input::Message { port, from, bytes } => {
                let sender = self.neighbours.sender(port, from);
                if let (Some(sender), &[HELLO, hears_us @ (0 | 1)]) = (sender, bytes)
                    && self.neighbours.admit(now, sender)
                {
                    self.on_hello(now, sender, hears_us == 1);
                }
            }
            Input::Carrier { port, up } => {
                let died = self.neighbours.on_carrier(now, port, up);
                self.on_deaths(&died, DeathCause::Carrier);
            }
            Input::Notice(_) | Input::FlowRate { .. } | Input::FlowEnded(_) | Input::Available { .. } => {}
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn next_timeout(&self) -> Option<Time> {
        Some(self.neighbours.next_timeout())
    }

    fn inspect(&self, _now: Time) -> Inspection {
        let rows = self.table.iter().map(|(&destination, &index)| {
            let neighbour = &self.neighbours.list()[index];
            vec![
                Cell::Count(destination.into()),
                Cell::Count(neighbour.server.into()),
                Cell::Flag(neighbour.up),
            ]
        });
        let columns = [
            ("destination", "Destination", ColumnKind::Server),
            ("next_hop", "Next hop", ColumnKind::Server),
            ("up", "Alive", ColumnKind::Flag),
        ];
        Inspection {
            sections: vec![Section::new("next-hops", "Next hops", &columns, rows)],
        }
    }

    fn path_of(&self, _flow: &Flow) -> u32 {
        0
    }
}
