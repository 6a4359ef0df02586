//! The fluid of whole racks against what must hold of it, and against the flows themselves.

use cubeyard_routing::Failures;
use cubeyard_sim::flows::{Flows, Pattern};
use cubeyard_sim::rack_fluid::{Balance, Between, Demand, Plan, RackNetwork, run, shuffle};
use cubeyard_sim::scheme::Scheme;
use cubeyard_sim::{Progress, fluid};
use cubeyard_topology::{Topology, TopologySpec};
use proptest::prelude::*;
use serde_json::json;

fn topology(wiring_type: u8, ports: u32, size: u32) -> Topology {
    let spec = json!({
        "family": "subways", "type": wiring_type, "p": ports, "q": 4 * ports, "l": size, "clusters": 2,
        "c": if wiring_type == 2 { 2 } else { 1 }, "uplink_gbps": 10, "tor_oversubscription": 2,
    });
    Topology::build(&TopologySpec::from_json(&spec).unwrap()).unwrap()
}

fn secs(network: &RackNetwork, demands: &[Demand], balance: Balance) -> f64 {
    let plan = Plan {
        balance,
        between: Between::Any,
    };
    run(network, demands, plan, &Progress::default()).unwrap()
}

/// Type 0 has one way between racks: the bottleneck's volume over its capacity.
#[test]
fn a_type_0_shuffle_takes_what_its_fullest_link_needs() {
    let network = RackNetwork::new(&topology(0, 2, 6)).unwrap();
    // Four servers a rack; three racks: 4 x 8 flows leave a ToR of 40 Gb/s.
    let demands = shuffle(&network, &[0, 1, 2], 1.0);
    assert!((secs(&network, &demands, Balance::Static) - 32.0 / 40.0).abs() < 1e-9);
}

/// With one server a rack and one port, racks and flows are the same thing.
#[test]
fn single_servers_agree_with_the_flow_engine() {
    let spec = json!({
        "family": "subways", "type": 0, "p": 1, "q": 1, "l": 6, "clusters": 1, "aggs_per_cluster": 1, "uplink_gbps": 4,
    });
    let topology = Topology::build(&TopologySpec::from_json(&spec).unwrap()).unwrap();
    let network = RackNetwork::new(&topology).unwrap();
    let pairs = vec![(0, 1), (0, 2), (1, 2), (3, 2), (4, 5)];
    let demands: Vec<Demand> = pairs
        .iter()
        .map(|&(from, to)| Demand {
            from: from as usize,
            to: to as usize,
            flows: 1.0,
            gigabits: 1.0,
        })
        .collect();
    let links = topology.links();
    let scheme = Scheme::new(Some("subways-ecmp"), &topology, Failures::none(&topology)).unwrap();
    let flows = Flows::new((0..6).collect(), Pattern::Listed(pairs));
    let progress = Progress::default();
    let paths = scheme.route(&flows, 0, &progress).unwrap();
    let capacity: Vec<f64> = (0..links.len() * 2)
        .map(|directed| links.rate_bits_per_sec(directed / 2) / 1e9)
        .collect();
    let done = fluid::run(&paths, &[1.0; 5], &capacity, &progress).unwrap();
    assert!((secs(&network, &demands, Balance::Static) - done.makespan_secs()).abs() < 1e-9);
}

proptest! {
    #![proptest_config(crate::cases::cases(32))]

    /// No job ends before its most loaded rack could have sent its data. A balanced job is slower
    /// by at most the controllers' first periods. A second run gives the same result.
    #[test]
    fn jobs_take_at_least_their_bound_and_balance_helps(
        wiring_type in 0u8..3, ports in 1u32..4, half in 2u32..6, first in 0usize..4, count in 1usize..5, gigabits in 0.05..2.0f64,
    ) {
        let size = 2 * half;
        prop_assume!(ports < size);
        let network = RackNetwork::new(&topology(wiring_type, ports, size)).unwrap();
        let racks: Vec<usize> = (0..count.min(size as usize)).map(|at| (first + at) % size as usize).collect();
        let demands = shuffle(&network, &racks, gigabits);
        let sent_gigabits = 4.0 * (4.0 * racks.len() as f64 - 1.0) * gigabits;
        let least = sent_gigabits / (4.0 * 10.0 * f64::from(ports));
        let [fixed, adaptive, detours] = [Balance::Static, Balance::Adaptive, Balance::Detours].map(|balance| secs(&network, &demands, balance));
        for took in [fixed, adaptive, detours] {
            prop_assert!(took.is_finite() && took >= least * (1.0 - 1e-9), "{took} of {least}");
        }
        prop_assert!(adaptive <= fixed * 1.02 + 0.05, "{adaptive} against {fixed}");
        prop_assert_eq!(detours, secs(&network, &demands, Balance::Detours));
    }
}
