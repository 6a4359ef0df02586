//! All servers that BuildPathSet visits, and the shortest substitute paths, in 64 bits. `[ours]`
//!
//! Between a source and a destination, BuildPathSet changes each digit to only one other value: to
//! the destination's digit where the two differ, to the next digit where they agree. So the servers
//! of its paths are the corners of a cube with one axis per level, and so are the servers of every
//! substitute that corrects wrong digits only. The live ports of all corners fit into one word: at
//! most 16 corners times 4 levels. A few operations on words then show which paths are alive, which
//! ports they take, and a shortest path that avoids those ports. Longer substitutes leave the cube
//! and need a search.

use cubeyard_topology::NodeId;

use super::paths::levels_down_from;
use super::shape::Shape;

/// Levels whose cube fits into a word.
pub(super) const LEVELS: usize = 4;

/// Corners of a cube with `LEVELS` axes.
pub(super) const CORNERS: usize = 1 << LEVELS;

/// The bit of every corner, at `4 * corner`.
const CORNER: u64 = 0x1111_1111_1111_1111;

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
        // The top bit of every lane that is not zero, then these four bits next to each other.
        let set =
            (((lanes & 0x7fff_7fff_7fff_7fff) + 0x7fff_7fff_7fff_7fff) | lanes) >> 15 & 0x0001_0001_0001_0001;
        (set.wrapping_mul(1 << 48 | 1 << 33 | 1 << 18 | 1 << 3) >> 48) as usize & 0xf
    }
}

/// One path in the cube.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trace {
    /// The bit `4 * corner + level` of every hop, at its end with the source's digit.
    pub hops: u64,
    /// The ports that no other path may use: those of the crossed switches and all ports
    /// of the intermediate servers.
    pub takes: u64,
}

impl Trace {
    /// Adds the hop at `level` from or to `corner`.
    pub fn hop(&mut self, corner: usize, level: usize) {
        let lower = 4 * (corner & !(1 << level)) + level;
        self.hops |= 1 << lower;
        self.takes |= 1 << lower | 1 << (lower + (4 << level));
    }

    /// Adds both if `there` is set.
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

/// The levels of a path that corrects wrong digits only, in their order: four bits each, the first
/// lowest.
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
    /// The levels of a path's first hop, a bit each.
    leaving: u32,
    /// By the set of wrong levels, and by level.
    traces: Vec<[Trace; LEVELS]>,
    /// Indexed by server.
    digits: Vec<Digits>,
}

impl Cube {
    /// The tables for a BCube; `None` if it has more than [`LEVELS`] levels.
    pub fn new(shape: &Shape) -> Option<Cube> {
        let levels = shape.levels;
        (levels <= LEVELS).then(|| Cube {
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

    #[inline]
    pub fn digits(&self, server: NodeId) -> Digits {
        self.digits[server as usize]
    }

    /// The levels of a path's first hop, a bit each.
    pub fn leaving(&self) -> u32 {
        self.leaving
    }

    /// The paths of BuildPathSet by the level of their first hop; `wrong` has a bit for every level
    /// at which source and destination differ.
    pub fn traces(&self, wrong: usize) -> &[Trace; LEVELS] {
        &self.traces[wrong]
    }

    /// The hops at wrong levels with both ends open, each at its end with the source's digit.
    #[inline]
    pub fn hops(&self, open: u64, wrong: usize) -> u64 {
        alive_hops(open) & (wrong as u64).wrapping_mul(CORNER)
    }

    /// The corners from which such hops lead to one of `to`, a bit each at `4 * corner` as in `to`.
    #[inline]
    pub fn leads(&self, hops: u64, to: u64) -> u64 {
        let mut leads = to;
        // Searches backwards, a hop in each round; the levels of a round are independent.
        for _ in 0..LEVELS {
            let [a, b, c, d] = [0, 1, 2, 3].map(|level| leads >> (4 << level) & hops >> level);
            leads |= (a | b | c | d) & CORNER;
        }
        leads
    }

    /// The corners that `hops` reach from the source, a bit each at `4 * corner`.
    #[inline]
    pub fn reaches(&self, hops: u64) -> u64 {
        let mut reached = 1;
        for _ in 0..LEVELS {
            let [a, b, c, d] = [0, 1, 2, 3].map(|level| (reached & hops >> level) << (4 << level));
            reached |= a | b | c | d;
        }
        reached
    }

    /// The levels (a bit each) by which a hop from `corner` can continue to a corner in `leads`.
    #[inline]
    pub fn ahead(&self, hops: u64, leads: u64, corner: usize) -> usize {
        let leading = (0..LEVELS).fold(0, |leading, level| {
            leading | (leads >> (4 * (corner | 1 << level)) & 1) << level
        });
        (hops >> (4 * corner) & leading) as usize & !corner & 0xf
    }

    /// In rotated order, the first of the shortest paths from the source to the destination that
    /// correct wrong digits only, over `hops`; `leads` are the corners that lead to the
    /// destination. `first` is the level tried first.
    #[inline]
    pub fn shortest(&self, hops: u64, leads: u64, wrong: usize, first: usize) -> Option<(Order, Trace)> {
        if leads & 1 == 0 {
            return None;
        }
        let (mut order, mut trace) = (Order::default(), Trace::default());
        let mut corner = 0;
        while corner != wrong {
            let level = first_of(self.ahead(hops, leads, corner), first)?;
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

/// The first of several levels, a bit each, if they are tried in turn from `first`.
#[inline]
pub(super) fn first_of(levels: usize, first: usize) -> Option<usize> {
    let turned = (levels | levels << LEVELS) >> first;
    (levels != 0).then(|| (turned.trailing_zeros() as usize + first) % LEVELS)
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
