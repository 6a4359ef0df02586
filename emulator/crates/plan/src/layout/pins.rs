//! Pins fix the position of a device or a rack. The pinned device moves; devices in its way move to
//! the nearest free units of the same rack; nothing else moves. A pin that cannot be applied
//! becomes a finding.

use std::collections::BTreeSet;

use cubeyard_topology::{Finding, Topology};
use serde_json::json;

use super::{Facing, Placements, Racks, Site};
use crate::spec::{Pin, PlanSpec};

/// The positions of columns and racks.
pub(super) struct Grid<'a> {
    pub column_y_metres: &'a [f64],
    pub column_facing: &'a [Facing],
    pub column_container: &'a [u32],
    pub position_x_metres: &'a [f64],
}

pub(super) fn apply(
    spec: &PlanSpec,
    topology: &Topology,
    site: &Site,
    floor: &Grid<'_>,
    placements: &mut Placements,
    racks: &mut Racks,
    findings: &mut Vec<Finding>,
) {
    let mut seats: Option<Seats> = None;
    let mut pinned_devices = BTreeSet::new();
    let mut pinned_racks = BTreeSet::new();
    for (i, pin) in spec.packaging.pins.iter().enumerate() {
        let at = format!("packaging.pins[{i}]");
        let problem = match (racks.name.iter().position(|name| *name == pin.rack), &pin.device) {
            (None, _) => Some(Finding::error(
                "pin-unknown-rack",
                format!("{at}.rack"),
                format!(
                    "Pin {i} names rack \"{}\"; the racks are {} to {}.",
                    pin.rack,
                    racks.name[0],
                    racks.name[racks.name.len() - 1]
                ),
                "Name a rack of the plan, or remove the pin.",
            )),
            (Some(rack), None) => {
                if pinned_racks.insert(rack) {
                    move_rack(pin, &at, rack, site, floor, racks)
                } else {
                    Some(overlap(&at, &format!("rack {} is pinned twice", pin.rack)))
                }
            }
            (Some(rack), Some(name)) => match topology.node_by_name(name) {
                None => Some(Finding::error(
                    "pin-unknown-device",
                    format!("{at}.device"),
                    format!(
                        "Pin {i} names device \"{name}\"; names look like \"{}\".",
                        topology.node_name(topology.server_count().saturating_sub(1))
                    ),
                    "Name a server or switch of the plan, or remove the pin.",
                )),
                Some(device) if !pinned_devices.insert(device) => {
                    Some(overlap(&at, &format!("device {name} is pinned twice")))
                }
                Some(device) => {
                    let seats = seats.get_or_insert_with(|| Seats::of(site, placements, racks.len()));
                    seats
                        .move_device(device, rack as u32, pin.unit, &pinned_devices, placements)
                        .err()
                        .map(|problem| problem.finding(&at, name, pin, site))
                }
            },
        };
        findings.extend(problem.map(|finding| finding.with_fix(without_pin(spec, i))));
    }
    check_rack_overlaps(spec, site, racks, &pinned_racks, findings);
}

/// A merge patch that removes pin `i`.
fn without_pin(spec: &PlanSpec, i: usize) -> serde_json::Value {
    let left: Vec<&Pin> = spec
        .packaging
        .pins
        .iter()
        .enumerate()
        .filter(|(j, _)| *j != i)
        .map(|(_, p)| p)
        .collect();
    json!({"packaging": {"pins": left}})
}

fn overlap(at: &str, what: &str) -> Finding {
    Finding::error(
        "pin-overlap",
        at,
        format!("{at}: {what}."),
        "Remove one of the two pins.",
    )
}

enum PinProblem {
    UnitOutOfRange,
    TakenByPin,
    NoRoom,
}

impl PinProblem {
    fn finding(&self, at: &str, name: &str, pin: &Pin, site: &Site) -> Finding {
        let unit = pin.unit.unwrap_or(0);
        match self {
            PinProblem::UnitOutOfRange => Finding::error(
                "pin-unit-range",
                format!("{at}.unit"),
                format!(
                    "{name} cannot stand at unit {unit} of {}: units run from 1 to {}.",
                    pin.rack, site.rack_units
                ),
                "Give a unit in which the whole device fits.",
            ),
            PinProblem::TakenByPin => Finding::error(
                "pin-overlap",
                at,
                format!(
                    "{name} and another pinned device both want unit {unit} of {}.",
                    pin.rack
                ),
                "Give one of them another unit.",
            ),
            PinProblem::NoRoom => Finding::error(
                "pin-no-room",
                at,
                format!(
                    "{} has no room left: {name} or a device it displaces does not fit.",
                    pin.rack
                ),
                "Pin it to another rack, or move something out of this one first.",
            ),
        }
    }
}

fn move_rack(
    pin: &Pin,
    at: &str,
    rack: usize,
    site: &Site,
    floor: &Grid<'_>,
    racks: &mut Racks,
) -> Option<Finding> {
    let (Some(x), Some(y)) = (pin.x_metres, pin.y_metres) else {
        return Some(Finding::error(
            "pin-incomplete",
            at,
            format!(
                "{at} names rack {} but neither a device nor both x_metres and y_metres.",
                pin.rack
            ),
            "Add \"device\", or \"x_metres\" and \"y_metres\" of the rack's centre.",
        ));
    };
    let (half_w, half_d) = (site.rack_width_metres / 2.0, site.rack_depth_metres / 2.0);
    let width = f64::from(site.containers) * (site.width_metres + super::site::CONTAINER_GAP_METRES)
        - super::site::CONTAINER_GAP_METRES;
    let inside = x - half_w >= -1e-6
        && x + half_w <= site.length_metres + 1e-6
        && y - half_d >= -1e-6
        && y + half_d <= width + 1e-6;
    if !inside {
        return Some(Finding::error(
            "pin-outside",
            at,
            format!(
                "Rack {} centred at ({x:.2}, {y:.2}) m would stand outside the {:.2} x {width:.2} m floor.",
                pin.rack, site.length_metres
            ),
            format!(
                "Keep its centre {half_w:.2} m from the ends and {half_d:.2} m from the sides, or remove the pin."
            ),
        ));
    }
    racks.x_metres[rack] = x;
    racks.y_metres[rack] = y;
    // Its cables drop from the nearest tray.
    let nearest = |at: f64, of: &[f64]| {
        (0..of.len())
            .min_by(|&i, &j| (of[i] - at).abs().total_cmp(&(of[j] - at).abs()))
            .unwrap_or(0)
    };
    let row = nearest(y, floor.column_y_metres);
    racks.row[rack] = row as u32;
    racks.position[rack] = nearest(x, floor.position_x_metres) as u32;
    racks.facing[rack] = floor.column_facing[row];
    racks.container[rack] = floor.column_container[row];
    None
}

/// Racks that were moved must not overlap others.
fn check_rack_overlaps(
    spec: &PlanSpec,
    site: &Site,
    racks: &Racks,
    moved: &BTreeSet<usize>,
    findings: &mut Vec<Finding>,
) {
    for &a in moved {
        for b in 0..racks.len() {
            let apart = (racks.x_metres[a] - racks.x_metres[b]).abs() > site.rack_width_metres - 1e-6
                || (racks.y_metres[a] - racks.y_metres[b]).abs() > site.rack_depth_metres - 1e-6;
            if a == b || apart || (b < a && moved.contains(&b)) {
                continue;
            }
            let i = spec
                .packaging
                .pins
                .iter()
                .position(|p| p.device.is_none() && p.rack == racks.name[a])
                .unwrap_or(0);
            findings.push(
                Finding::error(
                    "pin-overlap",
                    format!("packaging.pins[{i}]"),
                    format!("Rack {} would stand in rack {}.", racks.name[a], racks.name[b]),
                    "Move it elsewhere, or remove the pin.",
                )
                .with_fix(without_pin(spec, i)),
            );
        }
    }
}

/// The occupied units of each rack, recorded only if there are pins.
struct Seats {
    rack_units: u32,
    devices: Vec<Vec<u32>>,
}

impl Seats {
    fn of(site: &Site, placements: &Placements, racks: usize) -> Seats {
        let mut devices = vec![Vec::new(); racks];
        for (v, &rack) in placements.rack.iter().enumerate() {
            devices[rack as usize].push(v as u32);
        }
        Seats {
            rack_units: site.rack_units,
            devices,
        }
    }

    fn move_device(
        &mut self,
        device: u32,
        rack: u32,
        unit: Option<u32>,
        pinned: &BTreeSet<u32>,
        placements: &mut Placements,
    ) -> Result<(), PinProblem> {
        let v = device as usize;
        let height = u32::from(placements.height_units[v]);
        let Some(unit) = unit else {
            if placements.rack[v] == rack {
                return Ok(());
            }
            let seat = self
                .free_seat(device, rack, placements)
                .ok_or(PinProblem::NoRoom)?;
            self.seat(device, rack, seat, placements);
            return Ok(());
        };
        if unit == 0 || unit.saturating_add(height - 1) > self.rack_units {
            return Err(PinProblem::UnitOutOfRange);
        }
        let wanted = unit as u16;
        if placements.rack[v] == rack && placements.unit[v] == wanted {
            return Ok(());
        }
        let here: Vec<u32> = self.devices[rack as usize]
            .iter()
            .copied()
            .filter(|&d| d != device && overlaps(placements, d, wanted, height as u16))
            .collect();
        // A shelf of the same kind with a free slot is shared, and nothing moves.
        if let Some(slot) = shared_slot(placements, v, wanted, &here) {
            self.seat(device, rack, (wanted, slot), placements);
            return Ok(());
        }
        if here.iter().any(|d| pinned.contains(d)) {
            return Err(PinProblem::TakenByPin);
        }
        let before: Vec<(u16, u8)> = here
            .iter()
            .map(|&d| (placements.unit[d as usize], placements.slot[d as usize]))
            .collect();
        let origin = (placements.rack[v], placements.unit[v], placements.slot[v]);
        self.seat(device, rack, (wanted, 0), placements);
        for (i, &evicted) in here.iter().enumerate() {
            placements.unit[evicted as usize] = 0;
            if let Some(seat) = self.free_seat(evicted, rack, placements) {
                self.seat(evicted, rack, seat, placements);
                continue;
            }
            // No space for a displaced device: all moves are undone.
            for (&d, &(unit, slot)) in here[..=i].iter().zip(&before) {
                placements.unit[d as usize] = unit;
                placements.slot[d as usize] = slot;
            }
            self.seat(device, origin.0, (origin.1, origin.2), placements);
            return Err(PinProblem::NoRoom);
        }
        Ok(())
    }

    fn seat(&mut self, device: u32, rack: u32, (unit, slot): (u16, u8), placements: &mut Placements) {
        let v = device as usize;
        let old = placements.rack[v];
        if old != rack {
            self.devices[old as usize].retain(|&d| d != device);
            self.devices[rack as usize].push(device);
        }
        placements.rack[v] = rack;
        placements.unit[v] = unit;
        placements.slot[v] = slot;
    }

    /// A free slot on a shelf of the same kind, else free units, nearest to the top.
    fn free_seat(&self, device: u32, rack: u32, placements: &Placements) -> Option<(u16, u8)> {
        let v = device as usize;
        let height = u16::from(placements.height_units[v]);
        let top = (self.rack_units as u16).checked_sub(height)? + 1;
        let others: Vec<u32> = self.devices[rack as usize]
            .iter()
            .copied()
            .filter(|&d| d != device)
            .collect();
        let at = |unit: u16| -> Vec<u32> {
            others
                .iter()
                .copied()
                .filter(|&d| overlaps(placements, d, unit, height))
                .collect()
        };
        (1..=top)
            .rev()
            .find_map(|unit| {
                let here = at(unit);
                if here.is_empty() {
                    None
                } else {
                    shared_slot(placements, v, unit, &here).map(|slot| (unit, slot))
                }
            })
            .or_else(|| {
                (1..=top)
                    .rev()
                    .find(|&unit| at(unit).is_empty())
                    .map(|unit| (unit, 0))
            })
    }
}

fn overlaps(placements: &Placements, device: u32, unit: u16, height: u16) -> bool {
    let d = device as usize;
    let bottom = placements.unit[d];
    bottom > 0 && bottom < unit + height && unit < bottom + u16::from(placements.height_units[d])
}

/// The free place on a shelf whose devices (`here`) have the shape of `v` and are exactly at
/// `unit`.
fn shared_slot(placements: &Placements, v: usize, unit: u16, here: &[u32]) -> Option<u8> {
    let same = here.iter().all(|&d| {
        let d = d as usize;
        placements.unit[d] == unit
            && placements.height_units[d] == placements.height_units[v]
            && placements.slots[d] == placements.slots[v]
    });
    if !same {
        return None;
    }
    (0..placements.slots[v]).find(|&slot| here.iter().all(|&d| placements.slot[d as usize] != slot))
}
