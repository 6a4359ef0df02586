//! The papers' claims about growing a network, checked on the work order.

use cubeyard_topology::TopologySpec;
use serde::Serialize;

use super::correspondence::Correspondence;
use super::{Matched, Stays};
use crate::plan::Plan;

/// A statement about a change, whether it holds for this one, and the counts behind it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    pub name: &'static str,
    pub statement: String,
    pub source: &'static str,
    pub holds: bool,
    pub detail: String,
}

/// Former links by result: (still between the same two devices, moved or removed).
struct Fate {
    kept: u32,
    /// One end plugged into another device.
    rewired: u32,
    removed: u32,
    /// Number of links that did not exist before.
    added: u32,
}

fn fate(before: &Plan, after: &Plan, matched: &Matched, which: impl Fn(&Plan, usize) -> bool) -> Fate {
    let mut out = Fate {
        kept: 0,
        rewired: 0,
        removed: 0,
        added: 0,
    };
    let mut used = vec![false; after.topology.links().len()];
    for (link, found) in matched.iter().enumerate() {
        if let Some((other, _)) = found {
            used[*other as usize] = true;
        }
        if which(before, link) {
            match found {
                Some((_, Stays::BothPorts | Stays::BothDevices)) => out.kept += 1,
                Some((_, Stays::OneEnd)) => out.rewired += 1,
                None => out.removed += 1,
            }
        }
    }
    out.added = (0..used.len())
        .filter(|&link| !used[link] && which(after, link))
        .count() as u32;
    out
}

fn server_link(plan: &Plan, link: usize) -> bool {
    plan.topology.is_server(plan.topology.links().a[link])
}

/// The claims that apply to this pair of plans; none for most.
pub(super) fn check(before: &Plan, after: &Plan, devices: &Correspondence, matched: &Matched) -> Vec<Claim> {
    match (before.topology.spec(), after.topology.spec()) {
        (TopologySpec::Subways(old), TopologySpec::Subways(new)) => {
            let servers = before.topology.server_count();
            if after.topology.server_count() != servers {
                return Vec::new();
            }
            let edge = fate(before, after, matched, server_link);
            let upper = fate(before, after, matched, |plan, link| !server_link(plan, link));
            let counted = |what: &str, f: &Fate| {
                format!(
                    "{} {what} links stay, {} are rewired, {} taken out, {} added (devices matched: {})",
                    f.kept, f.rewired, f.removed, f.added, devices.rule
                )
            };
            let mut out = Vec::new();
            let untouched = edge.rewired == 0 && edge.removed == 0;
            if new.wiring_type == 0 && new.p == 2 * old.p && old.q == new.q {
                out.push(Claim {
                    name: "type-0-doubling",
                    statement: format!(
                        "Doubling capacity with type 0 needs Ns = {servers} new server-ToR links and rewires Ns/2 = {}.",
                        servers / 2
                    ),
                    source: "[subways §4.1]",
                    // The paper states it for servers with one port; with p ports the same argument
                    // counts ports.
                    holds: edge.added == servers * old.p && edge.rewired == servers * old.p / 2 && edge.removed == 0,
                    detail: counted("server-ToR", &edge),
                });
            }
            if new.wiring_type > 0 && new.p > old.p {
                out.push(Claim {
                    name: "more-ports-no-rewiring",
                    statement: format!(
                        "From p = {} to p = {}, no server-ToR link is rewired: links and ToRs are only added.",
                        old.p, new.p
                    ),
                    source: "[subways §4.2, Fig. 2]",
                    holds: untouched,
                    detail: counted("server-ToR", &edge),
                });
            }
            if new.wiring_type == 2 && old.wiring_type == 2 && new.p > old.p {
                out.push(Claim {
                    name: "type-2-upgrade-no-rewiring",
                    statement: "A type 2 upgrade rewires no link at all, in the interconnect neither."
                        .to_owned(),
                    source: "[subways §4.3]",
                    holds: untouched && upper.rewired == 0 && upper.removed == 0,
                    detail: format!("{}; {}", counted("server-ToR", &edge), counted("upper", &upper)),
                });
            }
            if new.wiring_type == 2 && old.wiring_type == 1 && new.p == old.p {
                out.push(Claim {
                    name: "type-1-to-2-interface-only",
                    statement:
                        "From type 1 to type 2 servers keep their ToRs: only the ToRs' uplinks change."
                            .to_owned(),
                    source: "[subways §4.3]",
                    holds: untouched,
                    detail: format!("{}; {}", counted("server-ToR", &edge), counted("upper", &upper)),
                });
            }
            out
        }
        (TopologySpec::Bcube(old), TopologySpec::Bcube(new))
            if old.n == new.n
                && old.k == new.k
                && after.topology.server_count() > before.topology.server_count() =>
        {
            let all = fate(before, after, matched, |_, _| true);
            vec![Claim {
                name: "bcube-growth-keeps-links",
                statement: format!(
                    "Adding BCube_{}s to a partial BCube_{} keeps every link: the level-{} switches are all there already.",
                    new.k.saturating_sub(1),
                    new.k,
                    new.k
                ),
                source: "[bcube §5.1]",
                holds: all.rewired == 0 && all.removed == 0,
                detail: format!(
                    "{} links stay, {} are rewired, {} taken out, {} added; a link that stays may get a longer cable where its devices stand elsewhere",
                    all.kept, all.rewired, all.removed, all.added
                ),
            }]
        }
        (TopologySpec::Dcell(old), TopologySpec::Dcell(new))
            if old.n == new.n
                && old.k == new.k
                && after.topology.server_count() > before.topology.server_count() =>
        {
            let all = fate(before, after, matched, |_, _| true);
            vec![Claim {
                name: "dcell-growth-keeps-links",
                statement: "A DCell grows without a change of its existing links or addresses.".to_owned(),
                source: "[dcell §5]",
                holds: all.rewired == 0 && all.removed == 0,
                detail: format!(
                    "{} links stay, {} are rewired, {} taken out, {} added",
                    all.kept, all.rewired, all.removed, all.added
                ),
            }]
        }
        _ => Vec::new(),
    }
}
