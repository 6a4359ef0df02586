//! Slices: a part of a topology that keeps the ids, names and ports of the whole.
//!
//! A slice is chosen by servers, or as the smaller structure of the same family around one server.
//! It has the chosen servers, the switches above them that join at least two of their parts, and
//! every link between these nodes. In a network without tiers it has all switches that a path
//! between them can cross.
//!
//! Not here: the settings of its emulation (addresses, rates, protocols).

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::finding::{Finding, TopologyError};
use crate::graph::NodeId;
use crate::topology::Topology;

/// The choice of a slice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Slice {
    /// The slice with exactly these servers.
    Servers(SliceOfServers),
    /// The structure of the same family with fewer levels that holds a server.
    Within(SliceWithin),
}

/// Servers by name, at least two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceOfServers {
    /// Names; naming a server twice has no effect.
    pub servers: Vec<String>,
}

/// For example the BCube_1 around a server of a BCube_3. [bcube §3.1]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceWithin {
    /// Name of the server.
    pub within: String,
    /// Highest level of the smaller structure; all servers from the family's own k on.
    pub k: u32,
}

/// The nodes and links of a slice, by the ids of the whole topology, each in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The ids of the servers.
    pub servers: Vec<NodeId>,
    /// Switches that join at least two of the servers, directly or by other switches.
    pub switches: Vec<NodeId>,
    /// Links between these nodes.
    pub links: Vec<u32>,
    /// Servers of the topology that the slice leaves out.
    pub outside: Vec<NodeId>,
}

impl Part {
    /// Whether the slice has every server of the topology.
    pub fn is_whole(&self) -> bool {
        self.outside.is_empty()
    }
}

impl Topology {
    /// Every node and link, as a part.
    pub fn whole(&self) -> Part {
        Part {
            servers: (0..self.server_count()).collect(),
            switches: (self.server_count()..self.node_count()).collect(),
            links: (0..self.link_count() as u32).collect(),
            outside: Vec::new(),
        }
    }

    /// The greatest `k` of a smaller structure within this one that [`Slice::Within`] takes; `None`
    /// for a family without such structures.
    pub fn slice_max_k(&self) -> Option<u32> {
        self.family().smaller_structures()
    }

    /// A part of the topology. Linear in nodes and links.
    ///
    /// # Errors
    /// A finding for each server that does not exist, for a family without smaller structures, and
    /// for a slice of fewer than two servers. Fields are relative to the slice: `slice.servers.0`,
    /// `slice.within`, `slice`.
    pub fn slice(&self, slice: &Slice) -> Result<Part, TopologyError> {
        let mut findings = Vec::new();
        let mut chosen = vec![false; self.server_count() as usize];
        match slice {
            Slice::Servers(slice) => {
                for (i, name) in slice.servers.iter().enumerate() {
                    match self.server_named(name, &format!("slice.servers.{i}")) {
                        Ok(server) => chosen[server as usize] = true,
                        Err(finding) => findings.push(*finding),
                    }
                }
            }
            Slice::Within(slice) => match self.servers_within(slice) {
                Ok(servers) => servers
                    .into_iter()
                    .for_each(|server| chosen[server as usize] = true),
                Err(finding) => findings.push(*finding),
            },
        }
        let count = chosen.iter().filter(|&&is_in| is_in).count();
        if findings.is_empty() && count < 2 {
            let finding = Finding::error(
                "slice-too-small",
                "slice",
                format!("The slice has {count} server(s); it needs at least 2."),
                "Name more servers, or choose a larger k.",
            );
            findings.push(finding.with_value(json!(slice)).with_limit(2));
        }
        if !findings.is_empty() {
            return Err(TopologyError { findings });
        }
        Ok(if count == chosen.len() {
            self.whole()
        } else {
            self.part_of(&chosen)
        })
    }

    /// The server of a name, or the finding for `field`.
    fn server_named(&self, name: &str, field: &str) -> Result<NodeId, Box<Finding>> {
        self.node_by_name(name)
            .filter(|&node| self.is_server(node))
            .ok_or_else(|| {
                let (first, last) = (self.node_name(0), self.node_name(self.server_count() - 1));
                Finding::error(
                    "no-such-server",
                    field,
                    format!("There is no server {name} in this plan."),
                    format!("Servers are named {first} to {last}."),
                )
                .with_value(name)
                .with_limit(format!("{first} to {last}"))
                .into()
            })
    }

    fn servers_within(&self, slice: &SliceWithin) -> Result<Vec<NodeId>, Box<Finding>> {
        if self.slice_max_k().is_none() {
            let title = self.spec().title();
            return Err(Finding::error(
                "no-smaller-structure",
                "slice.within",
                format!("{title} has no smaller structures of its own family."),
                "Name the servers of the slice instead.",
            )
            .with_value(slice.within.as_str())
            .into());
        }
        let centre = self.server_named(&slice.within, "slice.within")?;
        Ok(self.family().structure_around(centre, slice.k))
    }

    /// The part with the chosen servers.
    fn part_of(&self, chosen: &[bool]) -> Part {
        let links = self.links();
        let is_chosen = |node: NodeId| self.is_server(node) && chosen[node as usize];
        let mut is_in: Vec<bool> = (0..self.node_count()).map(is_chosen).collect();
        // Links are in no useful order of tiers: continue upwards until nothing new is found.
        loop {
            let above = |link: usize| (!self.is_server(links.b[link])).then_some(links.b[link] as usize);
            let below = (0..links.len()).filter(|&link| is_in[links.a[link] as usize]);
            let mut fresh: Vec<usize> = below.filter_map(above).filter(|&switch| !is_in[switch]).collect();
            if !self.has_tiers() {
                // Without tiers any switch may be on a path: continue downwards too, until nothing
                // new is found.
                let down = (0..links.len()).filter(|&link| is_in[links.b[link] as usize]);
                let switches = down
                    .map(|link| links.a[link])
                    .filter(|&node| !self.is_server(node));
                fresh.extend(switches.map(|node| node as usize).filter(|&node| !is_in[node]));
            }
            if fresh.is_empty() {
                break;
            }
            fresh.into_iter().for_each(|switch| is_in[switch] = true);
        }
        // A switch with a single link in the slice carries nothing; removing it may leave the same
        // for the switch below it.
        loop {
            let mut ends = vec![0_u32; is_in.len()];
            for (&a, &b) in links.a.iter().zip(&links.b) {
                if is_in[a as usize] && is_in[b as usize] {
                    ends[a as usize] += 1;
                    ends[b as usize] += 1;
                }
            }
            let idle = |node: &usize| is_in[*node] && !self.is_server(*node as NodeId) && ends[*node] < 2;
            let idle: Vec<usize> = (0..is_in.len()).filter(idle).collect();
            if idle.is_empty() {
                break;
            }
            idle.into_iter().for_each(|switch| is_in[switch] = false);
        }
        let is_in = |node: NodeId| is_in[node as usize];
        let (servers, outside) = (0..self.server_count()).partition(|&server| chosen[server as usize]);
        Part {
            servers,
            outside,
            links: (0..links.len() as u32)
                .filter(|&link| is_in(links.a[link as usize]) && is_in(links.b[link as usize]))
                .collect(),
            switches: (self.server_count()..self.node_count())
                .filter(|&switch| is_in(switch))
                .collect(),
        }
    }
}
