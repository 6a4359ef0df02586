//! Locality first `[ours]`: servers fill racks in address order, and each switch goes to the rack
//! that contains most of its lower neighbours (if several tie, to the emptiest, so that upper tiers
//! spread evenly). Switches without room there go to network racks at the end. One pass over
//! servers, switches and links.

use cubeyard_topology::{DcellGrowth, Topology, TopologySpec};

use super::{Assignment, Site, Sizes};
use crate::spec::{Enclosure, PlanSpec};

/// When servers per rack are rounded down to whole address blocks, at least this share of a rack's
/// slots must stay in use.
const MIN_ROUNDED_SHARE: f64 = 0.8;

pub(super) fn assign(spec: &PlanSpec, topology: &Topology, site: &Site, sizes: &Sizes) -> Assignment {
    let servers = topology.server_count();
    let per_rack = spec
        .packaging
        .servers_per_rack
        .unwrap_or_else(|| servers_per_rack(topology, site, sizes))
        .clamp(1, servers.max(1));
    let server_racks = servers.div_ceil(per_rack).max(1);
    let mut rack: Vec<u32> = (0..servers).map(|v| v / per_rack).collect();
    rack.resize(topology.node_count() as usize, u32::MAX);

    let mut room = Room::new(site.rack_units, sizes);
    for r in 0..server_racks {
        room.open(
            sizes
                .server
                .units_for(per_rack.min(servers - (r * per_rack).min(servers))),
        );
    }
    let below = Below::of(topology);
    let mut counts = vec![0u32; server_racks as usize];
    let mut touched: Vec<u32> = Vec::new();
    for (t, tier) in topology.tiers().iter().enumerate() {
        let class = usize::from(sizes.class_of_tier[t]);
        for v in tier.first..tier.first + tier.count {
            touched.clear();
            for &neighbour in below.of_switch(v - servers) {
                let r = rack[neighbour as usize];
                if r < server_racks {
                    if counts[r as usize] == 0 {
                        touched.push(r);
                    }
                    counts[r as usize] += 1;
                }
            }
            let best = touched
                .iter()
                .copied()
                .filter(|&r| room.fits(r, class))
                .min_by_key(|&r| (u32::MAX - counts[r as usize], room.used(r), room.switches(r), r));
            for &r in &touched {
                counts[r as usize] = 0;
            }
            if let Some(r) = best {
                room.add(r, class);
                rack[v as usize] = r;
            }
        }
    }
    let network_racks = fill_network_racks(topology, sizes, &mut room, server_racks, servers, &mut rack);
    let mut assignment = Assignment::new(rack, server_racks + network_racks);
    assignment.group_labels = vec!["servers".to_owned()];
    if network_racks > 0 {
        assignment.group_labels.push("network".to_owned());
        for r in server_racks..server_racks + network_racks {
            assignment.group[r as usize] = 1;
        }
    }
    assignment
}

/// Puts the switches that do not fit next to the servers, in order, into additional racks.
fn fill_network_racks(
    topology: &Topology,
    sizes: &Sizes,
    room: &mut Room,
    first_rack: u32,
    servers: u32,
    rack: &mut [u32],
) -> u32 {
    let mut opened = 0;
    for (t, tier) in topology.tiers().iter().enumerate() {
        let class = usize::from(sizes.class_of_tier[t]);
        for v in tier.first..tier.first + tier.count {
            if rack[v as usize] != u32::MAX {
                continue;
            }
            debug_assert!(v >= servers);
            if opened == 0 || !room.fits(first_rack + opened - 1, class) {
                room.open(0);
                opened += 1;
            }
            room.add(first_rack + opened - 1, class);
            rack[v as usize] = first_rack + opened - 1;
        }
    }
    opened
}

/// The most servers a rack can take when every rack also takes its share of the switches, rounded
/// down to whole blocks of the address (a DCell_1, an edge switch's servers, ...) when that wastes
/// little.
fn servers_per_rack(topology: &Topology, site: &Site, sizes: &Sizes) -> u32 {
    let servers = topology.server_count().max(1);
    let switch_units: f64 = topology
        .tiers()
        .iter()
        .zip(&sizes.tiers)
        // A chassis of more than a quarter of a rack gets its own rack anyway.
        .filter(|(_, size)| u32::from(size.height_units) * 4 <= site.rack_units)
        .map(|(tier, size)| f64::from(tier.count) * f64::from(size.height_units) / f64::from(size.slots))
        .sum();
    let server_units = f64::from(sizes.server.height_units) / f64::from(sizes.server.slots);
    let mut most =
        (f64::from(site.rack_units) / (server_units + switch_units / f64::from(servers))).floor() as u32;
    // Shelves are indivisible: reduce the number until servers and the rounded share of switches
    // fit.
    let share = |per_rack: u32| -> Vec<u32> {
        let racks = servers.div_ceil(per_rack);
        topology
            .tiers()
            .iter()
            .zip(&sizes.tiers)
            .map(|(tier, size)| {
                if u32::from(size.height_units) * 4 <= site.rack_units {
                    tier.count / racks
                } else {
                    0
                }
            })
            .collect()
    };
    while most > 1 && sizes.units_for(most, &share(most)) > site.rack_units {
        most -= 1;
    }
    let most = most.max(1);
    if servers <= most {
        return servers;
    }
    // Whole blocks, unless only unrounded racks fit in the given containers.
    let capacity = match site.enclosure {
        Enclosure::Rows => u32::MAX,
        _ => site.columns * site.positions * site.containers,
    };
    let fits = |per_rack: u32| servers.div_ceil(per_rack) <= capacity;
    let any_size_fits = fits(most);
    blocks(topology.spec())
        .into_iter()
        .map(|block| most / block * block)
        .filter(|&rounded| rounded > 0 && (!any_size_fits || fits(rounded)))
        .find(|&rounded| f64::from(rounded) >= MIN_ROUNDED_SHARE * f64::from(most))
        .unwrap_or(most)
}

/// Sizes of the family's natural blocks of consecutive servers, largest first.
fn blocks(spec: &TopologySpec) -> Vec<u32> {
    let powers = |base: u32, count: u32| -> Vec<u32> {
        let mut out: Vec<u32> = (1..=count).map_while(|i| base.checked_pow(i)).collect();
        out.reverse();
        out
    };
    // The servers of a switch, or an equal share of them.
    let halves = |servers: u32| -> Vec<u32> {
        [servers, servers / 2, servers / 4]
            .into_iter()
            .filter(|&block| block > 0)
            .collect()
    };
    match spec {
        TopologySpec::Bcube(s) => powers(s.n, s.k + 1),
        TopologySpec::Dcell(s) => {
            let mut sizes = vec![s.n];
            // In top-down order, consecutive DCell_1s belong to different DCell_2s.
            let levels = if s.growth == DcellGrowth::TopDown {
                s.k.min(1)
            } else {
                s.k
            };
            for _ in 0..levels {
                let last = sizes[sizes.len() - 1];
                match last.checked_add(1).and_then(|g| g.checked_mul(last)) {
                    Some(next) => sizes.push(next),
                    None => break,
                }
            }
            sizes.reverse();
            sizes
        }
        TopologySpec::Torus3d(s) => vec![s.y.saturating_mul(s.z), s.z],
        TopologySpec::Subways(s) => {
            let logical = (s.q / s.p.max(1)).max(1);
            vec![logical.saturating_mul(s.l), logical]
        }
        TopologySpec::FatTree(s) => powers((s.ports / 2).max(1), s.layers),
        TopologySpec::Tree(s) => halves(s.edge_ports),
        TopologySpec::LeafSpine(s) => {
            let pod = (s.super_spines > 0).then(|| s.leaves.saturating_mul(s.servers_per_leaf));
            pod.into_iter().chain(halves(s.servers_per_leaf)).collect()
        }
        TopologySpec::Torus2d(s) => halves(s.y),
        // Whole groups, or the servers of a router.
        TopologySpec::Dragonfly(s) => vec![s.a.saturating_mul(s.p), s.p],
        TopologySpec::Jellyfish(s) => match s.servers.unwrap_or(0) % s.switches {
            0 => halves(
                s.servers_per_switch
                    .min(s.servers.unwrap_or(u32::MAX) / s.switches),
            ),
            _ => Vec::new(),
        },
        // Switches have any number of servers; servers of a switch follow each other.
        TopologySpec::Custom(_) => Vec::new(),
    }
}

/// The neighbours below each switch, in compressed rows.
struct Below {
    offsets: Vec<u32>,
    nodes: Vec<u32>,
}

impl Below {
    fn of(topology: &Topology) -> Below {
        let (links, servers) = (topology.links(), topology.server_count());
        let mut offsets = vec![0u32; topology.switch_count() as usize + 1];
        let uppers = || links.b.iter().zip(&links.a).filter(|(b, _)| **b >= servers);
        for (&b, _) in uppers() {
            offsets[(b - servers) as usize + 1] += 1;
        }
        for i in 1..offsets.len() {
            offsets[i] += offsets[i - 1];
        }
        let mut next = offsets.clone();
        let mut nodes = vec![0; offsets.last().map_or(0, |&n| n as usize)];
        for (&b, &a) in uppers() {
            let slot = &mut next[(b - servers) as usize];
            nodes[*slot as usize] = a;
            *slot += 1;
        }
        Below { offsets, nodes }
    }

    fn of_switch(&self, switch: u32) -> &[u32] {
        &self.nodes[self.offsets[switch as usize] as usize..self.offsets[switch as usize + 1] as usize]
    }
}

/// Units used in each rack, with switches of one class sharing shelves.
struct Room<'a> {
    sizes: &'a Sizes,
    rack_units: u32,
    units: Vec<u32>,
    /// By rack and class.
    counts: Vec<u32>,
    totals: Vec<u32>,
}

impl<'a> Room<'a> {
    fn new(rack_units: u32, sizes: &'a Sizes) -> Room<'a> {
        Room {
            sizes,
            rack_units,
            units: Vec::new(),
            counts: Vec::new(),
            totals: Vec::new(),
        }
    }

    fn open(&mut self, used_units: u32) {
        self.units.push(used_units);
        self.counts.resize(self.units.len() * self.sizes.classes.len(), 0);
        self.totals.push(0);
    }

    fn more_units(&self, rack: u32, class: usize) -> u32 {
        let size = self.sizes.classes[class];
        let count = self.counts[rack as usize * self.sizes.classes.len() + class];
        if count.is_multiple_of(u32::from(size.slots)) {
            u32::from(size.height_units)
        } else {
            0
        }
    }

    fn fits(&self, rack: u32, class: usize) -> bool {
        self.units[rack as usize] + self.more_units(rack, class) <= self.rack_units
    }

    fn used(&self, rack: u32) -> u32 {
        self.units[rack as usize]
    }

    fn switches(&self, rack: u32) -> u32 {
        self.totals[rack as usize]
    }

    fn add(&mut self, rack: u32, class: usize) {
        self.units[rack as usize] += self.more_units(rack, class);
        self.counts[rack as usize * self.sizes.classes.len() + class] += 1;
        self.totals[rack as usize] += 1;
    }
}
