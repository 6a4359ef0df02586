//! Places devices in rack units: servers from the bottom of their zone, switches from its top, the
//! highest level uppermost and so nearest to the trays. Three counting passes over the devices.

use cubeyard_topology::Topology;

use super::{Assignment, Placements, Site, Sizes};
use crate::spec::Face;

/// Stacks every device. A device without a free unit keeps its rack and gets unit 0.
pub(super) fn stack(
    topology: &Topology,
    site: &Site,
    sizes: &Sizes,
    plan: &Assignment,
    face: Face,
) -> Placements {
    let nodes = topology.node_count() as usize;
    let servers = topology.server_count();
    let tiers = topology.tiers();
    let zones_of = |rack: usize| u32::from(plan.zones.get(rack).copied().unwrap_or(1)).max(1);
    let mut first_zone = Vec::with_capacity(plan.rack_count as usize + 1);
    first_zone.push(0u32);
    let mut total = 0;
    for rack in 0..plan.rack_count as usize {
        total += zones_of(rack);
        first_zone.push(total);
    }
    let zone_count = first_zone[plan.rack_count as usize] as usize;
    let zone_of = |v: usize| {
        (first_zone[plan.rack[v] as usize] + u32::from(plan.zone.get(v).copied().unwrap_or(0))) as usize
    };

    // Column 0 counts servers, column 1 + t the switches of tier t.
    let columns = tiers.len() + 1;
    let mut counts = vec![0u32; zone_count * columns];
    let column_of_tier = |v: u32| {
        tiers
            .iter()
            .position(|t| v >= t.first && v < t.first + t.count)
            .unwrap_or(0)
            + 1
    };
    for v in 0..servers as usize {
        counts[zone_of(v) * columns] += 1;
    }
    for v in servers..topology.node_count() {
        counts[zone_of(v as usize) * columns + column_of_tier(v)] += 1;
    }

    let mut out = Placements {
        rack: plan.rack.clone(),
        unit: vec![0; nodes],
        height_units: vec![1; nodes],
        slot: vec![0; nodes],
        slots: vec![1; nodes],
        face: vec![face; nodes],
    };
    let mut shapes = Vec::with_capacity(zone_count);
    for (rack, &first) in first_zone[..plan.rack_count as usize].iter().enumerate() {
        let zones = zones_of(rack);
        let height = site.rack_units / zones;
        for z in 0..zones {
            let zone = (first + z) as usize;
            let row = &counts[zone * columns..(zone + 1) * columns];
            shapes.push(Shape::of(
                row,
                sizes,
                z * height,
                height,
                plan.switches_in_middle && zones > 1,
            ));
        }
    }
    counts.fill(0);
    for v in 0..servers as usize {
        let zone = zone_of(v);
        let index = counts[zone * columns];
        counts[zone * columns] += 1;
        out.height_units[v] = sizes.server.height_units;
        out.slots[v] = sizes.server.slots;
        (out.unit[v], out.slot[v]) = shapes[zone].server(index, sizes);
    }
    for v in servers..topology.node_count() {
        let column = column_of_tier(v);
        let (zone, size) = (zone_of(v as usize), sizes.tiers[column - 1]);
        let index = counts[zone * columns + column];
        counts[zone * columns + column] += 1;
        let v = v as usize;
        out.height_units[v] = size.height_units;
        out.slots[v] = size.slots;
        (out.unit[v], out.slot[v]) = shapes[zone].switch(column - 1, index, sizes);
    }
    out
}

/// The division of a zone.
struct Shape {
    /// Units below the zone.
    base: u32,
    /// The highest remaining unit for switches, counted from the zone's bottom.
    switch_top: u32,
    switch_units: u32,
    /// Number of servers below the switches; the other servers are above.
    servers_below: u32,
    /// Units available for servers below the switches.
    server_room: u32,
    height: u32,
    /// Units above a class's shelves, from `switch_top`.
    class_start: Vec<u32>,
    /// Devices of the same class in higher tiers.
    tier_offset: Vec<u32>,
}

impl Shape {
    fn of(counts: &[u32], sizes: &Sizes, base: u32, height: u32, middle: bool) -> Shape {
        let mut class_counts = vec![0u32; sizes.classes.len()];
        let mut order: Vec<usize> = Vec::new();
        let mut tier_offset = vec![0u32; sizes.tiers.len()];
        for t in (0..sizes.tiers.len()).rev() {
            let class = usize::from(sizes.class_of_tier[t]);
            if counts[t + 1] > 0 && !order.contains(&class) {
                order.push(class);
            }
            tier_offset[t] = class_counts[class];
            class_counts[class] += counts[t + 1];
        }
        let mut class_start = vec![0u32; sizes.classes.len()];
        let mut switch_units = 0;
        for class in order {
            class_start[class] = switch_units;
            switch_units += sizes.classes[class].units_for(class_counts[class]);
        }
        let slots = u32::from(sizes.server.slots);
        let shelves = counts[0].div_ceil(slots);
        let below = if middle { shelves.div_ceil(2) } else { shelves };
        let server_room = height.saturating_sub(switch_units);
        let switch_top = if middle {
            below * u32::from(sizes.server.height_units) + switch_units
        } else {
            height
        };
        Shape {
            base,
            switch_top,
            switch_units,
            servers_below: below * slots,
            server_room,
            height,
            class_start,
            tier_offset,
        }
    }

    fn server(&self, index: u32, sizes: &Sizes) -> (u16, u8) {
        let (slots, height) = (
            u32::from(sizes.server.slots),
            u32::from(sizes.server.height_units),
        );
        let (shelf, slot) = (index / slots, (index % slots) as u8);
        let jump = if index < self.servers_below {
            0
        } else {
            self.switch_units
        };
        let bottom = shelf * height + jump;
        let fits = (shelf + 1) * height <= self.server_room;
        (if fits { (self.base + bottom + 1) as u16 } else { 0 }, slot)
    }

    fn switch(&self, tier: usize, index: u32, sizes: &Sizes) -> (u16, u8) {
        let (size, class) = (sizes.tiers[tier], usize::from(sizes.class_of_tier[tier]));
        let nth = self.tier_offset[tier] + index;
        let (slots, height) = (u32::from(size.slots), u32::from(size.height_units));
        let down = self.class_start[class] + (nth / slots + 1) * height;
        let slot = (nth % slots) as u8;
        let fits = down <= self.switch_top && self.switch_top <= self.height;
        (
            if fits {
                (self.base + self.switch_top - down + 1) as u16
            } else {
                0
            },
            slot,
        )
    }
}
