//! Published figures and tables, recomputed and compared with the paper's values, one file per
//! figure.
//!
//! The paper's values are stored; ours are computed at every call. The band of a row is the
//! difference from the paper up to which a value still counts as the same. One rule gives the bands
//! of all rows (see [`Band`]): the paper's rounding, the spread over seeds, a share for ideal
//! fluids, or a bound in the paper. A figure lists the choices made where its paper is silent.
//!
//! Inside: rows, series and verdicts (`outcome`), the list of figures (`catalog`), their documents
//! (here), one file a figure, folders for the papers with several services or structures
//! (`camcube/`, `subways/`), and the testbed that figures share (`testbed`, and packet by packet
//! `testbed_packets`).
//!
//! Not here: figures measured with real packets; they belong to the backend.

mod bcube_fig10;
mod bcube_fig11;
mod bcube_fig8;
mod bcube_links;
mod bcube_packaging;
mod bcube_packets;
mod bcube_table1;
mod bcube_table2;
mod camcube;
mod catalog;
mod dcell_fig12;
mod dcell_fig9;
mod dcell_table2;
mod dcell_table3;
mod dcell_table3_others;
mod outcome;
mod serverswitch_fig11;
mod subways;
mod testbed;
mod testbed_packets;

use std::ops::{Range, RangeInclusive};
use std::sync::atomic::Ordering;

use cubeyard_plan::summary::ENGINE_VERSION;
use cubeyard_topology::{Finding, Topology, TopologySpec};
use serde_json::{Map, Value, json};

use crate::count::{Cancelled, Progress};
use crate::engine::PredictError;
pub(crate) use camcube::used_live;
use catalog::{ENTRIES, Entry};
pub(crate) use outcome::mean_and_deviation;
pub use outcome::{Axes, Band, Outcome, Row, Series, Verdict};

/// The inputs and progress of a figure's computation.
pub struct Context<'a> {
    /// Number of seeds of all random draws.
    pub seeds: u64,
    /// The first of them.
    pub first_seed: u64,
    /// All of the paper's data, where a part of it would do.
    pub whole: bool,
    /// Servers along each axis of the torus, if not the paper's.
    pub torus_side: Option<u32>,
    /// Shared with the thread that waits.
    pub progress: &'a Progress,
    entry: &'static Entry,
}

impl Context<'_> {
    /// The seeds of everything drawn.
    pub fn seeds(&self) -> Range<u64> {
        self.first_seed..self.first_seed + self.seeds
    }

    /// One of this number of equal parts of the paper's data is simulated; 1: all of it.
    pub fn parts(&self) -> u64 {
        if self.whole { 1 } else { self.entry.parts }
    }

    /// `part` if a part of the data is simulated, `whole` otherwise.
    pub fn of_data(&self, part: &'static str, whole: &'static str) -> &'static str {
        if self.parts() == 1 { whole } else { part }
    }

    /// Shows what there is of the figure so far: lines that grow, and the numbers already reached.
    pub fn show(&self, outcome: &Outcome) {
        let mut document = document(self, outcome);
        document.insert("partial".to_owned(), json!(true));
        self.progress.show(Value::Object(document).to_string());
    }

    /// Announces the amount of work to the progress display.
    pub fn expect(&self, units: u64) {
        self.progress.total.store(units, Ordering::Relaxed);
    }

    /// One more of the expected units is done.
    ///
    /// # Errors
    /// After a cancellation.
    pub fn did_one(&self) -> Result<(), Cancelled> {
        self.progress.done.fetch_add(1, Ordering::Relaxed);
        if self.progress.cancelled.load(Ordering::Relaxed) {
            return Err(Cancelled);
        }
        Ok(())
    }
}

/// Allowed numbers of servers along an axis of the torus.
const TORUS_SIDES: RangeInclusive<u32> = 3..=20;

/// The most seeds a figure is computed with.
pub const MAX_SEEDS: u64 = 1_000;

/// Ids of all figures, in the papers' order.
pub fn figure_ids() -> Vec<&'static str> {
    ENTRIES.iter().map(|entry| entry.id).collect()
}

/// All figures without computing them: `[{id, title, source, parts}]`; by default, one of `parts`
/// equal parts of the paper's data is simulated.
pub fn figures_json() -> String {
    let figures: Vec<Value> = ENTRIES
        .iter()
        .map(|entry| json!({"id": entry.id, "title": entry.title, "source": entry.source, "parts": entry.parts}))
        .collect();
    Value::Array(figures).to_string()
}

/// The options of a figure.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    /// Number of seeds; `None`: the figure's default.
    pub seeds: Option<u64>,
    /// The first of them.
    pub first_seed: u64,
    /// All of the paper's data, for a figure that simulates a part of it otherwise.
    pub whole: bool,
    /// Servers along each axis, for figures of services on a torus, to compare them with a
    /// measurement of that size.
    pub torus_side: Option<u32>,
}

/// Computes a figure: `{id, title, rows, verdicts, series, axes, choices, provenance}`. For long
/// computations, the results so far are in `progress.partial`: the same with `partial: true`.
///
/// # Errors
/// A finding for an id that there is not, for seeds or a side out of range, or for the whole data
/// of a figure that always has it; cancellation.
pub fn figure(id: &str, asked: Asked, progress: &Progress) -> Result<Value, PredictError> {
    let Some(entry) = ENTRIES.iter().find(|entry| entry.id == id) else {
        return Err(refused(
            Finding::error(
                "no-such-figure",
                "figure",
                format!("There is no figure {id}."),
                format!("Use one of {}.", figure_ids().join(", ")),
            )
            .with_value(id),
        ));
    };
    let seeds = asked.seeds.unwrap_or(entry.seeds);
    if !(1..=MAX_SEEDS).contains(&seeds) {
        return Err(refused(
            Finding::error(
                "figure-seeds",
                "seeds",
                format!("A figure is computed with 1 to {MAX_SEEDS} seeds, not {seeds}."),
                "Give a number in that range.",
            )
            .with_value(seeds)
            .with_limit(MAX_SEEDS),
        ));
    }
    if asked.whole && entry.parts == 1 {
        return Err(refused(
            Finding::error(
                "figure-whole",
                "whole",
                format!("Figure {id} is always computed with all of its data."),
                "Leave `whole` out.",
            )
            .with_value(true),
        ));
    }
    if let Some(side) = asked.torus_side
        && !(entry.source.contains("camcube §3") && TORUS_SIDES.contains(&side))
    {
        return Err(refused(
            Finding::error(
                "figure-side",
                "torus_side",
                format!("Figure {id} is not computed on a torus with {side} servers along each axis."),
                "Give 3 to 20 for a figure of a torus's services, or leave it out.",
            )
            .with_value(side),
        ));
    }
    let context = Context {
        seeds,
        torus_side: asked.torus_side,
        first_seed: asked.first_seed,
        whole: asked.whole,
        progress,
        entry,
    };
    let outcome = (entry.compute)(&context)?;
    Ok(Value::Object(document(&context, &outcome)))
}

fn refused(finding: Finding) -> PredictError {
    PredictError::Findings(vec![finding])
}

fn document(context: &Context<'_>, outcome: &Outcome) -> Map<String, Value> {
    let entry = context.entry;
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
            "bound holds": count(Verdict::BoundHolds),
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
    let mut provenance = json!({
        "source": entry.source,
        "engine": entry.engine.engine().name(),
        "engine_version": ENGINE_VERSION,
        "seeds": context.seeds().collect::<Vec<u64>>(),
    });
    if entry.parts > 1 {
        provenance["parts"] = json!(context.parts());
    }
    put("provenance", provenance);
    document
}

/// Builds a topology from a spec that is written here.
pub(crate) fn built(spec: &Value) -> Result<Topology, PredictError> {
    let spec = TopologySpec::from_json(spec).map_err(|error| PredictError::Findings(error.findings))?;
    Topology::build(&spec).map_err(|error| PredictError::Findings(error.findings))
}

/// A figure that this engine cannot set up: an internal error, reported as such.
pub(crate) fn setup() -> PredictError {
    PredictError::Findings(vec![Finding::error(
        "figure-setup",
        "figure",
        "The figure's network cannot be set up as the figure needs it.",
        "This is a fault of the engine: please report it.",
    )])
}
