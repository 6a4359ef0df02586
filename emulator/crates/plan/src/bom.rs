//! The bill of materials: parts to order and hours of work, by part, length and colour, in the
//! units of orders: boxes of cable, whole trays, sheets of labels, packs of ties, hours.
//!
//! Inside: the lines and their totals (here), cables (`cables`), racks, trays, labels and fittings
//! (`site`), work (`labour`).
//!
//! It is computed from the layout, the wiring and the book only. Every cable of the plan is in
//! exactly one line (or one entry of the cut list, when cut from bulk); the plan's cost is the sum
//! of the lines.

mod cables;
mod labour;
mod site;

use cubeyard_topology::{Finding, Topology};
use serde::{Serialize, Serializer};

use crate::book::{Book, Part};
use crate::layout::Layout;
use crate::selection::PartSelection;
use crate::spec::PlanSpec;
use crate::wiring::{COLOURS, NO_PART, Wiring};

use cables::{cable_lines, transceiver_lines};
pub use labour::tasks;
use site::{label_line, site_lines};

/// The purpose of a line; lines are sorted in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    Switch,
    Nic,
    Server,
    Cable,
    /// Field-fitted plugs of bulk cable.
    Connector,
    Transceiver,
    Rack,
    /// Carries devices that stand side by side.
    Shelf,
    /// Carries one device over the rack's full width.
    Rail,
    Pdu,
    Cord,
    Container,
    Tray,
    Tie,
    Label,
    Labour,
}

/// The unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Unit {
    #[serde(rename = "each")]
    Each,
    /// Bulk cable; the line's length is that in one box.
    #[serde(rename = "box")]
    Box,
    #[serde(rename = "sheet")]
    Sheet,
    #[serde(rename = "pack")]
    Pack,
    /// For parts that the book does not sell by the piece.
    #[serde(rename = "m")]
    Metre,
    #[serde(rename = "h")]
    Hour,
}

/// A line of the bill. `total_usd` covers quantity and spares; `weight_kg` only installed parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BomLine {
    pub line: u32,
    pub category: Category,
    /// Empty when no part of the book fits.
    pub sku: String,
    pub name: String,
    pub manufacturer: String,
    /// The manufacturer's part number; empty if the book has none.
    pub part_number: String,
    pub supplier: String,
    pub lead_time_days: Option<u32>,
    /// Length of one piece: a cable, a box of cable, a tray.
    #[serde(serialize_with = "whole_f64_option")]
    pub length_metres: Option<f64>,
    pub colour: Option<&'static str>,
    #[serde(serialize_with = "whole_f64")]
    pub quantity: f64,
    #[serde(serialize_with = "whole_f64")]
    pub spares: f64,
    pub unit: Unit,
    /// Pieces in one unit: labels on a sheet, ties in a pack.
    pub pieces_per_unit: Option<u32>,
    pub unit_price_usd: Option<f64>,
    pub total_usd: Option<f64>,
    pub weight_kg: Option<f64>,
    pub source: String,
    /// Empty when there is no part.
    pub basis: &'static str,
    /// The field of the part with the price, and the factor by which that field is multiplied.
    pub price_field: &'static str,
    #[serde(serialize_with = "whole_f64")]
    pub price_factor: f64,
    #[serde(skip)]
    pub total_cents: Option<i64>,
}

/// Pieces to cut from bulk, by part, colour and length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CutEntry {
    pub sku: String,
    pub colour: &'static str,
    #[serde(serialize_with = "whole_f64")]
    pub length_metres: f64,
    pub pieces: u32,
}

/// The bill of materials.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bom {
    pub lines: Vec<BomLine>,
    pub cut_list: Vec<CutEntry>,
    /// Metres left in the boxes after cutting; 0 if nothing is cut.
    pub waste_metres: f64,
    pub boxes: u32,
    /// Metres of cable in the order, spares and whole boxes included.
    pub cable_order_metres: f64,
    pub labour_minutes: f64,
    pub weight_kg: f64,
    /// Some physical line has no weight.
    pub weight_at_least: bool,
    #[serde(skip)]
    pub findings: Vec<Finding>,
}

/// Whole values are JSON integers, so that quantities read as counts.
fn whole_f64<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        serializer.serialize_i64(*value as i64)
    } else {
        serializer.serialize_f64(*value)
    }
}

fn whole_f64_option<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(v) => whole_f64(v, serializer),
        None => serializer.serialize_none(),
    }
}

/// The number of spares: a share of the installed quantity, rounded up.
fn spares_of(quantity: f64, ratio: f64) -> f64 {
    // The small subtraction prevents that 0.03 * 100 is rounded up to 4.
    (quantity * ratio - 1e-9).ceil().max(0.0)
}

struct Builder<'a> {
    book: &'a Book,
    lines: Vec<BomLine>,
}

struct NewLine<'a> {
    category: Category,
    part: Option<&'a Part>,
    /// Shown if no part fits.
    name: String,
    length_mm: Option<u32>,
    colour: Option<&'static str>,
    quantity: f64,
    spares: f64,
    unit: Unit,
    pieces_per_unit: Option<u32>,
    price_field: &'static str,
    price_factor: f64,
    unit_price_usd: Option<f64>,
    unit_weight_kg: Option<f64>,
}

impl<'a> NewLine<'a> {
    fn each(category: Category, part: Option<&'a Part>, name: String, quantity: u64) -> Self {
        NewLine {
            category,
            part,
            name,
            length_mm: None,
            colour: None,
            quantity: quantity as f64,
            spares: 0.0,
            unit: Unit::Each,
            pieces_per_unit: None,
            price_field: "price_usd",
            price_factor: 1.0,
            unit_price_usd: part.and_then(|p| p.price_usd),
            unit_weight_kg: part.and_then(|p| p.weight_kg),
        }
    }
}

impl<'a> Builder<'a> {
    fn part(&self, index: u16) -> Option<&'a Part> {
        if index == NO_PART {
            None
        } else {
            self.book.parts.get(usize::from(index))
        }
    }

    fn push(&mut self, new: NewLine<'_>) {
        if new.quantity <= 0.0 {
            return;
        }
        let source = new.part.and_then(|p| p.source(new.price_field));
        let total_cents = new
            .unit_price_usd
            .map(|price| ((new.quantity + new.spares) * price * 100.0).round() as i64);
        self.lines.push(BomLine {
            line: 0,
            category: new.category,
            sku: new.part.map(|p| p.sku.clone()).unwrap_or_default(),
            name: new.part.map_or(new.name, |p| p.name.clone()),
            manufacturer: new.part.map(|p| p.manufacturer.clone()).unwrap_or_default(),
            part_number: new
                .part
                .and_then(|p| p.part_number(new.length_mm, new.colour))
                .unwrap_or_default()
                .to_owned(),
            supplier: new
                .part
                .and_then(|p| p.attributes.supplier.clone())
                .unwrap_or_default(),
            lead_time_days: new.part.and_then(|p| p.attributes.lead_time_days),
            length_metres: new.length_mm.map(|mm| f64::from(mm) / 1000.0),
            colour: new.colour,
            quantity: new.quantity,
            spares: new.spares,
            unit: new.unit,
            pieces_per_unit: new.pieces_per_unit,
            unit_price_usd: new.unit_price_usd,
            total_usd: total_cents.map(|c| c as f64 / 100.0),
            weight_kg: new.unit_weight_kg.map(|kg| thousandths(kg * new.quantity)),
            source: source.map(|s| s.source.clone()).unwrap_or_default(),
            basis: source.map_or("", |s| s.basis.as_str()),
            price_field: new.price_field,
            price_factor: new.price_factor,
            total_cents,
        });
    }
}

/// Rounded to grams or millimetres.
fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Computes the bill of a plan. It is deterministic and never fails: items without a part or price
/// become lines without one.
pub fn bill(spec: &PlanSpec, topology: &Topology, book: &Book, layout: &Layout, wiring: &Wiring) -> Bom {
    let selection = &layout.parts;
    let mut out = Bom::default();
    let mut to = Builder {
        book,
        lines: Vec::new(),
    };
    device_lines(&mut to, spec, topology, selection);
    let counts = cable_lines(&mut to, spec, wiring, &mut out);
    transceiver_lines(&mut to, spec, wiring);
    let tray_metres = site_lines(&mut to, topology, layout, wiring);
    label_line(&mut to, spec, topology, layout, wiring);
    out.labour_minutes = labour::lines(&mut to, topology, selection, layout, &counts, tray_metres);
    out.lines = to.lines;
    // Lines of one part bought by several tiers are already merged; order is by category, then as
    // found.
    out.lines.sort_by_key(|line| line.category);
    for (i, line) in out.lines.iter_mut().enumerate() {
        line.line = i as u32 + 1;
    }
    let ordered = out.lines.iter().filter(|l| l.category == Category::Cable);
    let metres: f64 = ordered
        .map(|l| l.length_metres.unwrap_or(0.0) * (l.quantity + l.spares))
        .sum();
    out.cable_order_metres = thousandths(metres);
    let mut weight = 0.0;
    for line in out.lines.iter().filter(|l| l.category != Category::Labour) {
        match line.weight_kg {
            Some(kg) => weight += kg,
            None => out.weight_at_least = true,
        }
    }
    out.weight_kg = thousandths(weight);
    out
}

fn device_lines(to: &mut Builder<'_>, spec: &PlanSpec, topology: &Topology, selection: &PartSelection) {
    let book = to.book;
    // Tiers that use one model are one line: purchasing buys models, not roles.
    let mut by_part: Vec<(Option<usize>, u64, String)> = Vec::new();
    for (t, tier) in topology.tiers().iter().enumerate() {
        let part = selection.tier(t);
        let count = u64::from(tier.count);
        match by_part.iter_mut().find(|(p, _, _)| part.is_some() && *p == part) {
            Some((_, n, _)) => *n += count,
            None => {
                by_part.push((
                    part,
                    count,
                    format!("no part fits: {}, {} ports", tier.role, tier.ports),
                ));
            }
        }
    }
    for (part, count, name) in by_part {
        let part = part.map(|i| &book.parts[i]);
        let mut line = NewLine::each(Category::Switch, part, name, count);
        // A plan without spares orders no spare switches either.
        let ratio = part
            .filter(|_| spec.cabling.spare_ratio > 0.0)
            .and_then(|p| p.attributes.spare_ratio)
            .unwrap_or(0.0);
        line.spares = spares_of(count as f64, ratio);
        to.push(line);
    }
    let servers = u64::from(topology.server_count());
    for nic in &selection.nics {
        let cards = servers * u64::from(nic.cards);
        to.push(NewLine::each(
            Category::Nic,
            Some(&book.parts[nic.part]),
            String::new(),
            cards,
        ));
    }
    if selection.nics_missing {
        to.push(NewLine::each(
            Category::Nic,
            None,
            "no network card fits".to_owned(),
            servers,
        ));
    }
    let server = selection.server.map(|i| &book.parts[i]);
    to.push(NewLine::each(
        Category::Server,
        server,
        "no server in the book".to_owned(),
        servers,
    ));
}

fn colour_name(colour: u8) -> &'static str {
    COLOURS[usize::from(colour) % COLOURS.len()].0
}
