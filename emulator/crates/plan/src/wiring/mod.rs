//! Every cable: its route, length, part and colour; the trays and bundles it lies in.
//!
//! Inside: routes over the trays (`routes`), the trays and their fill (`trays`), media, lengths and
//! parts (`media`), bundles in pulling order (`bundles`), cables of several links (`breakouts`),
//! labels (`labels`), and the paper's own measure of cable length (`paper_measure`).
//!
//! One pass over the links, a few bytes a cable, no allocation for any single cable.
//!
//! Not here: where racks and trays stand (`layout`), and what a cable costs (`bom`, `cost`).

pub mod breakouts;
pub mod bundles;
pub mod labels;
mod media;
pub mod paper_measure;
mod routes;
mod tray_choice;
mod trays;

use cubeyard_topology::{Finding, Topology};

use crate::book::Book;
use crate::geometry::{Frame, ceil_mm};
use crate::layout::Layout;
use crate::spec::PlanSpec;

pub use breakouts::{Breakout, Breakouts};
pub use bundles::Bundles;
pub use trays::{Cuts, LevelPeak, TrayKind, Trays};

/// No part in the book fits.
pub const NO_PART: u16 = u16::MAX;

/// Names of `Wiring::route` values.
pub const ROUTES: [&str; 6] = [
    "in rack",
    "tray",
    "crossing",
    "underfloor",
    "row to row",
    "container to container",
];

pub(crate) const IN_RACK_ROUTE: u8 = 0;

/// Names and sRGB values of `Wiring::colour` values; a level takes colour `level % COLOURS.len()`.
pub const COLOURS: [(&str, &str); 8] = [
    ("blue", "#3A6C86"),
    ("orange", "#C37729"),
    ("green", "#23A08F"),
    ("violet", "#432B4C"),
    ("yellow", "#E3C93A"),
    ("grey", "#8A8D91"),
    ("red", "#C2453D"),
    ("white", "#F2F2F0"),
];

/// One entry per link; the index is the topology's link index. A link has its own cable, or is a
/// leg of a breakout cable.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wiring {
    /// Geometric length along the route, rounded up.
    pub length_mm: Vec<u32>,
    /// Length bought: the next stock length over geometric length and slack (without a part: just
    /// that sum).
    pub stock_mm: Vec<u32>,
    /// Book part index of the cable, or `NO_PART`.
    pub part: Vec<u16>,
    /// Book part index of the transceiver, one at each end, or `NO_PART` when none is needed.
    pub transceiver: Vec<u16>,
    /// The route of each link, as an index into `ROUTES`.
    pub route: Vec<u8>,
    /// The colour of each link, as an index into `COLOURS`.
    pub colour: Vec<u8>,
    /// Index into `bundles`, -1 within a rack.
    pub bundle: Vec<i32>,
    /// Cables that leave each rack.
    pub rack_cables_leaving: Vec<u32>,
    pub breakouts: Breakouts,
    pub trays: Trays,
    pub bundles: Bundles,
    pub cuts: Cuts,
}

impl Wiring {
    /// Cables to buy and to name: one for each link, but one for all legs of a breakout.
    pub fn cable_count(&self) -> usize {
        self.part.len() - self.breakouts.further_links()
    }

    /// The link that each cable is counted by.
    pub fn leads(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.part.len()).filter(|&link| self.breakouts.leads(link))
    }
}

/// The points at which the cables of each rack join the trays over its column: x and y.
pub(crate) fn rack_taps(layout: &Layout) -> (Vec<f64>, Vec<f64>) {
    let tray_y = routes::tray_ys(&Frame::of_site(&layout.site), layout);
    let racks = &layout.racks;
    let x = |&position: &u32| layout.position_x_metres[position as usize];
    (
        racks.position.iter().map(x).collect(),
        racks.row.iter().map(|&row| tray_y[row as usize]).collect(),
    )
}

/// Computes the route, length and medium of every cable.
pub fn wire(
    spec: &PlanSpec,
    topology: &Topology,
    layout: &Layout,
    book: &Book,
    findings: &mut Vec<Finding>,
) -> Wiring {
    let links = topology.links();
    let count = links.len();
    let levels = links
        .level
        .iter()
        .copied()
        .max()
        .map_or(1, |l| usize::from(l) + 1)
        .max(topology.level_count());
    let router = routes::Router::new(topology, layout);
    let mut choices = media::Choices::new(spec, topology, layout, book, levels);
    let mut load = trays::Load::new(layout, levels);
    let mut out = Wiring {
        length_mm: Vec::with_capacity(count),
        stock_mm: Vec::with_capacity(count),
        part: Vec::with_capacity(count),
        transceiver: Vec::with_capacity(count),
        route: Vec::with_capacity(count),
        colour: Vec::with_capacity(count),
        bundle: Vec::with_capacity(count),
        rack_cables_leaving: vec![0; layout.racks.len()],
        ..Wiring::default()
    };
    let slack_mm = ceil_mm(spec.cabling.slack_metres);
    let breakouts = Breakouts::new(&spec.cabling.breakouts, topology);
    let route = |link: usize| {
        let (a, b) = (links.a[link], links.b[link]);
        router.route(
            (a, links.a_port[link]),
            (b, links.b_port[link]),
            links.level[link],
        )
    };
    // The longest leg decides how long all are.
    let longest_mm: Vec<u32> = breakouts
        .cables
        .iter()
        .map(|cable| {
            let lengths = cable
                .links
                .iter()
                .map(|&link| ceil_mm(route(link as usize).metres));
            lengths.max().unwrap_or(0)
        })
        .collect();
    for link in 0..count {
        let (a, b, level) = (links.a[link], links.b[link], links.level[link]);
        let routed = route(link);
        let length_mm = ceil_mm(routed.metres);
        let needed_mm = breakouts
            .index_of(link)
            .map_or(length_mm, |cable| longest_mm[cable]);
        let breakout = breakouts.of(link).map(|(cable, _)| cable);
        let choice = choices.choose(link, breakout, needed_mm.saturating_add(slack_mm));
        let (rack_a, rack_b) = (
            layout.placements.rack[a as usize],
            layout.placements.rack[b as usize],
        );
        let mut bundle = -1;
        if rack_a != rack_b {
            out.rack_cables_leaving[rack_a as usize] += 1;
            out.rack_cables_leaving[rack_b as usize] += 1;
            load.add(&routed.legs, level, choices.diameter_um(choice.part));
            bundle = routed.legs.variant();
        }
        out.length_mm.push(length_mm);
        out.stock_mm.push(choice.stock_mm);
        out.part.push(choice.part);
        out.transceiver.push(choice.transceiver);
        out.route.push(routed.route);
        out.colour.push(level % COLOURS.len() as u8);
        out.bundle.push(bundle);
    }
    choices.report(findings);
    out.breakouts = breakouts;
    let segments;
    (out.trays, segments) = load.finish(spec, layout, book, findings);
    out.cuts = Cuts::of(&out.trays);
    let diameter_um = |cable: usize| choices.diameter_um(out.part[cable]);
    out.bundles = bundles::gather(
        topology,
        layout,
        &segments,
        levels,
        &out.length_mm,
        diameter_um,
        &mut out.bundle,
    );
    media::check_bends(layout, book, &out, findings);
    out
}
