//! The nodes and links of a list by number: servers first, then switches by tier.

use std::collections::HashMap;

use crate::graph::NodeId;
use crate::spec::{CustomRole, CustomSpec, TIER_AT_MOST};

/// The tier of every node, in the order of the list: as given, else the distance in links from the
/// nearest server minus one (at most [`TIER_AT_MOST`]); 0 for servers and for nodes that no server
/// reaches. The list has no errors.
pub(super) fn tiers(spec: &CustomSpec) -> Vec<u8> {
    let number: HashMap<&str, usize> = (spec.nodes.iter().enumerate())
        .map(|(row, node)| (node.name.as_str(), row))
        .collect();
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); spec.nodes.len()];
    for link in &spec.links {
        if let (Some(&a), Some(&b)) = (number.get(link.a.as_str()), number.get(link.b.as_str())) {
            near[a].push(b);
            near[b].push(a);
        }
    }
    let is_server = |row: usize| spec.nodes[row].role == CustomRole::Server;
    let mut distance: Vec<Option<usize>> = (0..spec.nodes.len())
        .map(|row| is_server(row).then_some(0))
        .collect();
    let mut queue: Vec<usize> = (0..spec.nodes.len()).filter(|&row| is_server(row)).collect();
    let mut next = 0;
    while let Some(&row) = queue.get(next) {
        next += 1;
        for &far in &near[row] {
            if distance[far].is_none() {
                distance[far] = distance[row].map(|here| here + 1);
                queue.push(far);
            }
        }
    }
    let derived = |row: usize| {
        distance[row]
            .unwrap_or(1)
            .saturating_sub(1)
            .min(usize::from(TIER_AT_MOST)) as u8
    };
    (spec.nodes.iter().enumerate())
        .map(|(row, node)| match node.role {
            CustomRole::Server => 0,
            CustomRole::Switch => node.tier.unwrap_or_else(|| derived(row)),
        })
        .collect()
}

/// A list by number.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    /// Number of servers, which come first: switch by switch, so that racks fill with servers of
    /// the same switch.
    pub servers: u32,
    /// The name of each node, indexed by node.
    pub names: Vec<String>,
    /// By node; 0 for servers.
    pub tiers: Vec<u8>,
    pub number: HashMap<String, NodeId>,
    /// The ends of every link in the order of the list, the lower number first, and whether they
    /// were swapped.
    pub ends: Vec<(NodeId, NodeId, bool)>,
    /// Indexed by node: its neighbours, each with the link to it, in the order of the list.
    pub rows: Vec<Vec<(NodeId, u32)>>,
}

impl Listed {
    pub fn new(spec: &CustomSpec) -> Listed {
        let tiers = tiers(spec);
        let row_of: HashMap<&str, usize> = (spec.nodes.iter().enumerate())
            .map(|(row, node)| (node.name.as_str(), row))
            .collect();
        let is_server = |row: usize| spec.nodes[row].role == CustomRole::Server;
        let mut switch_of = vec![usize::MAX; spec.nodes.len()];
        for link in &spec.links {
            let (a, b) = (row_of[link.a.as_str()], row_of[link.b.as_str()]);
            for (server, switch) in [(a, b), (b, a)] {
                if is_server(server) && !is_server(switch) && switch_of[server] == usize::MAX {
                    switch_of[server] = switch;
                }
            }
        }
        let mut order: Vec<usize> = (0..spec.nodes.len()).collect();
        order.sort_by_key(|&row| match is_server(row) {
            true => (false, 0, switch_of[row], row),
            false => (true, tiers[row], 0, row),
        });
        let names: Vec<String> = order.iter().map(|&row| spec.nodes[row].name.clone()).collect();
        let number: HashMap<String, NodeId> = names.iter().cloned().zip(0..).collect();
        let mut ends = Vec::with_capacity(spec.links.len());
        let mut rows = vec![Vec::new(); names.len()];
        for (index, link) in (0u32..).zip(&spec.links) {
            let (a, b) = (number[&link.a], number[&link.b]);
            rows[a as usize].push((b, index));
            rows[b as usize].push((a, index));
            ends.push((a.min(b), a.max(b), a > b));
        }
        Listed {
            servers: order.iter().filter(|&&row| is_server(row)).count() as u32,
            tiers: order.iter().map(|&row| tiers[row]).collect(),
            names,
            number,
            ends,
            rows,
        }
    }

    pub fn is_server(&self, name: &str) -> bool {
        self.number.get(name).is_some_and(|&node| node < self.servers)
    }

    /// By node: its connected set of switches; each server is a set by itself.
    pub fn networks(&self) -> Vec<usize> {
        let mut of = vec![usize::MAX; self.names.len()];
        for start in 0..self.names.len() {
            if of[start] != usize::MAX {
                continue;
            }
            of[start] = start;
            let mut queue = if start < self.servers as usize {
                Vec::new()
            } else {
                vec![start]
            };
            while let Some(node) = queue.pop() {
                for &(far, _) in &self.rows[node] {
                    if far >= self.servers && of[far as usize] == usize::MAX {
                        of[far as usize] = start;
                        queue.push(far as usize);
                    }
                }
            }
        }
        of
    }
}
