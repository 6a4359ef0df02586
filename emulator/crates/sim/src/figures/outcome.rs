//! The result of a figure's computation: our numbers, the paper's, verdicts, and the lines of the
//! chart.

use serde_json::{Value, json};

/// How our value compares with the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Equal to the printed digits.
    Matches,
    /// The difference is within the band.
    WithinBand,
    /// The paper states a bound, and our value satisfies it.
    BoundHolds,
    /// Outside the band, or on the wrong side of the bound.
    Differs,
}

impl Verdict {
    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Matches => "matches",
            Verdict::WithinBand => "within band",
            Verdict::BoundHolds => "bound holds",
            Verdict::Differs => "differs",
        }
    }
}

/// The origin of a row's band. One rule holds for all figures. A band is half a unit of the last
/// printed digit. For random values, add [`SPREADS`] standard deviations over seeds, because the
/// paper's number is one more draw. For a testbed or a packet simulator that we compute as an ideal
/// fluid, add [`MODEL_SHARE`] of the paper's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Band {
    /// The paper states a bound, not a value to reproduce.
    pub bound: bool,
    /// The values are drawn.
    pub drawn: bool,
    /// The paper measured or simulated packets.
    pub fluid: bool,
}

impl Band {
    /// The name in documents.
    pub fn origin(self) -> &'static str {
        match (self.bound, self.fluid, self.drawn) {
            (true, ..) => "the paper's bound",
            (_, true, true) => "print, 10 % for an ideal fluid, and 3 standard deviations over seeds",
            (_, true, false) => "print, and 10 % for an ideal fluid",
            (_, false, true) => "print, and 3 standard deviations over seeds",
            _ => "print",
        }
    }
}

/// Standard deviations over seeds by which a drawn number may differ.
const SPREADS: f64 = 3.0;

/// Share of the paper's value by which an ideal fluid may differ from packets, without headers, TCP
/// and queues.
const MODEL_SHARE: f64 = 0.1;

/// One published number, and ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The quantity's name.
    pub name: String,
    /// The paper's value as printed.
    pub paper: f64,
    /// As computed: the mean over seeds where anything is drawn.
    pub ours: f64,
    /// Standard deviation over seeds.
    pub deviation: Option<f64>,
    /// The unit of both values.
    pub unit: &'static str,
    /// The last printed digit's worth: half of it either way is still the same print.
    pub step: f64,
    /// Least value of the band.
    pub low: f64,
    /// Greatest value of the band.
    pub high: f64,
    /// The origin of the band.
    pub band: Band,
    /// Why our value may differ from the paper's; empty if it may not.
    pub reason: &'static str,
}

impl Row {
    /// A number that should match the printed digits.
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
            band: Band::default(),
            reason: "",
        }
    }

    /// A bound: our value should not exceed the paper's.
    pub fn at_most(name: impl Into<String>, unit: &'static str, paper: f64, ours: f64) -> Row {
        Row {
            low: f64::NEG_INFINITY,
            high: paper,
            reason: "the paper gives a bound",
            band: Band {
                bound: true,
                ..Band::default()
            },
            ..Row::printed(name, unit, paper, 0.0, ours)
        }
    }

    /// A bound: ours should be no less than the paper's number.
    pub fn at_least(name: impl Into<String>, unit: &'static str, paper: f64, ours: f64) -> Row {
        Row {
            low: paper,
            high: f64::INFINITY,
            ..Row::at_most(name, unit, paper, ours)
        }
    }

    /// The paper's number is of packets, ours of an ideal fluid.
    #[must_use]
    pub fn of_packets(mut self) -> Row {
        self.band.fluid = true;
        let share = MODEL_SHARE * self.paper.abs();
        self.widen(share)
    }

    fn widen(mut self, by: f64) -> Row {
        (self.low, self.high) = (self.low - by, self.high + by);
        self
    }

    /// Adds the reason for a difference.
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
        if self.band.bound {
            return self;
        }
        self.band.drawn = true;
        self.widen(SPREADS * deviation)
    }

    /// The result of comparing our value with the paper's.
    pub fn verdict(&self) -> Verdict {
        let slack = 1e-9 * self.paper.abs().max(1.0);
        if self.band.bound {
            return if (self.low - slack..=self.high + slack).contains(&self.ours) {
                Verdict::BoundHolds
            } else {
                Verdict::Differs
            };
        }
        if (self.ours - self.paper).abs() <= self.step / 2.0 + slack {
            Verdict::Matches
        } else if (self.low - slack..=self.high + slack).contains(&self.ours) {
            Verdict::WithinBand
        } else {
            Verdict::Differs
        }
    }

    pub(super) fn document(&self) -> Value {
        let verdict = self.verdict();
        let mut row = json!({
            "name": self.name,
            "paper": self.paper,
            "ours": self.ours,
            "unit": self.unit,
            // A bound has one end: null for the other.
            "low": self.low.is_finite().then_some(self.low),
            "high": self.high.is_finite().then_some(self.high),
            "band": self.band.origin(),
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
    /// The name in the chart's legend.
    pub name: String,
    /// Along the axis below.
    pub x: Vec<f64>,
    /// The mean over seeds at each point.
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
    /// The title of the horizontal axis.
    pub x: &'static str,
    /// The title of the vertical axis.
    pub y: &'static str,
}

/// The result of a figure's computation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Published numbers next to ours.
    pub rows: Vec<Row>,
    /// The lines of the chart.
    pub series: Vec<Series>,
    /// The titles of the chart's axes, if there is a chart.
    pub axes: Option<Axes>,
    /// Choices that the paper leaves open.
    pub choices: Vec<&'static str>,
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
