//! BCube by the tables of a switching chip does what BCube does: every flow's path at every moment,
//! what each server has carried, and every drop. `[serverswitch §5.1]`

use crate::network;

use cubeyard_dataplane::catalog::{CHIP_SOFTWARE, SOFTWARE};
use cubeyard_routing::random::Draws;
use cubeyard_topology::NodeId;
use network::Bcube;
use proptest::prelude::*;

/// Faults while flows run.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Cable(NodeId, u8),
    Server(NodeId),
}

/// The same flows and faults over a forwarding.
fn run(forwarding: &'static str, (n, k): (u32, u32), seed: u64, faults: &[Fault]) -> Bcube {
    let mut network = Bcube::over(forwarding, n, k, seed);
    let servers = network.shape.servers();
    let mut draws = Draws::new(seed);
    for number in 0..12 {
        let (source, destination) = (draws.below(servers), draws.below(servers));
        if source != destination {
            network.flow(source, destination, number);
        }
    }
    network.run(2.0);
    for fault in faults {
        match *fault {
            Fault::Cable(server, port) => network.pull_cable(server % servers, port % (k as u8 + 1)),
            Fault::Server(server) => network.kill(server % servers),
        }
        network.run(1.5);
    }
    network
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        (0..64_u32, 0..4_u8).prop_map(|(server, port)| Fault::Cable(server, port)),
        (0..64_u32).prop_map(Fault::Server),
    ]
}

proptest! {
    #![proptest_config(crate::cases::cases(12))]
    #[test]
    fn the_chip_carries_what_the_protocols_own_code_carries(
        size in prop_oneof![Just((4, 1)), Just((2, 2)), Just((3, 1)), Just((2, 3))],
        seed in any::<u64>(),
        faults in prop::collection::vec(fault(), 0..3),
    ) {
        let chip = run(CHIP_SOFTWARE, size, seed, &faults);
        let own = run(SOFTWARE, size, seed, &faults);
        prop_assert_eq!(format!("{:?}", chip.log), format!("{:?}", own.log));
        for (one, other) in chip.flows.iter().zip(&own.flows) {
            prop_assert_eq!(one.rate_bits_per_sec, other.rate_bits_per_sec);
            prop_assert_eq!(one.longest_gap, other.longest_gap);
        }
        for server in own.servers() {
            let [chip, own] = [&chip, &own].map(|network| network.forwarding(server).unwrap());
            prop_assert_eq!(chip.traffic(), own.traffic());
            prop_assert_eq!(chip.drops(), own.drops());
            prop_assert_eq!(chip.flow_counts(), own.flow_counts());
        }
    }
}
