//! The wiring certificate: every invariant re-derived from names, ports and closed forms.
//!
//! Nothing here looks at how the builder made the links; a swapped cable, a port used twice or a
//! missing link shows as a failed check.

use serde::Serialize;

use crate::bfs::{self, Distances};
use crate::family::NamedLink;
use crate::graph::{Csr, NodeId};
use crate::topology::Topology;

/// Names are checked for at most this number of nodes or links; in larger networks, for an even
/// sample.
const NAMED_AT_MOST: usize = 1 << 20;
/// Word operations one certificate may spend on distances between all servers.
const EXACT_DISTANCE_WORK: u64 = 8_000_000;
/// Half-links above which distances are searched from single servers instead of 64 at once.
const SINGLE_SOURCE_ABOVE: u64 = 1 << 20;

/// One invariant that was checked, and the result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Name for programs; it never changes.
    pub name: &'static str,
    /// The invariant, with this structure's numbers.
    pub statement: String,
    /// Number of items checked.
    pub checked: u64,
    /// Whether all of them held.
    pub passed: bool,
    /// The result in words; if the check failed, the first link or node that breaks the rule.
    pub detail: String,
}

/// All invariants of one structure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Certificate {
    /// Whether every check passed.
    pub passed: bool,
    /// One entry for each invariant.
    pub checks: Vec<Check>,
}

pub(crate) fn certify(topology: &Topology) -> Certificate {
    let mut checks = vec![ends(topology)];
    // The other checks cannot run on links whose ends do not exist.
    if checks[0].passed {
        let csr = topology.adjacency();
        checks.push(counts(topology));
        checks.push(levels(topology));
        checks.push(ports(topology));
        checks.push(degrees(topology, &csr));
        checks.push(parallel(topology, &csr));
        checks.push(names(topology));
        checks.push(rule(topology));
        checks.push(connected(topology));
        checks.push(diameter(topology, &csr));
    }
    Certificate {
        passed: checks.iter().all(|check| check.passed),
        checks,
    }
}

/// Builds a check from the first offender, if any.
fn check(
    name: &'static str,
    statement: String,
    checked: u64,
    offender: Option<String>,
    good: impl Into<String>,
) -> Check {
    let passed = offender.is_none();
    Check {
        name,
        statement,
        checked,
        passed,
        detail: offender.unwrap_or_else(|| good.into()),
    }
}

fn link_text(topology: &Topology, link: usize) -> String {
    let links = topology.links();
    format!(
        "link {link}, {}:{} to {}:{}",
        topology.node_name(links.a[link]),
        topology.port_name(links.a[link], links.a_port[link]),
        topology.node_name(links.b[link]),
        topology.port_name(links.b[link], links.b_port[link]),
    )
}

fn ends(topology: &Topology) -> Check {
    let links = topology.links();
    let nodes = topology.node_count();
    let columns = [
        links.b.len(),
        links.a_port.len(),
        links.b_port.len(),
        links.level.len(),
        links.rate_class.len(),
    ];
    let ragged = columns.iter().any(|&column| column != links.len());
    let offender = if ragged {
        Some("The link columns differ in length.".to_owned())
    } else {
        (0..links.len())
            .find(|&link| {
                let (a, b) = (links.a[link], links.b[link]);
                a >= nodes
                    || b >= nodes
                    || a == b
                    || (!topology.is_server(a) && topology.is_server(b))
                    || usize::from(links.rate_class[link]) >= links.rates_bits_per_sec.len()
            })
            .map(|link| {
                format!(
                    "Link {link} joins node {} to node {}.",
                    links.a[link], links.b[link]
                )
            })
    };
    check(
        "ends",
        format!("Every link joins two different nodes of the {nodes}, near end first, and has a rate."),
        links.len() as u64,
        offender,
        "",
    )
}

fn counts(topology: &Topology) -> Check {
    let mut next = topology.server_count();
    let mut offender = None;
    for tier in topology.tiers() {
        if tier.first != next {
            offender = Some(format!(
                "Tier {} starts at {}, not {next}.",
                tier.role, tier.first
            ));
        }
        next += tier.count;
    }
    let expected: u64 = topology.family().links_at_level().iter().sum();
    let found = topology.links().len() as u64;
    if found != expected {
        offender = Some(format!(
            "There are {found} links, the closed form gives {expected}."
        ));
    }
    let mut wired = vec![false; topology.node_count() as usize];
    for &node in topology.links().a.iter().chain(&topology.links().b) {
        wired[node as usize] = true;
    }
    if topology.node_count() > 1
        && let Some(idle) = wired.iter().position(|&wired| !wired)
    {
        offender = Some(format!("{} has no link.", topology.node_name(idle as NodeId)));
    }
    check(
        "counts",
        format!(
            "{} servers, {} switches and {expected} links, as the closed forms give; none without a link.",
            topology.server_count(),
            topology.switch_count()
        ),
        u64::from(topology.node_count()) + found,
        offender,
        "",
    )
}

fn levels(topology: &Topology) -> Check {
    let expected = topology.family().links_at_level();
    let mut found = vec![0u64; 256];
    for &level in &topology.links().level {
        found[usize::from(level)] += 1;
    }
    let offender = (0..256)
        .find(|&level| found[level] != expected.get(level).copied().unwrap_or(0))
        .map(|level| {
            let expected = expected.get(level).copied().unwrap_or(0);
            format!(
                "Level {level} has {} links, the closed form gives {expected}.",
                found[level]
            )
        });
    let list: Vec<String> = expected.iter().map(u64::to_string).collect();
    check(
        "levels",
        format!("Links by level, lowest first: {}.", list.join(", ")),
        topology.links().len() as u64,
        offender,
        "",
    )
}

fn ports(topology: &Topology) -> Check {
    let links = topology.links();
    // One bit per port; servers first, then tier by tier.
    let server_ports = u64::from(topology.server_ports());
    let mut base = vec![(0, server_ports, 0)];
    let mut start = u64::from(topology.server_count()) * server_ports;
    for tier in topology.tiers() {
        base.push((tier.first, u64::from(tier.ports), start));
        start += u64::from(tier.count) * u64::from(tier.ports);
    }
    let mut used = vec![0u64; (start as usize).div_ceil(64)];
    let mut offender = None;
    'links: for link in 0..links.len() {
        for (node, port) in [
            (links.a[link], links.a_port[link]),
            (links.b[link], links.b_port[link]),
        ] {
            let tier = if topology.is_server(node) {
                0
            } else {
                base.partition_point(|row| row.0 <= node) - 1
            };
            let (first, count, start) = base[tier];
            if u64::from(port) >= count {
                offender = Some(format!(
                    "{} uses port {port}, but there are only {count}.",
                    link_text(topology, link)
                ));
                break 'links;
            }
            let bit = start + u64::from(node - first) * count + u64::from(port);
            let word = &mut used[(bit / 64) as usize];
            if *word >> (bit % 64) & 1 == 1 {
                offender = Some(format!(
                    "The port is already used: {}.",
                    link_text(topology, link)
                ));
                break 'links;
            }
            *word |= 1 << (bit % 64);
        }
    }
    check(
        "ports",
        "Every link end has a port of its own, within the ports its device has.".to_owned(),
        2 * links.len() as u64,
        offender,
        "",
    )
}

fn degrees(topology: &Topology, csr: &Csr) -> Check {
    let family = topology.family();
    let offender = (0..topology.node_count())
        .find(|&node| csr.degree(node) != family.expected_degree(node))
        .map(|node| {
            format!(
                "{} has {} links, the closed form gives {}.",
                topology.node_name(node),
                csr.degree(node),
                family.expected_degree(node)
            )
        });
    check(
        "degrees",
        "Every server and switch has as many links as its address requires.".to_owned(),
        u64::from(topology.node_count()),
        offender,
        "",
    )
}

fn parallel(topology: &Topology, csr: &Csr) -> Check {
    let width = topology.family().trunk_width();
    let mut sorted = Vec::new();
    let offender = (0..topology.node_count()).find_map(|node| {
        sorted.clear();
        sorted.extend_from_slice(csr.neighbours_of(node));
        sorted.sort_unstable();
        let run = sorted
            .chunk_by(|a, b| a == b)
            .find(|run| run.len() > width as usize)?;
        let (a, b) = (topology.node_name(node), topology.node_name(run[0]));
        Some(format!("{a} and {b} are joined by {} links.", run.len()))
    });
    let most = if width == 1 {
        "one link".to_owned()
    } else {
        format!("{width} links")
    };
    check(
        "parallel",
        format!("At most {most} between the same two devices."),
        topology.links().len() as u64,
        offender,
        "",
    )
}

/// Indices `0..count`, reduced to an even sample of about `NAMED_AT_MOST`.
fn spread(count: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by(count.div_ceil(NAMED_AT_MOST).max(1))
}

fn sampled_text(checked: u64, all: usize) -> String {
    if checked == all as u64 {
        String::new()
    } else {
        format!("Evenly spread {checked} of {all}.")
    }
}

fn names(topology: &Topology) -> Check {
    let all = topology.node_count() as usize;
    let mut checked = 0;
    let mut name = String::new();
    let offender = spread(all).find_map(|node| {
        checked += 1;
        name.clear();
        topology.write_name(node as NodeId, &mut name);
        (topology.node_by_name(&name) != Some(node as NodeId))
            .then(|| format!("Node {node} is called {name}, which does not lead back to it."))
    });
    check(
        "names",
        "Every name leads back to its node, so no two nodes share one.".to_owned(),
        checked,
        offender,
        sampled_text(checked, all),
    )
}

fn rule(topology: &Topology) -> Check {
    let links = topology.links();
    let family = topology.family();
    let (mut a, mut b) = (String::new(), String::new());
    let mut checked = 0;
    let offender = spread(links.len()).find_map(|link| {
        checked += 1;
        a.clear();
        b.clear();
        topology.write_name(links.a[link], &mut a);
        topology.write_name(links.b[link], &mut b);
        let named = NamedLink {
            a: &a,
            a_port: links.a_port[link],
            b: &b,
            b_port: links.b_port[link],
            level: links.level[link],
        };
        (!family.obeys(&named)).then(|| format!("Against the rule: {}.", link_text(topology, link)))
    });
    check(
        "wiring-rule",
        family.rule(),
        checked,
        offender,
        sampled_text(checked, links.len()),
    )
}

fn connected(topology: &Topology) -> Check {
    let nodes = topology.node_count();
    let mut parent: Vec<NodeId> = (0..nodes).collect();
    fn root(parent: &mut [NodeId], mut node: NodeId) -> NodeId {
        while parent[node as usize] != node {
            // Path halving keeps trees flat without a second pass.
            parent[node as usize] = parent[parent[node as usize] as usize];
            node = parent[node as usize];
        }
        node
    }
    let mut parts = nodes;
    for (&a, &b) in topology.links().a.iter().zip(&topology.links().b) {
        let (a, b) = (root(&mut parent, a), root(&mut parent, b));
        if a != b {
            parent[a.max(b) as usize] = a.min(b);
            parts -= 1;
        }
    }
    let offender = (parts != 1).then(|| {
        let origin = root(&mut parent, 0);
        let cut = (1..nodes)
            .find(|&node| root(&mut parent, node) != origin)
            .unwrap_or(0);
        format!(
            "There are {parts} parts; {} is cut off from {}.",
            topology.node_name(cut),
            topology.node_name(0)
        )
    });
    check(
        "connected",
        "All devices form one network (union-find over all links).".to_owned(),
        u64::from(nodes),
        offender,
        "",
    )
}

fn diameter(topology: &Topology, csr: &Csr) -> Check {
    let family = topology.family();
    let limit = family.diameter_links();
    let servers = topology.server_count();
    let half_links = 2 * topology.links().len() as u64;
    let work = u64::from(servers.div_ceil(64))
        * (limit.value as u64 + 1)
        * (half_links + u64::from(topology.node_count()));
    let relays = family.relays();
    let mut found = Distances::default();
    let mut add = |part: Distances| {
        found.farthest = found.farthest.max(part.farthest);
        found.sum += part.sum;
        found.pairs += part.pairs;
    };
    let mut sources = Vec::new();
    let all = work <= EXACT_DISTANCE_WORK && !family.transitive();
    let wanted = if all {
        servers
    } else if half_links <= SINGLE_SOURCE_ABOVE {
        servers.min(if family.transitive() { 1 } else { 64 })
    } else {
        servers.min(if family.transitive() { 1 } else { 2 })
    };
    // An even sample with the first and the last: partial structures are irregular at the end.
    for index in 0..u64::from(wanted) {
        let last = u64::from(wanted.max(2) - 1);
        sources.push((index * u64::from(servers - 1) / last) as NodeId);
    }
    if half_links <= SINGLE_SOURCE_ABOVE && sources.len() > 1 {
        for batch in sources.chunks(64) {
            add(bfs::from_many(csr, servers, relays, batch));
        }
    } else {
        for &source in &sources {
            add(bfs::from_one(csr, servers, relays, source));
        }
    }
    let covers_all = all || family.transitive();
    let pairs = u64::from(wanted) * u64::from(servers - 1);
    let farthest = f64::from(found.farthest);
    let offender = if found.pairs != pairs {
        Some(format!(
            "{} of {pairs} server pairs have no path.",
            pairs - found.pairs
        ))
    } else if farthest > limit.value {
        Some(format!(
            "Two servers are {farthest} links apart, more than {}.",
            limit.value
        ))
    } else if covers_all && limit.exact && farthest != limit.value {
        Some(format!(
            "No two servers are more than {farthest} links apart; the closed form gives {}.",
            limit.value
        ))
    } else {
        None
    };
    let how = if all {
        format!("All shortest paths: the farthest servers are {farthest} links apart.")
    } else if family.transitive() {
        format!("All servers are alike; from the first the farthest is {farthest} links away.")
    } else {
        format!("Sampled: from {wanted} evenly spread servers the farthest is {farthest} links away.")
    };
    let kind = if limit.exact {
        "The diameter is"
    } else {
        "The diameter is at most"
    };
    check(
        "diameter",
        format!("{kind} {} links between servers {}.", limit.value, limit.source),
        pairs,
        offender,
        how,
    )
}
