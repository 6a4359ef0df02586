//! Cables between the same two racks go in one bundle.
//!
//! Pull order `[ours]`: longest first. A long bundle passes over the racks where shorter ones leave the tray, so it must lie
//! at the bottom; each shorter one then comes out on top at its drop without being threaded past others, and the last,
//! short pulls can still be undone.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// One entry a pair of racks with cables between them, in order of (rack_a, rack_b), rack_a < rack_b.
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

impl Bundles {
    pub fn len(&self) -> usize {
        self.rack_a.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rack_a.is_empty()
    }
}

/// Multiplicative hash of one integer: the map is only looked up, never walked, so its order does not matter.
#[derive(Default)]
struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

#[derive(Clone, Copy)]
struct Open {
    pair: u64,
    cables: u32,
    longest_mm: u32,
    squares_um2: i64,
    thickest_um: u32,
}

pub(super) struct Collector {
    levels: usize,
    index: HashMap<u64, u32, BuildHasherDefault<PairHasher>>,
    /// The pair before this one: links come in runs between the same racks.
    last: (u64, u32),
    open: Vec<Open>,
    by_level: Vec<u32>,
}

impl Collector {
    pub(super) fn new(levels: usize) -> Collector {
        Collector {
            levels,
            index: HashMap::default(),
            last: (u64::MAX, 0),
            open: Vec::new(),
            by_level: Vec::new(),
        }
    }

    /// Adds a cable and returns its bundle's provisional number, in order of appearance.
    #[inline]
    pub(super) fn add(&mut self, a: u32, b: u32, level: u8, length_mm: u32, diameter_um: u32) -> i32 {
        let pair = u64::from(a.min(b)) << 32 | u64::from(a.max(b));
        if self.last.0 != pair {
            let next = self.open.len() as u32;
            let found = *self.index.entry(pair).or_insert(next);
            if found == next {
                self.open.push(Open {
                    pair,
                    cables: 0,
                    longest_mm: 0,
                    squares_um2: 0,
                    thickest_um: 0,
                });
                self.by_level.resize(self.open.len() * self.levels, 0);
            }
            self.last = (pair, found);
        }
        let bundle = self.last.1 as usize;
        let open = &mut self.open[bundle];
        open.cables += 1;
        open.longest_mm = open.longest_mm.max(length_mm);
        open.squares_um2 += i64::from(diameter_um) * i64::from(diameter_um);
        open.thickest_um = open.thickest_um.max(diameter_um);
        self.by_level[bundle * self.levels + usize::from(level)] += 1;
        bundle as i32
    }

    /// Sorts the bundles by rack pair and renumbers the cables' column accordingly.
    pub(super) fn finish(self, bundle_of_cable: &mut [i32]) -> Bundles {
        let mut order: Vec<u32> = (0..self.open.len() as u32).collect();
        order.sort_unstable_by_key(|&i| self.open[i as usize].pair);
        let mut renumbered = vec![0i32; order.len()];
        let mut out = Bundles {
            level_count: self.levels,
            ..Bundles::default()
        };
        for (new, &old) in order.iter().enumerate() {
            let (old, open) = (old as usize, self.open[old as usize]);
            renumbered[old] = new as i32;
            out.rack_a.push((open.pair >> 32) as u32);
            out.rack_b.push(open.pair as u32);
            out.cables.push(open.cables);
            out.cables_by_level
                .extend_from_slice(&self.by_level[old * self.levels..(old + 1) * self.levels]);
            out.diameter_mm.push(bundle_diameter_mm(
                open.cables,
                open.squares_um2,
                open.thickest_um,
            ));
            out.length_metres.push(f64::from(open.longest_mm) / 1000.0);
        }
        for bundle in bundle_of_cable.iter_mut().filter(|b| **b >= 0) {
            *bundle = renumbered[*bundle as usize];
        }
        let mut pulls: Vec<u32> = (0..out.len() as u32).collect();
        pulls.sort_by(|&a, &b| out.length_metres[b as usize].total_cmp(&out.length_metres[a as usize]));
        out.pull_order = vec![0; out.len()];
        for (nth, &bundle) in pulls.iter().enumerate() {
            out.pull_order[bundle as usize] = nth as u32 + 1;
        }
        out
    }
}

/// Diameter of the round bundle: exact circle packings up to seven equal cables, 75 % packing above.
fn bundle_diameter_mm(cables: u32, squares_um2: i64, thickest_um: u32) -> f64 {
    const SMALL: [f64; 8] = [0.0, 1.0, 2.0, 2.1547, 2.4142, 2.7013, 3.0, 3.0];
    let thickest_mm = f64::from(thickest_um) / 1000.0;
    match SMALL.get(cables as usize) {
        Some(ratio) => ratio * thickest_mm,
        None => (squares_um2 as f64 / 0.75).sqrt() / 1000.0,
    }
}
