//! A node's table while it is made, a destination at a time: nodes share groups, and most go up the
//! same way.

use std::collections::BTreeMap;

use cubeyard_topology::NodeId;

use super::{Entering, Half, Hop, MAX_WEIGHT, NodeTable, Prefix};

/// Next hops with their weights as small as their ratios allow.
pub(super) fn reduced(ways: Vec<(Half, u64)>) -> Vec<Hop> {
    let divisor = ways
        .iter()
        .fold(0, |divisor, (_, weight)| common(divisor, *weight));
    let greatest = ways.iter().map(|(_, weight)| weight / divisor).max().unwrap_or(1);
    let scale = (f64::from(MAX_WEIGHT) / greatest as f64).min(1.0);
    let weigh = |weight: u64| ((weight / divisor) as f64 * scale).round().max(1.0) as u32;
    ways.into_iter()
        .map(|(link, weight)| Hop {
            directed: link.directed,
            far: link.far,
            weight: weigh(weight),
            relays: link.relays,
            arrival: link.arrival,
        })
        .collect()
}

/// The greatest common divisor.
fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

/// A table while it is made.
#[derive(Default)]
pub(super) struct Maker {
    /// The index of each group, and for how many destinations it goes up.
    groups: BTreeMap<Vec<Hop>, (usize, u32)>,
    routes: Vec<(NodeId, usize)>,
    /// By class of what enters.
    entering: BTreeMap<NodeId, Vec<(NodeId, usize)>>,
}

impl Maker {
    pub fn add(&mut self, destination: NodeId, hops: Vec<Hop>, goes_up: bool) {
        if !hops.is_empty() {
            let group = self.group(hops, goes_up);
            self.routes.push((destination, group));
        }
    }

    pub fn add_entering(&mut self, class: NodeId, destination: NodeId, hops: Vec<Hop>) {
        let group = self.group(hops, false);
        self.entering.entry(class).or_default().push((destination, group));
    }

    fn group(&mut self, hops: Vec<Hop>, goes_up: bool) -> usize {
        let number = self.groups.len();
        let (group, ups) = self.groups.entry(hops).or_insert((number, 0));
        *ups += u32::from(goes_up);
        *group
    }

    /// Makes the upward group that serves most destinations the route for any. Packets to
    /// unreachable destinations then go up too, to a switch without a route for them: never back
    /// down. `entering` are the node's classes, without routes.
    pub fn finish(mut self, entering: Vec<Entering>) -> NodeTable {
        let upwards = self.groups.values().filter(|(_, ups)| *ups > 0);
        let any = upwards
            .max_by_key(|(group, ups)| (*ups, std::cmp::Reverse(*group)))
            .map(|(group, _)| *group);
        let own = self.routes.into_iter().filter(|(_, group)| Some(*group) != any);
        let mut routes: Vec<(Prefix, usize)> = own
            .map(|(server, group)| (Prefix::Server(server), group))
            .collect();
        routes.extend(any.map(|group| (Prefix::Any, group)));
        let mut groups = vec![Vec::new(); self.groups.len()];
        for (hops, (group, _)) in self.groups {
            groups[group] = hops;
        }
        NodeTable {
            groups,
            routes,
            segments: Vec::new(),
            entering: entering
                .into_iter()
                .filter_map(|class| {
                    let routes = self.entering.remove(&class.class)?;
                    Some(Entering { routes, ..class })
                })
                .collect(),
        }
    }
}
