//! Chooses the part of a book for a need: the smallest or cheapest one that is sufficient.
//!
//! Not here: the needs of a plan (`selection`), and the parts (`book`).

use std::cmp::Ordering;

use crate::book::{Book, Part, PartKind};
use crate::spec::Enclosure;

/// Ports a device needs at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortDemand {
    pub gbps: f64,
    pub ports: u32,
}

/// A NIC part, and the number of cards per server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicChoice {
    pub part: usize,
    pub cards: u32,
}

impl Book {
    /// The smallest switch that fits: every demanded port finds a free port at least as fast, of a
    /// connector family that takes that rate. Smallest = least total line rate, then fewest ports,
    /// then cheapest, then sku. `connector` prefers a family (`rj45`, `sfp`) for the rates where
    /// both exist; another is taken if none fits.
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

    /// NIC cards for one server's ports at one rate: fewest cards, then the smallest sufficient
    /// card. Three ports take one 4-port card, as the paper buys for DCell [bcube §8].
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

    /// The server model with `servers_per_unit` side by side, else the next higher density, else
    /// the densest; the first in the book among equals.
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

    /// The part of an enclosure: the container with that inner length, or the room with that name.
    /// Its limits in the book apply to one container, or to the whole room.
    pub fn enclosure_for(&self, enclosure: Enclosure, length_metres: f64) -> Option<usize> {
        let container = matches!(enclosure, Enclosure::Container40Ft | Enclosure::Container20Ft);
        let kind = if container {
            PartKind::Container
        } else {
            PartKind::Room
        };
        self.parts_of(kind)
            .find(|(_, p)| {
                if container {
                    let length = p.attributes.length_metres;
                    length.is_some_and(|l| (l - length_metres).abs() < 0.05)
                } else {
                    p.attributes.enclosure.as_deref() == Some(enclosure.name())
                }
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

/// Whether a connector family is made for a rate: RJ45 to 10G, SFP cages to 100G single-lane, QSFP
/// from 40G. A book that names no connector makes no promise, and none is checked.
fn takes_rate(connector: Option<&str>, gbps: f64) -> bool {
    match connector {
        Some("rj45") => gbps <= 10.0,
        Some("sfp") => gbps <= 25.0,
        Some("qsfp") => gbps >= 40.0,
        _ => true,
    }
}

/// Assigns the demanded ports, fastest first, each to the slowest group of free ports that fits.
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

fn cheaper(a: &Part, b: &Part) -> Ordering {
    let price = |p: &Part| p.price_usd.unwrap_or(f64::INFINITY);
    price(a).total_cmp(&price(b)).then_with(|| a.sku.cmp(&b.sku))
}

fn smaller(a: &Part, b: &Part) -> Ordering {
    a.capacity_gbps()
        .total_cmp(&b.capacity_gbps())
        .then_with(|| a.attributes.ports.cmp(&b.attributes.ports))
        .then_with(|| cheaper(a, b))
}
