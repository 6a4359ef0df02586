//! The parts of a plan that can fail, in columns, and what each of them takes down.

use cubeyard_plan::bom::Category;
use cubeyard_plan::{NO_PART, Plan};
use cubeyard_topology::NodeId;

use crate::ageing::UnitKind;
use crate::rates::PartKind;

/// Parts of one server, which is down without any of them.
const OF_SERVER: [PartKind; 6] = [
    PartKind::Server,
    PartKind::Disk,
    PartKind::Memory,
    PartKind::Psu,
    PartKind::Fan,
    PartKind::Nic,
];

/// The device or link that fails with a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A server or switch.
    Node(NodeId),
    /// A single link.
    Link(u32),
    /// Everything that a PDU feeds.
    Pdu(u32),
}

/// A part that can fail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The kind, which determines the lifetime.
    pub kind: PartKind,
    /// The device or link that fails with it.
    pub target: Target,
    /// The kind of unit that is swapped to repair it.
    pub unit_kind: UnitKind,
    /// The number of the unit within its kind.
    pub unit: u32,
    /// The key from which its lifetimes are drawn: the kind and a number within it, so that other
    /// parts of the plan do not change them.
    pub draw: u64,
}

/// All parts of a plan.
#[derive(Debug)]
pub struct Parts {
    pub(crate) all: Vec<Part>,
    pub(crate) servers: u32,
    pub(crate) switches: u32,
    /// Ends of each link.
    pub(crate) ends: Vec<[NodeId; 2]>,
    /// The PDU of each node.
    pub(crate) pdu: Vec<u32>,
    pub(crate) pdus: u32,
    /// Links with a transceiver at each end.
    pub(crate) optical: u32,
}

impl Parts {
    /// The parts of a plan. Linear in nodes and links.
    pub fn of(plan: &Plan) -> Parts {
        let topology = &plan.topology;
        let links = topology.links();
        let (servers, nodes) = (topology.server_count(), topology.node_count());
        let (pdu, pdus) = pdus_of(plan);
        let mut all = Vec::with_capacity(servers as usize * OF_SERVER.len() + links.len() * 5);
        let mut push = |kind: PartKind, number: u64, target, unit_kind, unit| {
            let draw = (kind as u64) << 40 | number;
            all.push(Part {
                kind,
                target,
                unit_kind,
                unit,
                draw,
            });
        };
        for node in 0..nodes {
            let target = Target::Node(node);
            if node < servers {
                for kind in OF_SERVER {
                    push(kind, u64::from(node), target, UnitKind::Server, node);
                }
            } else {
                let number = u64::from(node - servers);
                push(PartKind::Switch, number, target, UnitKind::Switch, node);
            }
        }
        for index in 0..pdus {
            push(
                PartKind::Pdu,
                u64::from(index),
                Target::Pdu(index),
                UnitKind::Pdu,
                index,
            );
        }
        let mut optical = 0;
        let mut ends = Vec::with_capacity(links.len());
        for link in 0..links.len() {
            let (number, target) = (link as u64, Target::Link(link as u32));
            let both = [links.a[link], links.b[link]];
            push(PartKind::Cable, number, target, UnitKind::Cable, link as u32);
            for (end, &node) in both.iter().enumerate() {
                let owner = if node < servers {
                    UnitKind::Server
                } else {
                    UnitKind::Switch
                };
                push(PartKind::Port, 2 * number + end as u64, target, owner, node);
            }
            let needs_optics = plan
                .wiring
                .transceiver
                .get(link)
                .is_some_and(|&part| part != NO_PART);
            for end in 0..if needs_optics { 2 } else { 0 } {
                let draw = 2 * number + end;
                push(PartKind::Optic, draw, target, UnitKind::Cable, link as u32);
            }
            optical += u32::from(needs_optics);
            ends.push(both);
        }
        Parts {
            all,
            servers,
            switches: topology.switch_count(),
            ends,
            pdu,
            pdus,
            optical,
        }
    }

    /// Number of parts of a kind.
    pub(crate) fn count(&self, kind: PartKind) -> u32 {
        match kind {
            PartKind::Switch => self.switches,
            PartKind::Pdu => self.pdus,
            PartKind::Cable => self.ends.len() as u32,
            PartKind::Port => 2 * self.ends.len() as u32,
            PartKind::Optic => 2 * self.optical,
            _ => self.servers,
        }
    }
}

/// The PDU of each node, and the number of PDUs. The PDUs of the bill are distributed over the
/// racks by power, and the devices of a rack over its PDUs in order. `[ours]`
fn pdus_of(plan: &Plan) -> (Vec<u32>, u32) {
    let layout = &plan.layout;
    let bought: f64 = plan
        .bom
        .lines
        .iter()
        .filter(|line| line.category == Category::Pdu)
        .map(|line| line.quantity)
        .sum();
    let racks = layout.racks.len();
    let mut devices: Vec<Vec<usize>> = vec![Vec::new(); racks];
    for (node, &rack) in layout.placements.rack.iter().enumerate() {
        if let Some(of_rack) = devices.get_mut(rack as usize) {
            of_rack.push(node);
        }
    }
    let mut of_rack: Vec<u32> = devices.iter().map(|in_it| u32::from(!in_it.is_empty())).collect();
    let mut left = (bought as u32).saturating_sub(of_rack.iter().sum());
    let mut by_power: Vec<usize> = (0..racks).filter(|&rack| !devices[rack].is_empty()).collect();
    by_power.sort_by(|&a, &b| layout.racks.power_watts[b].total_cmp(&layout.racks.power_watts[a]));
    while left > 0 && !by_power.is_empty() {
        for &rack in by_power.iter().take(left as usize) {
            of_rack[rack] += 1;
        }
        left = left.saturating_sub(by_power.len() as u32);
    }
    let mut pdu = vec![0; plan.topology.node_count() as usize];
    let mut first = 0;
    for (rack, in_it) in devices.iter().enumerate() {
        for (place, &node) in in_it.iter().enumerate() {
            pdu[node] = first + (place * of_rack[rack] as usize / in_it.len()) as u32;
        }
        first += of_rack[rack];
    }
    (pdu, first)
}
