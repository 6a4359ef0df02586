//! The fabric manager: the positions of hosts, and pending queries `[serverswitch §3.3.2]`.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cubeyard_topology::NodeId;

use super::edge::{ToEdge, ToManager};
use super::tables::Pmac;
use super::tree::Tree;

/// The most unknown addresses with pending queries; further queries are dropped, and hosts repeat
/// them. `[ours]`
const MOST_ASKED: usize = 256;

/// A host that sent a query: its PMAC and address.
type Asker = (Pmac, Ipv4Addr);

/// The state of the fabric manager.
#[derive(Clone, Debug, Default)]
pub struct Manager {
    registered: BTreeMap<Ipv4Addr, Pmac>,
    asked: BTreeMap<Ipv4Addr, Vec<Asker>>,
}

impl Manager {
    /// The PMAC of an address.
    pub fn pmac(&self, address: Ipv4Addr) -> Option<Pmac> {
        self.registered.get(&address).copied()
    }

    /// Handles a message of an edge; returns the messages to edges.
    pub fn hear(&mut self, message: ToManager, tree: &Tree) -> Vec<(NodeId, ToEdge)> {
        match message {
            ToManager::Register(address, pmac) => {
                self.registered.insert(address, pmac);
                let askers = self.asked.remove(&address).unwrap_or_default().into_iter();
                askers
                    .filter_map(|asker| answer(tree, address, pmac, asker))
                    .collect()
            }
            ToManager::Forget(address, pmac) => {
                // The host may have moved to another edge since.
                if self.registered.get(&address) == Some(&pmac) {
                    self.registered.remove(&address);
                }
                Vec::new()
            }
            ToManager::Query(address, asker) => {
                if let Some(&pmac) = self.registered.get(&address) {
                    return answer(tree, address, pmac, asker).into_iter().collect();
                }
                if self.asked.len() < MOST_ASKED || self.asked.contains_key(&address) {
                    let askers = self.asked.entry(address).or_default();
                    if !askers.contains(&asker) {
                        askers.push(asker);
                    }
                }
                tree.edges()
                    .map(|edge| (edge, ToEdge::Flood(address, asker)))
                    .collect()
            }
        }
    }
}

/// The answer for a host that sent a query, and its edge.
fn answer(tree: &Tree, address: Ipv4Addr, pmac: Pmac, asker: Asker) -> Option<(NodeId, ToEdge)> {
    let place = (asker.0.pod, asker.0.position);
    let edge = tree.edges().find(|&edge| tree.place(edge) == place)?;
    Some((edge, ToEdge::Answer(address, pmac, asker)))
}
