//! Where everything stands: racks on the floor, devices in the racks.

use crate::spec::{Enclosure, Face, Policy};

/// No part in the book fits.
pub const NO_PART: u16 = u16::MAX;

/// The site with every default and every `auto` decided. Metres; x along a column of racks, y across the columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// Never `Auto`.
    pub enclosure: Enclosure,
    /// Inside measures of one container, or of the whole room for rows.
    pub length_metres: f64,
    pub width_metres: f64,
    pub height_metres: f64,
    pub containers: u32,
    /// Columns of racks in one container; rows of racks for `Rows`.
    pub columns: u32,
    /// Rack positions in one column.
    pub positions: u32,
    pub aisle_metres: f64,
    /// Index of the rack part in the book, or `NO_PART`.
    pub rack_part: u16,
    pub rack_units: u32,
    pub rack_width_metres: f64,
    pub rack_depth_metres: f64,
    pub rack_height_metres: f64,
    pub rack_power_limit_watts: Option<f64>,
    pub rack_weight_limit_kg: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facing {
    /// Towards larger y.
    North,
    /// Towards smaller y.
    South,
}

/// One entry a rack; all vectors have the same length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Racks {
    pub name: Vec<String>,
    /// Centre.
    pub x_metres: Vec<f64>,
    pub y_metres: Vec<f64>,
    pub facing: Vec<Facing>,
    pub container: Vec<u32>,
    /// Column of racks, counted through all containers.
    pub row: Vec<u32>,
    pub position: Vec<u32>,
    /// Index into `Layout::group_labels`: super-rack, loop, ...
    pub group: Vec<u32>,
    pub units_used: Vec<u16>,
    pub servers: Vec<u32>,
    pub switches: Vec<u32>,
    pub power_watts: Vec<f64>,
    pub weight_kg: Vec<f64>,
}

/// One entry a device; the index is the topology's `NodeId`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Placements {
    pub rack: Vec<u32>,
    /// Bottom unit, from 1; 0 when the device did not fit (a finding says so).
    pub unit: Vec<u16>,
    pub height_units: Vec<u8>,
    /// Place from the left among `slots` devices side by side in that unit.
    pub slot: Vec<u8>,
    pub slots: Vec<u8>,
    pub face: Vec<Face>,
}

/// Book part indices (`NO_PART` when the book has none).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChosenParts {
    pub server: u16,
    pub nic: u16,
    /// By switch tier, in the order of `Topology::tiers`.
    pub tiers: Vec<u16>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    pub site: Site,
    /// Never `Auto`.
    pub policy: Policy,
    pub parts: ChosenParts,
    pub racks: Racks,
    pub placements: Placements,
    pub group_labels: Vec<String>,
}
