//! Balancing by load on real packets: each loop's controller, live. `[subways §5.2]`
//!
//! Each ToR reports its uplinks' utilisation and its load per server to its loop's controller. The
//! controller runs on the lowest live ToR and answers with weights. Reports and weights are
//! messages in the hellos on links: they wait in the same queues as packets, and are lost with a
//! link, a ToR, or a full queue. Each node uses the latest weights that it received: servers choose
//! their ToR by them, switches their paths down to a server.
//!
//! With detours, the controller also plans those of its loop's hot racks. Servers send by them, and
//! switches forward to racks by them. `[subways §6]`
//!
//! `plan` holds racks, ToRs and loops, `message` the encoding, `counters` a ToR's averages, `agent`
//! the state of one node, `controller` a round of rebinding, `detours` a round of planning, `view`
//! a node's state as tables for users.
//!
//! The kernel chooses next hops by hash, so that a change of weights moves the flows whose hashes
//! are between the old and the new bounds, and no others. They move at once: the kernel's groups
//! that wait for gaps between flowlets keep tables from which a flow's path could not be computed.
//!
//! Not here: the formulas (`cubeyard_routing::subways`), the sockets (`hellos/`), and when each is
//! called (`run/balancing`).

pub mod agent;
pub mod controller;
pub mod counters;
pub mod detours;
pub mod message;
pub mod plan;
pub mod view;

use std::collections::BTreeMap;

use cubeyard_dataplane::inspection::Section;
use cubeyard_routing::subways::{LinkWeights, RackDetours};
use cubeyard_routing::tables::{Balance, Tables};
use cubeyard_topology::{NodeId, Topology};

use crate::error::{FabricError, Result};
use crate::hellos::MESSAGE_BYTES;
use crate::host::probe;
use crate::network::Network;
use agent::{Agent, Periods};
use plan::Plan;

/// The paper's T_rebind. `[subways §8.1]`
const REBIND_SECS: f64 = 0.01;
/// Lower and upper limit of T_rebind after scaling: a report and its answer take up to 0.3 s.
/// `[ours]`
const REBIND_LIMITS: (f64, f64) = (0.5, 10.0);
/// The paper's T_duration. Its T_detect is as long as T_rebind. `[subways §8.1]`
const DURATION: f64 = 10.0;
/// Time between two reports, unless hellos are sent less often. `[ours]`
const REPORT_SECS: f64 = 0.1;
/// A ToR is dead after this many missed reports in a row. `[ours]`
const REPORTS_TO_DEATH: f64 = 10.0;
/// Bytes of a frame before its messages, including room for the header of a tunnel.
const FRAME_BYTES: u32 = 64;

/// The load balancing state of all nodes of a run.
#[derive(Debug)]
pub struct Balancing {
    /// Racks, ToRs and loops.
    pub plan: Plan,
    /// Periods of reports and rebinding.
    pub periods: Periods,
    /// Bytes that a hello can use for messages.
    pub frame_bytes: usize,
    agents: BTreeMap<NodeId, Agent>,
    /// Links of the topology.
    links: usize,
    nodes: u32,
}

impl Balancing {
    /// The state before any node has reports or weights. `None` where flows are not spread by load.
    /// Errors: a setting that is not allowed, links whose packets are too short for a message.
    pub fn of(network: &Network) -> Result<Option<Balancing>> {
        let Some(routing) = network
            .routing
            .as_ref()
            .filter(|routing| routing.balance().follows_load())
        else {
            return Ok(None);
        };
        let topology = routing.topology();
        let Some(plan) = Plan::of(topology) else {
            return Ok(None);
        };
        let values = network.behaviour.values(&network.description)?;
        let frame_bytes = MESSAGE_BYTES.min((network.description.mtu - FRAME_BYTES) as usize);
        let has_detours = routing.balance() == Balance::ByDetour;
        if has_detours {
            probe::check_detours()?;
        }
        let longest = message::longest(&plan, has_detours);
        if longest > frame_bytes {
            let given = format!("messages of {longest} bytes");
            let limit =
                format!("messages of at most {frame_bytes} bytes: fewer servers on a ToR, or a larger MTU");
            let fix = "choose ecmp";
            return Err(FabricError::bad("network.balance", given, limit, fix));
        }
        let report = REPORT_SECS.max(values["hello_secs"]);
        let rebind = match values["rebind_secs"] {
            0.0 => scaled(topology, network.description.rate_bits_per_sec),
            secs => secs.max(report),
        };
        let ids = network.description.servers.iter().map(|server| server.id);
        let ids = ids.chain(network.description.switches.iter().map(|switch| switch.id));
        Ok(Some(Balancing {
            agents: ids.map(|node| (node, Agent::new(&plan, node))).collect(),
            plan,
            periods: Periods {
                rebind,
                report,
                dead: REPORTS_TO_DEATH * report,
                hot: has_detours.then_some(DURATION * rebind),
            },
            frame_bytes,
            links: topology.link_count(),
            nodes: topology.node_count(),
        }))
    }

    /// The state of a node; `None` for a node outside the network.
    pub fn agent(&self, node: NodeId) -> Option<&Agent> {
        self.agents.get(&node)
    }

    /// The plan, and a node's state for changing it.
    pub fn agent_mut(&mut self, node: NodeId) -> Option<(&Plan, &mut Agent)> {
        Some((&self.plan, self.agents.get_mut(&node)?))
    }

    /// Whether weights have changed at any node since the last call.
    pub fn take_changed(&mut self) -> bool {
        let mut any = false;
        for agent in self.agents.values_mut() {
            any |= std::mem::take(&mut agent.is_changed);
        }
        any
    }

    /// Computes every node's table, each from the weights and detours that this node has received.
    /// `build` makes the tables of all nodes from given weights and detours.
    pub fn tables(
        &self,
        build: impl Fn(&LinkWeights, [&[RackDetours]; 2]) -> Option<Tables>,
    ) -> Option<Tables> {
        let equal = 1.0 / self.plan.racks.ring.ports as f64;
        let mut source = vec![equal; self.links];
        let mut detours = vec![RackDetours::default(); self.plan.servers() as usize];
        let mut views: BTreeMap<Vec<[u32; 2]>, Vec<NodeId>> = BTreeMap::new();
        for (&node, agent) in &self.agents {
            if let Some(rack) = self.plan.rack(node) {
                // A server chooses among its own links by the weights that it has received.
                for &link in &self.plan.rack_links[rack] {
                    if self.plan.ends(link).0 == node {
                        source[link] = self.known(agent, link, 0).unwrap_or(equal);
                        if agent
                            .detours(0, rack)
                            .is_some_and(|told| told.withdraws(&self.plan, link))
                        {
                            source[link] = 0.0;
                        }
                    }
                }
                detours[node as usize] = agent
                    .detours(0, rack)
                    .map_or_else(Default::default, |told| told.ways.clone());
            } else {
                let racks = 0..self.plan.racks.count;
                let version = |rack| {
                    let weights = agent.weights(rack).map_or(0, |weights| weights.at_millis);
                    [weights, agent.detours(1, rack).map_or(0, |told| told.at_millis)]
                };
                views.entry(racks.map(version).collect()).or_default().push(node);
            }
        }
        let mut tables = Vec::with_capacity(views.len());
        let mut table_of = vec![0; self.nodes as usize];
        for nodes in views.values() {
            let agent = &self.agents[&nodes[0]];
            let inward = |rack: usize| agent.detours(1, rack);
            let known = |link| {
                let told = self.plan.place(link).and_then(|(rack, _)| inward(rack));
                match told.is_some_and(|told| told.withdraws(&self.plan, link)) {
                    true => 0.0,
                    false => self.known(agent, link, 1).unwrap_or(equal),
                }
            };
            let towards: Vec<RackDetours> = (0..self.plan.servers())
                .map(|server| self.plan.rack(server).and_then(inward))
                .map(|told| told.map_or_else(Default::default, |told| told.ways.clone()))
                .collect();
            let weights = LinkWeights {
                source: source.clone(),
                destination: (0..self.links).map(known).collect(),
            };
            nodes
                .iter()
                .for_each(|&node| table_of[node as usize] = tables.len());
            tables.push(build(&weights, [&detours, &towards])?);
        }
        if tables.is_empty() {
            return None;
        }
        Some(Tables::each(self.nodes, |node| {
            tables[table_of[node as usize]].of(node).clone()
        }))
    }

    fn known(&self, agent: &Agent, link: usize, side: usize) -> Option<f64> {
        let (rack, at) = self.plan.place(link)?;
        Some(agent.weights(rack)?.links[at][side].into())
    }

    /// A node's state as tables for users.
    pub fn sections(&self, node: NodeId, now_secs: f64) -> Vec<Section> {
        self.agents
            .get(&node)
            .map_or(Vec::new(), |agent| view::sections(self, agent, now_secs))
    }
}

/// Default of T_rebind, scaled up by the ratio of the planned to the actual rate of the slowest
/// link.
fn scaled(topology: &Topology, rate_bits_per_sec: f64) -> f64 {
    let links = topology.links();
    let rates = (0..links.len()).map(|link| links.rate_bits_per_sec(link));
    let planned = rates.fold(f64::INFINITY, f64::min);
    (REBIND_SECS * planned / rate_bits_per_sec).clamp(REBIND_LIMITS.0, REBIND_LIMITS.1)
}
