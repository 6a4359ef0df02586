//! A protocol's state as data: sections of columns and rows, which a page draws without knowing the
//! protocol.

use cubeyard_topology::NodeId;
use serde::{Deserialize, Serialize};

use crate::event::PathSummary;
use crate::flow::Flow;

/// The most rows of a section; the section has the number of omitted rows.
pub const MAX_ROWS: usize = 100;

/// The state of a protocol, for display.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// In the order in which they are shown.
    pub sections: Vec<Section>,
}

/// One table of the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Its name, in kebab-case.
    pub name: String,
    /// The heading of the table.
    pub title: String,
    /// The columns of the table.
    pub columns: Vec<Column>,
    /// Its rows, a cell a column; at most [`MAX_ROWS`].
    pub rows: Vec<Vec<Cell>>,
    /// Number of omitted rows.
    pub omitted: u64,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name, in snake_case.
    pub name: String,
    /// The heading of the column.
    pub title: String,
    /// The type of its cells.
    pub kind: ColumnKind,
}

/// The type of a column's cells. Any cell can be [`Cell::Empty`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnKind {
    /// The id of a server.
    Server,
    /// Servers' ids: the two ends of a link, or a path.
    Servers,
    /// The five-tuple of a flow.
    Flow,
    /// A list of paths.
    Paths,
    /// The number of a port.
    Port,
    /// An integer count.
    Count,
    /// A rate in bits per second.
    BitsPerSec,
    /// A time in seconds.
    Secs,
    /// A yes or no value.
    Flag,
    /// The number of a path.
    PathId,
    /// Any text.
    Text,
}

/// The value of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// An empty cell.
    Empty,
    /// A yes or no value.
    Flag(bool),
    /// A count, an id or a number.
    Count(u64),
    /// A number.
    Number(f64),
    /// Any text.
    Text(String),
    /// The ids of servers.
    Servers(Vec<NodeId>),
    /// A list of paths.
    Paths(Vec<PathSummary>),
    /// The five-tuple of a flow.
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
