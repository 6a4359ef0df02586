//! The runtime of CamCube's services: fair shares of a link, limits of queues, no packet back to
//! the previous server, and services that misbehave.

use std::collections::BTreeMap;
use std::time::Duration;

use cubeyard_dataplane::camcube::ENTRY;
use cubeyard_dataplane::camcube::Structure;
use cubeyard_dataplane::camcube::services::context::View;
use cubeyard_dataplane::camcube::services::runtime::Runtime;
use cubeyard_dataplane::camcube::ways;
use cubeyard_dataplane::configuration::Configuration;
use cubeyard_dataplane::protocol::Time;
use cubeyard_dataplane::service::{Action, Context, Key, LOCAL, Packet, QueuePolicy, Service};
use cubeyard_dataplane::settings::Given;
use cubeyard_topology::{NodeId, TopologySpec, Torus3dSpec};
use proptest::prelude::*;

const ME: NodeId = 13;
const NOW: Time = Duration::from_secs(1);

/// Server (1,1,1) of a 3 x 3 x 3 torus without failures.
struct Place {
    structure: Structure,
    shortest: Box<dyn Fn(NodeId) -> u8>,
    roots: Vec<Option<NodeId>>,
}

/// The ports of the server on shortest live paths, by destination.
fn shortest(structure: &Structure, alive: ways::Alive<'_>) -> Box<dyn Fn(NodeId) -> u8> {
    let ways = ways::shortest(structure, ME, alive);
    Box::new(move |server| ways[server as usize])
}

impl Place {
    fn new() -> Place {
        let configuration = Configuration {
            server: ME,
            spec: TopologySpec::Torus3d(Torus3dSpec { x: 3, y: 3, z: 3 }),
            present: None,
            gateways: Vec::new(),
            ports: Vec::new(),
            virtual_nic: 1,
            rate_bits_per_sec: 1e9,
            mtu: 9000,
            settings: Given::new(),
            seed: 0,
        };
        assert!((ENTRY.check)(&configuration.spec).is_ok());
        let structure = Structure::new(&configuration).unwrap();
        Place {
            shortest: shortest(&structure, &|_, _| true),
            roots: (0..27).map(Some).collect(),
            structure,
        }
    }

    fn view(&self) -> View<'_> {
        View {
            me: ME,
            structure: &self.structure,
            shortest: &self.shortest,
            roots: &self.roots,
            up: 0x3f,
            max_payload: 8900,
        }
    }
}

/// A service that is controlled by messages: `N LENGTH QUEUE X Y Z` sends N packets to a key.
struct Sender {
    name: &'static str,
    weights: BTreeMap<u8, u32>,
    keys: Vec<Key>,
}

fn sender(name: &'static str) -> Sender {
    Sender {
        name,
        weights: BTreeMap::new(),
        keys: Vec::new(),
    }
}

impl Service for Sender {
    fn name(&self) -> &str {
        self.name
    }

    fn packet(&mut self, context: &mut dyn Context, port: u8, packet: &mut Packet) -> Action {
        match packet.payload.first() {
            Some(b'c') => Action::Consumed,
            Some(b'd') => Action::Drop,
            // Sends the packet back over its link of arrival, if that link is free.
            Some(b'b') if port != LOCAL => {
                let sent = context.send(port, packet.clone());
                context.count(if sent { "bounced" } else { "busy" }, 1);
                Action::Consumed
            }
            _ => Action::Pass,
        }
    }

    fn route(&mut self, _context: &mut dyn Context, _at: Key, _packet: &mut Packet) -> Vec<Key> {
        self.keys.clone()
    }

    fn classify(&mut self, packet: &Packet) -> u8 {
        packet.colour as u8
    }

    fn queue(&mut self, queue: u8) -> QueuePolicy {
        QueuePolicy {
            max_millis: 100,
            weight: self.weights.get(&queue).copied().unwrap_or(1),
        }
    }

    fn message(&mut self, context: &mut dyn Context, bytes: &[u8]) {
        let numbers: Vec<usize> = std::str::from_utf8(bytes)
            .unwrap()
            .split(' ')
            .map(|word| word.parse().unwrap())
            .collect();
        let &[count, length, queue, x, y, z] = &numbers[..] else {
            panic!("six numbers")
        };
        for _ in 0..count {
            let key = [x, y, z].map(|at| at as u8);
            let packet = Packet {
                key,
                colour: queue as u16,
                payload: vec![b'x'; length],
            };
            context.transmit(packet, &[key]);
        }
    }
}

fn runtime(services: Vec<Sender>) -> Runtime {
    let services = (40..)
        .zip(services)
        .map(|(id, service)| (id, Box::new(service) as Box<dyn Service>));
    Runtime::new(services.collect(), 6, 1)
}

fn counter(runtime: &Runtime, service: &str, name: &str) -> u64 {
    let (.., counters) = runtime.status().find(|(other, ..)| *other == service).unwrap();
    counters.get(name).copied().unwrap_or(0)
}

/// The neighbour (2,1,1), which only port 0 reaches.
const BESIDE: &str = "2 1 1";

#[test]
fn services_share_a_link_by_bytes_for_any_packets() {
    let place = Place::new();
    let mut runtime = runtime(vec![sender("long"), sender("short"), sender("flood")]);
    for (name, count, length) in [("long", 400, 8000), ("short", 4000, 500), ("flood", 4096, 4000)] {
        runtime
            .message(
                &place.view(),
                NOW,
                name,
                format!("{count} {length} 0 {BESIDE}").as_bytes(),
            )
            .unwrap();
    }
    let mut bytes: BTreeMap<u8, usize> = BTreeMap::new();
    let mut sent = 0;
    while sent < 3_000_000 {
        let packet = runtime.next_packet(&place.view(), NOW, 0).unwrap();
        sent += packet.len();
        *bytes.entry(packet[3]).or_default() += packet.len();
    }
    for (service, bytes) in &bytes {
        let share = *bytes as f64 / sent as f64;
        assert!((0.32..0.345).contains(&share), "service {service}: {share}");
    }
    assert_eq!(bytes.len(), 3);
    assert_eq!(
        runtime.next_packet(&place.view(), NOW, 1),
        None,
        "no other link is on the way"
    );
}

#[test]
fn queues_of_a_service_share_by_weight_and_what_waits_too_long_is_dropped() {
    let place = Place::new();
    let mut first = sender("one");
    first.weights = BTreeMap::from([(0, 1), (1, 3)]);
    let mut runtime = runtime(vec![first]);
    for queue in [0, 1] {
        runtime
            .message(
                &place.view(),
                NOW,
                "one",
                format!("2000 1000 {queue} {BESIDE}").as_bytes(),
            )
            .unwrap();
    }
    let mut packets = [0u32; 2];
    for _ in 0..1000 {
        let packet = runtime.next_packet(&place.view(), NOW, 0).unwrap();
        packets[usize::from(packet[13])] += 1;
    }
    assert!((740..=760).contains(&packets[1]), "{packets:?}");
    let later = NOW + Duration::from_millis(101);
    assert_eq!(runtime.next_packet(&place.view(), later, 0), None);
    assert_eq!(counter(&runtime, "one", "packets-expired"), 3000);
}

#[test]
fn a_service_that_floods_loses_its_own_packets_and_a_new_queue_each_time_is_refused() {
    let place = Place::new();
    let mut runtime = runtime(vec![sender("flood"), sender("meek")]);
    runtime
        .message(
            &place.view(),
            NOW,
            "flood",
            format!("100000 10 0 {BESIDE}").as_bytes(),
        )
        .unwrap();
    for queue in 0..200 {
        runtime
            .message(
                &place.view(),
                NOW,
                "flood",
                format!("1 10 {queue} {BESIDE}").as_bytes(),
            )
            .unwrap();
    }
    runtime
        .message(&place.view(), NOW, "meek", format!("1 10 0 {BESIDE}").as_bytes())
        .unwrap();
    assert_eq!(
        counter(&runtime, "flood", "packets-without-room"),
        100_000 - 4096 + 1 + 184
    );
    assert_eq!(counter(&runtime, "meek", "packets-without-room"), 0);
    let first: Vec<u8> = (0..2)
        .map(|_| runtime.next_packet(&place.view(), NOW, 0).unwrap()[3])
        .collect();
    assert!(
        first.contains(&41),
        "the other one has its turn at once: {first:?}"
    );
}

#[test]
fn a_packet_goes_on_to_one_of_its_keys_and_not_back() {
    let place = Place::new();
    let mut first = sender("one");
    // The neighbours in the positive directions of x, y and z.
    first.keys = vec![[2, 1, 1], [1, 2, 1], [1, 1, 2]];
    let mut runtime = runtime(vec![first]);
    // The packet arrives by port 0 for this server, so the function F decides where it goes: not
    // back to (2,1,1).
    let arrives = |payload: &[u8], flags: u8| {
        let header = [0x5e, 16, 0, 40, 1, 1, 1, flags, 0, 0, 0, 0, 1, 0, 0, 0];
        [&header[..], payload].concat()
    };
    for _ in 0..30 {
        runtime.arrive(&place.view(), NOW, 0, &arrives(b"x", 0));
    }
    assert_eq!(runtime.next_packet(&place.view(), NOW, 0), None);
    for port in [2, 4] {
        let packet = runtime.next_packet(&place.view(), NOW, port).unwrap();
        let expected = if port == 2 { [1, 2, 1] } else { [1, 1, 2] };
        assert_eq!(
            (&packet[4..7], packet[12]),
            (&expected[..], 2),
            "the key that matched, and a hop more"
        );
    }
    // Bounced over one hop. While the link is busy, the service must keep the packet.
    for _ in 0..3 {
        runtime.arrive(&place.view(), NOW, 1, &arrives(b"b", 2));
    }
    assert_eq!(
        (
            counter(&runtime, "one", "bounced"),
            counter(&runtime, "one", "busy")
        ),
        (1, 2)
    );
    let back = runtime.next_packet(&place.view(), NOW, 1).unwrap();
    assert_eq!((back[7], back[16]), (2, b'b'));
    runtime.arrive(&place.view(), NOW, 0, &arrives(b"d", 0));
    assert_eq!(counter(&runtime, "one", "packets-dropped"), 1);
}

#[test]
fn a_service_that_routes_to_itself_for_ever_loses_the_packet() {
    let place = Place::new();
    let mut first = sender("one");
    first.keys = vec![[1, 1, 1]];
    let mut runtime = runtime(vec![first]);
    let header = [0x5e, 16, 0, 40, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'x'];
    runtime.arrive(&place.view(), NOW, 0, &header);
    assert_eq!(counter(&runtime, "one", "packets-looping"), 1);
}

#[test]
fn a_dead_path_is_replaced_while_packets_wait() {
    let mut place = Place::new();
    let mut runtime = runtime(vec![sender("one")]);
    runtime
        .message(&place.view(), NOW, "one", format!("3 10 0 {BESIDE}").as_bytes())
        .unwrap();
    assert!(runtime.next_packet(&place.view(), NOW, 0).is_some());
    // The cable to (2,1,1) is pulled, so packets take (1,2,1) or another neighbour.
    let (me, far) = (ME, place.structure.far(ME, 0).unwrap());
    let alive = |server: NodeId, port: u8| (server, port) != (me, 0) && (server, port) != (far, 1);
    place.shortest = shortest(&place.structure, &alive);
    runtime.paths_changed();
    assert!(runtime.has_news());
    assert_eq!(runtime.next_packet(&place.view(), NOW, 0), None);
    assert!(
        runtime.next_packet(&place.view(), NOW, 1).is_some(),
        "round the ring of three"
    );
}

proptest! {
    /// Any bytes at any port cause no panic, and packets without a service are counted.
    #[test]
    fn any_bytes_are_refused_or_taken(bytes in prop::collection::vec(any::<u8>(), 0..40), port in 0u8..6, like in any::<bool>()) {
        let place = Place::new();
        let mut runtime = runtime(vec![sender("one")]);
        let mut bytes = bytes;
        if like && bytes.len() >= 16 {
            bytes[..4].copy_from_slice(&[0x5e, 16, 0, 40]);
        }
        runtime.arrive(&place.view(), NOW, port, &bytes);
        prop_assert_eq!(runtime.refused() + counter(&runtime, "one", "packets-arrived"), 1);
    }
}
