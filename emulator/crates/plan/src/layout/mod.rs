//! The layout: positions of racks on the floor and of devices in the racks.
//!
//! A policy (`bcube_packaging`, `locality`, `subways`) assigns each device to a rack: an
//! `Assignment`. The other steps are the same for all policies: move switches out of racks that are
//! too full (`relief`), place racks on the floor (`site`), stack devices in their racks
//! (`stacking`, with `sizes`), apply pins (`pins`), check limits (`limits`). Each step is one pass
//! over devices or links. Anything that does not fit becomes a finding; nothing is omitted
//! silently.
//!
//! Not here: cables and trays (`wiring`), parts and prices (`book`, `bom`).

mod bcube_packaging;
mod limits;
mod locality;
mod pins;
mod relief;
mod site;
mod sizes;
mod stacking;
mod subways;

use cubeyard_topology::{Finding, Topology, TopologySpec};

use crate::book::Book;
use crate::selection::{PartPreferences, PartSelection, select_parts};
use crate::spec::{Enclosure, Face, Media, PlanSpec, Policy};

pub use sizes::{DeviceSize, Sizes};

/// The site with all defaults and all `auto` values resolved. Metres; x along a column of racks, y
/// across the columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// The enclosure as decided, never `Auto`.
    pub enclosure: Enclosure,
    /// Inside measures of one container, or of the whole room for rows.
    pub length_metres: f64,
    pub width_metres: f64,
    pub height_metres: f64,
    pub containers: u32,
    /// Columns of racks in one container; rows of racks in the room for `Rows`.
    pub columns: u32,
    /// Rack positions in one column.
    pub positions: u32,
    /// Racks that should not be split over columns.
    pub column_multiple: u32,
    /// The cold aisle, across which racks face each other.
    pub aisle_metres: f64,
    /// The aisle behind the racks (rows only).
    pub hot_aisle_metres: f64,
    /// Index of the rack part in the book.
    pub rack_part: Option<usize>,
    pub rack_units: u32,
    pub rack_width_metres: f64,
    pub rack_depth_metres: f64,
    pub rack_height_metres: f64,
    pub rack_power_limit_watts: Option<f64>,
    pub rack_weight_limit_kg: Option<f64>,
}

impl Site {
    /// Racks in each of `containers` containers: an equal share, rounded to whole groups if they
    /// fit.
    pub(crate) fn racks_per_container(&self, racks: u32, containers: u32) -> u32 {
        self.whole_groups(racks.div_ceil(containers), self.columns * self.positions)
    }

    /// `racks` rounded up to whole groups, if the capacity allows it.
    fn whole_groups(&self, racks: u32, capacity: u32) -> u32 {
        let rounded = racks.div_ceil(self.column_multiple) * self.column_multiple;
        if rounded <= capacity { rounded } else { racks }
    }
}

/// The direction that the ports of a rack's devices face.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facing {
    /// Faces larger y.
    North,
    /// Faces smaller y.
    South,
}

/// One entry per rack; all vectors have the same length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Racks {
    pub name: Vec<String>,
    /// The x of the rack's centre.
    pub x_metres: Vec<f64>,
    pub y_metres: Vec<f64>,
    pub facing: Vec<Facing>,
    pub container: Vec<u32>,
    /// Column of racks, counted through all containers.
    pub row: Vec<u32>,
    /// Position along the column. A rack moved off the grid keeps the row and position whose tray
    /// it uses.
    pub position: Vec<u32>,
    /// Index into `Layout::group_labels`: super-rack, loop, ...
    pub group: Vec<u32>,
    pub units_used: Vec<u16>,
    pub servers: Vec<u32>,
    pub switches: Vec<u32>,
    /// Rated power of the devices in it.
    pub power_watts: Vec<f64>,
    /// Weight of the devices in it, without the rack; parts of unknown weight count as 0.
    pub weight_kg: Vec<f64>,
}

impl Racks {
    pub fn len(&self) -> usize {
        self.name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.name.is_empty()
    }
}

/// One entry a device; the index is the topology's `NodeId`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Placements {
    pub rack: Vec<u32>,
    /// Bottom unit, from 1; 0 if the device did not fit (which is a finding).
    pub unit: Vec<u16>,
    pub height_units: Vec<u8>,
    /// Position from the left among `slots` devices side by side in that unit.
    pub slot: Vec<u8>,
    pub slots: Vec<u8>,
    /// The side of the rack the device's ports are on.
    pub face: Vec<Face>,
}

/// All placements, and the floor.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    pub site: Site,
    /// The policy as decided, never `Auto`.
    pub policy: Policy,
    pub parts: PartSelection,
    pub racks: Racks,
    pub placements: Placements,
    pub group_labels: Vec<String>,
    /// Centre of each column of racks (all containers), and the direction that its racks face.
    pub column_y_metres: Vec<f64>,
    pub column_facing: Vec<Facing>,
    pub column_container: Vec<u32>,
    /// Centre of each position along a column.
    pub position_x_metres: Vec<f64>,
    /// Whether a tray crosses the aisles at this position.
    pub crossing_at: Vec<bool>,
    /// Subways: physical racks of one loop, for the policies that place loops.
    pub loop_racks: Option<u32>,
    /// Subways' b: logical racks in a physical one; 1 for other families.
    pub logical_racks_per_rack: u32,
}

/// The decisions of a policy, from which the rest of the layout follows.
pub(crate) struct Assignment {
    pub rack: Vec<u32>,
    /// Logical rack within the physical one, from the bottom; empty when racks have one zone.
    pub zone: Vec<u8>,
    pub rack_count: u32,
    /// Number of zones of each rack; empty if all have one.
    pub zones: Vec<u8>,
    pub group: Vec<u32>,
    pub group_labels: Vec<String>,
    /// Racks that should not be split over columns: the column is filled in multiples of it.
    pub column_multiple: u32,
    /// (column, position) of each rack, when the policy fixes the floor.
    pub floor: Option<Vec<(u32, u32)>>,
    /// Positions where trays cross the aisles, when the policy fixes them.
    pub crossings: Option<Vec<bool>>,
    pub loop_racks: Option<u32>,
    /// Whether switches are in the middle of their zone instead of at its top.
    pub switches_in_middle: bool,
}

impl Assignment {
    pub(crate) fn new(rack: Vec<u32>, rack_count: u32) -> Assignment {
        Assignment {
            rack,
            zone: Vec::new(),
            rack_count,
            zones: Vec::new(),
            group: vec![0; rack_count as usize],
            group_labels: vec![String::new()],
            column_multiple: 1,
            floor: None,
            crossings: None,
            loop_racks: None,
            switches_in_middle: false,
        }
    }
}

/// The part of each kind of device, as chosen by [`lay_out`], without computing a layout.
pub fn parts_of(spec: &PlanSpec, topology: &Topology, book: &Book) -> PartSelection {
    select_parts(
        topology,
        book,
        &PartPreferences {
            servers_per_unit: spec
                .packaging
                .servers_per_unit
                .unwrap_or(DEFAULT_SERVERS_PER_UNIT),
            link_gbps: spec.cabling.link_gbps,
            breakouts: &spec.cabling.breakouts,
            media: media_word(spec.cabling.media),
        },
    )
}

/// Places every device of a topology. Devices that do not fit are reported in `findings`; nothing
/// is omitted silently.
pub fn lay_out(spec: &PlanSpec, topology: &Topology, book: &Book, findings: &mut Vec<Finding>) -> Layout {
    let mut parts = parts_of(spec, topology, book);
    // If the spec sets no density, a book with servers of another density is no finding.
    parts
        .findings
        .retain(|f| f.code != "server-density" || spec.packaging.servers_per_unit.is_some());
    findings.append(&mut parts.findings);
    let mut site = site::measure(spec, book, findings);
    let sizes = Sizes::of(spec, topology, book, &parts);
    let (policy, assignment) = assign(spec, topology, &site, &sizes, findings);
    findings.extend(settings_without_effect(spec, &assignment, policy));
    let floor = site::furnish(spec, &mut site, &assignment, findings);
    let mut placements = stacking::stack(
        topology,
        &site,
        &sizes,
        &assignment,
        spec.packaging.face.unwrap_or_default(),
    );
    let mut racks = floor.racks;
    racks.group = assignment.group;
    let grid = pins::Grid {
        column_y_metres: &floor.column_y_metres,
        column_facing: &floor.column_facing,
        column_container: &floor.column_container,
        position_x_metres: &floor.position_x_metres,
    };
    pins::apply(
        spec,
        topology,
        &site,
        &grid,
        &mut placements,
        &mut racks,
        findings,
    );
    let mut layout = Layout {
        site,
        policy,
        parts,
        racks,
        placements,
        group_labels: assignment.group_labels,
        column_y_metres: floor.column_y_metres,
        column_facing: floor.column_facing,
        column_container: floor.column_container,
        position_x_metres: floor.position_x_metres,
        crossing_at: floor.crossing_at,
        loop_racks: assignment.loop_racks,
        logical_racks_per_rack: u32::from(assignment.zones.first().copied().unwrap_or(1)),
    };
    limits::check(spec, topology, book, &mut layout, findings);
    layout
}

/// "Two servers into one unit" is current practice `[bcube §5.2]`.
pub const DEFAULT_SERVERS_PER_UNIT: u32 = 2;

fn media_word(media: Media) -> Option<&'static str> {
    match media {
        Media::Auto => None,
        Media::Cat6 => Some("cat6"),
        Media::Dac => Some("dac"),
        Media::Aoc => Some("aoc"),
        Media::Fibre => Some("fibre"),
    }
}

/// Runs the policy of the spec, or the one that suits the family. A policy that cannot be followed
/// is a finding, and locality-first is used in its place.
fn assign(
    spec: &PlanSpec,
    topology: &Topology,
    site: &Site,
    sizes: &Sizes,
    findings: &mut Vec<Finding>,
) -> (Policy, Assignment) {
    let wanted = spec.packaging.policy;
    let family = topology.spec().family();
    let tried = match wanted {
        Policy::Auto => match topology.spec() {
            TopologySpec::Bcube(_) => bcube_packaging::assign(spec, topology, site, sizes)
                .ok()
                .map(|a| (Policy::Bcube52, a)),
            TopologySpec::Subways(s) if s.wiring_type > 0 => Some((
                Policy::SideToSide,
                subways::assign(Policy::SideToSide, spec, topology, site, sizes),
            )),
            _ => None,
        },
        Policy::Locality => None,
        Policy::Bcube52 => match bcube_packaging::assign(spec, topology, site, sizes) {
            Ok(assignment) => Some((wanted, assignment)),
            Err(reason) => {
                findings.push(policy_finding(wanted, family, &reason));
                None
            }
        },
        Policy::SideToSide | Policy::PairedRows | Policy::InterChassis => {
            if let TopologySpec::Subways(_) = topology.spec() {
                Some((wanted, subways::assign(wanted, spec, topology, site, sizes)))
            } else {
                findings.push(policy_finding(
                    wanted,
                    family,
                    "it places Subways loops, and there are none",
                ));
                None
            }
        }
    };
    let (policy, mut assignment) =
        tried.unwrap_or_else(|| (Policy::Locality, locality::assign(spec, topology, site, sizes)));
    relief::relieve(topology, site, sizes, &mut assignment);
    (policy, assignment)
}

/// Reports settings that the current policy ignores as having no effect.
fn settings_without_effect(spec: &PlanSpec, assignment: &Assignment, policy: Policy) -> Option<Finding> {
    let packaging = &spec.packaging;
    let field = match assignment.loop_racks {
        Some(_) => packaging.servers_per_rack.map(|_| "servers_per_rack"),
        None => packaging.logical_racks_per_rack.map(|_| "logical_racks_per_rack"),
    }?;
    Some(
        Finding::info(
            "setting-without-effect",
            format!("packaging.{field}"),
            format!(
                "packaging.{field} has no effect with the policy \"{}\".",
                policy.name()
            ),
            "Leave it out, or choose another packaging.policy.",
        )
        .with_fix(serde_json::json!({"packaging": {field: null}})),
    )
}

fn policy_finding(policy: Policy, family: &str, reason: &str) -> Finding {
    Finding::warning(
        "policy-does-not-fit",
        "packaging.policy",
        format!(
            "Policy \"{}\" cannot place this {family}: {reason}. \"locality\" was used.",
            policy.name()
        ),
        "Set packaging.policy to \"auto\" or \"locality\".",
    )
    .with_fix(serde_json::json!({"packaging": {"policy": "auto"}}))
}
