//! Structural metrics in closed form, each with its source and whether it is exact.

use serde::Serialize;

/// One metric with its unit and source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// The value, in `unit`.
    pub value: f64,
    /// Whether the value is exact; if not, `note` names the kind of bound.
    pub exact: bool,
    /// The unit of the value.
    pub unit: &'static str,
    /// Source of the closed form: a paper's section, or `[ours]`.
    pub source: &'static str,
    /// How to read the value.
    pub note: String,
}

impl Metric {
    /// A metric whose value is exact.
    pub fn exact(value: impl Into<f64>, unit: &'static str, source: &'static str) -> Metric {
        Metric {
            value: value.into(),
            exact: true,
            unit,
            source,
            note: String::new(),
        }
    }

    /// A metric that is only a bound; `note` names the kind of bound.
    pub fn bound(
        value: impl Into<f64>,
        unit: &'static str,
        source: &'static str,
        note: impl Into<String>,
    ) -> Metric {
        Metric {
            value: value.into(),
            exact: false,
            unit,
            source,
            note: note.into(),
        }
    }

    /// Adds a remark to the metric.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Metric {
        self.note = note.into();
        self
    }
}

/// The closed forms of a structure.
///
/// Server-centric families (BCube, DCell, torus) measure `diameter` and `average_path` in `hops`
/// from server to server, as their papers do: crossing a switch is part of one hop. The others
/// measure in `links`. `diameter_links` and `average_path_links` count every link and compare
/// across families. Averages are over ordered pairs of distinct servers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StructureMetrics {
    /// Longest shortest path between two servers, in the paper's measure (see `unit`).
    pub diameter: Metric,
    /// Longest shortest path between two servers, every link counted.
    pub diameter_links: Metric,
    /// Mean shortest path between distinct servers, in the paper's measure.
    pub average_path: Option<Metric>,
    /// Mean shortest path between distinct servers, every link counted.
    pub average_path_links: Option<Metric>,
    /// Fewest links whose removal parts the servers into two halves.
    pub bisection: Metric,
    /// The same cut's capacity per direction.
    pub bisection_bits_per_sec: Metric,
    /// Paths between any two servers that share no intermediate node.
    pub disjoint_paths: Metric,
    /// Aggregate bottleneck throughput of all-to-all traffic, in multiples of one link's rate.
    pub all_to_all_throughput: Option<Metric>,
    /// Network ports a server needs.
    pub server_ports: Metric,
    /// Links of the whole structure.
    pub wires: Metric,
    /// Share of the switch ports that have a link.
    pub switch_ports_used: Option<Metric>,
}

/// How a family's own paper counts the length of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMeasure {
    /// In links: switches forward, servers do not.
    Links,
    /// In hops from server to server, each of this many links: 1 where servers are joined directly,
    /// 2 where each hop crosses a mini-switch. `[bcube §3.2]`
    Hops {
        /// Links of every hop.
        links_each: u32,
    },
    /// In hops from server to server; a hop ends at each server on the path and crosses one or two
    /// links. `[dcell §4]`
    HopsAtServers,
}

impl PathMeasure {
    /// The unit in documents.
    pub fn unit(self) -> &'static str {
        match self {
            PathMeasure::Links => "links",
            PathMeasure::Hops { .. } | PathMeasure::HopsAtServers => "hops",
        }
    }
}
