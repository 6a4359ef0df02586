//! Which cable a link gets: medium by rate and reach, then the next stock length.
//!
//! For every (level, rate) there is one small table of lengths, made once; a cable is a binary
//! search in it. Order of preference: the connectors both devices have; twisted pair where the
//! ports are RJ45, passive copper (DAC) as far as it reaches, active optical cables, multimode and
//! then single-mode fibre with a transceiver at each end. `[ours]`, with the reaches of FORMATS:
//! passive DAC 7 m at 10G and 3 m at 25G, 1000BASE-T 100 m.

use cubeyard_topology::{Finding, NodeId, Topology};
use serde_json::json;

use super::breakouts::Breakout;
use super::{IN_RACK_ROUTE, NO_PART, Wiring};
use crate::book::{Book, Part, PartKind, metres_to_mm};
use crate::geometry::TRAY_RISE_METRES;
use crate::layout::Layout;
use crate::spec::{Media, PlanSpec, Stock};

/// Diameter assumed for a cable without a part: 1000BASE-T as in `[bcube §5.2]`.
const DEFAULT_DIAMETER_UM: u32 = 5_400;
/// Bulk cable is cut to whole decimetres.
const CUT_STEP_MM: u32 = 100;

#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub part: u16,
    pub transceiver: u16,
    pub stock_mm: u32,
}

/// Cables up to `up_to_mm` are made of `part`.
#[derive(Debug, Clone, Copy)]
struct Step {
    up_to_mm: u32,
    part: u16,
    transceiver: u16,
    bulk: bool,
}

/// The ladder of one (level, rate), and what it could not serve.
#[derive(Default)]
struct Ladder {
    steps: Vec<Step>,
    gbps: f64,
    /// Links to a cable.
    legs: u32,
    level: u8,
    unserved: u32,
    longest_unserved_mm: u32,
}

pub(super) struct Choices<'a> {
    topology: &'a Topology,
    layout: &'a Layout,
    book: &'a Book,
    media: Media,
    bulk: bool,
    link_gbps: Option<f64>,
    rates: usize,
    /// By level and rate class; made when the first link of that kind comes.
    ladders: Vec<Option<Ladder>>,
    /// The same of links in breakout cables.
    breakout_ladders: Vec<Option<Ladder>>,
    diameters_um: Vec<u32>,
}

impl<'a> Choices<'a> {
    pub(super) fn new(
        spec: &PlanSpec,
        topology: &'a Topology,
        layout: &'a Layout,
        book: &'a Book,
        levels: usize,
    ) -> Choices<'a> {
        let rates = topology.links().rates_bits_per_sec.len().max(1);
        Choices {
            topology,
            layout,
            book,
            media: spec.cabling.media,
            bulk: spec.cabling.stock == Stock::Bulk,
            link_gbps: spec.cabling.link_gbps,
            rates,
            ladders: (0..levels * rates).map(|_| None).collect(),
            breakout_ladders: (0..levels * rates).map(|_| None).collect(),
            diameters_um: book
                .parts
                .iter()
                .map(|p| {
                    p.attributes
                        .diameter_mm
                        .map_or(DEFAULT_DIAMETER_UM, |mm| (mm * 1000.0).round() as u32)
                })
                .collect(),
        }
    }

    pub(super) fn diameter_um(&self, part: u16) -> u32 {
        self.diameters_um
            .get(usize::from(part))
            .copied()
            .unwrap_or(DEFAULT_DIAMETER_UM)
    }

    /// The cable for a link that needs `needed_mm`, slack included; the breakout cable that it is a
    /// leg of, if it is.
    #[inline]
    pub(super) fn choose(&mut self, link: usize, breakout: Option<&Breakout>, needed_mm: u32) -> Choice {
        let links = self.topology.links();
        let key = usize::from(links.level[link]) * self.rates + usize::from(links.rate_class[link]);
        let known = if breakout.is_none() {
            &self.ladders
        } else {
            &self.breakout_ladders
        };
        if known[key].is_none() {
            let made = Some(self.ladder(link, breakout));
            if breakout.is_none() {
                self.ladders[key] = made;
            } else {
                self.breakout_ladders[key] = made;
            }
        }
        let ladders = if breakout.is_none() {
            &mut self.ladders
        } else {
            &mut self.breakout_ladders
        };
        let Some(ladder) = &mut ladders[key] else {
            return Choice {
                part: NO_PART,
                transceiver: NO_PART,
                stock_mm: needed_mm,
            };
        };
        let at = ladder.steps.partition_point(|step| step.up_to_mm < needed_mm);
        match ladder.steps.get(at) {
            Some(step) => Choice {
                part: step.part,
                transceiver: step.transceiver,
                stock_mm: if step.bulk {
                    needed_mm.next_multiple_of(CUT_STEP_MM)
                } else {
                    step.up_to_mm
                },
            },
            None => {
                ladder.unserved += 1;
                ladder.longest_unserved_mm = ladder.longest_unserved_mm.max(needed_mm);
                Choice {
                    part: NO_PART,
                    transceiver: NO_PART,
                    stock_mm: needed_mm,
                }
            }
        }
    }

    fn ladder(&self, link: usize, breakout: Option<&Breakout>) -> Ladder {
        let links = self.topology.links();
        let gbps = self.link_gbps.unwrap_or(links.rate_bits_per_sec(link) / 1e9);
        let ends = match breakout {
            // The plug at the branches; the trunk's plug follows from the number of links and their
            // rate.
            Some(cable) => {
                let branch = if cable.trunk_is_a {
                    links.b[link]
                } else {
                    links.a[link]
                };
                (self.connector(branch, gbps), None)
            }
            None => (
                self.connector(links.a[link], gbps),
                self.connector(links.b[link], gbps),
            ),
        };
        let connector = match ends {
            (Some(a), Some(b)) if a == b => Some(a),
            (one, None) | (None, one) => one,
            _ => None,
        };
        let legs = breakout.map_or(1, |cable| u32::from(cable.legs));
        let mut steps = self.steps(gbps, connector, legs);
        if steps.is_empty() && connector.is_some() {
            steps = self.steps(gbps, None, legs);
        }
        Ladder {
            steps,
            gbps,
            legs,
            level: links.level[link],
            ..Ladder::default()
        }
    }

    /// The connector of a device's ports at this rate, if the book states it.
    fn connector(&self, node: NodeId, gbps: f64) -> Option<&'a str> {
        let parts = &self.layout.parts;
        let tier = self
            .topology
            .tiers()
            .iter()
            .position(|t| node >= t.first && node < t.first + t.count);
        let Some(tier) = tier else {
            return parts
                .nics
                .iter()
                .map(|nic| &self.book.parts[nic.part].attributes)
                .find(|a| a.port_gbps.unwrap_or(0.0) >= gbps)
                .and_then(|a| a.connector.as_deref());
        };
        let a = &self.book.parts[parts.tier(tier)?].attributes;
        if a.port_gbps.unwrap_or(0.0) >= gbps {
            a.connector.as_deref()
        } else {
            a.uplink_connector.as_deref()
        }
    }

    fn steps(&self, gbps: f64, connector: Option<&str>, legs: u32) -> Vec<Step> {
        let mut offers: Vec<(u8, usize, &Part, u16)> = self
            .book
            .parts_of(PartKind::Cable)
            .filter_map(|(i, part)| {
                let a = &part.attributes;
                let medium = a.medium.as_deref()?;
                if a.max_gbps.unwrap_or(0.0) < gbps
                    || a.links.unwrap_or(1) != legs
                    || !allowed(self.media, medium)
                {
                    return None;
                }
                let needs_transceiver = a.needs_transceiver.unwrap_or(false);
                let transceiver = if needs_transceiver {
                    self.book.transceiver_for(medium, gbps)?
                } else {
                    usize::MAX
                };
                let plug = if needs_transceiver {
                    self.book.parts[transceiver].attributes.connector.as_deref()
                } else if legs > 1 {
                    a.branch_connector.as_deref()
                } else {
                    a.connector.as_deref()
                };
                if connector.is_some() && plug.is_some() && plug != connector {
                    return None;
                }
                let rank = rank(medium, gbps, connector)?;
                Some((rank, i, part, u16::try_from(transceiver).unwrap_or(NO_PART)))
            })
            .collect();
        // Within a medium the slowest that is fast enough.
        offers.sort_by(|a, b| {
            let rate = |p: &Part| p.attributes.max_gbps.unwrap_or(0.0);
            a.0.cmp(&b.0)
                .then(rate(a.2).total_cmp(&rate(b.2)))
                .then(a.1.cmp(&b.1))
        });
        let mut steps: Vec<Step> = Vec::new();
        let mut covered_mm = 0;
        for (_, i, part, transceiver) in offers {
            let a = &part.attributes;
            let reach_mm = metres_to_mm(a.reach_metres.unwrap_or(f64::from(u32::MAX) / 1000.0));
            let step = |up_to_mm, bulk| Step {
                up_to_mm,
                part: i as u16,
                transceiver,
                bulk,
            };
            if self.bulk && (a.bulk_price_usd_per_metre.is_some() || a.bulk_box_metres.is_some()) {
                if reach_mm > covered_mm {
                    steps.push(step(reach_mm, true));
                    covered_mm = reach_mm;
                }
                continue;
            }
            for length_mm in a.lengths_metres.iter().flatten().map(|&m| metres_to_mm(m)) {
                if length_mm > covered_mm && length_mm <= reach_mm {
                    steps.push(step(length_mm, false));
                    covered_mm = length_mm;
                }
            }
        }
        steps
    }

    /// One finding a ladder that some cables are too long for.
    pub(super) fn report(&self, findings: &mut Vec<Finding>) {
        let ladders = self.ladders.iter().chain(&self.breakout_ladders).flatten();
        for ladder in ladders.filter(|l| l.unserved > 0) {
            let cable = match ladder.legs {
                1 => "cable".to_owned(),
                legs => format!("breakout cable of {legs} links"),
            };
            let most_mm = ladder.steps.last().map_or(0, |s| s.up_to_mm);
            let what = if most_mm == 0 {
                format!(
                    "the price book {} has no {cable} for {} Gb/s",
                    self.book.book, ladder.gbps
                )
            } else {
                format!(
                    "the longest {cable} for {} Gb/s is {:.1} m",
                    ladder.gbps,
                    f64::from(most_mm) / 1000.0
                )
            };
            let medium = if self.media == Media::Auto {
                ""
            } else {
                " of the chosen medium"
            };
            let message = format!(
                "{} {} of {} need up to {:.1} m, slack included; {what}{medium}. They have no part and no price.",
                ladder.unserved,
                if ladder.legs > 1 { "legs" } else { "cables" },
                self.topology.level_label(ladder.level),
                f64::from(ladder.longest_unserved_mm) / 1000.0
            );
            let (hint, fix) = if self.media != Media::Auto {
                (
                    "Set cabling.media to \"auto\".".to_owned(),
                    Some(json!({"cabling": {"media": "auto"}})),
                )
            } else if ladder.legs > 1 {
                (
                    "Leave this level out of cabling.breakouts, or add such a cable to the price book."
                        .to_owned(),
                    Some(json!({"cabling": {"breakouts": []}})),
                )
            } else if let Some(gbps) = self.rate_that_reaches(ladder.longest_unserved_mm) {
                (
                    format!("Set cabling.link_gbps to {gbps}: at that rate there are cables long enough."),
                    Some(json!({"cabling": {"link_gbps": gbps}})),
                )
            } else {
                (
                    "Stand the racks closer together, or choose another price book.".to_owned(),
                    None,
                )
            };
            let mut finding = Finding::error("no-cable-reaches", "cabling.media", message, hint);
            finding.fix = fix;
            findings.push(finding);
        }
    }

    /// The lowest rate with optics for which the book has cables of this length.
    fn rate_that_reaches(&self, needed_mm: u32) -> Option<f64> {
        let mut rates: Vec<f64> = self
            .book
            .parts_of(PartKind::Transceiver)
            .filter_map(|(_, p)| p.attributes.gbps)
            .collect();
        rates.sort_by(f64::total_cmp);
        rates.into_iter().find(|&gbps| {
            gbps > 1.0
                && self
                    .steps(gbps, None, 1)
                    .last()
                    .is_some_and(|s| s.up_to_mm >= needed_mm)
        })
    }
}

fn allowed(media: Media, medium: &str) -> bool {
    match media {
        Media::Auto => true,
        Media::Cat6 => medium == "cat6",
        Media::Dac => medium == "dac",
        Media::Aoc => medium == "aoc",
        Media::Fibre => medium.starts_with("fibre"),
    }
}

/// Preference among media, lower first.
fn rank(medium: &str, gbps: f64, connector: Option<&str>) -> Option<u8> {
    Some(match medium {
        "cat6" if connector == Some("rj45") || (connector.is_none() && gbps <= 1.0) => 0,
        "dac" => 1,
        "aoc" => 2,
        "fibre-om4" => 3,
        "fibre-os2" => 4,
        "cat6" => 5,
        _ => return None,
    })
}

/// Every cable turns out of the rack into the tray: the way from the rack's top to the tray must
/// allow its bend.
pub(super) fn check_bends(layout: &Layout, book: &Book, wiring: &Wiring, findings: &mut Vec<Finding>) {
    let mut leaving = vec![0u32; book.parts.len()];
    for (&part, &route) in wiring.part.iter().zip(&wiring.route) {
        if part != NO_PART && route != IN_RACK_ROUTE {
            leaving[usize::from(part)] += 1;
        }
    }
    let room_mm =
        TRAY_RISE_METRES.min((layout.site.height_metres - layout.site.rack_height_metres).max(0.0)) * 1000.0;
    for (part, &count) in book.parts.iter().zip(&leaving).filter(|(_, count)| **count > 0) {
        let a = &part.attributes;
        let Some((diameter, multiple)) = a.diameter_mm.zip(a.bend_radius_multiple) else {
            continue;
        };
        let radius = diameter * multiple;
        if radius > room_mm {
            findings.push(Finding::warning(
                "bend-radius",
                "site.rack",
                format!(
                    "{count} cables of {} must not bend below {radius:.0} mm ({multiple} x {diameter} mm); there are \
                     {room_mm:.0} mm between the rack and its tray.",
                    part.sku
                ),
                "Choose a lower rack or a thinner cable.",
            ));
        }
    }
}
