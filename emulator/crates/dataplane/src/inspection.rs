//! A protocol's state as data: sections of columns and rows, which a page draws without knowing the
//! protocol.

use cubeyard_topology::NodeId;
use serde::{Deserialize, Serialize};

use crate::event::PathSummary;
use crate::flow::Flow;

/// Rows that one section shows at most; a section says how many it leaves out.
pub const MAX_ROWS: usize = 100;

/// A protocol's state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// In the order in which they are shown.
    pub sections: Vec<Section>,
}

/// One table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Its name, in kebab-case.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, a cell a column; at most [`MAX_ROWS`].
    pub rows: Vec<Vec<Cell>>,
    /// Rows left out.
    pub omitted: u64,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name, in snake_case.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// What its cells hold.
    pub kind: ColumnKind,
}

/// What a column's cells hold. Any cell may be [`Cell::Empty`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnKind {
    /// A server's id.
    Server,
    /// Servers' ids: the two ends of a link, or a path.
    Servers,
    /// A five-tuple.
    Flow,
    /// Paths.
    Paths,
    /// A port's number.
    Port,
    /// A count.
    Count,
    /// A rate.
    BitsPerSec,
    /// A time in seconds.
    Secs,
    /// Yes or no.
    Flag,
    /// A path's number.
    PathId,
    /// Text.
    Text,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// Nothing.
    Empty,
    /// Yes or no.
    Flag(bool),
    /// A count, an id or a number.
    Count(u64),
    /// A quantity.
    Number(f64),
    /// Text.
    Text(String),
    /// Servers' ids.
    Servers(Vec<NodeId>),
    /// Paths.
    Paths(Vec<PathSummary>),
    /// A five-tuple.
    Flow(Flow),
}

impl Inspection {
    /// The section of that name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }
}

impl Section {
    /// A section with these columns, given as name, title and kind. Rows past [`MAX_ROWS`] are
    /// counted only.
    pub fn new(
        name: &str,
        title: &str,
        columns: &[(&str, &str, ColumnKind)],
        rows: impl IntoIterator<Item = Vec<Cell>>,
    ) -> Section {
        let mut rows = rows.into_iter();
        let shown: Vec<Vec<Cell>> = rows.by_ref().take(MAX_ROWS).collect();
        debug_assert!(
            shown.iter().all(|row| row.len() == columns.len()),
            "a cell a column in {name}"
        );
        let column = |&(name, title, kind): &(&str, &str, ColumnKind)| Column {
            name: name.to_owned(),
            title: title.to_owned(),
            kind,
        };
        Section {
            name: name.to_owned(),
            title: title.to_owned(),
            columns: columns.iter().map(column).collect(),
            rows: shown,
            omitted: rows.count() as u64,
        }
    }

    /// The cells of a column; empty where there is no such column.
    pub fn column(&self, name: &str) -> impl Iterator<Item = &Cell> {
        let at = self.columns.iter().position(|column| column.name == name);
        at.into_iter()
            .flat_map(|at| self.rows.iter().filter_map(move |row| row.get(at)))
    }
}
