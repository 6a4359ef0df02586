//! Paths and rates of single flows through routers: around what has failed, within a slice, by
//! balance.

use cubeyard_routing::Failures;
use cubeyard_routing::hash::{self, FiveTuple};
use cubeyard_routing::subflows::{PortAddresses, Subflow};
use cubeyard_routing::tables::Balance;
use cubeyard_sim::Network;
use cubeyard_sim::degraded::Damage;
use cubeyard_sim::given_paths::rates_over;
use cubeyard_sim::routed::{RoutedFlow, RoutedFlows, RoutedRun};
use cubeyard_topology::{NodeId, Part, Slice, SliceOfServers};
use proptest::prelude::*;

const SPECS: [&str; 4] = [
    r#"{"family":"fat_tree","ports":4,"layers":3}"#,
    r#"{"family":"subways","type":1,"p":2,"q":4,"l":4,"clusters":2,"aggs_per_cluster":2,"cores":2}"#,
    r#"{"family":"subways","type":2,"p":2,"q":4,"l":4,"c":2,"clusters":2,"aggs_per_cluster":2,"cores":2,"cluster_gbps":[10,25]}"#,
    r#"{"family":"tree","edge_ports":4,"servers":8}"#,
];

fn flow(number: u32, ends: [NodeId; 2]) -> RoutedFlow {
    let tuple = FiveTuple {
        addresses: ends.map(|end| [10, 0, 0, end as u8 + 1]),
        protocol: 6,
        ports: [hash::source_port(number).unwrap(), hash::port(number).unwrap()],
    };
    RoutedFlow {
        ends,
        tuple,
        by_port: [None; 2],
    }
}

fn permutation(network: &Network, shift: u32) -> Vec<RoutedFlow> {
    let servers = network.topology().server_count();
    let ends = |source| [source, (source + 1 + shift % (servers - 1)) % servers];
    (0..servers).map(|source| flow(source, ends(source))).collect()
}

fn run(
    network: &Network,
    part: &Part,
    failures: Failures,
    balance: Balance,
    seed: u64,
    flows: &[RoutedFlow],
) -> RoutedFlows {
    let damage = Damage {
        failures,
        ..Damage::none(network.topology())
    };
    let run = RoutedRun {
        part,
        damage,
        balance,
        seed,
        link_gbps: 0.1,
    };
    run.flows(network, flows).unwrap()
}

proptest! {
    #![proptest_config(crate::cases::cases(64))]

    #[test]
    fn paths_lead_around_what_has_failed_and_rates_are_those_of_the_paths(
        which in 0..SPECS.len(), shift: u32, seed: u64, failed in any::<prop::sample::Index>(),
    ) {
        let network = Network::open(SPECS[which]).unwrap();
        let topology = network.topology();
        let flows = permutation(&network, shift);
        let mut failures = Failures::none(topology);
        let switches = topology.node_count() - topology.server_count();
        failures.fail_node(topology.server_count() + failed.index(switches as usize) as u32);
        let found = run(&network, &topology.whole(), failures.clone(), Balance::ByRate, seed, &flows);
        prop_assert_eq!(&rates_over(&network, &found.paths, 0.1).unwrap(), &found.gbps);
        for (flow, (path, gbps)) in flows.iter().zip(found.paths.iter().zip(&found.gbps)) {
            prop_assert!(path.iter().all(|&node| !failures.node_failed(node)));
            prop_assert_eq!(path.is_empty(), *gbps == 0.0);
            if !path.is_empty() {
                prop_assert_eq!([path[0], path[path.len() - 1]], flow.ends);
            }
        }
    }

    #[test]
    fn by_load_the_fullest_link_has_no_more_than_by_equal_paths(
        which in 1..3usize, shift: u32, seed: u64, failed in any::<prop::sample::Index>(),
    ) {
        let network = Network::open(SPECS[which]).unwrap();
        let topology = network.topology();
        let flows = permutation(&network, shift);
        let mut failures = Failures::none(topology);
        failures.fail_link(failed.index(topology.link_count()) as u32);
        let capacity = network.scaled_gbps(0.1);
        let fullest = |balance| {
            let found = run(&network, &topology.whole(), failures.clone(), balance, seed, &flows);
            let links = topology.links();
            let mut used = std::collections::BTreeMap::new();
            for hop in found.paths.iter().flat_map(|path| path.windows(2)) {
                *used.entry([hop[0], hop[1]]).or_insert(0.0) += 1.0;
            }
            let loads = (0..links.len()).flat_map(|link| {
                let ends = [links.a[link], links.b[link]];
                [(ends, 2 * link), ([ends[1], ends[0]], 2 * link + 1)]
            });
            let load = |(ends, directed): ([NodeId; 2], usize)| used.get(&ends).map_or(0.0, |used| used / capacity[directed]);
            loads.map(load).fold(0.0, f64::max)
        };
        prop_assert!(fullest(Balance::ByLoad) <= fullest(Balance::Equal) * (1.0 + 1e-9));
    }

    #[test]
    fn a_slice_is_routed_within_itself(shift in 0u32..3, seed: u64) {
        let network = Network::open(SPECS[0]).unwrap();
        let topology = network.topology();
        let servers = [0, 1, 4, 8].map(|server| topology.node_name(server)).to_vec();
        let part = topology.slice(&Slice::Servers(SliceOfServers { servers })).unwrap();
        let ends = |at: usize| [part.servers[at], part.servers[(at + 1 + shift as usize) % 4]];
        let flows: Vec<RoutedFlow> = (0..4).map(|at| flow(at as u32, ends(at))).collect();
        let found = run(&network, &part, Failures::none(topology), Balance::ByRate, seed, &flows);
        let inside = |node: &NodeId| part.servers.contains(node) || part.switches.contains(node);
        prop_assert!(found.paths.iter().all(|path| path.len() > 2 && path.iter().all(inside)));
    }
}

#[test]
fn a_connection_of_subflows_gets_what_its_servers_ports_carry() {
    let network = Network::open(SPECS[1]).unwrap();
    let topology = network.topology();
    let ends = [0, topology.server_count() - 1];
    let subflow = |planned: Subflow| {
        let source = planned.source_port.unwrap();
        RoutedFlow {
            by_port: planned.by_port,
            tuple: FiveTuple {
                ports: [source, hash::port(0).unwrap()],
                ..flow(0, ends).tuple
            },
            ends,
        }
    };
    let addresses = PortAddresses::of(topology);
    let subflows: Vec<RoutedFlow> = addresses
        .subflows(0, ends, None)
        .into_iter()
        .map(subflow)
        .collect();
    let alone = |flows: &[RoutedFlow]| {
        let whole = topology.whole();
        let found = run(
            &network,
            &whole,
            Failures::none(topology),
            Balance::Equal,
            1,
            flows,
        );
        found.gbps.iter().sum::<f64>()
    };
    assert_eq!(subflows.len(), 4);
    assert!((alone(&[flow(0, ends)]) - 0.1).abs() < 1e-9);
    assert!((alone(&subflows) - 0.2).abs() < 1e-9);
}

#[test]
fn a_network_whose_servers_relay_is_refused() {
    let network = Network::open(r#"{"family":"bcube","n":2,"k":1}"#).unwrap();
    let part = network.topology().whole();
    let run = RoutedRun {
        part: &part,
        damage: Damage::none(network.topology()),
        balance: Balance::Equal,
        seed: 1,
        link_gbps: 1.0,
    };
    assert_eq!(run.flows(&network, &[]).unwrap_err()[0].field, "family");
}
