//! Balancing by load without a kernel: nodes exchange messages over the links of a topology, and
//! reject invalid ones.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail")]

use std::collections::{BTreeMap, BTreeSet};

use cubeyard_fabric::balance::agent::{Agent, Periods};
use cubeyard_fabric::balance::plan::Plan;
use cubeyard_fabric::netlink::Traffic;
use cubeyard_routing::subways::RackDetours;
use cubeyard_topology::{NodeId, Topology, TopologySpec};

const ONE_CLUSTER: &str =
    r#"{"family":"subways","type":1,"p":2,"q":4,"l":4,"clusters":2,"aggs_per_cluster":2,"cores":2}"#;
const TWO_CLUSTERS: &str =
    r#"{"family":"subways","type":2,"p":2,"q":4,"l":4,"c":2,"clusters":2,"aggs_per_cluster":2,"cores":2}"#;
const THREE_PORTS: &str =
    r#"{"family":"subways","type":1,"p":3,"q":6,"l":6,"clusters":1,"aggs_per_cluster":2,"cores":1}"#;
const LONG_LOOP: &str =
    r#"{"family":"subways","type":1,"p":2,"q":8,"l":8,"clusters":1,"aggs_per_cluster":2,"uplink_gbps":10}"#;
const PERIODS: Periods = Periods {
    rebind: 0.5,
    report: 0.1,
    dead: 1.0,
    hot: None,
};
const ROUND_SECS: f64 = 0.05;
const FRAME_BYTES: usize = 1400;
/// Rate of every link in bits per second.
const RATE: f64 = 1e8;

fn topology(spec: &str) -> Topology {
    Topology::build(&TopologySpec::from_json(&serde_json::from_str(spec).unwrap()).unwrap()).unwrap()
}

/// Nodes that exchange messages over the links between them. Each server sends or receives a given
/// load, split by its weights.
struct Nodes {
    /// 0 if servers send, 1 if they receive.
    side: usize,
    topology: Topology,
    plan: Plan,
    agents: BTreeMap<NodeId, Agent>,
    periods: Periods,
    on_the_way: Vec<(NodeId, NodeId, Vec<u8>)>,
    off: BTreeSet<NodeId>,
    sent: Vec<f64>,
    counted: BTreeMap<usize, Traffic>,
    now_secs: f64,
}

impl Nodes {
    fn new(spec: &str) -> Nodes {
        let topology = topology(spec);
        let plan = Plan::of(&topology).unwrap();
        let agents = (0..topology.node_count()).map(|node| (node, Agent::new(&plan, node)));
        Nodes {
            side: 0,
            agents: agents.collect(),
            periods: PERIODS,
            on_the_way: Vec::new(),
            off: BTreeSet::new(),
            sent: vec![0.0; topology.server_count() as usize],
            counted: BTreeMap::new(),
            now_secs: 0.0,
            plan,
            topology,
        }
    }

    /// Load of each server's links, split by the weights that the server has received.
    fn by_link(&self) -> BTreeMap<usize, f64> {
        let mut by_link = BTreeMap::new();
        for (rack, links) in self.plan.rack_links.iter().enumerate() {
            for (at, &link) in links.iter().enumerate() {
                let (server, tor) = self.plan.ends(link);
                let known = self.agents[&server].weights(rack);
                let weight = known.map_or(1.0 / self.plan.racks.ring.ports as f64, |known| {
                    known.links[at][self.side].into()
                });
                let straight = self.agents[&server]
                    .detours(self.side, rack)
                    .map_or(1.0, |detours| {
                        detours.ways.straight / (detours.ways.straight + capacity_of(&detours.ways))
                    });
                if !self.off.contains(&self.plan.racks.tor_node(tor)) {
                    by_link.insert(link, weight * straight * self.sent[server as usize]);
                }
            }
        }
        by_link
    }

    /// Load of each ToR from its servers, or to them.
    fn by_tor(&self) -> Vec<f64> {
        let mut by_tor = vec![0.0; self.plan.racks.count];
        for (link, sent) in self.by_link() {
            by_tor[self.plan.ends(link).1] += sent;
        }
        by_tor
    }

    fn round(&mut self) {
        self.now_secs += ROUND_SECS;
        let bytes = |bits: f64| (bits / 8.0 * ROUND_SECS) as u64;
        for (link, sent) in self.by_link() {
            let tor = self.plan.ends(link).1;
            self.count(link, self.side, bytes(sent));
            let ups = self.plan.uplinks[tor].clone();
            for &up in &ups {
                self.count(up, 1 - self.side, bytes(sent / ups.len() as f64));
            }
        }
        self.send_by_detours();
        for (from, to, frame) in std::mem::take(&mut self.on_the_way) {
            if !self.off.contains(&from) && !self.off.contains(&to) {
                let agent = self.agents.get_mut(&to).unwrap();
                agent.hear(&self.plan, from, &frame, self.now_secs);
            }
        }
        let links = self.topology.links();
        for (&node, agent) in &mut self.agents {
            if self.off.contains(&node) {
                agent.stop(&self.plan);
                continue;
            }
            if agent.reports_now(self.periods, self.now_secs) {
                let counted = self.counted.clone();
                agent.count(
                    &self.plan,
                    self.periods,
                    self.now_secs,
                    |counters| counters.observe(self.now_secs, counted, PERIODS.rebind / 2.0),
                    |_| Some(RATE),
                );
            }
            agent.work(&self.plan, self.periods, self.now_secs, |_| RATE);
            for link in 0..links.len() {
                let (a, b) = (links.a[link], links.b[link]);
                for to in [(a, b), (b, a)]
                    .into_iter()
                    .filter(|ends| ends.0 == node)
                    .map(|ends| ends.1)
                {
                    let frames = agent.frames(&self.plan, to, FRAME_BYTES).into_iter();
                    self.on_the_way.extend(frames.map(|frame| (node, to, frame)));
                }
            }
            agent.end_round();
        }
    }

    /// Counts bytes at a ToR that it receives (0) or sends over a link.
    fn count(&mut self, link: usize, way: usize, bytes: u64) {
        let counted = self.counted.entry(link).or_default();
        match way {
            0 => counted.received_bytes += bytes,
            _ => counted.sent_bytes += bytes,
        }
    }

    fn count_wrapped(&mut self, link: usize, way: usize, bytes: u64) {
        self.count(link, way, bytes);
        self.counted.entry(link).or_default().wrapped_bytes[way] += bytes;
    }

    /// Counts detour traffic: encapsulated from its source to the ToR that sends it up, or from the
    /// switch that sends it down to its destination.
    fn send_by_detours(&mut self) {
        let racks = self.plan.racks;
        for server in 0..self.plan.servers() {
            let rack = racks.rack_of(server);
            let detours = self.agents[&server].detours(self.side, rack);
            let Some(ways) = detours.map(|detours| detours.ways.clone()) else {
                continue;
            };
            let first = racks.first_of_loop(rack);
            let total = ways.straight + capacity_of(&ways);
            for (path, capacity) in ways.detours {
                let bytes = (self.sent[server as usize] * capacity / total / 8.0 * ROUND_SECS) as u64;
                let mut from = server;
                for (at, place) in path.steps.iter().enumerate() {
                    if at % 2 == 1 {
                        let relay = racks.servers_of(first + place).start;
                        let link = self.link(relay, first + path.steps[at - 1]);
                        self.count_wrapped(link, 1 - self.side, bytes);
                        from = relay;
                    } else {
                        self.count_wrapped(self.link(from, first + place), self.side, bytes);
                    }
                }
                let ups = self.plan.uplinks[first + path.steps.last().unwrap()].clone();
                for &up in &ups {
                    self.count(up, 1 - self.side, bytes / ups.len() as u64);
                }
            }
        }
    }

    fn link(&self, server: NodeId, tor: usize) -> usize {
        let mut own = self.plan.rack_links[self.plan.racks.rack_of(server)].iter();
        *own.find(|&&link| self.plan.ends(link) == (server, tor)).unwrap()
    }

    fn run(&mut self, secs: f64) {
        for _ in 0..(secs / ROUND_SECS) as u32 {
            self.round();
        }
    }

    /// The ToRs with an active controller.
    fn controllers(&self) -> Vec<usize> {
        let at_work = self.agents.values().filter(|agent| agent.controller.is_some());
        at_work.map(|agent| agent.tor().unwrap()).collect()
    }
}

fn capacity_of(ways: &RackDetours) -> f64 {
    ways.detours.iter().map(|(_, capacity)| capacity).sum()
}

/// `[subways §6]`
#[test]
fn a_hot_rack_gets_detours_until_it_has_cooled_down_and_another_controller_keeps_them() {
    for side in [0, 1] {
        heats_up_and_cools_down(side);
    }
}

/// The rack is hot because of what it sends, or of what it receives.
fn heats_up_and_cools_down(side: usize) {
    let mut nodes = Nodes::new(LONG_LOOP);
    nodes.side = side;
    nodes.periods.hot = Some(5.0);
    let racks = nodes.plan.racks;
    let hot = 2;
    let known = |nodes: &Nodes, rack: usize| -> Vec<usize> {
        let agents = nodes
            .agents
            .values()
            .filter(|agent| nodes.plan.hears_weights(rack, agent.node));
        agents
            .filter(|agent| !nodes.off.contains(&agent.node))
            .map(|agent| {
                agent
                    .detours(side, rack)
                    .map_or(0, |detours| detours.ways.detours.len())
            })
            .collect()
    };
    nodes.run(3.0);
    for server in racks.servers_of(hot) {
        nodes.sent[server as usize] = 1.6 * RATE;
    }
    nodes.run(4.0);
    // To two ToRs on each side: to the nearer one through one relay, to the other one through two.
    assert!(
        known(&nodes, hot).iter().all(|ways| *ways == 4),
        "{:?}",
        known(&nodes, hot)
    );
    let detours = nodes.agents[&racks.servers_of(hot).start]
        .detours(side, hot)
        .unwrap();
    let exits: BTreeSet<usize> = detours
        .ways
        .detours
        .iter()
        .map(|(path, _)| *path.steps.last().unwrap())
        .collect();
    assert_eq!(exits, BTreeSet::from([0, 3, 4, racks.ring.size - 1]));
    assert!(
        (0..racks.count)
            .filter(|rack| *rack != hot)
            .all(|rack| known(&nodes, rack).iter().all(|ways| *ways == 0))
    );
    // While the load continues, the detours stay: although the rack's own ToRs have cooled down,
    // and under another controller.
    nodes.run(8.0);
    assert!(known(&nodes, hot).iter().all(|ways| *ways == 4));
    let planned = |nodes: &mut Nodes| -> Vec<(usize, usize)> {
        nodes.agents.values_mut().flat_map(Agent::take_planned).collect()
    };
    assert_eq!(planned(&mut nodes), [(side, hot)], "begun");
    nodes.off.insert(racks.tor_node(0));
    nodes.run(8.0);
    assert_eq!(nodes.controllers()[0], 1);
    assert!(
        known(&nodes, hot).iter().all(|ways| (1..=3).contains(ways)),
        "one ToR is off"
    );
    nodes.off.clear();
    nodes.sent.fill(0.0);
    nodes.run(12.0);
    assert!(known(&nodes, hot).iter().all(|ways| *ways == 0));
    assert_eq!(
        planned(&mut nodes),
        [(side, hot)],
        "ended, and not started again by the other controller"
    );
}

/// The example of §5: two neighbouring racks send as much as three ToRs can carry. At first, their
/// common ToR gets twice the load of each of the others.
#[test]
fn three_tors_of_two_hot_racks_end_with_equal_loads() {
    for spec in [ONE_CLUSTER, TWO_CLUSTERS] {
        let mut nodes = Nodes::new(spec);
        let racks = nodes.plan.racks;
        for server in racks.servers_of(0).chain(racks.servers_of(1)) {
            nodes.sent[server as usize] = 0.4 * RATE;
        }
        let loaded = |nodes: &Nodes| -> Vec<f64> {
            let by_tor = nodes.by_tor();
            by_tor.into_iter().filter(|sent| *sent > 0.0).collect()
        };
        // Another controller handles the other loop.
        let elsewhere = racks
            .servers_of(racks.ring.size)
            .chain(racks.servers_of(racks.ring.size + 1));
        nodes.round();
        let mut first = loaded(&nodes);
        first.sort_by(f64::total_cmp);
        let least = first[0];
        assert_eq!(
            first
                .iter()
                .map(|sent| (sent / least).round())
                .collect::<Vec<_>>(),
            [1.0, 1.0, 2.0]
        );
        nodes.run(3.0);
        for server in elsewhere {
            nodes.sent[server as usize] = 0.4 * RATE;
        }
        nodes.run(12.0);
        let rebindings = |tor: usize| {
            let controller = &nodes.agents[&racks.tor_node(tor)].controller;
            controller.as_ref().map(|controller| controller.rebindings)
        };
        assert!(rebindings(0) >= Some(26), "{spec}: {:?}", rebindings(0));
        assert!(rebindings(racks.ring.size) >= Some(26), "{spec}");
        let mut then = loaded(&nodes);
        then.truncate(3);
        let most = then.iter().copied().fold(0.0, f64::max);
        let least = then.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(most / least < 1.1, "{spec}: {then:?}");
        // All switches have the same weights as the servers.
        for (rack, agent) in
            (0..racks.count).flat_map(|rack| nodes.agents.values().map(move |agent| (rack, agent)))
        {
            if nodes.plan.hears_weights(rack, agent.node) && nodes.plan.loop_of(rack) == 0 {
                let version = |agent: &Agent| agent.weights(rack).map(|weights| weights.at_millis);
                assert_eq!(
                    version(agent),
                    version(&nodes.agents[&racks.tor_node(0)]),
                    "node {}",
                    agent.node
                );
            }
        }
    }
}

#[test]
fn a_controller_is_on_the_lowest_tor_alive_of_each_loop() {
    for spec in [ONE_CLUSTER, TWO_CLUSTERS, THREE_PORTS] {
        let mut nodes = Nodes::new(spec);
        let racks = nodes.plan.racks;
        let expected = |gone: usize| -> Vec<usize> {
            (0..racks.loops())
                .map(|number| number * racks.ring.size + usize::from(number == 0) * gone)
                .collect()
        };
        nodes.run(2.5);
        assert_eq!(nodes.controllers(), expected(0), "{spec}");
        // The rack's ToR is killed; the next ToR's controller takes over.
        nodes.off.insert(racks.tor_node(0));
        nodes.run(2.0);
        assert_eq!(nodes.controllers(), expected(1), "{spec}");
        nodes.off.insert(racks.tor_node(1));
        nodes.run(2.0);
        assert_eq!(nodes.controllers(), expected(2), "{spec}");
        nodes.off.clear();
        nodes.run(2.5);
        assert_eq!(nodes.controllers(), expected(0), "{spec}");
    }
}

#[test]
fn the_network_recovers_from_a_killed_controller() {
    let mut nodes = Nodes::new(ONE_CLUSTER);
    let racks = nodes.plan.racks;
    nodes.run(3.0);
    nodes.off.insert(racks.tor_node(0));
    // Two racks become hot that do not use the dead ToR.
    let hot: Vec<usize> = (0..racks.ring.size)
        .filter(|&rack| !racks.tors_of(rack).contains(&0))
        .take(2)
        .collect();
    for server in hot.iter().flat_map(|&rack| racks.servers_of(rack)) {
        nodes.sent[server as usize] = 0.4 * RATE;
    }
    nodes.run(15.0);
    let by_tor = nodes.by_tor();
    let most = by_tor.iter().copied().fold(0.0, f64::max);
    let least = by_tor
        .iter()
        .copied()
        .filter(|sent| *sent > 0.0)
        .fold(f64::INFINITY, f64::min);
    assert!(most / least < 1.2, "{by_tor:?}");
}
