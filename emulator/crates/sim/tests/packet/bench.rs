//! Small networks for tests: senders and receivers around one bottleneck.

use cubeyard_sim::packet::core::Core;
use cubeyard_sim::packet::links::{Link, SECOND};
use cubeyard_sim::packet::rules::{Growth, Marks, Recovery, Rules, Transport};

pub const PACKET: u64 = 1500;
pub const PAYLOAD: u64 = 1460;
pub const US: u64 = 1_000_000;
pub const MS: u64 = 1_000 * US;

pub fn rules() -> Rules {
    Rules {
        seed: 7,
        transport: Transport::Tcp,
        recovery: Recovery::NewReno,
        growth: Growth::Single,
        marks: Marks::Halve,
        payload: 1460,
        overhead: 40,
        most_window: 4096,
        initial_window: 10,
        least_timeout: 200 * MS,
        most_timeout: 60 * SECOND,
        delayed_ack: 0,
        qcn: None,
    }
}

/// `pairs` of senders and receivers. Data goes over a sender's own link and the bottleneck;
/// acknowledgements over one fast link.
pub struct Dumbbell {
    pub pairs: u32,
    pub access_bits: f64,
    pub bottleneck_bits: f64,
    /// Delay of each of the three links on a round trip.
    pub delay: u64,
    pub queue_bytes: u64,
    pub rules: Rules,
}

impl Dumbbell {
    pub fn round_trip(&self) -> u64 {
        let link = |bits: f64| Link::new(bits, 0, 0, 0);
        link(self.access_bits).time_of(PACKET)
            + link(self.bottleneck_bits).time_of(PACKET)
            + link(self.access_bits).time_of(40)
            + 3 * self.delay
    }

    /// A bandwidth-delay product of the bottleneck, in bytes.
    pub fn product(&self) -> u64 {
        (self.bottleneck_bits / 8.0 * self.round_trip() as f64 / SECOND as f64) as u64
    }

    /// The bottleneck is link 0. Pair, bytes and start of each connection.
    pub fn build(&self, connections: &[(u32, u64, u64)]) -> Core {
        let single: Vec<_> = connections
            .iter()
            .map(|&(pair, bytes, start)| (pair, bytes, start, 1))
            .collect();
        self.build_mixed(&single)
    }

    /// The same with the number of subflows of each connection, all over the same links.
    pub fn build_mixed(&self, connections: &[(u32, u64, u64, u32)]) -> Core {
        let mut links = vec![Link::new(
            self.bottleneck_bits,
            self.delay,
            self.queue_bytes,
            PACKET,
        )];
        for _ in 0..self.pairs {
            links.push(Link::new(self.access_bits, self.delay, 1 << 30, PACKET));
            links.push(Link::new(self.access_bits, self.delay, 1 << 30, PACKET));
        }
        let wires = links.len() as u32;
        let mut core = Core::new(self.rules.clone(), links, wires, 2 * self.delay + 20 * US);
        for &(pair, bytes, start, subflows) in connections {
            let routes: Vec<(u32, u32, u64)> = (0..subflows)
                .map(|place| {
                    let subflow = core.senders.len() as u32 + place;
                    let there = core.add_route([1 + 2 * pair, 0], subflow, false);
                    let back = core.add_route([2 + 2 * pair], subflow, true);
                    (there, back, self.round_trip())
                })
                .collect();
            core.add_connection(bytes, start, &routes);
        }
        core.start();
        core
    }
}

/// Payload that a connection has delivered.
pub fn delivered(core: &Core, connection: usize) -> u64 {
    let one = &core.connections[connection];
    u64::from(one.packets - one.missing) * PAYLOAD
}

/// Runs until `until` and gives what each connection delivered from `from` on.
pub fn delivered_between(core: &mut Core, from: u64, until: u64) -> Vec<u64> {
    core.run(from, u64::MAX);
    let before: Vec<u64> = (0..core.connections.len()).map(|i| delivered(core, i)).collect();
    core.run(until, u64::MAX);
    (0..core.connections.len())
        .map(|i| delivered(core, i) - before[i])
        .collect()
}
