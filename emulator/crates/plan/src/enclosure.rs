//! Limits of a container or a room: power feed, cooling, gross mass and floor load.
//!
//! The limits are data of the enclosure's part in the price book, each with its source; the plan's
//! `site` can override them. They apply to one container, or to the whole room. A limit without a
//! value is not checked, and the summary reports that.

use cubeyard_topology::Finding;
use serde::Serialize;
use serde_json::json;

use crate::bom::{Bom, Category};
use crate::book::{Attributes, Basis, Book};
use crate::layout::Layout;
use crate::spec::{Enclosure, PlanSpec, SiteSpec};

/// Most containers that a repair proposes.
const MOST_CONTAINERS: u32 = 64;
/// The largest number of repairs that are tried by planning again.
const MOST_TRIALS: usize = 3;

/// The limited quantity. All electric power becomes heat, so power and cooling compare the same
/// watts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    Power,
    Cooling,
    GrossMass,
    FloorLoad,
}

impl Quantity {
    const ALL: [Quantity; 4] = [
        Quantity::Power,
        Quantity::Cooling,
        Quantity::GrossMass,
        Quantity::FloorLoad,
    ];

    /// Field of the site, and of the part's attributes in the price book.
    fn field(self) -> &'static str {
        match self {
            Quantity::Power => "power_limit_watts",
            Quantity::Cooling => "cooling_limit_watts",
            Quantity::GrossMass => "gross_mass_limit_kg",
            Quantity::FloorLoad => "floor_load_limit_kg_per_m2",
        }
    }

    /// The limit's name, as a user reads it.
    fn title(self) -> &'static str {
        match self {
            Quantity::Power => "power feed",
            Quantity::Cooling => "cooling",
            Quantity::GrossMass => "gross mass",
            Quantity::FloorLoad => "floor load",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Quantity::Power | Quantity::Cooling => "W",
            Quantity::GrossMass => "kg",
            Quantity::FloorLoad => "kg/m2",
        }
    }

    /// (code where the limit is exceeded, code where the plan accepts more than the catalog's
    /// limit)
    fn codes(self) -> (&'static str, &'static str) {
        match self {
            Quantity::Power => ("enclosure-over-power", "enclosure-power-accepted"),
            Quantity::Cooling => ("enclosure-over-cooling", "enclosure-cooling-accepted"),
            Quantity::GrossMass => ("enclosure-over-mass", "enclosure-mass-accepted"),
            Quantity::FloorLoad => ("floor-over-load", "floor-load-accepted"),
        }
    }

    fn in_spec(self, site: &SiteSpec) -> Option<f64> {
        match self {
            Quantity::Power => site.power_limit_watts,
            Quantity::Cooling => site.cooling_limit_watts,
            Quantity::GrossMass => site.gross_mass_limit_kg,
            Quantity::FloorLoad => site.floor_load_limit_kg_per_m2,
        }
    }

    fn in_catalog(self, attributes: &Attributes) -> Option<f64> {
        match self {
            Quantity::Power => attributes.power_limit_watts,
            Quantity::Cooling => attributes.cooling_limit_watts,
            Quantity::GrossMass => attributes.gross_mass_limit_kg,
            Quantity::FloorLoad => attributes.floor_load_limit_kg_per_m2,
        }
    }

    /// A value as a user reads it: kilowatts, whole kilograms.
    fn text(self, value: f64) -> String {
        match self {
            Quantity::Power | Quantity::Cooling => format!("{:.1} kW", value / 1000.0),
            Quantity::GrossMass => format!("{} kg", grouped(value)),
            Quantity::FloorLoad => format!("{} kg/m2", grouped(value)),
        }
    }

    /// The least limit, in whole steps, that allows `value`: the number that accepting writes into
    /// the spec.
    fn whole(self, value: f64) -> f64 {
        let step = match self {
            Quantity::Power | Quantity::Cooling => 1000.0,
            Quantity::GrossMass | Quantity::FloorLoad => 1.0,
        };
        (value / step - 1e-9).ceil() * step
    }
}

/// A rounded number with thousands separators.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.max(0.0));
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// One limit of the enclosure with the container, room or rack that comes nearest to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteLimit {
    pub quantity: Quantity,
    pub title: &'static str,
    pub unit: &'static str,
    /// The largest value of any container, of the room, or of the floor under a rack.
    pub value: f64,
    /// The place of that value: `Container 1`, `Room`, or a rack's name.
    pub place: String,
    /// `None` where neither the catalog nor the spec states one.
    pub limit: Option<f64>,
    /// The catalog's limit, which the spec may replace.
    pub usual: Option<f64>,
    /// Number of containers over the limit.
    pub over: usize,
    /// Parts of unknown weight or power count nothing in `value`.
    pub at_least: bool,
    /// Source of the catalog's limit.
    pub source: Option<String>,
    pub basis: Option<Basis>,
}

/// The load of each container (or of the room).
struct Loads {
    watts: Vec<f64>,
    /// With racks, cables, trays and the container's own weight.
    gross_kg: Vec<f64>,
    /// By rack: the rack with its contents, and the trays and cables above it.
    rack_kg: Vec<f64>,
    /// By rack: its weight divided by its floor area.
    floor_kg_per_m2: Vec<f64>,
    /// The mass of the empty container.
    tare_kg: f64,
    mass_at_least: bool,
}

impl Loads {
    fn of(layout: &Layout, book: &Book, bom: &Bom, part: Option<usize>) -> Loads {
        let (site, racks) = (&layout.site, &layout.racks);
        // A pin may set a rack outside of all containers' columns; it is counted where its column
        // belongs.
        let count = racks
            .container
            .iter()
            .map(|&c| c + 1)
            .max()
            .unwrap_or(1)
            .max(site.containers);
        let tare = part.and_then(|i| book.parts[i].weight_kg);
        let rack = site.rack_part.and_then(|i| book.parts[i].weight_kg);
        let tare_kg = tare.unwrap_or(0.0);
        // Cables and trays hang over the racks, fittings are in them: distributed evenly among
        // them.
        let hung: f64 = bom
            .lines
            .iter()
            .filter(|line| {
                use Category::{Cable, Connector, Cord, Label, Pdu, Rail, Shelf, Tie, Transceiver, Tray};
                matches!(
                    line.category,
                    Cable | Connector | Cord | Label | Pdu | Rail | Shelf | Tie | Transceiver | Tray
                )
            })
            .filter_map(|line| line.weight_kg)
            .sum();
        let each = rack.unwrap_or(0.0) + hung / racks.len().max(1) as f64;
        let mut loads = Loads {
            watts: vec![0.0; count as usize],
            gross_kg: vec![tare_kg; count as usize],
            rack_kg: racks.weight_kg.iter().map(|kg| kg + each).collect(),
            floor_kg_per_m2: Vec::with_capacity(racks.len()),
            tare_kg,
            mass_at_least: bom.weight_at_least || rack.is_none(),
        };
        let floor_m2 = site.rack_width_metres
            * if site.enclosure == Enclosure::Rows {
                site.rack_depth_metres + (site.aisle_metres + site.hot_aisle_metres) / 2.0
            } else {
                site.width_metres / f64::from(site.columns.max(1))
            };
        for r in 0..racks.len() {
            let container = racks.container[r] as usize;
            let kg = loads.rack_kg[r];
            loads.watts[container] += racks.power_watts[r];
            loads.gross_kg[container] += kg;
            loads.floor_kg_per_m2.push(kg / floor_m2);
        }
        loads
    }

    fn values(&self, quantity: Quantity) -> &[f64] {
        match quantity {
            Quantity::Power | Quantity::Cooling => &self.watts,
            Quantity::GrossMass => &self.gross_kg,
            Quantity::FloorLoad => &self.floor_kg_per_m2,
        }
    }
}

/// The mass of each container with everything in it, in kilograms; without containers, the mass of
/// the whole room.
pub(crate) fn gross_kg(layout: &Layout, book: &Book, bom: &Bom) -> Vec<f64> {
    let part = book.enclosure_for(layout.site.enclosure, layout.site.length_metres);
    Loads::of(layout, book, bom, part).gross_kg
}

/// The limits of the enclosure, each with the container that comes nearest to it. Exceeding a limit
/// is a finding, and so is exceeding the catalog's limit with acceptance. `gross_kg_in` plans with
/// another number of containers, for [`gross_kg`]; it is called a few times if the mass exceeds its
/// limit.
pub(crate) fn check(
    spec: &PlanSpec,
    layout: &Layout,
    book: &Book,
    bom: &Bom,
    power_at_least: bool,
    gross_kg_in: &dyn Fn(u32) -> Vec<f64>,
    findings: &mut Vec<Finding>,
) -> Vec<SiteLimit> {
    let site = &layout.site;
    let part = book.enclosure_for(site.enclosure, site.length_metres);
    let loads = Loads::of(layout, book, bom, part);
    let in_container = site.enclosure != Enclosure::Rows;
    let mut limits = Vec::new();
    for quantity in Quantity::ALL {
        // A room is not lifted.
        if quantity == Quantity::GrossMass && !in_container {
            continue;
        }
        let values = loads.values(quantity);
        let worst = (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b]).then(b.cmp(&a)));
        let Some(worst) = worst else { continue };
        let catalog = part.map(|i| &book.parts[i]);
        let usual = catalog.and_then(|p| quantity.in_catalog(&p.attributes));
        let limit = quantity.in_spec(&spec.site).or(usual);
        let stated = usual.and(catalog).and_then(|p| p.source(quantity.field()));
        let entry = SiteLimit {
            quantity,
            title: quantity.title(),
            unit: quantity.unit(),
            value: (values[worst] * 10.0).round() / 10.0,
            place: match quantity {
                Quantity::FloorLoad => layout.racks.name[worst].clone(),
                _ if in_container => format!("Container {}", worst + 1),
                _ => "Room".to_owned(),
            },
            limit,
            usual,
            over: limit.map_or(0, |limit| values.iter().filter(|&&v| v > limit).count()),
            at_least: match quantity {
                Quantity::Power | Quantity::Cooling => power_at_least,
                Quantity::GrossMass | Quantity::FloorLoad => loads.mass_at_least,
            },
            source: stated.map(|s| s.source.clone()),
            basis: stated.map(|s| s.basis),
        };
        findings.extend(finding(&entry, values[worst], layout, &loads, gross_kg_in));
        limits.push(entry);
    }
    limits
}

fn finding(
    entry: &SiteLimit,
    value: f64,
    layout: &Layout,
    loads: &Loads,
    gross_kg_in: &dyn Fn(u32) -> Vec<f64>,
) -> Option<Finding> {
    let quantity = entry.quantity;
    let limit = entry.limit?;
    let (over, accepted) = quantity.codes();
    let field = format!("site.{}", quantity.field());
    let text = quantity.text(value);
    let takes = match quantity {
        Quantity::Power => format!("{} draws {text}", entry.place),
        Quantity::Cooling => format!("{} gives off {text} of heat", entry.place),
        Quantity::GrossMass => format!("{} weighs {text} with everything in it", entry.place),
        Quantity::FloorLoad => format!(
            "{} loads the floor with {text}, its share of the aisles included",
            entry.place
        ),
    };
    if value <= limit {
        let usual = entry.usual.filter(|&usual| value > usual)?;
        return Some(
            Finding::info(
                accepted,
                field.as_str(),
                format!(
                    "Accepted by the plan: {} limit {} (catalog: {}). {takes}.",
                    entry.title,
                    quantity.text(limit),
                    quantity.text(usual)
                ),
                format!("Leave {field} out to be warned again."),
            )
            .with_value(value)
            .with_limit(limit),
        );
    }
    let whose = match (entry.usual == Some(limit), entry.basis) {
        (true, Some(Basis::Assumed)) => "the usual limit (assumed) is",
        (true, _) => "the usual limit is",
        (false, _) => "the limit is",
    };
    let others = match entry.over {
        0 | 1 => String::new(),
        n => format!(" {n} are over it."),
    };
    let message = format!("{takes}; {whose} {}.{others}", quantity.text(limit));
    let (help, fix) = repair(quantity, limit, layout, loads, gross_kg_in);
    let larger = match quantity {
        Quantity::Power => "state a larger feed",
        Quantity::Cooling => "state a larger cooling",
        Quantity::GrossMass => "state the limit of a container that is rated higher",
        Quantity::FloorLoad => "state the limit of a stronger floor",
    };
    let hint = format!("{help}, or {larger} in {field}.");
    let finding = if quantity == Quantity::GrossMass {
        // Nobody may exceed it, so there is no acceptance.
        Finding::error(over, field.as_str(), message, hint)
    } else {
        let whole = quantity.whole(value);
        Finding::warning(over, field.as_str(), message, hint).with_acceptance(
            format!("Accept {}", quantity.text(whole)),
            json!({"site": {(quantity.field()): whole}}),
        )
    };
    let finding = finding.with_value(value).with_limit(limit);
    Some(match fix {
        Some(fix) => finding.with_fix(fix),
        None => finding,
    })
}

/// A fix in words and, if it certainly helps, as a patch.
fn repair(
    quantity: Quantity,
    limit: f64,
    layout: &Layout,
    loads: &Loads,
    gross_kg_in: &dyn Fn(u32) -> Vec<f64>,
) -> (String, Option<serde_json::Value>) {
    let site = &layout.site;
    if site.enclosure == Enclosure::Rows {
        return match quantity {
            Quantity::FloorLoad => (
                "Put fewer servers into a rack (packaging.servers_per_rack)".to_owned(),
                None,
            ),
            _ => ("Use fewer servers, or servers that draw less".to_owned(), None),
        };
    }
    let rows = || Some(json!({"site": {"enclosure": "rows"}}));
    if quantity == Quantity::FloorLoad {
        return ("Use open rows, or fewer servers in a rack".to_owned(), rows());
    }
    match containers_needed(quantity, limit, layout, loads, gross_kg_in) {
        Some(n) => (
            format!("Use {n} containers, or open rows"),
            Some(json!({"site": {"containers": n}})),
        ),
        None => ("Use open rows".to_owned(), rows()),
    }
}

/// Containers among which the racks can be shared so that none is over the limit; `None` if the
/// planner cannot distribute them (loops have a shape) or it does not help.
fn containers_needed(
    quantity: Quantity,
    limit: f64,
    layout: &Layout,
    loads: &Loads,
    gross_kg_in: &dyn Fn(u32) -> Vec<f64>,
) -> Option<u32> {
    if layout.loop_racks.is_some() {
        return None;
    }
    let weighs = quantity == Quantity::GrossMass;
    let (of_racks, tare) = if weighs {
        (&loads.rack_kg, loads.tare_kg)
    } else {
        (&layout.racks.power_watts, 0.0)
    };
    let racks = of_racks.len() as u32;
    let each = |n: u32| layout.site.racks_per_container(racks, n).max(1) as usize;
    let mut candidates = (layout.site.containers + 1..=MOST_CONTAINERS.min(racks))
        .filter(|&n| each(n) < each(n - 1))
        .filter(|&n| {
            of_racks
                .chunks(each(n))
                .all(|share| tare + share.iter().sum::<f64>() <= limit)
        });
    if weighs {
        // Between more containers there are longer cables: their mass is known only from a plan.
        candidates
            .take(MOST_TRIALS)
            .find(|&n| gross_kg_in(n).iter().all(|&kg| kg <= limit))
    } else {
        candidates.next()
    }
}
