//! BSR for a flow whose drawn path is broken: the result of the source's probes, read from the
//! [`Cube`] where possible.

use cubeyard_topology::NodeId;

use super::cube::{CORNERS, Cube, Digits, LEVELS, Order, Trace, alive_hops};
use super::live::Live;
use super::planes::{Cut, Field, Lines, Steps};
use super::shape::{Hop, Hops, Shape};
use super::substitute::{Search, Taken, attempt_seed, rotation_of, turned};
use crate::random::Draws;

/// The path a flow takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The path of BuildPathSet that leaves by this level.
    Leaving(usize),
    /// A substitute for a broken path: it corrects the wrong digits in this order.
    Correcting(Order),
    /// A longer substitute, which leaves the cube at one level.
    Beside(Steps),
    /// Any other path.
    Around(Hops),
}

/// The surroundings of one flow.
pub(super) struct Probe<'a> {
    cube: &'a Cube,
    shape: &'a Shape,
    live: &'a Live,
    lines: Option<&'a Lines>,
    ends: [NodeId; 2],
    corners: [NodeId; CORNERS],
    source_digits: Digits,
    /// For each level, the digit to which BuildPathSet changes the source's: the destination's, or
    /// the next one if the two agree.
    turned: Digits,
    /// The levels at which the ends differ, a bit each: the destination's corner.
    wrong: usize,
    /// Usable ports of every corner, at `4 * corner + level`: alive and not taken.
    open: u64,
    /// Hops of the cube whose switches are taken, each at its end with the source's digit.
    crossed: u64,
    /// The taken ports outside the cube, and among them those at servers next to the cube.
    outside: Taken,
    cuts: Vec<Cut>,
}

impl<'a> Probe<'a> {
    /// Collects the state of the cube between two different live servers.
    #[inline]
    pub fn new(
        cube: &'a Cube,
        shape: &'a Shape,
        live: &'a Live,
        lines: Option<&'a Lines>,
        ends: [NodeId; 2],
    ) -> Probe<'a> {
        let [source, destination] = ends;
        let wrong = cube.digits(source).differ(cube.digits(destination));
        let mut turned = [0; LEVELS];
        let mut corners = [source; CORNERS];
        for (level, turned) in turned.iter_mut().enumerate().take(shape.levels) {
            let own = shape.digit(source, level);
            let next = if own + 1 == shape.radix[level] { 0 } else { own + 1 };
            let digit = match wrong >> level & 1 {
                0 => next,
                _ => shape.digit(destination, level),
            };
            *turned = digit as u16;
            let step = digit.wrapping_sub(own).wrapping_mul(shape.weight(level));
            for corner in 0..1 << level {
                corners[corner | 1 << level] = corners[corner].wrapping_add(step);
            }
        }
        // In a BCube with fewer levels, the upper corners equal the source, and no hop leads there.
        let open = corners.iter().enumerate().fold(0, |open, (corner, &server)| {
            open | u64::from(live.ports(server)) << (4 * corner)
        });
        Probe {
            cube,
            shape,
            live,
            lines,
            ends,
            corners,
            source_digits: cube.digits(source),
            turned: Digits::new(&turned),
            wrong,
            open,
            crossed: 0,
            outside: Taken::default(),
            cuts: Vec::new(),
        }
    }

    /// The path of a flow whose drawn path, with its first hop at `drawn`, is broken: that path's
    /// own substitute if there is one, else a random good path. `None` if no path is left.
    pub fn choose(&mut self, drawn: usize, flow: u64) -> Option<Way> {
        let (hops, leaving) = (alive_hops(self.open), self.cube.leaving());
        let mut whole = 0u32;
        let mut taken = Trace::default();
        for (level, trace) in self.cube.traces(self.wrong).iter().enumerate() {
            let alive = leaving >> level & 1 == 1 && hops & trace.hops == trace.hops;
            whole |= u32::from(alive) << level;
            taken = taken.and(trace, alive);
        }
        self.take(&taken);
        // The highest broken level has the first substitute.
        let rank = ((leaving & !whole) >> drawn >> 1).count_ones();
        let mut substitutes = [const { None }; LEVELS];
        let mut found = 0;
        for attempt in 0..=rank {
            match self.substitute(attempt_seed(flow, u64::from(attempt)), attempt == rank) {
                Some(way) if attempt == rank => return Some(way),
                Some(way) => substitutes[attempt as usize] = Some(way),
                None => break,
            }
            found += 1;
        }
        let good = whole.count_ones() + found;
        if good == 0 {
            return None;
        }
        let index = Draws::new(flow).below(good);
        match index.checked_sub(whole.count_ones()) {
            None => Some(Way::Leaving(nth_highest(whole, index))),
            Some(index) => substitutes[index as usize].take(),
        }
    }

    /// Returns the next substitute that avoids all taken ports, and marks its ports as taken unless
    /// it is the `last` one.
    fn substitute(&mut self, seed: u64, last: bool) -> Option<Way> {
        if self.open & 0xf == 0 || self.open >> (4 * self.wrong) & 0xf == 0 {
            return None;
        }
        let rotation = rotation_of(seed);
        let hops = self.cube.hops(self.open, self.wrong);
        let leads = self.cube.leads(hops, 1 << (4 * self.wrong));
        let first = turned(rotation, self.shape.levels as u32) as usize;
        if let Some((order, trace)) = self.cube.shortest(hops, leads, self.wrong, first) {
            if !last {
                self.take(&trace);
            }
            return Some(Way::Correcting(order));
        }
        let longer = match self.beside(leads, rotation) {
            Ok(steps) => {
                if !last {
                    self.take_around(steps.hops());
                }
                return Some(Way::Beside(steps));
            }
            Err(longer) => longer,
        };
        self.search(longer, rotation, last)
    }

    /// A substitute that leaves the cube at one level, if it is provably the first of the shortest
    /// ones in rotated order; otherwise the least number of hops of any substitute. The caller has
    /// checked that no path over wrong digits alone exists.
    fn beside(&self, leads: u64, rotation: u32) -> Result<Steps, usize> {
        let one_more = self.wrong.count_ones() as usize + 1;
        let Some(lines) = self.lines else {
            return Err(one_more);
        };
        let field = Field {
            shape: self.shape,
            cube: self.cube,
            lines,
            corners: &self.corners,
            open: self.open,
            wrong: self.wrong,
            cuts: &self.cuts,
            leads,
            rotation,
        };
        let ends = [self.open, self.open >> (4 * self.wrong)];
        // If an end has no port of a wrong level, its hop goes to or comes from a digit that was
        // correct.
        if ends.iter().any(|end| *end as usize & 0xf & self.wrong == 0) {
            let right = self.cube.leaving() as usize & !self.wrong;
            return field.find(right).ok_or(one_more + 2);
        }
        field.find(self.wrong).ok_or(one_more + 1)
    }

    /// Searches for a substitute with at least `at_least` hops.
    fn search(&mut self, at_least: usize, rotation: u32, last: bool) -> Option<Way> {
        let mut hops = Hops::with_capacity(2 * LEVELS);
        let search = Search::new(
            self.shape,
            self.ends,
            |server| self.usable(server),
            rotation,
            &mut hops,
        );
        if !search.run(at_least) {
            return None;
        }
        if !last {
            self.take_around(&hops);
        }
        Some(Way::Around(hops))
    }

    fn take(&mut self, trace: &Trace) {
        self.open &= !trace.takes;
        self.crossed |= trace.hops;
    }

    /// Takes a path that may leave the cube.
    fn take_around(&mut self, hops: &[Hop]) {
        let mut trace = Trace::default();
        let mut at = self.ends[0];
        for hop in hops {
            let level = usize::from(hop.level);
            let (corner, foreign) = self.corner(at);
            if foreign & !(1 << level) == 0 {
                trace.hop(corner, level);
            } else {
                self.outside.add(self.shape.switch(at, level));
                let beside = foreign & !(1 << level);
                if beside.is_power_of_two() {
                    let axis = beside.ilog2() as usize;
                    let digit = self.shape.digit(at, axis);
                    for side in [corner & !(1 << level), corner | 1 << level] {
                        self.cuts.push(Cut::new(side, axis, digit, Some(level)));
                    }
                }
            }
            at = hop.server;
            if at != self.ends[1] {
                match self.corner(at) {
                    (corner, 0) => trace.through(corner),
                    (corner, foreign) => {
                        self.outside.add(at);
                        if foreign.is_power_of_two() {
                            let axis = foreign.ilog2() as usize;
                            self.cuts
                                .push(Cut::new(corner, axis, self.shape.digit(at, axis), None));
                        }
                    }
                }
            }
        }
        self.take(&trace);
    }

    /// The position of a server: its corner, and the levels at which its digit is neither the
    /// source's nor the turned one.
    #[inline]
    fn corner(&self, server: NodeId) -> (usize, usize) {
        let digits = self.cube.digits(server);
        let moved = digits.differ(self.source_digits);
        let elsewhere = digits.differ(self.turned);
        (moved & !elsewhere, moved & elsewhere)
    }

    /// The levels at which a server's port may be used, a bit each.
    #[inline]
    fn usable(&self, server: NodeId) -> u32 {
        let (corner, foreign) = self.corner(server);
        if foreign == 0 {
            return (self.open >> (4 * corner)) as u32 & 0xf;
        }
        let mut ports = self.live.ports(server);
        if foreign.is_power_of_two() && self.crossed >> (4 * corner) & foreign as u64 != 0 {
            // It shares that switch with two corners, one of which has sent through it.
            ports &= !(foreign as u32);
        }
        if !self.outside.is_empty() {
            if self.outside.has(server) {
                return 0;
            }
            for level in 0..self.shape.levels {
                if self.outside.has(self.shape.switch(server, level)) {
                    ports &= !(1 << level);
                }
            }
        }
        ports
    }
}

/// The `index`-th of the set bits, from the highest.
fn nth_highest(mut bits: u32, index: u32) -> usize {
    for _ in 0..index {
        bits &= !(1 << bits.ilog2());
    }
    bits.ilog2() as usize
}
