//! The floor: enclosures, columns and rows of racks, aisles, and where trays may cross them.

use cubeyard_topology::Finding;
use serde_json::json;

use super::{Assignment, Facing, Racks, Site};
use crate::book::Book;
use crate::spec::{Enclosure, PlanSpec};

/// Inside of a 40-ft container: length, width, height `[bcube §5.2]`.
pub const CONTAINER_40FT_METRES: [f64; 3] = [12.0, 2.35, 2.38];
/// Inside of a 20-ft container.
pub const CONTAINER_20FT_METRES: [f64; 3] = [5.9, 2.35, 2.38];
/// Cold aisle of open rows `[subways §7.2.2]`.
pub const COLD_AISLE_METRES: f64 = 1.2;
/// Hot aisle of open rows `[ours]`.
pub const HOT_AISLE_METRES: f64 = 0.9;
/// Free space around the rows of a room `[ours]`.
pub const ROOM_MARGIN_METRES: f64 = 1.2;
/// Height of a room with open rows `[ours]`.
pub const ROOM_HEIGHT_METRES: f64 = 3.2;
/// Gap between containers that stand side by side `[ours]`.
pub const CONTAINER_GAP_METRES: f64 = 1.0;
/// Narrowest aisle a person can work in `[ours]`.
pub const MIN_AISLE_METRES: f64 = 0.6;
/// In open rows, trays cross the aisles at both ends and at every tenth rack `[ours]`; in a
/// container, at each rack.
pub const ROW_CROSSING_EVERY: u32 = 10;
/// The rack that the book should have: the paper's `[bcube §5.2]`.
const WANTED_RACK_UNITS: u32 = 44;

/// The floor as `furnish` lays it.
pub(super) struct Floor {
    pub racks: Racks,
    pub column_y_metres: Vec<f64>,
    pub column_facing: Vec<Facing>,
    pub column_container: Vec<u32>,
    pub position_x_metres: Vec<f64>,
    pub crossing_at: Vec<bool>,
}

/// The site without racks: measures of enclosure and rack. `auto` is decided later, after counting
/// the racks.
pub(super) fn measure(spec: &PlanSpec, book: &Book, findings: &mut Vec<Finding>) -> Site {
    let asked = &spec.site;
    if let Some(sku) = asked.rack.as_deref() {
        let known = book
            .part_index(sku)
            .is_some_and(|i| book.parts[i].kind == crate::book::PartKind::Rack);
        if !known {
            let names: Vec<&str> = book
                .parts_of(crate::book::PartKind::Rack)
                .map(|(_, p)| p.sku.as_str())
                .collect();
            findings.push(
                Finding::error(
                    "unknown-rack",
                    "site.rack",
                    format!(
                        "site.rack is \"{sku}\"; the price book {} has {}.",
                        book.book,
                        names.join(", ")
                    ),
                    "Name one of the book's racks, or leave site.rack out.",
                )
                .with_fix(json!({"site": {"rack": null}})),
            );
        }
    }
    let rack_part = book.rack_for(asked.rack.as_deref(), WANTED_RACK_UNITS);
    let a = rack_part.map(|i| &book.parts[i].attributes);
    let [length, width, height] = match asked.enclosure {
        Enclosure::Container20Ft => CONTAINER_20FT_METRES,
        Enclosure::Custom => custom_metres(spec, findings),
        _ => CONTAINER_40FT_METRES,
    };
    let mut site = Site {
        enclosure: asked.enclosure,
        length_metres: length,
        width_metres: width,
        height_metres: height,
        containers: asked.containers.unwrap_or(1).max(1),
        columns: asked.columns.unwrap_or(2).max(1),
        positions: 0,
        column_multiple: 1,
        aisle_metres: asked.aisle_metres.unwrap_or(COLD_AISLE_METRES),
        hot_aisle_metres: 0.0,
        rack_part,
        rack_units: a.and_then(|a| a.units).unwrap_or(WANTED_RACK_UNITS).clamp(1, 128),
        rack_width_metres: a.and_then(|a| a.width_metres).unwrap_or(0.6),
        rack_depth_metres: a.and_then(|a| a.depth_metres).unwrap_or(0.75),
        rack_height_metres: a.and_then(|a| a.height_metres).unwrap_or(1.96),
        rack_power_limit_watts: asked
            .rack_power_limit_watts
            .or(a.and_then(|a| a.power_limit_watts)),
        rack_weight_limit_kg: asked.rack_weight_limit_kg.or(a.and_then(|a| a.max_weight_kg)),
    };
    site.positions = positions_in(&site);
    if site.enclosure == Enclosure::Auto && !container_takes(&site, asked.aisle_metres) {
        site.enclosure = Enclosure::Rows;
    }
    site
}

/// Whether the container is large enough for racks of this size, with an aisle (as wide as the spec
/// requires) between them.
fn container_takes(site: &Site, aisle_metres: Option<f64>) -> bool {
    let free = site.width_metres - f64::from(site.columns) * site.rack_depth_metres;
    let possible = free / f64::from(aisles(site.columns));
    let wanted = aisle_metres.unwrap_or(possible);
    wanted >= MIN_AISLE_METRES
        && wanted <= possible + 1e-9
        && site.rack_height_metres + crate::geometry::TRAY_RISE_METRES <= site.height_metres
}

/// Racks that stand side by side along the container.
fn positions_in(site: &Site) -> u32 {
    // A small tolerance, so that 20 racks of 0.6 m fit in 12 m.
    ((site.length_metres / site.rack_width_metres + 1e-6).floor() as u32).max(1)
}

fn custom_metres(spec: &PlanSpec, findings: &mut Vec<Finding>) -> [f64; 3] {
    let fields = [
        ("length_metres", spec.site.length_metres),
        ("width_metres", spec.site.width_metres),
        ("height_metres", spec.site.height_metres),
    ];
    let mut out = CONTAINER_40FT_METRES;
    let mut fix = serde_json::Map::new();
    for (i, (name, value)) in fields.into_iter().enumerate() {
        match value {
            Some(metres) if metres.is_finite() && metres > 0.0 => out[i] = metres,
            _ => {
                fix.insert(name.to_owned(), json!(out[i]));
            }
        }
    }
    if !fix.is_empty() {
        let names: Vec<String> = fix.keys().map(|name| format!("site.{name}")).collect();
        findings.push(
            Finding::error(
                "custom-enclosure-size",
                names[0].as_str(),
                format!(
                    "A custom enclosure needs {}; a 40-ft container's measures were used.",
                    names.join(" and ")
                ),
                "Give the inside measures in metres.",
            )
            .with_fix(json!({"site": fix})),
        );
    }
    out
}

/// Decides the enclosure, places every rack on the floor and reports racks that do not fit.
pub(super) fn furnish(
    spec: &PlanSpec,
    site: &mut Site,
    plan: &Assignment,
    findings: &mut Vec<Finding>,
) -> Floor {
    site.column_multiple = plan.column_multiple;
    if site.enclosure == Enclosure::Auto {
        site.enclosure = if fits_in_containers(site, plan) {
            Enclosure::Container40Ft
        } else {
            Enclosure::Rows
        };
    }
    if site.enclosure == Enclosure::Rows {
        rows(spec, site, plan, findings)
    } else {
        containers(spec, site, plan, findings)
    }
}

fn aisles(columns: u32) -> u32 {
    columns.div_ceil(2)
}

fn fits_in_containers(site: &Site, plan: &Assignment) -> bool {
    match &plan.floor {
        Some(spots) => spots
            .iter()
            .all(|&(row, position)| row < site.columns * site.containers && position < site.positions),
        None => plan.rack_count <= site.columns * site.positions * site.containers,
    }
}

fn containers(spec: &PlanSpec, site: &mut Site, plan: &Assignment, findings: &mut Vec<Finding>) -> Floor {
    let racks = plan.rack_count.max(1);
    let per_container = site.racks_per_container(racks, site.containers);
    let per_column = site.whole_groups(per_container.div_ceil(site.columns), site.positions);
    let spots: Vec<(u32, u32)> = match &plan.floor {
        Some(spots) => spots.clone(),
        None => (0..racks)
            .map(|r| {
                let container = (r / per_container).min(site.containers - 1);
                let within = r - container * per_container;
                let column = (within / per_column).min(site.columns - 1);
                (container * site.columns + column, within - column * per_column)
            })
            .collect(),
    };
    report_overflow(site, &spots, plan, findings);

    let gaps = f64::from(aisles(site.columns));
    let free = site.width_metres - f64::from(site.columns) * site.rack_depth_metres;
    site.aisle_metres = spec.site.aisle_metres.unwrap_or(widest_aisle(free, gaps));
    if site.aisle_metres * gaps > free + 1e-9 || site.aisle_metres < MIN_AISLE_METRES {
        report_aisle(site, free / gaps, findings);
    }
    report_height(site, findings);

    let longest = spots.iter().map(|s| s.1 + 1).max().unwrap_or(1);
    let columns = spots
        .iter()
        .map(|s| s.0 + 1)
        .max()
        .unwrap_or(1)
        .max(site.columns * site.containers);
    // If the aisle is narrower than the free width, the rest is split between both walls.
    let wall = ((free - site.aisle_metres * gaps) / 2.0).max(0.0);
    let (mut y, mut facing, mut container) = (Vec::new(), Vec::new(), Vec::new());
    for column in 0..columns {
        let (c, within) = (column / site.columns, column % site.columns);
        let before =
            f64::from(within) * site.rack_depth_metres + f64::from(within.div_ceil(2)) * site.aisle_metres;
        let origin = f64::from(c) * (site.width_metres + CONTAINER_GAP_METRES);
        y.push(origin + wall + before + site.rack_depth_metres / 2.0);
        facing.push(if within % 2 == 0 {
            Facing::North
        } else {
            Facing::South
        });
        container.push(c);
    }
    let start = ((site.length_metres - f64::from(longest) * site.rack_width_metres) / 2.0).max(0.0);
    let x = (0..longest)
        .map(|p| start + (f64::from(p) + 0.5) * site.rack_width_metres)
        .collect();
    let crossing_at = plan
        .crossings
        .clone()
        .unwrap_or_else(|| vec![true; longest as usize]);
    finish(spots, y, facing, container, x, crossing_at)
}

/// Rounded down to a whole micrometre: 2.35 - 2 * 0.75 is 0.8500000000000001 in binary.
fn widest_aisle(free: f64, gaps: f64) -> f64 {
    (free / gaps * 1e6 + 1e-4).floor() / 1e6
}

fn rows(spec: &PlanSpec, site: &mut Site, plan: &Assignment, findings: &mut Vec<Finding>) -> Floor {
    let racks = plan.rack_count.max(1);
    site.hot_aisle_metres = HOT_AISLE_METRES;
    site.containers = 1;
    if site.aisle_metres < MIN_AISLE_METRES {
        report_aisle(site, COLD_AISLE_METRES, findings);
    }
    let spots: Vec<(u32, u32)> = match &plan.floor {
        Some(spots) => spots.clone(),
        None => {
            // For a room that is about square: a row of racks takes about three rack widths of
            // depth, including aisles.
            let per_row = spec
                .site
                .racks_per_row
                .unwrap_or_else(|| (((3.0 * f64::from(racks)).sqrt().ceil() as u32).max(10)).min(racks));
            let per_row = whole_groups(
                per_row.max(1),
                plan.column_multiple,
                spec.site.racks_per_row.is_some(),
            );
            (0..racks).map(|r| (r / per_row, r % per_row)).collect()
        }
    };
    site.columns = spots.iter().map(|s| s.0 + 1).max().unwrap_or(1);
    site.positions = spots.iter().map(|s| s.1 + 1).max().unwrap_or(1);
    if let Some(limit) = spec.site.racks_per_row.filter(|&limit| limit < site.positions) {
        findings.push(
            Finding::error(
                "row-too-long",
                "site.racks_per_row",
                format!(
                    "A loop stands in one row and takes {} racks; site.racks_per_row is {limit}.",
                    site.positions
                ),
                format!(
                    "Set site.racks_per_row to {}, or use another packaging.policy.",
                    site.positions
                ),
            )
            .with_fix(json!({"site": {"racks_per_row": site.positions}})),
        );
    }
    let (mut y, mut facing) = (Vec::new(), Vec::new());
    for row in 0..site.columns {
        let pairs = f64::from(row / 2);
        let pair_pitch = 2.0 * site.rack_depth_metres + site.aisle_metres + site.hot_aisle_metres;
        let within = f64::from(row % 2) * (site.rack_depth_metres + site.aisle_metres);
        y.push(ROOM_MARGIN_METRES + pairs * pair_pitch + within + site.rack_depth_metres / 2.0);
        facing.push(if row % 2 == 0 {
            Facing::North
        } else {
            Facing::South
        });
    }
    let x: Vec<f64> = (0..site.positions)
        .map(|p| ROOM_MARGIN_METRES + (f64::from(p) + 0.5) * site.rack_width_metres)
        .collect();
    site.length_metres = f64::from(site.positions) * site.rack_width_metres + 2.0 * ROOM_MARGIN_METRES;
    site.width_metres = y[y.len() - 1] + site.rack_depth_metres / 2.0 + ROOM_MARGIN_METRES;
    site.height_metres = spec
        .site
        .height_metres
        .unwrap_or(ROOM_HEIGHT_METRES.max(site.rack_height_metres + 1.0));
    report_height(site, findings);
    let crossing_at = plan.crossings.clone().unwrap_or_else(|| {
        (0..site.positions)
            .map(|p| p % ROW_CROSSING_EVERY == 0 || p + 1 == site.positions)
            .collect()
    });
    let container = vec![0; y.len()];
    finish(spots, y, facing, container, x, crossing_at)
}

/// Rows of whole super-racks, unless the spec sets another length.
fn whole_groups(per_row: u32, multiple: u32, asked: bool) -> u32 {
    if asked || multiple <= 1 {
        per_row
    } else {
        per_row.div_ceil(multiple) * multiple
    }
}

fn finish(
    spots: Vec<(u32, u32)>,
    column_y_metres: Vec<f64>,
    column_facing: Vec<Facing>,
    column_container: Vec<u32>,
    position_x_metres: Vec<f64>,
    mut crossing_at: Vec<bool>,
) -> Floor {
    crossing_at.resize(position_x_metres.len(), false);
    if !crossing_at.contains(&true) {
        crossing_at[0] = true;
    }
    let count = spots.len();
    let digits = (count.saturating_sub(1)).to_string().len().max(2);
    let mut racks = Racks {
        name: (0..count).map(|r| format!("R{r:0digits$}")).collect(),
        group: vec![0; count],
        units_used: vec![0; count],
        servers: vec![0; count],
        switches: vec![0; count],
        power_watts: vec![0.0; count],
        weight_kg: vec![0.0; count],
        ..Racks::default()
    };
    for (row, position) in spots {
        racks.x_metres.push(position_x_metres[position as usize]);
        racks.y_metres.push(column_y_metres[row as usize]);
        racks.facing.push(column_facing[row as usize]);
        racks.container.push(column_container[row as usize]);
        racks.row.push(row);
        racks.position.push(position);
    }
    Floor {
        racks,
        column_y_metres,
        column_facing,
        column_container,
        position_x_metres,
        crossing_at,
    }
}

fn report_overflow(site: &Site, spots: &[(u32, u32)], plan: &Assignment, findings: &mut Vec<Finding>) {
    let columns = site.columns * site.containers;
    let outside = spots
        .iter()
        .filter(|&&(row, position)| row >= columns || position >= site.positions)
        .count();
    if outside == 0 {
        return;
    }
    let capacity = site.columns * site.positions;
    let needed = plan.rack_count.div_ceil(capacity);
    // Loops have a shape: more containers help only if racks can be placed anywhere.
    let fix = if plan.floor.is_none() && needed > site.containers && needed <= 64 {
        json!({"site": {"containers": needed}})
    } else {
        json!({"site": {"enclosure": "rows"}})
    };
    findings.push(
        Finding::error(
            "too-many-racks",
            "site.enclosure",
            format!(
                "{} racks are needed; {} x {} holds {} columns of {} ({} racks). {outside} racks stand outside.",
                plan.rack_count,
                site.containers,
                site.enclosure.name(),
                site.columns,
                site.positions,
                capacity * site.containers,
            ),
            format!("Use {needed} containers, open rows, or fewer servers."),
        )
        .with_fix(fix),
    );
}

fn report_aisle(site: &Site, possible: f64, findings: &mut Vec<Finding>) {
    let can = possible >= MIN_AISLE_METRES;
    let fix = if can {
        json!({"site": {"aisle_metres": null}})
    } else {
        json!({"site": {"enclosure": "rows", "aisle_metres": null}})
    };
    findings.push(
        Finding::error(
            "aisle-width",
            "site.aisle_metres",
            format!(
                "The aisle is {:.2} m; the racks ({:.2} m deep, {} columns) leave {possible:.2} m, and at least \
                 {MIN_AISLE_METRES:.1} m is needed to work in.",
                site.aisle_metres, site.rack_depth_metres, site.columns
            ),
            if can {
                "Leave site.aisle_metres out to use the width there is."
            } else {
                "Use shallower racks, fewer columns, or open rows."
            },
        )
        .with_fix(fix),
    );
}

fn report_height(site: &Site, findings: &mut Vec<Finding>) {
    if site.rack_height_metres + crate::geometry::TRAY_RISE_METRES > site.height_metres {
        findings.push(
            Finding::error(
                "rack-too-high",
                "site.rack",
                format!(
                    "The rack is {:.2} m high; with {:.2} m for the trays above, the {:.2} m of the enclosure is too low.",
                    site.rack_height_metres,
                    crate::geometry::TRAY_RISE_METRES,
                    site.height_metres
                ),
                "Choose a lower rack or a higher enclosure.",
            )
            .with_fix(match site.enclosure {
                Enclosure::Custom | Enclosure::Rows => json!({"site": {"height_metres": site.rack_height_metres + 0.4}}),
                _ => json!({"site": {"rack": null}}),
            }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::widest_aisle;

    #[test]
    fn aisles_have_at_most_six_decimals_and_fit() {
        for millimetres in (600..9000).step_by(7) {
            for (columns, gaps) in [(1, 1.0), (2, 1.0), (4, 2.0), (6, 3.0), (14, 7.0)] {
                let free = f64::from(millimetres) / 1e3 + 10.0 - f64::from(columns) * 0.75;
                let aisle = widest_aisle(free, gaps);
                let decimals = aisle
                    .to_string()
                    .split_once('.')
                    .map_or(0, |(_, after)| after.len());
                assert!(decimals <= 6, "{free} / {gaps}: {aisle}");
                assert!(aisle * gaps <= free + 1e-9 && (free - aisle * gaps) < 1e-5);
            }
        }
        assert_eq!(widest_aisle(2.35 - 2.0 * 0.75, 1.0).to_string(), "0.85");
    }
}
