//! Subways' weights and detours in the engine's loop.

use cubeyard_routing::{FailureKind, Failures};
use cubeyard_sim::Progress;
use cubeyard_sim::count::LinkFlows;
use cubeyard_sim::flows::{Flows, Pattern};
use cubeyard_sim::maxmin::max_min_rates;
use cubeyard_sim::paths::Paths;
use cubeyard_sim::scheme::Scheme;
use cubeyard_topology::{Topology, TopologySpec};
use proptest::prelude::*;
use serde_json::json;

const LOOP: u32 = 12;
/// Servers of a rack.
const SERVERS: u32 = 10;

/// Two loops of racks of 10 servers, ToRs 5:1, one rate everywhere.
fn topology(wiring_type: u8, ports: u32) -> Topology {
    let spec = json!({
        "family": "subways", "type": wiring_type, "p": ports, "q": SERVERS * ports, "l": LOOP, "clusters": 2,
        "c": if wiring_type == 2 { 2 } else { 1 }, "uplink_gbps": 10,
    });
    Topology::build(&TopologySpec::from_json(&spec).unwrap()).unwrap()
}

/// Every server of the racks to every server of six racks on the far side of the first loop.
fn hot(racks: &[u32]) -> Flows {
    let servers = |rack: u32| rack * SERVERS..(rack + 1) * SERVERS;
    let from: Vec<u32> = racks.iter().copied().flat_map(servers).collect();
    let to = (6..12).flat_map(servers).collect();
    Flows::new((0..2 * LOOP * SERVERS).collect(), Pattern::Shuffle { from, to })
}

fn load(name: &str, topology: &Topology, failures: &Failures, flows: &Flows) -> LinkFlows {
    let scheme = Scheme::new(Some(name), topology, failures.clone()).unwrap();
    scheme.count_links(flows, &[], 3, &Progress::default()).unwrap()
}

fn paths(name: &str, topology: &Topology, failures: &Failures, flows: &Flows) -> Paths {
    let scheme = Scheme::new(Some(name), topology, failures.clone()).unwrap();
    scheme.route(flows, 3, &Progress::default()).unwrap()
}

/// Flows up each ToR's uplinks, by ToR.
fn up_by_tor(topology: &Topology, load: &LinkFlows) -> Vec<u32> {
    let (links, tors) = (topology.links(), &topology.tiers()[0]);
    let mut sums = vec![0; tors.count as usize];
    for link in 0..links.len() {
        if (tors.first..tors.first + tors.count).contains(&links.a[link]) {
            sums[(links.a[link] - tors.first) as usize] += load.per_directed_link[2 * link];
        }
    }
    sums
}

/// The example of §5: two racks side by side load the ToR they share twice; balanced, all three
/// alike.
#[test]
fn two_hot_racks_share_three_tors_evenly() {
    let topology = topology(1, 2);
    let none = Failures::none(&topology);
    // Ten servers to the racks that share no ToR with theirs.
    let flows = hot(&[2, 3]);
    let ecmp = up_by_tor(&topology, &load("subways-ecmp", &topology, &none, &flows));
    assert!(ecmp[2] > 3 * ecmp[1] / 2 && ecmp[2] > 3 * ecmp[3] / 2, "{ecmp:?}");
    let adaptive = up_by_tor(&topology, &load("subways-adaptive", &topology, &none, &flows));
    let third = adaptive.iter().sum::<u32>() / 3;
    for tor in 1..4 {
        assert!(adaptive[tor].abs_diff(third) * 10 < third, "{adaptive:?}");
    }
}

/// A hot rack gets more out of the network with detours, which stay off hot ToRs and within two
/// relays.
#[test]
fn detours_bring_a_hot_rack_more() {
    for (ports, racks) in [(2, vec![2]), (3, vec![2]), (2, vec![1, 2, 3])] {
        let topology = topology(1, ports);
        let none = Failures::none(&topology);
        let flows = hot(&racks);
        let capacity: Vec<f64> = (0..topology.links().len() * 2).map(|_| 10.0).collect();
        let total = |name| {
            let rates = max_min_rates(&paths(name, &topology, &none, &flows), &capacity);
            rates.iter().sum::<f64>()
        };
        let (straight, detoured) = (total("subways-adaptive"), total("subways-detour"));
        assert!(
            detoured > 1.2 * straight,
            "{ports} ports, {racks:?}: {detoured} against {straight}"
        );
        let by_detour = paths("subways-detour", &topology, &none, &flows);
        let relayed = (0..by_detour.len())
            .filter(|&flow| by_detour.path(flow).len() > 4)
            .count();
        assert!(relayed > 0);
        // Up and down, with two relays of two links each at either end.
        assert!((0..by_detour.len()).all(|flow| by_detour.path(flow).len() <= 4 + 8));
    }
}

#[test]
fn without_a_hot_rack_nobody_detours() {
    let topology = topology(1, 2);
    let none = Failures::none(&topology);
    // One flow from every rack to the next but two.
    let pairs = (0..LOOP).map(|rack| (rack * SERVERS, (rack + 3) % LOOP * SERVERS));
    let flows = Flows::new((0..240).collect(), Pattern::Listed(pairs.collect()));
    assert_eq!(
        paths("subways-detour", &topology, &none, &flows),
        paths("subways-adaptive", &topology, &none, &flows)
    );
}

proptest! {
    #![proptest_config(crate::cases::cases(24))]

    /// Adaptive balancing never loads a link more than ECMP does; every path joins its ends over
    /// live links, drops what ECMP drops, and does not depend on the number of threads.
    #[test]
    fn balancing_never_hurts_and_paths_hold(
        wiring_type in 0u8..3, ports in 1u32..4, racks in prop::collection::btree_set(0..6u32, 1..4), ratio in 0.0..0.1f64, seed: u64,
    ) {
        let topology = topology(wiring_type, ports);
        let failures = Failures::random(&topology, FailureKind::Switch, ratio, seed);
        let flows = hot(&racks.into_iter().collect::<Vec<_>>());
        let [ecmp, adaptive, detour] = ["subways-ecmp", "subways-adaptive", "subways-detour"].map(|name| load(name, &topology, &failures, &flows));
        prop_assert!(adaptive.most() <= ecmp.most(), "{} against {}", adaptive.most(), ecmp.most());
        prop_assert_eq!(adaptive.dropped, ecmp.dropped);
        prop_assert_eq!(detour.dropped, ecmp.dropped);
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        prop_assert_eq!(&one.install(|| load("subways-detour", &topology, &failures, &flows)), &detour);
        let found = paths("subways-detour", &topology, &failures, &flows);
        let links = topology.links();
        for flow in (0..found.len()).filter(|&flow| !found.path(flow).is_empty()) {
            let (source, destination) = flows.flow(flow as u64);
            let mut at = source;
            for &directed in found.path(flow) {
                let link = (directed / 2) as usize;
                prop_assert!(failures.carries(links, link));
                let (from, to) = if directed % 2 == 0 { (links.a[link], links.b[link]) } else { (links.b[link], links.a[link]) };
                prop_assert_eq!(from, at);
                at = to;
            }
            prop_assert_eq!(at, destination);
        }
    }
}
