//! Errors and warnings about a list of nodes and links.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::json;

use super::listed::Listed;
use super::{SERVER_PORTS_AT_MOST, SWITCH_PORTS_AT_MOST};
use crate::finding::Finding;
use crate::host_name::HOST_NAME_MAX_CHARACTERS;
use crate::spec::{CustomLink, CustomNode, CustomRole, CustomSpec, FINDINGS_AT_MOST};

/// Most rates of a network: links refer to their rate by 8 bits.
const RATES_AT_MOST: usize = 256;
/// Most sets of networks to compare in the search for servers without a path.
const GROUPS_AT_MOST: usize = 1_000;

/// Errors with the row's path; the fix of the first error repairs all errors of its kind. Without
/// errors: remarks. Linear in the list.
pub(crate) fn validate(spec: &CustomSpec) -> Vec<Finding> {
    for check in [names, ends, ports, degrees, rates] {
        let mut errors = check(spec);
        if !errors.is_empty() {
            errors.truncate(FINDINGS_AT_MOST);
            return errors;
        }
    }
    remarks(spec)
}

/// Whether a name is a DNS label that no program takes for a number: lower-case letters, digits,
/// hyphens; a letter first.
fn is_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=HOST_NAME_MAX_CHARACTERS).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.bytes().all(inner)
}

fn is_port(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"/._:-".contains(&byte);
    (1..=HOST_NAME_MAX_CHARACTERS).contains(&name.len()) && name.bytes().all(legal)
}

/// The nearest legal name.
fn legal_name(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars().flat_map(char::to_lowercase) {
        match letter {
            'a'..='z' | '0'..='9' => out.push(letter),
            _ if !out.is_empty() && !out.ends_with('-') => out.push('-'),
            _ => {}
        }
    }
    if !out.starts_with(|first: char| first.is_ascii_lowercase()) {
        out.insert_str(0, "n-");
    }
    out.truncate(HOST_NAME_MAX_CHARACTERS);
    out.trim_end_matches('-').to_owned()
}

/// The nodes with legal names, each once.
fn repaired_nodes(spec: &CustomSpec) -> Vec<CustomNode> {
    let mut seen = HashSet::new();
    let mut nodes: Vec<CustomNode> = Vec::new();
    for node in &spec.nodes {
        let mut name = if is_name(&node.name) {
            node.name.clone()
        } else {
            legal_name(&node.name)
        };
        let mut number = 2;
        while !seen.insert(name.clone()) {
            let suffix = format!("-{number}");
            let stem: String = legal_name(&node.name)
                .chars()
                .take(HOST_NAME_MAX_CHARACTERS - suffix.len())
                .collect();
            name = format!("{}{suffix}", stem.trim_end_matches('-'));
            number += 1;
        }
        nodes.push(CustomNode { name, ..node.clone() });
    }
    if !nodes.iter().any(|node| node.role == CustomRole::Server) {
        let mut number = 1;
        while seen.contains(&format!("server-{number}")) {
            number += 1;
        }
        let name = format!("server-{number}");
        if nodes.len() >= super::NODES_AT_MOST as usize {
            nodes.pop();
        }
        nodes.push(CustomNode {
            name,
            role: CustomRole::Server,
            tier: None,
        });
    }
    nodes
}

/// Attaches the repaired list to the first finding.
fn with_repair(
    mut errors: Vec<Finding>,
    list: &'static str,
    rows: impl FnOnce() -> serde_json::Value,
) -> Vec<Finding> {
    if let Some(first) = errors.first_mut() {
        *first = first.clone().with_topology_fix(list, rows());
    }
    errors
}

fn names(spec: &CustomSpec) -> Vec<Finding> {
    let mut errors = Vec::new();
    let mut first_of: HashMap<&str, usize> = HashMap::new();
    for (row, node) in spec.nodes.iter().enumerate() {
        let path = format!("topology.nodes[{row}].name");
        let name = node.name.as_str();
        if !is_name(name) {
            let shown: String = name.chars().take(70).collect();
            let finding = Finding::error(
                "custom-name",
                path,
                format!(
                    "The name \"{shown}\" is not 1 to {HOST_NAME_MAX_CHARACTERS} lower-case letters, digits and hyphens with a letter first and no hyphen last."
                ),
                format!("Names are host names; use \"{}\".", legal_name(name)),
            );
            errors.push(
                finding
                    .with_value(shown)
                    .with_limit("[a-z]([a-z0-9-]{0,61}[a-z0-9])?"),
            );
        } else if let Some(first) = first_of.insert(name, row) {
            let finding = Finding::error(
                "custom-name-twice",
                path,
                format!("\"{name}\" is the name of nodes[{first}] already."),
                "Give every node a name of its own.",
            );
            errors.push(finding.with_value(name).with_limit(1));
        }
    }
    if !spec.nodes.iter().any(|node| node.role == CustomRole::Server) {
        let finding = Finding::error(
            "custom-no-server",
            "topology.nodes",
            "No node has the role \"server\".",
            "Add at least one server.",
        );
        errors.push(finding.with_value(0).with_limit(1));
    }
    for (row, node) in spec.nodes.iter().enumerate() {
        if node.role == CustomRole::Server && node.tier.is_some() {
            let finding = Finding::error(
                "custom-tier-of-server",
                format!("topology.nodes[{row}].tier"),
                format!(
                    "\"{}\" is a server and has a tier; only switches have one.",
                    node.name
                ),
                "Remove the tier, or make the node a switch.",
            );
            errors.push(finding.with_value(node.tier).with_limit("switches"));
        }
    }
    with_repair(errors, "nodes", || {
        let mut nodes = repaired_nodes(spec);
        for node in &mut nodes {
            node.tier = node.tier.filter(|_| node.role == CustomRole::Switch);
        }
        json!(nodes)
    })
}

fn ends(spec: &CustomSpec) -> Vec<Finding> {
    let known: HashSet<&str> = spec.nodes.iter().map(|node| node.name.as_str()).collect();
    let mut errors = Vec::new();
    for (row, link) in spec.links.iter().enumerate() {
        for (field, name) in [("a", &link.a), ("b", &link.b)] {
            if !known.contains(name.as_str()) {
                let shown: String = name.chars().take(70).collect();
                let near = spec
                    .nodes
                    .iter()
                    .map(|node| node.name.as_str())
                    .find(|near| near.eq_ignore_ascii_case(name));
                let hint = match near {
                    Some(near) => format!("Did you mean \"{near}\"?"),
                    None => "Add the node to nodes, or correct the name.".to_owned(),
                };
                let finding = Finding::error(
                    "custom-unknown-end",
                    format!("topology.links[{row}].{field}"),
                    format!("\"{shown}\" is the name of no node."),
                    hint,
                );
                errors.push(finding.with_value(shown).with_limit("a name in topology.nodes"));
            }
        }
        if link.a == link.b {
            let finding = Finding::error(
                "custom-link-to-itself",
                format!("topology.links[{row}].b"),
                format!("The link joins \"{}\" to itself.", link.a),
                "Name another node, or remove the link.",
            );
            errors.push(
                finding
                    .with_value(link.b.as_str())
                    .with_limit("another node than a"),
            );
        }
        if errors.len() >= FINDINGS_AT_MOST {
            break;
        }
    }
    let kept = |link: &&CustomLink| {
        link.a != link.b && known.contains(link.a.as_str()) && known.contains(link.b.as_str())
    };
    with_repair(errors, "links", || {
        json!(spec.links.iter().filter(kept).collect::<Vec<_>>())
    })
}

fn ports(spec: &CustomSpec) -> Vec<Finding> {
    let mut first_of: HashMap<(&str, &str), usize> = HashMap::new();
    let mut errors = Vec::new();
    let mut repaired = spec.links.clone();
    for (row, link) in spec.links.iter().enumerate() {
        for (field, node, port) in [
            ("a_port", &link.a, &link.a_port),
            ("b_port", &link.b, &link.b_port),
        ] {
            let Some(port) = port else { continue };
            let path = format!("topology.links[{row}].{field}");
            let shown: String = port.chars().take(70).collect();
            if !is_port(port) {
                let finding = Finding::error(
                    "custom-port-name",
                    path,
                    format!(
                        "The port \"{shown}\" is not 1 to {HOST_NAME_MAX_CHARACTERS} letters, digits and characters of / . _ : -"
                    ),
                    "Replace the other characters, or leave the port out.",
                );
                errors.push(finding.with_value(shown).with_limit("[A-Za-z0-9/._:-]{1,63}"));
            } else if let Some(first) = first_of.insert((node, port), row) {
                let finding = Finding::error(
                    "custom-port-twice",
                    path,
                    format!("Port {shown} of {node} has a link already, links[{first}]."),
                    "Name another port, or remove the link that is listed twice.",
                );
                errors.push(finding.with_value(shown).with_limit(1));
            } else {
                continue;
            }
            let row = &mut repaired[row];
            *(if field == "a_port" {
                &mut row.a_port
            } else {
                &mut row.b_port
            }) = None;
        }
    }
    with_repair(errors, "links", || json!(repaired))
}

fn degrees(spec: &CustomSpec) -> Vec<Finding> {
    let limit_of = |role| match role {
        CustomRole::Server => SERVER_PORTS_AT_MOST,
        CustomRole::Switch => SWITCH_PORTS_AT_MOST,
    };
    let roles: HashMap<&str, CustomRole> = spec
        .nodes
        .iter()
        .map(|node| (node.name.as_str(), node.role))
        .collect();
    let mut degree: HashMap<&str, u32> = HashMap::new();
    let mut errors = Vec::new();
    let mut kept = Vec::new();
    for (row, link) in spec.links.iter().enumerate() {
        let mut fits = true;
        for (field, name) in [("a", link.a.as_str()), ("b", link.b.as_str())] {
            let (count, most) = (degree.entry(name).or_insert(0), limit_of(roles[name]));
            *count += 1;
            fits &= *count <= most;
            if *count == most + 1 {
                let finding = Finding::error(
                    "custom-too-many-links",
                    format!("topology.links[{row}].{field}"),
                    format!(
                        "{name} has more than {most} links, the most of a {}.",
                        match roles[name] {
                            CustomRole::Server => "server",
                            CustomRole::Switch => "switch",
                        }
                    ),
                    "Spread the links over more nodes.",
                );
                errors.push(finding.with_value(*count).with_limit(most));
            }
        }
        if fits {
            kept.push(link);
        }
    }
    with_repair(errors, "links", || json!(kept))
}

fn rates(spec: &CustomSpec) -> Vec<Finding> {
    let mut rates: HashSet<u64> = HashSet::new();
    let late = spec.links.iter().position(|link| {
        rates.insert(link.gbps.unwrap_or(spec.link_gbps).to_bits());
        rates.len() > RATES_AT_MOST
    });
    let errors = late.map(|row| {
        Finding::error(
            "custom-too-many-rates",
            format!("topology.links[{row}].gbps"),
            format!("The links have more than {RATES_AT_MOST} different rates."),
            "Round the rates.",
        )
        .with_value(spec.links[row].gbps)
        .with_limit(RATES_AT_MOST)
    });
    with_repair(errors.into_iter().collect(), "links", || {
        let plain = spec.links.iter().map(|link| CustomLink {
            gbps: None,
            ..link.clone()
        });
        json!(plain.collect::<Vec<_>>())
    })
}

fn remarks(spec: &CustomSpec) -> Vec<Finding> {
    let listed = Listed::new(spec);
    let mut findings = Vec::new();
    findings.extend(unlinked(spec, &listed));
    findings.extend(cut_off(&listed));
    findings.extend(trunks(spec));
    if let Some((row, link)) = (spec.links.iter().enumerate())
        .find(|(_, link)| listed.is_server(&link.a) && listed.is_server(&link.b))
    {
        findings.push(Finding::info(
            "custom-direct-link",
            format!("topology.links[{row}]"),
            format!("{} and {} are servers: their link carries the traffic between these two only, because servers do not relay.", link.a, link.b),
            "",
        ));
    }
    let ports: Vec<usize> = (0..listed.servers)
        .map(|server| listed.rows[server as usize].len())
        .collect();
    let (least, most) = (
        ports.iter().min().copied().unwrap_or(0),
        ports.iter().max().copied().unwrap_or(0),
    );
    if least != most {
        findings.push(Finding::info(
            "custom-server-ports",
            "topology.links",
            format!("Servers have {least} to {most} links; all are planned with {most} ports."),
            "",
        ));
    }
    findings
}

fn unlinked(spec: &CustomSpec, listed: &Listed) -> Option<Finding> {
    let mut idle = (0..listed.names.len()).filter(|&node| listed.rows[node].is_empty());
    let first = idle.next().filter(|_| listed.names.len() > 1)?;
    let name = &listed.names[first];
    let row = spec.nodes.iter().position(|node| node.name == *name).unwrap_or(0);
    Some(
        Finding::warning(
            "custom-no-link",
            format!("topology.nodes[{row}]"),
            format!(
                "{} without a link, for example {name}.",
                match 1 + idle.count() {
                    1 => "1 node is".to_owned(),
                    several => format!("{several} nodes are"),
                }
            ),
            "Link it, or remove it.",
        )
        .with_value(name.as_str()),
    )
}

/// Servers without a path: by the connected sets of switches that each has a link to.
fn cut_off(listed: &Listed) -> Option<Finding> {
    let networks = listed.networks();
    let mut groups: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
    for server in 0..listed.servers {
        let mut of: Vec<usize> = listed.rows[server as usize]
            .iter()
            .filter(|&&(far, _)| far >= listed.servers)
            .map(|&(far, _)| networks[far as usize])
            .collect();
        of.sort_unstable();
        of.dedup();
        groups.entry(of).or_insert(server);
    }
    let groups: Vec<(Vec<usize>, u32)> = groups.into_iter().take(GROUPS_AT_MOST).collect();
    // Servers without any switch are one group and have paths over direct links only.
    let direct = |a: u32, b: u32| listed.rows[a as usize].iter().any(|&(far, _)| far == b);
    let mut lonely = (0..listed.servers).filter(|&server| {
        listed.rows[server as usize]
            .iter()
            .all(|&(far, _)| far < listed.servers)
    });
    let pair_of_lonely = (|| {
        let first = lonely.next()?;
        (0..listed.servers)
            .find(|&other| other != first && !direct(first, other))
            .map(|other| (first, other))
    })();
    let pair = pair_of_lonely.or_else(|| {
        groups.iter().enumerate().find_map(|(index, (of, server))| {
            let apart = |other: &&(Vec<usize>, u32)| {
                !of.iter().any(|network| other.0.contains(network)) && !direct(*server, other.1)
            };
            groups[index + 1..]
                .iter()
                .find(apart)
                .map(|other| (*server, other.1))
        })
    })?;
    let (a, b) = (&listed.names[pair.0 as usize], &listed.names[pair.1 as usize]);
    Some(
        Finding::warning(
            "custom-cut-off",
            "topology.links",
            format!("The network is in parts: there is no path between the servers {a} and {b}."),
            "Link the parts through switches, or plan them one by one.",
        )
        .with_value(vec![a.as_str(), b.as_str()]),
    )
}

fn trunks(spec: &CustomSpec) -> Option<Finding> {
    let mut first_of: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let (mut second, mut count, mut unnamed) = (None, 0, false);
    for (row, link) in spec.links.iter().enumerate() {
        let pair = if link.a < link.b {
            (&link.a, &link.b)
        } else {
            (&link.b, &link.a)
        };
        if let Some(first) = first_of.get(&(pair.0.as_str(), pair.1.as_str())) {
            second.get_or_insert((row, *first));
            count += 1;
            unnamed |= link.a_port.is_none() && link.b_port.is_none();
        } else {
            first_of.insert((pair.0, pair.1), row);
        }
    }
    let (row, first) = second?;
    let link = &spec.links[row];
    let (path, links) = (
        format!("topology.links[{row}]"),
        if count == 1 { "link joins" } else { "links join" },
    );
    let message = format!(
        "{count} {links} nodes that have a link already, for example {} and {} (links[{first}]): they are planned as trunks.",
        link.a, link.b
    );
    Some(if unnamed {
        Finding::warning(
            "custom-duplicate-link",
            path,
            message,
            "If it is the same cable listed twice, remove it; else name the ports.",
        )
    } else {
        Finding::info("custom-trunk", path, message, "")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::TopologySpec;

    #[test]
    fn names_are_made_legal() {
        for (given, legal) in [
            ("Leaf_1", "leaf-1"),
            ("10.0.0.1", "n-10-0-0-1"),
            ("--", "n"),
            ("rack 1 / tor", "rack-1-tor"),
            ("", "n"),
        ] {
            assert_eq!(legal_name(given), legal);
            assert!(is_name(&legal_name(given)), "{given}");
        }
        assert!(is_name(&legal_name(&"Ä9".repeat(99))));
        assert!(!is_name("9a") && !is_name("a-") && !is_name("A") && !is_name(""));
    }

    #[test]
    fn tiers_follow_from_distances() {
        let (_, ring) = super::super::DESCRIPTION.presets[1];
        let Ok(TopologySpec::Custom(mut spec)) = serde_json::from_str(ring) else {
            panic!("the preset is no custom network");
        };
        assert_eq!(super::super::listed::tiers(&spec), [0; 8]);
        // Without its server a switch is farther from the next one.
        spec.links.remove(0);
        assert_eq!(super::super::listed::tiers(&spec)[..4], [1, 0, 0, 0]);
        spec.nodes[0].tier = Some(7);
        assert_eq!(super::super::listed::tiers(&spec)[0], 7);
    }
}
