//! A price book: the parts a plan may use, each value with the place it comes from.
//!
//! A book is data (`books/*.json`), pinned by a plan through its content hash. Nothing here invents a
//! value: a price the source does not give is `null`, and every total that meets it says "at least".

use std::collections::{BTreeMap, BTreeSet};

use cubeyard_topology::Finding;
use serde::{Deserialize, Serialize};

/// The kinds of part a book can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    Switch,
    Nic,
    Server,
    Cable,
    Transceiver,
    Rack,
    Container,
    Tray,
    Label,
    Labour,
}

impl PartKind {
    /// The word used for this kind in every document.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Nic => "nic",
            Self::Server => "server",
            Self::Cable => "cable",
            Self::Transceiver => "transceiver",
            Self::Rack => "rack",
            Self::Container => "container",
            Self::Tray => "tray",
            Self::Label => "label",
            Self::Labour => "labour",
        }
    }
}

/// How far a value can be trusted: printed in a publication, stated by the vendor, or assumed by us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    Published,
    Vendor,
    Assumed,
}

impl Basis {
    /// The word used in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Vendor => "vendor",
            Self::Assumed => "assumed",
        }
    }
}

/// Where a value comes from. `date` is ISO `YYYY-MM-DD`: when the source said so, not when it was typed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    pub source: String,
    pub date: String,
    pub basis: Basis,
}

/// Attributes by kind; each is `None` where it makes no sense. Units are in the names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Attributes {
    /// switch: access ports; nic: ports of one card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_gbps: Option<f64>,
    /// `rj45`, `sfp` (SFP, SFP+, SFP28) or `qsfp` (QSFP+, QSFP28, QSFP56, QSFP-DD).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connector: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_ports: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_gbps: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_connector: Option<String>,
    /// switch, server: rack units (44.45 mm each) one device takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height_units: Option<u32>,
    /// switch, server: how many stand side by side in those units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_unit: Option<u32>,
    /// `front-to-rear`, `rear-to-front` or `passive`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub airflow: Option<String>,

    /// cable, transceiver: `cat6`, `dac`, `aoc`, `fibre-om4` or `fibre-os2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_gbps: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reach_metres: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diameter_mm: Option<f64>,
    /// Smallest bend radius as a multiple of the diameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bend_radius_multiple: Option<f64>,
    /// Stock lengths, ascending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lengths_metres: Option<Vec<f64>>,
    /// One price per stock length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length_prices_usd: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bulk_price_usd_per_metre: Option<f64>,
    /// Metres in one box or drum of bulk cable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bulk_box_metres: Option<f64>,
    /// Price of one field-fitted connector; a bulk cable needs two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connector_price_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kg_per_metre: Option<f64>,
    /// The cable type's name in NetBox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netbox_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_transceiver: Option<bool>,
    /// transceiver: the line rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gbps: Option<f64>,

    /// rack: usable units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length_metres: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width_metres: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth_metres: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height_metres: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_weight_kg: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_limit_watts: Option<f64>,

    /// tray: inner cross-section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width_mm: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth_mm: Option<f64>,
    /// tray: price of one metre.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_usd_per_metre: Option<f64>,

    /// labour: minutes by task (see `bom::tasks`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<BTreeMap<String, f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd_per_hour: Option<f64>,
}

/// One catalog row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub sku: String,
    pub kind: PartKind,
    pub name: String,
    #[serde(default)]
    pub manufacturer: String,
    #[serde(default)]
    pub attributes: Attributes,
    #[serde(default)]
    pub price_usd: Option<f64>,
    #[serde(default)]
    pub power_watts: Option<f64>,
    #[serde(default)]
    pub weight_kg: Option<f64>,
    /// By field name; `*` is the source of every field not named.
    #[serde(default)]
    pub sources: BTreeMap<String, Source>,
}

impl Part {
    /// The source of one field, or of the part as a whole.
    pub fn source(&self, field: &str) -> Option<&Source> {
        self.sources.get(field).or_else(|| self.sources.get("*"))
    }

    /// Rack units one device takes (1 where the book does not say).
    pub fn height_units(&self) -> u32 {
        self.attributes.height_units.unwrap_or(1).max(1)
    }

    /// Devices of this part side by side in one shelf (1 where the book does not say).
    pub fn per_unit(&self) -> u32 {
        self.attributes.per_unit.unwrap_or(1).max(1)
    }

    /// Price of one cable of `stock_mm` from stock. `None` when the book gives no price for that length.
    pub fn cable_price_usd(&self, stock_mm: u32) -> Option<f64> {
        let lengths = self.attributes.lengths_metres.as_ref()?;
        let prices = self.attributes.length_prices_usd.as_ref()?;
        lengths
            .iter()
            .position(|&metres| metres_to_mm(metres) == stock_mm)
            .and_then(|at| prices.get(at).copied())
    }

    /// Weight of one cable of `length_mm`: fixed part (connectors) plus weight per metre.
    pub fn cable_weight_kg(&self, length_mm: u32) -> Option<f64> {
        let per_metre = self.attributes.kg_per_metre?;
        Some(self.weight_kg.unwrap_or(0.0) + per_metre * f64::from(length_mm) / 1000.0)
    }

    /// Line rate capacity of a switch or NIC: what "smallest that fits" compares.
    fn capacity_gbps(&self) -> f64 {
        let own = self.attributes.ports.unwrap_or(0) as f64 * self.attributes.port_gbps.unwrap_or(0.0);
        let up =
            self.attributes.uplink_ports.unwrap_or(0) as f64 * self.attributes.uplink_gbps.unwrap_or(0.0);
        own + up
    }
}

/// Metres to whole millimetres, the unit of every cable column.
pub fn metres_to_mm(metres: f64) -> u32 {
    (metres * 1000.0).round().max(0.0) as u32
}

/// A versioned price book.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Book {
    pub book: String,
    pub version: u32,
    pub title: String,
    pub currency: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
    pub parts: Vec<Part>,
}

/// Ports a device needs at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortDemand {
    pub gbps: f64,
    pub ports: u32,
}

/// A NIC part and how many cards of it one server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicChoice {
    pub part: usize,
    pub cards: u32,
}

/// The books that ship with the engine, oldest first.
const BUILTIN: [(&str, &str); 2] = [
    ("paper-2009", include_str!("../books/paper-2009.json")),
    ("current-2026", include_str!("../books/current-2026.json")),
];

/// The JSON texts of the built-in books, oldest first.
pub fn builtin_books() -> Vec<&'static str> {
    BUILTIN.iter().map(|(_, text)| *text).collect()
}

/// A built-in book by id.
pub fn builtin_book(id: &str) -> Option<Book> {
    let (_, text) = BUILTIN.iter().find(|(name, _)| *name == id)?;
    // The embedded texts are checked by a test, so a failure here cannot be seen by a user.
    Book::from_json(text).ok()
}

impl Book {
    /// Read and check a book.
    ///
    /// # Errors
    /// Findings that name the part, the field, the value and the fix.
    pub fn from_json(text: &str) -> Result<Self, Vec<Finding>> {
        let book: Self = serde_json::from_str(text).map_err(|e| {
            vec![error(
                "book-unreadable",
                "book",
                format!("the price book cannot be read: {e}"),
                "send a book in the form of a built-in one",
            )]
        })?;
        let findings = book.check();
        if findings.is_empty() {
            Ok(book)
        } else {
            Err(findings)
        }
    }

    /// What is wrong with the book's values; empty when it can be used.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.currency != "USD" {
            findings.push(error(
                "book-currency",
                "book.currency",
                format!("currency is {:?}; every field is named in USD", self.currency),
                "convert the prices and set currency to \"USD\"",
            ));
        }
        let mut seen = BTreeSet::new();
        for (i, part) in self.parts.iter().enumerate() {
            let at = |field: &str| format!("book.parts[{i}].{field}");
            if part.sku.is_empty() || !seen.insert(part.sku.as_str()) {
                findings.push(error(
                    "book-sku",
                    &at("sku"),
                    format!("sku {:?} is empty or used twice", part.sku),
                    "give every part its own sku",
                ));
            }
            for (field, value) in [
                ("price_usd", part.price_usd),
                ("power_watts", part.power_watts),
                ("weight_kg", part.weight_kg),
            ] {
                if value.is_some_and(|v| !v.is_finite() || v < 0.0) {
                    findings.push(error(
                        "book-value",
                        &at(field),
                        format!(
                            "{field} of {} is {}; it must be 0 or more",
                            part.sku,
                            value.unwrap_or(f64::NAN)
                        ),
                        "give a number of 0 or more, or null where it is not known",
                    ));
                }
            }
            for (field, message) in part.missing() {
                findings.push(error(
                    "book-attribute",
                    &at(&format!("attributes.{field}")),
                    format!("{}: {message}", part.sku),
                    "add or correct the attribute",
                ));
            }
            if part.sources.is_empty() {
                findings.push(error(
                    "book-source",
                    &at("sources"),
                    format!("{} has no source", part.sku),
                    "add a source for \"*\" with source, date and basis",
                ));
            }
        }
        findings
    }

    /// Parts of one kind with their indices, in book order.
    pub fn parts_of(&self, kind: PartKind) -> impl Iterator<Item = (usize, &Part)> {
        self.parts.iter().enumerate().filter(move |(_, p)| p.kind == kind)
    }

    /// Index of a part by sku.
    pub fn part_index(&self, sku: &str) -> Option<usize> {
        self.parts.iter().position(|p| p.sku == sku)
    }

    /// The smallest switch that fits: every demanded port finds a free port at least as fast, of a connector
    /// family that takes that rate. Smallest = least total line rate, then fewest ports, then cheapest, then sku.
    /// `connector` prefers a family (`rj45`, `sfp`) for the rates where both exist; another is taken if none fits.
    pub fn switch_for(&self, demand: &[PortDemand], connector: Option<&str>) -> Option<usize> {
        let fits = |wanted: Option<&str>| {
            self.parts_of(PartKind::Switch)
                .filter(|(_, p)| switch_fits(p, demand, wanted))
                .min_by(|(_, a), (_, b)| smaller(a, b))
                .map(|(i, _)| i)
        };
        connector
            .and_then(|wanted| fits(Some(wanted)))
            .or_else(|| fits(None))
    }

    /// NIC cards for one server's ports at one rate: fewest cards, then the smallest card that does.
    /// Three ports take one 4-port card, as the paper buys for DCell [bcube §8].
    pub fn nic_for(&self, demand: PortDemand, connector: Option<&str>) -> Option<NicChoice> {
        if demand.ports == 0 {
            return None;
        }
        let best = |wanted: Option<&str>| {
            self.parts_of(PartKind::Nic)
                .filter(|(_, p)| {
                    let a = &p.attributes;
                    a.ports.unwrap_or(0) > 0
                        && a.port_gbps.unwrap_or(0.0) >= demand.gbps
                        && takes_rate(a.connector.as_deref(), demand.gbps)
                        && wanted.is_none_or(|w| a.connector.as_deref() == Some(w))
                })
                .map(|(i, p)| (demand.ports.div_ceil(p.attributes.ports.unwrap_or(1)), i, p))
                .min_by(|(cards_a, _, a), (cards_b, _, b)| cards_a.cmp(cards_b).then_with(|| smaller(a, b)))
                .map(|(cards, part, _)| NicChoice { part, cards })
        };
        connector
            .and_then(|wanted| best(Some(wanted)))
            .or_else(|| best(None))
    }

    /// The server model that stands `servers_per_unit` side by side, else the nearest density above, else the
    /// densest; the first in the book among equals.
    pub fn server_for(&self, servers_per_unit: u32) -> Option<usize> {
        let wanted = servers_per_unit.max(1);
        self.parts_of(PartKind::Server)
            .min_by_key(|(i, p)| (p.per_unit() < wanted, p.per_unit().abs_diff(wanted), *i))
            .map(|(i, _)| i)
    }

    /// The rack with this sku, else the smallest with at least `units`, else the tallest.
    pub fn rack_for(&self, sku: Option<&str>, units: u32) -> Option<usize> {
        if let Some(found) = sku
            .and_then(|s| self.part_index(s))
            .filter(|&i| self.parts[i].kind == PartKind::Rack)
        {
            return Some(found);
        }
        let height = |p: &Part| p.attributes.units.unwrap_or(0);
        self.parts_of(PartKind::Rack)
            .filter(|(_, p)| height(p) >= units)
            .min_by_key(|(i, p)| (height(p), *i))
            .or_else(|| {
                self.parts_of(PartKind::Rack)
                    .max_by_key(|(i, p)| (height(p), usize::MAX - *i))
            })
            .map(|(i, _)| i)
    }

    /// The transceiver for a medium at a rate: the slowest that is fast enough, then the cheapest.
    pub fn transceiver_for(&self, medium: &str, gbps: f64) -> Option<usize> {
        self.parts_of(PartKind::Transceiver)
            .filter(|(_, p)| {
                p.attributes.medium.as_deref() == Some(medium) && p.attributes.gbps.unwrap_or(0.0) >= gbps
            })
            .min_by(|(_, a), (_, b)| {
                let rate = |p: &Part| p.attributes.gbps.unwrap_or(0.0);
                rate(a).total_cmp(&rate(b)).then_with(|| cheaper(a, b))
            })
            .map(|(i, _)| i)
    }
}

impl Part {
    /// Attributes this kind cannot do without, or that are out of range: (field, what is wrong).
    fn missing(&self) -> Vec<(&'static str, String)> {
        let a = &self.attributes;
        let mut out = Vec::new();
        let mut need = |field: &'static str, value: Option<f64>| match value {
            Some(v) if v.is_finite() && v > 0.0 => {}
            Some(v) => out.push((
                field,
                format!("{field} is {v}; a {} needs more than 0", self.kind.as_str()),
            )),
            None => out.push((field, format!("a {} needs {field}", self.kind.as_str()))),
        };
        match self.kind {
            PartKind::Switch | PartKind::Nic => {
                need("ports", a.ports.map(f64::from));
                need("port_gbps", a.port_gbps);
            }
            PartKind::Cable => {
                need("max_gbps", a.max_gbps);
                need("reach_metres", a.reach_metres);
                need("diameter_mm", a.diameter_mm);
            }
            PartKind::Transceiver => need("gbps", a.gbps),
            PartKind::Rack => {
                need("units", a.units.map(f64::from));
                need("width_metres", a.width_metres);
                need("depth_metres", a.depth_metres);
                need("height_metres", a.height_metres);
            }
            PartKind::Container => {
                need("length_metres", a.length_metres);
                need("width_metres", a.width_metres);
                need("height_metres", a.height_metres);
            }
            PartKind::Tray => {
                need("width_mm", a.width_mm);
                need("depth_mm", a.depth_mm);
            }
            PartKind::Server | PartKind::Label | PartKind::Labour => {}
        }
        if matches!(self.kind, PartKind::Cable | PartKind::Transceiver) && a.medium.is_none() {
            out.push(("medium", format!("a {} needs medium", self.kind.as_str())));
        }
        if let Some(lengths) = &a.lengths_metres {
            if lengths.is_empty()
                || lengths.iter().any(|l| !l.is_finite() || *l <= 0.0)
                || lengths.windows(2).any(|w| w[0] >= w[1])
            {
                out.push((
                    "lengths_metres",
                    "stock lengths must be positive and ascending".to_owned(),
                ));
            }
            if a.length_prices_usd
                .as_ref()
                .is_some_and(|p| p.len() != lengths.len())
            {
                out.push((
                    "length_prices_usd",
                    format!(
                        "needs one price for each of the {} stock lengths, or null",
                        lengths.len()
                    ),
                ));
            }
        }
        out
    }
}

/// Whether a connector family is made for a rate: RJ45 to 10G, SFP cages to 100G single-lane, QSFP from 40G.
/// A book that names no connector makes no promise, and none is checked.
fn takes_rate(connector: Option<&str>, gbps: f64) -> bool {
    match connector {
        Some("rj45") => gbps <= 10.0,
        Some("sfp") => gbps <= 25.0,
        Some("qsfp") => gbps >= 40.0,
        _ => true,
    }
}

/// Seat the demand: fastest first, each in the slowest pool of free ports that takes it.
fn switch_fits(part: &Part, demand: &[PortDemand], connector: Option<&str>) -> bool {
    let a = &part.attributes;
    let mut pools = [
        (
            a.port_gbps.unwrap_or(0.0),
            a.ports.unwrap_or(0),
            a.connector.as_deref(),
        ),
        (
            a.uplink_gbps.unwrap_or(0.0),
            a.uplink_ports.unwrap_or(0),
            a.uplink_connector.as_deref(),
        ),
    ];
    pools.sort_by(|x, y| x.0.total_cmp(&y.0));
    if let Some(wanted) = connector
        && a.connector.as_deref().is_some_and(|c| c != wanted && c != "qsfp")
    {
        return false;
    }
    let mut sorted = demand.to_vec();
    sorted.sort_by(|x, y| y.gbps.total_cmp(&x.gbps));
    for want in sorted {
        let mut left = want.ports;
        for (rate, free, family) in &mut pools {
            if *rate >= want.gbps && takes_rate(*family, want.gbps) {
                let taken = left.min(*free);
                *free -= taken;
                left -= taken;
            }
        }
        if left > 0 {
            return false;
        }
    }
    true
}

fn cheaper(a: &Part, b: &Part) -> std::cmp::Ordering {
    let price = |p: &Part| p.price_usd.unwrap_or(f64::INFINITY);
    price(a).total_cmp(&price(b)).then_with(|| a.sku.cmp(&b.sku))
}

fn smaller(a: &Part, b: &Part) -> std::cmp::Ordering {
    a.capacity_gbps()
        .total_cmp(&b.capacity_gbps())
        .then_with(|| a.attributes.ports.cmp(&b.attributes.ports))
        .then_with(|| cheaper(a, b))
}

fn error(code: &'static str, field: &str, message: String, hint: &str) -> Finding {
    Finding::error(code, field, message, hint)
}
