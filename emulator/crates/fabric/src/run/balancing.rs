//! The part of balancing by load that uses the network: counters of ToRs, and messages in hellos.

use std::collections::BTreeMap;

use cubeyard_dataplane::event::{Event, NamedCell, PathSummary};
use cubeyard_dataplane::inspection::{Cell, ColumnKind, Section};
use cubeyard_topology::NodeId;

use super::hearing::node_of;
use super::state::RunState;
use crate::balance::detours::ToldDetours;
use crate::balance::plan::Plan;
use crate::balance::view::direction;
use crate::hellos::Lane;
use crate::host::clock::monotonic_nanos;
use crate::links::Site;

impl RunState {
    /// Seconds since the start of the run, the time stamps of messages.
    pub fn run_secs(&self) -> f64 {
        monotonic_nanos().saturating_sub(self.started_nanos) as f64 / 1e9
    }

    /// One round of a node's work. `heard` has the received messages with their interfaces. Returns
    /// the frames for each end in `lanes`; one empty frame per end where flows are not spread by
    /// load.
    pub fn balance(
        &mut self,
        site: Site,
        lanes: &[Lane],
        heard: &[(u32, Vec<u8>)],
        is_live: impl Fn(usize) -> bool,
    ) -> Vec<Vec<Vec<u8>>> {
        let now_secs = self.run_secs();
        let nothing = || lanes.iter().map(|_| vec![Vec::new()]).collect();
        let network = self.network.clone();
        let far = |lane: &Lane| node_of(&network, network.places[lane.link][1 - lane.end]).0;
        let Some(first) = lanes.first() else {
            return nothing();
        };
        let (node, _) = node_of(&network, network.places[first.link][first.end]);
        let Some(balancing) = &mut self.balancing else {
            return nothing();
        };
        let (periods, limit) = (balancing.periods, balancing.frame_bytes);
        let Some((plan, agent)) = balancing.agent_mut(node) else {
            return nothing();
        };
        for (index, messages) in heard {
            if let Some(lane) = lanes.iter().find(|lane| lane.index == *index) {
                agent.hear(plan, far(lane), messages, now_secs);
            }
        }
        let rates = |id: usize| {
            let link = network.link(id as u32).ok()?;
            Some((link, network.rate_bits_per_sec(link)))
        };
        if agent.reports_now(periods, now_secs)
            && let Some(all) = self.kernels.traffic(site)
        {
            let of_lane = |lane: &Lane| {
                let id = network.description.links[lane.link].id as usize;
                Some((id, *all.get(&lane.index)?))
            };
            let traffic: BTreeMap<_, _> = lanes.iter().filter_map(of_lane).collect();
            let live_rate = |id: usize| rates(id).filter(|(link, _)| is_live(*link)).map(|(_, rate)| rate);
            let observe = |counters: &mut crate::balance::counters::Counters| {
                counters.observe(now_secs, traffic, periods.rebind / 2.0);
            };
            agent.count(plan, periods, now_secs, observe, live_rate);
        }
        let rate = |id: usize| rates(id).map_or(0.0, |(_, rate)| rate);
        agent.work(plan, periods, now_secs, rate);
        let frames = lanes
            .iter()
            .map(|lane| agent.frames(plan, far(lane), limit))
            .collect();
        agent.end_round();
        let planned = agent.take_planned().into_iter();
        let events: Vec<Event> = planned
            .map(|(side, rack)| detours_event(plan, (side, rack), agent.detours(side, rack)))
            .collect();
        for event in events {
            self.events.add_of_node(node, monotonic_nanos(), event);
        }
        frames
    }

    /// Clears the load state of a node that is off or has lost its namespace.
    pub fn stop_balancing(&mut self, node: NodeId) {
        if let Some((plan, agent)) = self
            .balancing
            .as_mut()
            .and_then(|balancing| balancing.agent_mut(node))
        {
            agent.stop(plan);
        }
    }

    /// A node's load state for users; empty where flows are not spread by load.
    pub fn balance_sections(&self, node: NodeId) -> Vec<Section> {
        let now_secs = self.run_secs();
        self.balancing
            .as_ref()
            .map_or(Vec::new(), |balancing| balancing.sections(node, now_secs))
    }
}

/// Emits events for a rack whose controller has started, ended or moved detours. Each detour starts
/// at its first ToR, which the rack's servers share with a relay, and ends at its last ToR, which
/// sends the packets up. Detours towards the rack run in reverse.
fn detours_event(plan: &Plan, (side, rack): (usize, usize), detours: Option<&ToldDetours>) -> Event {
    let cell = |name: &str, kind: ColumnKind, value: Cell| NamedCell {
        name: name.to_owned(),
        kind,
        value,
    };
    let mut cells = vec![
        cell("rack", ColumnKind::Count, Cell::Count(rack as u64)),
        cell(
            "direction",
            ColumnKind::Text,
            Cell::Text(direction(side).to_owned()),
        ),
    ];
    if let Some(told) = detours {
        let tors = told.tors(plan);
        cells.push(cell("ways", ColumnKind::Count, Cell::Count(tors.len() as u64)));
        let paths = tors.into_iter().zip(&told.ways.detours);
        let paths = paths.map(|(tors, (_, capacity))| PathSummary {
            path_id: 0,
            servers: tors,
            available_bits_per_sec: Some(capacity.round()),
            others: 0,
        });
        cells.push(cell("tors", ColumnKind::Paths, Cell::Paths(paths.collect())));
    }
    let what = if detours.is_some() {
        "detours-begun"
    } else {
        "detours-ended"
    };
    Event::Reported {
        what: what.to_owned(),
        cells,
    }
}
