//! The search of the design space: which plan is cheapest, or which plans are on the front of
//! several objectives.
//!
//! Inside: the catalogue of metrics with their units (`metric`), the question with its checks
//! (`spec`), the candidates that it stands for (`space`), what a plan's counts, price and power are
//! (`price`), what of its throughput survives and what it can be at most (`survive`), dominance
//! (`front`), and the search that puts them in order (`run`).
//!
//! Metrics are worked out in the order of what they cost: closed forms in microseconds, a plan in
//! milliseconds, throughput in up to seconds. A candidate goes on only while it can still be on the
//! front, judged by bounds that hold for any routing.
//!
//! Deterministic: the same question and book give the same frames and the same document. Not here:
//! plans and predictions themselves (`plan`, `sim`).

pub mod front;
pub mod metric;
mod only_path;
mod price;
pub mod run;
pub mod space;
pub mod spec;
mod survive;

pub use metric::{METRICS, Metric, Stage, metrics_json};
pub use run::search;
pub use spec::SearchSpec;
