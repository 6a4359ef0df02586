//! The search of the design space: finds the cheapest plan, or the Pareto front of several
//! objectives.
//!
//! Inside: the catalogue of metrics with their units (`metric`), the request with its checks
//! (`spec`), its candidates (`space`), a plan's counts, price and power (`price`), its throughput
//! after failures with upper bounds (`survive`), dominance (`front`), and the search itself
//! (`run`).
//!
//! Metrics are computed in order of their cost: closed forms in microseconds, a plan in
//! milliseconds, throughput in up to seconds. A candidate is dropped as soon as it cannot be on the
//! front, judged by bounds that hold for any routing.
//!
//! Deterministic: the same request and book give the same frames and the same document. Not here:
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
