//! The data for pictures, in columns: racks, devices, trays and bundles. Cables are transferred as
//! separate arrays.

use std::iter;

use cubeyard_topology::{NodeId, SwitchTier, Topology};
use serde::{Serialize, Serializer};

use crate::layout::{Facing, Placements, Racks};
use crate::plan::Plan;
use crate::spec::Enclosure;
use crate::summary::{json, round};
use crate::wiring::{Bundles, COLOURS, NO_PART, ROUTES, Trays, rack_taps};

/// Numbers rounded to the millimetre, gram or tenth of a watt.
struct Column<'a>(&'a [f64]);

impl Serialize for Column<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|&value| round(value, 1e3)))
    }
}

/// A flat table of counts as rows of `width`.
struct Rows<'a> {
    cells: &'a [u32],
    width: usize,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.cells.chunks(self.width.max(1)))
    }
}

/// How to spell the name of a node: [`Topology::write_name`] or [`Topology::write_host_name`].
type Spelling = fn(&Topology, NodeId, &mut String);

/// Writes the names of all devices: prefix and spelling.
struct DeviceNames<'a>(&'a Topology, &'a str, Spelling);

impl Serialize for DeviceNames<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeSeq;
        let count = self.0.node_count();
        let mut seq = serializer.serialize_seq(Some(count as usize))?;
        let mut name = String::new();
        for device in 0..count {
            name.clear();
            name.push_str(self.1);
            (self.2)(self.0, device, &mut name);
            seq.serialize_element(&name)?;
        }
        seq.end()
    }
}

/// A column that is the same for all servers, and for all switches of a tier.
struct ByDevice<'a, T> {
    topology: &'a Topology,
    servers: T,
    /// One entry per tier.
    tiers: Vec<T>,
}

impl<'a, T> ByDevice<'a, T> {
    fn new(topology: &'a Topology, servers: T, of_tier: impl Fn(usize, &SwitchTier) -> T) -> Self {
        let tiers = topology
            .tiers()
            .iter()
            .enumerate()
            .map(|(t, tier)| of_tier(t, tier))
            .collect();
        ByDevice {
            topology,
            servers,
            tiers,
        }
    }
}

impl<T: Serialize> Serialize for ByDevice<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let servers = iter::repeat_n(&self.servers, self.topology.server_count() as usize);
        let switches = self.topology.tiers().iter().zip(&self.tiers);
        let switches = switches.flat_map(|(tier, value)| iter::repeat_n(value, tier.count as usize));
        serializer.collect_seq(servers.chain(switches))
    }
}

#[derive(Serialize)]
struct Scene<'a> {
    enclosure: EnclosureBox<'a>,
    racks: RackColumns<'a>,
    devices: DeviceColumns<'a>,
    parts: Vec<PartName<'a>>,
    levels: Vec<LevelName>,
    routes: &'a [&'a str],
    colours: Vec<&'static str>,
    trays: TrayColumns<'a>,
    bundles: BundleColumns<'a>,
}

#[derive(Serialize)]
struct EnclosureBox<'a> {
    kind: &'static str,
    name: &'a str,
    policy: &'static str,
    length_metres: f64,
    width_metres: f64,
    height_metres: f64,
    containers: u32,
    columns: u32,
    positions: u32,
    aisle_metres: f64,
    rack_height_metres: f64,
}

#[derive(Serialize)]
struct RackColumns<'a> {
    name: &'a [String],
    x_metres: Column<'a>,
    y_metres: Column<'a>,
    width_metres: Vec<f64>,
    depth_metres: Vec<f64>,
    facing: Vec<&'static str>,
    container: &'a [u32],
    row: &'a [u32],
    position: &'a [u32],
    group: &'a [u32],
    group_label: Vec<&'a str>,
    units: Vec<u32>,
    units_used: &'a [u16],
    servers: &'a [u32],
    switches: &'a [u32],
    power_watts: Column<'a>,
    weight_kg: Column<'a>,
    cables_leaving: &'a [u32],
    /// The x at which the rack's cables join the trays.
    tray_x_metres: Column<'a>,
    tray_y_metres: Column<'a>,
}

#[derive(Serialize)]
struct DeviceColumns<'a> {
    name: DeviceNames<'a>,
    host: DeviceNames<'a>,
    kind: ByDevice<'a, u8>,
    level: ByDevice<'a, i16>,
    rack: &'a [u32],
    unit: &'a [u16],
    height_units: &'a [u8],
    slot: &'a [u8],
    slots: &'a [u8],
    part: ByDevice<'a, u16>,
    port_count: ByDevice<'a, u32>,
}

#[derive(Serialize)]
struct PartName<'a> {
    sku: &'a str,
    name: &'a str,
    kind: &'static str,
}

#[derive(Serialize)]
struct LevelName {
    level: u8,
    label: String,
}

#[derive(Serialize)]
struct TrayColumns<'a> {
    name: &'a [String],
    x0_metres: Column<'a>,
    y0_metres: Column<'a>,
    x1_metres: Column<'a>,
    y1_metres: Column<'a>,
    z_metres: Column<'a>,
    kind: Vec<&'static str>,
    cables: &'a [u32],
    area_cm2: Column<'a>,
    fill: Column<'a>,
    cables_by_level: Rows<'a>,
}

#[derive(Serialize)]
struct BundleColumns<'a> {
    rack_a: &'a [u32],
    rack_b: &'a [u32],
    cables: &'a [u32],
    by_level: Rows<'a>,
    diameter_mm: Column<'a>,
    length_metres: Column<'a>,
    pull_order: &'a [u32],
    tray_runs: Vec<&'a [[i32; 2]]>,
}

fn enclosure(plan: &Plan) -> EnclosureBox<'_> {
    let site = &plan.layout.site;
    let (kind, name) = match site.enclosure {
        Enclosure::Container40Ft => ("container", "container-40ft"),
        Enclosure::Container20Ft => ("container", "container-20ft"),
        Enclosure::Custom => ("container", "custom"),
        Enclosure::Rows | Enclosure::Auto => ("rows", "rows"),
    };
    EnclosureBox {
        kind,
        name,
        policy: plan.layout.policy.name(),
        length_metres: round(site.length_metres, 1e3),
        width_metres: round(site.width_metres, 1e3),
        height_metres: round(site.height_metres, 1e3),
        containers: site.containers,
        columns: site.columns,
        positions: site.positions,
        aisle_metres: round(site.aisle_metres, 1e3),
        rack_height_metres: round(site.rack_height_metres, 1e3),
    }
}

fn rack_columns<'a>(plan: &'a Plan, (tap_x, tap_y): &'a (Vec<f64>, Vec<f64>)) -> RackColumns<'a> {
    let site = &plan.layout.site;
    let racks: &Racks = &plan.layout.racks;
    let count = racks.name.len();
    RackColumns {
        name: &racks.name,
        x_metres: Column(&racks.x_metres),
        y_metres: Column(&racks.y_metres),
        width_metres: vec![site.rack_width_metres; count],
        depth_metres: vec![site.rack_depth_metres; count],
        facing: racks.facing.iter().map(|&facing| facing_name(facing)).collect(),
        container: &racks.container,
        row: &racks.row,
        position: &racks.position,
        group: &racks.group,
        group_label: racks
            .group
            .iter()
            .map(|&group| {
                plan.layout
                    .group_labels
                    .get(group as usize)
                    .map_or("", String::as_str)
            })
            .collect(),
        units: vec![site.rack_units; count],
        units_used: &racks.units_used,
        servers: &racks.servers,
        switches: &racks.switches,
        power_watts: Column(&racks.power_watts),
        weight_kg: Column(&racks.weight_kg),
        cables_leaving: &plan.wiring.rack_cables_leaving,
        tray_x_metres: Column(tap_x),
        tray_y_metres: Column(tap_y),
    }
}

fn facing_name(facing: Facing) -> &'static str {
    match facing {
        Facing::North => "north",
        Facing::South => "south",
    }
}

fn tray_columns(trays: &Trays) -> TrayColumns<'_> {
    TrayColumns {
        name: &trays.name,
        x0_metres: Column(&trays.x0_metres),
        y0_metres: Column(&trays.y0_metres),
        x1_metres: Column(&trays.x1_metres),
        y1_metres: Column(&trays.y1_metres),
        z_metres: Column(&trays.z_metres),
        kind: trays.kind.iter().map(|kind| kind.name()).collect(),
        cables: &trays.cables,
        area_cm2: Column(&trays.area_cm2),
        fill: Column(&trays.fill),
        cables_by_level: Rows {
            cells: &trays.cables_by_level,
            width: trays.level_count,
        },
    }
}

fn bundle_columns(bundles: &Bundles) -> BundleColumns<'_> {
    BundleColumns {
        rack_a: &bundles.rack_a,
        rack_b: &bundles.rack_b,
        cables: &bundles.cables,
        by_level: Rows {
            cells: &bundles.cables_by_level,
            width: bundles.level_count,
        },
        diameter_mm: Column(&bundles.diameter_mm),
        length_metres: Column(&bundles.length_metres),
        pull_order: &bundles.pull_order,
        tray_runs: (0..bundles.len()).map(|bundle| bundles.runs_of(bundle)).collect(),
    }
}

/// The parts a plan uses, in the order of every `part` column.
fn part_names(plan: &Plan) -> Vec<PartName<'_>> {
    let parts = plan
        .used_parts
        .book_index
        .iter()
        .map(|&i| &plan.book.parts[usize::from(i)]);
    parts
        .map(|p| PartName {
            sku: &p.sku,
            name: &p.name,
            kind: p.kind.as_str(),
        })
        .collect()
}

fn colours() -> Vec<&'static str> {
    COLOURS.iter().map(|&(name, _)| name).collect()
}

/// The scene document. A `part` of 65535 means that no part fits; a `unit` of 0 that the device has
/// no place.
pub fn scene_json(plan: &Plan) -> String {
    let topology = &plan.topology;
    let placements: &Placements = &plan.layout.placements;
    let chosen = &plan.layout.parts;
    let part = |part: Option<usize>| part.map_or(NO_PART, |p| plan.used_parts.dense_of(p as u16));
    let host_prefix = plan.spec.host_prefix();
    let devices = DeviceColumns {
        name: DeviceNames(topology, "", Topology::write_name),
        host: DeviceNames(topology, &host_prefix, Topology::write_host_name),
        kind: ByDevice::new(topology, 0, |_, _| 1),
        level: ByDevice::new(topology, -1, |_, tier| i16::from(tier.level)),
        rack: &placements.rack,
        unit: &placements.unit,
        height_units: &placements.height_units,
        slot: &placements.slot,
        slots: &placements.slots,
        part: ByDevice::new(topology, part(chosen.server), |t, _| part(chosen.tier(t))),
        port_count: ByDevice::new(topology, topology.server_ports(), |_, tier| tier.ports),
    };
    let levels = (0..topology.level_count()).map(|level| LevelName {
        level: level as u8,
        label: topology.level_label(level as u8),
    });
    let taps = rack_taps(&plan.layout);
    json(&Scene {
        enclosure: enclosure(plan),
        racks: rack_columns(plan, &taps),
        devices,
        parts: part_names(plan),
        levels: levels.collect(),
        routes: &ROUTES,
        colours: colours(),
        trays: tray_columns(&plan.wiring.trays),
        bundles: bundle_columns(&plan.wiring.bundles),
    })
}

#[derive(Serialize)]
struct CableTables<'a> {
    routes: &'a [&'a str],
    colours: Vec<&'static str>,
    parts: Vec<PartName<'a>>,
}

/// The meanings of the values in the `route`, `colour` and `part` columns of cables.
pub fn cable_tables_json(plan: &Plan) -> String {
    json(&CableTables {
        routes: &ROUTES,
        colours: colours(),
        parts: part_names(plan),
    })
}
