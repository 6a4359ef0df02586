//! The bill of materials: what to buy and the minutes to fit it, by part, length and colour.
//!
//! Built only from the layout, the wiring and the book. Every cable of the plan is in exactly one line (or one
//! entry of the cut list, when cut from bulk); the plan's cost is the sum of the lines.

use std::collections::BTreeMap;

use cubeyard_topology::{Finding, Topology};
use serde::{Serialize, Serializer};

use crate::book::{Book, Part, PartKind};
use crate::cut_list::{Cut, first_fit_decreasing};
use crate::layout::Layout;
use crate::selection::PartSelection;
use crate::spec::{Enclosure, PlanSpec, Stock};
use crate::wiring::{COLOURS, NO_PART, TrayKind, Wiring};

/// Names of the tasks a labour part gives minutes for.
pub mod tasks {
    pub const SET_RACK: &str = "set_rack";
    pub const MOUNT_SERVER: &str = "mount_server";
    pub const MOUNT_SWITCH: &str = "mount_switch";
    pub const FIT_NIC: &str = "fit_nic";
    pub const PULL_CABLE_IN_RACK: &str = "pull_cable_in_rack";
    pub const PULL_CABLE_IN_TRAY: &str = "pull_cable_in_tray";
    pub const PULL_CABLE_PER_METRE: &str = "pull_cable_per_metre";
    pub const TERMINATE_END: &str = "terminate_end";
    pub const LABEL_CABLE: &str = "label_cable";
    pub const TEST_CABLE: &str = "test_cable";
    pub const FIT_TRAY_PER_METRE: &str = "fit_tray_per_metre";
}

/// What a line is for; the order of the lines.
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
    Container,
    Tray,
    Label,
    Labour,
}

/// What a quantity counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Unit {
    #[serde(rename = "each")]
    Each,
    #[serde(rename = "m")]
    Metre,
    #[serde(rename = "min")]
    Minute,
}

/// One line to buy. `total_usd` covers quantity and spares; `weight_kg` only what is installed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BomLine {
    pub line: u32,
    pub category: Category,
    /// Empty when no part of the book fits.
    pub sku: String,
    pub name: String,
    #[serde(serialize_with = "whole_f64_option")]
    pub length_metres: Option<f64>,
    pub colour: Option<&'static str>,
    #[serde(serialize_with = "whole_f64")]
    pub quantity: f64,
    #[serde(serialize_with = "whole_f64")]
    pub spares: f64,
    pub unit: Unit,
    pub unit_price_usd: Option<f64>,
    pub total_usd: Option<f64>,
    pub weight_kg: Option<f64>,
    pub source: String,
    /// Empty when there is no part.
    pub basis: &'static str,
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
    /// Left in the boxes after cutting; 0 when nothing is cut.
    pub waste_metres: f64,
    pub boxes: u32,
    pub labour_minutes: f64,
    pub weight_kg: f64,
    /// Some physical line has no weight.
    pub weight_at_least: bool,
    #[serde(skip)]
    pub findings: Vec<Finding>,
}

/// JSON integers where the value is whole: quantities read as counts.
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

/// Spares as a share of what is installed, rounded up.
fn spares_of(quantity: f64, ratio: f64) -> f64 {
    // The small step back keeps 0.03 * 100 from becoming 4.
    (quantity * ratio - 1e-9).ceil().max(0.0)
}

struct Builder<'a> {
    book: &'a Book,
    lines: Vec<BomLine>,
}

struct NewLine<'a> {
    category: Category,
    part: Option<&'a Part>,
    /// Shown when there is no part.
    name: String,
    length_mm: Option<u32>,
    colour: Option<&'static str>,
    quantity: f64,
    spares: f64,
    unit: Unit,
    price_field: &'static str,
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
            price_field: "price_usd",
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
            length_metres: new.length_mm.map(|mm| f64::from(mm) / 1000.0),
            colour: new.colour,
            quantity: new.quantity,
            spares: new.spares,
            unit: new.unit,
            unit_price_usd: new.unit_price_usd,
            total_usd: total_cents.map(|c| c as f64 / 100.0),
            weight_kg: new.unit_weight_kg.map(|kg| round_grams(kg * new.quantity)),
            source: source.map(|s| s.source.clone()).unwrap_or_default(),
            basis: source.map_or("", |s| s.basis.as_str()),
            total_cents,
        });
    }
}

fn round_grams(kg: f64) -> f64 {
    (kg * 1000.0).round() / 1000.0
}

/// Counts of cables by (part, transceiver-independent) key.
type CableGroups = BTreeMap<(u16, u8, u32), u32>;

/// Bill a plan. Deterministic; never fails: what has no part or price is a line without one.
pub fn bill(spec: &PlanSpec, topology: &Topology, book: &Book, layout: &Layout, wiring: &Wiring) -> Bom {
    let selection = &layout.parts;
    let mut out = Bom::default();
    let mut to = Builder {
        book,
        lines: Vec::new(),
    };
    device_lines(&mut to, topology, selection);
    let counts = cable_lines(&mut to, spec, wiring, &mut out);
    transceiver_lines(&mut to, spec, wiring);
    let tray_metres = site_lines(&mut to, layout, wiring);

    let label = book.parts_of(PartKind::Label).map(|(_, p)| p).next();
    let labels = 2 * wiring.part.len() as u64;
    let mut line = NewLine::each(Category::Label, label, "Cable label".to_owned(), labels);
    line.spares = spares_of(labels as f64, spec.cabling.spare_ratio);
    to.push(line);

    out.labour_minutes = labour_lines(&mut to, topology, selection, layout, &counts, tray_metres);
    out.lines = to.lines;
    // Lines of one part bought by several tiers are already merged; order is by category, then as found.
    out.lines.sort_by_key(|line| line.category);
    for (i, line) in out.lines.iter_mut().enumerate() {
        line.line = i as u32 + 1;
    }
    let mut weight = 0.0;
    for line in out.lines.iter().filter(|l| l.category != Category::Labour) {
        match line.weight_kg {
            Some(kg) => weight += kg,
            None => out.weight_at_least = true,
        }
    }
    out.weight_kg = round_grams(weight);
    out
}

fn device_lines(to: &mut Builder<'_>, topology: &Topology, selection: &PartSelection) {
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
        to.push(NewLine::each(
            Category::Switch,
            part.map(|i| &book.parts[i]),
            name,
            count,
        ));
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

/// What labour needs to know of the cables.
#[derive(Clone, Copy, Debug, Default)]
struct CableCounts {
    in_rack: u64,
    in_tray: u64,
    tray_mm: u64,
    cut: u64,
}

fn cable_lines(to: &mut Builder<'_>, spec: &PlanSpec, wiring: &Wiring, out: &mut Bom) -> CableCounts {
    let mut counts = CableCounts::default();
    let mut groups = CableGroups::new();
    // Neighbouring cables are mostly alike, so the map is touched once per run of equal keys.
    let mut run: Option<((u16, u8, u32), u32)> = None;
    for i in 0..wiring.part.len() {
        if wiring.bundle[i] < 0 {
            counts.in_rack += 1;
        } else {
            counts.in_tray += 1;
            counts.tray_mm += u64::from(wiring.stock_mm[i]);
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
        let metres = f64::from(boxes.boxes) * box_metres;
        let mut line = NewLine::each(Category::Cable, Some(part), String::new(), 0);
        line.quantity = metres;
        line.spares = spares_of(f64::from(boxes.boxes), ratio) * box_metres;
        line.unit = Unit::Metre;
        line.colour = Some(colour_name(colour));
        line.price_field = "bulk_price_usd_per_metre";
        line.unit_price_usd = part.attributes.bulk_price_usd_per_metre;
        // Only what is hung in the trays weighs on them, not what stays in the box.
        line.unit_weight_kg = part
            .attributes
            .kg_per_metre
            .map(|kg| kg * used_mm as f64 / 1000.0 / metres);
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

/// Box length when the plan cuts this part to length itself: asked for, and the part sold so.
fn cut_from_bulk(spec: &PlanSpec, part: Option<&Part>) -> Option<f64> {
    part.filter(|_| spec.cabling.stock == Stock::Bulk)?
        .attributes
        .bulk_box_metres
}

fn colour_name(colour: u8) -> &'static str {
    COLOURS[usize::from(colour) % COLOURS.len()].0
}

fn transceiver_lines(to: &mut Builder<'_>, spec: &PlanSpec, wiring: &Wiring) {
    let mut by_part: BTreeMap<u16, u64> = BTreeMap::new();
    for &part in wiring.transceiver.iter().filter(|&&p| p != NO_PART) {
        // One at each end.
        *by_part.entry(part).or_default() += 2;
    }
    for (part, n) in by_part {
        let part = to.part(part);
        let mut line = NewLine::each(Category::Transceiver, part, "no transceiver fits".to_owned(), n);
        line.spares = spares_of(n as f64, spec.cabling.spare_ratio);
        to.push(line);
    }
}

/// Racks, containers and trays; gives the metres of tray.
fn site_lines(to: &mut Builder<'_>, layout: &Layout, wiring: &Wiring) -> f64 {
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
        let part = book.parts_of(PartKind::Container).map(|(_, p)| p).find(|p| {
            p.attributes
                .length_metres
                .is_some_and(|l| (l - site.length_metres).abs() < 0.05)
        });
        let name = "no container of this length in the book".to_owned();
        to.push(NewLine::each(
            Category::Container,
            part,
            name,
            u64::from(site.containers),
        ));
    }
    let trays = &wiring.trays;
    let mut metres_by_part: BTreeMap<Option<usize>, f64> = BTreeMap::new();
    for segment in 0..trays.len() {
        let part = trays.part[match trays.kind[segment] {
            TrayKind::Column => 0,
            TrayKind::Crossing => 1,
            TrayKind::Underfloor => 2,
        }];
        *metres_by_part.entry(part).or_default() += trays.length_metres(segment);
    }
    let mut total = 0.0;
    for (part, metres) in metres_by_part {
        let part = part.map(|i| &book.parts[i]);
        // Bought by the started tenth of a metre.
        let metres = (metres * 10.0 - 1e-6).ceil().max(0.0) / 10.0;
        total += metres;
        let mut line = NewLine::each(Category::Tray, part, "no tray in the book".to_owned(), 0);
        line.quantity = metres;
        line.unit = Unit::Metre;
        line.price_field = "price_usd_per_metre";
        line.unit_price_usd = part.and_then(|p| p.attributes.price_usd_per_metre);
        line.unit_weight_kg = part.and_then(|p| p.attributes.kg_per_metre);
        to.push(line);
    }
    total
}

/// One line a task; gives the minutes of all.
fn labour_lines(
    to: &mut Builder<'_>,
    topology: &Topology,
    selection: &PartSelection,
    layout: &Layout,
    cables: &CableCounts,
    tray_metres: f64,
) -> f64 {
    let Some(part) = to.book.parts_of(PartKind::Labour).map(|(_, p)| p).next() else {
        return 0.0;
    };
    let Some(minutes) = &part.attributes.minutes else {
        return 0.0;
    };
    let servers = f64::from(topology.server_count());
    let cards: u32 = selection.nics.iter().map(|n| n.cards).sum();
    let all_cables = (cables.in_rack + cables.in_tray) as f64;
    let work = [
        (
            tasks::SET_RACK,
            "Set and level a rack",
            layout.racks.name.len() as f64,
        ),
        (tasks::MOUNT_SERVER, "Mount a server", servers),
        (
            tasks::MOUNT_SWITCH,
            "Mount a switch",
            f64::from(topology.switch_count()),
        ),
        (tasks::FIT_NIC, "Fit a network card", servers * f64::from(cards)),
        (
            tasks::PULL_CABLE_IN_RACK,
            "Pull a cable inside a rack",
            cables.in_rack as f64,
        ),
        (
            tasks::PULL_CABLE_IN_TRAY,
            "Pull a cable through trays",
            cables.in_tray as f64,
        ),
        (
            tasks::PULL_CABLE_PER_METRE,
            "Dress a cable in trays, by the metre",
            cables.tray_mm as f64 / 1000.0,
        ),
        (
            tasks::TERMINATE_END,
            "Fit a plug on bulk cable",
            2.0 * cables.cut as f64,
        ),
        (tasks::LABEL_CABLE, "Label a cable at both ends", all_cables),
        (tasks::TEST_CABLE, "Test a cable", all_cables),
        (tasks::FIT_TRAY_PER_METRE, "Fit tray, by the metre", tray_metres),
    ];
    let mut total = 0.0;
    for (task, name, times) in work {
        let Some(&each) = minutes.get(task) else {
            continue;
        };
        let spent = (each * times * 10.0).round() / 10.0;
        if spent <= 0.0 {
            continue;
        }
        total += spent;
        let mut line = NewLine::each(Category::Labour, Some(part), String::new(), 0);
        line.quantity = spent;
        line.unit = Unit::Minute;
        line.price_field = "usd_per_hour";
        line.unit_price_usd = part.attributes.usd_per_hour.map(|usd| usd / 60.0);
        line.unit_weight_kg = None;
        to.push(line);
        if let Some(last) = to.lines.last_mut() {
            last.name = name.to_owned();
        }
    }
    (total * 10.0).round() / 10.0
}
