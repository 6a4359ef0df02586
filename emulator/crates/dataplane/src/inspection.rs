//! A protocol's state as data: tables that a page can draw for any protocol.

use cubeyard_topology::NodeId;
use serde::{Deserialize, Serialize};

use crate::event::PathSummary;
use crate::flow::Flow;

/// Maximum number of rows in a section; further rows are only counted.
pub const MAX_ROWS: usize = 100;

/// The state of a protocol, for display.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// The sections, in the order of display.
    pub sections: Vec<Section>,
}

/// One table of a protocol's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Name of the section, in kebab-case.
    pub name: String,
    /// The heading of the table.
    pub title: String,
    /// The columns of the table.
    pub columns: Vec<Column>,
    /// The rows, with a cell per column; at most [`MAX_ROWS`].
    pub rows: Vec<Vec<Cell>>,
    /// Number of omitted rows.
    pub omitted: u64,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Name of the column, in snake_case.
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
    /// Ids of servers: both ends of a link, or a path.
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
    /// Any other text.
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
    /// A number with a fraction.
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
    /// The section with this name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }
}

impl Section {
    /// Creates a section with these columns, given as name, title and kind. Rows beyond
    /// [`MAX_ROWS`] are only counted.
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

    /// The cells of a column; none if the column does not exist.
    pub fn column(&self, name: &str) -> impl Iterator<Item = &Cell> {
        let at = self.columns.iter().position(|column| column.name == name);
        at.into_iter()
            .flat_map(|at| self.rows.iter().filter_map(move |row| row.get(at)))
    }
}
