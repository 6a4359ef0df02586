//! Random messages, by plain code: strategies of all their fields take fifteen seconds of a
//! processor to compile.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cubeyard_dataplane::configuration::{Configuration, NeighbourAddress, Port};
use cubeyard_dataplane::event::{DeathCause, Event, NamedCell, PathSummary, SwitchReason};
use cubeyard_dataplane::flow::Flow;
use cubeyard_dataplane::inspection::{Cell, ColumnKind, Inspection, Section};
use cubeyard_dataplane::tables::{HexBytes, TableUpdate};
use cubeyard_messages::{
    Asking, Configure, Exchange, FlowOrder, FlowRate, FlowRow, Latencies, Role, SubflowRow, ToFabric, ToNode,
    TrafficCounts, Transport,
};
use cubeyard_topology::random::Draws;
use cubeyard_topology::{BcubeSpec, TopologySpec};

/// A stream of random fields and messages.
pub struct Random(Draws);

impl Random {
    pub fn of(seed: u64) -> Random {
        Random(Draws::new(seed))
    }

    /// Any whole number, near 0 and near its type's most now and then.
    fn any(&mut self) -> u64 {
        let bits = self.0.next_bits();
        match self.0.below(8) {
            0 => bits % 4,
            1 => u64::MAX - bits % 4,
            _ => bits,
        }
    }

    fn any_u32(&mut self) -> u32 {
        self.any() as u32
    }

    fn any_u16(&mut self) -> u16 {
        self.any() as u16
    }

    fn any_u8(&mut self) -> u8 {
        self.any() as u8
    }

    fn flag(&mut self) -> bool {
        self.0.below(2) == 0
    }

    /// Numbers that JSON carries exactly.
    fn number(&mut self) -> f64 {
        f64::from(1 + self.0.below(1_000_000_000))
    }

    fn maybe<T>(&mut self, make: fn(&mut Random) -> T) -> Option<T> {
        self.flag().then(|| make(self))
    }

    /// Fewer than `most`.
    pub fn list<T>(&mut self, most: u32, make: fn(&mut Random) -> T) -> Vec<T> {
        (0..self.0.below(most)).map(|_| make(self)).collect()
    }

    fn bytes(&mut self) -> HexBytes {
        HexBytes(self.list(50, Random::any_u8))
    }

    /// Up to 12 small letters.
    fn word(&mut self) -> String {
        self.list(13, |random| char::from(b'a' + random.0.below(26) as u8))
            .into_iter()
            .collect()
    }

    /// Any characters at all.
    fn text(&mut self) -> String {
        let any = |random: &mut Random| {
            let below = [0x80, 0x800, 0x11_0000][random.0.below(3) as usize];
            char::from_u32(random.0.below(below)).unwrap_or('"')
        };
        self.list(32, any).into_iter().collect()
    }

    fn ip(&mut self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.any_u32())
    }

    fn flow(&mut self) -> Flow {
        let [src, dst] = [self.ip(), self.ip()];
        Flow::new(src, dst, self.any_u8(), self.any_u16(), self.any_u16())
    }

    fn exchange(&mut self) -> Exchange {
        Exchange {
            response: self.any_u32(),
            request_bytes: self.any(),
            response_bytes: self.any(),
            asking: Asking {
                client_seed: self.any(),
                place: self.any_u32(),
                places: self.any_u32(),
                count: self.maybe(Random::any),
                rate_per_sec: self.maybe(Random::number),
                think_secs: self.number(),
                bound_secs: self.maybe(Random::number),
                timeout_secs: self.number(),
            },
        }
    }

    fn latencies(&mut self) -> Latencies {
        Latencies {
            asked: self.any(),
            answered: self.any(),
            within_bound: self.any(),
            timed_out: self.any(),
            sum_nanos: self.any(),
            longest_nanos: self.any(),
            buckets: self.list(5, |random| (random.any_u16(), random.any())),
        }
    }

    pub fn order(&mut self) -> FlowOrder {
        FlowOrder {
            id: self.any_u32(),
            role: if self.flag() { Role::Send } else { Role::Receive },
            own_ip: self.maybe(Random::ip),
            peer_ip: self.ip(),
            port: self.any_u16(),
            source_port: self.maybe(Random::any_u16),
            transport: [Transport::Tcp, Transport::Udp, Transport::Mptcp][self.0.below(3) as usize],
            bytes: self.maybe(Random::any),
            rate_bits_per_sec: self.maybe(Random::number),
            datagram_bytes: self.maybe(Random::any_u32),
            start_secs: self.number(),
            pipeline: self.maybe(Random::any_u32),
            exchange: self.maybe(Random::exchange),
        }
    }

    fn subflow(&mut self) -> SubflowRow {
        SubflowRow {
            ips: [self.ip(), self.ip()],
            source_port: self.any_u16(),
            bytes: self.any(),
            retransmits: self.any(),
        }
    }

    fn row(&mut self) -> FlowRow {
        FlowRow {
            id: self.any_u32(),
            role: Role::Send,
            bytes: self.any(),
            retransmits: self.any(),
            lost: self.any(),
            source_port: self.maybe(Random::any_u16),
            subflows: self.list(3, Random::subflow),
            done: self.flag(),
            reason: self.maybe(Random::text),
        }
    }

    fn configure(&mut self) -> Configure {
        let neighbour = NeighbourAddress {
            server: 3,
            port: self.any_u8(),
            ip: self.ip(),
        };
        let port = Port {
            port: 1,
            name: "p1".to_owned(),
            interface: self.any_u32(),
            neighbours: vec![neighbour],
        };
        let spec = BcubeSpec {
            n: 4,
            k: 1,
            servers: None,
        };
        let kinds = ["kernel", "software"];
        Configure {
            protocol: "bcube".to_owned(),
            forwarding: self
                .maybe(|random| random.0.below(2))
                .map(|kind| kinds[kind as usize].to_owned()),
            address: self.ip(),
            configuration: Configuration {
                server: self.any_u32(),
                spec: TopologySpec::Bcube(spec),
                present: self.maybe(|random| random.list(4, Random::any_u32)),
                gateways: vec![0],
                ports: vec![port],
                virtual_nic: 1001,
                rate_bits_per_sec: 1e8,
                mtu: 9000,
                settings: self
                    .list(3, |random| (random.word(), random.number()))
                    .into_iter()
                    .collect(),
                seed: self.any(),
            },
        }
    }

    /// One of the 14 kinds.
    pub fn message_to_node(&mut self, kind: u32) -> ToNode {
        match kind {
            0 => ToNode::Configure(Box::new(self.configure())),
            1 => ToNode::Notice { bytes: self.bytes() },
            2 => ToNode::FlowRates {
                rows: self.list(5, |random| FlowRate {
                    flow: random.flow(),
                    bits_per_sec: random.number(),
                }),
            },
            3 => ToNode::Carrier {
                port: self.any_u8(),
                up: self.flag(),
            },
            4 => ToNode::LinkRate {
                port: self.any_u8(),
                rate_bits_per_sec: self.number(),
            },
            5 => ToNode::Workload {
                flows: self.list(4, Random::order),
            },
            6 => ToNode::Start,
            7 => ToNode::Stop,
            8 => ToNode::Inspect,
            9 => ToNode::Chip {
                id: self.any(),
                request: self.bytes(),
            },
            10 => ToNode::Service {
                service: self.word(),
                bytes: self.bytes(),
            },
            11 => ToNode::ServiceProcess {
                service: self.word(),
                id: self.any_u16(),
            },
            12 => ToNode::ChipListener,
            _ => ToNode::ServiceModule {
                service: self.word(),
                id: self.any_u16(),
                offset: self.any_u32(),
                bytes: self.bytes(),
                last: self.flag(),
            },
        }
    }

    fn path(&mut self) -> PathSummary {
        PathSummary {
            path_id: self.any_u32(),
            servers: self.list(5, Random::any_u32),
            available_bits_per_sec: self.maybe(Random::number),
            others: self.any_u32(),
        }
    }

    fn event(&mut self) -> Event {
        match self.0.below(8) {
            0 => Event::NeighbourDead {
                neighbour: self.any_u32(),
                port: self.any_u8(),
                cause: DeathCause::Silence,
            },
            1 => Event::NeighbourAlive {
                neighbour: self.any_u32(),
                port: self.any_u8(),
            },
            2 => Event::PathSelected {
                flow: self.flow(),
                path: self.path(),
            },
            3 => Event::PathSwitched {
                flow: self.flow(),
                from_path_id: self.any_u32(),
                path: self.path(),
                reason: SwitchReason::Adaptation,
            },
            4 => Event::PathFailed {
                reporter: self.any_u32(),
                unreachable: self.list(4, Random::any_u32),
            },
            5 => Event::NoPath { flow: self.flow() },
            6 => Event::Probed {
                flow: self.flow(),
                probes: self.any_u32(),
                paths: self.any_u32(),
                took_nanos: self.any(),
            },
            _ => Event::Reported {
                what: self.word(),
                cells: [
                    (ColumnKind::Flow, Cell::Flow(self.flow())),
                    (ColumnKind::Flag, Cell::Flag(self.flag())),
                    (ColumnKind::Secs, Cell::Empty),
                ]
                .map(|(kind, value)| NamedCell {
                    name: "some".to_owned(),
                    kind,
                    value,
                })
                .to_vec(),
            },
        }
    }

    fn inspection(&mut self) -> Inspection {
        let columns = [
            ("count", "Count", ColumnKind::Count),
            ("paths", "Paths", ColumnKind::Paths),
            ("text", "Text", ColumnKind::Text),
        ];
        let rows = self.list(5, |random| {
            let paths = vec![random.path()];
            vec![
                Cell::Count(random.any()),
                Cell::Paths(paths),
                Cell::Text(random.word()),
            ]
        });
        Inspection {
            sections: vec![Section::new("some", "Some", &columns, rows)],
        }
    }

    /// One of the 9 kinds.
    pub fn message_to_fabric(&mut self, kind: u32) -> ToFabric {
        match kind {
            0 => ToFabric::Ready,
            1 => ToFabric::Table(TableUpdate {
                table: "flows".into(),
                key: self.bytes(),
                value: self.maybe(Random::bytes),
            }),
            2 => ToFabric::Event {
                at_nanos: self.any(),
                event: self.event(),
            },
            3 => ToFabric::Flows {
                rows: self.list(4, Random::row),
            },
            4 => ToFabric::Latencies(self.latencies()),
            5 => ToFabric::Traffic(TrafficCounts {
                own_bytes: self.any(),
                relayed_bytes: self.any(),
                delivered_bytes: 1,
                drops: BTreeMap::from([("no-path".to_owned(), 3)]),
            }),
            6 => ToFabric::Inspected(self.inspection()),
            7 => ToFabric::Chip {
                id: self.any(),
                answer: self.bytes(),
            },
            _ => ToFabric::Error { message: self.text() },
        }
    }
}
