//! Published figures and tables, recomputed: the paper's value beside ours, one file a figure.
//!
//! The papers' values are data; ours are computed, every one, at every call. Bands say how far from the paper a value
//! may lie and still be called the same thing: they are set from the paper's own words and the spread over seeds, and
//! stay as they are when a value falls outside.

mod bcube_fig10;
mod bcube_fig11;
mod bcube_fig8;
mod bcube_packaging;
mod bcube_table1;
mod bcube_table2;
mod camcube;
mod dcell_fig12;
mod dcell_fig9;
mod dcell_table2;
mod dcell_table3;
mod subways;
mod testbed;

use std::sync::atomic::Ordering;

use cubeyard_plan::summary::ENGINE_VERSION;
use cubeyard_topology::{Finding, Topology, TopologySpec};
use serde_json::{Map, Value, json};

use crate::count::{Cancelled, Progress};
use crate::predict::PredictError;

/// How a value stands beside the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Equal to the printed digits.
    Matches,
    /// Within the band.
    WithinBand,
    /// Outside it.
    Differs,
}

impl Verdict {
    /// In documents.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Matches => "matches",
            Verdict::WithinBand => "within band",
            Verdict::Differs => "differs",
        }
    }
}

/// One published number.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is of.
    pub name: String,
    /// As printed.
    pub paper: f64,
    /// As computed: the mean over seeds where anything is drawn.
    pub ours: f64,
    /// Standard deviation over seeds.
    pub deviation: Option<f64>,
    /// Unit of both.
    pub unit: &'static str,
    /// The last printed digit's worth: half of it either way is still the same print.
    pub step: f64,
    /// Least value of the band.
    pub low: f64,
    /// Greatest value of the band.
    pub high: f64,
    /// Why it is not the same, where it may not be.
    pub reason: &'static str,
}

impl Row {
    /// A number that should come out to its printed digits.
    pub fn printed(name: impl Into<String>, unit: &'static str, paper: f64, step: f64, ours: f64) -> Row {
        Row {
            name: name.into(),
            paper,
            ours,
            deviation: None,
            unit,
            step,
            low: paper - step / 2.0,
            high: paper + step / 2.0,
            reason: "",
        }
    }

    /// A number with a band of its own.
    #[must_use]
    pub fn band(mut self, low: f64, high: f64) -> Row {
        (self.low, self.high) = (low, high);
        self
    }

    /// A band of a share of the paper's value either way.
    #[must_use]
    pub fn within(self, share: f64) -> Row {
        let (low, high) = (self.paper * (1.0 - share), self.paper * (1.0 + share));
        self.band(low, high)
    }

    /// Why it may differ.
    #[must_use]
    pub fn because(mut self, reason: &'static str) -> Row {
        self.reason = reason;
        self
    }

    /// The mean of a sample for ours, with its spread.
    #[must_use]
    pub fn over_seeds(mut self, sample: &[f64]) -> Row {
        let (mean, deviation) = mean_and_deviation(sample);
        self.ours = mean;
        self.deviation = Some(deviation);
        self
    }

    /// How ours stands beside the paper's.
    pub fn verdict(&self) -> Verdict {
        let slack = 1e-9 * self.paper.abs().max(1.0);
        if (self.ours - self.paper).abs() <= self.step / 2.0 + slack {
            Verdict::Matches
        } else if (self.low - slack..=self.high + slack).contains(&self.ours) {
            Verdict::WithinBand
        } else {
            Verdict::Differs
        }
    }

    fn document(&self) -> Value {
        let verdict = self.verdict();
        let mut row = json!({
            "name": self.name,
            "paper": self.paper,
            "ours": self.ours,
            "unit": self.unit,
            "low": self.low,
            "high": self.high,
            "verdict": verdict.name(),
        });
        if let (Some(deviation), Some(fields)) = (self.deviation, row.as_object_mut()) {
            fields.insert("deviation".to_owned(), json!(deviation));
        }
        if let (true, Some(fields)) = (
            verdict != Verdict::Matches && !self.reason.is_empty(),
            row.as_object_mut(),
        ) {
            fields.insert("reason".to_owned(), json!(self.reason));
        }
        row
    }
}

/// A line of the figure's chart, in the paper's shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// What it shows.
    pub name: String,
    /// Along the axis below.
    pub x: Vec<f64>,
    /// Mean over seeds.
    pub y: Vec<f64>,
    /// Standard deviation over seeds, where anything is drawn.
    pub deviation: Vec<f64>,
    /// Whether these are the paper's own numbers: single points, as printed.
    pub paper: bool,
}

impl Series {
    /// A line of ours.
    pub fn ours(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        let (x, y) = points.into_iter().unzip();
        Series {
            name: name.into(),
            x,
            y,
            ..Series::default()
        }
    }

    /// Numbers that the paper prints, at their places on the axes, ascending.
    pub fn paper(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        Series {
            paper: true,
            ..Series::ours(name, points)
        }
    }
}

/// The axes of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axes {
    /// Below.
    pub x: &'static str,
    /// At the side.
    pub y: &'static str,
}

/// What a figure's computation gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Published numbers beside ours.
    pub rows: Vec<Row>,
    /// The chart's lines.
    pub series: Vec<Series>,
    /// The chart's axes.
    pub axes: Option<Axes>,
    /// Choices that the paper leaves open.
    pub choices: Vec<&'static str>,
}

/// What a figure is computed with.
pub struct Context<'a> {
    /// Seeds `0..seeds` of everything drawn.
    pub seeds: u64,
    /// Whoever waits.
    pub progress: &'a Progress,
    entry: &'static Entry,
}

impl Context<'_> {
    /// Shows what there is of the figure so far: lines that grow, and the numbers already reached.
    pub fn show(&self, outcome: &Outcome) {
        let mut document = document(self.entry, outcome, self.seeds);
        document.insert("partial".to_owned(), json!(true));
        self.progress.show(Value::Object(document).to_string());
    }

    /// Says how much work there is.
    pub fn expect(&self, units: u64) {
        self.progress.total.store(units, Ordering::Relaxed);
    }

    /// One more of the expected units is done.
    ///
    /// # Errors
    /// Once whoever waits has cancelled.
    pub fn did_one(&self) -> Result<(), Cancelled> {
        self.progress.done.fetch_add(1, Ordering::Relaxed);
        if self.progress.cancelled.load(Ordering::Relaxed) {
            return Err(Cancelled);
        }
        Ok(())
    }
}

type Compute = fn(&Context<'_>) -> Result<Outcome, PredictError>;

struct Entry {
    id: &'static str,
    title: &'static str,
    source: &'static str,
    compute: Compute,
}

const fn entry(id: &'static str, title: &'static str, source: &'static str, compute: Compute) -> Entry {
    Entry {
        id,
        title,
        source,
        compute,
    }
}

const ENTRIES: &[Entry] = &[
    entry(
        "bcube-table1",
        "Performance of BCube and other structures",
        "[bcube §8, Table 1]",
        bcube_table1::compute,
    ),
    entry(
        "bcube-table2",
        "Cost, power and wires for 2,048 servers",
        "[bcube §8, Table 2]",
        bcube_table2::compute,
    ),
    entry(
        "bcube-fig8-server",
        "ABT under server failures",
        "[bcube §6, Fig. 8(a)]",
        bcube_fig8::servers,
    ),
    entry(
        "bcube-fig8-switch",
        "ABT under switch failures",
        "[bcube §6, Fig. 8(b)]",
        bcube_fig8::switches,
    ),
    entry(
        "bcube-fig10",
        "Throughput of traffic patterns",
        "[bcube §7.5, Fig. 10]",
        bcube_fig10::compute,
    ),
    entry(
        "bcube-fig11",
        "All-to-all in time",
        "[bcube §7.5, Fig. 11]",
        bcube_fig11::compute,
    ),
    entry(
        "bcube-packaging",
        "Packaging and wiring of a container",
        "[bcube §5.2]",
        bcube_packaging::compute,
    ),
    entry(
        "dcell-table2",
        "Path lengths of DFR and shortest paths",
        "[dcell §6.1, Table 2]",
        dcell_table2::compute,
    ),
    entry(
        "dcell-table3",
        "DCell's structure",
        "[dcell §8, Table 3]",
        dcell_table3::compute,
    ),
    entry(
        "dcell-fig9",
        "Path failures in partial DCells",
        "[dcell §6.2, Fig. 9]",
        dcell_fig9::compute,
    ),
    entry(
        "dcell-fig12",
        "All-to-all in time",
        "[dcell §7.3, Fig. 12]",
        dcell_fig12::compute,
    ),
    entry(
        "camcube-fig1",
        "Link-disjoint paths of the TCP/IP service and their gain",
        "[camcube §3.1, Fig. 1]",
        camcube::fig1::compute,
    ),
    entry(
        "camcube-fig2",
        "Links saved by the VM distribution service",
        "[camcube §3.2, Fig. 2]",
        camcube::fig2::compute,
    ),
    entry(
        "camcube-fig3",
        "Hops to a cache hit",
        "[camcube §3.3, Fig. 3]",
        camcube::fig3::compute,
    ),
    entry(
        "camcube-fig4",
        "Packets of the services' own protocols",
        "[camcube §3.5, Fig. 4]",
        camcube::fig4::compute,
    ),
    entry(
        "camcube-fig5",
        "Links by the number of services on them",
        "[camcube §3.5, Fig. 5]",
        camcube::fig5::compute,
    ),
    entry(
        "camcube-table1",
        "Links of the aggregation service",
        "[camcube §3.4, Table 1]",
        camcube::table1::compute,
    ),
    entry(
        "subways-table2",
        "Longest wires, side to side",
        "[subways §7.2.1, Table 2]",
        subways::wires::table2,
    ),
    entry(
        "subways-table3",
        "Longest wires, paired rows",
        "[subways §7.2.2, Table 3]",
        subways::wires::table3,
    ),
    entry(
        "subways-table4",
        "Longest wires, inter-chassis",
        "[subways §7.2.3, Table 4]",
        subways::wires::table4,
    ),
    entry(
        "subways-table5",
        "Tail completion on the testbed",
        "[subways §8.2, Table 5]",
        subways::table5::compute,
    ),
    entry(
        "subways-fig8",
        "Speedup of a shuffle by job size",
        "[subways §8.3, Fig. 8]",
        subways::fig8::compute,
    ),
    entry(
        "subways-fig9",
        "Upgrade paths",
        "[subways §8.4, Fig. 9]",
        subways::fig9::compute,
    ),
    entry(
        "subways-fig10",
        "Speedup of a shuffle by loop size",
        "[subways §8.5, Fig. 10]",
        subways::fig10::compute,
    ),
    entry(
        "subways-fig11",
        "Speedup of a shuffle by ports per server",
        "[subways §8.6, Fig. 11]",
        subways::fig11::compute,
    ),
    entry(
        "subways-fig12",
        "Memcache throughput by oversubscription",
        "[subways §8.7, Fig. 12]",
        subways::fig12::compute,
    ),
];

/// The seeds a figure is computed with when nobody says.
pub const DEFAULT_SEEDS: u64 = 3;

/// The most seeds a figure is computed with.
pub const MAX_SEEDS: u64 = 1_000;

/// Ids of all figures, in the papers' order.
pub fn figure_ids() -> Vec<&'static str> {
    ENTRIES.iter().map(|entry| entry.id).collect()
}

/// All figures without computing them: `[{id, title, source}]`.
pub fn figures_json() -> String {
    let figures: Vec<Value> = ENTRIES
        .iter()
        .map(|entry| json!({"id": entry.id, "title": entry.title, "source": entry.source}))
        .collect();
    Value::Array(figures).to_string()
}

/// Computes a figure: `{id, title, rows, verdicts, series, axes, choices, provenance}`. Where it takes long, what there is
/// so far is shown in `progress.partial`: the same with `partial: true`.
///
/// # Errors
/// A finding for an id that there is not, or for seeds out of range; cancellation.
pub fn figure(id: &str, seeds: Option<u64>, progress: &Progress) -> Result<Value, PredictError> {
    let Some(entry) = ENTRIES.iter().find(|entry| entry.id == id) else {
        return Err(PredictError::Findings(vec![
            Finding::error(
                "no-such-figure",
                "figure",
                format!("There is no figure {id}."),
                format!("Use one of {}.", figure_ids().join(", ")),
            )
            .with_value(id),
        ]));
    };
    let seeds = seeds.unwrap_or(DEFAULT_SEEDS);
    if !(1..=MAX_SEEDS).contains(&seeds) {
        return Err(PredictError::Findings(vec![
            Finding::error(
                "figure-seeds",
                "seeds",
                format!("A figure is computed with 1 to {MAX_SEEDS} seeds, not {seeds}."),
                "Give a number in that range.",
            )
            .with_value(seeds)
            .with_limit(MAX_SEEDS),
        ]));
    }
    let context = Context {
        seeds,
        progress,
        entry,
    };
    let outcome = (entry.compute)(&context)?;
    Ok(Value::Object(document(entry, &outcome, seeds)))
}

fn document(entry: &Entry, outcome: &Outcome, seeds: u64) -> Map<String, Value> {
    let count = |verdict| outcome.rows.iter().filter(|row| row.verdict() == verdict).count();
    let mut document = Map::new();
    let mut put = |name: &str, value: Value| {
        document.insert(name.to_owned(), value);
    };
    put("id", json!(entry.id));
    put("title", json!(entry.title));
    put("rows", outcome.rows.iter().map(Row::document).collect());
    put(
        "verdicts",
        json!({
            "matches": count(Verdict::Matches),
            "within band": count(Verdict::WithinBand),
            "differs": count(Verdict::Differs),
        }),
    );
    put("choices", json!(outcome.choices));
    let series: Vec<Value> = outcome
        .series
        .iter()
        .map(|line| json!({"name": line.name, "x": line.x, "y": line.y, "deviation": line.deviation, "paper": line.paper}))
        .collect();
    put("series", Value::Array(series));
    if let Some(axes) = outcome.axes {
        put("axes", json!({"x": axes.x, "y": axes.y}));
    }
    put(
        "provenance",
        json!({
            "source": entry.source,
            "engine": "flow",
            "engine_version": ENGINE_VERSION,
            "seeds": (0..seeds).collect::<Vec<u64>>(),
        }),
    );
    document
}

/// Mean and standard deviation (of the sample; 0 for one value).
pub(crate) fn mean_and_deviation(sample: &[f64]) -> (f64, f64) {
    let count = sample.len().max(1) as f64;
    let mean = sample.iter().sum::<f64>() / count;
    let squares: f64 = sample.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = if sample.len() > 1 {
        (squares / (count - 1.0)).sqrt()
    } else {
        0.0
    };
    (mean, deviation)
}

/// Builds a topology from a spec that is written here.
pub(crate) fn built(spec: &Value) -> Result<Topology, PredictError> {
    let spec = TopologySpec::from_json(spec).map_err(|error| PredictError::Findings(error.findings))?;
    Topology::build(&spec).map_err(|error| PredictError::Findings(error.findings))
}

/// A figure that this engine cannot set up: a fault of its own, said as such.
pub(crate) fn setup() -> PredictError {
    PredictError::Findings(vec![Finding::error(
        "figure-setup",
        "figure",
        "The figure's network cannot be set up as the figure needs it.",
        "This is a fault of the engine: please report it.",
    )])
}
