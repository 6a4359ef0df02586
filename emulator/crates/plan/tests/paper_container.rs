//! The general packaging, geometry and tray counting give the container that BCube §5.2 describes.

use cubeyard_plan::book::builtin_book;
use cubeyard_plan::spec::{PlanSpec, Policy};
use cubeyard_plan::{Layout, TrayKind, Wiring, lay_out, wire};
use cubeyard_topology::{Finding, Topology};

fn plan(json: &str) -> (PlanSpec, Topology, Layout, Wiring, Vec<Finding>) {
    let spec: PlanSpec = serde_json::from_str(json).unwrap();
    let book = builtin_book("paper-2009").unwrap();
    let topology = Topology::build(&spec.topology).unwrap();
    let mut findings = Vec::new();
    let layout = lay_out(&spec, &topology, &book, &mut findings);
    let wiring = wire(&spec, &topology, &layout, &book, &mut findings);
    (spec, topology, layout, wiring, findings)
}

const PAPER: &str = r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#;

#[test]
fn racks_columns_and_super_racks_are_the_papers() {
    let (_, topology, layout, _, findings) = plan(PAPER);
    assert_eq!(layout.policy, Policy::Bcube52);
    assert_eq!(layout.racks.len(), 32);
    assert_eq!(layout.site.columns, 2);
    for r in 0..32 {
        assert_eq!((layout.racks.servers[r], layout.racks.switches[r]), (64, 40));
        assert_eq!(layout.racks.units_used[r], 42);
        assert_eq!(layout.racks.row[r] as usize, r / 16);
        assert_eq!(layout.racks.position[r] as usize, r % 16);
        assert_eq!(layout.racks.group[r] as usize, r / 8);
    }
    let mut per_rack = vec![[0u32; 4]; 32];
    for tier in topology.tiers() {
        for v in tier.first..tier.first + tier.count {
            per_rack[layout.placements.rack[v as usize] as usize][usize::from(tier.level)] += 1;
        }
    }
    assert!(
        per_rack.iter().all(|&levels| levels == [8, 8, 8, 16]),
        "{per_rack:?}"
    );
    assert_eq!(findings, [], "the paper's container is in order");
}

#[test]
fn cuts_are_the_papers() {
    let (_, topology, layout, wiring, _) = plan(PAPER);
    let cuts = &wiring.cuts;
    let peaks: Vec<(u8, u32)> = cuts.peak_by_level.iter().map(|p| (p.level, p.cables)).collect();
    assert_eq!(peaks, [(2, 256), (3, 512)]);
    assert_eq!(cuts.sum_of_peaks_cables, 768);
    assert!(
        (cuts.sum_of_peaks_area_cm2 - 175.9).abs() < 0.05,
        "{}",
        cuts.sum_of_peaks_area_cm2
    );
    assert!((576..=680).contains(&cuts.worst_cables), "{}", cuts.worst_cables);
    // Levels 0 and 1 do not leave their rack [bcube §5.2].
    for (link, &level) in topology.links().level.iter().enumerate() {
        assert_eq!(
            wiring.bundle[link] < 0,
            level < 2 || {
                let (a, b) = (
                    topology.links().a[link] as usize,
                    topology.links().b[link] as usize,
                );
                layout.placements.rack[a] == layout.placements.rack[b]
            }
        );
    }
    // Level 2 stays within its super-rack: nothing of it over the boundary in the middle of a
    // column.
    for i in (0..wiring.trays.len()).filter(|&i| wiring.trays.kind[i] == TrayKind::Column) {
        if wiring.trays.name[i].ends_with("-08") {
            assert_eq!(wiring.trays.cables_by_level[i * 4 + 2], 0);
            assert_eq!(wiring.trays.cables_by_level[i * 4 + 3], 512);
        }
    }
}

#[test]
fn golden_table_of_the_container() {
    let (_, topology, layout, wiring, _) = plan(PAPER);
    let metres = |mm: &[u32]| mm.iter().map(|&v| u64::from(v)).sum::<u64>() as f64 / 1000.0;
    let mut by_level = Vec::new();
    for level in 0..4u8 {
        let of: Vec<u32> = (0..wiring.length_mm.len())
            .filter(|&i| topology.links().level[i] == level)
            .map(|i| wiring.length_mm[i])
            .collect();
        by_level.push(serde_json::json!({
            "level": level, "cables": of.len(), "metres": metres(&of), "longest_mm": of.iter().max(), "shortest_mm": of.iter().min(),
        }));
    }
    let mut routes = std::collections::BTreeMap::new();
    for &route in &wiring.route {
        *routes
            .entry(cubeyard_plan::ROUTES[usize::from(route)])
            .or_insert(0u32) += 1;
    }
    let labels: Vec<String> = [0usize, 1, 4095, 8191]
        .iter()
        .map(|&i| cubeyard_plan::wiring::labels::label(&topology, &layout, &wiring.breakouts, i, true))
        .collect();
    let column: Vec<String> = (0..wiring.trays.len())
        .filter(|&i| wiring.trays.name[i].starts_with("T00"))
        .map(|i| {
            format!(
                "{} {} {:?} {:.1} cm2 {:.1} %",
                wiring.trays.name[i],
                wiring.trays.cables[i],
                &wiring.trays.cables_by_level[i * 4 + 2..i * 4 + 4],
                wiring.trays.area_cm2[i],
                wiring.trays.fill[i] * 100.0
            )
        })
        .collect();
    insta::assert_json_snapshot!(serde_json::json!({
        "site": format!("{:?} aisle {:.2} m", layout.site.enclosure, layout.site.aisle_metres),
        "geometric_metres": metres(&wiring.length_mm),
        "stock_metres": metres(&wiring.stock_mm),
        "longest_mm": wiring.length_mm.iter().max(),
        "longest_stock_mm": wiring.stock_mm.iter().max(),
        "levels": by_level,
        "routes": routes,
        "column_0": column,
        "worst_cut": [wiring.cuts.worst_cables, wiring.cuts.worst_area_cm2.round() as u32],
        "bundles": wiring.bundles.len(),
        "trays": wiring.trays.len(),
        "labels": labels,
    }));
}

#[test]
fn any_n_and_k_that_fit_are_packed_evenly() {
    for (n, k) in [
        (2, 3),
        (3, 2),
        (4, 1),
        (4, 3),
        (5, 2),
        (6, 2),
        (8, 1),
        (8, 2),
        (16, 1),
        (24, 1),
    ] {
        let (_, topology, layout, _, _) = plan(&format!(r#"{{"family":"bcube","n":{n},"k":{k}}}"#));
        assert_eq!(layout.policy, Policy::Bcube52, "n={n} k={k}");
        let (least, most) = (
            layout.racks.switches.iter().min().unwrap(),
            layout.racks.switches.iter().max().unwrap(),
        );
        assert!(most - least <= k, "n={n} k={k}: {least} to {most} switches");
        assert!(layout.placements.unit.iter().all(|&u| u > 0), "n={n} k={k}");
        // Every switch is in a rack that contains one of its servers.
        let mut serves = vec![false; topology.node_count() as usize];
        for (&a, &b) in topology.links().a.iter().zip(&topology.links().b) {
            serves[b as usize] |= layout.placements.rack[a as usize] == layout.placements.rack[b as usize];
        }
        assert!(
            serves[topology.server_count() as usize..].iter().all(|&s| s),
            "n={n} k={k}"
        );
    }
}
