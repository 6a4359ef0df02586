//! The random regular graph between the switches, as published [jellyfish §3].

use std::collections::BTreeSet;

use crate::random::Draws;

/// After this number of failed draws of a pair, the remaining pairs are searched one by one.
const DRAWS_IN_VAIN: u32 = 64;

/// Links between nodes of these degrees, whose sum is even and which are all below their number: at
/// random, in ascending order.
pub(super) fn random_graph(degrees: &[u32], seed: u64) -> Vec<(u32, u32)> {
    let mut graph = Making::new(degrees, seed);
    graph.join_free_ports();
    graph.fill_the_rest();
    graph.make_whole();
    graph.links.into_iter().collect()
}

/// A random graph under construction.
struct Making {
    draws: Draws,
    free: Vec<u32>,
    /// Pairs of ends, the lower one first.
    links: BTreeSet<(u32, u32)>,
    /// The same links, to draw from.
    drawn: Vec<(u32, u32)>,
}

impl Making {
    fn new(degrees: &[u32], seed: u64) -> Making {
        Making {
            draws: Draws::new(seed),
            free: degrees.to_vec(),
            links: BTreeSet::new(),
            drawn: Vec::new(),
        }
    }

    fn joined(&self, a: u32, b: u32) -> bool {
        self.links.contains(&(a.min(b), a.max(b)))
    }

    fn join(&mut self, a: u32, b: u32) {
        self.links.insert((a.min(b), a.max(b)));
        self.drawn.push((a.min(b), a.max(b)));
        self.free[a as usize] -= 1;
        self.free[b as usize] -= 1;
    }

    /// Removes the link at `place` of `drawn`.
    fn part(&mut self, place: usize) -> (u32, u32) {
        let (a, b) = self.drawn.swap_remove(place);
        self.links.remove(&(a, b));
        self.free[a as usize] += 1;
        self.free[b as usize] += 1;
        (a, b)
    }

    /// Joins random pairs that have free ports and are not joined, until there is none.
    fn join_free_ports(&mut self) {
        let mut open: Vec<u32> = (0..self.free.len() as u32)
            .filter(|&node| self.free[node as usize] > 0)
            .collect();
        while open.len() > 1 {
            let mut pair = None;
            for _ in 0..DRAWS_IN_VAIN {
                let (a, b) = (
                    open[self.draws.below(open.len() as u32) as usize],
                    open[self.draws.below(open.len() as u32) as usize],
                );
                if a != b && !self.joined(a, b) {
                    pair = Some((a, b));
                    break;
                }
            }
            if pair.is_none() {
                let left: Vec<(u32, u32)> = (open.iter().enumerate())
                    .flat_map(|(index, &a)| open[index + 1..].iter().map(move |&b| (a, b)))
                    .filter(|&(a, b)| !self.joined(a, b))
                    .collect();
                if left.is_empty() {
                    return;
                }
                pair = Some(left[self.draws.below(left.len() as u32) as usize]);
            }
            if let Some((a, b)) = pair {
                self.join(a, b);
                open.retain(|&node| self.free[node as usize] > 0);
            }
        }
    }

    /// Free ports of nodes that are joined to each other already take the places of random links.
    fn fill_the_rest(&mut self) {
        loop {
            let Some(first) = (0..self.free.len() as u32).find(|&node| self.free[node as usize] > 0) else {
                return;
            };
            let second = match self.free[first as usize] {
                1 => (first + 1..self.free.len() as u32).find(|&node| self.free[node as usize] > 0),
                _ => Some(first),
            };
            let Some(second) = second else { return };
            if !self.take_a_link(first, second) {
                return;
            }
        }
    }

    /// Replaces a link (x, y) by (first, x) and (second, y); the first that fits from a random
    /// place on.
    fn take_a_link(&mut self, first: u32, second: u32) -> bool {
        let count = self.drawn.len();
        if count == 0 {
            return false;
        }
        let start = self.draws.below(count as u32) as usize;
        for place in (0..count).map(|step| (start + step) % count) {
            let (x, y) = self.drawn[place];
            for (x, y) in [(x, y), (y, x)] {
                let apart = x != first && y != second && y != first && x != second;
                if apart && !self.joined(first, x) && !self.joined(second, y) {
                    self.part(place);
                    self.join(first, x);
                    self.join(second, y);
                    return true;
                }
            }
        }
        false
    }

    /// By node, the lowest node of its part.
    fn parts(&self) -> Vec<u32> {
        let mut near = vec![Vec::new(); self.free.len()];
        for &(a, b) in &self.links {
            near[a as usize].push(b);
            near[b as usize].push(a);
        }
        let mut part = vec![u32::MAX; near.len()];
        for start in 0..near.len() as u32 {
            let mut queue = vec![start];
            while let Some(node) = queue.pop() {
                if part[node as usize] == u32::MAX {
                    part[node as usize] = start;
                    queue.extend(&near[node as usize]);
                }
            }
        }
        part
    }

    /// Swaps ends of links of different parts until there is one part. Every node has two links or
    /// more, so every part has a circle, and a link of a circle can go without parting it.
    fn make_whole(&mut self) {
        loop {
            let part = self.parts();
            let Some(other) = part.iter().position(|&of| of != 0) else {
                return;
            };
            let count = |part: &[u32]| {
                let mut all = part.to_vec();
                all.sort_unstable();
                all.dedup();
                all.len()
            };
            let (before, mut done) = (count(&part), false);
            let of = |wanted: u32| -> Vec<(u32, u32)> {
                let links = self.links.iter().copied();
                links.filter(|&(a, _)| part[a as usize] == wanted).collect()
            };
            let (ours, theirs) = (of(0), of(part[other]));
            'swaps: for &(a, b) in &ours {
                for &(c, d) in &theirs {
                    self.swap((a, b), (c, d));
                    if count(&self.parts()) < before {
                        done = true;
                        break 'swaps;
                    }
                    self.links.remove(&(a.min(c), a.max(c)));
                    self.links.remove(&(b.min(d), b.max(d)));
                    self.links.extend([(a, b), (c, d)]);
                }
            }
            if !done {
                return;
            }
        }
    }

    /// Replaces links (a, b) and (c, d) by (a, c) and (b, d).
    fn swap(&mut self, (a, b): (u32, u32), (c, d): (u32, u32)) {
        self.links.remove(&(a, b));
        self.links.remove(&(c, d));
        self.links.insert((a.min(c), a.max(c)));
        self.links.insert((b.min(d), b.max(d)));
    }
}
