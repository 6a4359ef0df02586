//! A price book: the parts that a plan can use, each value with its source.
//!
//! A book is data (`books/*.json`), pinned by a plan through its content hash. Nothing here invents
//! a value: a price that the source does not state is `null`, and every total that includes such an
//! item is marked "at least".

use std::collections::{BTreeMap, BTreeSet};

use cubeyard_topology::Finding;
use serde::{Deserialize, Serialize};

use crate::spec::BREAKOUT_LINKS_AT_MOST;

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
    /// The room for racks without a purchased container: open rows, or the customer's enclosure.
    Room,
    Tray,
    /// Carries devices that stand side by side in a rack.
    Shelf,
    /// A pair of rails, for one device of the rack's full width.
    Rail,
    Pdu,
    Cord,
    Tie,
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
            Self::Room => "room",
            Self::Tray => "tray",
            Self::Shelf => "shelf",
            Self::Rail => "rail",
            Self::Pdu => "pdu",
            Self::Cord => "cord",
            Self::Tie => "tie",
            Self::Label => "label",
            Self::Labour => "labour",
        }
    }
}

/// The reliability of a value: printed in a publication, stated by the vendor, or assumed by us.
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

/// The source of a value. `date` is ISO `YYYY-MM-DD`: the date of the source, not of its entry
/// here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    pub source: String,
    pub date: String,
    pub basis: Basis,
}

/// Attributes by kind; an attribute without meaning for a kind is `None`. Units are in the names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Attributes {
    /// The manufacturer's part number, who sells it, and how long delivery takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_number: Option<String>,
    /// Part numbers of specific lengths and colours, if they differ: `3 m blue`, `3 m`, `blue`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_numbers: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supplier: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lead_time_days: Option<u32>,
    /// switch: spares to buy, as a share of those in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare_ratio: Option<f64>,
    /// switch, server: power cords per device; 1 if the book does not state it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_cords: Option<u32>,
    /// pdu: number of sockets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outlets: Option<u32>,
    /// label: labels on a sheet; tie: ties in a pack. The price and weight are those of a sheet or
    /// pack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pieces_per_unit: Option<u32>,
    /// label: the paper of a sheet, `a4` or `letter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<String>,
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
    /// switch, server: number of devices side by side in those units.
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
    /// cable: the number of its links, if several (a breakout). `max_gbps`, `diameter_mm` and the
    /// bend radius are of one leg, weights and prices of the whole; `connector` is the trunk's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<u32>,
    /// cable: the plug of each leg of a breakout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_connector: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reach_metres: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diameter_mm: Option<f64>,
    /// Smallest bend radius as a multiple of the diameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bend_radius_multiple: Option<f64>,
    /// Stock lengths in metres, ascending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lengths_metres: Option<Vec<f64>>,
    /// One price per stock length; null where a length has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length_prices_usd: Option<Vec<Option<f64>>>,
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

    /// rack: number of usable units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units: Option<u32>,
    /// container: inner length; tray: length of one piece.
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
    /// rack, container, room: power of the usual feed; pdu: the power that it can carry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_limit_watts: Option<f64>,
    /// container, room: heat that the usual cooling takes away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooling_limit_watts: Option<f64>,
    /// container: the largest mass including its contents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gross_mass_limit_kg: Option<f64>,
    /// container, room: distributed load that the floor bears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_load_limit_kg_per_m2: Option<f64>,
    /// room: the enclosure that it is, as in `site.enclosure`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enclosure: Option<String>,

    /// tray: width of the inner cross-section.
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

/// One row of the catalog.
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

    /// Height of the device in rack units (1 if the book does not state it).
    pub fn height_units(&self) -> u32 {
        self.attributes.height_units.unwrap_or(1).max(1)
    }

    /// Number of devices of this part side by side in one shelf (1 if the book does not state it).
    pub fn per_unit(&self) -> u32 {
        self.attributes.per_unit.unwrap_or(1).max(1)
    }

    /// Price of one cable of `stock_mm` from stock. `None` when the book gives no price for that
    /// length.
    pub fn cable_price_usd(&self, stock_mm: u32) -> Option<f64> {
        let lengths = self.attributes.lengths_metres.as_ref()?;
        let prices = self.attributes.length_prices_usd.as_ref()?;
        lengths
            .iter()
            .position(|&metres| metres_to_mm(metres) == stock_mm)
            .and_then(|at| prices.get(at).copied().flatten())
    }

    /// The manufacturer's part number of a piece of this length and colour.
    pub fn part_number(&self, length_mm: Option<u32>, colour: Option<&str>) -> Option<&str> {
        let length = length_mm.map(|mm| format!("{} m", f64::from(mm) / 1000.0));
        let words: Vec<&str> = length.as_deref().into_iter().chain(colour).collect();
        let numbers = self.attributes.part_numbers.as_ref();
        numbers
            .and_then(|numbers| numbers.get(&words.join(" ")))
            .or(self.attributes.part_number.as_ref())
            .map(String::as_str)
    }

    /// Weight of one cable of `length_mm`: fixed part (connectors) plus weight per metre.
    pub fn cable_weight_kg(&self, length_mm: u32) -> Option<f64> {
        let per_metre = self.attributes.kg_per_metre?;
        Some(self.weight_kg.unwrap_or(0.0) + per_metre * f64::from(length_mm) / 1000.0)
    }

    /// Total line rate of a switch or NIC, by which the smallest part that fits is chosen.
    pub(crate) fn capacity_gbps(&self) -> f64 {
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

/// Currencies that money is paid in, by code. [ISO 4217, list one, without funds, metals and test
/// codes]
pub const CURRENCIES: [&str; 155] = [
    "AED", "AFN", "ALL", "AMD", "AOA", "ARS", "AUD", "AWG", "AZN", "BAM", "BBD", "BDT", "BHD", "BIF", "BMD",
    "BND", "BOB", "BRL", "BSD", "BTN", "BWP", "BYN", "BZD", "CAD", "CDF", "CHF", "CLP", "CNY", "COP", "CRC",
    "CUP", "CVE", "CZK", "DJF", "DKK", "DOP", "DZD", "EGP", "ERN", "ETB", "EUR", "FJD", "FKP", "GBP", "GEL",
    "GHS", "GIP", "GMD", "GNF", "GTQ", "GYD", "HKD", "HNL", "HTG", "HUF", "IDR", "ILS", "INR", "IQD", "IRR",
    "ISK", "JMD", "JOD", "JPY", "KES", "KGS", "KHR", "KMF", "KPW", "KRW", "KWD", "KYD", "KZT", "LAK", "LBP",
    "LKR", "LRD", "LSL", "LYD", "MAD", "MDL", "MGA", "MKD", "MMK", "MNT", "MOP", "MRU", "MUR", "MVR", "MWK",
    "MXN", "MYR", "MZN", "NAD", "NGN", "NIO", "NOK", "NPR", "NZD", "OMR", "PAB", "PEN", "PGK", "PHP", "PKR",
    "PLN", "PYG", "QAR", "RON", "RSD", "RUB", "RWF", "SAR", "SBD", "SCR", "SDG", "SEK", "SGD", "SHP", "SLE",
    "SOS", "SRD", "SSP", "STN", "SVC", "SYP", "SZL", "THB", "TJS", "TMT", "TND", "TOP", "TRY", "TTD", "TWD",
    "TZS", "UAH", "UGX", "USD", "UYU", "UZS", "VED", "VES", "VND", "VUV", "WST", "XAF", "XCD", "XCG", "XOF",
    "XPF", "YER", "ZAR", "ZMW", "ZWG",
];

/// A versioned price book. All amounts in it, and all amounts computed from it, are in `currency`.
/// Fields that end in `_usd` are in that currency too; their name is older than other currencies.
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

    /// The errors in the book's values; empty if it can be used.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if !CURRENCIES.contains(&self.currency.as_str()) {
            findings.push(error(
                "book-currency",
                "book.currency",
                format!("currency is {:?}, which is no code of ISO 4217", self.currency),
                "give the three capital letters of the currency that all prices are in, such as \"EUR\"",
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
}

impl Part {
    /// Attributes that this kind requires and that are missing or out of range: (field, error).
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
            PartKind::Pdu => {
                need("outlets", a.outlets.map(f64::from));
                need("power_limit_watts", a.power_limit_watts);
            }
            PartKind::Server
            | PartKind::Room
            | PartKind::Shelf
            | PartKind::Rail
            | PartKind::Cord
            | PartKind::Tie
            | PartKind::Label
            | PartKind::Labour => {}
        }
        for (field, value) in [
            ("length_metres", a.length_metres),
            ("power_limit_watts", a.power_limit_watts),
            ("cooling_limit_watts", a.cooling_limit_watts),
            ("gross_mass_limit_kg", a.gross_mass_limit_kg),
            ("floor_load_limit_kg_per_m2", a.floor_load_limit_kg_per_m2),
        ] {
            if let Some(v) = value.filter(|v| !v.is_finite() || *v <= 0.0) {
                out.push((field, format!("{field} is {v}; it must be more than 0")));
            }
        }
        if matches!(self.kind, PartKind::Cable | PartKind::Transceiver) && a.medium.is_none() {
            out.push(("medium", format!("a {} needs medium", self.kind.as_str())));
        }
        if let Some(links) = a
            .links
            .filter(|links| !(2..=BREAKOUT_LINKS_AT_MOST.into()).contains(links))
        {
            out.push((
                "links",
                format!("links is {links}; a breakout has 2 to {BREAKOUT_LINKS_AT_MOST}"),
            ));
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
            let prices = a.length_prices_usd.as_ref();
            if prices.is_some_and(|p| p.iter().flatten().any(|usd| !usd.is_finite() || *usd < 0.0)) {
                out.push(("length_prices_usd", "a price must be 0 or more".to_owned()));
            }
            if prices.is_some_and(|p| p.len() != lengths.len()) {
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

fn error(code: &'static str, field: &str, message: String, hint: &str) -> Finding {
    Finding::error(code, field, message, hint)
}
