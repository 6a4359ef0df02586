//! The contract as Python's data.

use crate::tick::COLUMNS;
use crate::{Merge, Over, Unit};

/// The limit of Python's formatter, and the line's end.
const LINE_LENGTH: usize = 121;

const HEAD: &str = r#""""The columns of a fabric's tick. Generated from `emulator/crates/contract/src/tick.rs`: after a
change there, run `cargo run -p cubeyard-contract` in `emulator/`.
"""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from cubeyard.contract.columns import Column, LinkRows, Merge, Over, Rows, Unit

# fmt: off
COLUMNS = (
"#;
const ROWS: &str = r#")
# fmt: on


class RowColumns(TypedDict):
    """Columns of a run's frames: the rows that have a value."""

"#;

/// Generated files: the path in the repository, and the text.
pub fn files() -> Vec<(&'static str, String)> {
    vec![("backend/cubeyard/contract/tick.py", tick())]
}

fn tick() -> String {
    let mut text = HEAD.to_owned();
    let columns = || COLUMNS.into_iter().flatten();
    for column in columns() {
        let shown = column
            .shown
            .map_or("None".to_owned(), |shown| format!("{:?}", shown.name));
        let line = format!(
            "    Column({:?}, {:?}, Unit.{}, Merge.{}, {shown}, {:?}),\n",
            column.part,
            column.name,
            unit(column.unit),
            merge(column.merge),
            column.about.trim(),
        );
        text.push_str(&line);
    }
    text.push_str(ROWS);
    for (column, shown) in columns().filter_map(|column| Some((column, column.shown?))) {
        let rows = if column.part == "links" {
            "LinkRows"
        } else {
            "Rows"
        };
        let over = match shown.over {
            Over::Sum => "SUM",
            Over::Longest => "LONGEST",
        };
        let hint = format!(
            "NotRequired[{rows}], Field(description={:?}), Over.{over}",
            shown.about
        );
        let line = format!("    {}: Annotated[{hint}]\n", shown.name);
        match line.len() > LINE_LENGTH {
            true => text.push_str(&format!(
                "    {}: Annotated[\n        {hint}\n    ]\n",
                shown.name
            )),
            false => text.push_str(&line),
        }
    }
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
