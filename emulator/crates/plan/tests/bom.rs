//! The bill of materials agrees with the wiring it is for.

use std::collections::{BTreeMap, BTreeSet};

use cubeyard_plan::bom::{Category, Unit};
use cubeyard_plan::{NO_PART, Plan, builtin_book, plan, read_spec};
use proptest::prelude::*;
use serde_json::{Value, json};

fn plan_of(spec: &Value, book: &str) -> Plan {
    let spec = read_spec(&spec.to_string()).expect("a readable spec");
    plan(&spec, &builtin_book(book).expect("a built-in book")).expect("a plan")
}

/// Small structures of every family.
fn topologies() -> impl Strategy<Value = Value> {
    prop_oneof![
        (2u32..6, 0u32..3).prop_map(|(n, k)| json!({"family": "bcube", "n": n, "k": k})),
        (2u32..5, 0u32..2).prop_map(|(n, k)| json!({"family": "dcell", "n": n, "k": k})),
        (1u32..5, 2u32..5, 2u32..5)
            .prop_map(|(x, y, z)| json!({"family": "torus3d", "x": x.max(2), "y": y, "z": z})),
        (1u32..4, 2u32..4)
            .prop_map(|(half, layers)| json!({"family": "fat_tree", "ports": 2 * half, "layers": layers})),
        (1u32..49, 1u32..200)
            .prop_map(|(edge, n)| json!({"family": "tree", "edge_ports": edge, "servers": n})),
        (0u32..3, 1u32..4, 1u32..4, 0u32..4).prop_map(|(kind, p, r, more)| {
            let clusters = if kind == 2 { 2 } else { 1 };
            json!({"family": "subways", "type": kind, "p": p, "q": p * r, "l": 4 + 2 * more, "c": clusters,
                   "clusters": clusters})
        }),
    ]
}

fn cabling() -> impl Strategy<Value = Value> {
    (
        prop::sample::select(vec!["stock", "bulk"]),
        0.0f64..0.5,
        0.0f64..3.0,
    )
        .prop_map(
            |(stock, spares, slack)| json!({"stock": stock, "spare_ratio": spares, "slack_metres": slack}),
        )
}

proptest! {
    #![proptest_config(crate::cases::cases(60))]

    #[test]
    fn every_cable_is_billed_once_and_the_lines_add_up(
        topology in topologies(),
        cabling in cabling(),
        book in prop::sample::select(vec!["paper-2009", "current-2026"]),
    ) {
        let plan = plan_of(&json!({"topology": topology, "cabling": cabling}), book);
        let bom = &plan.bom;
        let cables = plan.wiring.part.len();
        prop_assert_eq!(cables, plan.topology.links().len());

        // Cables = pieces bought + pieces cut; every cable has two ends, two labels, two
        // transceivers or none.
        let of = |category: Category| bom.lines.iter().filter(move |l| l.category == category);
        let bought: f64 = of(Category::Cable).filter(|l| l.unit == Unit::Each).map(|l| l.quantity).sum();
        let cut: u32 = bom.cut_list.iter().map(|c| c.pieces).sum();
        prop_assert_eq!(bought + f64::from(cut), cables as f64);
        prop_assert_eq!(of(Category::Connector).map(|l| l.quantity).sum::<f64>(), 2.0 * f64::from(cut));
        for line in of(Category::Label) {
            // A new rack starts a sheet, so each rack may leave one that is not full.
            let per_sheet = f64::from(line.pieces_per_unit.unwrap_or(1));
            let bought = line.quantity * per_sheet;
            let most = 2.0 * cables as f64 + plan.layout.racks.len() as f64 * (per_sheet - 1.0);
            prop_assert!(bought >= 2.0 * cables as f64 && bought <= most, "{bought} labels for {cables} cables");
        }
        let optical = plan.wiring.transceiver.iter().filter(|&&t| t != NO_PART).count();
        prop_assert_eq!(of(Category::Transceiver).map(|l| l.quantity).sum::<f64>(), 2.0 * optical as f64);

        // Plugged cable ends by port = twice the number of cables = the sum of the devices' links.
        let degrees: u32 = (0..plan.topology.node_count()).map(|d| plan.adjacency().degree(d)).sum();
        prop_assert_eq!(f64::from(degrees), 2.0 * (bought + f64::from(cut)));

        // By part, length and colour, counted independently of how the bill groups them.
        let mut counted: BTreeMap<(String, u32, u8), u32> = BTreeMap::new();
        for i in 0..cables {
            let sku = match plan.wiring.part[i] { NO_PART => String::new(), p => plan.book.parts[p as usize].sku.clone() };
            *counted.entry((sku, plan.wiring.stock_mm[i], plan.wiring.colour[i])).or_default() += 1;
        }
        let lines = of(Category::Cable).filter(|l| l.unit == Unit::Each).count() + bom.cut_list.len();
        prop_assert_eq!(lines, counted.len());

        // Devices.
        prop_assert_eq!(of(Category::Switch).map(|l| l.quantity).sum::<f64>(), f64::from(plan.topology.switch_count()));
        prop_assert_eq!(of(Category::Server).map(|l| l.quantity).sum::<f64>(), f64::from(plan.topology.server_count()));
        prop_assert_eq!(of(Category::Rack).map(|l| l.quantity).sum::<f64>(), plan.layout.racks.len() as f64);

        // Money, in whole cents.
        let cents: i64 = bom.lines.iter().filter_map(|l| l.total_cents).sum();
        prop_assert_eq!((plan.cost.total * 100.0).round() as i64, cents);
        let c = plan.cost;
        let parts = c.switches + c.nics + c.servers + c.cables + c.transceivers + c.racks + c.containers + c.trays
            + c.labels + c.labour + c.fittings;
        prop_assert!((parts - c.total).abs() < 0.005, "{} and {}", parts, c.total);
        prop_assert_eq!(c.at_least, bom.lines.iter().any(|l| l.unit_price_usd.is_none()));
        for line in &bom.lines {
            if let (Some(unit), Some(total)) = (line.unit_price_usd, line.total_usd) {
                prop_assert!((unit * (line.quantity + line.spares) - total).abs() <= 0.005 + 1e-6, "line {}", line.line);
            }
            prop_assert!(line.quantity > 0.0 && line.spares >= 0.0);
        }

        // Spares: the ratio, rounded up, of every cable line.
        let ratio = plan.spec.cabling.spare_ratio;
        for line in of(Category::Cable).filter(|l| l.unit == Unit::Each) {
            prop_assert!(line.spares >= line.quantity * ratio - 1e-6 && line.spares < line.quantity * ratio + 1.0);
        }

        // Bulk cable: the bought length equals the cut length plus the rest.
        let boxes = of(Category::Cable).filter(|l| l.unit == Unit::Box);
        let boxed: f64 = boxes.map(|l| l.quantity * l.length_metres.unwrap_or(0.0)).sum();
        let used: f64 = bom.cut_list.iter().map(|c| c.length_metres * f64::from(c.pieces)).sum();
        prop_assert!((boxed - used - bom.waste_metres).abs() < 1e-3, "{boxed} {used} {}", bom.waste_metres);

        // One sum for all cable in the order: cut or in use, left in boxes, and spare.
        let spare: f64 = of(Category::Cable).map(|l| l.spares * l.length_metres.unwrap_or(0.0)).sum();
        let pieces: f64 = of(Category::Cable).filter(|l| l.unit == Unit::Each).map(|l| l.quantity * l.length_metres.unwrap_or(0.0)).sum();
        prop_assert!((bom.cable_order_metres - pieces - boxed - spare).abs() < 0.1);

        // Units that people order: whole pieces but for hours, which are those of the minutes.
        for line in &bom.lines {
            prop_assert!(line.unit == Unit::Hour || line.quantity.fract() == 0.0, "{:?}", line);
        }
        let hours: f64 = of(Category::Labour).map(|l| l.quantity).sum();
        let tasks = of(Category::Labour).count() as f64;
        prop_assert!(hours >= bom.labour_minutes / 60.0 - 1e-6 && hours <= bom.labour_minutes / 60.0 + 0.1 * tasks);
        for line in of(Category::Tray) {
            let metres: f64 = line.quantity * line.length_metres.unwrap_or(1.0);
            prop_assert!(metres > 0.0);
        }

        // Parts that hold and power the devices, counted from the devices' positions.
        let at = &plan.layout.placements;
        let devices = plan.topology.node_count() as usize;
        let shelves: BTreeSet<(u32, u16)> =
            (0..devices).filter(|&d| at.slots[d] > 1).map(|d| (at.rack[d], at.unit[d])).collect();
        let rails = (0..devices).filter(|&d| at.slots[d] <= 1).count();
        let count = |category: Category| of(category).map(|l| l.quantity).sum::<f64>();
        prop_assert_eq!(count(Category::Shelf), shelves.len() as f64);
        prop_assert_eq!(count(Category::Rail), rails as f64);
        prop_assert_eq!(count(Category::Cord), devices as f64, "no part of the books has two supplies");
        let pdus = of(Category::Pdu).next().expect("every plan has servers");
        prop_assert!(pdus.quantity >= plan.layout.racks.len() as f64);
        if book == "current-2026" {
            prop_assert!(pdus.quantity * 42.0 >= devices as f64, "an outlet for every cord");
            prop_assert!(pdus.quantity * 11_000.0 >= plan.power.total - 1e-6, "and the power");
            let switches = of(Category::Switch).filter(|l| !l.sku.is_empty());
            for line in switches {
                prop_assert!(line.spares >= 0.02 * line.quantity && line.spares < 0.02 * line.quantity + 1.0);
            }
        }
    }
}

/// The book's price equals the unit price divided by the factor, for every unit of order.
#[test]
fn each_line_says_where_its_price_is_in_the_book() {
    for stock in ["stock", "bulk"] {
        let spec = json!({"topology": {"family": "bcube", "n": 4, "k": 2}, "cabling": {"stock": stock}});
        let plan = plan_of(&spec, "current-2026");
        for line in &plan.bom.lines {
            let part = &plan.book.parts[plan.book.part_index(&line.sku).expect("a part of the book")];
            let a = &part.attributes;
            let field = match line.price_field {
                "price_usd" => part.price_usd,
                "length_prices_usd" => part.cable_price_usd((line.length_metres.unwrap() * 1000.0) as u32),
                "bulk_price_usd_per_metre" => a.bulk_price_usd_per_metre,
                "connector_price_usd" => a.connector_price_usd,
                "price_usd_per_metre" => a.price_usd_per_metre,
                "usd_per_hour" => a.usd_per_hour,
                other => panic!("{other}"),
            };
            let expected = field.expect("the current book prices every part") * line.price_factor;
            assert!((line.unit_price_usd.unwrap() - expected).abs() < 1e-9, "{line:?}");
        }
    }
}

#[test]
fn part_numbers_are_those_of_the_length_and_colour() {
    let mut book = builtin_book("current-2026").expect("a built-in book");
    let spec = read_spec(r#"{"family":"bcube","n":4,"k":1}"#).expect("a spec");
    let before = plan(&spec, &book).expect("a plan");
    let first = before
        .bom
        .lines
        .iter()
        .find(|l| l.category == Category::Cable)
        .expect("a cable");
    let (length, colour) = (
        first.length_metres.expect("a length"),
        first.colour.expect("a colour"),
    );
    let cable = book.part_index(&first.sku).expect("a cable");
    let attributes = &mut book.parts[cable].attributes;
    attributes.part_number = Some("C6".to_owned());
    attributes.supplier = Some("Cable Co".to_owned());
    attributes.lead_time_days = Some(14);
    let at = attributes
        .lengths_metres
        .as_ref()
        .and_then(|all| all.iter().position(|&l| l == length));
    attributes.length_prices_usd.as_mut().expect("prices")[at.expect("a stock length")] = None;
    attributes.part_numbers = Some(BTreeMap::from([(
        format!("{length} m {colour}"),
        "C6-X".to_owned(),
    )]));
    let plan = plan(&spec, &book).expect("a plan");
    let lines: Vec<_> = plan.bom.lines.iter().filter(|l| l.sku == first.sku).collect();
    assert!(lines.len() > 1 && lines.iter().any(|l| l.part_number == "C6-X"));
    for line in lines {
        let its_own = (line.length_metres, line.colour) == (Some(length), Some(colour));
        assert_eq!(line.part_number, if its_own { "C6-X" } else { "C6" });
        assert_eq!(
            (line.supplier.as_str(), line.lead_time_days),
            ("Cable Co", Some(14))
        );
        assert_eq!(
            line.unit_price_usd.is_none(),
            line.length_metres == Some(length),
            "one length has no price"
        );
    }
    assert!(plan.cost.at_least);
}

#[test]
fn the_plans_paper_decides_which_label_sheets_are_bought() {
    for (paper, sku, per_sheet) in [("a4", "LABEL-A4", 189), ("letter", "LABEL-LETTER", 80)] {
        let spec = json!({"topology": {"family": "bcube", "n": 4, "k": 1}, "site": {"paper": paper}});
        let plan = plan_of(&spec, "current-2026");
        let label = plan
            .bom
            .lines
            .iter()
            .find(|l| l.category == Category::Label)
            .expect("labels");
        assert_eq!(
            (label.sku.as_str(), label.pieces_per_unit, label.unit),
            (sku, Some(per_sheet), Unit::Sheet)
        );
    }
}

#[test]
fn spares_are_rounded_up_and_do_not_weigh() {
    let spec = json!({"topology": {"family": "bcube", "n": 8, "k": 1}, "cabling": {"spare_ratio": 0.03}});
    let with = plan_of(&spec, "current-2026");
    let without = plan_of(
        &json!({"topology": {"family": "bcube", "n": 8, "k": 1}, "cabling": {"spare_ratio": 0.0}}),
        "current-2026",
    );
    assert_eq!(with.bom.weight_kg, without.bom.weight_kg);
    assert!(with.cost.cables > without.cost.cables);
    assert!(without.bom.lines.iter().all(|line| line.spares == 0.0));
    assert!(
        !with.cost.at_least,
        "the current book prices all of a small BCube: {:?}",
        unpriced(&with)
    );
}

fn unpriced(plan: &Plan) -> Vec<String> {
    plan.bom
        .lines
        .iter()
        .filter(|l| l.total_usd.is_none())
        .map(|l| format!("{} {}", l.sku, l.name))
        .collect()
}

/// Rates the book cannot serve are findings and unpriced lines, never a failure.
#[test]
fn what_no_part_fits_is_a_finding_and_has_no_price() {
    let spec = json!({"topology": {"family": "bcube", "n": 64, "k": 1}, "cabling": {"link_gbps": 10.0}});
    let plan = plan_of(&spec, "paper-2009");
    for code in ["no-switch", "no-nic"] {
        assert!(plan.findings.iter().any(|f| f.code == code), "{code}");
    }
    assert!(plan.cost.at_least && plan.power.at_least);
    assert_eq!(
        (plan.cost.switches, plan.cost.nics, plan.power.switches),
        (0.0, 0.0, 0.0)
    );
    let switches: Vec<_> = plan
        .bom
        .lines
        .iter()
        .filter(|l| l.category == Category::Switch)
        .collect();
    assert_eq!(switches.iter().map(|l| l.quantity).sum::<f64>(), 128.0);
    assert!(
        switches
            .iter()
            .all(|l| l.unit_price_usd.is_none() && l.sku.is_empty() && !l.name.is_empty())
    );
}

#[test]
fn a_price_book_without_labour_or_racks_still_bills() {
    let mut book = builtin_book("current-2026").expect("a built-in book");
    book.parts
        .retain(|p| p.sku.starts_with("SW-") || p.sku.starts_with("SERVER"));
    let spec = read_spec(r#"{"family":"bcube","n":4,"k":1}"#).expect("a spec");
    let plan = plan(&spec, &book).expect("a plan");
    assert!(plan.cost.at_least);
    assert_eq!(plan.bom.labour_minutes, 0.0);
    assert!(
        plan.bom
            .lines
            .iter()
            .any(|l| l.category == Category::Cable && l.sku.is_empty())
    );
}
