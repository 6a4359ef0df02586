//! Every message survives encoding and decoding, and invalid messages are rejected.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cubeyard_dataplane::configuration::{Configuration, NeighbourAddress, Port};
use cubeyard_dataplane::event::{DeathCause, Event, NamedCell, PathSummary, SwitchReason};
use cubeyard_dataplane::flow::Flow;
use cubeyard_dataplane::inspection::{Cell, ColumnKind, Inspection, Section};
use cubeyard_dataplane::tables::{HexBytes, TableUpdate};
use cubeyard_messages::limits::{DATAGRAM_BYTES, ORDER_BYTES};
use cubeyard_messages::{
    Asking, Configure, Exchange, FlowOrder, FlowRate, FlowRow, Latencies, Role, SubflowRow, ToFabric, ToNode,
    TrafficCounts, Transport, decode, encode, split_orders,
};
use cubeyard_topology::{BcubeSpec, TopologySpec};
use proptest::prelude::*;

fn ip() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from_bits)
}

prop_compose! {
    fn flow()(src in ip(), dst in ip(), proto in any::<u8>(), sport in any::<u16>(), dport in any::<u16>()) -> Flow {
        Flow::new(src, dst, proto, sport, dport)
    }
}

fn bytes() -> impl Strategy<Value = HexBytes> {
    prop::collection::vec(any::<u8>(), 0..50).prop_map(HexBytes)
}

/// Numbers that JSON carries exactly.
fn number() -> impl Strategy<Value = f64> {
    (1u32..1_000_000_000).prop_map(f64::from)
}

prop_compose! {
    fn exchange()(response in any::<u32>(), bytes in any::<(u64, u64)>(), client_seed in any::<u64>(), places in any::<(u32, u32)>(),
                  count in any::<Option<u64>>(), rate in prop::option::of(number()), think_secs in number(),
                  bound_secs in prop::option::of(number()), timeout_secs in number()) -> Exchange {
        let asking = Asking { client_seed, place: places.0, places: places.1, count, rate_per_sec: rate, think_secs, bound_secs, timeout_secs };
        Exchange { response, request_bytes: bytes.0, response_bytes: bytes.1, asking }
    }
}

prop_compose! {
    fn latencies()(asked in any::<u64>(), answered in any::<u64>(), within_bound in any::<u64>(), timed_out in any::<u64>(),
                   sum_nanos in any::<u64>(), longest_nanos in any::<u64>(),
                   buckets in prop::collection::vec(any::<(u16, u64)>(), 0..5)) -> Latencies {
        Latencies { asked, answered, within_bound, timed_out, sum_nanos, longest_nanos, buckets }
    }
}

prop_compose! {
    fn order()(id in any::<u32>(), sends in any::<bool>(), transport in prop::sample::select(vec![Transport::Tcp, Transport::Udp, Transport::Mptcp]),
               own_ip in prop::option::of(ip()), peer_ip in ip(), port in any::<u16>(),
               bytes in any::<Option<u64>>(), rate in prop::option::of(number()), start_secs in number(),
               (pipeline, datagram_bytes) in any::<(Option<u32>, Option<u32>)>(), source_port in any::<Option<u16>>(), exchange in prop::option::of(exchange())) -> FlowOrder {
        FlowOrder { id, role: if sends { Role::Send } else { Role::Receive }, own_ip, peer_ip, port, source_port,
            transport, bytes, rate_bits_per_sec: rate, datagram_bytes, start_secs, pipeline, exchange }
    }
}

prop_compose! {
    fn subflow()(from in ip(), to in ip(), source_port in any::<u16>(), bytes in any::<u64>(), retransmits in any::<u64>()) -> SubflowRow {
        SubflowRow { ips: [from, to], source_port, bytes, retransmits }
    }
}

prop_compose! {
    fn row()(id in any::<u32>(), bytes in any::<u64>(), retransmits in any::<u64>(), lost in any::<u64>(),
             source_port in any::<Option<u16>>(), done in any::<bool>(), reason in any::<Option<String>>(),
             subflows in prop::collection::vec(subflow(), 0..3)) -> FlowRow {
        FlowRow { id, role: Role::Send, bytes, retransmits, lost, source_port, subflows, done, reason }
    }
}

prop_compose! {
    fn configure()(server in any::<u32>(), interface in any::<u32>(), far in any::<u8>(), ip in ip(), present in prop::option::of(prop::collection::vec(any::<u32>(), 0..4)),
                   settings in prop::collection::btree_map("[a-z_]{1,8}", number(), 0..3), seed in any::<u64>(), forwarding in any::<Option<bool>>()) -> Configure {
        let port = Port { port: 1, name: "p1".to_owned(), interface, neighbours: vec![NeighbourAddress { server: 3, port: far, ip }] };
        Configure {
            protocol: "bcube".to_owned(),
            forwarding: forwarding.map(|kernel| if kernel { "kernel" } else { "software" }.to_owned()),
            address: ip,
            configuration: Configuration {
                server, spec: TopologySpec::Bcube(BcubeSpec { n: 4, k: 1, servers: None }), present, gateways: vec![0], ports: vec![port],
                virtual_nic: 1001, rate_bits_per_sec: 1e8, mtu: 9000, settings, seed,
            },
        }
    }
}

fn to_node() -> impl Strategy<Value = ToNode> {
    prop_oneof![
        configure().prop_map(|configure| ToNode::Configure(Box::new(configure))),
        bytes().prop_map(|bytes| ToNode::Notice { bytes }),
        prop::collection::vec((flow(), number()), 0..5).prop_map(|rows| ToNode::FlowRates {
            rows: rows
                .into_iter()
                .map(|(flow, bits_per_sec)| FlowRate { flow, bits_per_sec })
                .collect()
        }),
        (any::<u8>(), any::<bool>()).prop_map(|(port, up)| ToNode::Carrier { port, up }),
        (any::<u8>(), number()).prop_map(|(port, rate_bits_per_sec)| ToNode::LinkRate {
            port,
            rate_bits_per_sec
        }),
        prop::collection::vec(order(), 0..4).prop_map(|flows| ToNode::Workload { flows }),
        Just(ToNode::Start),
        Just(ToNode::Stop),
        Just(ToNode::Inspect),
        (any::<u64>(), bytes()).prop_map(|(id, request)| ToNode::Chip { id, request }),
        ("[a-z]{0,8}", bytes()).prop_map(|(service, bytes)| ToNode::Service { service, bytes }),
        ("[a-z]{0,8}", any::<u16>()).prop_map(|(service, id)| ToNode::ServiceProcess { service, id }),
        Just(ToNode::ChipListener),
        ("[a-z]{0,8}", any::<(u16, u32, bool)>(), bytes()).prop_map(
            |(service, (id, offset, last), bytes)| {
                ToNode::ServiceModule {
                    service,
                    id,
                    offset,
                    bytes,
                    last,
                }
            }
        ),
    ]
}

fn path() -> impl Strategy<Value = PathSummary> {
    (
        any::<u32>(),
        prop::collection::vec(any::<u32>(), 1..5),
        prop::option::of(number()),
        any::<u32>(),
    )
        .prop_map(|(path_id, servers, available_bits_per_sec, others)| PathSummary {
            path_id,
            servers,
            available_bits_per_sec,
            others,
        })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (any::<u32>(), any::<u8>()).prop_map(|(neighbour, port)| Event::NeighbourDead {
            neighbour,
            port,
            cause: DeathCause::Silence
        }),
        (any::<u32>(), any::<u8>()).prop_map(|(neighbour, port)| Event::NeighbourAlive { neighbour, port }),
        (flow(), path()).prop_map(|(flow, path)| Event::PathSelected { flow, path }),
        (flow(), any::<u32>(), path()).prop_map(|(flow, from_path_id, path)| Event::PathSwitched {
            flow,
            from_path_id,
            path,
            reason: SwitchReason::Adaptation
        }),
        (any::<u32>(), prop::collection::vec(any::<u32>(), 0..4)).prop_map(|(reporter, unreachable)| {
            Event::PathFailed {
                reporter,
                unreachable,
            }
        }),
        flow().prop_map(|flow| Event::NoPath { flow }),
        (flow(), any::<u32>(), any::<u32>(), any::<u64>()).prop_map(|(flow, probes, paths, took_nanos)| {
            Event::Probed {
                flow,
                probes,
                paths,
                took_nanos,
            }
        }),
        ("[a-z-]{1,12}", flow(), any::<bool>()).prop_map(|(what, flow, flag)| Event::Reported {
            what,
            cells: [
                (ColumnKind::Flow, Cell::Flow(flow)),
                (ColumnKind::Flag, Cell::Flag(flag)),
                (ColumnKind::Secs, Cell::Empty),
            ]
            .map(|(kind, value)| NamedCell {
                name: "some".to_owned(),
                kind,
                value
            })
            .to_vec(),
        }),
    ]
}

fn inspection() -> impl Strategy<Value = Inspection> {
    let row = (any::<u64>(), path(), "[a-z]{1,5}");
    prop::collection::vec(row, 0..5).prop_map(|rows| {
        let rows = rows
            .into_iter()
            .map(|(count, path, text)| vec![Cell::Count(count), Cell::Paths(vec![path]), Cell::Text(text)]);
        let columns = [
            ("count", "Count", ColumnKind::Count),
            ("paths", "Paths", ColumnKind::Paths),
            ("text", "Text", ColumnKind::Text),
        ];
        Inspection {
            sections: vec![Section::new("some", "Some", &columns, rows)],
        }
    })
}

fn to_fabric() -> impl Strategy<Value = ToFabric> {
    prop_oneof![
        Just(ToFabric::Ready),
        (bytes(), prop::option::of(bytes())).prop_map(|(key, value)| ToFabric::Table(TableUpdate {
            table: "flows".into(),
            key,
            value
        })),
        (any::<u64>(), event()).prop_map(|(at_nanos, event)| ToFabric::Event { at_nanos, event }),
        prop::collection::vec(row(), 0..4).prop_map(|rows| ToFabric::Flows { rows }),
        latencies().prop_map(ToFabric::Latencies),
        (any::<u64>(), any::<u64>()).prop_map(|(own_bytes, relayed_bytes)| ToFabric::Traffic(
            TrafficCounts {
                own_bytes,
                relayed_bytes,
                delivered_bytes: 1,
                drops: BTreeMap::from([("no-path".to_owned(), 3)]),
            }
        )),
        inspection().prop_map(ToFabric::Inspected),
        (any::<u64>(), bytes()).prop_map(|(id, answer)| ToFabric::Chip { id, answer }),
        any::<String>().prop_map(|message| ToFabric::Error { message }),
    ]
}

proptest! {
    #[test]
    fn a_message_to_a_node_survives_its_datagram(message in to_node()) {
        prop_assert_eq!(decode::<ToNode>(&encode(&message).unwrap()).unwrap(), message);
    }

    #[test]
    fn a_message_to_the_fabric_survives_its_datagram(message in to_fabric()) {
        prop_assert_eq!(decode::<ToFabric>(&encode(&message).unwrap()).unwrap(), message);
    }

    #[test]
    fn what_is_no_message_is_refused_in_a_sentence(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        prop_assert!(decode::<ToNode>(&bytes).is_err_and(|sentence| sentence.ends_with('.')));
        prop_assert!(decode::<ToFabric>(&bytes).is_err_and(|sentence| sentence.ends_with('.')));
    }

    #[test]
    fn orders_are_split_into_datagrams_in_their_order(orders in prop::collection::vec(order(), 0..400)) {
        let lists = split_orders(&orders);
        for list in &lists {
            prop_assert!(!list.is_empty());
            let datagram = encode(&ToNode::Workload { flows: list.clone() }).unwrap();
            prop_assert!(datagram.len() <= ORDER_BYTES + 64);
        }
        prop_assert_eq!(lists.concat(), orders);
    }
}

#[test]
fn a_message_longer_than_a_datagram_is_refused() {
    let message = ToFabric::Error {
        message: "x".repeat(DATAGRAM_BYTES),
    };
    assert!(encode(&message).is_err());
}

#[test]
fn fields_that_nobody_knows_are_refused() {
    let text = br#"{"t": "carrier", "port": 1, "up": true, "speed": 3}"#;
    assert!(decode::<ToNode>(text).is_err());
}
