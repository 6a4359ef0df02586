//! Which servers and links a partial DCell has, in either order of growth, and what its parameters
//! allow.

use serde_json::json;

use crate::address::DcellAddresses;
use crate::family::common::too_large;
use crate::finding::Finding;
use crate::spec::{DcellGrowth, DcellSpec, MAX_LINKS};

/// Links by level of the first `servers` servers [dcell §3].
pub(super) fn links_at_level(sizes: &[u64], servers: u64) -> Vec<u64> {
    let mut links = vec![servers];
    for level in 1..sizes.len() {
        let (size, below) = (sizes[level], sizes[level - 1]);
        let mesh = |subs: u64| u128::from(subs) * u128::from(subs.saturating_sub(1)) / 2;
        let (whole, rest) = (servers / size, servers % size);
        // The last DCell of this level: `subs` whole sub-DCells, and `extra` servers of the next
        // one, of which server i is joined to sub-DCell i.
        let (subs, extra) = (rest / below, rest % below);
        let total =
            u128::from(whole) * mesh(below.saturating_add(1)) + mesh(subs) + u128::from(extra.min(subs));
        links.push(u64::try_from(total).unwrap_or(u64::MAX));
    }
    links
}

/// Servers of each DCell_2 of a DCell_3 that grows from the top down, from the text of the
/// procedure: in step `c` each DCell_2 gets its `c`th DCell_1 in turn, then DCell_2s of `c`
/// DCell_1s follow, `c t_1 + 1` in all. [ours, dcell §5]
pub(super) fn top_down_cells(sizes: &[u64], servers: u64) -> Vec<u64> {
    let (mut left, unit) = (servers / sizes[1], sizes[1]);
    let mut cells: Vec<u64> = Vec::new();
    let mut step = 0;
    while left > 0 {
        step += 1;
        for cell in &mut cells {
            let added = left.min(1);
            *cell += added * unit;
            left -= added;
        }
        while left > 0 && (cells.len() as u64) < step * unit + 1 {
            let added = left.min(step);
            cells.push(added * unit);
            left -= added;
        }
    }
    cells
}

/// Links by level of a DCell_3 that grows from the top down. Its DCell_1s are complete.
pub(super) fn top_down_links_at_level(sizes: &[u64], servers: u64) -> Vec<u64> {
    let cells = top_down_cells(sizes, servers);
    let mesh = |members: u64| members * members.saturating_sub(1) / 2;
    // DCell_2 j has a link with each of the first min(j, its size) DCell_2s that have a server j -
    // 1; none is larger than one before it, so those are the first ones too.
    let mut large = cells.len() as u64;
    let mut top = 0;
    for (cell, &size) in (0u64..).zip(&cells) {
        while large > 0 && cells[large as usize - 1] < cell {
            large -= 1;
        }
        top += cell.min(size).min(large);
    }
    vec![
        servers,
        servers / sizes[1] * mesh(sizes[0] + 1),
        cells.iter().map(|size| mesh(size / sizes[1])).sum(),
        top,
    ]
}

/// Checks that apply only to the top-down order of growth.
fn validate_top_down(spec: &DcellSpec, sizes: &[u64], servers: u64) -> Option<Finding> {
    if spec.growth != DcellGrowth::TopDown {
        return None;
    }
    if spec.k > 3 {
        return Some(
            Finding::error(
                "dcell-top-down-k",
                "topology.growth",
                format!("Growth from the top down ends at k = 3, and k is {}.", spec.k),
                "Fill sub-DCells in order, or lower k.",
            )
            .with_value(1)
            .with_topology_fix("growth", 0),
        );
    }
    let unit = sizes.get(1).copied().filter(|_| spec.k == 3)?;
    (!servers.is_multiple_of(unit)).then(|| {
        let whole = servers.div_ceil(unit) * unit;
        Finding::error(
            "dcell-top-down-servers",
            "topology.servers",
            format!(
                "Growth from the top down adds whole DCell_1s of {unit} servers, and servers is {servers}."
            ),
            format!("Use {whole}."),
        )
        .with_value(servers)
        .with_topology_fix("servers", whole)
    })
}

pub(crate) fn validate(spec: &DcellSpec) -> Vec<Finding> {
    let (n, k) = (spec.n, spec.k);
    let sizes = DcellAddresses::sizes_of(n, k);
    let full = sizes[k as usize];
    let servers = spec.servers.map_or(full, u64::from);
    if servers > full {
        return vec![
            Finding::error(
                "dcell-too-many-servers",
                "topology.servers",
                format!("servers is {servers}, but a DCell_{k} with n = {n} holds at most t_{k} = {full}."),
                "Use the complete DCell, or raise k or n.",
            )
            .with_value(servers)
            .with_limit(full)
            .with_topology_fix("servers", full),
        ];
    }
    if let Some(finding) = validate_top_down(spec, &sizes, servers) {
        return vec![finding];
    }
    let top_down = spec.growth == DcellGrowth::TopDown && k == 3;
    let count = |servers: u64| {
        // Structures whose number of servers alone exceeds the limit of links are not built.
        let by_level = if top_down && u128::from(servers) <= u128::from(MAX_LINKS) {
            top_down_links_at_level(&sizes, servers)
        } else {
            links_at_level(&sizes, servers)
        };
        by_level.iter().map(|&links| u128::from(links)).sum::<u128>()
    };
    // Each server has at most k + 1 link ends above level 0, so this many always fit.
    let fits = MAX_LINKS * 2 / (u64::from(k) + 2);
    let links = if servers == u64::MAX {
        u128::MAX
    } else {
        count(servers)
    };
    if let Some(finding) = too_large(
        "servers",
        &format!("DCell_{k} with n = {n}"),
        links,
        [("servers", json!(fits.min(full)))],
    ) {
        return vec![finding];
    }
    partial(spec, &sizes, servers)
}

/// Remarks about a DCell that is not complete.
fn partial(spec: &DcellSpec, sizes: &[u64], servers: u64) -> Vec<Finding> {
    let (n, k, full) = (spec.n, spec.k, sizes[spec.k as usize]);
    let top_down = spec.growth == DcellGrowth::TopDown && k == 3;
    let mut findings = Vec::new();
    if top_down && servers < full {
        let cells = top_down_cells(sizes, servers);
        let racks = |size: Option<&u64>| size.map_or(0, |size| size / sizes[1]);
        findings.push(Finding::info(
            "dcell-partial",
            "topology.servers",
            format!(
                "Partial DCell, grown from the top down: {} DCell_2s of {} to {} DCell_1s each.",
                cells.len(),
                racks(cells.last()),
                racks(cells.first())
            ),
            "",
        ));
    } else if k > 0 && servers <= sizes[k as usize - 1] {
        let enough = (0..k)
            .find(|&level| servers <= sizes[level as usize])
            .unwrap_or(0);
        findings.push(
            Finding::warning(
                "dcell-idle-top-level",
                "topology.k",
                format!("{servers} servers fit a DCell_{enough}; no link of a higher level exists."),
                format!("Use k = {enough}."),
            )
            .with_topology_fix("k", enough),
        );
    } else if servers < full {
        let below = if k == 0 { 1 } else { sizes[k as usize - 1] };
        let (subs, rest) = (servers / below, servers % below);
        findings.push(Finding::info(
            "dcell-partial",
            "topology.servers",
            if k == 0 {
                format!("Partial DCell_0: {servers} of {n} switch ports are used.")
            } else {
                format!(
                    "Partial DCell: {subs} whole DCell_{}s of {below} servers{}.",
                    k - 1,
                    if rest > 0 {
                        format!(" and one with {rest}")
                    } else {
                        String::new()
                    }
                )
            },
            "",
        ));
    }
    findings
}
