//! Breakout cables in a work order: a leg cannot leave its trunk, so each cable is matched as a
//! whole, with all its legs. `[ours]`

use std::cmp::Reverse;
use std::collections::HashMap;

use super::{Action, Correspondence, Matched, NO_CABLE, Stays};
use crate::plan::Plan;
use crate::wiring::breakouts::Breakouts;

/// The breakout cable of each link, for both plans, by the numbers of that plan.
pub(super) struct Pieces<'a> {
    before: &'a Breakouts,
    after: &'a Breakouts,
    /// For each breakout cable of the new plan: the matching cable of the old plan.
    made_of: Vec<Option<usize>>,
}

/// Pairs the breakout cables of two plans, those with the most common links first. It then removes
/// matches across cables: a leg matches only a leg of its cable's partner, and a single-link cable
/// never matches a leg. The remaining links of paired cables are matched leg by leg.
pub(super) fn keep_together<'a>(
    before: &'a Plan,
    after: &'a Plan,
    devices: &Correspondence,
    matched: &mut Matched,
) -> Pieces<'a> {
    let (old, new) = (&before.wiring.breakouts, &after.wiring.breakouts);
    let mut made_of = vec![None; new.cables.len()];
    if old.is_empty() && new.is_empty() {
        return Pieces {
            before: old,
            after: new,
            made_of,
        };
    }
    let mut becomes = vec![None; old.cables.len()];
    let mut in_common: HashMap<(usize, usize), u32> = HashMap::new();
    for (link, found) in matched.iter().enumerate() {
        let pair = found.and_then(|(other, _)| Some((old.index_of(link)?, new.index_of(other as usize)?)));
        if let Some(pair) = pair {
            *in_common.entry(pair).or_default() += 1;
        }
    }
    let mut pairs: Vec<_> = in_common.into_iter().collect();
    pairs.sort_unstable_by_key(|&(pair, links)| (Reverse(links), pair));
    for ((was, is), _) in pairs {
        if becomes[was].is_none() && made_of[is].is_none() {
            becomes[was] = Some(is);
            made_of[is] = Some(was);
        }
    }
    for (link, slot) in matched.iter_mut().enumerate() {
        let stays = slot.is_some_and(
            |(other, _)| match (old.index_of(link), new.index_of(other as usize)) {
                (None, None) => true,
                (Some(was), Some(is)) => becomes[was] == Some(is),
                _ => false,
            },
        );
        if !stays {
            *slot = None;
        }
    }
    for (was, is) in becomes
        .iter()
        .enumerate()
        .filter_map(|(was, is)| Some((was, (*is)?)))
    {
        let taken: Vec<u32> = old.cables[was]
            .links
            .iter()
            .filter_map(|&link| matched[link as usize].map(|(other, _)| other))
            .collect();
        let free = new.cables[is].links.iter().filter(|link| !taken.contains(link));
        let left: Vec<u32> = old.cables[was]
            .links
            .iter()
            .copied()
            .filter(|&link| matched[link as usize].is_none())
            .collect();
        for (link, &other) in left.into_iter().zip(free) {
            let [was_at, is_at] = [(before, link), (after, other)].map(|(plan, link)| {
                let links = plan.topology.links();
                [links.a[link as usize], links.b[link as usize]]
            });
            let same_devices = was_at.map(|device| devices.after(device)) == is_at.map(Some);
            let stays = if same_devices {
                Stays::BothDevices
            } else {
                Stays::OneEnd
            };
            matched[link as usize] = Some((other, stays));
        }
    }
    Pieces {
        before: old,
        after: new,
        made_of,
    }
}

impl Pieces<'_> {
    /// A number for each entry's cable, from 0 in the order of first occurrence. Linear.
    pub(super) fn cables_of(&self, entries: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
        let (mut of_old, mut of_new) = (HashMap::new(), HashMap::new());
        let mut next = 0;
        let mut number = || {
            next += 1;
            next - 1
        };
        entries
            .map(|(before, after)| {
                let breakout = |breakouts: &Breakouts, link: u32| {
                    (link != NO_CABLE)
                        .then(|| breakouts.index_of(link as usize))
                        .flatten()
                };
                let new = breakout(self.after, after);
                let old = breakout(self.before, before).or_else(|| self.made_of[new?]);
                match (old, new) {
                    (Some(old), _) => *of_old.entry(old).or_insert_with(&mut number),
                    (None, Some(new)) => *of_new.entry(new).or_insert_with(&mut number),
                    (None, None) => number(),
                }
            })
            .collect()
    }
}

/// Cables by action: the common action of all entries, otherwise a move.
pub(super) fn counts(actions: &[Action], cables: &[u32]) -> [u32; 4] {
    let mut of_cable: Vec<Option<Action>> = vec![None; cables.len()];
    for (&action, &cable) in actions.iter().zip(cables) {
        let slot = &mut of_cable[cable as usize];
        *slot = Some(match *slot {
            Some(other) if other != action => Action::Move,
            _ => action,
        });
    }
    let mut counts = [0; 4];
    for action in of_cable.into_iter().flatten() {
        counts[action as usize] += 1;
    }
    counts
}
