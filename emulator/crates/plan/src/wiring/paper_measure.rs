//! Subways' own way of measuring its longest wire `[subways §7.2, Tables 2-4]`, on our layouts and
//! routes.
//!
//! The ways through the building are the planner's: the same racks, rows, crossings at the loop's
//! edges and back edges under the floor, and the same `Frame::route_metres`. Only the measures
//! differ, because the paper idealises:
//!
//! * no slack, no side managers, trays flush with the rack tops, crossings from face to face;
//! * wires between racks of a row run straight from rack to rack; ours go up to the tray and down
//!   again;
//! * the place of the ends in their rack is another one in each table: Table 2 from the far edges
//!   of the two racks, a server anywhere and the ToR at the bottom of its logical rack; Table 3
//!   from centre to centre at equal heights within the logical racks; Table 4 from centre to centre
//!   with the ToR in the middle and a server at either end;
//! * Tables 3 and 4 let a server reach p-1 racks to one side. §4.2 wires ceil((p-1)/2) to one side
//!   and floor((p-1)/2) to the other, so for p > 2 no wire is as long as in the tables:
//!   `as_wired_metres` is the length that is needed.

use cubeyard_topology::{Topology, TopologySpec};

use super::routes::{Legs, Router};
use crate::geometry::{End, Frame, Via};
use crate::layout::Layout;
use crate::spec::Policy;

/// Longest server wire of the loops in a layout, by the paper's measures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaperLengths {
    /// As in the paper's table: all p-1 other ToRs to one side.
    pub table_metres: f64,
    /// With the ToRs that servers are wired to.
    pub as_wired_metres: f64,
}

/// `None` for layouts without Subways loops.
pub fn longest_server_wire(topology: &Topology, layout: &Layout) -> Option<PaperLengths> {
    let TopologySpec::Subways(spec) = topology.spec() else {
        return None;
    };
    layout.loop_racks?;
    let measure = Measure::new(topology, layout);
    let reach = i64::from(spec.p) - 1;
    let longest = |from: i64, to: i64| -> f64 {
        let tors = topology.tiers()[0].count;
        let each = (0..tors).flat_map(|tor| (from..=to).map(move |step| (tor, step)));
        each.map(|(tor, step)| {
            let (start, within) = (tor / spec.l * spec.l, i64::from(tor % spec.l));
            let other = start + (within + step).rem_euclid(i64::from(spec.l)) as u32;
            measure.wire_metres(tor, other)
        })
        .fold(0.0, f64::max)
    };
    Some(PaperLengths {
        table_metres: longest(-reach, 0),
        as_wired_metres: longest(-((reach + 1) / 2), reach / 2),
    })
}

struct Measure<'a> {
    layout: &'a Layout,
    router: Router<'a>,
    frame: Frame,
    first_tor: u32,
}

impl<'a> Measure<'a> {
    fn new(topology: &Topology, layout: &'a Layout) -> Measure<'a> {
        let site = &layout.site;
        let frame = Frame {
            rack_width_metres: site.rack_width_metres,
            rack_depth_metres: site.rack_depth_metres,
            first_unit_metres: 0.0,
            manager_metres: None,
            tray_setback_metres: 0.0,
            tray_z_metres: site.rack_height_metres,
            underfloor_z_metres: 0.0,
        };
        Measure {
            layout,
            router: Router::with_frame(topology, layout, frame),
            frame,
            first_tor: topology.tiers()[0].first,
        }
    }

    /// (physical rack, bottom of the logical rack above the floor)
    fn logical_rack(&self, tor: u32) -> (u32, f64) {
        let (v, b) = (
            (self.first_tor + tor) as usize,
            self.layout.logical_racks_per_rack,
        );
        let zone =
            (u32::from(self.layout.placements.unit[v]).max(1) - 1) / (self.layout.site.rack_units / b).max(1);
        (
            self.layout.placements.rack[v],
            f64::from(zone.min(b - 1)) * self.zone_metres(),
        )
    }

    fn zone_metres(&self) -> f64 {
        self.layout.site.rack_height_metres / f64::from(self.layout.logical_racks_per_rack)
    }

    /// Longest wire from a server of one logical rack to the ToR of another.
    fn wire_metres(&self, server: u32, tor: u32) -> f64 {
        let ((rack_a, bottom_a), (rack_b, bottom_b)) = (self.logical_rack(server), self.logical_rack(tor));
        let way = self.router.way(rack_a, rack_b, 0);
        let zone = self.zone_metres();
        let (server_heights, tor_height, far_edges): (&[f64], f64, bool) = match self.layout.policy {
            Policy::SideToSide => (&[0.0, 1.0], 0.0, true),
            Policy::PairedRows => (&[0.5], 0.5, false),
            _ => (&[0.0, 1.0], 0.5, false),
        };
        let x = |rack: u32| self.layout.racks.x_metres[rack as usize];
        // Outwards by half a rack, seen from the other end.
        let edge = match (far_edges && rack_a != rack_b, x(rack_a) < x(rack_b)) {
            (false, _) => 0.0,
            (true, true) => -self.layout.site.rack_width_metres / 2.0,
            (true, false) => self.layout.site.rack_width_metres / 2.0,
        };
        let end = |rack: u32, x: f64, z: f64| End {
            rack_x: self.layout.racks.x_metres[rack as usize],
            x,
            z,
            stub: 0.0,
        };
        let via = match way.legs {
            Legs::Column { underfloor: true, .. } => Via::Underfloor,
            _ => Via::Rack,
        };
        server_heights
            .iter()
            .map(|height| {
                let a = end(rack_a, x(rack_a) + edge, bottom_a + height * zone);
                let b = end(rack_b, x(rack_b) - edge, bottom_b + tor_height * zone);
                self.frame.route_metres(&a, &b, via, &way.path)
            })
            .fold(0.0, f64::max)
    }
}
