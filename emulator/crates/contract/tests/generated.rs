//! The committed files are those that the contract generates, and a part has the columns that it
//! declares.

use std::collections::BTreeSet;
use std::path::Path;

use cubeyard_contract::tick::{COLUMNS, FlowColumns, Host, Latencies, LinkColumns, ServerColumns};
use serde_json::{Value, json};

#[test]
fn the_committed_files_are_the_generated_ones() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    for (path, text) in cubeyard_contract::python::files() {
        let committed = std::fs::read_to_string(top.join(path)).unwrap_or_default();
        assert_eq!(
            committed, text,
            "{path}: run `cargo run -p cubeyard-contract` in emulator/"
        );
    }
}

#[test]
fn every_field_of_a_part_is_a_declared_column() {
    let parts = [
        json!(LinkColumns::default()),
        json!(ServerColumns::default()),
        json!(FlowColumns::default()),
        json!(Host::default()),
        json!(Latencies::default()),
    ];
    for (columns, part) in COLUMNS.into_iter().zip(&parts) {
        let fields: BTreeSet<&str> = part
            .as_object()
            .into_iter()
            .flat_map(|fields| fields.keys().map(String::as_str))
            .collect();
        assert_eq!(fields, columns.iter().map(|column| column.name).collect());
        assert!(columns.iter().all(|column| column.part == columns[0].part));
    }
    let unknown: Result<Host, _> = serde_json::from_value(Value::from_iter([("novel", 1)]));
    assert!(unknown.is_err_and(|error| error.to_string().contains("novel")));
}
