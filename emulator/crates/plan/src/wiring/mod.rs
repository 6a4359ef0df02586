//! Every cable: its route, length, part and colour; the trays and bundles it lies in.

/// Names of `Wiring::route` values.
pub const ROUTES: [&str; 6] = ["in rack", "tray", "crossing", "underfloor", "row to row", "container to container"];
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrayKind {
    Column,
    Crossing,
    Underfloor,
}

/// One entry a tray segment that carries cables.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trays {
    pub name: Vec<String>,
    pub kind: Vec<TrayKind>,
    pub x0_metres: Vec<f64>,
    pub y0_metres: Vec<f64>,
    pub x1_metres: Vec<f64>,
    pub y1_metres: Vec<f64>,
    pub z_metres: Vec<f64>,
    pub cables: Vec<u32>,
    /// `level_count` entries a segment.
    pub cables_by_level: Vec<u32>,
    pub level_count: usize,
    /// Sum of the cables' own cross-sections, no packing loss.
    pub area_cm2: Vec<f64>,
    /// Share of the tray's cross-section.
    pub fill: Vec<f64>,
    /// Book part index of the tray, or `NO_PART`, by kind: column, crossing, underfloor.
    pub part: [u16; 3],
}

/// One entry a pair of racks with cables between them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bundles {
    pub rack_a: Vec<u32>,
    pub rack_b: Vec<u32>,
    pub cables: Vec<u32>,
    /// `level_count` entries a bundle.
    pub cables_by_level: Vec<u32>,
    pub level_count: usize,
    pub diameter_mm: Vec<f64>,
    /// Longest cable in it.
    pub length_metres: Vec<f64>,
    /// 1 is pulled first.
    pub pull_order: Vec<u32>,
}

/// The most cables through one column tray segment, for one level.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelPeak {
    pub level: u8,
    pub cables: u32,
    pub tray: u32,
}

/// Cuts across a column of racks `[bcube §5.2]`: levels may peak at different places.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cuts {
    pub peak_by_level: Vec<LevelPeak>,
    /// Sum of the peaks: the paper's upper bound, which no single place need reach.
    pub sum_of_peaks_cables: u32,
    pub sum_of_peaks_area_cm2: f64,
    /// The true worst segment.
    pub worst_tray: Option<u32>,
    pub worst_cables: u32,
    pub worst_area_cm2: f64,
    pub worst_by_level: Vec<u32>,
}

/// One entry a cable; the index is the topology's link index.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wiring {
    /// Geometric length along the route.
    pub length_mm: Vec<u32>,
    /// Length bought: the next stock length over geometric length and slack.
    pub stock_mm: Vec<u32>,
    /// Book part index of the cable, or `NO_PART`.
    pub part: Vec<u16>,
    /// Book part index of the transceiver, one at each end, or `NO_PART` when none is needed.
    pub transceiver: Vec<u16>,
    /// Index into `ROUTES`.
    pub route: Vec<u8>,
    /// Index into `COLOURS`.
    pub colour: Vec<u8>,
    /// Index into `bundles`, -1 within a rack.
    pub bundle: Vec<i32>,
    pub trays: Trays,
    pub bundles: Bundles,
    pub cuts: Cuts,
}
