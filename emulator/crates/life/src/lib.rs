//! The life of a sealed container: parts fail over years, and visits repair them, if there are any.
//!
//! Inside: the catalogue of failure rates with their sources (`rates`, `failure-rates.json`), the
//! request with its checks (`spec`), the parts of a plan that can fail and the devices or links
//! that each takes down (`parts`), lifetimes and visits of one seed (`ageing`), servers and links
//! alive over time (`census`), the remaining throughput (`throughput`) and its interpolation
//! (`between`), times below a floor (`floors`), the cost of spares and visits (`cost`), and the
//! document (`run`, `document`).
//!
//! The set of live parts is exact for every seed. The flow engine computes the throughput, as in a
//! prediction with the same failures, for the number of states that the request allows. Other
//! states are interpolated with the scatter of the computed ones; the document marks interpolated
//! values and states the curve's error for states left out of its fit.
//!
//! Deterministic: each part draws its lifetimes from the seed and its own number, so that the same
//! request gives the same bytes on any number of threads. Not here: plans (`plan`), routing and
//! flows (`sim`).

mod ageing;
mod between;
mod census;
mod cost;
mod document;
mod floors;
mod parts;
mod rates;
mod run;
mod spec;
mod throughput;

pub use ageing::{Life, UnitKind};
pub use between::Between;
pub use parts::Parts;
pub use rates::{RATES, Rate, rates_json};
pub use run::{Prepared, live};
pub use spec::{LifeSpec, Policy};
