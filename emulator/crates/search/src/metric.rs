//! The metrics of a plan: one catalogue, from which requests, documents, forms and help are
//! derived.

use cubeyard_plan::book::CURRENCIES;
use cubeyard_topology::amount::rate_bits;
use serde_json::{Value, json};

/// The computation that a metric needs. Each stage needs those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Closed forms, computed in microseconds.
    Counts,
    /// The whole plan: milliseconds.
    Plan,
    /// All-to-all traffic on the whole network: up to seconds.
    Healthy,
    /// All-to-all traffic after the failures, for each seed.
    Degraded,
}

/// The unit of a metric's values, and other units that users can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A count.
    Count,
    /// In the currency of the price book.
    Money,
    /// In watts and their multiples.
    Watts,
    /// In metres.
    Metres,
    /// In kilograms and tonnes.
    Kilograms,
    /// Duration of work, in minutes and hours.
    Minutes,
    /// A data rate.
    Gbps,
    /// A part of a whole, 0 to 1.
    Share,
}

impl Unit {
    /// Names with the number of base units of each; the first is the base unit.
    pub fn names(self) -> &'static [(&'static str, f64)] {
        match self {
            Unit::Count => &[("", 1.0)],
            // The code of the price book's currency replaces USD.
            Unit::Money => &[("USD", 1.0), ("kUSD", 1e3), ("MUSD", 1e6)],
            Unit::Watts => &[("W", 1.0), ("kW", 1e3), ("MW", 1e6)],
            Unit::Metres => &[("m", 1.0), ("km", 1e3)],
            Unit::Kilograms => &[("kg", 1.0), ("t", 1e3)],
            Unit::Minutes => &[("min", 1.0), ("h", 60.0)],
            Unit::Gbps => &[("Gb/s", 1.0), ("Tb/s", 1e3), ("Mb/s", 1e-3)],
            Unit::Share => &[("", 1.0), ("%", 0.01)],
        }
    }

    /// Parses a value like `1.5 Tb/s` into base units; a bare number is in base units. `None` for
    /// another unit or no number. Money can be in any currency, which [`Unit::currency`] returns.
    pub fn read(self, text: &str) -> Option<f64> {
        let (number, unit) = split(text)?;
        let dollars = self.currency(text).map(|code| unit.replace(code, "USD"));
        let unit = dollars.as_deref().unwrap_or(unit);
        let known = self.names().iter().find(|(name, _)| *name == unit);
        let value = match known {
            _ if unit.is_empty() => number,
            // Division keeps 57% at 0.57.
            Some(&(_, of)) if of < 1.0 => number / (1.0 / of).round(),
            Some(&(_, of)) => number * of,
            None if self == Unit::Gbps => number * rate_bits(unit)? / 1e9,
            None => return None,
        };
        value.is_finite().then_some(value)
    }

    /// The currency that an amount is written in: EUR of `1.5 kEUR`.
    pub fn currency(self, text: &str) -> Option<&str> {
        let (_, unit) = split(text).filter(|_| self == Unit::Money)?;
        CURRENCIES.into_iter().find(|code| unit.ends_with(code))
    }

    /// The base unit in documents; for `money`, the price book defines the currency.
    fn base(self) -> &'static str {
        if self == Unit::Money {
            "money"
        } else {
            self.names()[0].0
        }
    }
}

/// The number of a value and the unit after it, which may be empty.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    // An `e` before a digit is an exponent, not the first letter of a unit.
    let exponent = |at: usize| {
        let after = text[at + 1..].trim_start_matches(['+', '-']);
        after.starts_with(|c: char| c.is_ascii_digit())
    };
    let unit = text
        .char_indices()
        .find(|&(at, c)| c == '%' || c.is_alphabetic() && !(matches!(c, 'e' | 'E') && exponent(at)));
    let (number, unit) = text.split_at(unit.map_or(text.len(), |(at, _)| at));
    let number: f64 = number.trim().replace(',', "").parse().ok()?;
    Some((number, unit.trim()))
}

/// One metric of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in requests and documents.
    pub name: &'static str,
    /// Name shown to users.
    pub title: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// The stage of the computation that yields it.
    pub stage: Stage,
    /// Whether a larger value is better.
    pub more: bool,
    /// Its definition and source.
    pub doc: &'static str,
}

const fn metric(
    name: &'static str,
    title: &'static str,
    (unit, stage, more): (Unit, Stage, bool),
    doc: &'static str,
) -> Metric {
    Metric {
        name,
        title,
        unit,
        stage,
        more,
        doc,
    }
}

/// Every metric, in the order of their stages and of menus. A metric's index here is also its index
/// in a candidate's values.
pub const METRICS: &[Metric] = &[
    metric(
        "servers",
        "Servers",
        (Unit::Count, Stage::Counts, true),
        "Servers of the plan.",
    ),
    metric(
        "switches",
        "Switches",
        (Unit::Count, Stage::Counts, false),
        "Switches of all levels.",
    ),
    metric(
        "links",
        "Links",
        (Unit::Count, Stage::Counts, false),
        "Logical links.",
    ),
    metric(
        "server_ports",
        "Ports per server",
        (Unit::Count, Stage::Counts, false),
        "Network ports that a server needs.",
    ),
    metric(
        "cost",
        "Cost",
        (Unit::Money, Stage::Plan, false),
        "Every line of the bill. Plans with a part that has no price are left out.",
    ),
    metric(
        "network_cost",
        "Network cost",
        (Unit::Money, Stage::Plan, false),
        "Switches, NICs, cables and transceivers.",
    ),
    metric(
        "cost_per_server",
        "Cost per server",
        (Unit::Money, Stage::Plan, false),
        "Cost over servers.",
    ),
    metric(
        "power",
        "Power",
        (Unit::Watts, Stage::Plan, false),
        "Of servers, NICs and switches at the plug.",
    ),
    metric(
        "containers",
        "Containers",
        (Unit::Count, Stage::Plan, false),
        "Number of containers for the racks; none if the site is a room.",
    ),
    metric(
        "racks",
        "Racks",
        (Unit::Count, Stage::Plan, false),
        "Racks of the layout.",
    ),
    metric(
        "cable_length",
        "Total cable length",
        (Unit::Metres, Stage::Plan, false),
        "Order lengths of all cables.",
    ),
    metric(
        "longest_cable",
        "Longest cable",
        (Unit::Metres, Stage::Plan, false),
        "Order length of the longest cable.",
    ),
    metric(
        "weight",
        "Weight",
        (Unit::Kilograms, Stage::Plan, false),
        "Of everything on the bill whose weight is known.",
    ),
    metric(
        "labour",
        "Labour",
        (Unit::Minutes, Stage::Plan, false),
        "Hours of work to rack, cable and label.",
    ),
    metric(
        "limits_exceeded",
        "Site limits exceeded",
        (Unit::Count, Stage::Plan, false),
        "Of power feed, cooling, gross mass and floor load.",
    ),
    metric(
        "diameter",
        "Diameter",
        (Unit::Count, Stage::Plan, false),
        "Links of the longest shortest path, in closed form: exact or an upper bound.",
    ),
    metric(
        "bisection",
        "Bisection",
        (Unit::Gbps, Stage::Plan, true),
        "Capacity between two halves, in closed form: exact or a bound.",
    ),
    metric(
        "abt",
        "ABT",
        (Unit::Gbps, Stage::Healthy, true),
        "Aggregate bottleneck throughput of all-to-all traffic. [bcube §3.6]",
    ),
    metric(
        "abt_degraded",
        "ABT after failures",
        (Unit::Gbps, Stage::Degraded, true),
        "The least of the seeds.",
    ),
    metric(
        "abt_kept",
        "ABT kept",
        (Unit::Share, Stage::Degraded, true),
        "ABT after failures over ABT.",
    ),
    metric(
        "carried",
        "Flows carried",
        (Unit::Share, Stage::Degraded, true),
        "Flows with a path after failures over all flows, the least of the seeds.",
    ),
];

/// Index of a metric in [`METRICS`].
pub fn index_of(name: &str) -> Option<usize> {
    METRICS.iter().position(|metric| metric.name == name)
}

/// Indices of the metrics that the code computes.
pub(crate) mod at {
    pub const SERVERS: usize = 0;
    pub const SWITCHES: usize = 1;
    pub const LINKS: usize = 2;
    pub const SERVER_PORTS: usize = 3;
    pub const COST: usize = 4;
    pub const NETWORK_COST: usize = 5;
    pub const COST_PER_SERVER: usize = 6;
    pub const POWER: usize = 7;
    pub const CONTAINERS: usize = 8;
    pub const RACKS: usize = 9;
    pub const CABLE_LENGTH: usize = 10;
    pub const LONGEST_CABLE: usize = 11;
    pub const WEIGHT: usize = 12;
    pub const LABOUR: usize = 13;
    pub const LIMITS_EXCEEDED: usize = 14;
    pub const DIAMETER: usize = 15;
    pub const BISECTION: usize = 16;
    pub const ABT: usize = 17;
    pub const ABT_DEGRADED: usize = 18;
    pub const ABT_KEPT: usize = 19;
    pub const CARRIED: usize = 20;
}

/// `[{name, title, unit, units, stage, more, doc}]` of every metric; `units` are what a value may
/// be written in.
pub fn metrics_json() -> Value {
    let list = METRICS.iter().map(|metric| {
        let units: Vec<&str> = metric.unit.names().iter().map(|(name, _)| *name).collect();
        let stage = match metric.stage {
            Stage::Counts => "counts",
            Stage::Plan => "plan",
            Stage::Healthy => "healthy",
            Stage::Degraded => "degraded",
        };
        json!({
            "name": metric.name, "title": metric.title, "unit": metric.unit.base(), "units": units, "stage": stage,
            "more": metric.more, "doc": metric.doc,
        })
    });
    Value::Array(list.collect())
}

/// A candidate's values by index in [`METRICS`]; `None`: not computed, or the plan has none.
pub type Values = [Option<f64>; METRICS.len()];

/// Values by name, with bounds if they are not exact.
pub fn values_json(values: &Values) -> Value {
    let known = METRICS.iter().zip(values);
    Value::Object(
        known
            .filter_map(|(metric, value)| Some((metric.name.to_owned(), json!((*value)?))))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_catalogue() {
        let places = [
            ("servers", at::SERVERS),
            ("server_ports", at::SERVER_PORTS),
            ("cost", at::COST),
            ("containers", at::CONTAINERS),
            ("limits_exceeded", at::LIMITS_EXCEEDED),
            ("bisection", at::BISECTION),
            ("abt", at::ABT),
            ("carried", at::CARRIED),
        ];
        for (name, place) in places {
            assert_eq!(index_of(name), Some(place), "{name}");
        }
        assert!(METRICS.is_sorted_by_key(|metric| metric.stage));
    }

    #[test]
    fn rates_are_read_as_everywhere_else() {
        let rates: serde_json::Map<String, Value> =
            serde_json::from_str(include_str!("../../topology/tests/rates.json")).expect("JSON");
        for (unit, bits) in rates {
            let read = Unit::Gbps.read(&format!("8 {unit}"));
            let wanted = match unit.as_str() {
                "" => Some(8.0),
                _ => bits.as_f64().map(|bits| 8.0 * bits / 1e9),
            };
            let near = |(a, b): (f64, f64)| (a - b).abs() < 1e-9 * b;
            assert!(read.zip(wanted).map_or(read == wanted, near), "{unit}: {read:?}");
        }
        assert_eq!(Unit::Share.read("57%"), Some(0.57));
    }

    #[test]
    fn values_are_read_in_any_unit_of_their_kind() {
        let cases: [(Unit, &str, Option<f64>); 15] = [
            (Unit::Gbps, "1 Tb/s", Some(1000.0)),
            (Unit::Gbps, "1e3", Some(1000.0)),
            (Unit::Watts, "300kW", Some(3e5)),
            (Unit::Money, "1,500 USD", Some(1500.0)),
            (Unit::Money, "1.5 MEUR", Some(1.5e6)),
            (Unit::Money, "1.5e3 EUR", Some(1500.0)),
            (Unit::Money, "2 MGA", Some(2.0)),
            (Unit::Money, "2 EURO", None),
            (Unit::Watts, "2 EUR", None),
            (Unit::Share, "90 %", Some(0.9)),
            (Unit::Count, " 1500 ", Some(1500.0)),
            (Unit::Watts, "1 Tb/s", None),
            (Unit::Count, "many", None),
            (Unit::Count, "", None),
            (Unit::Count, "inf", None),
        ];
        for (unit, text, value) in cases {
            let read = unit.read(text);
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b;
            assert!(
                read.zip(value).map_or(read == value, |(a, b)| near(a, b)),
                "{text}"
            );
        }
    }
}
