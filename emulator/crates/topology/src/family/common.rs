//! Small things several families need: digits, names, size limits.

use std::fmt::Write;

use crate::finding::Finding;
use crate::metrics::Metric;
use crate::spec::MAX_LINKS;
use crate::topology::Topology;

/// Gigabit Ethernet, the rate BCube, DCell and CamCube assume [bcube §6, camcube §2].
pub(crate) const GIGABIT: f64 = 1e9;

/// A link by the names of its ends, the only input of a wiring rule.
pub(crate) struct NamedLink<'a> {
    pub a: &'a str,
    pub a_port: u16,
    pub b: &'a str,
    pub b_port: u16,
    pub level: u8,
}

/// Writes digits next to each other when every digit is one character, else joined by dots.
pub(crate) fn write_digits(out: &mut String, digits: impl IntoIterator<Item = u32>, dotted: bool) {
    for (index, digit) in digits.into_iter().enumerate() {
        if dotted && index > 0 {
            out.push('.');
        }
        let _ = write!(out, "{digit}");
    }
}

/// Reads what `write_digits` wrote. `None` on anything else.
pub(crate) fn read_digits(text: &str, dotted: bool) -> Option<Vec<u32>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    if dotted {
        read_list(text, '.')
    } else {
        text.chars().map(|digit| digit.to_digit(10)).collect()
    }
}

/// Reads numbers parted by a separator.
pub(crate) fn read_list(text: &str, separator: char) -> Option<Vec<u32>> {
    text.split(separator).map(read_number).collect()
}

/// Reads a number written in decimal digits only (`parse` alone would take "+7").
pub(crate) fn read_number(text: &str) -> Option<u32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}

/// Splits `<level,label>` into level and label.
pub(crate) fn read_switch(name: &str) -> Option<(u32, &str)> {
    let (level, label) = name.strip_prefix('<')?.strip_suffix('>')?.split_once(',')?;
    Some((read_number(level)?, label))
}

/// The error for a structure beyond `MAX_LINKS`, if it is.
pub(crate) fn too_large<'a>(
    field: &str,
    what: &str,
    links: u128,
    fixes: impl IntoIterator<Item = (&'a str, serde_json::Value)>,
) -> Option<Finding> {
    (links > u128::from(MAX_LINKS)).then(|| {
        let count = if links < 1 << 64 {
            links.to_string()
        } else {
            "more than 10^19".to_owned()
        };
        Finding::error(
            "topology-too-large",
            format!("topology.{field}"),
            format!("{what} would have {count} links; the limit is {MAX_LINKS}."),
            "Make it smaller.",
        )
        .with_limit(MAX_LINKS)
        .with_topology_fixes(fixes)
    })
}

pub(crate) fn power(base: u32, exponent: u32) -> u128 {
    u128::from(base).checked_pow(exponent).unwrap_or(u128::MAX)
}

/// Share of the switch ports that carry a link.
pub(crate) fn utilisation(topology: &Topology) -> Option<Metric> {
    let ports: u64 = topology
        .tiers()
        .iter()
        .map(|tier| u64::from(tier.count) * u64::from(tier.ports))
        .sum();
    let servers = topology.server_count();
    let links = topology.links();
    let used = links
        .a
        .iter()
        .chain(&links.b)
        .filter(|&&node| node >= servers)
        .count();
    (ports > 0).then(|| Metric::exact(used as f64 / ports as f64, "fraction", "[ours]"))
}

/// Mean links between distinct servers when two servers first met in a group of `sizes[j]`
/// consecutive ids (smallest first) are `2 (j + 1)` links apart. `None` with fewer than two
/// servers.
pub(crate) fn mean_by_group(servers: u64, sizes: &[u64]) -> Option<f64> {
    if servers < 2 {
        return None;
    }
    let mut closer = 0u128;
    let mut sum = 0u128;
    for (level, &size) in sizes.iter().enumerate() {
        let (whole, rest) = (u128::from(servers / size), u128::from(servers % size));
        let size = u128::from(size);
        let pairs = whole * size * (size - 1) + rest * rest.saturating_sub(1);
        sum += 2 * (level as u128 + 1) * (pairs - closer);
        closer = pairs;
    }
    let all = u128::from(servers) * u128::from(servers - 1);
    debug_assert_eq!(closer, all, "the last group holds all servers");
    Some(sum as f64 / all as f64)
}
