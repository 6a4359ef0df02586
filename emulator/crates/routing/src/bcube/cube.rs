//! All that BuildPathSet visits, and the shortest substitutes, in sixty-four bits. `[ours]`
//!
//! Between a source and a destination BuildPathSet changes every digit in one way only: to the destination's where
//! they differ, to one more where they agree. The servers its paths visit are thus the corners of a cube with an axis a
//! level, and so are the servers of every substitute that corrects wrong digits only. The live ports of all corners fit
//! into one word of at most 16 corners times 4 levels; which paths are alive, what they take, and a shortest way beside
//! them are then a few operations on words. Longer substitutes leave the cube and are searched for.

use cubeyard_topology::NodeId;

use super::paths::levels_down_from;
use super::shape::Shape;

/// Levels whose cube fits into a word.
pub(super) const LEVELS: usize = 4;

/// By level: the bits of that level at the corners whose digit there is the source's.
const LOWER: [u64; LEVELS] = [
    0x0101_0101_0101_0101,
    0x0022_0022_0022_0022,
    0x0000_4444_0000_4444,
    0x0000_0000_8888_8888,
];

/// The digits of an address in one word, sixteen bits each, level 0 lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Digits(u64);

impl Digits {
    /// Packs digits, level 0 first.
    pub fn new(digits: &[u16]) -> Digits {
        Digits(
            digits
                .iter()
                .rev()
                .fold(0, |word, &digit| word << 16 | u64::from(digit)),
        )
    }

    /// The levels at which two addresses differ, a bit each.
    #[inline]
    pub fn differ(self, other: Digits) -> usize {
        let lanes = self.0 ^ other.0;
        // The top bit of every lane that is not zero, then those four bits side by side.
        let set =
            (((lanes & 0x7fff_7fff_7fff_7fff) + 0x7fff_7fff_7fff_7fff) | lanes) >> 15 & 0x0001_0001_0001_0001;
        (set.wrapping_mul(1 << 48 | 1 << 33 | 1 << 18 | 1 << 3) >> 48) as usize & 0xf
    }
}

/// What one path is in the cube.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trace {
    /// The bit `4 * corner + level` of every hop, at its end with the source's digit.
    pub hops: u64,
    /// The ports that nothing else may use any more: of the switches crossed, and all of the servers between.
    pub takes: u64,
}

impl Trace {
    /// Adds the hop at `level` from or to `corner`.
    pub fn hop(&mut self, corner: usize, level: usize) {
        let lower = 4 * (corner & !(1 << level)) + level;
        self.hops |= 1 << lower;
        self.takes |= 1 << lower | 1 << (lower + (4 << level));
    }

    /// Both together, where `there`.
    #[inline]
    pub fn and(self, other: &Trace, there: bool) -> Trace {
        let mask = u64::from(there).wrapping_neg();
        Trace {
            hops: self.hops | other.hops & mask,
            takes: self.takes | other.takes & mask,
        }
    }

    /// Adds a server between the ends.
    pub fn through(&mut self, corner: usize) {
        self.takes |= 0xf << (4 * corner);
    }
}

/// The levels of a path that corrects wrong digits only, in their order: four bits each, the first lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    levels: u32,
    len: u32,
}

impl Order {
    fn push(&mut self, level: usize) {
        self.levels |= (level as u32) << (4 * self.len);
        self.len += 1;
    }

    /// The levels, first to last.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.len).map(move |i| (self.levels >> (4 * i) & 0xf) as usize)
    }
}

/// The paths of BuildPathSet as bits, for every set of wrong digits.
#[derive(Clone, Debug)]
pub(super) struct Cube {
    levels: usize,
    /// The levels by which a path can leave, a bit each.
    leaving: u32,
    /// By the set of wrong levels, and by level.
    traces: Vec<[Trace; LEVELS]>,
    /// By server.
    digits: Vec<Digits>,
}

impl Cube {
    /// The tables for a BCube; `None` where it has more than [`LEVELS`] levels.
    pub fn new(shape: &Shape) -> Option<Cube> {
        let levels = shape.levels;
        (levels <= LEVELS).then(|| Cube {
            levels,
            leaving: (0..levels)
                .filter(|&level| shape.radix[level] > 1)
                .fold(0, |leaving, level| leaving | 1 << level),
            traces: (0..1usize << LEVELS)
                .map(|wrong| std::array::from_fn(|level| trace(levels, wrong, level)))
                .collect(),
            digits: (0..shape.servers())
                .map(|server| Digits::new(shape.digits(server)))
                .collect(),
        })
    }

    /// A server's digits.
    #[inline]
    pub fn digits(&self, server: NodeId) -> Digits {
        self.digits[server as usize]
    }

    /// The levels by which a path can leave, a bit each.
    pub fn leaving(&self) -> u32 {
        self.leaving
    }

    /// The paths of BuildPathSet by the level they leave the source by; `wrong` has a bit for every level at which
    /// source and destination differ.
    pub fn traces(&self, wrong: usize) -> &[Trace; LEVELS] {
        &self.traces[wrong]
    }

    /// The first in rotated order of the shortest ways from the source to the destination: they correct wrong digits
    /// only. Nothing where none is open.
    pub fn shortest(&self, open: u64, wrong: usize, rotation: u32) -> Option<(Order, Trace)> {
        let hops = alive_hops(open);
        // Backwards from the destination: the corners that lead there, a bit each at `4 * corner`.
        let mut leads = 1u64 << (4 * wrong);
        for _ in 0..wrong.count_ones() {
            for level in 0..LEVELS {
                leads |=
                    leads >> (4 << level) & hops >> level & u64::from(wrong >> level & 1 == 1).wrapping_neg();
            }
        }
        if leads & 1 == 0 {
            return None;
        }
        let (mut order, mut trace) = (Order::default(), Trace::default());
        let mut corner = 0;
        while corner != wrong {
            let turns = 0..self.levels;
            let level = turns
                .map(|turn| (turn + rotation as usize) % self.levels)
                .find(|&level| {
                    let usable = wrong & !corner & 1 << level != 0 && hops >> (4 * corner + level) & 1 == 1;
                    usable && leads >> (4 * (corner | 1 << level)) & 1 == 1
                })?;
            trace.hop(corner, level);
            corner |= 1 << level;
            if corner != wrong {
                trace.through(corner);
            }
            order.push(level);
        }
        Some((order, trace))
    }
}

/// The hops whose both ends are open, each at its end with the source's digit.
#[inline]
pub(super) fn alive_hops(open: u64) -> u64 {
    (0..LEVELS).fold(0, |hops, level| hops | open & open >> (4 << level) & LOWER[level])
}

/// The path of BuildPathSet that leaves by `level`. `[bcube §3.3, Fig. 3]`
fn trace(levels: usize, wrong: usize, level: usize) -> Trace {
    let mut trace = Trace::default();
    if level >= levels || wrong == 0 {
        return trace;
    }
    let mut corner = 0;
    let mut go = |trace: &mut Trace, level: usize| {
        trace.hop(corner, level);
        corner ^= 1 << level;
        if corner != wrong {
            trace.through(corner);
        }
    };
    let direct = wrong >> level & 1 == 1;
    go(&mut trace, level);
    for other in levels_down_from(levels, level)
        .skip(1)
        .filter(|&other| wrong >> other & 1 == 1)
    {
        go(&mut trace, other);
    }
    if !direct {
        go(&mut trace, level);
    }
    trace
}
