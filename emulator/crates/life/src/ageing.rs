//! One life: parts fail when their lifetimes end, visits repair what the kit allows.
//!
//! Discrete events in virtual time. Between two visits nothing is repaired, so that each period of
//! the life is described by the times of failure of nodes and links; all counts follow from these.
//!
//! A swap renews the part that failed. The other parts of the unit keep their age, which changes
//! nothing for exponential lifetimes; it also means that more spares never leave less alive in any
//! life. `[ours]`

use std::collections::BTreeMap;

use cubeyard_routing::random::{Draws, mix};

use crate::parts::{Parts, Target};
use crate::rates::{KINDS, Lifetime};
use crate::spec::Policy;

/// The kinds of units that are swapped at a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum UnitKind {
    /// With its disk, memory, supply, fans, card and ports.
    Server = 0,
    /// A switch with its ports.
    Switch = 1,
    /// A cable with its transceivers.
    Cable = 2,
    /// A power distribution unit of a rack.
    Pdu = 3,
}

impl UnitKind {
    /// Number of kinds of parts.
    pub const COUNT: usize = 4;
    /// All of them, in order.
    pub const ALL: [UnitKind; UnitKind::COUNT] =
        [UnitKind::Server, UnitKind::Switch, UnitKind::Cable, UnitKind::Pdu];

    /// The kind's name in requests and documents.
    pub const fn name(self) -> &'static str {
        match self {
            UnitKind::Server => "server",
            UnitKind::Switch => "switch",
            UnitKind::Cable => "cable",
            UnitKind::Pdu => "pdu",
        }
    }
}

/// A period without repairs: the parts alive at its start, and the time at which each of them
/// fails.
#[derive(Clone, Debug, Default)]
pub struct Stretch {
    /// Its start in months, after the repairs of the visit.
    pub from: f64,
    /// The next visit, or the end of the life.
    pub until: f64,
    /// The time at which each node goes down, by itself or with its PDU; in months, infinite for
    /// never.
    pub node_down: Vec<f64>,
    /// The time at which each link goes down by itself.
    pub link_down: Vec<f64>,
    /// The time at which each PDU goes down.
    pub pdu_down: Vec<f64>,
}

/// The swaps and visits of a life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Number of visits.
    pub visits: u32,
    /// Units swapped, by kind.
    pub swaps: [u32; UnitKind::COUNT],
    /// Units that a visit found broken and had no spare for, counted once a visit.
    pub wanting: [u32; UnitKind::COUNT],
}

/// One life under one policy.
#[derive(Debug)]
pub struct Life<'a> {
    parts: &'a Parts,
    lifetimes: &'a [Lifetime; KINDS],
    policy: &'a Policy,
    seed: u64,
    months: f64,
    /// The time at which each part fails, from the start of the life.
    fails: Vec<f64>,
    /// The number of times that each part has been replaced.
    renewed: BTreeMap<usize, u64>,
    kit: [Option<u32>; UnitKind::COUNT],
    /// The swaps and visits so far.
    pub taken: Taken,
}

impl<'a> Life<'a> {
    /// A life of `months` with new parts.
    pub(crate) fn new(
        parts: &'a Parts,
        lifetimes: &'a [Lifetime; KINDS],
        policy: &'a Policy,
        seed: u64,
        months: f64,
    ) -> Life<'a> {
        let mut life = Life {
            parts,
            lifetimes,
            policy,
            seed,
            months,
            fails: Vec::new(),
            renewed: BTreeMap::new(),
            kit: policy.kit(),
            taken: Taken::default(),
        };
        life.fails = (0..parts.all.len()).map(|part| life.lifetime(part, 0)).collect();
        life
    }

    /// The lifetime of a part that has been replaced `renewals` times.
    fn lifetime(&self, part: usize, renewals: u64) -> f64 {
        let one = &self.parts.all[part];
        let seed = mix(self.seed ^ mix(renewals));
        self.lifetimes[one.kind as usize].months(Draws::of(seed, one.draw).unit())
    }

    /// Simulates the life, period by period.
    pub(crate) fn run(&mut self, see: &mut dyn FnMut(&Stretch)) {
        let mut stretch = Stretch::default();
        loop {
            self.fill(&mut stretch);
            stretch.until = self.next_visit(&stretch).min(self.months);
            see(&stretch);
            if stretch.until >= self.months {
                return;
            }
            self.visit(stretch.until);
            stretch.from = stretch.until;
        }
    }

    fn fill(&self, stretch: &mut Stretch) {
        let parts = self.parts;
        let nodes = parts.pdu.len();
        stretch.node_down.clear();
        stretch.node_down.resize(nodes, f64::INFINITY);
        stretch.link_down.clear();
        stretch.link_down.resize(parts.ends.len(), f64::INFINITY);
        stretch.pdu_down.clear();
        stretch.pdu_down.resize(parts.pdus as usize, f64::INFINITY);
        for (part, &fails) in parts.all.iter().zip(&self.fails) {
            let down = match part.target {
                Target::Node(node) => &mut stretch.node_down[node as usize],
                Target::Link(link) => &mut stretch.link_down[link as usize],
                Target::Pdu(pdu) => &mut stretch.pdu_down[pdu as usize],
            };
            *down = down.min(fails);
        }
        for (down, &pdu) in stretch.node_down.iter_mut().zip(&parts.pdu) {
            let fed = stretch.pdu_down.get(pdu as usize);
            *down = down.min(fed.copied().unwrap_or(f64::INFINITY));
        }
    }

    /// The time of the next visit; infinite for never.
    fn next_visit(&self, stretch: &Stretch) -> f64 {
        if let Some(every) = self.policy.visit_months {
            return every * f64::from(self.taken.visits + 1);
        }
        let Some(share) = self.policy.visit_below else {
            return f64::INFINITY;
        };
        // The visit is called when the count falls below the share: at the first failure beyond the
        // allowed number.
        let servers = self.parts.servers as usize;
        let needed = (servers as f64 * share - 1e-9).ceil() as usize;
        let allowed = servers.saturating_sub(needed);
        let mut down = stretch.node_down[..servers].to_vec();
        if allowed >= down.len() {
            return f64::INFINITY;
        }
        let (_, call, _) = down.select_nth_unstable_by(allowed, f64::total_cmp);
        // If a visit leaves too few servers because spares ran out, it is the last one: another
        // visit could not repair more.
        if *call <= stretch.from && self.taken.visits > 0 {
            return f64::INFINITY;
        }
        *call + self.policy.lead_months()
    }

    /// Swaps failed units as long as the kit has spares, those that failed first before others.
    fn visit(&mut self, now: f64) {
        self.taken.visits += 1;
        let mut broken: BTreeMap<(UnitKind, u32), f64> = BTreeMap::new();
        for (part, &fails) in self.parts.all.iter().zip(&self.fails) {
            if fails <= now {
                let since = broken.entry((part.unit_kind, part.unit)).or_insert(fails);
                *since = since.min(fails);
            }
        }
        let mut order: Vec<((UnitKind, u32), f64)> = broken.into_iter().collect();
        order.sort_by(|(a, since_a), (b, since_b)| since_a.total_cmp(since_b).then(a.cmp(b)));
        let mut swapped = std::collections::BTreeSet::new();
        for (unit, _) in order {
            let kind = unit.0 as usize;
            if self.kit[kind] == Some(0) {
                self.taken.wanting[kind] += 1;
                continue;
            }
            if let Some(left) = &mut self.kit[kind] {
                *left -= 1;
            }
            self.taken.swaps[kind] += 1;
            swapped.insert(unit);
        }
        for part in 0..self.parts.all.len() {
            let one = &self.parts.all[part];
            if self.fails[part] <= now && swapped.contains(&(one.unit_kind, one.unit)) {
                let renewals = self.renewed.entry(part).or_insert(0);
                *renewals += 1;
                let renewals = *renewals;
                self.fails[part] = now + self.lifetime(part, renewals);
            }
        }
    }
}
