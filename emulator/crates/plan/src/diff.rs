//! The work order between two plans: which cables stay, move, are added and are removed.
//!
//! Devices are matched first (by name, or by position along the loop if a Subways upgrade renames
//! logical racks), then links: first those with the same two ports, then the same two devices, then
//! one common end. A leg is matched only with a leg of the breakout cable with which its own cable
//! is matched. `[ours]`
//!
//! Inside: the order and its steps (here), matched devices (`correspondence`), breakout cables that
//! stay whole (`breakouts`), the papers' claims (`claims`). Not here: prices.

mod breakouts;
mod claims;
mod correspondence;

use serde::Serialize;

use crate::plan::Plan;
use crate::summary::json;
use crate::wiring::NO_PART;

pub use claims::Claim;
pub use correspondence::Correspondence;

/// The work on a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Action {
    Keep = 0,
    Move = 1,
    Add = 2,
    Remove = 3,
}

/// Names of [`Action`] values in documents.
pub const ACTIONS: [&str; 4] = ["keep", "move", "add", "remove"];

/// The reason for moving a cable; the first that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// The device did not move.
    None = 0,
    /// One end goes to another device.
    OtherDevice = 1,
    /// The same two devices, another port.
    OtherPort = 2,
    /// The link stays, but needs another cable (part or colour).
    OtherCable = 3,
    /// The link stays and needs another length.
    OtherLength = 4,
    /// The link and cable stay; a device at an end is at another location.
    OtherPlace = 5,
}

/// Names of [`Reason`] values in documents.
pub const REASONS: [&str; 6] = [
    "",
    "other device",
    "other port",
    "other cable",
    "other length",
    "other place",
];

/// No cable on this side.
pub const NO_CABLE: u32 = u32::MAX;

/// Cables to keep, move, add and remove. One entry per link: a cable, or a leg of a breakout cable.
/// The order is removals, moves, additions, keeps; the entries of one cable are adjacent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkOrder {
    pub action: Vec<Action>,
    pub reason: Vec<Reason>,
    /// Link index in the plan before, or `NO_CABLE`.
    pub before: Vec<u32>,
    /// Link index in the plan after, or `NO_CABLE`.
    pub after: Vec<u32>,
    /// Number of the cable: the legs of a breakout cable share it, and are handled together.
    /// Counted from 0.
    pub cable: Vec<u32>,
    /// Cables by [`Action`]. A breakout cable whose legs have different actions counts as a move.
    pub counts: [u32; 4],
    pub claims: Vec<Claim>,
}

impl WorkOrder {
    /// Number of cables with this action.
    pub fn count(&self, action: Action) -> u32 {
        self.counts[action as usize]
    }

    /// Number of entries, so links, with this action.
    pub fn links(&self, action: Action) -> u32 {
        self.action.iter().filter(|&&of| of == action).count() as u32
    }
}

/// Compares two plans. Linear in links, except for sorting breakout cables.
pub fn diff(before: &Plan, after: &Plan) -> WorkOrder {
    let devices = Correspondence::between(&before.topology, &after.topology);
    let mut matched = match_links(before, after, &devices);
    let pieces = breakouts::keep_together(before, after, &devices, &mut matched);
    let mut entries: Vec<(Action, Reason, u32, u32)> = Vec::new();
    for (link, found) in matched.iter().enumerate() {
        let link_index = link as u32;
        match *found {
            Some((other, stays)) => {
                let reason = reason_to_move(before, after, link, other as usize, stays);
                let action = if reason == Reason::None {
                    Action::Keep
                } else {
                    Action::Move
                };
                entries.push((action, reason, link_index, other));
            }
            None => entries.push((Action::Remove, Reason::None, link_index, NO_CABLE)),
        }
    }
    let mut taken = vec![false; after.topology.links().len()];
    matched
        .iter()
        .flatten()
        .for_each(|&(other, _)| taken[other as usize] = true);
    let added = (0..taken.len()).filter(|&link| !taken[link]);
    entries.extend(added.map(|link| (Action::Add, Reason::None, NO_CABLE, link as u32)));

    let claims = claims::check(before, after, &devices, &matched);
    let cables = pieces.cables_of(entries.iter().map(|&(_, _, before, after)| (before, after)));
    let mut entries: Vec<_> = cables.into_iter().zip(entries).collect();
    // The crew takes out first, so that ports and trays are free. Cables are numbered in the order
    // of their first links.
    entries.sort_by_key(|&(cable, (action, ..))| {
        let rank = match action {
            Action::Remove => 0,
            Action::Move => 1,
            Action::Add => 2,
            Action::Keep => 3,
        };
        (rank, cable)
    });
    let mut order = WorkOrder {
        claims,
        ..WorkOrder::default()
    };
    for (cable, (action, reason, before, after)) in entries {
        order.action.push(action);
        order.reason.push(reason);
        order.before.push(before);
        order.after.push(after);
        order.cable.push(cable);
    }
    order.counts = breakouts::counts(&order.action, &order.cable);
    order
}

/// The unchanged part of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stays {
    BothPorts,
    BothDevices,
    OneEnd,
}

/// For each link before: the link after that its cable becomes.
pub(crate) type Matched = Vec<Option<(u32, Stays)>>;

fn match_links(before: &Plan, after: &Plan, devices: &Correspondence) -> Matched {
    let (old, new) = (before.topology.links(), after.topology.links());
    let rows = after.topology.adjacency();
    let mut taken = vec![false; new.len()];
    let mut matched: Matched = vec![None; old.len()];
    // Port of a link's end at `node`; a link between two servers may have either as its `a`.
    let port_at = |link: u32, node: u32| {
        let link = link as usize;
        if new.a[link] == node {
            new.a_port[link]
        } else {
            new.b_port[link]
        }
    };
    let ends = |link: usize| {
        let end = |device: u32, port: u16| devices.after(device).map(|d| (d, port));
        [
            end(old.a[link], old.a_port[link]),
            end(old.b[link], old.b_port[link]),
        ]
    };
    for wanted in [Stays::BothPorts, Stays::BothDevices] {
        for (link, slot) in matched.iter_mut().enumerate() {
            let (None, [Some(a), Some(b)]) = (*slot, ends(link)) else {
                continue;
            };
            let found = rows.row(a.0).find(|&(neighbour, other)| {
                neighbour == b.0
                    && !taken[other as usize]
                    && (wanted == Stays::BothDevices
                        || (port_at(other, a.0) == a.1 && port_at(other, b.0) == b.1))
            });
            if let Some((_, other)) = found {
                taken[other as usize] = true;
                *slot = Some((other, wanted));
            }
        }
    }
    // One end stays plugged in: preferably the server's, preferably at its port.
    for (end, same_port) in [(0, true), (0, false), (1, true), (1, false)] {
        for (link, slot) in matched.iter_mut().enumerate() {
            let (None, Some((device, port))) = (*slot, ends(link)[end]) else {
                continue;
            };
            let found = rows.row(device).find(|&(_, other)| {
                !taken[other as usize]
                    && (!same_port || port_at(other, device) == port)
                    && new.level[other as usize] == old.level[link]
            });
            if let Some((_, other)) = found {
                taken[other as usize] = true;
                *slot = Some((other, Stays::OneEnd));
            }
        }
    }
    matched
}

fn reason_to_move(before: &Plan, after: &Plan, old: usize, new: usize, stays: Stays) -> Reason {
    let (was, is) = (&before.wiring, &after.wiring);
    let sku = |plan: &'_ Plan, part: u16| match part {
        NO_PART => String::new(),
        part => plan.book.parts[usize::from(part)].sku.clone(),
    };
    let same_part = if before.book == after.book {
        was.part[old] == is.part[new]
    } else {
        sku(before, was.part[old]) == sku(after, is.part[new])
    };
    match stays {
        Stays::OneEnd => Reason::OtherDevice,
        Stays::BothDevices => Reason::OtherPort,
        Stays::BothPorts if !same_part || was.colour[old] != is.colour[new] => Reason::OtherCable,
        Stays::BothPorts if was.stock_mm[old] != is.stock_mm[new] => Reason::OtherLength,
        Stays::BothPorts if !same_places(before, after, old, new) => Reason::OtherPlace,
        Stays::BothPorts => Reason::None,
    }
}

/// Whether both ends are in the same rack, unit and slot.
fn same_places(before: &Plan, after: &Plan, old: usize, new: usize) -> bool {
    let place = |plan: &Plan, device: u32| {
        let at = &plan.layout.placements;
        let d = device as usize;
        (at.rack[d], at.unit[d], at.slot[d], at.slots[d])
    };
    let rack = |plan: &'_ Plan, index: u32| plan.layout.racks.name.get(index as usize).cloned();
    let ends = |plan: &Plan, link: usize| {
        let links = plan.topology.links();
        [links.a[link], links.b[link]].map(|device| place(plan, device))
    };
    let (was, is) = (ends(before, old), ends(after, new));
    let same = |x: (u32, u16, u8, u8), y: (u32, u16, u8, u8)| {
        (x.1, x.2, x.3) == (y.1, y.2, y.3) && (x.0 == y.0 && rack(before, x.0) == rack(after, y.0))
    };
    // Between servers either end may come first.
    (same(was[0], is[0]) && same(was[1], is[1])) || (same(was[0], is[1]) && same(was[1], is[0]))
}

#[derive(Serialize)]
struct Document<'a> {
    before: PlanName<'a>,
    after: PlanName<'a>,
    counts: Counts,
    actions: &'a [&'a str],
    reasons: &'a [&'a str],
    columns: Columns,
    claims: &'a [Claim],
}

#[derive(Serialize)]
struct PlanName<'a> {
    plan_hash: &'a str,
    title: String,
}

#[derive(Serialize)]
struct Counts {
    keep: u32,
    #[serde(rename = "move")]
    moved: u32,
    add: u32,
    remove: u32,
}

#[derive(Default, Serialize)]
struct Columns {
    /// The action of each entry, as an index into `actions`.
    action: Vec<u8>,
    /// The reason of each entry, as an index into `reasons`.
    reason: Vec<u8>,
    /// The cable; the legs of a breakout have the same.
    cable: Vec<u32>,
    /// Link index before and after; -1 when there is none.
    before: Vec<i64>,
    after: Vec<i64>,
    /// Device and port, of the plan after, or of the one before for a removal.
    end_a: Vec<String>,
    end_b: Vec<String>,
    /// Rack-unit-port at both ends, as labelled before and to be labelled after; empty when there
    /// is none.
    from: Vec<String>,
    to: Vec<String>,
    /// Stock length after, or before for a removal.
    length_mm: Vec<u32>,
}

/// The work order as a JSON document.
pub fn diff_json(before: &Plan, after: &Plan) -> String {
    let order = diff(before, after);
    let mut columns = Columns::default();
    for i in 0..order.action.len() {
        let cable = |index: u32| (index != NO_CABLE).then_some(index as usize);
        let (old, new) = (cable(order.before[i]), cable(order.after[i]));
        columns.action.push(order.action[i] as u8);
        columns.reason.push(order.reason[i] as u8);
        columns.cable.push(order.cable[i]);
        columns.before.push(old.map_or(-1, |c| c as i64));
        columns.after.push(new.map_or(-1, |c| c as i64));
        columns
            .from
            .push(old.map(|c| before.label(c)).unwrap_or_default());
        columns.to.push(new.map(|c| after.label(c)).unwrap_or_default());
        if let Some((plan, cable)) = new.map(|c| (after, c)).or(old.map(|c| (before, c))) {
            let links = plan.topology.links();
            let end = |device: u32, port: u16| {
                format!(
                    "{}:{}",
                    plan.topology.node_name(device),
                    plan.topology.port_name(device, port)
                )
            };
            columns.end_a.push(end(links.a[cable], links.a_port[cable]));
            columns.end_b.push(end(links.b[cable], links.b_port[cable]));
            columns.length_mm.push(plan.wiring.stock_mm[cable]);
        }
    }
    let name = |plan: &'_ Plan| plan.spec.topology.title();
    json(&Document {
        before: PlanName {
            plan_hash: &before.hash,
            title: name(before),
        },
        after: PlanName {
            plan_hash: &after.hash,
            title: name(after),
        },
        counts: Counts {
            keep: order.count(Action::Keep),
            moved: order.count(Action::Move),
            add: order.count(Action::Add),
            remove: order.count(Action::Remove),
        },
        actions: &ACTIONS,
        reasons: &REASONS,
        columns,
        claims: &order.claims,
    })
}
