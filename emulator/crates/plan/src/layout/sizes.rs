//! The space that each kind of device takes in a rack.

use cubeyard_topology::Topology;

use crate::book::Book;
use crate::selection::PartSelection;
use crate::spec::PlanSpec;

/// One shelf: `height_units` high, holding `slots` devices side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceSize {
    pub height_units: u8,
    pub slots: u8,
}

impl DeviceSize {
    /// Rack units that `count` devices take.
    pub fn units_for(self, count: u32) -> u32 {
        count.div_ceil(u32::from(self.slots)) * u32::from(self.height_units)
    }
}

/// Sizes of servers and of each switch tier.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizes {
    pub server: DeviceSize,
    /// By tier, in the order of `Topology::tiers`.
    pub tiers: Vec<DeviceSize>,
    /// Tiers of one class may share a shelf: same part.
    pub class_of_tier: Vec<u8>,
    pub classes: Vec<DeviceSize>,
}

impl Sizes {
    pub fn of(spec: &PlanSpec, topology: &Topology, book: &Book, parts: &PartSelection) -> Sizes {
        let clamp = |v: u32| v.clamp(1, 200) as u8;
        let server_part = parts.server.map(|i| &book.parts[i]);
        let server = DeviceSize {
            height_units: clamp(server_part.map_or(1, |p| p.height_units())),
            slots: clamp(
                spec.packaging
                    .servers_per_unit
                    .or_else(|| server_part.map(|p| p.per_unit()))
                    .unwrap_or(super::DEFAULT_SERVERS_PER_UNIT),
            ),
        };
        let mut sizes = Sizes {
            server,
            tiers: Vec::new(),
            class_of_tier: Vec::new(),
            classes: Vec::new(),
        };
        let mut class_part: Vec<Option<usize>> = Vec::new();
        for (t, tier) in topology.tiers().iter().enumerate() {
            let part = parts.tier(t);
            let (height, slots) = match part.map(|i| &book.parts[i]) {
                Some(p) => (p.height_units(), p.per_unit()),
                // No such switch in the book: assume desktop size up to 8 ports, one unit for each
                // 48 above `[ours]`.
                None if tier.ports <= 8 => (1, 4),
                None => (tier.ports.div_ceil(48), 1),
            };
            let slots = match spec.packaging.switches_per_unit {
                Some(asked) if slots > 1 => asked,
                _ => slots,
            };
            let size = DeviceSize {
                height_units: clamp(height),
                slots: clamp(slots),
            };
            let class = (0..class_part.len())
                .find(|&c| class_part[c] == part && sizes.classes[c] == size)
                .unwrap_or_else(|| {
                    class_part.push(part);
                    sizes.classes.push(size);
                    class_part.len() - 1
                });
            sizes.tiers.push(size);
            sizes.class_of_tier.push(class as u8);
        }
        sizes
    }

    /// Units a rack needs for these servers and switches (by tier).
    pub fn units_for(&self, servers: u32, switches_by_tier: &[u32]) -> u32 {
        let mut by_class = vec![0u32; self.classes.len()];
        for (t, &count) in switches_by_tier.iter().enumerate() {
            by_class[usize::from(self.class_of_tier[t])] += count;
        }
        self.server.units_for(servers)
            + by_class
                .iter()
                .zip(&self.classes)
                .map(|(&n, size)| size.units_for(n))
                .sum::<u32>()
    }
}
