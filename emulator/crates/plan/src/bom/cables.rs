//! Cables, the plugs of those cut from bulk, and transceivers.

use std::collections::BTreeMap;

use cubeyard_topology::Finding;

use super::{Bom, Builder, Category, CutEntry, NewLine, Unit, colour_name, spares_of};
use crate::book::Part;
use crate::cut_list::{Cut, first_fit_decreasing};
use crate::spec::{PlanSpec, Stock};
use crate::wiring::{NO_PART, Wiring};

/// Counts of cables by (part, transceiver-independent) key.
type CableGroups = BTreeMap<(u16, u8, u32), u32>;

/// Counts of cables from which labour is computed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CableCounts {
    pub in_rack: u64,
    pub in_tray: u64,
    pub tray_mm: u64,
    pub cut: u64,
}

/// One line for each part, length and colour. Cables cut from bulk appear as boxes, plugs and a cut
/// list.
pub(super) fn cable_lines(
    to: &mut Builder<'_>,
    spec: &PlanSpec,
    wiring: &Wiring,
    out: &mut Bom,
) -> CableCounts {
    let mut counts = CableCounts::default();
    let mut groups = CableGroups::new();
    // Neighbouring cables are mostly equal, so the map is updated once per run of equal keys.
    let mut run: Option<((u16, u8, u32), u32)> = None;
    for i in 0..wiring.part.len() {
        if wiring.bundle[i] < 0 {
            counts.in_rack += 1;
        } else {
            counts.in_tray += 1;
            counts.tray_mm += u64::from(wiring.stock_mm[i]);
        }
        // Every leg is pulled, but a breakout is bought once.
        if !wiring.breakouts.leads(i) {
            continue;
        }
        let key = (wiring.part[i], wiring.colour[i], wiring.stock_mm[i]);
        match &mut run {
            Some((same, n)) if *same == key => *n += 1,
            _ => {
                if let Some((done, n)) = run.replace((key, 1)) {
                    *groups.entry(done).or_default() += n;
                }
            }
        }
    }
    if let Some((done, n)) = run {
        *groups.entry(done).or_default() += n;
    }

    let ratio = spec.cabling.spare_ratio;
    let mut bulk: BTreeMap<(u16, u8), Vec<Cut>> = BTreeMap::new();
    for (&(part_index, colour, stock_mm), &n) in &groups {
        let part = to.part(part_index);
        if cut_from_bulk(spec, part).is_some() {
            bulk.entry((part_index, colour)).or_default().push(Cut {
                length_mm: stock_mm,
                pieces: n,
            });
            counts.cut += u64::from(n);
            continue;
        }
        let name = "no cable in the book reaches this far at this rate".to_owned();
        let mut line = NewLine::each(Category::Cable, part, name, u64::from(n));
        line.length_mm = Some(stock_mm);
        line.colour = Some(colour_name(colour));
        line.spares = spares_of(f64::from(n), ratio);
        line.price_field = "length_prices_usd";
        line.unit_price_usd = part.and_then(|p| p.cable_price_usd(stock_mm));
        line.unit_weight_kg = part.and_then(|p| p.cable_weight_kg(stock_mm));
        to.push(line);
    }
    let mut waste_mm = 0;
    for ((part_index, colour), cuts) in bulk {
        let Some((part, box_metres)) = to
            .part(part_index)
            .and_then(|p| Some((p, cut_from_bulk(spec, Some(p))?)))
        else {
            continue;
        };
        let boxes = first_fit_decreasing(&cuts, crate::book::metres_to_mm(box_metres));
        if boxes.too_long > 0 {
            out.findings.push(Finding::warning(
                "cable-longer-than-box",
                "cabling.stock",
                format!(
                    "{} cables are longer than a box of {box_metres} m of {}",
                    boxes.too_long, part.sku
                ),
                "set cabling.stock to \"stock\", or choose fibre for these",
            ));
        }
        out.boxes += boxes.boxes;
        waste_mm += boxes.waste_mm;
        let pieces: u32 = cuts.iter().map(|c| c.pieces).sum();
        let used_mm: u64 = cuts
            .iter()
            .map(|c| u64::from(c.length_mm) * u64::from(c.pieces))
            .sum();
        for cut in &cuts {
            out.cut_list.push(CutEntry {
                sku: part.sku.clone(),
                colour: colour_name(colour),
                length_metres: f64::from(cut.length_mm) / 1000.0,
                pieces: cut.pieces,
            });
        }
        let mut line = NewLine::each(Category::Cable, Some(part), String::new(), u64::from(boxes.boxes));
        line.spares = spares_of(f64::from(boxes.boxes), ratio);
        line.unit = Unit::Box;
        line.length_mm = Some(crate::book::metres_to_mm(box_metres));
        line.colour = Some(colour_name(colour));
        line.price_field = "bulk_price_usd_per_metre";
        line.price_factor = box_metres;
        line.unit_price_usd = part
            .attributes
            .bulk_price_usd_per_metre
            .map(|usd| usd * box_metres);
        // Only the cable hung in the trays loads them, not the rest in the box.
        line.unit_weight_kg = part
            .attributes
            .kg_per_metre
            .map(|kg| kg * used_mm as f64 / 1000.0 / f64::from(boxes.boxes.max(1)));
        to.push(line);

        let ends = 2 * u64::from(pieces);
        let mut plugs = NewLine::each(Category::Connector, Some(part), String::new(), ends);
        plugs.colour = Some(colour_name(colour));
        plugs.spares = spares_of(ends as f64, ratio);
        plugs.price_field = "connector_price_usd";
        plugs.unit_price_usd = part.attributes.connector_price_usd;
        plugs.unit_weight_kg = part.weight_kg.map(|kg| kg / 2.0);
        to.push(plugs);
        if let Some(last) = to.lines.last_mut() {
            last.name = format!("Plug for {}", part.name);
        }
    }
    out.waste_metres = waste_mm as f64 / 1000.0;
    counts
}

/// Box length if the plan cuts this part from bulk: the spec requires it, and the book sells the
/// part by the box.
fn cut_from_bulk(spec: &PlanSpec, part: Option<&Part>) -> Option<f64> {
    part.filter(|_| spec.cabling.stock == Stock::Bulk)?
        .attributes
        .bulk_box_metres
}

pub(super) fn transceiver_lines(to: &mut Builder<'_>, spec: &PlanSpec, wiring: &Wiring) {
    let mut by_part: BTreeMap<u16, u64> = BTreeMap::new();
    for &part in wiring.transceiver.iter().filter(|&&p| p != NO_PART) {
        // A transceiver at each end.
        *by_part.entry(part).or_default() += 2;
    }
    for (part, n) in by_part {
        let part = to.part(part);
        let mut line = NewLine::each(Category::Transceiver, part, "no transceiver fits".to_owned(), n);
        line.spares = spares_of(n as f64, spec.cabling.spare_ratio);
        to.push(line);
    }
}
