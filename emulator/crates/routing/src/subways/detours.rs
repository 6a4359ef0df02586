//! Detours: a hot rack's traffic leaves by ToRs farther along its loop, relayed by servers of the
//! racks between. `[subways §6]`

/// One loop: positions of racks and ToRs are `0..size`, around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Number of racks, and of ToRs.
    pub size: usize,
    /// Ports of a server.
    pub ports: usize,
}

impl Loop {
    fn place(&self, at: isize) -> usize {
        at.rem_euclid(self.size as isize) as usize
    }

    /// The ToRs of a rack from left to right: `i - ceil((p-1)/2) ..= i + floor((p-1)/2)`.
    pub fn tors_of(&self, rack: usize) -> Vec<usize> {
        let first = rack as isize - (self.ports / 2) as isize;
        (0..self.ports.min(self.size))
            .map(|step| self.place(first + step as isize))
            .collect()
    }

    /// The racks on a ToR from left to right.
    pub fn racks_of(&self, tor: usize) -> Vec<usize> {
        let first = tor as isize - ((self.ports - 1) / 2) as isize;
        (0..self.ports.min(self.size))
            .map(|step| self.place(first + step as isize))
            .collect()
    }
}

/// Which ToRs are hot: more than `threshold` of the uplinks used over a whole `T_detect` makes a
/// ToR hot for `duration_secs` at least.
#[derive(Clone, Debug, PartialEq)]
pub struct HotSpots {
    threshold: f64,
    duration_secs: f64,
    until_secs: Vec<f64>,
}

impl HotSpots {
    /// Nothing hot yet. The paper's threshold is 0.6.
    pub fn new(tors: usize, threshold: f64, duration_secs: f64) -> HotSpots {
        HotSpots {
            threshold,
            duration_secs,
            until_secs: vec![f64::NEG_INFINITY; tors],
        }
    }

    /// Records the least utilisation of each ToR in the period that ends now, and returns which
    /// ToRs are hot.
    pub fn observe(&mut self, now_secs: f64, least_utilisation: &[f64]) -> Vec<bool> {
        self.until_secs
            .iter_mut()
            .zip(least_utilisation)
            .map(|(until, &used)| {
                if used > self.threshold {
                    *until = now_secs + self.duration_secs;
                }
                *until > now_secs
            })
            .collect()
    }
}

/// The racks all of whose ToRs are hot.
pub fn hot_racks(ring: Loop, hot: &[bool]) -> Vec<usize> {
    (0..ring.size)
        .filter(|&rack| ring.tors_of(rack).into_iter().all(|tor| hot[tor]))
        .collect()
}

/// Runs of `p` or more hot ToRs around the loop, as (first, length), by first. A loop hot all round
/// is one run from 0: it has no cool side to detour to.
pub fn hot_groups(ring: Loop, hot: &[bool]) -> Vec<(usize, usize)> {
    if hot.iter().all(|&hot| hot) {
        return vec![(0, ring.size)];
    }
    (0..ring.size)
        .filter(|&tor| hot[tor] && !hot[ring.place(tor as isize - 1)])
        .map(|first| {
            let length = (0..ring.size)
                .take_while(|step| hot[(first + step) % ring.size])
                .count();
            (first, length)
        })
        .filter(|&(_, length)| length >= ring.ports)
        .collect()
}

/// The limits of detours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DetourLimits {
    /// Servers that relay on one path, at most; the paper's evaluation stops at two.
    pub relays: usize,
    /// The share of a ToR's remaining capacity that detours may use; 0.6 in the paper.
    pub usable: f64,
}

/// One way of detoured traffic: from a rack to one of its ToRs, to a relaying rack, to its ToR, and
/// so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetourPath {
    /// The hot rack that sends.
    pub source: usize,
    /// ToR, relaying rack, ToR, …, the ToR that sends the traffic up.
    pub steps: Vec<usize>,
}

/// The detours that leave by one ToR.
#[derive(Clone, Debug, PartialEq)]
pub struct Detour {
    /// Index of the hot group.
    pub group: usize,
    /// Whether it lies to the left of the group.
    pub left: bool,
    /// The ToR that sends up.
    pub tor: usize,
    /// Capacity for all paths together, in the unit of the capacities given.
    pub capacity: f64,
    /// The paths, which share the capacity equally.
    pub paths: Vec<DetourPath>,
}

/// The decision of a loop's scheduler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DetourPlan {
    /// Detours, nearest ToRs first.
    pub detours: Vec<Detour>,
    /// (rack, ToR): racks at the edge of a group of racks send nothing over ToRs that inner racks
    /// can use.
    pub withdrawn: Vec<(usize, usize)>,
}

/// The racks of a group that may detour to one side: the `floor(p/2)` nearest to it.
fn edge_racks(ring: Loop, (first, length): (usize, usize), left: bool) -> Vec<usize> {
    let racks = length + 1 - ring.ports;
    let edge = (ring.ports / 2).min(racks);
    let start = first + ring.ports / 2;
    (0..edge)
        .map(|step| (start + if left { step } else { racks - 1 - step }) % ring.size)
        .collect()
}

/// The scheduler's algorithm: walking outwards from both sides of each group in turn, it takes ToR
/// after ToR until one is hot, used by another group, or farther than relays reach, or until the
/// racks that detour have no link capacity left.
///
/// `hot` and `left_over` (capacity of the uplinks not used) are by ToR, `link_capacity` (of a
/// rack's server links together, for detours) by rack.
pub fn plan_detours(
    ring: Loop,
    hot: &[bool],
    left_over: &[f64],
    link_capacity: &[f64],
    limits: DetourLimits,
) -> DetourPlan {
    let groups = hot_groups(ring, hot);
    let mut plan = DetourPlan::default();
    let half = ring.ports / 2;
    if half == 0 {
        return plan;
    }
    let mut budget: Vec<f64> = link_capacity.to_vec();
    let mut used = vec![false; ring.size];
    let mut open: Vec<[bool; 2]> = vec![[true; 2]; groups.len()];
    for distance in 1..ring.size {
        for (index, &(first, length)) in groups.iter().enumerate() {
            for left in [true, false] {
                if !open[index][usize::from(left)] {
                    continue;
                }
                let tor = if left {
                    ring.place(first as isize - distance as isize)
                } else {
                    (first + length - 1 + distance) % ring.size
                };
                let sources: Vec<usize> = edge_racks(ring, (first, length), left)
                    .into_iter()
                    .filter(|&rack| budget[rack] > 0.0)
                    .collect();
                let mut paths = Vec::new();
                if !hot[tor] && !used[tor] {
                    trace_back(
                        ring,
                        hot,
                        &sources,
                        left,
                        limits.relays,
                        &mut vec![tor],
                        &mut paths,
                    );
                }
                if paths.is_empty() {
                    open[index][usize::from(left)] = false;
                    continue;
                }
                used[tor] = true;
                let share = limits.usable * left_over[tor].max(0.0) / paths.len() as f64;
                let mut capacity = 0.0;
                for path in &paths {
                    let taken = share.min(budget[path.source]);
                    budget[path.source] -= taken;
                    capacity += taken;
                }
                plan.detours.push(Detour {
                    group: index,
                    left,
                    tor,
                    capacity,
                    paths,
                });
            }
        }
    }
    for &group in &groups {
        withdraw(ring, group, &mut plan);
    }
    plan
}

/// Traces paths back from `steps[0]`, the ToR that sends up: it is fed by the nearest `floor(p/2)`
/// of its racks on the group's side, those by their nearest `floor(p/2)` ToRs there, and so on,
/// until a ToR of a detouring rack itself.
fn trace_back(
    ring: Loop,
    hot: &[bool],
    sources: &[usize],
    left: bool,
    relays: usize,
    steps: &mut Vec<usize>,
    paths: &mut Vec<DetourPath>,
) {
    let half = ring.ports / 2;
    let inward = |mut all: Vec<usize>| {
        if left {
            all.reverse();
        }
        all.truncate(half);
        all
    };
    let Some(&tor) = steps.last() else {
        return;
    };
    if steps.len() > 1 {
        let reached = sources.iter().filter(|&&rack| ring.tors_of(rack).contains(&tor));
        let before = paths.len();
        paths.extend(reached.map(|&source| DetourPath {
            source,
            steps: steps.iter().rev().copied().collect(),
        }));
        if paths.len() > before {
            return;
        }
    }
    for rack in inward(ring.racks_of(tor)) {
        let is_hot = ring.tors_of(rack).into_iter().all(|tor| hot[tor]);
        if relays == 0 || is_hot {
            continue;
        }
        for feeding in inward(ring.tors_of(rack)) {
            if !steps.contains(&feeding) {
                steps.extend([rack, feeding]);
                trace_back(ring, hot, sources, left, relays - 1, steps, paths);
                steps.truncate(steps.len() - 2);
            }
        }
    }
}

/// In a group of more than one rack, edge racks with detours stop using the ToRs of racks that
/// cannot detour; if all racks are edge racks, none stops.
fn withdraw(ring: Loop, group: (usize, usize), plan: &mut DetourPlan) {
    let mut edges = edge_racks(ring, group, true);
    for rack in edge_racks(ring, group, false) {
        if !edges.contains(&rack) {
            edges.push(rack);
        }
    }
    let racks = group.1 + 1 - ring.ports;
    let inner: Vec<usize> = (0..racks)
        .map(|step| (group.0 + ring.ports / 2 + step) % ring.size)
        .filter(|rack| !edges.contains(rack))
        .flat_map(|rack| ring.tors_of(rack))
        .collect();
    let detours = |rack: usize| {
        let mut paths = plan.detours.iter().flat_map(|detour| &detour.paths);
        paths.any(|path| path.source == rack)
    };
    edges.retain(|&rack| detours(rack));
    edges.sort_unstable();
    for rack in edges {
        plan.withdrawn.extend(
            ring.tors_of(rack)
                .into_iter()
                .filter(|tor| inner.contains(tor))
                .map(|tor| (rack, tor)),
        );
    }
}
