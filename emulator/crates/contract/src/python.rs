//! The contract as Python's data.

use std::fmt::Write as _;

use crate::tick::COLUMNS;
use crate::{Merge, Unit};

const HEAD: &str = r#""""The columns of a fabric's tick. Generated from `emulator/crates/contract/src/tick.rs`: after a
change there, run `cargo run -p cubeyard-contract` in `emulator/`.
"""

from __future__ import annotations

from cubeyard.contract.columns import Column, Merge, Unit

COLUMNS = (
"#;

/// Generated files: the path in the repository, and the text.
pub fn files() -> Vec<(&'static str, String)> {
    vec![("backend/cubeyard/contract/tick.py", tick())]
}

fn tick() -> String {
    let mut text = HEAD.to_owned();
    for column in COLUMNS.into_iter().flatten() {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "    Column({:?}, {:?}, Unit.{}, Merge.{}),",
            column.part,
            column.name,
            unit(column.unit),
            merge(column.merge),
        );
    }
    text.push_str(")\n");
    text
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "BYTES",
        Unit::Packets => "PACKETS",
        Unit::Count => "COUNT",
        Unit::Nanos => "NANOS",
        Unit::Secs => "SECS",
        Unit::Share => "SHARE",
    }
}

fn merge(merge: Merge) -> &'static str {
    match merge {
        Merge::Sum => "SUM",
        Merge::Latest => "LATEST",
        Merge::Busiest => "BUSIEST",
        Merge::Longest => "LONGEST",
        Merge::ByKey => "BY_KEY",
    }
}
