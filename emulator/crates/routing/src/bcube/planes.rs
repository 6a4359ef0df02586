//! Finds substitutes that leave the cube at one level and return to it, by operations on bits.
//! `[ours]`
//!
//! A substitute that is one hop longer than the number of wrong digits corrects one of them in two
//! steps, over a third digit. If an end has no live port of a wrong level, the shortest substitutes
//! are two hops longer: they change a correct digit and change it back. In both cases the path
//! visits corners of the cube with one digit replaced by a foreign digit. These corners form a
//! plane for each foreign digit. The search examines the planes of all digits of a level together,
//! one bit per digit, so it takes a few operations per corner.

use cubeyard_topology::NodeId;

use super::cube::{CORNERS, Cube, LEVELS, first_of};
use super::live::Live;
use super::shape::{Hop, Shape};

/// Digits that a lane has room for.
const DIGITS: usize = 16;

/// The lowest bit of every lane.
const LANES: u64 = 0x0001_0001_0001_0001;

/// Hops of the longest substitute found here.
const MOST_HOPS: usize = LEVELS + 2;

/// Live ports by line: the servers that differ at one level only.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// Indexed by `server * LEVELS + level`: the live ports of the servers of its line at that
    /// level; 16 bits per port, one bit per digit.
    words: Vec<u64>,
}

impl Lines {
    /// Builds the lines, in time linear in the servers' ports times the digits of a level;
    /// `None` where a level has more than sixteen digits or there are more than four levels.
    pub fn new(shape: &Shape, live: &Live) -> Option<Lines> {
        let fits = shape.levels <= LEVELS && shape.radix.iter().all(|&radix| radix as usize <= DIGITS);
        if !fits {
            return None;
        }
        let spread = |ports: u32| {
            (0..LEVELS).fold(0, |lanes, port| {
                lanes | u64::from(ports >> port & 1) << (16 * port)
            })
        };
        let mut words = vec![0; shape.servers() as usize * LEVELS];
        for server in 0..shape.servers() {
            let lanes = spread(live.ports(server));
            for level in 0..shape.levels {
                // Collected at the line's first server.
                let first = shape.with_digit(server, level, 0);
                words[first as usize * LEVELS + level] |= lanes << shape.digit(server, level);
            }
        }
        for server in 0..shape.servers() {
            for level in 0..shape.levels {
                let first = shape.with_digit(server, level, 0);
                words[server as usize * LEVELS + level] = words[first as usize * LEVELS + level];
            }
        }
        Some(Lines { words })
    }
}

/// A port outside the cube that another path has taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// The corner without the foreign digit, and the level of that digit.
    pub corner: usize,
    pub level: usize,
    /// Lanes and bits of that level, as in [`Lines`].
    pub ports: u64,
}

impl Cut {
    /// The port `port` of the server next to `corner` that has `digit` at `level`; without `port`,
    /// all its ports.
    pub fn new(corner: usize, level: usize, digit: u32, port: Option<usize>) -> Cut {
        let lanes = port.map_or(LANES, |port| 1 << (16 * port));
        Cut {
            corner,
            level,
            ports: lanes << digit,
        }
    }
}

/// A short path in a fixed-size array, without an allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Steps {
    hops: [Hop; MOST_HOPS],
    len: usize,
}

impl Steps {
    fn push(&mut self, server: NodeId, level: usize) {
        self.hops[self.len] = Hop {
            server,
            level: level as u8,
        };
        self.len += 1;
    }

    /// The hops after the source.
    pub fn hops(&self) -> &[Hop] {
        &self.hops[..self.len]
    }
}

/// The planes of all digits of one level.
#[derive(Clone, Copy, Debug, Default)]
struct Planes {
    /// By corner without that level, the usable ports (as in [`Lines`]).
    ports: [u64; CORNERS],
    /// By corner, the digits that lead from it towards the destination.
    leads: [u16; CORNERS],
    /// By corner, the digits that the cube's server there can change to and continue from.
    enters: [u16; CORNERS],
}

/// The input of the search. `open`, `wrong` and the servers at `corners` are as in
/// [`super::probe::Probe`].
pub(super) struct Field<'a> {
    pub shape: &'a Shape,
    pub cube: &'a Cube,
    pub lines: &'a Lines,
    pub corners: &'a [NodeId; CORNERS],
    pub open: u64,
    pub wrong: usize,
    pub cuts: &'a [Cut],
    /// The cube's corners that lead on to the destination over wrong digits only, a bit each at
    /// `4 * corner`.
    pub leads: u64,
    pub rotation: u32,
}

impl Field<'_> {
    /// In rotated order, the first of the substitutes that correct the wrong digits and leave the
    /// cube once, at one of `levels`, which must be all wrong or all correct. For correct levels,
    /// the caller guarantees that no shorter path is left; an end may then have no usable port of a
    /// wrong level.
    pub fn find(&self, levels: usize) -> Option<Steps> {
        let mut planes = [Planes::default(); LEVELS];
        let hops = self.cube.hops(self.open, self.wrong);
        let reached = self.cube.reaches(hops);
        let mut exits = 0;
        for level in (0..LEVELS).filter(|&level| levels >> level & 1 == 1) {
            // Exclude levels at which the search cannot leave the cube from the corners that the
            // source reaches, or cannot return to a corner from which the destination is reached.
            let ports = self.open >> level;
            if reached & ports != 0 && self.leads & ports != 0 {
                exits |= self.planes(level, &mut planes[level]);
            }
        }
        let leads = self.cube.leads(hops, exits);
        if exits == 0 || leads & 1 == 0 {
            return None;
        }
        let first = self.turned(self.shape.levels as u32) as usize;
        let mut steps = Steps::default();
        let mut corner = 0;
        // First follow the path inside the cube, up to the corner where it leaves.
        let (level, digit) = loop {
            let ahead = self.cube.ahead(hops, leads, corner);
            let leaving = (0..LEVELS).fold(0, |leaving, level| {
                leaving | usize::from(planes[level].enters[corner] != 0) << level
            });
            let level = first_of(ahead | leaving, first)?;
            if ahead >> level & 1 == 1 {
                corner |= 1 << level;
                steps.push(self.corners[corner], level);
            } else {
                let radix = self.shape.radix[level];
                let digits = u32::from(planes[level].enters[corner]);
                let turn = self.turned(radix);
                let later = digits >> turn << turn;
                break (level, if later == 0 { digits } else { later }.trailing_zeros());
            }
        };
        let beside = |corner: usize| {
            let server = self.corners[corner];
            self.shape.with_digit(server, level, digit)
        };
        let plane = &planes[level];
        let entered = corner;
        steps.push(beside(corner), level);
        let right = self.wrong >> level & 1 == 0;
        loop {
            let onward = (0..LEVELS).fold(0, |onward, port| {
                let next = corner | 1 << port;
                let joined =
                    plane.ports[corner] & plane.ports[next] & u64::from(plane.leads[next]) << (16 * port);
                onward | usize::from(next != corner && joined >> (16 * port) >> digit & 1 == 1) << port
            });
            let back = self.returns(plane, corner, level) >> digit & 1 == 1 && !(right && corner == entered);
            let next = first_of(onward | usize::from(back) << level, first)?;
            if next == level {
                break;
            }
            corner |= 1 << next;
            steps.push(beside(corner), next);
        }
        corner |= self.wrong & 1 << level;
        steps.push(self.corners[corner], level);
        // In the cube again.
        while corner != self.wrong {
            let level = first_of(self.cube.ahead(hops, self.leads, corner), first)?;
            corner |= 1 << level;
            steps.push(self.corners[corner], level);
        }
        Some(steps)
    }

    /// Fills in the planes of a level. Returns the corners at which they can be entered, a bit each
    /// at `4 * corner`.
    #[inline]
    fn planes(&self, level: usize, planes: &mut Planes) -> u64 {
        let own = self.shape.digit(self.corners[0], level);
        let turned = self.shape.digit(self.corners[1 << level], level);
        let right = self.wrong >> level & 1 == 0;
        // A correct digit may also change to the digit of the cube's other side.
        let foreign = !(1 << own | u64::from(!right) << turned) & 0xffff;
        let within = self.wrong & !(1 << level);
        let mut joined = [0u64; CORNERS];
        let mut exits = 0;
        let mut corner = within;
        loop {
            let mut ports = self.lines.words[self.corners[corner] as usize * LEVELS + level];
            if right {
                let open = self.open >> (4 * (corner | 1 << level));
                let lanes = (open & 0xf).wrapping_mul(1 << 45 | 1 << 30 | 1 << 15 | 1) & LANES;
                ports &= !((LANES & !lanes) << turned);
            }
            for cut in self
                .cuts
                .iter()
                .filter(|cut| cut.level == level && cut.corner == corner)
            {
                ports &= !cut.ports;
            }
            planes.ports[corner] = ports;
            let onward = (0..LEVELS).fold(0, |onward, port| {
                onward | (ports & joined[corner | 1 << port]) >> (16 * port)
            }) & foreign;
            let back = self.returns(planes, corner, level) & foreign;
            let leads = onward | back;
            planes.leads[corner] = leads as u16;
            joined[corner] = ports & leads.wrapping_mul(LANES);
            // A path that leaves and returns at the same corner makes no progress.
            let entering = if right { onward } else { leads };
            let entering = entering & ports >> (16 * level) & self.port(corner, level).wrapping_neg();
            planes.enters[corner] = entering as u16;
            exits |= u64::from(entering != 0) << (4 * corner);
            if corner == 0 {
                return exits;
            }
            corner = (corner - 1) & within;
        }
    }

    /// The digits with which the server next to a corner can return to the cube and continue.
    #[inline]
    fn returns(&self, planes: &Planes, corner: usize, level: usize) -> u64 {
        let end = corner | self.wrong & 1 << level;
        let open = self.port(end, level) & self.leads >> (4 * end);
        planes.ports[corner] >> (16 * level) & 0xffff & open.wrapping_neg()
    }

    /// A bit is one if a corner's port is usable.
    #[inline]
    fn port(&self, corner: usize, level: usize) -> u64 {
        self.open >> (4 * corner + level) & 1
    }

    #[inline]
    fn turned(&self, count: u32) -> u32 {
        super::substitute::turned(self.rotation, count)
    }
}
