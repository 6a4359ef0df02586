//! Properties of routing tables: they reach the same servers as the model, by its paths, without
//! loops.

use crate::common;

use std::collections::BTreeMap;

use common::{any_failures, assert_walks, build};
use cubeyard_routing::hash::{self, FiveTuple};
use cubeyard_routing::path::{Router, link_of};
use cubeyard_routing::subflows::PortAddresses;
use cubeyard_routing::subways::{HOT, LinkWeights, LoopLoad, RackDetours, Racks, rack_detours};
use cubeyard_routing::tables::{Balance, Hop, MAX_RELAYS, MAX_WEIGHT, Prefix, Segment, Tables};
use cubeyard_routing::{Failures, default_for, router};
use cubeyard_topology::{NodeId, Topology, families};
use proptest::prelude::*;

/// Networks whose switches can be routers, of every family whose servers do not relay.
const NETWORKS: &[&str] = &[
    r#"{"family":"fat_tree","ports":4,"layers":3}"#,
    r#"{"family":"fat_tree","ports":6,"layers":3,"servers":21}"#,
    r#"{"family":"fat_tree","ports":4,"layers":4,"servers":20}"#,
    r#"{"family":"fat_tree","ports":6,"layers":1}"#,
    r#"{"family":"tree","edge_ports":4,"servers":14}"#,
    r#"{"family":"tree","edge_ports":2,"root_ports":2,"servers":9}"#,
    r#"{"family":"leaf_spine","leaves":4,"spines":3,"servers_per_leaf":4}"#,
    r#"{"family":"leaf_spine","leaves":3,"spines":2,"servers_per_leaf":3,"uplinks_per_spine":2}"#,
    r#"{"family":"leaf_spine","leaves":3,"spines":2,"servers_per_leaf":2,"super_spines":3,"pods":2,"uplinks_per_super_spine":2}"#,
    r#"{"family":"subways","type":0,"p":2,"q":4,"l":4,"clusters":2}"#,
    r#"{"family":"subways","type":1,"p":2,"q":4,"l":5,"clusters":3}"#,
    r#"{"family":"subways","type":1,"p":3,"q":6,"l":4,"clusters":1}"#,
    r#"{"family":"subways","type":2,"p":2,"q":4,"l":4,"c":2,"clusters":4}"#,
    r#"{"family":"subways","type":2,"p":3,"q":6,"l":6,"c":2,"clusters":4,"cluster_gbps":[10,25,10,25]}"#,
    r#"{"family":"jellyfish","switches":10,"ports":6,"servers_per_switch":2}"#,
    r#"{"family":"jellyfish","switches":7,"ports":5,"servers_per_switch":2,"servers":9,"seed":5}"#,
    r#"{"family":"dragonfly","a":3,"p":1,"h":1}"#,
    r#"{"family":"dragonfly","a":2,"p":2,"h":2,"groups":3}"#,
    r#"{"family":"custom","nodes":[{"name":"a","role":"switch"},{"name":"b","role":"switch"},{"name":"c","role":"switch"},{"name":"d","role":"switch","tier":3},{"name":"s1","role":"server"},{"name":"s2","role":"server"},{"name":"s3","role":"server"},{"name":"s4","role":"server"}],"links":[{"a":"s1","b":"a"},{"a":"s2","b":"a"},{"a":"b","b":"s2"},{"a":"s3","b":"b"},{"a":"s4","b":"c"},{"a":"a","b":"b"},{"a":"c","b":"b"},{"a":"c","b":"d"},{"a":"a","b":"d"},{"a":"a","b":"d","gbps":40}]}"#,
    r#"{"family":"custom","link_gbps":25,"nodes":[{"name":"x","role":"server"},{"name":"y","role":"server"},{"name":"z","role":"server"},{"name":"one","role":"switch"},{"name":"two","role":"switch"}],"links":[{"a":"x","b":"one"},{"a":"y","b":"one"},{"a":"x","b":"y"},{"a":"z","b":"two"},{"a":"one","b":"two"}]}"#,
];

fn any_network() -> impl Strategy<Value = Topology> {
    proptest::sample::select(NETWORKS).prop_map(build)
}

#[test]
fn every_family_with_routers_is_tried() {
    for family in families().as_array().unwrap() {
        let name = family["family"].as_str().unwrap();
        let tried = NETWORKS.iter().any(|spec| build(spec).spec().family() == name);
        let relays = build(&family["example"].to_string()).servers_relay();
        assert!(
            tried || relays,
            "add networks of {name} to `NETWORKS` of tests/tables.rs"
        );
    }
}

fn any_balance() -> impl Strategy<Value = Balance> {
    prop_oneof![
        Just(Balance::Equal),
        Just(Balance::ByRate),
        Just(Balance::ByLoad),
        Just(Balance::ByDetour)
    ]
}

/// Follows the tables by `pick`, which draws among the next hops. The walk ends after as many links
/// as there are nodes.
fn walk(
    tables: &Tables,
    ends: [NodeId; 2],
    most: u32,
    mut pick: impl FnMut(usize) -> usize,
) -> (NodeId, Vec<u32>) {
    let [mut at, destination] = ends;
    let mut path = Vec::new();
    while at != destination && path.len() < most as usize {
        let entered_by = path.last().map(|&directed| link_of(directed));
        let hops = tables
            .of(at)
            .hops_entering(entered_by, Prefix::Server(destination));
        let Some(hop) = hops.get(pick(hops.len().max(1))) else {
            break;
        };
        path.push(hop.directed);
        at = hop.far;
    }
    (at, path)
}

/// The model with every link failed that `keep` refuses.
fn model(topology: &Topology, failures: &Failures, keep: impl Fn(u32) -> bool) -> Box<dyn Router> {
    let mut fewer = failures.clone();
    (0..topology.link_count() as u32)
        .filter(|&link| !keep(link))
        .for_each(|link| fewer.fail_link(link));
    // Without tiers the tables use shortest paths, even if the family has other schemes.
    let scheme = if topology.has_tiers() {
        default_for(topology.spec())
    } else {
        "ecmp"
    };
    router(scheme, topology, fewer).unwrap()
}

proptest! {
    #![proptest_config(crate::cases::cases(400))]

    #[test]
    fn tables_reach_what_the_model_reaches_by_paths_of_the_model(
        topology in any_network(), balance in any_balance(), (kind, ratio, seed) in any_failures(),
        ends in any::<(u32, u32)>(), picks in prop::collection::vec(any::<prop::sample::Index>(), 12),
    ) {
        let failures = Failures::random(&topology, kind, ratio, seed);
        let tables = Tables::new(&topology, &failures, balance).unwrap();
        let servers = topology.server_count();
        let (source, destination) = (ends.0 % servers, ends.1 % servers);
        prop_assume!(source != destination && !failures.node_failed(source));
        let mut draws = picks.iter().cycle();
        let (end, path) = walk(&tables, [source, destination], topology.node_count(), |count| {
            draws.next().unwrap().index(count)
        });
        let mut found = Vec::new();
        let reachable = model(&topology, &failures, |_| true).route(source, destination, seed, &mut found).is_ok();
        prop_assert!(path.len() < topology.node_count() as usize, "no loops, reachable or not");
        prop_assert_eq!(end == destination, reachable, "reached {} by {:?}", end, &path);
        if !reachable {
            return Ok(());
        }
        assert_walks(&topology, source, destination, &path, &failures);
        prop_assert_eq!(path.len() == 2, found.len() == 2, "a shared ToR comes first");
        // With the same links at both ends the model's paths are as long, and this one is one of
        // them.
        let used = |link: u32| path.iter().any(|&directed| link_of(directed) == link);
        let links = topology.links();
        let at_ends = |link: u32| [source, destination].contains(&links.a[link as usize]);
        let mut same = Vec::new();
        model(&topology, &failures, |link| used(link) || !at_ends(link)).route(source, destination, seed, &mut same).unwrap();
        prop_assert_eq!(same.len(), path.len());
        model(&topology, &failures, used).route(source, destination, seed, &mut same).unwrap();
        prop_assert_eq!(&same, &path);
    }

    #[test]
    fn tables_are_ordered_small_and_the_first_ones_after_mending(
        topology in any_network(), balance in any_balance(), (kind, ratio, seed) in any_failures(),
    ) {
        let whole = Failures::none(&topology);
        let first = Tables::new(&topology, &whole, balance).unwrap();
        let mut failures = Failures::random(&topology, kind, ratio, seed);
        let broken = Tables::new(&topology, &failures, balance).unwrap();
        for node in 0..topology.node_count() {
            let table = broken.of(node);
            prop_assert!(table.routes.is_sorted_by(|one, next| one.0 < next.0), "each prefix once");
            prop_assert!(!failures.node_failed(node) || table.routes.is_empty(), "devices that are off have no routes");
            for group in &table.groups {
                prop_assert!(!group.is_empty() && group.iter().all(|hop| (1..=MAX_WEIGHT).contains(&hop.weight)));
                prop_assert!(group.is_sorted_by(|one, next| one.directed < next.directed), "each link once, in order");
            }
        }
        let (nodes, links): (Vec<_>, Vec<_>) = (failures.nodes().iter().collect(), failures.links().iter().collect());
        nodes.into_iter().for_each(|node| failures.recover_node(node));
        links.into_iter().for_each(|link| failures.recover_link(link));
        prop_assert_eq!(Tables::new(&topology, &failures, balance).unwrap(), first);
    }
}

#[test]
fn servers_that_relay_have_no_tables() {
    let cube = build(r#"{"family":"bcube","n":2,"k":1}"#);
    assert_eq!(Tables::new(&cube, &Failures::none(&cube), Balance::Equal), None);
}

#[test]
fn a_whole_fat_tree_needs_one_route_up_and_one_for_each_server_below() {
    let topology = build(r#"{"family":"fat_tree","ports":4,"layers":3}"#);
    let tables = Tables::new(&topology, &Failures::none(&topology), Balance::Equal).unwrap();
    let routes = |node: NodeId| tables.of(node).routes.len();
    assert_eq!(routes(0), 1, "a server has its default route");
    let tiers = topology.tiers();
    // Two servers below an edge switch, four below an aggregation switch, all sixteen below a core
    // switch.
    for (tier, expected) in tiers.iter().zip([3, 5, 16]) {
        for switch in tier.first..tier.first + tier.count {
            assert_eq!(routes(switch), expected);
        }
    }
    let up = tables.of(tiers[0].first);
    assert_eq!(up.routes.last().unwrap().0, Prefix::Any);
    assert_eq!(up.hops(15).len(), 2, "both ways up, each as likely");
}

#[test]
fn rates_of_ports_become_weights() {
    // Ports of 10 and 25 Gb/s: 2/7 and 5/7 of the flows. [subways §4.3]
    let spec = r#"{"family":"subways","type":2,"p":2,"q":4,"l":4,"c":2,"clusters":2,"cluster_gbps":[10,25]}"#;
    let topology = build(spec);
    let weights = |balance| {
        let tables = Tables::new(&topology, &Failures::none(&topology), balance).unwrap();
        let far = topology.server_count() - 1;
        let mut weights: Vec<u32> = tables.hops(0, far).iter().map(|hop| hop.weight).collect();
        weights.sort_unstable();
        weights
    };
    assert_eq!(weights(Balance::ByRate), [2, 5]);
    assert_eq!(weights(Balance::Equal), [1, 1]);
}

/// The weights of a source's links are its own table's, those of a destination's links are those of
/// the ways down to it.
#[test]
fn weights_by_load_are_those_of_both_ends() {
    let topology = build(
        r#"{"family":"subways","type":1,"p":2,"q":4,"l":4,"clusters":2,"aggs_per_cluster":2,"cores":2}"#,
    );
    let none = Failures::none(&topology);
    let equal = LinkWeights::equal(&topology);
    let first = Tables::new(&topology, &none, Balance::ByLoad).unwrap();
    assert_eq!(Tables::by_load(&topology, &none, &equal).unwrap(), first);
    let links = topology.links();
    let own =
        |server: u32| -> Vec<usize> { (0..links.len()).filter(|&link| links.a[link] == server).collect() };
    let (source, near, far) = (0, 2, 8);
    let mut weights = equal;
    (weights.source[own(source)[0]], weights.source[own(source)[1]]) = (0.25, 0.75);
    (weights.destination[own(far)[0]], weights.destination[own(far)[1]]) = (0.875, 0.125);
    let tables = Tables::by_load(&topology, &none, &weights).unwrap();
    let of = |hops: &[Hop]| -> Vec<u32> { hops.iter().map(|hop| hop.weight).collect() };
    assert_eq!(of(tables.hops(source, far)), [1, 3]);
    assert_eq!(tables.hops(source, near).len(), 1, "the ToR that both have");
    let above = links.b[own(far)[0]];
    let aggregation = (0..links.len())
        .find(|&link| links.a[link] == above)
        .map(|link| links.b[link])
        .unwrap();
    assert_eq!(of(tables.hops(aggregation, far)), [7, 1]);
    assert_eq!(
        of(tables.hops(aggregation, far + 1)),
        [1, 1],
        "another server's weights are its own"
    );
    assert_eq!(
        of(tables.hops(above, source)),
        [1, 1],
        "each upward link is equally likely"
    );
}

/// How likely each pair of first and last link is, by tables alone.
fn likely(tables: &Tables, [source, destination]: [NodeId; 2]) -> BTreeMap<[u32; 2], f64> {
    let mut pairs = BTreeMap::new();
    let mut open: Vec<(NodeId, Vec<u32>, f64)> = vec![(source, Vec::new(), 1.0)];
    while let Some((at, path, share)) = open.pop() {
        if at == destination {
            *pairs.entry([path[0], path[path.len() - 1]]).or_default() += share;
            continue;
        }
        let entered_by = path.last().map(|&directed| link_of(directed));
        let hops = tables
            .of(at)
            .hops_entering(entered_by, Prefix::Server(destination));
        let total: u32 = hops.iter().map(|hop| hop.weight).sum();
        for hop in hops {
            let path = path.iter().copied().chain([hop.directed]).collect();
            open.push((hop.far, path, share * f64::from(hop.weight) / f64::from(total)));
        }
    }
    pairs
}

proptest! {
    #![proptest_config(crate::cases::cases(64))]

    /// Includes servers whose ToRs are in several clusters: the core carries traffic between
    /// clusters.
    #[test]
    fn both_ends_links_are_chosen_independently(
        spec in proptest::sample::select(&[
            r#"{"family":"subways","type":1,"p":2,"q":4,"l":4,"clusters":2,"aggs_per_cluster":2,"cores":2}"#,
            r#"{"family":"subways","type":2,"p":2,"q":4,"l":4,"c":2,"clusters":2,"aggs_per_cluster":2,"cores":2}"#,
            r#"{"family":"subways","type":2,"p":3,"q":6,"l":6,"c":3,"clusters":3,"aggs_per_cluster":3,"cores":2}"#,
            r#"{"family":"subways","type":2,"p":3,"q":6,"l":6,"c":2,"clusters":4,"aggs_per_cluster":2,"cores":4}"#,
        ][..]),
        drawn in proptest::collection::vec(0.05..1.0f64, 16), ends in any::<(u32, u32)>(),
    ) {
        let topology = build(spec);
        let links = topology.links();
        let mut weights = LinkWeights::equal(&topology);
        let servers = topology.server_count();
        for link in 0..links.len() {
            weights.source[link] = drawn[link % 7];
            weights.destination[link] = drawn[5 + link % 11];
        }
        let tables = Tables::by_load(&topology, &Failures::none(&topology), &weights).unwrap();
        let (source, destination) = (ends.0 % servers, ends.1 % servers);
        let own = |server| (0..links.len()).filter(move |&link| links.a[link] == server);
        let tors = |server| own(server).map(|link| links.b[link]);
        prop_assume!(tors(source).all(|tor| tors(destination).all(|other| tor != other)));
        let found = likely(&tables, [source, destination]);
        let share = |weights: &[f64], server, link: usize| weights[link] / own(server).map(|link| weights[link]).sum::<f64>();
        for up in own(source) {
            for down in own(destination) {
                let wanted = share(&weights.source, source, up) * share(&weights.destination, destination, down);
                let pair = [2 * up as u32, 2 * down as u32 + 1];
                let ours = found.get(&pair).copied().unwrap_or_default();
                // Next hops have whole numbers as weights.
                prop_assert!((ours - wanted).abs() < 0.02, "{pair:?}: {ours} beside {wanted}");
            }
        }
    }
}

const LOOPS: [&str; 3] = [
    r#"{"family":"subways","type":1,"p":2,"q":4,"l":8,"clusters":1,"aggs_per_cluster":2,"loops_per_cluster":2}"#,
    r#"{"family":"subways","type":1,"p":3,"q":6,"l":7,"clusters":1,"aggs_per_cluster":2,"loops_per_cluster":2}"#,
    r#"{"family":"subways","type":2,"p":2,"q":4,"l":6,"c":2,"clusters":2,"aggs_per_cluster":2}"#,
];

/// The detours per rack of the first loop if its ToRs use these amounts of uplinks of 10, and the
/// other loop uses nothing.
fn planned(racks: &Racks, used: &[f64]) -> (Vec<RackDetours>, Vec<(usize, usize)>) {
    let ring = racks.ring;
    let load = LoopLoad {
        hot: used.iter().map(|used| *used > HOT).collect(),
        left_over: used.iter().map(|used| 10.0 * (1.0 - used)).collect(),
        link_capacity: vec![20.0; ring.size],
        straight: vec![8.0; ring.size],
    };
    let (mut ways, withdrawn) = rack_detours(ring, &load);
    ways.resize(racks.count, RackDetours::default());
    (ways, withdrawn)
}

proptest! {
    #![proptest_config(crate::cases::cases(48))]

    /// With detours every flow arrives too, over live links, by at most two relays, which are in
    /// other racks; and each node on the path has a route for the flow's packets. Without detours
    /// nothing changes except these routes.
    #[test]
    fn detours_arrive_and_every_node_knows_how_to_pass_them_on(
        which in 0..LOOPS.len(), used in proptest::collection::vec(0.0..1.0f64, 8), port: u16, seed: u64,
        failed in any::<proptest::sample::Index>(), both: bool,
    ) {
        let topology = build(LOOPS[which]);
        let links = topology.links();
        let racks = Racks::of(&topology).unwrap();
        let mut failures = Failures::none(&topology);
        failures.fail_link(failed.index(links.len()) as u32);
        let (ways, withdrawn) = planned(&racks, &used[..racks.ring.size]);
        let mut weights = LinkWeights::equal(&topology);
        for link in (0..links.len()).filter(|&link| topology.is_server(links.a[link])) {
            if withdrawn.contains(&(racks.rack_of(links.a[link]), racks.tor_of(links.b[link]))) {
                weights.source[link] = 0.0;
            }
        }
        let by_server: Vec<RackDetours> =
            (0..topology.server_count()).map(|server| ways[racks.rack_of(server)].clone()).collect();
        let none = vec![RackDetours::default(); by_server.len()];
        let inward = if both { &by_server } else { &none };
        let tables = Tables::with_detours(&topology, &failures, &weights, [&by_server, inward]).unwrap();
        let without = Tables::with_detours(&topology, &failures, &weights, [&none, &none]).unwrap();
        let straight = Tables::by_load(&topology, &failures, &weights).unwrap();
        let has = |node: NodeId, wanted: Segment| tables.of(node).segments.contains(&wanted);
        for node in 0..topology.node_count() {
            prop_assert_eq!(&without.of(node).routes, &straight.of(node).routes);
            prop_assert_eq!(&without.of(node).groups, &straight.of(node).groups);
            for hop in tables.of(node).groups.iter().flatten() {
                let mut from = hop.far;
                for (at, relay) in hop.relays.iter().flatten().enumerate() {
                    if at == 0 {
                        let is_known = has(node, Segment::Toward { tor: from, directed: hop.directed });
                    prop_assert!(is_known);
                    }
                    let is_known = has(from, Segment::Below { server: relay.server, directed: relay.down });
                    prop_assert!(is_known);
                    let is_known = has(relay.server, Segment::Relay { from, over: relay.down ^ 1, to: relay.tor });
                    prop_assert!(is_known);
                    let is_known = has(relay.server, Segment::Toward { tor: relay.tor, directed: relay.up });
                    prop_assert!(is_known);
                    prop_assert!(racks.rack_of(relay.server) != racks.rack_of(node));
                    from = relay.tor;
                }
                let is_exit = |one: &Segment| matches!(one, Segment::Exit { .. });
                prop_assert!(from == hop.far || tables.of(from).segments.iter().any(is_exit));
                if let Some(arrival) = hop.arrival {
                    prop_assert!(!topology.is_server(node), "switches send towards racks");
                    prop_assert!(hop.relays[0].is_some());
                    let is_known = has(from, Segment::Below { server: arrival.server, directed: arrival.down });
                    prop_assert!(is_known);
                    let is_known = has(arrival.server, Segment::Arrival { from, over: arrival.down ^ 1 });
                    prop_assert!(is_known);
                }
            }
        }
        let servers = topology.server_count();
        for source in 0..servers / 2 {
            let far = servers / 2 + source;
            let flow = FiveTuple {
                addresses: [source, far].map(|server| [10, 0, 0, server as u8 + 1]),
                protocol: 6,
                ports: [port, 5201],
            };
            let path = hash::path(&tables, seed, [source, far], &flow).unwrap();
            prop_assert_eq!(path.last().unwrap().far, far);
            prop_assert!(path.iter().all(|hop| failures.carries(links, link_of(hop.directed) as usize)));
            let relays = path.iter().filter(|hop| hop.far != far && topology.is_server(hop.far)).count();
            prop_assert!(relays <= MAX_RELAYS);
            prop_assert_eq!(path[0].relays.iter().flatten().count(), relays);
        }
    }
}

/// Rack 2 of eight is hot and has ToRs 1 and 2: its flows also leave by ToRs 3, 4, 0 and 7, in
/// equal shares.
#[test]
fn a_hot_racks_next_hops_are_its_tors_and_two_detours_to_either_side() {
    let topology = build(LOOPS[0]);
    let racks = Racks::of(&topology).unwrap();
    let used = [0.1, 0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1];
    let (ways, withdrawn) = planned(&racks, &used);
    assert_eq!(withdrawn, [], "it is a separate group");
    let by_server: Vec<RackDetours> = (0..topology.server_count())
        .map(|server| ways[racks.rack_of(server)].clone())
        .collect();
    let none = Failures::none(&topology);
    let weights = LinkWeights::equal(&topology);
    let no_detours = vec![RackDetours::default(); by_server.len()];
    let tables = Tables::with_detours(&topology, &none, &weights, [&by_server, &no_detours]).unwrap();
    let source = racks.servers_of(2).start + 1;
    let far = topology.server_count() - 1;
    type NextHop = (usize, Vec<(u32, usize)>, u32); // the ToR, each relay with the ToR before it, the weight
    let mut found: Vec<NextHop> = tables
        .hops(source, far)
        .iter()
        .map(|hop| {
            let relays = hop
                .relays
                .iter()
                .flatten()
                .map(|relay| (relay.server, racks.tor_of(relay.tor)));
            (racks.tor_of(hop.far), relays.collect(), hop.weight)
        })
        .collect();
    found.sort_unstable();
    // Relays are the second servers of their racks, like the source in its own rack. Each ToR has
    // 5.4 for detours, 60 % of its free capacity; the last detour gets the rest of the 20 of the
    // rack's links. 8 take no detour.
    let expected = vec![
        (1, vec![], 190),
        (1, vec![(3, 0)], 256),
        (1, vec![(3, 0), (1, 7)], 256),
        (2, vec![], 190),
        (2, vec![(7, 3)], 256),
        (2, vec![(7, 3), (9, 4)], 180),
    ];
    assert_eq!(found, expected);
    let shared = racks.servers_of(3).start;
    assert_eq!(
        tables.hops(source, shared).len(),
        1,
        "a ToR that both have needs no detour"
    );
}

#[test]
fn a_port_s_address_is_reached_by_that_port_alone_and_left_from_by_it() {
    for network in [
        r#"{"family":"subways","type":1,"p":2,"q":4,"l":4,"clusters":2,"aggs_per_cluster":2,"cores":2}"#,
        r#"{"family":"subways","type":2,"p":3,"q":6,"l":4,"c":2,"clusters":2,"aggs_per_cluster":2,"cores":2}"#,
    ] {
        let topology = build(network);
        let plain = Tables::new(&topology, &Failures::none(&topology), Balance::Equal).unwrap();
        let tables = plain
            .clone()
            .with_ports(&topology, &Failures::none(&topology), Balance::Equal);
        let addresses = PortAddresses::of(&topology);
        let ends = [0, topology.server_count() - 1];
        for server in 0..topology.server_count() {
            assert_eq!(plain.hops(ends[0], server), tables.hops(ends[0], server));
        }
        for from in addresses.ports(ends[0]) {
            for to in addresses.ports(ends[1]) {
                for seed in 0..20 {
                    let flow = FiveTuple {
                        addresses: [[1; 4], [2; 4]],
                        protocol: 6,
                        ports: [20_000 + seed as u16, 5201],
                    };
                    let by_port = [Some(*from), Some(*to)];
                    let path = hash::path_by_ports(&tables, seed, ends, by_port, &flow).unwrap();
                    let links = topology.links();
                    let port = |hop: &Hop| links.a_port[link_of(hop.directed) as usize] as u8;
                    assert_eq!([port(&path[0]), port(path.last().unwrap())], [*from, *to]);
                    assert_eq!(path.last().unwrap().far, ends[1]);
                }
            }
        }
        // A port without a cable takes its address with it, and no other.
        let mut failures = Failures::none(&topology);
        let gone = tables.of(ends[1]).hops_for(Prefix::From(0))[0].directed;
        failures.fail_link(link_of(gone));
        let without = Tables::new(&topology, &failures, Balance::Equal).unwrap();
        let without = without.with_ports(&topology, &failures, Balance::Equal);
        let flow = FiveTuple {
            addresses: [[1; 4], [2; 4]],
            protocol: 6,
            ports: [20_000, 5201],
        };
        let path = |to| hash::path_by_ports(&without, 1, ends, [Some(0), Some(to)], &flow);
        assert_eq!((path(0), path(1).is_some()), (None, true));
    }
}
