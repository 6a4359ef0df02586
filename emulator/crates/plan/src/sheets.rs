//! Sheets for the crew: one rack, or one device, with every port's cable and where its far end is.

use cubeyard_topology::NodeId;
use serde::Serialize;

use crate::plan::Plan;
use crate::summary::{json, round};
use crate::wiring::{COLOURS, NO_PART, ROUTES};

/// One row per port, in columns. `cable` is -1 and the far columns are empty if nothing is plugged
/// in.
#[derive(Default, Serialize)]
struct PortRows {
    device: Vec<String>,
    unit: Vec<u16>,
    slot: Vec<u8>,
    port: Vec<String>,
    cable: Vec<i64>,
    level: Vec<i16>,
    /// The label as printed at this end: this end first.
    label: Vec<String>,
    /// The label as printed at the other end.
    far_label: Vec<String>,
    far_device: Vec<String>,
    far_port: Vec<String>,
    far_rack: Vec<String>,
    far_unit: Vec<u16>,
    length_mm: Vec<u32>,
    stock_mm: Vec<u32>,
    sku: Vec<String>,
    colour: Vec<&'static str>,
    route: Vec<&'static str>,
}

impl PortRows {
    /// Every port of a device, free ones included if `free`.
    fn add_device(&mut self, plan: &Plan, device: NodeId, free: bool) {
        let topology = &plan.topology;
        let links = topology.links();
        let name = topology.node_name(device);
        let mut plugged: Vec<(u16, usize, NodeId, u16)> = plan
            .adjacency()
            .row(device)
            .map(|(_, link)| {
                let link = link as usize;
                if links.a[link] == device {
                    (links.a_port[link], link, links.b[link], links.b_port[link])
                } else {
                    (links.b_port[link], link, links.a[link], links.a_port[link])
                }
            })
            .collect();
        plugged.sort_unstable();
        let mut next = plugged.into_iter().peekable();
        for port in 0..topology.port_count(device) as u16 {
            match next.next_if(|row| row.0 == port) {
                Some((_, link, far, far_port)) => {
                    self.add_plugged(plan, device, &name, port, link, (far, far_port));
                }
                None if free => self.add_free(plan, device, &name, port),
                None => {}
            }
        }
    }

    fn add_end(&mut self, plan: &Plan, device: NodeId, name: &str, port: u16) {
        let at = &plan.layout.placements;
        self.device.push(name.to_owned());
        self.unit.push(at.unit[device as usize]);
        self.slot.push(at.slot[device as usize]);
        self.port.push(plan.topology.port_name(device, port));
    }

    fn add_plugged(
        &mut self,
        plan: &Plan,
        device: NodeId,
        name: &str,
        port: u16,
        link: usize,
        (far, far_port): (NodeId, u16),
    ) {
        self.add_end(plan, device, name, port);
        let wiring = &plan.wiring;
        let far_at = far as usize;
        let near_is_a = plan.topology.links().a[link] == device;
        let (mine, theirs) = if near_is_a {
            (plan.label(link), plan.far_label(link))
        } else {
            (plan.far_label(link), plan.label(link))
        };
        self.cable.push(link as i64);
        self.level.push(i16::from(plan.topology.links().level[link]));
        self.label.push(mine);
        self.far_label.push(theirs);
        self.far_device.push(plan.topology.node_name(far));
        self.far_port.push(plan.topology.port_name(far, far_port));
        self.far_rack
            .push(rack_name(plan, plan.layout.placements.rack[far_at]));
        self.far_unit.push(plan.layout.placements.unit[far_at]);
        self.length_mm.push(wiring.length_mm[link]);
        self.stock_mm.push(wiring.stock_mm[link]);
        self.sku.push(match wiring.part[link] {
            NO_PART => String::new(),
            part => plan.book.parts[usize::from(part)].sku.clone(),
        });
        self.colour
            .push(COLOURS[usize::from(wiring.colour[link]) % COLOURS.len()].0);
        self.route
            .push(ROUTES.get(usize::from(wiring.route[link])).copied().unwrap_or(""));
    }

    fn add_free(&mut self, plan: &Plan, device: NodeId, name: &str, port: u16) {
        self.add_end(plan, device, name, port);
        self.cable.push(-1);
        self.level.push(-1);
        for column in [
            &mut self.label,
            &mut self.far_label,
            &mut self.far_device,
            &mut self.far_port,
            &mut self.far_rack,
            &mut self.sku,
        ] {
            column.push(String::new());
        }
        self.far_unit.push(0);
        self.length_mm.push(0);
        self.stock_mm.push(0);
        self.colour.push("");
        self.route.push("");
    }
}

fn rack_name(plan: &Plan, rack: u32) -> String {
    plan.layout
        .racks
        .name
        .get(rack as usize)
        .cloned()
        .unwrap_or_default()
}

/// Book part of a device.
fn device_part(plan: &Plan, device: NodeId) -> Option<usize> {
    let tiers = plan.topology.tiers();
    match tiers
        .iter()
        .position(|t| device >= t.first && device - t.first < t.count)
    {
        Some(tier) => plan.layout.parts.tier(tier),
        None => plan.layout.parts.server,
    }
}

#[derive(Serialize)]
struct Device {
    device: String,
    index: NodeId,
    kind: &'static str,
    role: &'static str,
    /// -1 for a server.
    level: i16,
    rack: String,
    unit: u16,
    height_units: u8,
    slot: u8,
    slots: u8,
    sku: String,
    part: String,
    power_watts: Option<f64>,
    ports: u32,
    ports_used: u32,
}

fn describe(plan: &Plan, device: NodeId) -> Device {
    let at = &plan.layout.placements;
    let d = device as usize;
    let tier = plan.topology.tier_of(device);
    let part = device_part(plan, device).map(|p| &plan.book.parts[p]);
    Device {
        device: plan.topology.node_name(device),
        index: device,
        kind: if tier.is_some() { "switch" } else { "server" },
        role: tier.map_or("server", |t| t.role),
        level: tier.map_or(-1, |t| i16::from(t.level)),
        rack: rack_name(plan, at.rack[d]),
        unit: at.unit[d],
        height_units: at.height_units[d],
        slot: at.slot[d],
        slots: at.slots[d],
        sku: part.map(|p| p.sku.clone()).unwrap_or_default(),
        part: part.map(|p| p.name.clone()).unwrap_or_default(),
        power_watts: part.and_then(|p| p.power_watts),
        ports: plan.topology.port_count(device),
        ports_used: plan.adjacency().degree(device),
    }
}

#[derive(Serialize)]
struct Trace {
    #[serde(flatten)]
    device: Device,
    rows: PortRows,
}

/// Every port of a device, free ones too; `None` when no device has this name.
pub fn device_json(plan: &Plan, name: &str) -> Option<String> {
    let device = plan.topology.node_by_name(name)?;
    let mut rows = PortRows::default();
    rows.add_device(plan, device, true);
    Some(json(&Trace {
        device: describe(plan, device),
        rows,
    }))
}

#[derive(Serialize)]
struct RackSheet {
    rack: String,
    index: usize,
    row: u32,
    position: u32,
    container: u32,
    group_label: String,
    units: u32,
    units_used: u16,
    servers: u32,
    switches: u32,
    power_watts: f64,
    power_limit_watts: Option<f64>,
    weight_kg: f64,
    weight_limit_kg: Option<f64>,
    /// Top unit first, left slot first.
    devices: Vec<Device>,
    /// Every plugged port, in the order of `devices`.
    rows: PortRows,
}

/// A rack with its devices and every cable end in it; `None` when no rack has this name.
pub fn rack_json(plan: &Plan, name: &str) -> Option<String> {
    let racks = &plan.layout.racks;
    let index = racks.name.iter().position(|rack| rack == name)?;
    let at = &plan.layout.placements;
    let mut inside: Vec<NodeId> = (0..plan.topology.node_count())
        .filter(|&d| at.rack[d as usize] as usize == index)
        .collect();
    inside.sort_by_key(|&d| (std::cmp::Reverse(at.unit[d as usize]), at.slot[d as usize], d));
    let mut rows = PortRows::default();
    inside
        .iter()
        .for_each(|&device| rows.add_device(plan, device, false));
    let site = &plan.layout.site;
    Some(json(&RackSheet {
        rack: name.to_owned(),
        index,
        row: racks.row[index],
        position: racks.position[index],
        container: racks.container[index],
        group_label: plan
            .layout
            .group_labels
            .get(racks.group[index] as usize)
            .cloned()
            .unwrap_or_default(),
        units: site.rack_units,
        units_used: racks.units_used[index],
        servers: racks.servers[index],
        switches: racks.switches[index],
        power_watts: round(racks.power_watts[index], 1e3),
        power_limit_watts: site.rack_power_limit_watts,
        weight_kg: round(racks.weight_kg[index], 1e3),
        weight_limit_kg: site.rack_weight_limit_kg,
        devices: inside.iter().map(|&device| describe(plan, device)).collect(),
        rows,
    }))
}
