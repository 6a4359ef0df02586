//! A sealed container's life: parts fail over years, visits repair them or nobody does.
//!
//! Inside: the catalogue of failure rates with their sources (`rates`, `failure-rates.json`), the
//! question with its checks (`spec`), the parts of a plan that can fail and what goes down with
//! each (`parts`), lifetimes and visits of one seed (`ageing`), servers and links alive over time
//! (`census`), the throughput of what is left (`throughput`) and its values between computed ones
//! (`between`), times below a floor (`floors`), what spares and visits cost (`cost`), and the
//! document (`run`, `document`).
//!
//! What is alive is exact for every seed. Throughput is the flow engine's, as in a prediction with
//! the same failures, for as many states as the question pays for. The others are on a curve with
//! the scatter of the computed ones; the document says which values are interpolated and how far
//! the curve was off for states that it was not fitted to.
//!
//! Deterministic: each part draws its lifetimes from the seed and its own number, so that the same
//! question gives the same bytes on any number of threads. Not here: plans (`plan`), routing and
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
