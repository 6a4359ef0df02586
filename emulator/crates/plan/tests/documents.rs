//! The JSON documents: the contract's shapes, the same bytes every time, and sheets that agree with
//! the wiring.

use cubeyard_plan::scene::{cable_tables_json, scene_json};
use cubeyard_plan::schema::plan_schema;
use cubeyard_plan::sheets::{device_json, rack_json};
use cubeyard_plan::summary::{bom_json, summary_json};
use cubeyard_plan::{Plan, builtin_book, plan, read_spec};
use serde_json::{Value, json};

fn plan_of(spec: &str) -> Plan {
    let book = builtin_book("current-2026").expect("a built-in book");
    plan(&read_spec(spec).unwrap_or_else(|e| panic!("{e}")), &book).unwrap_or_else(|e| panic!("{e}"))
}

const SPECS: [&str; 6] = [
    r#"{"family":"bcube","n":4,"k":2}"#,
    r#"{"family":"dcell","n":4,"k":1}"#,
    r#"{"family":"torus3d","x":3,"y":3,"z":3}"#,
    r#"{"family":"subways","type":1,"p":2,"q":8,"l":6,"clusters":2}"#,
    r#"{"family":"fat_tree","ports":4,"layers":3}"#,
    r#"{"family":"tree","edge_ports":8,"servers":30}"#,
];

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("a JSON document")
}

#[test]
fn the_same_spec_gives_the_same_bytes() {
    for spec in SPECS {
        let (one, two) = (plan_of(spec), plan_of(spec));
        assert_eq!(summary_json(&one), summary_json(&two));
        assert_eq!(scene_json(&one), scene_json(&two));
        assert_eq!(bom_json(&one), bom_json(&two));
        assert_eq!(one.hash, two.hash);
        assert!(one.hash.len() == 64 && one.hash.bytes().all(|b| b.is_ascii_hexdigit()));
    }
}

/// A default written down is the same plan; a changed value is another, and so is a changed price.
#[test]
fn the_hash_names_what_decides_the_plan() {
    let bare = plan_of(r#"{"family":"bcube","n":4,"k":1}"#);
    let written = plan_of(
        r#"{"cabling":{"spare_ratio":0.03,"slack_metres":0.5},"topology":{"k":1,"n":4,"family":"bcube"}}"#,
    );
    assert_eq!(bare.hash, written.hash);
    let slack = plan_of(r#"{"topology":{"family":"bcube","n":4,"k":1},"cabling":{"slack_metres":0.6}}"#);
    assert_ne!(bare.hash, slack.hash);
    let mut book = builtin_book("current-2026").expect("a built-in book");
    book.parts[0].price_usd = Some(21.0);
    let spec = read_spec(r#"{"family":"bcube","n":4,"k":1}"#).expect("a spec");
    assert_ne!(bare.hash, plan(&spec, &book).expect("a plan").hash);
}

/// A plan's resolved spec gives the same plan again, with the same hash.
#[test]
fn the_resolved_spec_is_a_spec() {
    for spec in SPECS {
        let plan = plan_of(spec);
        let again = plan_of(&serde_json::to_string(&plan.spec).expect("plain data"));
        assert_eq!(plan.hash, again.hash, "{spec}");
        assert_eq!(summary_json(&plan), summary_json(&again));
    }
}

#[test]
fn the_summary_has_every_field_of_the_contract() {
    for spec in SPECS {
        let plan = plan_of(spec);
        let summary = parsed(&summary_json(&plan));
        for path in [
            "/plan_hash",
            "/engine_version",
            "/spec/topology/family",
            "/title",
            "/counts/servers",
            "/counts/switches",
            "/counts/links",
            "/counts/cables",
            "/counts/racks",
            "/counts/levels/0/label",
            "/counts/levels/0/role",
            "/certificate/passed",
            "/certificate/checks/0/statement",
            "/cost_usd/switches",
            "/cost_usd/nics",
            "/cost_usd/servers",
            "/cost_usd/cables",
            "/cost_usd/transceivers",
            "/cost_usd/racks",
            "/cost_usd/trays",
            "/cost_usd/labour",
            "/cost_usd/network",
            "/cost_usd/total",
            "/cost_usd/at_least",
            "/power_watts/switches",
            "/power_watts/nics",
            "/power_watts/servers",
            "/power_watts/total",
            "/weight_kg/total",
            "/weight_kg/at_least",
            "/cable_metres",
            "/longest_cable_metres",
            "/mean_cable_metres",
            "/tray/peak_fill",
            "/tray/peak_cables",
            "/tray/peak_area_cm2",
            "/labour_minutes",
            "/metrics/diameter/value",
            "/findings",
            "/bisection_gbps",
        ] {
            assert!(
                summary.pointer(path).is_some_and(|v| !v.is_null()),
                "{spec}: {path}"
            );
        }
        assert_eq!(summary["certificate"]["passed"], true, "{spec}");
        let levels = summary["counts"]["levels"].as_array().expect("levels");
        let sum = |field: &str| levels.iter().map(|l| l[field].as_u64().unwrap_or(0)).sum::<u64>();
        assert_eq!(sum("cables"), plan.wiring.part.len() as u64, "{spec}");
        assert_eq!(sum("switches"), u64::from(plan.topology.switch_count()), "{spec}");
    }
}

#[test]
fn a_network_without_switches_draws_no_power_for_them_and_says_zero() {
    let summary = summary_json(&plan_of(r#"{"topology":{"family":"torus3d","x":3,"y":3,"z":3}}"#));
    assert!(summary.contains(r#""power_watts":{"switches":0.0,"#), "{summary}");
    assert!(!summary.contains(":-0.0"), "a negative zero in {summary}");
}

#[test]
fn scene_columns_are_as_long_as_what_they_list() {
    for spec in SPECS {
        let plan = plan_of(spec);
        let scene = parsed(&scene_json(&plan));
        let lengths = [
            ("racks", plan.layout.racks.len()),
            ("devices", plan.topology.node_count() as usize),
            ("trays", plan.wiring.trays.len()),
            ("bundles", plan.wiring.bundles.len()),
        ];
        for (table, length) in lengths {
            for (name, column) in scene[table].as_object().expect("a table") {
                assert_eq!(
                    column.as_array().map(Vec::len),
                    Some(length),
                    "{spec}: {table}.{name}"
                );
            }
        }
        let parts = scene["parts"].as_array().expect("parts");
        for (device, part) in scene["devices"]["part"]
            .as_array()
            .expect("a column")
            .iter()
            .enumerate()
        {
            let part = &parts[part.as_u64().expect("an index") as usize];
            let kind = if plan.topology.is_server(device as u32) {
                "server"
            } else {
                "switch"
            };
            assert_eq!(part["kind"], kind, "{spec}: device {device}");
        }
        // Cables' parts are cables, in the same numbering.
        let tables = parsed(&cable_tables_json(&plan));
        assert_eq!(tables["parts"], scene["parts"]);
        for &part in &plan.wiring.part {
            assert_eq!(
                parts[usize::from(plan.used_parts.dense_of(part))]["kind"],
                "cable"
            );
        }
    }
}

/// Every cable end is on exactly one rack sheet, and each end names the other.
#[test]
fn rack_sheets_hold_every_cable_end_once() {
    for spec in SPECS {
        let plan = plan_of(spec);
        let mut ends = vec![0; plan.wiring.part.len()];
        for rack in &plan.layout.racks.name {
            let sheet = parsed(&rack_json(&plan, rack).expect("a rack"));
            let rows = &sheet["rows"];
            for (i, cable) in rows["cable"].as_array().expect("rows").iter().enumerate() {
                let cable = cable.as_u64().expect("a cable") as usize;
                ends[cable] += 1;
                let label = rows["label"][i].as_str().expect("a label");
                assert!(
                    label.starts_with(&format!("{rack}-")),
                    "{spec}: {label} on {rack}"
                );
                let (near, far) = label.split_once('/').expect("two ends");
                assert_eq!(rows["far_label"][i], format!("{far}/{near}"), "mirrored");
                assert!(far.starts_with(rows["far_rack"][i].as_str().expect("a rack")));
            }
        }
        assert!(ends.iter().all(|&n| n == 2), "{spec}");
        assert!(rack_json(&plan, "no such rack").is_none());
    }
}

#[test]
fn a_device_lists_all_its_ports_free_ones_too() {
    let plan = plan_of(r#"{"family":"bcube","n":4,"k":1,"servers":8}"#);
    let trace = parsed(&device_json(&plan, "<1,0>").expect("a switch"));
    assert_eq!(
        (trace["ports"].as_u64(), trace["ports_used"].as_u64()),
        (Some(4), Some(2))
    );
    let cables: Vec<i64> = trace["rows"]["cable"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(Value::as_i64)
        .collect();
    assert_eq!(cables.len(), 4);
    assert_eq!(cables.iter().filter(|&&c| c == -1).count(), 2);
    assert_eq!(trace["rows"]["far_device"], json!(["00", "10", "", ""]));
    for name in ["", "nobody", "<9,0>", "0"] {
        assert!(device_json(&plan, name).is_none(), "{name:?}");
    }
}

#[test]
fn a_bad_spec_names_field_value_and_fix() {
    for (text, field, said) in [
        ("{", "spec", "not JSON"),
        ("[]", "spec", "not an object"),
        ("{}", "topology", "no topology"),
        (
            r#"{"topology":{"family":"bcube","n":8,"k":3},"colour":"red"}"#,
            "colour",
            "colour",
        ),
        (
            r#"{"topology":{"family":"bcube","n":8,"k":3},"site":{"isle_metres":1}}"#,
            "site.isle_metres",
            "isle_metres",
        ),
        (
            r#"{"topology":{"family":"bcube","n":8,"k":3},"cabling":{"slack_metres":"much"}}"#,
            "cabling.slack_metres",
            "much",
        ),
        (
            r#"{"topology":{"family":"bcube","n":8,"k":3},"packaging":{"policy":"best"}}"#,
            "packaging.policy",
            "best",
        ),
        (
            r#"{"topology":{"family":"no-such-family"}}"#,
            "topology.family",
            "no-such-family",
        ),
    ] {
        let error = read_spec(text).expect_err(text);
        assert_eq!(error.findings[0].field, field, "{text}: {error}");
        assert!(error.findings[0].message.contains(said), "{text}: {error}");
        assert!(!error.findings[0].hint.is_empty());
    }
    let several = read_spec(r#"{"topology":{"family":"bcube","n":1,"k":3},"site":{"a":1},"x":2}"#)
        .expect_err("all bad");
    assert!(several.findings.len() >= 3, "{several}");
}

/// The schema and the parser have the same fields.
#[test]
fn the_schema_has_the_spec_s_fields() {
    let schema = plan_schema();
    let plan = plan_of(
        r#"{"topology":{"family":"bcube","n":4,"k":1},"packaging":{"pins":[{"rack":"R00","x_metres":1.0,"y_metres":1.0}]},
            "site":{"containers":1,"columns":2,"aisle_metres":0.7,"racks_per_row":10,"rack":"RACK-44U",
            "rack_power_limit_watts":20000,"rack_weight_limit_kg":1000,
            "addresses":{"servers":"10.1.0.0/24","switches":"10.2.0.0/24","gateway":"10.1.0.1","dns":["10.9.0.1"],"domain":"a.org"}},"cabling":{"link_gbps":1}}"#,
    );
    let spec = serde_json::to_value(&plan.spec).expect("plain data");
    for (section, value) in spec.as_object().expect("an object") {
        let known = &schema["properties"][section];
        assert!(!known.is_null(), "{section}");
        if section == "topology" || section == "catalog" {
            continue;
        }
        for field in value.as_object().expect("a section").keys() {
            assert!(!known["properties"][field].is_null(), "{section}.{field}");
        }
    }
    let keys = |value: &Value| {
        value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        keys(&schema["properties"]["site"]["properties"]["addresses"]["properties"]),
        keys(&spec["site"]["addresses"])
    );
    // Conversely, the parser accepts every field of the schema.
    for section in ["site", "packaging", "cabling"] {
        for field in schema["properties"][section]["properties"]
            .as_object()
            .expect("fields")
            .keys()
        {
            let text =
                json!({"topology": {"family": "bcube", "n": 4, "k": 1}, section: {field: null}}).to_string();
            if let Err(error) = read_spec(&text) {
                assert!(
                    !error.findings[0].message.contains("unknown field"),
                    "{section}.{field}: {error}"
                );
            }
        }
    }
}

/// The site's prefix is added to host names only; a prefix that is invalid in DNS is rejected.
#[test]
fn host_names_carry_the_prefix_of_the_site() {
    let hosts = |spec: &str| parsed(&scene_json(&plan_of(spec)))["devices"]["host"].clone();
    let plain = hosts(r#"{"family":"bcube","n":4,"k":1}"#);
    let prefixed = hosts(r#"{"topology":{"family":"bcube","n":4,"k":1},"site":{"host_prefix":"dc-a"}}"#);
    assert_eq!((&plain[6], &plain[17]), (&json!("h12"), &json!("s0-1")));
    let (plain, prefixed) = (plain.as_array().unwrap(), prefixed.as_array().unwrap());
    for (host, with_prefix) in plain.iter().zip(prefixed) {
        assert_eq!(
            format!("dc-a-{}", host.as_str().unwrap()),
            with_prefix.as_str().unwrap()
        );
    }
    let long = "a".repeat(25);
    for refused in ["", "DC", "1a", "a-", "a_b", "a.b", "a b", "ä", &long] {
        let spec = json!({"topology": {"family": "bcube", "n": 4, "k": 1}, "site": {"host_prefix": refused}});
        let book = builtin_book("current-2026").expect("a built-in book");
        let error = plan(&read_spec(&spec.to_string()).expect("a spec"), &book)
            .map(|_| ())
            .expect_err(refused);
        assert_eq!(
            (error.findings[0].code, error.findings[0].field.as_str()),
            ("out-of-range", "site.host_prefix")
        );
    }
}
