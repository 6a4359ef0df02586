//! Loops of logical racks on the floor `[subways §7.2]`: side to side, paired rows, inter-chassis.
//!
//! A physical rack is divided into b equal zones, each for one logical rack with its ToR.
//! Aggregation and core switches are in network racks, those of a cluster at the end of the row of
//! its first loop `[subways §7.1]`.

use cubeyard_topology::{Topology, TopologySpec};

use super::{Assignment, Site, Sizes};
use crate::spec::{Enclosure, PlanSpec, Policy};

/// The default number of racks per row, for a room that is about square.
fn default_row(racks: u32) -> u32 {
    ((3.0 * f64::from(racks)).sqrt().ceil() as u32).max(10)
}

/// The position of logical rack `j` of a loop: (row within the loop, position, zone from the
/// bottom).
pub(crate) fn place_in_loop(policy: Policy, j: u32, per_rack: u32, racks: u32) -> (u32, u32, u32) {
    let (physical, zone) = (j / per_rack, j % per_rack);
    match policy {
        // Along one row, and back along the row across the cold aisle.
        Policy::PairedRows => {
            let half = racks.div_ceil(2);
            if physical < half {
                (0, physical, zone)
            } else {
                (1, 2 * half - 1 - physical, zone)
            }
        }
        // First along the bottom zones, then back through the others: upwards in one rack and
        // downwards in the next.
        Policy::InterChassis if per_rack > 1 => {
            if j < racks {
                (0, j, 0)
            } else {
                let (column, step) = ((j - racks) / (per_rack - 1), (j - racks) % (per_rack - 1));
                (
                    0,
                    racks - 1 - column,
                    if column % 2 == 0 {
                        1 + step
                    } else {
                        per_rack - 1 - step
                    },
                )
            }
        }
        _ => (0, physical, zone),
    }
}

pub(super) fn assign(
    policy: Policy,
    spec: &PlanSpec,
    topology: &Topology,
    site: &Site,
    sizes: &Sizes,
) -> Assignment {
    let TopologySpec::Subways(subways) = topology.spec() else {
        return Assignment::new(vec![0; topology.node_count() as usize], 1);
    };
    let tiers = topology.tiers();
    let tors = &tiers[0];
    let (l, servers) = (subways.l.max(1), topology.server_count());
    let per_logical = servers.div_ceil(tors.count.max(1)).max(1);
    let loops = tors.count.div_ceil(l);
    // Two logical racks to a rack as the paper draws them, fewer if two are too high.
    let logical_units = sizes.units_for(per_logical, &[1]);
    let b = spec
        .packaging
        .logical_racks_per_rack
        .unwrap_or_else(|| 2.min(site.rack_units / logical_units.max(1)))
        .clamp(1, 64);
    let loop_racks = l.div_ceil(b);

    let mut rack = vec![0u32; topology.node_count() as usize];
    let mut zone = vec![0u8; topology.node_count() as usize];
    let slot_of = |tor: u32| -> (u32, u8) {
        let (row, position, z) = place_in_loop(policy, tor % l, b, loop_racks);
        let half = loop_racks.div_ceil(2);
        let within = if row == 0 {
            position
        } else {
            half + position - (2 * half - loop_racks)
        };
        (tor / l * loop_racks + within, z as u8)
    };
    for v in 0..servers {
        (rack[v as usize], zone[v as usize]) = slot_of(v / per_logical);
    }
    for t in 0..tors.count {
        (rack[(tors.first + t) as usize], zone[(tors.first + t) as usize]) = slot_of(t);
    }

    let clusters = subways.clusters.max(1);
    let network = NetworkRacks::fill(topology, site, sizes, clusters, loops * loop_racks, &mut rack);
    let racks = loops * loop_racks + network.cluster_of.len() as u32;
    let mut assignment = Assignment::new(rack, racks);
    assignment.zone = zone;
    assignment.zones = (0..racks)
        .map(|r| if r < loops * loop_racks { b as u8 } else { 1 })
        .collect();
    assignment.group_labels = (0..loops).map(|i| format!("loop {i}")).collect();
    assignment.group_labels.push("network".to_owned());
    assignment.group = (0..racks).map(|r| (r / loop_racks).min(loops)).collect();
    assignment.loop_racks = Some(loop_racks);
    assignment.switches_in_middle = policy == Policy::InterChassis;
    let place = |row_length| {
        Floor {
            policy,
            loops,
            loop_racks,
            row_length,
        }
        .place(&network.cluster_of, clusters)
    };
    let in_containers = |(spots, _): &(Vec<(u32, u32)>, _)| {
        spots
            .iter()
            .all(|&(row, position)| row < site.columns * site.containers && position < site.positions)
    };
    let (spots, crossings) = match site.enclosure {
        Enclosure::Rows => place(row_length(spec, policy, loop_racks, racks)),
        Enclosure::Auto => Some(place(site.positions))
            .filter(in_containers)
            .unwrap_or_else(|| place(row_length(spec, policy, loop_racks, racks))),
        _ => place(site.positions),
    };
    assignment.floor = Some(spots);
    assignment.crossings = crossings;
    assignment
}

/// Positions in a row of the room: as set by the site, else enough for whole loops in a room that
/// is about square.
fn row_length(spec: &PlanSpec, policy: Policy, loop_racks: u32, racks: u32) -> u32 {
    let width = if policy == Policy::PairedRows {
        loop_racks.div_ceil(2)
    } else {
        loop_racks
    };
    spec.site
        .racks_per_row
        .unwrap_or_else(|| (default_row(racks) / width).max(1) * width + 1)
}

/// Racks for the switches above the ToRs: whole racks a cluster, then the cores'.
struct NetworkRacks {
    /// `None` for the cores' racks.
    cluster_of: Vec<Option<u32>>,
}

impl NetworkRacks {
    fn fill(
        topology: &Topology,
        site: &Site,
        sizes: &Sizes,
        clusters: u32,
        first_rack: u32,
        rack: &mut [u32],
    ) -> NetworkRacks {
        let mut cluster_of = Vec::new();
        for (t, tier) in topology.tiers().iter().enumerate().skip(1) {
            let size = sizes.tiers[t];
            let per_rack = (site.rack_units / u32::from(size.height_units)).max(1) * u32::from(size.slots);
            // Aggregation switches are numbered cluster by cluster; cores belong to none.
            let is_core = t + 1 == topology.tiers().len() && t > 1;
            let parts = if is_core { 1 } else { clusters };
            let each = tier.count.div_ceil(parts).max(1);
            for part in 0..parts {
                let start = part * each;
                let end = (start + each).min(tier.count);
                for (i, v) in (tier.first + start.min(end)..tier.first + end).enumerate() {
                    if (i as u32).is_multiple_of(per_rack) {
                        cluster_of.push((!is_core).then_some(part));
                    }
                    rack[v as usize] = first_rack + cluster_of.len() as u32 - 1;
                }
            }
        }
        NetworkRacks { cluster_of }
    }
}

struct Floor {
    policy: Policy,
    loops: u32,
    loop_racks: u32,
    row_length: u32,
}

impl Floor {
    /// (row, position) of every rack, and where trays cross the aisle if the policy decides that.
    fn place(&self, cluster_of: &[Option<u32>], clusters: u32) -> (Vec<(u32, u32)>, Option<Vec<bool>>) {
        let paired = self.policy == Policy::PairedRows;
        let (rows_per_loop, half) = if paired {
            (2, self.loop_racks.div_ceil(2))
        } else {
            (1, self.loop_racks)
        };
        let loops_per_row = (self.row_length / half).max(1);
        let mut spots = Vec::with_capacity((self.loops * self.loop_racks) as usize + cluster_of.len());
        let mut filled: Vec<u32> = Vec::new();
        for i in 0..self.loops {
            let (row, start) = (i / loops_per_row * rows_per_loop, i % loops_per_row * half);
            filled.resize(filled.len().max((row + rows_per_loop) as usize), 0);
            for r in 0..self.loop_racks {
                // In a paired loop of odd length the second row has one rack less, at the far end
                // of the loop.
                let (dr, position) = if r < half {
                    (0, r)
                } else {
                    (1, r - half + (2 * half - self.loop_racks))
                };
                spots.push((row + dr, start + position));
                let end = &mut filled[(row + dr) as usize];
                *end = (*end).max(start + position + 1);
            }
        }
        let loops_per_cluster = self.loops.div_ceil(clusters).max(1);
        let mut last_row = 0usize;
        for cluster in cluster_of {
            let home = cluster.map_or(0, |c| {
                (c * loops_per_cluster / loops_per_row * rows_per_loop) as usize
            });
            let has_room = |row: usize| filled.get(row).is_some_and(|&n| n < self.row_length);
            let row = if has_room(home) {
                home
            } else if let Some(next) = (home..home + rows_per_loop as usize).find(|&r| has_room(r)) {
                next
            } else {
                while last_row < filled.len() && !has_room(last_row) {
                    last_row += 1;
                }
                if last_row == filled.len() {
                    filled.push(0);
                }
                last_row
            };
            spots.push((row as u32, filled[row]));
            filled[row] += 1;
        }
        let crossings = paired.then(|| {
            let longest = filled.iter().copied().max().unwrap_or(0) as usize;
            let mut at = vec![false; longest];
            for i in 0..loops_per_row.min(self.loops) {
                at[(i * half) as usize] = true;
                at[((i + 1) * half - 1) as usize] = true;
            }
            at
        });
        (spots, crossings)
    }
}
