//! Relief for racks that a policy has filled beyond their height: switches move to racks with room.
//!
//! A policy distributes switches by rules of its family; a rack's share can be too large while
//! other racks have room. The highest tiers move first, since their cables leave the rack anyway,
//! and each switch moves to the rack with most of its servers or switches. `[ours]`

use std::collections::BTreeMap;

use cubeyard_topology::{NodeId, Topology};

use super::{Assignment, Site, Sizes};

/// Moves switches out of racks that are too full, as long as another rack has room. Returns whether
/// every rack fits then; racks that are divided into zones are not changed and count as fitting.
///
/// One pass over devices and links, and one over the racks for each switch that moves.
pub(super) fn relieve(topology: &Topology, site: &Site, sizes: &Sizes, plan: &mut Assignment) -> bool {
    if !plan.zone.is_empty() {
        return true;
    }
    let mut load = Load::of(topology, sizes, plan);
    let full: Vec<u32> = (0..plan.rack_count)
        .filter(|&rack| load.units(rack) > site.rack_units)
        .collect();
    if full.is_empty() {
        return true;
    }
    let leaving = leaving_order(topology, plan, &full);
    let near = neighbour_racks(topology, plan, &leaving);
    for (rack, switches) in leaving {
        for (switch, tier) in switches {
            if load.units(rack) <= site.rack_units {
                break;
            }
            let class = usize::from(sizes.class_of_tier[tier]);
            let neighbours = near.get(&switch);
            let target = (0..plan.rack_count)
                .filter(|&other| other != rack && load.units_with(other, class) <= site.rack_units)
                .min_by_key(|&other| {
                    let shared = neighbours
                        .and_then(|racks| racks.get(&other))
                        .copied()
                        .unwrap_or(0);
                    let foreign = plan.group[other as usize] != plan.group[rack as usize];
                    (std::cmp::Reverse(shared), foreign, other.abs_diff(rack), other)
                });
            let Some(target) = target else {
                continue;
            };
            load.move_switch(class, rack, target);
            plan.rack[switch as usize] = target;
        }
    }
    (0..plan.rack_count).all(|rack| load.units(rack) <= site.rack_units)
}

/// The switches of the full racks with their tiers, highest tier first.
fn leaving_order(
    topology: &Topology,
    plan: &Assignment,
    full: &[u32],
) -> BTreeMap<u32, Vec<(NodeId, usize)>> {
    let mut leaving: BTreeMap<u32, Vec<(NodeId, usize)>> =
        full.iter().map(|&rack| (rack, Vec::new())).collect();
    for (t, tier) in topology.tiers().iter().enumerate().rev() {
        for switch in (tier.first..tier.first + tier.count).rev() {
            if let Some(switches) = leaving.get_mut(&plan.rack[switch as usize]) {
                switches.push((switch, t));
            }
        }
    }
    leaving
}

/// Number of neighbours of each of these switches in each rack.
fn neighbour_racks(
    topology: &Topology,
    plan: &Assignment,
    leaving: &BTreeMap<u32, Vec<(NodeId, usize)>>,
) -> BTreeMap<NodeId, BTreeMap<u32, u32>> {
    let mut near: BTreeMap<NodeId, BTreeMap<u32, u32>> = BTreeMap::new();
    let links = topology.links();
    for (&a, &b) in links.a.iter().zip(&links.b) {
        for (switch, other) in [(a, b), (b, a)] {
            if !topology.is_server(switch) && leaving.contains_key(&plan.rack[switch as usize]) {
                let racks = near.entry(switch).or_default();
                *racks.entry(plan.rack[other as usize]).or_default() += 1;
            }
        }
    }
    near
}

/// The number of servers and of switches in each rack.
struct Load<'a> {
    sizes: &'a Sizes,
    servers: Vec<u32>,
    /// By rack and class.
    switches: Vec<u32>,
}

impl<'a> Load<'a> {
    fn of(topology: &Topology, sizes: &'a Sizes, plan: &Assignment) -> Load<'a> {
        let (racks, classes) = (plan.rack_count as usize, sizes.classes.len());
        let mut load = Load {
            sizes,
            servers: vec![0; racks],
            switches: vec![0; racks * classes],
        };
        for server in 0..topology.server_count() {
            load.servers[plan.rack[server as usize] as usize] += 1;
        }
        for (t, tier) in topology.tiers().iter().enumerate() {
            let class = usize::from(sizes.class_of_tier[t]);
            for switch in tier.first..tier.first + tier.count {
                load.switches[plan.rack[switch as usize] as usize * classes + class] += 1;
            }
        }
        load
    }

    fn of_classes(&self, rack: u32) -> &[u32] {
        let classes = self.sizes.classes.len();
        &self.switches[rack as usize * classes..][..classes]
    }

    /// Rack units in use: whole shelves of servers and of each class.
    fn units(&self, rack: u32) -> u32 {
        let shelves = self.of_classes(rack).iter().zip(&self.sizes.classes);
        self.sizes.server.units_for(self.servers[rack as usize])
            + shelves.map(|(&count, size)| size.units_for(count)).sum::<u32>()
    }

    /// Rack units in use with one more switch.
    fn units_with(&self, rack: u32, class: usize) -> u32 {
        let (count, size) = (self.of_classes(rack)[class], self.sizes.classes[class]);
        self.units(rack) + size.units_for(count + 1) - size.units_for(count)
    }

    fn move_switch(&mut self, class: usize, from: u32, to: u32) {
        let classes = self.sizes.classes.len();
        self.switches[from as usize * classes + class] -= 1;
        self.switches[to as usize * classes + class] += 1;
    }
}
