//! Breakout cables: one plug at a switch, split into several links.
//!
//! A rule of the spec groups the links of a level into breakout cables: at their trunk ends, the
//! links of each switch are taken in the order of their ports, a fixed number per cable, and each
//! becomes a leg of it. The last cable of a switch can have unused legs. `[ours]`
//!
//! Each leg has its own route and position in the trays, because the legs separate right behind the
//! trunk's plug; all legs of a cable have the length of the longest. The bill, the labels and the
//! plugs at the trunk are per cable.

use cubeyard_topology::{Finding, NodeId, Topology};
use serde_json::json;

use crate::spec::{BreakoutRule, TrunkEnd};

/// One cable with several links.
#[derive(Debug, Clone, PartialEq)]
pub struct Breakout {
    /// Its links, in the order of the trunk's ports.
    pub links: Vec<u32>,
    /// Branch ends that the cable has; at least as many as links.
    pub legs: u8,
    /// Whether the trunk is at the links' `a` ends.
    pub trunk_is_a: bool,
}

/// All breakout cables of a plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Breakouts {
    pub cables: Vec<Breakout>,
    /// Indexed by link: the breakout cable and the leg, counted from 0. Empty if there are no
    /// breakouts.
    of_link: Vec<Option<(u32, u8)>>,
}

impl Breakouts {
    /// The cables that the rules make. Rules that do not fit the topology are findings ([`check`])
    /// and make none.
    pub(super) fn new(rules: &[BreakoutRule], topology: &Topology) -> Breakouts {
        let links = topology.links();
        let mut out = Breakouts::default();
        if rules.is_empty() {
            return out;
        }
        out.of_link = vec![None; links.len()];
        for rule in rules.iter().filter(|rule| rule.links > 1) {
            let mut ends: Vec<(NodeId, u16, u32)> = (0..links.len())
                .filter(|&link| links.level[link] == rule.level)
                .map(|link| {
                    let (node, port) = trunk_end(topology, rule, link);
                    (node, port, link as u32)
                })
                .collect();
            ends.sort_unstable();
            let of_switch = ends.chunk_by(|end, other| end.0 == other.0);
            for legs in of_switch.flat_map(|ends| ends.chunks(usize::from(rule.links))) {
                let cable = out.cables.len() as u32;
                for (leg, &(.., link)) in legs.iter().enumerate() {
                    out.of_link[link as usize] = Some((cable, leg as u8));
                }
                out.cables.push(Breakout {
                    links: legs.iter().map(|&(.., link)| link).collect(),
                    legs: rule.links,
                    trunk_is_a: rule.trunk == TrunkEnd::Lower,
                });
            }
        }
        out
    }

    pub fn is_empty(&self) -> bool {
        self.cables.is_empty()
    }

    /// The breakout cable that carries a link, and the leg, counted from 0.
    pub fn of(&self, link: usize) -> Option<(&Breakout, u8)> {
        let (cable, leg) = self.of_link.get(link).copied().flatten()?;
        Some((&self.cables[cable as usize], leg))
    }

    /// The number of the breakout cable that carries a link.
    pub(crate) fn index_of(&self, link: usize) -> Option<usize> {
        self.of_link
            .get(link)
            .copied()
            .flatten()
            .map(|(cable, _)| cable as usize)
    }

    /// Whether a link is the one that its cable is counted by: the first leg, or the only link.
    pub fn leads(&self, link: usize) -> bool {
        self.of(link).is_none_or(|(_, leg)| leg == 0)
    }

    /// Number of links in addition to the first link of each cable.
    pub fn further_links(&self) -> usize {
        self.cables.iter().map(|cable| cable.links.len() - 1).sum()
    }

    /// The links that share the plug at one end of a link: those of its breakout at the trunk,
    /// otherwise itself alone.
    pub fn sharing_plug(&self, link: usize, at_a: bool) -> Option<&Breakout> {
        self.of(link)
            .map(|(cable, _)| cable)
            .filter(|cable| cable.trunk_is_a == at_a)
    }
}

fn trunk_end(topology: &Topology, rule: &BreakoutRule, link: usize) -> (NodeId, u16) {
    let links = topology.links();
    match rule.trunk {
        TrunkEnd::Upper => (links.b[link], links.b_port[link]),
        TrunkEnd::Lower => (links.a[link], links.a_port[link]),
    }
}

/// The errors in the rules for this topology.
pub(crate) fn check(rules: &[BreakoutRule], topology: &Topology) -> Vec<Finding> {
    let links = topology.links();
    let mut findings = Vec::new();
    for (i, rule) in rules.iter().enumerate() {
        let field = |name: &str| format!("cabling.breakouts[{i}].{name}");
        let of_level = || (0..links.len()).filter(|&link| links.level[link] == rule.level);
        let mut without = rules.to_vec();
        without.remove(i);
        let fix = json!({"cabling": {"breakouts": without}});
        if of_level().next().is_none() {
            let last = topology.level_count().saturating_sub(1);
            let finding = Finding::error(
                "breakout-no-level",
                field("level"),
                format!("The network has no links at level {}.", rule.level),
                format!("Its levels are 0 to {last}."),
            );
            findings.push(
                finding
                    .with_value(rule.level)
                    .with_limit(last as u32)
                    .with_fix(fix),
            );
        } else if rules[..i].iter().any(|other| other.level == rule.level) {
            let finding = Finding::error(
                "breakout-level-twice",
                field("level"),
                format!("Level {} is broken out twice.", rule.level),
                "Keep one rule for each level.",
            );
            findings.push(finding.with_value(rule.level).with_fix(fix));
        } else if of_level().any(|link| trunk_end(topology, rule, link).0 < topology.server_count()) {
            let upper = of_level().all(|link| links.b[link] >= topology.server_count());
            let hint = if rule.trunk == TrunkEnd::Lower && upper {
                "Use trunk \"upper\"."
            } else {
                "Leave this level out."
            };
            let finding = Finding::error(
                "breakout-trunk-at-server",
                field("trunk"),
                format!(
                    "At level {} a server would be the trunk end: a breakout's trunk is plugged into a switch.",
                    rule.level
                ),
                hint,
            );
            findings.push(finding.with_value(json!(rule.trunk)).with_fix(fix));
        }
    }
    findings
}

/// The ports of a tier's switches that breakouts bundle: their rate, the most of them on one
/// switch, and the number per cable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BundledPorts {
    pub gbps: f64,
    pub ports: u32,
    pub to_a_cable: u32,
}

/// The ports that the rules bundle, by tier.
pub(crate) fn bundled_ports(
    rules: &[BreakoutRule],
    topology: &Topology,
    link_gbps: Option<f64>,
) -> Vec<Vec<BundledPorts>> {
    let links = topology.links();
    let mut out = vec![Vec::new(); topology.tiers().len()];
    for rule in rules.iter().filter(|rule| rule.links > 1) {
        let mut count = vec![0u32; topology.node_count() as usize];
        let mut gbps = 0.0;
        for link in (0..links.len()).filter(|&link| links.level[link] == rule.level) {
            count[trunk_end(topology, rule, link).0 as usize] += 1;
            gbps = link_gbps.unwrap_or(links.rate_bits_per_sec(link) / 1e9);
        }
        for (tier, bundled) in topology.tiers().iter().zip(&mut out) {
            let switches = tier.first as usize..(tier.first + tier.count) as usize;
            let ports = count[switches].iter().copied().max().unwrap_or(0);
            if ports > 0 {
                bundled.push(BundledPorts {
                    gbps,
                    ports,
                    to_a_cable: u32::from(rule.links),
                });
            }
        }
    }
    out
}
