//! For any input, planning returns a plan or findings; it never panics and always ends.

use cubeyard_plan::{builtin_book, plan, read_spec};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Ordinary values, limits, and values beyond them.
fn count() -> impl Strategy<Value = Value> {
    prop_oneof![
        20 => Just(Value::Null),
        10 => (1u32..17).prop_map(Value::from),
        2 => prop::sample::select(vec![64u32, 200, 1_000, 10_000, 100_000]).prop_map(Value::from),
        1 => prop::sample::select(vec![json!(0), json!(u32::MAX), json!(-1), json!(2.5), json!("3"), json!([])]),
    ]
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        20 => Just(Value::Null),
        10 => (0.01f64..1.0).prop_map(Value::from),
        10 => (1.0f64..30.0).prop_map(Value::from),
        2 => prop::sample::select(vec![1e-9, 100.0, 10_000.0, 1e9]).prop_map(Value::from),
        1 => prop::sample::select(vec![-1.0, 0.0, 1e300]).prop_map(Value::from),
    ]
}

fn word(words: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        prop::sample::select(words).prop_map(Value::from)
    ]
}

fn topology() -> impl Strategy<Value = Value> {
    prop_oneof![
        (1u32..6, 0u32..3, count())
            .prop_map(|(n, k, s)| json!({"family": "bcube", "n": n, "k": k, "servers": s})),
        (1u32..5, 0u32..2, count())
            .prop_map(|(n, k, s)| json!({"family": "dcell", "n": n, "k": k, "servers": s})),
        (1u32..5, 1u32..5, 1u32..5)
            .prop_map(|(x, y, z)| json!({"family": "torus3d", "x": x, "y": y, "z": z})),
        (1u32..60, 1u32..300).prop_map(|(e, s)| json!({"family": "tree", "edge_ports": e, "servers": s})),
        (1u32..9, 1u32..4).prop_map(|(p, l)| json!({"family": "fat_tree", "ports": p, "layers": l})),
        (0u32..4, 0u32..5, 1u32..30, 1u32..9, 1u32..4, 1u32..4).prop_map(|(t, p, q, l, c, clusters)| {
            json!({"family": "subways", "type": t, "p": p, "q": q, "l": l, "c": c, "clusters": clusters})
        }),
    ]
}

fn site() -> impl Strategy<Value = Value> {
    (
        word(&[
            "auto",
            "container-40ft",
            "container-20ft",
            "custom",
            "rows",
            "cave",
        ]),
        (number(), number(), number(), number()),
        (count(), count(), count()),
        (
            number(),
            number(),
            word(&["RACK-42U", "RACK-48U", "RACK-44U", "SHELF"]),
        ),
    )
        .prop_map(
            |(
                enclosure,
                (length, width, height, aisle),
                (containers, columns, racks),
                (power, weight, rack),
            )| {
                let mut site = json!({"length_metres": length, "width_metres": width, "height_metres": height,
                "aisle_metres": aisle, "containers": containers, "columns": columns, "racks_per_row": racks,
                "rack_power_limit_watts": power, "rack_weight_limit_kg": weight, "rack": rack});
                if !enclosure.is_null() {
                    site["enclosure"] = enclosure;
                }
                site
            },
        )
}

fn packaging() -> impl Strategy<Value = Value> {
    (
        word(&["auto", "bcube-5.2", "locality", "side-to-side", "paired-rows", "inter-chassis"]),
        (count(), count(), count(), count()),
        word(&["front", "rear"]),
        prop::collection::vec(
            (word(&["00", "01", "<0,0>", "(0,0,0)", "0.0.0", "nobody"]), prop::sample::select(vec!["R00", "R01", "R99"]), count(), number()),
            0..3,
        ),
    )
        .prop_map(|(policy, (servers, switches, per_rack, logical), face, pins)| {
            let pins: Vec<Value> = pins
                .into_iter()
                .map(|(device, rack, unit, x)| json!({"device": device, "rack": rack, "unit": unit, "x_metres": x, "y_metres": x}))
                .collect();
            let mut packaging = json!({"servers_per_unit": servers, "switches_per_unit": switches,
                "servers_per_rack": per_rack, "logical_racks_per_rack": logical, "face": face, "pins": pins});
            if !policy.is_null() {
                packaging["policy"] = policy;
            }
            packaging
        })
}

fn cabling() -> impl Strategy<Value = Value> {
    (
        number(),
        number(),
        number(),
        number(),
        word(&["auto", "cat6", "dac", "aoc", "fibre"]),
        word(&["stock", "bulk"]),
    )
        .prop_map(|(slack, fill, gbps, spares, media, stock)| {
            let mut cabling = json!({"link_gbps": gbps});
            for (name, value) in [
                ("slack_metres", slack),
                ("tray_fill_limit", fill),
                ("spare_ratio", spares),
                ("media", media),
                ("stock", stock),
            ] {
                if !value.is_null() {
                    cabling[name] = value;
                }
            }
            cabling
        })
}

proptest! {
    #![proptest_config(crate::cases::cases(2000))]

    #[test]
    fn any_spec_gives_a_plan_or_findings(
        topology in topology(), site in site(), packaging in packaging(), cabling in cabling(),
        book in prop::sample::select(vec!["paper-2009", "current-2026"]),
    ) {
        let text = json!({"topology": topology, "site": site, "packaging": packaging, "cabling": cabling}).to_string();
        let book = builtin_book(book).expect("a built-in book");
        let answer = read_spec(&text).and_then(|spec| plan(&spec, &book));
        let findings = match &answer {
            Err(error) => {
                prop_assert!(error.findings.iter().any(|f| f.is_error()));
                &error.findings
            }
            Ok(plan) => {
                let cables = plan.topology.links().len();
                prop_assert_eq!(plan.wiring.stock_mm.len(), cables);
                prop_assert!(plan.cost.total.is_finite() && plan.cost.total >= 0.0);
                prop_assert!(plan.power.total.is_finite() && plan.bom.weight_kg.is_finite());
                let placed = plan.layout.placements.rack.iter().all(|&r| (r as usize) < plan.layout.racks.len());
                prop_assert!(placed, "every device has a rack, even where it found no unit");
                &plan.findings
            }
        };
        for finding in findings {
            prop_assert!(!finding.field.is_empty() && !finding.message.is_empty(), "{finding:?}");
        }
    }
}
