//! Properties of every layout and wiring, over random structures, sites, policies and pins.

use std::collections::{BTreeMap, BTreeSet};

use cubeyard_plan::book::builtin_book;
use cubeyard_plan::geometry::{Frame, outward, port_offset_metres};
use cubeyard_plan::spec::{Enclosure, Face, PlanSpec, Stock};
use cubeyard_plan::wiring::labels::label;
use cubeyard_plan::{Book, Layout, ROUTES, TrayKind, Wiring, lay_out, wire};
use cubeyard_topology::{Finding, Topology};
use proptest::prelude::*;
use serde_json::{Value, json};

struct Planned {
    topology: Topology,
    layout: Layout,
    wiring: Wiring,
    findings: Vec<Finding>,
}

fn plan(spec: &PlanSpec, book: &Book) -> Option<Planned> {
    let topology = Topology::build(&spec.topology).ok()?;
    let mut findings = Vec::new();
    let layout = lay_out(spec, &topology, book, &mut findings);
    let wiring = wire(spec, &topology, &layout, book, &mut findings);
    Some(Planned {
        topology,
        layout,
        wiring,
        findings,
    })
}

/// A random custom network: a tree of switches, and servers with one or two links each. Nodes and
/// links are listed in random order.
fn custom(switches: u32, servers: u32, seed: u64) -> Value {
    let mut draws = cubeyard_topology::random::Draws::new(seed);
    let mut nodes: Vec<Value> = (0..switches)
        .map(|index| json!({"name": format!("sw-{index}"), "role": "switch"}))
        .collect();
    nodes.extend((0..servers).map(|index| json!({"name": format!("srv-{index}"), "role": "server"})));
    draws.shuffle(&mut nodes);
    let mut links = Vec::new();
    for index in 1..switches {
        links
            .push(json!({"a": format!("sw-{index}"), "b": format!("sw-{}", draws.below(index)), "gbps": 40}));
    }
    for index in 0..servers {
        for _ in 0..=draws.below(2) {
            links.push(json!({"a": format!("srv-{index}"), "b": format!("sw-{}", draws.below(switches))}));
        }
    }
    draws.shuffle(&mut links);
    json!({"family": "custom", "nodes": nodes, "links": links})
}

fn topology() -> impl Strategy<Value = Value> {
    prop_oneof![
        (2u32..7, 0u32..3).prop_map(|(n, k)| json!({"family": "bcube", "n": n, "k": k})),
        (2u32..5, 1u32..7).prop_map(|(n, groups)| {
            let groups = groups.min(n);
            json!({"family": "bcube", "n": n, "k": 2, "servers": n * n * groups})
        }),
        (2u32..6, 0u32..3).prop_map(|(n, k)| json!({"family": "dcell", "n": n, "k": k.min(if n > 3 { 1 } else { 2 })})),
        (3u32..7, 3u32..7, 3u32..7).prop_map(|(x, y, z)| json!({"family": "torus3d", "x": x, "y": y, "z": z})),
        (3u32..12, 3u32..12).prop_map(|(x, y)| json!({"family": "torus2d", "x": x, "y": y})),
        (8u32..30, 2u32..6, 1u32..12, any::<u32>()).prop_map(|(switches, between, servers, seed)| {
            json!({"family": "jellyfish", "switches": switches, "ports": between + servers, "servers_per_switch": servers, "seed": seed})
        }),
        (1u32..5, 1u32..4, 1u32..3).prop_map(|(a, p, h)| json!({"family": "dragonfly", "a": a, "p": p, "h": h})),
        (1u32..12, 1u32..40, any::<u64>()).prop_map(|(switches, servers, seed)| custom(switches, servers, seed)),
        (1u32..3, 2u32..5, 1u32..9, 4u32..12, 1u32..3).prop_map(|(kind, p, r, l, loops)| {
            json!({"family": "subways", "type": kind, "p": p, "q": p * r, "l": l.max(p), "c": 2, "clusters": 2,
                   "loops_per_cluster": loops})
        }),
        (2u32..5, 2u32..4)
            .prop_map(|(half, layers)| json!({"family": "fat_tree", "ports": 2 * half, "layers": layers})),
        (4u32..48, 1u32..500)
            .prop_map(|(ports, servers)| json!({"family": "tree", "edge_ports": ports, "servers": servers})),
    ]
}

fn site() -> impl Strategy<Value = Value> {
    (
        prop::sample::select(vec!["auto", "container-40ft", "container-20ft", "rows"]),
        1u32..4,
        prop::option::of(1u32..13),
        prop::sample::select(vec![None, Some("RACK-42U"), Some("RACK-48U")]),
    )
        .prop_map(|(enclosure, containers, racks_per_row, rack)| {
            json!({"enclosure": enclosure, "containers": containers, "racks_per_row": racks_per_row, "rack": rack})
        })
}

fn packaging() -> impl Strategy<Value = Value> {
    (
        prop::sample::select(vec!["auto", "bcube-5.2", "locality", "side-to-side", "paired-rows", "inter-chassis"]),
        prop::option::of(1u32..3),
        prop::option::of(1u32..90),
        prop::option::of(1u32..4),
        prop::sample::select(vec!["front", "rear"]),
        prop::collection::vec((0u32..2000, 0u32..6, 0u32..46), 0..4),
        prop::option::of((0.0f64..12.0, 0.0f64..3.0)),
    )
        .prop_map(|(policy, per_unit, per_rack, logical, face, devices, moved)| {
            json!({"policy": policy, "servers_per_unit": per_unit, "servers_per_rack": per_rack,
                   "logical_racks_per_rack": logical, "face": face, "pins": [], "_devices": devices, "_moved": moved})
        })
}

fn cabling() -> impl Strategy<Value = Value> {
    (
        0.0f64..3.0,
        prop::sample::select(vec!["auto", "cat6", "dac", "aoc", "fibre"]),
        prop::sample::select(vec!["stock", "bulk"]),
    )
        .prop_map(|(slack, media, stock)| {
            let slack = (slack * 1000.0).round() / 1000.0;
            json!({"slack_metres": slack, "media": media, "stock": stock})
        })
}

/// Pins use names, so the topology is built first.
fn spec_of(topology: &Value, site: &Value, packaging: &Value, cabling: &Value) -> Option<PlanSpec> {
    let mut packaging = packaging.clone();
    let map = packaging.as_object_mut()?;
    let (devices, moved) = (map.remove("_devices")?, map.remove("_moved")?);
    let built = Topology::build(&serde_json::from_value(topology.clone()).ok()?).ok()?;
    let mut pins = Vec::new();
    for device in devices.as_array()? {
        let [node, rack, unit] = [0, 1, 2].map(|i| device[i].as_u64().unwrap_or(0));
        let name = built.node_name(node as u32 % built.node_count());
        pins.push(json!({"device": name, "rack": format!("R{rack:02}"), "unit": if unit == 0 { None } else { Some(unit) }}));
    }
    if let Some(at) = moved.as_array() {
        pins.push(json!({"rack": "R00", "x_metres": at[0], "y_metres": at[1]}));
    }
    map.insert("pins".to_owned(), Value::Array(pins));
    serde_json::from_value(
        json!({"topology": topology, "site": site, "packaging": packaging, "cabling": cabling}),
    )
    .ok()
}

fn has(findings: &[Finding], code: &str) -> bool {
    findings.iter().any(|f| f.code == code)
}

fn check_placements(p: &Planned) -> Result<(), TestCaseError> {
    let at = &p.layout.placements;
    let mut unplaced = 0;
    let mut by_rack: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for v in 0..p.topology.node_count() as usize {
        prop_assert!((at.rack[v] as usize) < p.layout.racks.len());
        prop_assert!(at.slot[v] < at.slots[v]);
        if at.unit[v] == 0 {
            unplaced += 1;
            continue;
        }
        let top = u32::from(at.unit[v]) + u32::from(at.height_units[v]) - 1;
        prop_assert!(top <= p.layout.site.rack_units, "device {v} ends at unit {top}");
        by_rack.entry(at.rack[v]).or_default().push(v);
    }
    prop_assert_eq!(
        unplaced > 0,
        has(&p.findings, "rack-over-units"),
        "{} unplaced",
        unplaced
    );
    for devices in by_rack.values() {
        let mut seats = BTreeSet::new();
        let mut shelves: BTreeMap<u16, (u16, u8, u8)> = BTreeMap::new();
        for &v in devices {
            prop_assert!(seats.insert((at.unit[v], at.slot[v])), "two devices in one place");
            for unit in at.unit[v]..at.unit[v] + u16::from(at.height_units[v]) {
                let shelf = (at.unit[v], at.height_units[v], at.slots[v]);
                let there = *shelves.entry(unit).or_insert(shelf);
                prop_assert_eq!(there, shelf, "shelves of different kinds overlap");
            }
        }
    }
    let counted: u32 = p.layout.racks.servers.iter().sum();
    prop_assert_eq!(counted, p.topology.server_count());
    prop_assert_eq!(
        p.layout.racks.switches.iter().sum::<u32>(),
        p.topology.switch_count()
    );
    Ok(())
}

/// The position of a port, computed independently from the racks' centres.
fn port_metres(p: &Planned, node: u32, port: u16) -> [f64; 3] {
    let (v, at, racks) = (node as usize, &p.layout.placements, &p.layout.racks);
    let rack = at.rack[v] as usize;
    let out = outward(racks.facing[rack], at.face[v]);
    let unit = if at.unit[v] == 0 {
        p.layout.site.rack_units as u16 + 1
    } else {
        at.unit[v]
    };
    [
        racks.x_metres[rack]
            + port_offset_metres(at.slot[v], at.slots[v], port, p.topology.port_count(node), out),
        racks.y_metres[rack] + out * p.layout.site.rack_depth_metres / 2.0,
        Frame::of_site(&p.layout.site).device_z_metres(unit, at.height_units[v]),
    ]
}

fn check_lengths(p: &Planned, spec: &PlanSpec, book: &Book) -> Result<(), TestCaseError> {
    let links = p.topology.links();
    prop_assert_eq!(p.wiring.length_mm.len(), links.len());
    let slack = (spec.cabling.slack_metres * 1000.0).round() as u32;
    for i in 0..links.len() {
        let a = port_metres(p, links.a[i], links.a_port[i]);
        let b = port_metres(p, links.b[i], links.b_port[i]);
        let apart = [0, 1, 2].map(|axis| (a[axis] - b[axis]).abs());
        let length = f64::from(p.wiring.length_mm[i]) / 1000.0;
        // Cables run along the axes: never shorter than the rectilinear distance, which is never
        // shorter than the straight line.
        let straight = apart.iter().map(|d| d * d).sum::<f64>().sqrt();
        prop_assert!(
            length >= apart.iter().sum::<f64>() - 1e-6 && length >= straight - 1e-6,
            "cable {i}: {length} m"
        );
        prop_assert!(p.wiring.stock_mm[i] >= p.wiring.length_mm[i] + slack);
        let frame = Frame::of_site(&p.layout.site);
        let climb = match ROUTES[usize::from(p.wiring.route[i])] {
            "in rack" => (a[2] - b[2]).abs(),
            "underfloor" => a[2] + b[2] - 2.0 * frame.underfloor_z_metres,
            _ => 2.0 * frame.tray_z_metres - a[2] - b[2],
        };
        prop_assert!(
            length >= climb + apart[0] - 1e-6,
            "cable {i}: {length} m does not reach its tray"
        );
        let same_rack =
            p.layout.placements.rack[links.a[i] as usize] == p.layout.placements.rack[links.b[i] as usize];
        prop_assert_eq!(p.wiring.bundle[i] < 0, same_rack);
        let Some(part) = book.parts.get(usize::from(p.wiring.part[i])) else {
            prop_assert!(
                has(&p.findings, "no-cable-reaches"),
                "cable {i} has no part and no finding for it"
            );
            continue;
        };
        let attributes = &part.attributes;
        prop_assert!(attributes.max_gbps.unwrap() * 1e9 >= links.rate_bits_per_sec(i));
        prop_assert!(f64::from(p.wiring.stock_mm[i]) <= attributes.reach_metres.unwrap() * 1000.0);
        let bought = f64::from(p.wiring.stock_mm[i]) / 1000.0;
        let stocked = attributes
            .lengths_metres
            .iter()
            .flatten()
            .any(|&metres| (metres - bought).abs() < 1e-9);
        prop_assert!(
            stocked || spec.cabling.stock == Stock::Bulk,
            "{} is not sold in {bought} m",
            part.sku
        );
        let optics = book.parts.get(usize::from(p.wiring.transceiver[i]));
        prop_assert_eq!(optics.is_some(), attributes.needs_transceiver == Some(true));
        if let Some(optics) = optics {
            prop_assert!(optics.attributes.gbps.unwrap() * 1e9 >= links.rate_bits_per_sec(i));
            prop_assert_eq!(&optics.attributes.medium, &attributes.medium);
        }
    }
    Ok(())
}

/// Counts through every cut of the floor, against the cables whose racks lie on either side of it.
fn check_trays(p: &Planned) -> Result<(), TestCaseError> {
    let (links, racks, trays) = (p.topology.links(), &p.layout.racks, &p.wiring.trays);
    let ends: Vec<[(u32, u32, u32); 2]> = (0..links.len())
        .map(|i| {
            [links.a[i], links.b[i]].map(|v| {
                let r = p.layout.placements.rack[v as usize] as usize;
                (racks.row[r], racks.position[r], racks.container[r])
            })
        })
        .collect();
    let levels = trays.level_count;
    for t in 0..trays.len() {
        let by_level: u32 = trays.cables_by_level[t * levels..(t + 1) * levels].iter().sum();
        prop_assert_eq!(by_level, trays.cables[t]);
    }
    // Between rows: every route crosses each gap between its two rows exactly once.
    for gap in 1..p.layout.column_y_metres.len() as u32 {
        let crossing = ends
            .iter()
            .filter(|[a, b]| a.0.min(b.0) < gap && gap <= a.0.max(b.0))
            .count() as u32;
        let in_trays: u32 = (0..trays.len())
            .filter(|&t| {
                trays.kind[t] == TrayKind::Crossing && trays.name[t].ends_with(&format!("-{gap:02}"))
            })
            .map(|t| trays.cables[t])
            .sum();
        prop_assert_eq!(crossing, in_trays, "gap {} between rows", gap);
    }
    // Along the columns: exactly once where trays cross the aisle at every rack; elsewhere there
    // may be detours, there and back.
    let one_container = p.layout.column_container.iter().all(|&c| c == 0);
    let everywhere = p.layout.crossing_at.iter().all(|&c| c) && one_container;
    for gap in 1..p.layout.position_x_metres.len() as u32 {
        let crossing = ends
            .iter()
            .filter(|[a, b]| a.2 == b.2 && a.1.min(b.1) < gap && gap <= a.1.max(b.1))
            .count() as u32;
        let in_trays: u32 = (0..trays.len())
            .filter(|&t| {
                trays.kind[t] != TrayKind::Crossing && trays.name[t].ends_with(&format!("-{gap:02}"))
            })
            .map(|t| trays.cables[t])
            .sum();
        if everywhere {
            prop_assert_eq!(crossing, in_trays, "gap {} along the columns", gap);
        } else if one_container {
            prop_assert!(in_trays >= crossing && (in_trays - crossing).is_multiple_of(2));
        } else {
            prop_assert!(in_trays >= crossing);
        }
    }
    let bundled: u32 = p.wiring.bundles.cables.iter().sum();
    prop_assert_eq!(
        bundled as usize,
        p.wiring.bundle.iter().filter(|&&b| b >= 0).count()
    );
    for i in 0..links.len() {
        if let Ok(bundle) = usize::try_from(p.wiring.bundle[i]) {
            let at = &p.layout.placements.rack;
            let pair = (at[links.a[i] as usize], at[links.b[i] as usize]);
            let of = (p.wiring.bundles.rack_a[bundle], p.wiring.bundles.rack_b[bundle]);
            prop_assert_eq!((pair.0.min(pair.1), pair.0.max(pair.1)), of);
        }
    }
    let pairs: Vec<(u32, u32)> = p
        .wiring
        .bundles
        .rack_a
        .iter()
        .copied()
        .zip(p.wiring.bundles.rack_b.iter().copied())
        .collect();
    prop_assert!(pairs.is_sorted(), "bundles in order of their racks");
    check_bundle_routes(p, &pairs)?;
    let pulls: BTreeSet<u32> = p.wiring.bundles.pull_order.iter().copied().collect();
    prop_assert_eq!(pulls.len(), p.wiring.bundles.len());
    Ok(())
}

/// The bundles over a tray add up to what the tray holds, level by level; no two bundles of a pair
/// of racks share all their trays; and each runs without a gap from the tap of one rack to that of
/// the other.
fn check_bundle_routes(p: &Planned, pairs: &[(u32, u32)]) -> Result<(), TestCaseError> {
    let (trays, bundles) = (&p.wiring.trays, &p.wiring.bundles);
    let levels = trays.level_count;
    let mut held = vec![0u32; trays.cables_by_level.len()];
    let mut routes = BTreeSet::new();
    for (bundle, &pair) in pairs.iter().enumerate() {
        let route: Vec<usize> = bundles.trays_of(bundle).collect();
        for &tray in &route {
            for level in 0..levels {
                held[tray * levels + level] += bundles.cables_by_level[bundle * levels + level];
            }
        }
        let ends = |tray: usize| {
            [
                (trays.x0_metres[tray], trays.y0_metres[tray]),
                (trays.x1_metres[tray], trays.y1_metres[tray]),
            ]
        };
        for pair in route.windows(2) {
            let meet = ends(pair[0]).iter().any(|a| {
                ends(pair[1])
                    .iter()
                    .any(|b| (a.0 - b.0).abs() + (a.1 - b.1).abs() < 1e-6)
            });
            prop_assert!(meet, "{} and {} touch", trays.name[pair[0]], trays.name[pair[1]]);
        }
        for (rack, tray) in [(pair.0, route.first()), (pair.1, route.last())] {
            let x = p.layout.position_x_metres[p.layout.racks.position[rack as usize] as usize];
            if let Some(&tray) = tray {
                prop_assert!(ends(tray).iter().any(|end| (end.0 - x).abs() < 1e-6));
            }
        }
        prop_assert!(
            routes.insert((pair, route)),
            "one bundle for each route of a pair of racks"
        );
    }
    prop_assert_eq!(&held, &trays.cables_by_level);
    Ok(())
}

fn check_labels(p: &Planned) -> Result<(), TestCaseError> {
    let mut ports = BTreeSet::new();
    for i in 0..p.topology.links().len() {
        let (near, far) = (
            label(&p.topology, &p.layout, &p.wiring.breakouts, i, true),
            label(&p.topology, &p.layout, &p.wiring.breakouts, i, false),
        );
        let Some((a, b)) = near.split_once('/') else {
            return Err(TestCaseError::fail(format!("label {near} has no far end")));
        };
        prop_assert_eq!(far, format!("{b}/{a}"));
        prop_assert!(
            ports.insert(a.to_owned()) && ports.insert(b.to_owned()),
            "{} is used twice",
            near
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..crate::cases::cases(400) })]

    #[test]
    fn layouts_and_wirings_hold_together(topology in topology(), site in site(), packaging in packaging(), cabling in cabling()) {
        let Some(spec) = spec_of(&topology, &site, &packaging, &cabling) else { return Ok(()) };
        let book = builtin_book("current-2026").unwrap();
        let Some(p) = plan(&spec, &book) else { return Ok(()) };
        prop_assert!(p.layout.site.enclosure != Enclosure::Auto);
        check_placements(&p)?;
        check_lengths(&p, &spec, &book)?;
        check_trays(&p)?;
        check_labels(&p)?;
        for f in &p.findings {
            prop_assert!(!f.message.is_empty() && !f.hint.is_empty() && !f.field.is_empty());
        }
        // The filled spec hides nothing: it gives the same plan again, and is its own filled form.
        let filled = spec.filled(&p.layout, &book);
        let again = plan(&filled, &book).unwrap();
        prop_assert_eq!(&again.layout.placements, &p.layout.placements);
        prop_assert_eq!(&again.layout.racks, &p.layout.racks);
        prop_assert_eq!(&again.wiring, &p.wiring);
        prop_assert_eq!(filled.filled(&again.layout, &book), filled);
    }
}

#[test]
fn a_pin_moves_its_device_and_hardly_anybody_else() {
    let book = builtin_book("paper-2009").unwrap();
    let base: Value = json!({"topology": {"family": "bcube", "n": 8, "k": 3, "servers": 2048}});
    let before = plan(&serde_json::from_value(base.clone()).unwrap(), &book).unwrap();
    let mut pinned = base;
    pinned["packaging"] = json!({"pins": [{"device": "0132", "rack": "R03", "unit": 12}], "face": "front"});
    let after = plan(&serde_json::from_value(pinned).unwrap(), &book).unwrap();
    let node = after.topology.node_by_name("0132").unwrap() as usize;
    let at = &after.layout.placements;
    assert_eq!(
        (at.rack[node], at.unit[node], at.face[node]),
        (3, 12, Face::Front)
    );
    let moved: Vec<usize> = (0..at.rack.len())
        .filter(|&v| {
            let was = &before.layout.placements;
            (at.rack[v], at.unit[v], at.slot[v]) != (was.rack[v], was.unit[v], was.slot[v])
        })
        .collect();
    assert_eq!(moved.len(), 3, "the server and the two in its way: {moved:?}");
    assert_eq!(after.findings, []);
}

/// Everything that does not fit is reported with its field.
#[test]
fn what_does_not_fit_is_a_finding_with_a_fix() {
    let book = builtin_book("current-2026").unwrap();
    let bcube = json!({"family": "bcube", "n": 8, "k": 3, "servers": 2048});
    let cases = [
        (json!({"site": {"enclosure": "container-20ft"}}), "too-many-racks"),
        (
            json!({"site": {"enclosure": "container-40ft", "rack": "RACK-42U"}}),
            "aisle-width",
        ),
        (
            json!({"site": {"enclosure": "container-40ft", "aisle_metres": 1.4}}),
            "aisle-width",
        ),
        (
            json!({"site": {"enclosure": "container-40ft", "columns": 3}}),
            "aisle-width",
        ),
        (json!({"site": {"enclosure": "custom"}}), "custom-enclosure-size"),
        (
            json!({"site": {"enclosure": "custom", "length_metres": 12, "width_metres": 2.35, "height_metres": 1.9}}),
            "rack-too-high",
        ),
        (json!({"site": {"rack": "RACK-99U"}}), "unknown-rack"),
        (
            json!({"site": {"rack_power_limit_watts": 5000}}),
            "rack-over-power",
        ),
        (json!({"site": {"rack_weight_limit_kg": 300}}), "rack-over-weight"),
        (
            json!({"packaging": {"policy": "locality", "servers_per_rack": 120}}),
            "rack-over-units",
        ),
        (
            json!({"packaging": {"policy": "bcube-5.2", "servers_per_rack": 60}}),
            "policy-does-not-fit",
        ),
        (
            json!({"packaging": {"policy": "paired-rows"}}),
            "policy-does-not-fit",
        ),
        (
            json!({"packaging": {"pins": [{"device": "9999", "rack": "R00"}]}}),
            "pin-unknown-device",
        ),
        (
            json!({"packaging": {"pins": [{"device": "0000", "rack": "R77"}]}}),
            "pin-unknown-rack",
        ),
        (
            json!({"packaging": {"pins": [{"device": "0000", "rack": "R00", "unit": 45}]}}),
            "pin-unit-range",
        ),
        (
            json!({"packaging": {"pins": [{"device": "0000", "rack": "R01", "unit": 5}, {"device": "0000", "rack": "R02"}]}}),
            "pin-overlap",
        ),
        (
            json!({"packaging": {"pins": [{"rack": "R00", "x_metres": 50, "y_metres": 1}]}}),
            "pin-outside",
        ),
        (
            json!({"packaging": {"pins": [{"rack": "R00"}]}}),
            "pin-incomplete",
        ),
        (
            json!({"packaging": {"pins": [{"rack": "R00", "x_metres": 4, "y_metres": 0.4}]}}),
            "pin-overlap",
        ),
        (json!({"cabling": {"media": "dac"}}), "no-cable-reaches"),
        (json!({"cabling": {"tray_fill_limit": 0.05}}), "tray-over-fill"),
    ];
    for (patch, code) in cases {
        let mut spec = patch.clone();
        spec["topology"] = bcube.clone();
        let p = plan(&serde_json::from_value(spec).unwrap(), &book).unwrap();
        let found = p.findings.iter().find(|f| f.code == code);
        let found = found.unwrap_or_else(|| panic!("{patch}: no {code} in {:?}", p.findings));
        assert!(!found.field.is_empty(), "{found:?}");
        let open_ended = ["no-cable-reaches", "tray-over-fill"].contains(&code);
        assert!(found.fix.is_some() || open_ended, "{code} has no fix");
        // A fix is a merge patch on the spec: applied, the finding is gone.
        if let Some(fix) = &found.fix {
            let mut fixed = json!({"topology": bcube});
            merge(&mut fixed, &patch);
            merge(&mut fixed, fix);
            let again = plan(&serde_json::from_value(fixed).unwrap(), &book).unwrap();
            assert!(!has(&again.findings, code), "{code} is still there after {fix}");
        }
    }
}

fn merge(into: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in fields {
        if value.is_null() {
            into.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut into[key], value);
        }
    }
}
