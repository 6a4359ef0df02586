//! Trays that are too full: repairs hang more trays, acceptances are called so, and neither passes
//! for the other.

use cubeyard_plan::{Plan, TrayKind, builtin_book, plan};
use cubeyard_topology::{Finding, Severity};
use proptest::prelude::*;
use serde_json::{Value, json};

fn planned(spec: &Value) -> Plan {
    let book = builtin_book("current-2026").unwrap();
    plan(&serde_json::from_value(spec.clone()).unwrap(), &book).unwrap()
}

fn over(plan: &Plan) -> Vec<&Finding> {
    plan.findings
        .iter()
        .filter(|f| f.code == "tray-over-fill")
        .collect()
}

/// A plan whose trays are fuller than half.
fn crowded(servers: u64, enclosure: &str, limit: f64) -> Value {
    json!({
        "topology": {"family": "bcube", "n": 8, "k": 3, "servers": servers},
        "site": {"enclosure": enclosure},
        "cabling": {"tray_fill_limit": limit},
    })
}

#[test]
fn a_full_tray_is_accepted_by_name_and_stays_in_the_plan() {
    // The book's largest tray alone, made smaller, so that the fill is between the usual and the
    // most.
    let mut book = builtin_book("current-2026").unwrap();
    book.parts
        .retain(|p| p.attributes.width_mm.is_none() || p.sku == "TRAY-300X100");
    let spec = json!({"topology": {"family": "bcube", "n": 8, "k": 3, "servers": 2048}});
    let read = |spec: &Value| plan(&serde_json::from_value(spec.clone()).unwrap(), &book).unwrap();
    let before = read(&spec);
    let fullest = before.wiring.trays.fill.iter().copied().fold(0.0, f64::max);
    assert!(fullest > 0.5 && fullest < 0.7, "{fullest}");
    let found = over(&before)[0];
    let percent = (fullest * 100.0).ceil();
    let accept = found.accept.as_ref().unwrap();
    assert_eq!(accept.label, format!("Accept {percent:.0} %"));
    assert_eq!(accept.patch["cabling"]["tray_fill_limit"], json!(percent / 100.0));

    let mut taken = spec.clone();
    taken["cabling"] = accept.patch["cabling"].clone();
    let after = read(&taken);
    assert_eq!(over(&after), Vec::<&Finding>::new());
    assert_eq!(after.wiring.trays, before.wiring.trays, "accepting moves nothing");
    let said = after
        .findings
        .iter()
        .find(|f| f.code == "tray-fill-accepted")
        .unwrap();
    assert_eq!((said.severity, &said.fix), (Severity::Info, &None));
    let name = format!("Accepted by the plan: tray fill limit {percent:.0} %");
    assert!(said.message.starts_with(&name), "{}", said.message);

    // Two of these trays fit side by side over a rack: that is the repair, and it is bought.
    let fix = found.fix.as_ref().unwrap();
    assert_eq!(fix, &json!({"cabling": {"trays_side_by_side": 2}}));
    let mut more = spec;
    more["cabling"] = fix["cabling"].clone();
    let more = read(&more);
    assert_eq!(over(&more), Vec::<&Finding>::new());
    let metres = |p: &Plan| {
        let lines = p.bom.lines.iter().filter(|l| l.sku == "TRAY-300X100");
        lines
            .map(|l| l.quantity * l.length_metres.unwrap_or(0.0))
            .sum::<f64>()
    };
    let trays = &more.wiring.trays;
    assert_eq!(trays.side_by_side, [2, 1, 0], "over the columns alone");
    let columns = (0..trays.len()).filter(|&i| trays.kind[i] == TrayKind::Column);
    let doubled: f64 = columns.map(|i| trays.length_metres(i)).sum();
    assert!(
        (metres(&more) - metres(&before) - doubled).abs() <= 3.0,
        "in whole trays of 3 m"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..crate::cases::cases(40) })]

    #[test]
    fn a_repair_hangs_trays_and_never_moves_the_limit(
        servers in prop::sample::select(vec![512u64, 1024, 2048, 4096]),
        enclosure in prop::sample::select(vec!["auto", "rows"]),
        limit in 0.01f64..1.0,
    ) {
        let spec = crowded(servers, enclosure, limit);
        let p = planned(&spec);
        let trays = &p.wiring.trays;
        prop_assert_eq!(over(&p).is_empty(), trays.fill.iter().all(|&fill| fill <= limit));
        for found in over(&p) {
            if let Some(fix) = &found.fix {
                prop_assert!(!fix.to_string().contains("limit"), "{fix}");
                let mut fixed = spec.clone();
                fixed["cabling"]["trays_side_by_side"] = fix["cabling"]["trays_side_by_side"].clone();
                let again = planned(&fixed);
                // Each kind has its own finding, and the largest of the suggested numbers fixes
                // all.
                prop_assert!(over(&again).len() < over(&p).len(), "{fix} of {}", found.message);
            } else {
                prop_assert!(found.hint.contains("would help"), "{}", found.hint);
            }
            if let Some(accept) = &found.accept {
                prop_assert!(accept.patch["cabling"]["tray_fill_limit"].as_f64().unwrap() <= 0.7);
            }
        }
        // Trays that pass only because the limit is above the usual fill are reported.
        let passes = trays.fill.iter().any(|&fill| fill > 0.5 && fill <= limit);
        prop_assert_eq!(p.findings.iter().any(|f| f.code == "tray-fill-accepted"), passes);
    }
}
