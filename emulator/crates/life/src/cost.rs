//! The cost of spares and visits, from the plan's bill and the price book.
//!
//! A unit's price is the mean of its lines in the bill: a server with its cards, a switch, a cable
//! with its transceivers, a PDU. Work is the book's minutes to install the unit; removing the old
//! one does not count. `[ours]`

use cubeyard_plan::Plan;
use cubeyard_plan::bom::Category;
use cubeyard_plan::book::PartKind;
use serde_json::{Value, json};

use crate::ageing::{Taken, UnitKind};
use crate::spec::Policy;

/// Prices of one swap by kind of unit; `None` if the book has no price.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prices {
    part: [Option<f64>; UnitKind::COUNT],
    work: [Option<f64>; UnitKind::COUNT],
    visit: Option<f64>,
}

impl Prices {
    pub fn of(plan: &Plan, visit: Option<f64>) -> Prices {
        let servers = f64::from(plan.topology.server_count());
        let switches = f64::from(plan.topology.switch_count());
        let links = plan.topology.links().len() as f64;
        let has_nics = plan.bom.lines.iter().any(|line| line.category == Category::Nic);
        let server = per(plan, &[Category::Server], servers).and_then(|server| {
            let cards = if has_nics {
                per(plan, &[Category::Nic], servers)?
            } else {
                0.0
            };
            Some(server + cards)
        });
        let cables = per(
            plan,
            &[Category::Cable, Category::Connector, Category::Transceiver],
            links,
        );
        let pdus: f64 = lines(plan, &[Category::Pdu]).map(|line| line.quantity).sum();
        Prices {
            part: [
                server,
                per(plan, &[Category::Switch], switches),
                cables,
                per(plan, &[Category::Pdu], pdus),
            ],
            work: [
                work(plan, &["mount_server", "fit_nic"]),
                work(plan, &["mount_switch"]),
                work(plan, &["pull_cable_in_tray", "label_cable", "test_cable"]),
                work(plan, &["mount_switch"]),
            ],
            visit,
        }
    }

    /// The price of one swap of each kind, as a document.
    pub fn document(&self) -> Value {
        UnitKind::ALL
            .map(|kind| {
                let i = kind as usize;
                json!({"unit": kind.name(), "part": self.part[i].map(cents), "work": self.work[i].map(cents)})
            })
            .to_vec()
            .into()
    }

    /// The mean cost of a policy's lives. A kit is bought as a whole; without a kit, each swapped
    /// unit is bought.
    pub fn of_policy(&self, policy: &Policy, taken: &[Taken]) -> Value {
        let mean = |of: &dyn Fn(&Taken) -> u32| {
            taken.iter().map(|item| f64::from(of(item))).sum::<f64>() / taken.len().max(1) as f64
        };
        let mut at_least = false;
        let mut sum = |counts: [f64; UnitKind::COUNT], prices: &[Option<f64>; UnitKind::COUNT]| {
            counts
                .iter()
                .zip(prices)
                .filter(|&(&count, _)| count > 0.0)
                .map(|(&count, &price)| {
                    at_least |= price.is_none();
                    count * price.unwrap_or(0.0)
                })
                .sum::<f64>()
        };
        let swaps: [f64; UnitKind::COUNT] = std::array::from_fn(|kind| mean(&|item| item.swaps[kind]));
        let bought = match &policy.spares {
            Some(_) => policy.kit().map(|count| f64::from(count.unwrap_or(0))),
            None => swaps,
        };
        let visits = mean(&|item| item.visits);
        let (parts, work) = (sum(bought, &self.part), sum(swaps, &self.work));
        at_least |= visits > 0.0 && self.visit.is_none();
        let journeys = visits * self.visit.unwrap_or(0.0);
        json!({
            "parts": cents(parts), "work": cents(work), "visits": cents(journeys),
            "total": cents(parts + work + journeys), "at_least": at_least,
        })
    }
}

fn cents(amount: f64) -> f64 {
    // A sum of nothing is a negative zero.
    (amount * 100.0).round() / 100.0 + 0.0
}

fn lines<'a>(
    plan: &'a Plan,
    wanted: &'a [Category],
) -> impl Iterator<Item = &'a cubeyard_plan::bom::BomLine> {
    plan.bom
        .lines
        .iter()
        .filter(|line| wanted.contains(&line.category))
}

/// The price of the lines of these categories without spares, divided by `count`; `None` if a line
/// has no price or there are no lines.
fn per(plan: &Plan, wanted: &[Category], count: f64) -> Option<f64> {
    let mut total = 0.0;
    let mut any = false;
    for line in lines(plan, wanted) {
        let bought = (line.quantity + line.spares).max(f64::MIN_POSITIVE);
        total += line.total_usd? * line.quantity / bought;
        any = true;
    }
    (any && count > 0.0).then_some(total / count)
}

fn work(plan: &Plan, tasks: &[&str]) -> Option<f64> {
    let (_, labour) = plan.book.parts_of(PartKind::Labour).next()?;
    let minutes = labour.attributes.minutes.as_ref()?;
    let sum: f64 = tasks
        .iter()
        .map(|&task| minutes.get(task).copied().unwrap_or(0.0))
        .sum();
    Some(sum / 60.0 * labour.attributes.usd_per_hour?)
}
