//! Bill lines for racks with their shelves and power supply, containers, trays, ties and labels.

use std::collections::{BTreeMap, BTreeSet};

use cubeyard_topology::Topology;

use super::{Builder, Category, NewLine, Unit, spares_of};
use crate::book::{Part, PartKind, metres_to_mm};
use crate::layout::Layout;
use crate::spec::{Enclosure, PlanSpec};
use crate::wiring::Wiring;

/// Distance between ties along a bundle in metres; the next constant is the number of cable ends
/// per tie in a rack. `[ours]`
const METRES_PER_TIE: f64 = 0.5;
const ENDS_PER_TIE: u64 = 8;
/// Devices of a rack without a part of the book still have a cord each.
const CORDS_PER_DEVICE: u32 = 1;

/// Adds lines for racks, shelves, power supply, containers, trays and ties; returns the metres of
/// tray.
pub(super) fn site_lines(to: &mut Builder<'_>, topology: &Topology, layout: &Layout, wiring: &Wiring) -> f64 {
    let book = to.book;
    let site = &layout.site;
    let racks = layout.racks.name.len() as u64;
    to.push(NewLine::each(
        Category::Rack,
        site.rack_part.map(|i| &book.parts[i]),
        "no rack in the book".to_owned(),
        racks,
    ));
    if matches!(
        site.enclosure,
        Enclosure::Container40Ft | Enclosure::Container20Ft
    ) {
        let part = book
            .enclosure_for(site.enclosure, site.length_metres)
            .map(|i| &book.parts[i]);
        let name = "no container of this length in the book".to_owned();
        to.push(NewLine::each(
            Category::Container,
            part,
            name,
            u64::from(site.containers),
        ));
    }
    fitting_lines(to, topology, layout);
    tie_line(to, topology, wiring);
    tray_lines(to, wiring)
}

fn tray_lines(to: &mut Builder<'_>, wiring: &Wiring) -> f64 {
    let book = to.book;
    let trays = &wiring.trays;
    let mut metres_by_part: BTreeMap<Option<usize>, f64> = BTreeMap::new();
    for segment in 0..trays.len() {
        let kind = trays.kind[segment].index();
        let metres = trays.length_metres(segment) * f64::from(trays.side_by_side[kind]);
        *metres_by_part.entry(trays.part[kind]).or_default() += metres;
    }
    let mut total = 0.0;
    for (part, metres) in metres_by_part {
        let part = part.map(|i| &book.parts[i]);
        let metres = metres.max(0.0);
        total += metres;
        let mut line = NewLine::each(Category::Tray, part, "no tray in the book".to_owned(), 0);
        let per_metre = part.and_then(|p| p.attributes.kg_per_metre);
        // Whole trays if the book has the length of a tray, else whole metres. Offcuts are used up,
        // because the trays of a row are joined end to end.
        let piece = part.and_then(|p| p.attributes.length_metres);
        line.quantity = (metres / piece.unwrap_or(1.0) - 1e-6).ceil().max(0.0);
        line.unit = if piece.is_some() { Unit::Each } else { Unit::Metre };
        line.length_mm = piece.map(metres_to_mm);
        line.price_field = "price_usd_per_metre";
        line.price_factor = piece.unwrap_or(1.0);
        line.unit_price_usd = part
            .and_then(|p| p.attributes.price_usd_per_metre)
            .map(|usd| usd * line.price_factor);
        // Only installed trays count for the weight.
        line.unit_weight_kg = per_metre.map(|kg| kg * metres / line.quantity.max(1.0));
        to.push(line);
    }
    total
}

/// Shelves, rails, cords and PDUs. A shelf carries the devices side by side in one place of a rack,
/// rails carry one device of the full width, and each rack has as many PDUs as its power and its
/// cords need. `[ours]`
fn fitting_lines(to: &mut Builder<'_>, topology: &Topology, layout: &Layout) {
    let at = &layout.placements;
    let mut shelves = BTreeSet::new();
    let mut rails = 0;
    let mut cords = vec![0u64; layout.racks.len()];
    for device in 0..topology.node_count() as usize {
        let rack = at.rack[device];
        // A device without a free unit is a finding; its rails and cord are counted anyway.
        if at.slots[device] > 1 && at.unit[device] > 0 {
            shelves.insert((rack, at.unit[device]));
        } else {
            rails += 1;
        }
        cords[rack as usize] += u64::from(cords_of(to, topology, layout, device as u32));
    }
    let all_cords: u64 = cords.iter().sum();
    let pdu = first(to, PartKind::Pdu);
    let pdus = (0..layout.racks.len())
        .map(|rack| pdus_for(pdu, layout.racks.power_watts[rack], cords[rack]))
        .sum();
    for (category, kind, count, absent) in [
        (Category::Shelf, PartKind::Shelf, shelves.len() as u64, "shelf"),
        (Category::Rail, PartKind::Rail, rails, "pair of rails"),
        (Category::Pdu, PartKind::Pdu, pdus, "PDU"),
        (Category::Cord, PartKind::Cord, all_cords, "power cord"),
    ] {
        let part = first(to, kind);
        to.push(NewLine::each(
            category,
            part,
            format!("no {absent} in the book"),
            count,
        ));
    }
}

fn first<'a>(to: &Builder<'a>, kind: PartKind) -> Option<&'a Part> {
    to.book.parts_of(kind).map(|(_, part)| part).next()
}

fn cords_of(to: &Builder<'_>, topology: &Topology, layout: &Layout, device: u32) -> u32 {
    let tiers = topology.tiers();
    let tier = tiers
        .iter()
        .position(|t| device >= t.first && device - t.first < t.count);
    let part = match tier {
        Some(tier) => layout.parts.tier(tier),
        None => layout.parts.server,
    };
    part.and_then(|i| to.book.parts[i].attributes.power_cords)
        .unwrap_or(CORDS_PER_DEVICE)
}

/// The fewest PDUs that carry the rack's power and have an outlet for every cord; one if the book
/// has no PDU.
fn pdus_for(pdu: Option<&Part>, watts: f64, cords: u64) -> u64 {
    if cords == 0 {
        return 0;
    }
    let Some(attributes) = pdu.map(|p| &p.attributes) else {
        return 1;
    };
    let by_power = attributes
        .power_limit_watts
        .map_or(1, |limit| (watts / limit - 1e-9).ceil().max(1.0) as u64);
    let by_outlets = attributes
        .outlets
        .map_or(1, |outlets| cords.div_ceil(u64::from(outlets.max(1))));
    by_power.max(by_outlets)
}

fn tie_line(to: &mut Builder<'_>, topology: &Topology, wiring: &Wiring) {
    let bundled: f64 = wiring
        .bundles
        .length_metres
        .iter()
        .map(|metres| (metres / METRES_PER_TIE).ceil())
        .sum();
    let ties = bundled as u64 + (2 * topology.links().len() as u64).div_ceil(ENDS_PER_TIE);
    let part = first(to, PartKind::Tie);
    let pack = part.and_then(|p| p.attributes.pieces_per_unit);
    let mut line = NewLine::each(Category::Tie, part, "no cable tie in the book".to_owned(), 0);
    line.quantity = ties.div_ceil(u64::from(pack.unwrap_or(1).max(1))) as f64;
    line.pieces_per_unit = pack;
    line.unit = if pack.is_some() { Unit::Pack } else { Unit::Each };
    to.push(line);
}

/// Two labels a cable. On sheets, the labels of each rack start on a new sheet, as in the install
/// pack.
pub(super) fn label_line(
    to: &mut Builder<'_>,
    spec: &PlanSpec,
    topology: &Topology,
    layout: &Layout,
    wiring: &Wiring,
) {
    let paper = spec.site.paper();
    let part = to
        .book
        .parts_of(PartKind::Label)
        .map(|(_, part)| part)
        .min_by_key(|part| part.attributes.paper.as_deref() != Some(paper));
    // A label at every end: two of a cable, and of a breakout one at the trunk and one at each leg.
    let labels = (wiring.part.len() + wiring.cable_count()) as u64;
    let mut line = NewLine::each(Category::Label, part, "Cable label".to_owned(), labels);
    if let Some(per_sheet) = part.and_then(|p| p.attributes.pieces_per_unit) {
        let links = topology.links();
        let mut by_rack = vec![0u64; layout.racks.len()];
        for link in 0..links.len() {
            for (device, at_a) in [(links.a[link], true), (links.b[link], false)] {
                let again =
                    wiring.breakouts.sharing_plug(link, at_a).is_some() && !wiring.breakouts.leads(link);
                if !again {
                    by_rack[layout.placements.rack[device as usize] as usize] += 1;
                }
            }
        }
        let sheets: u64 = by_rack
            .iter()
            .map(|ends| ends.div_ceil(u64::from(per_sheet.max(1))))
            .sum();
        line.quantity = sheets as f64;
        line.pieces_per_unit = Some(per_sheet);
        line.unit = Unit::Sheet;
    }
    line.spares = spares_of(line.quantity, spec.cabling.spare_ratio);
    to.push(line);
}
