//! Failure rates of parts: the catalogue, with the source, date and confidence of each rate.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A kind of part that fails. The order is that of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub(crate) enum PartKind {
    Server,
    Disk,
    Memory,
    Psu,
    Fan,
    Nic,
    Switch,
    Port,
    Cable,
    Optic,
    Pdu,
}

/// Number of kinds of parts.
pub(crate) const KINDS: usize = 11;

/// The annual failure rate of a kind of part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// The kind's name in requests.
    pub part: String,
    /// The kind's name for people.
    pub title: String,
    /// The unit that contains the part: `server`, `switch`, `port`, `cable` or `pdu`.
    pub unit: String,
    /// The share of new parts that fail within their first year of use.
    pub afr: f64,
    /// `published` or `assumed`, as in price books.
    pub basis: String,
    /// `high`: measured on many parts like this; `medium`: derived from such a measurement; `low`:
    /// our estimate or split.
    pub confidence: String,
    /// The date of the source, ISO.
    pub date: String,
    /// The publication from which the rate comes.
    pub source: String,
    /// How the value is derived from the source.
    pub note: String,
}

/// The built-in catalogue of failure rates.
pub static RATES: LazyLock<Vec<Rate>> = LazyLock::new(|| {
    // The embedded text is checked by a test, so that a failure here cannot be seen by a user.
    serde_json::from_str(include_str!("failure-rates.json")).unwrap_or_default()
});

/// The catalogue as JSON.
pub fn rates_json() -> Value {
    json!(*RATES)
}

/// A lifetime's distribution: exponential, or Weibull with a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lifetime {
    scale_months: f64,
    one_over_shape: f64,
}

impl Lifetime {
    /// The share `afr` of new parts fails within the first year, at `factor` times the hazard.
    /// Infinite if that share is 0.
    ///
    /// A Weibull lifetime has the survival `exp(-(t / scale)^shape)`; shape 1 is the exponential
    /// one.
    pub fn new(afr: f64, factor: f64, shape: f64) -> Lifetime {
        // For a rate of 0 the logarithm is a negative zero.
        let hazard_of_a_year = ((1.0 - afr).ln() * factor).abs();
        Lifetime {
            scale_months: 12.0 / hazard_of_a_year.powf(1.0 / shape),
            one_over_shape: 1.0 / shape,
        }
    }

    /// The lifetime at a uniform draw in `0..1`, in months.
    #[inline]
    pub fn months(self, unit: f64) -> f64 {
        if self.scale_months.is_infinite() {
            return f64::INFINITY;
        }
        let hazard = -(1.0 - unit).ln();
        if self.one_over_shape == 1.0 {
            self.scale_months * hazard
        } else {
            self.scale_months * hazard.powf(self.one_over_shape)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_names_every_kind_in_order_with_its_source() {
        let all = [
            PartKind::Server,
            PartKind::Disk,
            PartKind::Memory,
            PartKind::Psu,
            PartKind::Fan,
            PartKind::Nic,
            PartKind::Switch,
            PartKind::Port,
            PartKind::Cable,
            PartKind::Optic,
            PartKind::Pdu,
        ];
        assert_eq!(RATES.len(), KINDS);
        for (rate, kind) in RATES.iter().zip(all) {
            assert_eq!(json!(kind), json!(rate.part));
            assert_eq!(
                kind as usize,
                RATES.iter().position(|one| one.part == rate.part).unwrap()
            );
            assert!(rate.afr > 0.0 && rate.afr < 0.2, "{}", rate.part);
            assert!(["published", "assumed"].contains(&rate.basis.as_str()));
            assert!(["high", "medium", "low"].contains(&rate.confidence.as_str()));
            assert!(rate.date.len() == 10 && !rate.source.is_empty());
            assert_eq!(
                rate.basis == "assumed",
                rate.source.starts_with("[ours]"),
                "{}",
                rate.part
            );
        }
    }

    /// A link of two ports, two optics and a cable fails as often as published: 0.057 % a month.
    #[test]
    fn the_split_of_a_link_adds_up_to_what_is_published() {
        let afr = |part: &str| RATES.iter().find(|rate| rate.part == part).unwrap().afr;
        let link = 2.0 * afr("port") + 2.0 * afr("optic") + afr("cable");
        assert!((link - 12.0 * 0.000_57).abs() < 1e-4);
        assert!((afr("server") + afr("psu") + afr("fan") - 0.08 * 0.18).abs() < 1e-4);
    }

    #[test]
    fn the_first_year_takes_the_rate_whatever_the_shape() {
        for shape in [0.7, 1.0, 3.0] {
            let lifetime = Lifetime::new(0.02, 1.0, shape);
            // The draw at which 2 % have failed is the lifetime of a year.
            assert!((lifetime.months(0.02) - 12.0).abs() < 1e-9);
        }
        assert_eq!(Lifetime::new(0.0, 1.0, 1.0).months(0.99), f64::INFINITY);
        assert_eq!(Lifetime::new(0.1, 0.0, 2.0).months(0.0), f64::INFINITY);
    }
}
