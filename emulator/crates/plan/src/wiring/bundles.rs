//! Cables between the same two racks over the same trays go in one bundle.
//!
//! Pull order `[ours]`: longest first. A long bundle passes over the racks where shorter ones leave
//! the tray, so it must lie at the bottom; each shorter one then comes out on top at its drop
//! without being threaded past others, and the last, short pulls can still be undone.

use cubeyard_topology::Topology;

use super::routes::Legs;
use super::trays::Segments;
use crate::layout::Layout;

/// One entry for each route between a pair of racks that cables take, in order of (rack_a, rack_b),
/// rack_a < rack_b.
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
    /// The trays of a bundle from rack_a to rack_b, as runs of consecutive trays: the first, and
    /// the one past the last (one less than the last where the run goes down).
    pub runs: Vec<[i32; 2]>,
    /// The first run of each bundle, and past the last.
    pub first_run: Vec<u32>,
}

impl Bundles {
    pub fn len(&self) -> usize {
        self.rack_a.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rack_a.is_empty()
    }

    pub fn runs_of(&self, bundle: usize) -> &[[i32; 2]] {
        &self.runs[self.first_run[bundle] as usize..self.first_run[bundle + 1] as usize]
    }

    /// Indices of the trays of a bundle, from rack_a to rack_b.
    pub fn trays_of(&self, bundle: usize) -> impl Iterator<Item = usize> + '_ {
        self.runs_of(bundle).iter().flat_map(|&[from, past]| {
            let step = if past > from { 1 } else { -1 };
            (0..past.abs_diff(from)).map(move |nth| (from + step * nth as i32) as usize)
        })
    }
}

/// Gathers the cables that are marked with the variant of their route (any value from 0) by their
/// pair of racks and that variant, and writes the number of its bundle over each mark. Three
/// counting passes put the cables in order, so this is linear in cables.
pub(super) fn gather(
    topology: &Topology,
    layout: &Layout,
    segments: &Segments,
    levels: usize,
    length_mm: &[u32],
    diameter_um: impl Fn(usize) -> u32,
    bundle_of_cable: &mut [i32],
) -> Bundles {
    let links = topology.links();
    let ends = |cable: u32| {
        let at = &layout.placements.rack;
        let (a, b) = (
            at[links.a[cable as usize] as usize],
            at[links.b[cable as usize] as usize],
        );
        (a.min(b), a.max(b))
    };
    let cables: Vec<(u32, u32, u32, u32)> = (0..links.len() as u32)
        .filter(|&cable| bundle_of_cable[cable as usize] >= 0)
        .map(|cable| {
            let (a, b) = ends(cable);
            (a, b, bundle_of_cable[cable as usize] as u32, cable)
        })
        .collect();
    let variants = cables.iter().map(|c| c.2 as usize + 1).max().unwrap_or(0);
    let cables = counting_sort(&cables, variants, |c| c.2);
    let cables = counting_sort(&cables, layout.racks.len(), |c| c.1);
    let cables = counting_sort(&cables, layout.racks.len(), |c| c.0);
    let mut out = Bundles {
        level_count: levels,
        first_run: vec![0],
        ..Bundles::default()
    };
    for run in cables.chunk_by(|x, y| (x.0, x.1, x.2) == (y.0, y.1, y.2)) {
        let bundle = out.rack_a.len();
        out.cables_by_level.resize((bundle + 1) * levels, 0);
        let (mut longest_mm, mut squares_um2, mut thickest_um) = (0, 0i64, 0);
        for &(.., cable) in run {
            let cable = cable as usize;
            let diameter = diameter_um(cable);
            longest_mm = length_mm[cable].max(longest_mm);
            squares_um2 += i64::from(diameter) * i64::from(diameter);
            thickest_um = diameter.max(thickest_um);
            out.cables_by_level[bundle * levels + usize::from(links.level[cable])] += 1;
            bundle_of_cable[cable] = bundle as i32;
        }
        let (rack_a, rack_b, variant, _) = run[0];
        let legs = Legs::of_variant(layout, rack_a, rack_b, variant as i32);
        out.runs.extend(segments.runs(&legs));
        out.first_run.push(out.runs.len() as u32);
        out.rack_a.push(rack_a);
        out.rack_b.push(rack_b);
        out.cables.push(run.len() as u32);
        out.diameter_mm
            .push(bundle_diameter_mm(run.len(), squares_um2, thickest_um));
        out.length_metres.push(f64::from(longest_mm) / 1000.0);
    }
    let mut pulls: Vec<u32> = (0..out.len() as u32).collect();
    pulls.sort_by(|&a, &b| out.length_metres[b as usize].total_cmp(&out.length_metres[a as usize]));
    out.pull_order = vec![0; out.len()];
    for (nth, &bundle) in pulls.iter().enumerate() {
        out.pull_order[bundle as usize] = nth as u32 + 1;
    }
    out
}

/// A stable sort by a key below `keys`.
fn counting_sort<T: Copy + Default>(items: &[T], keys: usize, key: impl Fn(&T) -> u32) -> Vec<T> {
    let mut next = vec![0usize; keys + 1];
    for item in items {
        next[key(item) as usize + 1] += 1;
    }
    for k in 1..=keys {
        next[k] += next[k - 1];
    }
    let mut out = vec![T::default(); items.len()];
    for item in items {
        let slot = &mut next[key(item) as usize];
        out[*slot] = *item;
        *slot += 1;
    }
    out
}

/// Diameter of the round bundle: exact circle packings up to seven equal cables, 75 % packing
/// above.
fn bundle_diameter_mm(cables: usize, squares_um2: i64, thickest_um: u32) -> f64 {
    const SMALL: [f64; 8] = [0.0, 1.0, 2.0, 2.1547, 2.4142, 2.7013, 3.0, 3.0];
    let thickest_mm = f64::from(thickest_um) / 1000.0;
    match SMALL.get(cables) {
        Some(ratio) => ratio * thickest_mm,
        None => (squares_um2 as f64 / 0.75).sqrt() / 1000.0,
    }
}
