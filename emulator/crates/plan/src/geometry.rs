//! Lengths of cable routes: one frame of measures and one function for all plans.
//!
//! A route is rectilinear: out of the port to the rack's side manager, up (or down) the manager,
//! back to the tray's centreline, along the tray over the column of racks, over the aisle on a
//! crossing, and into the other rack in the reverse order. The frame holds the measures; with other
//! measures the same function gives the idealised lengths of the Subways paper (see
//! `wiring::paper_measure`).

use crate::layout::{Facing, Site};
use crate::spec::Face;

/// Height of one rack unit (EIA-310).
pub const UNIT_METRES: f64 = 0.04445;
/// Width between the posts of a 19-inch rack.
pub const INNER_WIDTH_METRES: f64 = 0.450;
/// From the top of the rack to the tray's bed `[ours]`.
pub const TRAY_RISE_METRES: f64 = 0.10;
/// Depth below the floor of underfloor trays `[ours]`.
pub const UNDERFLOOR_METRES: f64 = 0.30;

/// The dimensions used to compute lengths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    pub rack_width_metres: f64,
    pub rack_depth_metres: f64,
    /// Height of the bottom edge of unit 1.
    pub first_unit_metres: f64,
    /// Distance of the side managers from the rack's centre line; `None` when cables need no
    /// manager.
    pub manager_metres: Option<f64>,
    /// From the face with the ports back to the tray's centreline.
    pub tray_setback_metres: f64,
    pub tray_z_metres: f64,
    pub underfloor_z_metres: f64,
}

impl Frame {
    /// The planner's own frame for a site.
    pub fn of_site(site: &Site) -> Frame {
        let stack = f64::from(site.rack_units) * UNIT_METRES;
        Frame {
            rack_width_metres: site.rack_width_metres,
            rack_depth_metres: site.rack_depth_metres,
            first_unit_metres: ((site.rack_height_metres - stack) / 2.0).max(0.0),
            // Managers stand between the posts and the rack's sides.
            manager_metres: Some((INNER_WIDTH_METRES + site.rack_width_metres.max(INNER_WIDTH_METRES)) / 4.0),
            tray_setback_metres: site.rack_depth_metres / 2.0,
            tray_z_metres: site.rack_height_metres.max(stack) + TRAY_RISE_METRES,
            underfloor_z_metres: -UNDERFLOOR_METRES,
        }
    }

    /// Height of the middle of a device above the floor.
    #[inline]
    pub fn device_z_metres(&self, unit: u16, height_units: u8) -> f64 {
        self.first_unit_metres + (f64::from(unit) - 1.0 + f64::from(height_units) / 2.0) * UNIT_METRES
    }

    /// The y of a column's tray, given the centre of its racks.
    pub fn tray_y_metres(&self, column_y: f64, facing: Facing, face: Face) -> f64 {
        column_y + outward(facing, face) * (self.rack_depth_metres / 2.0 - self.tray_setback_metres)
    }

    /// Length of a route between two ends.
    #[inline]
    pub fn route_metres(&self, a: &End, b: &End, via: Via, path: &Path) -> f64 {
        let vertical = match via {
            Via::Rack => (a.z - b.z).abs(),
            Via::Overhead => 2.0 * self.tray_z_metres - a.z - b.z,
            Via::Underfloor => a.z + b.z - 2.0 * self.underfloor_z_metres,
        };
        let stubs = a.stub + b.stub;
        match *path {
            Path::SameRack => match self.manager_metres {
                None => vertical + (a.x - b.x).abs(),
                Some(m) => {
                    let side = |m: f64| (a.x - a.rack_x - m).abs() + (b.x - b.rack_x - m).abs();
                    vertical + side(m).min(side(-m))
                }
            },
            Path::Column => {
                let (out_a, xa) = self.leave(a, b.rack_x);
                let (out_b, xb) = self.leave(b, a.rack_x);
                vertical + out_a + out_b + 2.0 * self.tray_setback_metres + (xa - xb).abs() + stubs
            }
            Path::Crossing { x, across } => {
                let (out_a, xa) = self.leave(a, x);
                let (out_b, xb) = self.leave(b, x);
                let along = (xa - x).abs() + (x - xb).abs();
                vertical + out_a + out_b + 2.0 * self.tray_setback_metres + along + across + stubs
            }
        }
    }

    /// Sideways distance from the port to the manager used, and that manager's x. The manager on
    /// the side of the target is used; right under the target, the nearer one.
    #[inline]
    fn leave(&self, end: &End, towards_x: f64) -> (f64, f64) {
        let Some(m) = self.manager_metres else {
            return (0.0, end.x);
        };
        let right = if (towards_x - end.rack_x).abs() < 1e-6 {
            end.x >= end.rack_x
        } else {
            towards_x > end.rack_x
        };
        let manager = if right { end.rack_x + m } else { end.rack_x - m };
        ((end.x - manager).abs(), manager)
    }
}

/// +1 when ports look to larger y.
pub fn outward(facing: Facing, face: Face) -> f64 {
    match (facing, face) {
        (Facing::North, Face::Front) | (Facing::South, Face::Rear) => 1.0,
        (Facing::South, Face::Front) | (Facing::North, Face::Rear) => -1.0,
    }
}

/// Offset of a port from the rack's centre line: ports are spread over the width of the device,
/// devices side by side over the width between the posts, both from the left as seen from the side
/// the ports are on.
#[inline]
pub fn port_offset_metres(slot: u8, slots: u8, port: u16, ports: u32, outward: f64) -> f64 {
    let width = INNER_WIDTH_METRES / f64::from(slots.max(1));
    let ports = f64::from(ports.max(1));
    let along = (f64::from(port).min(ports - 1.0) + 0.5) / ports;
    let from_left = (f64::from(slot) + along) * width - INNER_WIDTH_METRES / 2.0;
    // An observer who looks towards smaller y, at a face that faces larger y, sees larger x on the
    // left.
    -outward * from_left
}

/// One end of a cable. x is global (of the tray's drop point), z above the floor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct End {
    pub rack_x: f64,
    pub x: f64,
    pub z: f64,
    /// Extra length between the rack and the tray's drop point, for racks moved off their grid
    /// position.
    pub stub: f64,
}

/// The direction of the vertical legs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// Along the rack only.
    Rack,
    /// Up to the tray and down again.
    Overhead,
    /// Down below the floor and up again.
    Underfloor,
}

/// The level legs of a route.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Path {
    SameRack,
    /// Along one column of racks.
    Column,
    /// To x, `across` to the other column's tray, and on from x.
    Crossing {
        x: f64,
        across: f64,
    },
}

/// Metres to millimetres, rounded up: a cable is never shorter than its route.
#[inline]
pub fn ceil_mm(metres: f64) -> u32 {
    // The tiny allowance keeps exact millimetres from being rounded up by floating-point noise.
    (metres * 1000.0 - 1e-6).ceil().max(0.0) as u32
}
