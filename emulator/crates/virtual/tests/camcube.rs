//! CamCube in virtual time: paths against the model's, failures, keys.

use std::collections::{BTreeMap, BTreeSet};

use crate::cases::short_or_long;
use cubeyard_dataplane::address::{port_ip, virtual_ip};
use cubeyard_dataplane::camcube::ENTRY;
use cubeyard_dataplane::catalog::SOFTWARE;
use cubeyard_dataplane::event::{Event, SwitchReason};
use cubeyard_dataplane::flow::Flow;
use cubeyard_dataplane::inspection::Cell;
use cubeyard_dataplane::settings::Given;
use cubeyard_routing::random::Draws;
use cubeyard_routing::torus::{KeyMap, Shape, disjoint_paths};
use cubeyard_routing::{Failures, PathSet};
use cubeyard_topology::{NodeId, Topology, TopologySpec, Torus2dSpec, Torus3dSpec};
use cubeyard_virtual::{Network, Options};
use proptest::prelude::*;

/// Longer than silence takes to be noticed, and news of it to spread.
const SETTLED_SECS: f64 = 7.0;

struct Torus {
    network: Network,
    shape: Shape,
}

fn torus(sizes: [u32; 3], disjoint: bool, present: Option<Vec<NodeId>>) -> Torus {
    let [x, y, z] = sizes;
    torus_of(TopologySpec::Torus3d(Torus3dSpec { x, y, z }), disjoint, present)
}

/// A torus of two axes.
fn plane([x, y]: [u32; 2], disjoint: bool) -> Torus {
    torus_of(TopologySpec::Torus2d(Torus2dSpec { x, y }), disjoint, None)
}

fn torus_of(spec: TopologySpec, disjoint: bool, present: Option<Vec<NodeId>>) -> Torus {
    let options = Options {
        protocol: &ENTRY,
        forwarding: SOFTWARE,
        spec,
        present,
        gateways: Vec::new(),
        rate_bits_per_sec: 1e9,
        settings: Given::from([("disjoint_paths".to_owned(), f64::from(u8::from(disjoint)))]),
        seed: 1,
    };
    let network = Network::new(options).unwrap();
    let shape = Shape::new(&network.topology).unwrap();
    Torus { network, shape }
}

fn flow(source: NodeId, destination: NodeId) -> Flow {
    Flow::new(
        virtual_ip(source).unwrap(),
        virtual_ip(destination).unwrap(),
        6,
        1000,
        2000,
    )
}

/// Hops from every server to one, over what works of a topology.
fn hops_to(
    topology: &Topology,
    failures: &Failures,
    present: &dyn Fn(NodeId) -> bool,
    to: NodeId,
) -> BTreeMap<NodeId, u32> {
    let links = topology.links();
    let works =
        |link: &usize| failures.carries(links, *link) && present(links.a[*link]) && present(links.b[*link]);
    let links: Vec<(NodeId, NodeId)> = (0..links.len())
        .filter(works)
        .map(|link| (links.a[link], links.b[link]))
        .collect();
    let mut hops = BTreeMap::from([(to, 0)]);
    for distance in 1.. {
        let near = |server: NodeId| hops.get(&server) == Some(&(distance - 1));
        let reached: Vec<NodeId> = links
            .iter()
            .flat_map(|&(a, b)| [(a, b), (b, a)])
            .filter(|&(a, b)| near(a) && !hops.contains_key(&b))
            .map(|(_, b)| b)
            .collect();
        if reached.is_empty() {
            break;
        }
        hops.extend(reached.into_iter().map(|server| (server, distance)));
    }
    hops
}

impl Torus {
    /// The links of a path of servers as directed links; a torus with sides of three or more has
    /// one between two servers.
    fn links_of(&self, path: &[NodeId]) -> Vec<u32> {
        let ports = self.shape.ports();
        let link = |pair: &[NodeId]| {
            let port = (0..self.shape.degree()).find(|&port| ports.far(pair[0], port) == pair[1]);
            ports.outward(pair[0], port.unwrap())
        };
        path.windows(2).map(link).collect()
    }

    /// All pairs of these servers, as [`check_pairs`](Self::check_pairs).
    fn check_all_pairs(&mut self, disjoint: bool, packets: u32) -> usize {
        let servers = self.network.servers();
        self.check_pairs(&servers, &servers, disjoint, packets)
    }

    /// Checks pairs of these senders and receivers: packets between live, connected servers arrive,
    /// over a shortest live path or a live disjoint path; others do not.
    fn check_pairs(&mut self, from: &[NodeId], to: &[NodeId], disjoint: bool, packets: u32) -> usize {
        let failures = self.network.failures.clone();
        let servers: BTreeSet<NodeId> = self.network.servers().into_iter().collect();
        let (senders, receivers) = (from, to);
        let mut delivered = 0;
        for &to in receivers {
            let hops = hops_to(
                &self.network.topology,
                &failures,
                &|server| servers.contains(&server),
                to,
            );
            for &from in senders
                .iter()
                .filter(|&&from| from != to && !failures.node_failed(from))
            {
                let mut model = PathSet::default();
                disjoint_paths(&self.shape, from, to, &mut model);
                let carries =
                    |directed: &u32| failures.carries(self.network.topology.links(), *directed as usize / 2);
                let live: BTreeSet<Vec<u32>> = model
                    .iter()
                    .filter(|path| path.iter().all(carries))
                    .map(<[u32]>::to_vec)
                    .collect();
                let mut taken = BTreeSet::new();
                // All links are free again.
                self.network.run(1e-4);
                for _ in 0..packets {
                    let sent = self.network.send_once(from, flow(from, to));
                    let reachable = !failures.node_failed(to) && hops.contains_key(&from);
                    assert_eq!(
                        sent.arrived_at.is_some(),
                        reachable,
                        "{from} to {to}: {:?}",
                        sent.path
                    );
                    let Some(least) = hops.get(&from).filter(|_| reachable) else {
                        continue;
                    };
                    delivered += 1;
                    let visited: BTreeSet<NodeId> = sent.path.iter().copied().collect();
                    assert_eq!(visited.len(), sent.path.len(), "{:?}", sent.path);
                    let links = self.links_of(&sent.path);
                    if disjoint && !live.is_empty() {
                        assert!(live.contains(&links), "{from} to {to}: {:?}", sent.path);
                        taken.insert(links);
                    } else {
                        assert_eq!(links.len() as u32, *least, "{from} to {to}: {:?}", sent.path);
                    }
                }
                if disjoint && packets >= 6 {
                    assert!(
                        failures.node_failed(to) || taken == live,
                        "{from} to {to} takes all its paths"
                    );
                }
            }
        }
        assert_eq!(self.network.refused_updates, []);
        delivered
    }

    /// The owners of each coordinate, according to all live servers.
    fn keys(&self) -> BTreeMap<NodeId, Vec<NodeId>> {
        let mut roots: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        let living = self
            .network
            .servers()
            .into_iter()
            .filter(|&server| !self.network.failures.node_failed(server));
        for server in living {
            let inspection = self.network.inspect(server);
            let section = inspection.section("keys").unwrap();
            assert_eq!(section.omitted, 0);
            for home in section.column("home") {
                let Cell::Count(home) = home else {
                    panic!("{home:?}")
                };
                roots.entry(*home as NodeId).or_default().push(server);
            }
        }
        roots
    }
}

#[test]
fn all_pairs_take_every_disjoint_path_and_nothing_else() {
    for &sizes in short_or_long(&[[3, 3, 3], [3, 4, 5]][..], &[[3, 3, 3], [3, 4, 5], [4, 4, 4]]) {
        let mut torus = torus(sizes, true, None);
        torus.network.run(2.0);
        let servers = torus.shape.servers() as usize;
        assert_eq!(torus.check_all_pairs(true, 6), 6 * servers * (servers - 1));
    }
}

#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn a_larger_torus_converges_after_failures() {
    storm(torus([5, 5, 5], true, None), true, 6, 9, 30);
}

/// One server in twenty and one cable in twenty fail at once in a torus that is too large for an
/// emulation here. 216 servers and a sample of their pairs; with `CUBEYARD_TORUS_SIDE=8` a size
/// like the paper's, 512 servers, and eight times the number of pairs (minutes, because every
/// server receives the state of every link).
#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn pairs_of_a_large_torus_reach_each_other_after_random_failures() {
    let side: u32 = std::env::var("CUBEYARD_TORUS_SIDE").map_or(6, |side| side.parse().unwrap());
    let servers = side.pow(3);
    let sample = if side > 6 { 64 } else { 24 };
    let mut torus = torus([side, side, side], true, None);
    torus.network.run(1.0);
    let mut draws = Draws::new(11);
    for _ in 0..servers / 20 {
        torus.network.kill(draws.below(servers));
    }
    for _ in 0..3 * servers / 20 {
        torus
            .network
            .pull_cable(draws.below(servers), draws.below(6) as u8);
    }
    torus.network.run(SETTLED_SECS);
    let mut drawn = || -> Vec<NodeId> {
        let mut all: Vec<NodeId> = (0..servers).collect();
        draws.shuffle(&mut all);
        all.truncate(sample);
        all
    };
    let (from, to) = (drawn(), drawn());
    let delivered = torus.check_pairs(&from, &to, true, 2);
    assert!(delivered > sample * sample, "most pairs live: {delivered}");
}

#[test]
fn a_torus_of_two_axes_carries_and_converges_as_one_of_three() {
    for (sizes, disjoint) in [([3, 3], true), ([4, 5], true), ([2, 5], false)] {
        let mut torus = plane(sizes, disjoint);
        torus.network.run(2.0);
        let servers = torus.shape.servers() as usize;
        assert_eq!(torus.check_all_pairs(disjoint, 6), 6 * servers * (servers - 1));
    }
    storm(plane([5, 5], true), true, 8, 2, 5);
}

#[test]
fn the_routing_service_takes_shortest_paths() {
    let long = [[3, 3, 3], [2, 3, 4], [1, 1, 6], [2, 2, 1], [4, 4, 4]];
    for &sizes in short_or_long(&long[..4], &long) {
        let mut torus = torus(sizes, false, None);
        torus.network.run(2.0);
        let servers = torus.shape.servers() as usize;
        assert_eq!(torus.check_all_pairs(false, 2), 2 * servers * (servers - 1));
    }
}

#[test]
fn short_axes_and_slices_carry_too() {
    for sizes in [[2, 3, 4], [1, 2, 5]] {
        let mut torus = torus(sizes, true, None);
        torus.network.run(2.0);
        let servers = torus.shape.servers();
        for from in 0..servers {
            for to in (0..servers).filter(|&to| to != from) {
                for _ in 0..6 {
                    assert!(torus.network.send_once(from, flow(from, to)).arrived_at.is_some());
                }
            }
        }
    }
    let present: Vec<NodeId> = (0..27)
        .filter(|server| ![0, 5, 13, 22].contains(server))
        .collect();
    let mut torus = torus([3, 3, 3], false, Some(present));
    torus.network.run(2.0);
    assert_eq!(torus.check_all_pairs(false, 2), 2 * 23 * 22);
}

/// Random failures of servers and cables, all at once in the middle of the run, and all recovered
/// later.
fn storm(mut torus: Torus, disjoint: bool, seed: u64, servers: usize, cables: usize) {
    torus.network.run(1.0);
    let mut draws = Draws::new(seed);
    let count = torus.shape.servers();
    let dead: BTreeSet<NodeId> = (0..servers).map(|_| draws.below(count)).collect();
    let pulled: BTreeSet<(NodeId, u8)> = (0..cables)
        .map(|_| (draws.below(count), draws.below(torus.shape.degree()) as u8))
        .collect();
    dead.iter().for_each(|&server| torus.network.kill(server));
    pulled
        .iter()
        .for_each(|&(server, port)| torus.network.pull_cable(server, port));
    torus.network.run(SETTLED_SECS);
    torus.check_all_pairs(disjoint, 3);
    let keys = KeyMap::new(&torus.shape);
    let alive = |server: NodeId| !dead.contains(&server);
    let hops = hops_to(
        &torus.network.topology,
        &torus.network.failures,
        &|_| true,
        (0..count).find(|&server| alive(server)).unwrap(),
    );
    if hops.len() == count as usize - dead.len() {
        for (home, roots) in torus.keys() {
            let wanted = keys.server_of(&torus.shape, home.into(), home, alive);
            assert_eq!(roots, wanted.into_iter().collect::<Vec<_>>(), "key {home}");
        }
        assert_eq!(torus.keys().len(), count as usize);
    }
    for server in dead {
        torus.network.revive(server).unwrap();
    }
    for (server, port) in pulled {
        torus.network.plug_cable(server, port);
    }
    torus.network.run(SETTLED_SECS);
    let pairs = torus.check_all_pairs(disjoint, 1);
    assert_eq!(pairs as u32, count * (count - 1));
    for (home, roots) in torus.keys() {
        assert_eq!(roots, [home]);
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(12))]

    #[test]
    fn what_is_connected_is_reached_and_the_rest_refused(
        sizes in prop::sample::select(vec![[3, 3, 3], [4, 4, 4], [3, 3, 5]]),
        disjoint in any::<bool>(),
        seed in any::<u64>(),
        servers in 0usize..6,
        cables in 0usize..25,
    ) {
        storm(torus(sizes, disjoint, None), disjoint, seed, servers, cables);
    }
}

#[test]
fn a_failure_moves_only_the_keys_of_the_dead() {
    let mut torus = torus([3, 3, 3], true, None);
    torus.network.run(1.0);
    let mut before: BTreeMap<NodeId, Vec<NodeId>> = torus.keys();
    for dead in [13, 4, 14, 0] {
        torus.network.kill(dead);
        torus.network.run(SETTLED_SECS);
        let now = torus.keys();
        for (home, roots) in &now {
            assert!(roots.len() == 1 && roots[0] != dead);
            assert!(before[home] == *roots || before[home] == [dead], "key {home}");
        }
        let took = torus.network.log.iter().filter(|(_, _, event)| {
            matches!(event, Event::Reported { what, cells } if what == "key-remapped" && cells[1].value == Cell::Count(dead.into()))
        });
        let moved = before.values().filter(|roots| **roots == [dead]).count();
        assert_eq!(took.count(), moved, "each is reported once");
        before = now;
    }
}

/// While servers fail and recover, any server that claims a key is its owner if some of the recent
/// changes are ignored; and soon after the last change all servers agree. `[camcube §2.1.2]`
#[test]
fn keys_are_remapped_alike_on_all_servers_during_and_after_churn() {
    let mut torus = torus([3, 3, 3], true, None);
    torus.network.run(2.0);
    let map = KeyMap::new(&torus.shape);
    let mut draws = Draws::new(12);
    let mut changed: Vec<(f64, NodeId)> = Vec::new();
    let mut at_secs = 0.0;
    let mut disagreed = 0;
    for _ in 0..40 {
        let server = draws.below(27);
        if changed.iter().all(|(_, other)| *other != server) {
            if torus.network.failures.node_failed(server) {
                torus.network.revive(server).unwrap();
            } else {
                torus.network.kill(server);
            }
            changed.push((at_secs, server));
        }
        for _ in 0..3 {
            torus.network.run(0.7);
            at_secs += 0.7;
            changed.retain(|(since, _)| at_secs - since < SETTLED_SECS);
            let recent: BTreeSet<NodeId> = changed.iter().map(|(_, server)| *server).collect();
            for (home, claimed) in torus.keys() {
                let right: BTreeSet<NodeId> = subsets(&recent)
                    .filter_map(|dead| {
                        let alive = |server: NodeId| {
                            if recent.contains(&server) {
                                !dead.contains(&server)
                            } else {
                                !torus.network.failures.node_failed(server)
                            }
                        };
                        map.server_of(&torus.shape, home.into(), home, alive)
                    })
                    .collect();
                // A server that has just recovered has no link state yet.
                let wrong: Vec<&NodeId> = claimed
                    .iter()
                    .filter(|server| !right.contains(server) && !recent.contains(server))
                    .collect();
                assert!(
                    wrong.is_empty(),
                    "key {home} at {at_secs}: {wrong:?} of {claimed:?}, {right:?}"
                );
                disagreed += usize::from(claimed.len() != 1);
            }
        }
    }
    assert!(disagreed > 0, "servers learn of a change one after the other");
    torus.network.run(SETTLED_SECS);
    for (home, claimed) in torus.keys() {
        let alive = |server: NodeId| !torus.network.failures.node_failed(server);
        let root = map.server_of(&torus.shape, home.into(), home, alive);
        assert_eq!(claimed, root.into_iter().collect::<Vec<_>>(), "key {home}");
    }
    assert_eq!(torus.keys().len(), 27);
}

fn subsets(of: &BTreeSet<NodeId>) -> impl Iterator<Item = BTreeSet<NodeId>> {
    let all: Vec<NodeId> = of.iter().copied().collect();
    (0u32..1 << all.len()).map(move |mask| {
        let some = all.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1);
        some.map(|(_, server)| *server).collect()
    })
}

fn told_paths(network: &Network, of: Flow) -> Vec<(Option<SwitchReason>, Vec<NodeId>, u32)> {
    let told = network.log.iter().filter_map(|(_, _, event)| match event {
        Event::PathSelected { flow, path } if *flow == of => Some((None, path.servers.clone(), path.others)),
        Event::PathSwitched {
            flow, path, reason, ..
        } if *flow == of => Some((Some(*reason), path.servers.clone(), path.others)),
        _ => None,
    });
    told.collect()
}

#[test]
fn the_path_of_a_flow_is_told_when_it_begins_and_when_it_moves() {
    for disjoint in [true, false] {
        let mut torus = torus([3, 3, 3], disjoint, None);
        let (source, destination) = (0, 9);
        let network = &mut torus.network;
        network.begin_flow(source, flow(source, destination));
        network.run(3.0);
        let others = if disjoint { 4 } else { 0 };
        let first = (None, vec![0, 9], others);
        assert_eq!(
            told_paths(network, flow(source, destination)),
            std::slice::from_ref(&first)
        );
        network.pull_cable(source, 0);
        network.run(3.0);
        let told = told_paths(network, flow(source, destination));
        let [_, (Some(SwitchReason::Failure), path, left)] = &told[..] else {
            panic!("{told:?}");
        };
        // From (0,0,0) to (1,0,0) without the cable between them: by x the other way, or by another
        // axis.
        assert!((3..=4).contains(&path.len()), "{path:?}");
        assert_eq!((path[0], path[path.len() - 1]), (source, destination));
        assert_eq!(*left, others.saturating_sub(1));
        if !disjoint {
            assert_eq!(path, &network.path_of(0), "the packets take it");
        }
        network.plug_cable(source, 0);
        network.run(3.0);
        let told = told_paths(network, flow(source, destination));
        assert_eq!(
            told.last(),
            Some(&(Some(SwitchReason::Recovery), vec![0, 9], others)),
            "{told:?}"
        );
        assert_eq!(told.len(), 3, "no event is repeated");
    }
}

#[test]
fn a_pulled_cable_stops_nobody() {
    let mut torus = torus([3, 3, 3], true, None);
    torus.network.run(1.0);
    let flows: Vec<usize> = (1..27).map(|to| torus.network.begin(0, to, 1, 2)).collect();
    torus.network.run(0.5);
    torus.network.pull_cable(0, 0);
    torus.network.run(1.0);
    // Carriers are seen after 10 ms; until then a third of the packets is lost, never all of them.
    for &number in &flows {
        assert!(torus.network.flows_well(number));
        assert!(
            torus.network.flows[number].longest_gap.as_millis() <= 40,
            "{:?}",
            torus.network.flows[number]
        );
    }
    torus.network.plug_cable(0, 0);
    torus.network.run(SETTLED_SECS);
    torus.check_all_pairs(true, 6);
}

#[test]
fn forged_link_state_of_a_neighbour_is_refused_or_outnumbered() {
    let mut torus = torus([3, 3, 3], true, None);
    torus.network.run(1.0);
    let neighbour = torus.network.configuration(0).ports[0].neighbours[0];
    let from = port_ip(neighbour.server, neighbour.port).unwrap();
    // A forged message claims that server 13 has no link: the server receives it, and corrects it
    // under a greater number.
    let mut forged = vec![0xcb];
    forged.extend(13u32.to_be_bytes());
    forged.extend(1000u32.to_be_bytes());
    forged.extend([0, 0, 0]);
    torus.network.inject(0, 0, from, &forged);
    for bytes in [&[][..], &[0xca], &[0xca, 2], &[0xcb], &[0xcc, 1], &[0xcb; 400]] {
        torus.network.inject(0, 0, from, bytes);
    }
    torus.network.inject(0, 0, port_ip(26, 0).unwrap(), &forged);
    torus.network.run(1.0);
    torus.check_all_pairs(true, 6);
    let inspection = torus.network.inspect(0);
    let refused: u64 = inspection
        .section("refused-messages")
        .unwrap()
        .column("count")
        .map(|cell| match cell {
            Cell::Count(count) => *count,
            other => panic!("{other:?}"),
        })
        .sum();
    assert_eq!(refused, 7);
}

#[test]
fn what_is_no_torus_is_refused_with_the_fix() {
    let refused = |spec: TopologySpec| (ENTRY.check)(&spec).unwrap_err();
    let torus = |x, y, z| TopologySpec::Torus3d(Torus3dSpec { x, y, z });
    assert_eq!(refused(torus(20, 20, 20)).field, "spec");
    assert_eq!(refused(torus(1, 1, 1)).field, "spec");
    assert_eq!(refused(torus(1, 300, 1)).field, "spec.y");
    let json = r#"{"family": "dcell", "n": 4, "k": 1}"#.parse::<serde_json::Value>().unwrap();
    assert_eq!(
        refused(TopologySpec::from_json(&json).unwrap()).field,
        "spec.family"
    );
}
