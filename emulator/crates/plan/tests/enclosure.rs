//! Limits of a container or a room: values compared with an independent sum, findings exactly if a
//! limit is exceeded, and fixes and acceptances that work.

use cubeyard_plan::enclosure::{Quantity, SiteLimit};
use cubeyard_plan::{Plan, builtin_book, plan};
use cubeyard_topology::{Finding, Severity};
use proptest::prelude::*;
use serde_json::{Value, json};

const CODES: [&str; 4] = [
    "enclosure-over-power",
    "enclosure-over-cooling",
    "enclosure-over-mass",
    "floor-over-load",
];

fn planned(spec: &Value) -> Plan {
    let book = builtin_book("current-2026").unwrap();
    plan(&serde_json::from_value(spec.clone()).unwrap(), &book).unwrap()
}

fn paper() -> Value {
    json!({"topology": {"family": "bcube", "n": 8, "k": 3, "servers": 2048}})
}

fn limit(plan: &Plan, quantity: Quantity) -> &SiteLimit {
    plan.site_limits
        .iter()
        .find(|l| l.quantity == quantity)
        .unwrap_or_else(|| panic!("no {quantity:?}"))
}

fn finding<'a>(plan: &'a Plan, code: &str) -> Option<&'a Finding> {
    plan.findings.iter().find(|f| f.code == code)
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

/// Issue 11 §1.10: 487 kW in one container were "all good".
#[test]
fn the_papers_container_draws_more_than_the_usual_feed() {
    let p = planned(&paper());
    let power = limit(&p, Quantity::Power);
    assert!((power.value - p.power.total).abs() < 1.0, "{power:?}");
    assert_eq!((power.limit, power.over), (Some(400_000.0), 1));
    let found = finding(&p, "enclosure-over-power").unwrap();
    assert_eq!(found.severity, Severity::Warning);
    assert!(
        found.message.contains("487.4 kW") && found.message.contains("400.0 kW"),
        "{}",
        found.message
    );
    assert_eq!(found.fix, Some(json!({"site": {"containers": 2}})));
    let mass = limit(&p, Quantity::GrossMass);
    assert!((mass.value - p.bom.weight_kg).abs() < 1.0, "{mass:?}");
    assert_eq!(mass.limit, Some(30_480.0));
    assert!(finding(&p, "enclosure-over-mass").is_none());
}

#[test]
fn a_container_over_its_gross_mass_is_an_error_that_nobody_can_accept() {
    let mut spec = paper();
    merge(&mut spec, &json!({"site": {"gross_mass_limit_kg": 20_000}}));
    let p = planned(&spec);
    let found = finding(&p, "enclosure-over-mass").unwrap();
    assert_eq!((found.severity, &found.accept), (Severity::Error, &None));
    merge(&mut spec, found.fix.as_ref().unwrap());
    assert!(finding(&planned(&spec), "enclosure-over-mass").is_none());
}

#[test]
fn a_room_has_a_floor_and_no_usual_feed() {
    let mut spec = paper();
    merge(&mut spec, &json!({"site": {"enclosure": "rows"}}));
    let p = planned(&spec);
    assert_eq!(limit(&p, Quantity::Power).limit, None);
    assert_eq!(limit(&p, Quantity::FloorLoad).limit, Some(1223.0));
    assert!(p.site_limits.iter().all(|l| l.quantity != Quantity::GrossMass));
    merge(&mut spec, &json!({"site": {"power_limit_watts": 300_000}}));
    let p = planned(&spec);
    let found = finding(&p, "enclosure-over-power").unwrap();
    assert!(found.message.starts_with("Room draws"), "{}", found.message);
    assert_eq!(found.fix, None, "no other enclosure is larger than a room");
}

#[test]
fn every_limit_of_the_builtin_books_has_its_own_source() {
    for name in ["paper-2009", "current-2026"] {
        let book = builtin_book(name).unwrap();
        for sku in ["CONTAINER-40FT", "CONTAINER-20FT", "ROOM-ROWS", "ROOM-CUSTOM"] {
            let part = &book.parts[book.part_index(sku).unwrap()];
            let attributes = serde_json::to_value(&part.attributes).unwrap();
            for field in attributes.as_object().unwrap().keys() {
                if field.contains("_limit_") {
                    assert!(part.sources.contains_key(field), "{name} {sku} {field}");
                }
            }
        }
    }
}

/// Cables between containers are longer, so that racks weigh more there: sharing out today's mass
/// promises too much.
#[test]
fn a_repair_of_the_mass_counts_the_longer_cables_between_containers() {
    for limit_kg in (8_000..16_000).step_by(100) {
        let mut spec = paper();
        spec["site"] = json!({"gross_mass_limit_kg": limit_kg});
        let over = "enclosure-over-mass";
        let Some(fix) = finding(&planned(&spec), over).and_then(|found| found.fix.clone()) else {
            continue;
        };
        merge(&mut spec, &fix);
        assert!(finding(&planned(&spec), over).is_none(), "{fix} at {limit_kg} kg");
    }
}

fn site() -> impl Strategy<Value = Value> {
    let limit = |range: std::ops::Range<f64>| proptest::option::of(range);
    (
        prop::sample::select(vec!["auto", "container-40ft", "rows"]),
        1u32..4,
        limit(20_000.0..600_000.0),
        limit(20_000.0..600_000.0),
        limit(8_000.0..40_000.0),
        limit(200.0..2_000.0),
    )
        .prop_map(|(enclosure, containers, power, cooling, mass, floor)| {
            let mut site = json!({"enclosure": enclosure});
            if enclosure != "rows" {
                site["containers"] = json!(containers);
            }
            for (field, value) in [
                ("power_limit_watts", power),
                ("cooling_limit_watts", cooling),
                ("gross_mass_limit_kg", mass),
                ("floor_load_limit_kg_per_m2", floor),
            ] {
                if let Some(value) = value {
                    site[field] = json!(value);
                }
            }
            site
        })
}

fn topology() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"family": "bcube", "n": 8, "k": 3, "servers": 2048})),
        Just(json!({"family": "bcube", "n": 8, "k": 2})),
        Just(json!({"family": "fat_tree", "ports": 12})),
        Just(json!({"family": "dcell", "n": 4, "k": 2})),
        Just(json!({"family": "subways", "type": 1, "p": 2, "l": 4, "q": 16, "clusters": 2})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..crate::cases::cases(60) })]

    #[test]
    fn findings_stand_where_limits_are_exceeded_and_repairs_hold(topology in topology(), site in site()) {
        let spec = json!({"topology": topology, "site": site});
        let p = planned(&spec);
        let racks = &p.layout.racks;
        let count = racks.container.iter().max().unwrap() + 1;
        let heaviest = (0..count)
            .map(|c| (0..racks.len()).filter(|&r| racks.container[r] == c).map(|r| racks.power_watts[r]).sum::<f64>())
            .fold(0.0, f64::max);
        prop_assert!((limit(&p, Quantity::Power).value - heaviest).abs() < 1.0);
        prop_assert!(limit(&p, Quantity::Cooling).value == limit(&p, Quantity::Power).value);
        for entry in &p.site_limits {
            let over = entry.limit.is_some_and(|limit| entry.value > limit + 0.1);
            let under = entry.limit.is_none_or(|limit| entry.value < limit - 0.1);
            let found = finding(&p, CODES[entry.quantity as usize]);
            prop_assert!(!over || found.is_some(), "{:?}", entry);
            prop_assert!(!under || found.is_none(), "{:?}", entry);
            prop_assert!(found.is_none() || entry.over > 0);
            let Some(found) = found else { continue };
            prop_assert_eq!(found.is_error(), entry.quantity == Quantity::GrossMass);
            // A repair changes the building, never a limit.
            if let Some(fix) = &found.fix {
                prop_assert!(!fix.to_string().contains("limit"));
                let mut fixed = spec.clone();
                merge(&mut fixed, fix);
                let again = planned(&fixed);
                let rows = fix["site"]["enclosure"] == "rows";
                prop_assert!(rows || finding(&again, found.code).is_none(), "{} after {fix}", found.message);
            }
            // Accepting changes only the limit, and reports the acceptance.
            if let Some(accept) = &found.accept {
                let mut taken = spec.clone();
                merge(&mut taken, &accept.patch);
                let again = planned(&taken);
                prop_assert!(finding(&again, found.code).is_none());
                prop_assert_eq!(&again.layout.racks, &p.layout.racks);
                let catalogued = entry.usual.is_some_and(|usual| entry.value > usual + 0.1);
                let said = again.findings.iter().any(|f| f.severity == Severity::Info && f.message.starts_with("Accepted by the plan: ") && f.message.contains(entry.title));
                prop_assert_eq!(said, catalogued);
            }
        }
    }
}
