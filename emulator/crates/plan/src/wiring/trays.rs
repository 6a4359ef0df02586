//! The content of each tray segment: cables by level, cross-section, fill; and the cuts of
//! `[bcube §5.2]`.
//!
//! A cable adds one at the first segment of each leg and subtracts one after the last; running sums
//! then give the count of every segment, so the work is linear in the number of cables, independent
//! of their length.

use std::cmp::Ordering;

use cubeyard_topology::Finding;

use super::routes::{Legs, tray_ys};
use super::tray_choice::choose_trays;
use crate::book::Book;
use crate::geometry::Frame;
use crate::layout::Layout;
use crate::spec::PlanSpec;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrayKind {
    Column,
    Crossing,
    Underfloor,
}

impl TrayKind {
    pub const ALL: [TrayKind; 3] = [TrayKind::Column, TrayKind::Crossing, TrayKind::Underfloor];

    /// Place in the arrays that have one entry a kind.
    pub fn index(self) -> usize {
        self as usize
    }

    pub fn name(self) -> &'static str {
        match self {
            TrayKind::Column => "column",
            TrayKind::Crossing => "crossing",
            TrayKind::Underfloor => "underfloor",
        }
    }
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
    /// Sum of the cables' own cross-sections, no packing loss; `level_count` entries a segment.
    pub area_by_level_cm2: Vec<f64>,
    pub level_count: usize,
    pub area_cm2: Vec<f64>,
    /// Share of the cross-section of the trays that lie side by side there.
    pub fill: Vec<f64>,
    /// Book part index of the trays of each kind (column, crossing, underfloor).
    pub part: [Option<usize>; 3],
    /// Trays side by side in each line of a kind; 0 where there are none of that kind.
    pub side_by_side: [u32; 3],
}

impl Trays {
    pub fn len(&self) -> usize {
        self.name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.name.is_empty()
    }

    /// Horizontal length of a segment.
    pub fn length_metres(&self, segment: usize) -> f64 {
        (self.x1_metres[segment] - self.x0_metres[segment]).abs()
            + (self.y1_metres[segment] - self.y0_metres[segment]).abs()
    }
}

/// Index into `Trays` of every segment in use.
pub(super) struct Segments {
    columns: Vec<u32>,
    underfloor: Vec<u32>,
    crossings: Vec<u32>,
    column_count: usize,
    positions: usize,
}

impl Segments {
    const UNUSED: u32 = u32::MAX;

    fn new(column_count: usize, positions: usize) -> Segments {
        Segments {
            columns: vec![Self::UNUSED; column_count * positions],
            underfloor: vec![Self::UNUSED; column_count * positions],
            crossings: vec![Self::UNUSED; (positions + 1) * column_count],
            column_count,
            positions,
        }
    }

    fn set(&mut self, kind: TrayKind, line: usize, segment: usize, tray: usize) {
        let at = line * self.steps(kind) + segment;
        self.table_mut(kind)[at] = tray as u32;
    }

    fn steps(&self, kind: TrayKind) -> usize {
        match kind {
            TrayKind::Column | TrayKind::Underfloor => self.positions,
            TrayKind::Crossing => self.column_count,
        }
    }

    fn table_mut(&mut self, kind: TrayKind) -> &mut Vec<u32> {
        match kind {
            TrayKind::Column => &mut self.columns,
            TrayKind::Underfloor => &mut self.underfloor,
            TrayKind::Crossing => &mut self.crossings,
        }
    }

    fn tray(&self, kind: TrayKind, line: u32, segment: u32) -> i32 {
        let at = line as usize * self.steps(kind) + segment as usize;
        let table = match kind {
            TrayKind::Column => &self.columns,
            TrayKind::Underfloor => &self.underfloor,
            TrayKind::Crossing => &self.crossings,
        };
        table[at] as i32
    }

    /// The trays of a line from place `from` to place `to`, where segment s leads from place s-1 to
    /// place s: the first tray, and the one past the last, which is the lower one when the run goes
    /// down the line. Segments that one cable uses have consecutive indices.
    fn run(&self, kind: TrayKind, line: u32, from: i64, to: i64) -> Option<[i32; 2]> {
        match from.cmp(&to) {
            Ordering::Equal => None,
            Ordering::Less => Some([
                self.tray(kind, line, (from + 1) as u32),
                self.tray(kind, line, to as u32) + 1,
            ]),
            Ordering::Greater => Some([
                self.tray(kind, line, from as u32),
                self.tray(kind, line, (to + 1) as u32) - 1,
            ]),
        }
    }

    /// Runs of consecutive trays along the legs, in order from the first end to the second.
    pub(super) fn runs(&self, legs: &Legs) -> impl Iterator<Item = [i32; 2]> + use<> {
        let runs = match *legs {
            Legs::InRack => [None; 3],
            Legs::Column {
                column,
                from,
                to,
                underfloor,
            } => {
                let kind = if underfloor {
                    TrayKind::Underfloor
                } else {
                    TrayKind::Column
                };
                [self.run(kind, column, i64::from(from), i64::from(to)), None, None]
            }
            Legs::Crossing {
                column_a,
                position_a,
                column_b,
                position_b,
                line,
            } => {
                // The line outside is at the wall, one place before position 0.
                let place = if line as usize == self.positions {
                    -1
                } else {
                    i64::from(line)
                };
                [
                    self.run(TrayKind::Column, column_a, i64::from(position_a), place),
                    self.run(TrayKind::Crossing, line, i64::from(column_a), i64::from(column_b)),
                    self.run(TrayKind::Column, column_b, place, i64::from(position_b)),
                ]
            }
        };
        runs.into_iter().flatten()
    }
}

/// Differences along lines of segments; `steps` segments a line.
struct Lines {
    steps: usize,
    levels: usize,
    cables: Vec<i32>,
    /// Sums of squared diameters in square micrometres.
    squares_um2: Vec<i64>,
}

impl Lines {
    fn new(lines: usize, steps: usize, levels: usize) -> Lines {
        let size = lines * (steps + 1) * levels;
        Lines {
            steps,
            levels,
            cables: vec![0; size],
            squares_um2: vec![0; size],
        }
    }

    /// Segments `first..end` of a line.
    #[inline]
    fn add(&mut self, line: usize, first: u32, end: u32, level: u8, square_um2: i64) {
        if first == end {
            return;
        }
        let row = line * (self.steps + 1);
        let at = |segment: u32| (row + segment as usize) * self.levels + usize::from(level);
        let (from, to) = (at(first), at(end));
        self.cables[from] += 1;
        self.squares_um2[from] += square_um2;
        self.cables[to] -= 1;
        self.squares_um2[to] -= square_um2;
    }

    /// Calls `visit(line, segment, cables by level, squares by level)` for each segment in use.
    fn for_each(&self, mut visit: impl FnMut(usize, usize, &[u32], &[i64])) {
        let lines = self.cables.len() / ((self.steps + 1) * self.levels).max(1);
        let (mut cables, mut squares) = (vec![0u32; self.levels], vec![0i64; self.levels]);
        for line in 0..lines {
            cables.fill(0);
            squares.fill(0);
            for segment in 0..self.steps {
                let at = (line * (self.steps + 1) + segment) * self.levels;
                for level in 0..self.levels {
                    cables[level] = cables[level].wrapping_add_signed(self.cables[at + level]);
                    squares[level] += self.squares_um2[at + level];
                }
                if cables.iter().any(|&n| n > 0) {
                    visit(line, segment, &cables, &squares);
                }
            }
        }
    }
}

/// The trays' load while cables are run.
pub(super) struct Load {
    levels: usize,
    columns: Lines,
    underfloor: Option<Lines>,
    crossings: Lines,
    column_count: usize,
    positions: usize,
}

impl Load {
    pub(super) fn new(layout: &Layout, levels: usize) -> Load {
        let (column_count, positions) = (layout.column_y_metres.len(), layout.position_x_metres.len());
        Load {
            levels,
            columns: Lines::new(column_count, positions, levels),
            underfloor: None,
            crossings: Lines::new(positions + 1, column_count, levels),
            column_count,
            positions,
        }
    }

    #[inline]
    pub(super) fn add(&mut self, legs: &Legs, level: u8, diameter_um: u32) {
        let square = i64::from(diameter_um) * i64::from(diameter_um);
        match *legs {
            Legs::InRack => {}
            Legs::Column {
                column,
                from,
                to,
                underfloor,
            } => {
                let lines = if underfloor {
                    let (columns, positions, levels) = (self.column_count, self.positions, self.levels);
                    self.underfloor
                        .get_or_insert_with(|| Lines::new(columns, positions, levels))
                } else {
                    &mut self.columns
                };
                lines.add(column as usize, from.min(to) + 1, from.max(to) + 1, level, square);
            }
            Legs::Crossing {
                column_a,
                position_a,
                column_b,
                position_b,
                line,
            } => {
                for (column, position) in [(column_a, position_a), (column_b, position_b)] {
                    // The line outside starts at the wall, before position 0.
                    let (first, end) = if line as usize == self.positions {
                        (0, position + 1)
                    } else {
                        (position.min(line) + 1, position.max(line) + 1)
                    };
                    self.columns.add(column as usize, first, end, level, square);
                }
                let (low, high) = (column_a.min(column_b), column_a.max(column_b));
                self.crossings
                    .add(line as usize, low + 1, high + 1, level, square);
            }
        }
    }

    /// Sums up the segments, chooses trays and reports overfull ones. Also returns the index of
    /// each segment in the trays.
    pub(super) fn finish(
        self,
        spec: &PlanSpec,
        layout: &Layout,
        book: &Book,
        findings: &mut Vec<Finding>,
    ) -> (Trays, Segments) {
        let frame = Frame::of_site(&layout.site);
        let tray_y = tray_ys(&frame, layout);
        let x = |position: usize| layout.position_x_metres[position];
        let mut trays = Trays {
            level_count: self.levels,
            ..Trays::default()
        };
        let mut segments = Segments::new(self.column_count, self.positions);
        let mut columns = |lines: &Lines, kind: TrayKind, letter: char, z: f64| {
            lines.for_each(|column, segment, cables, squares| {
                segments.set(kind, column, segment, trays.len());
                let x0 = if segment == 0 { 0.0 } else { x(segment - 1) };
                let name = format!("{letter}{column:02}-{segment:02}");
                push(
                    &mut trays,
                    name,
                    kind,
                    [x0, tray_y[column], x(segment), tray_y[column], z],
                    cables,
                    squares,
                );
            });
        };
        columns(&self.columns, TrayKind::Column, 'T', frame.tray_z_metres);
        if let Some(lines) = &self.underfloor {
            columns(lines, TrayKind::Underfloor, 'F', frame.underfloor_z_metres);
        }
        self.crossings.for_each(|line, segment, cables, squares| {
            segments.set(TrayKind::Crossing, line, segment, trays.len());
            let at = if line == self.positions { 0.0 } else { x(line) };
            let name = format!("X{line:02}-{segment:02}");
            let ends = [at, tray_y[segment - 1], at, tray_y[segment], frame.tray_z_metres];
            push(&mut trays, name, TrayKind::Crossing, ends, cables, squares);
        });
        choose_trays(spec, layout, book, &mut trays, findings);
        (trays, segments)
    }
}

fn push(trays: &mut Trays, name: String, kind: TrayKind, ends: [f64; 5], cables: &[u32], squares: &[i64]) {
    trays.name.push(name);
    trays.kind.push(kind);
    trays.x0_metres.push(ends[0]);
    trays.y0_metres.push(ends[1]);
    trays.x1_metres.push(ends[2]);
    trays.y1_metres.push(ends[3]);
    trays.z_metres.push(ends[4]);
    trays.cables.push(cables.iter().sum());
    trays.cables_by_level.extend_from_slice(cables);
    trays
        .area_by_level_cm2
        .extend(squares.iter().map(|&s| disc_cm2(s)));
    trays.area_cm2.push(disc_cm2(squares.iter().sum()));
}

/// Area of discs whose squared diameters add up to this.
fn disc_cm2(squares_um2: i64) -> f64 {
    squares_um2 as f64 * std::f64::consts::FRAC_PI_4 * 1e-8
}

/// The most cables of one level through one segment over a column.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelPeak {
    pub level: u8,
    pub cables: u32,
    pub area_cm2: f64,
    /// Index into `Trays`: the first segment that reaches it.
    pub tray: u32,
}

/// Cuts across a column of racks `[bcube §5.2]`: levels may peak at different places.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cuts {
    /// Levels that leave racks, ascending.
    pub peak_by_level: Vec<LevelPeak>,
    /// Sum of the levels' peaks, an upper bound that no place need reach: the paper's 768 cables
    /// and 176 cm2.
    pub sum_of_peaks_cables: u32,
    pub sum_of_peaks_area_cm2: f64,
    /// The segment that really carries most.
    pub worst_tray: Option<u32>,
    pub worst_cables: u32,
    pub worst_area_cm2: f64,
    /// One entry a level.
    pub worst_by_level: Vec<u32>,
}

impl Cuts {
    pub(super) fn of(trays: &Trays) -> Cuts {
        let levels = trays.level_count;
        let mut cuts = Cuts::default();
        let mut peaks: Vec<Option<LevelPeak>> = vec![None; levels];
        for i in (0..trays.len()).filter(|&i| trays.kind[i] == TrayKind::Column) {
            for (level, peak) in peaks.iter_mut().enumerate() {
                let cables = trays.cables_by_level[i * levels + level];
                if cables > peak.as_ref().map_or(0, |p| p.cables) {
                    let area_cm2 = trays.area_by_level_cm2[i * levels + level];
                    *peak = Some(LevelPeak {
                        level: level as u8,
                        cables,
                        area_cm2,
                        tray: i as u32,
                    });
                }
            }
            if trays.cables[i] > cuts.worst_cables {
                cuts.worst_tray = Some(i as u32);
                cuts.worst_cables = trays.cables[i];
                cuts.worst_area_cm2 = trays.area_cm2[i];
                cuts.worst_by_level = trays.cables_by_level[i * levels..(i + 1) * levels].to_vec();
            }
        }
        cuts.peak_by_level = peaks.into_iter().flatten().collect();
        cuts.sum_of_peaks_cables = cuts.peak_by_level.iter().map(|p| p.cables).sum();
        cuts.sum_of_peaks_area_cm2 = cuts.peak_by_level.iter().fold(0.0, |all, p| all + p.area_cm2);
        cuts
    }
}
