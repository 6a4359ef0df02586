//! The route of one cable: its trays and its length.
//!
//! Between columns a cable runs along the column of its far (switch) end and crosses at the rack of
//! its near (server) end, or at the nearest crossing on the way. So the cables of a level-3 switch
//! stay in its column until they are level with their server; that is why 512 of them meet in the
//! middle of a column in BCube's container `[bcube §5.2]`.

use cubeyard_topology::{NodeId, Topology};

use super::IN_RACK_ROUTE;
use crate::geometry::{End, Frame, Path, Via, outward, port_offset_metres};
use crate::layout::{Facing, Layout};
use crate::spec::{Enclosure, Face, Policy};

const TRAY: u8 = 1;
const CROSSING: u8 = 2;
const UNDERFLOOR: u8 = 3;
const ROW_TO_ROW: u8 = 4;
const CONTAINER_TO_CONTAINER: u8 = 5;

/// The tray segments of a route. Segment s of a column lies between positions s-1 and s; segment 0
/// leads to the end wall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Legs {
    InRack,
    Column {
        column: u32,
        from: u32,
        to: u32,
        underfloor: bool,
    },
    /// Line `positions` is the one outside, along the containers' ends.
    Crossing {
        column_a: u32,
        position_a: u32,
        column_b: u32,
        position_b: u32,
        line: u32,
    },
}

impl Legs {
    /// Identifies the route between the two racks, independent of the order of the ends; -1 within
    /// a rack. Cables with the same two racks and the same variant are in the same trays.
    pub(super) fn variant(&self) -> i32 {
        match *self {
            Legs::InRack => -1,
            Legs::Column { underfloor, .. } => i32::from(underfloor),
            Legs::Crossing { line, .. } => line as i32,
        }
    }

    /// The legs from `rack_a` to `rack_b` of a `variant` that some cable between them takes.
    pub(super) fn of_variant(layout: &Layout, rack_a: u32, rack_b: u32, variant: i32) -> Legs {
        let racks = &layout.racks;
        let (a, b) = (rack_a as usize, rack_b as usize);
        let (column_a, column_b) = (racks.row[a], racks.row[b]);
        let (position_a, position_b) = (racks.position[a], racks.position[b]);
        if column_a == column_b {
            return Legs::Column {
                column: column_a,
                from: position_a,
                to: position_b,
                underfloor: variant == 1,
            };
        }
        Legs::Crossing {
            column_a,
            position_a,
            column_b,
            position_b,
            line: variant as u32,
        }
    }
}

/// A route without the positions of the ends in their racks.
pub(super) struct Way {
    pub route: u8,
    pub via: Via,
    pub path: Path,
    pub legs: Legs,
}

pub(super) struct Routed {
    pub metres: f64,
    pub route: u8,
    pub legs: Legs,
}

pub(super) struct Router<'a> {
    layout: &'a Layout,
    frame: Frame,
    servers: u32,
    server_ports: u32,
    /// (first switch beyond the tier, ports)
    tiers: Vec<(NodeId, u32)>,
    tray_y: Vec<f64>,
    stub: Vec<f64>,
    /// Nearest crossing at or before / at or after each position (`u32::MAX` when there is none).
    crossing_before: Vec<u32>,
    crossing_after: Vec<u32>,
    /// Side-to-side loops: back edges that span more than half of this many racks go under the
    /// floor.
    loop_racks: u32,
}

impl<'a> Router<'a> {
    pub(super) fn new(topology: &Topology, layout: &'a Layout) -> Router<'a> {
        Router::with_frame(topology, layout, Frame::of_site(&layout.site))
    }

    /// The same routes, measured with other dimensions.
    pub(super) fn with_frame(topology: &Topology, layout: &'a Layout, frame: Frame) -> Router<'a> {
        let racks = &layout.racks;
        let stub = (0..racks.len())
            .map(|r| {
                (racks.x_metres[r] - layout.position_x_metres[racks.position[r] as usize]).abs()
                    + (racks.y_metres[r] - layout.column_y_metres[racks.row[r] as usize]).abs()
            })
            .collect();
        let (crossing_before, crossing_after) = nearest_crossings(&layout.crossing_at);
        Router {
            layout,
            servers: topology.server_count(),
            server_ports: topology.server_ports(),
            tiers: topology
                .tiers()
                .iter()
                .map(|t| (t.first + t.count, t.ports))
                .collect(),
            tray_y: tray_ys(&frame, layout),
            stub,
            crossing_before,
            crossing_after,
            loop_racks: if layout.policy == Policy::SideToSide {
                layout.loop_racks.unwrap_or(0)
            } else {
                0
            },
            frame,
        }
    }

    fn ports(&self, node: NodeId) -> u32 {
        if node < self.servers {
            return self.server_ports;
        }
        self.tiers
            .iter()
            .find(|&&(end, _)| node < end)
            .map_or(1, |&(_, ports)| ports)
    }

    /// The position of a port. A device without a unit counts as being above the top one.
    fn end(&self, node: NodeId, port: u16) -> End {
        let (v, placements, racks) = (node as usize, &self.layout.placements, &self.layout.racks);
        let rack = placements.rack[v] as usize;
        let rack_x = self.layout.position_x_metres[racks.position[rack] as usize];
        let unit = if placements.unit[v] > 0 {
            placements.unit[v]
        } else {
            self.layout.site.rack_units as u16 + 1
        };
        let out = outward(racks.facing[rack], placements.face[v]);
        let x = port_offset_metres(
            placements.slot[v],
            placements.slots[v],
            port,
            self.ports(node),
            out,
        );
        End {
            rack_x,
            x: rack_x + x,
            z: self.frame.device_z_metres(unit, placements.height_units[v]),
            stub: self.stub[rack],
        }
    }

    pub(super) fn route(&self, a: (NodeId, u16), b: (NodeId, u16), level: u8) -> Routed {
        let placements = &self.layout.placements;
        let way = self.way(
            placements.rack[a.0 as usize],
            placements.rack[b.0 as usize],
            level,
        );
        let (end_a, end_b) = (self.end(a.0, a.1), self.end(b.0, b.1));
        Routed {
            metres: self.frame.route_metres(&end_a, &end_b, way.via, &way.path),
            route: way.route,
            legs: way.legs,
        }
    }

    /// The route between two racks, near rack first.
    pub(super) fn way(&self, rack_a: u32, rack_b: u32, level: u8) -> Way {
        if rack_a == rack_b {
            return Way {
                route: IN_RACK_ROUTE,
                via: Via::Rack,
                path: Path::SameRack,
                legs: Legs::InRack,
            };
        }
        let (layout, racks) = (self.layout, &self.layout.racks);
        let (rack_a, rack_b) = (rack_a as usize, rack_b as usize);
        let (column_a, column_b) = (racks.row[rack_a], racks.row[rack_b]);
        let (from, to) = (racks.position[rack_a], racks.position[rack_b]);
        if column_a == column_b {
            let back_edge = self.loop_racks > 2
                && level == 0
                && racks.group[rack_a] == racks.group[rack_b]
                && from.abs_diff(to) * 2 > self.loop_racks;
            return Way {
                route: if back_edge { UNDERFLOOR } else { TRAY },
                via: if back_edge { Via::Underfloor } else { Via::Overhead },
                path: Path::Column,
                legs: Legs::Column {
                    column: column_a,
                    from,
                    to,
                    underfloor: back_edge,
                },
            };
        }
        let outside = racks.container[rack_a] != racks.container[rack_b];
        let line = if outside {
            layout.position_x_metres.len() as u32
        } else {
            self.crossing(from, to)
        };
        let x = if outside {
            0.0
        } else {
            layout.position_x_metres[line as usize]
        };
        let across = (self.tray_y[column_a as usize] - self.tray_y[column_b as usize]).abs();
        let facing_pair = layout.site.enclosure != Enclosure::Rows || column_a / 2 == column_b / 2;
        Way {
            route: match (outside, facing_pair) {
                (true, _) => CONTAINER_TO_CONTAINER,
                (false, true) => CROSSING,
                (false, false) => ROW_TO_ROW,
            },
            via: Via::Overhead,
            path: Path::Crossing { x, across },
            legs: Legs::Crossing {
                column_a,
                position_a: from,
                column_b,
                position_b: to,
                line,
            },
        }
    }

    /// The crossing nearest to `near` between both positions, else the one with the least detour.
    fn crossing(&self, near: u32, far: u32) -> u32 {
        let (low, high) = (near.min(far), near.max(far));
        let on_the_way = if near == high {
            Some(self.crossing_before[high as usize]).filter(|&c| c != u32::MAX && c >= low)
        } else {
            Some(self.crossing_after[low as usize]).filter(|&c| c <= high)
        };
        on_the_way.unwrap_or_else(|| {
            let (before, after) = (
                self.crossing_before[low as usize],
                self.crossing_after[high as usize],
            );
            match (before, after) {
                (u32::MAX, c) | (c, u32::MAX) => c,
                (before, after) if low - before <= after - high => before,
                (_, after) => after,
            }
        })
    }
}

fn nearest_crossings(at: &[bool]) -> (Vec<u32>, Vec<u32>) {
    let mut before = vec![u32::MAX; at.len()];
    let mut after = vec![u32::MAX; at.len()];
    let mut last = u32::MAX;
    for (p, &here) in at.iter().enumerate() {
        last = if here { p as u32 } else { last };
        before[p] = last;
    }
    last = u32::MAX;
    for (p, &here) in at.iter().enumerate().rev() {
        last = if here { p as u32 } else { last };
        after[p] = last;
    }
    (before, after)
}

/// The y of the tray over each column: over the racks' centres, for ports on either side.
pub(super) fn tray_ys(frame: &Frame, layout: &Layout) -> Vec<f64> {
    let facing = |c: usize| layout.column_facing.get(c).copied().unwrap_or(Facing::North);
    layout
        .column_y_metres
        .iter()
        .enumerate()
        .map(|(c, &y)| frame.tray_y_metres(y, facing(c), Face::Front))
        .collect()
}
