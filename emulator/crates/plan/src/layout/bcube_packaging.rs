//! BCube packaging `[bcube §5.2]`, for any n and k.
//!
//! A rack holds a whole BCube_m with its m+1 levels of switches (or g of them, g dividing n, when
//! more fit); the racks of one BCube_{m+1} are a super-rack; the switches above are spread evenly
//! over the racks they serve. For n=8, k=3 and 2,048 servers this is the paper's container: 32
//! racks of 64 servers and 16 + 8 + 16 switches.

use cubeyard_topology::{Topology, TopologySpec};

use super::{Assignment, Site, Sizes, relief};
use crate::spec::PlanSpec;

/// Packs a BCube in the largest racks of whole BCubes in which everything fits.
///
/// # Errors
/// Why this topology cannot be packed so.
pub(super) fn assign(
    spec: &PlanSpec,
    topology: &Topology,
    site: &Site,
    sizes: &Sizes,
) -> Result<Assignment, String> {
    let TopologySpec::Bcube(bcube) = topology.spec() else {
        return Err("it packs BCubes".to_owned());
    };
    let (n, k) = (bcube.n, bcube.k);
    let Some(asked) = spec.packaging.servers_per_rack else {
        // The largest rack in which everything fits.
        return rack_sizes(n, k)
            .into_iter()
            .rev()
            .filter(|&(_, _, size)| fits(topology, site, sizes, size))
            .find_map(|size| {
                let mut assignment = in_racks_of(topology, n, k, size);
                relief::relieve(topology, site, sizes, &mut assignment).then_some(assignment)
            })
            .ok_or_else(|| {
                format!(
                    "{n} servers and their switches do not fit in {} units",
                    site.rack_units
                )
            });
    };
    rack_sizes(n, k)
        .into_iter()
        .find(|&(_, _, size)| size == asked)
        .map(|size| in_racks_of(topology, n, k, size))
        .ok_or_else(|| {
            format!(
                "packaging.servers_per_rack is {asked}, and a rack must hold whole BCubes: a power of n = {n}, or a \
                 divisor of n times one"
            )
        })
}

/// Racks that hold `g` whole BCube_m, `per_rack` servers, each.
fn in_racks_of(topology: &Topology, n: u32, k: u32, (m, g, per_rack): (u32, u32, u32)) -> Assignment {
    let racks = topology.server_count().div_ceil(per_rack);
    let mut rack: Vec<u32> = (0..topology.node_count()).map(|v| v / per_rack).collect();
    spread_switches(topology, m, per_rack, &mut rack);

    let mut assignment = Assignment::new(rack, racks);
    let racks_per_super = (n / g).max(1);
    if m < k {
        assignment.group = (0..racks).map(|r| r / racks_per_super).collect();
        assignment.group_labels = (0..racks.div_ceil(racks_per_super))
            .map(|s| format!("super-rack {s} (BCube_{})", m + 1))
            .collect();
        assignment.column_multiple = racks_per_super;
    } else {
        assignment.group_labels = vec![format!("BCube_{k}")];
    }
    assignment
}

/// (m, g, servers) of every rack that holds g whole BCube_m, g a divisor of n below n; ascending.
fn rack_sizes(n: u32, k: u32) -> Vec<(u32, u32, u32)> {
    let mut out = Vec::new();
    let mut whole = n;
    for m in 0..=k {
        let divisors = (1..n).filter(|g| n.is_multiple_of(*g) && (*g == 1 || m < k));
        out.extend(divisors.filter_map(|g| whole.checked_mul(g).map(|size| (m, g, size))));
        match whole.checked_mul(n) {
            Some(next) => whole = next,
            None => break,
        }
    }
    out
}

/// Whether a rack has room for its servers and its share of each switch level. If shares are
/// uneven, [`relief`] moves the excess of one rack to others.
fn fits(topology: &Topology, site: &Site, sizes: &Sizes, per_rack: u32) -> bool {
    let racks = topology.server_count().div_ceil(per_rack);
    let share: Vec<u32> = topology
        .tiers()
        .iter()
        .map(|tier| tier.count.div_ceil(racks))
        .collect();
    sizes.units_for(per_rack.min(topology.server_count()), &share) <= site.rack_units
}

/// Puts each switch in one of the racks it serves. Switches that serve the same racks are
/// distributed in equal runs, so that every rack gets the same number of each level.
fn spread_switches(topology: &Topology, m: u32, per_rack: u32, rack: &mut [u32]) {
    let servers = topology.server_count();
    let links = topology.links();
    // In one pass over the links: each switch's first server, and the racks that contain its
    // servers.
    let switches = topology.switch_count() as usize;
    let mut first = vec![u32::MAX; switches];
    let mut in_first_rack = vec![0u32; switches];
    for (&a, &b) in links.a.iter().zip(&links.b) {
        let s = (b - servers) as usize;
        first[s] = first[s].min(a);
    }
    let mut degree = vec![0u32; switches];
    for (&a, &b) in links.a.iter().zip(&links.b) {
        let s = (b - servers) as usize;
        degree[s] += 1;
        in_first_rack[s] += u32::from(a / per_rack == first[s] / per_rack);
    }
    // The rack of each switch among the racks it serves, counted from the lowest.
    let mut nth = vec![0u32; switches];
    for tier in topology.tiers() {
        for v in tier.first..tier.first + tier.count {
            let s = (v - servers) as usize;
            if u32::from(tier.level) <= m || first[s] == u32::MAX {
                continue;
            }
            let served = degree[s].div_ceil(in_first_rack[s]);
            let alike = per_rack / in_first_rack[s];
            let place = first[s] % per_rack % alike;
            let turn = if alike.is_multiple_of(served) {
                0
            } else {
                first[s] / per_rack
            };
            nth[s] = (place * served / alike + turn) % served;
        }
    }
    // Servers of a switch are in ascending order, `in_first_rack` per rack.
    let mut seen = vec![0u32; switches];
    for s in 0..switches {
        rack[servers as usize + s] = if first[s] == u32::MAX {
            0
        } else {
            first[s] / per_rack
        };
    }
    for (&a, &b) in links.a.iter().zip(&links.b) {
        let s = (b - servers) as usize;
        if seen[s] == nth[s] * in_first_rack[s] {
            rack[b as usize] = a / per_rack;
        }
        seen[s] += 1;
    }
}
