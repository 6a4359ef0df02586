//! A protocol's settings as data: names, units, limits and defaults, for forms and for checks.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::configuration::ConfigurationError;

/// One setting of a protocol, a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// Name in snake_case, including the unit.
    pub name: &'static str,
    /// The label in forms.
    pub title: &'static str,
    /// A description for users.
    pub description: &'static str,
    /// Whether the value is a whole number.
    #[serde(rename = "type", serialize_with = "type_name")]
    pub whole: bool,
    /// Unit for users; empty without a unit.
    pub unit: &'static str,
    /// The smallest allowed value.
    pub minimum: f64,
    /// The largest allowed value.
    pub maximum: f64,
    /// Value if the user gives none.
    pub default: f64,
    /// Source of the default: `[bcube §7.5]`, or `[ours]`.
    pub source: &'static str,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn type_name<S: serde::Serializer>(whole: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if *whole { "integer" } else { "number" })
}

/// The given settings by name.
pub type Given = BTreeMap<String, f64>;

/// All settings of a schema: given values or defaults.
///
/// Errors: a name that the schema does not have, a value out of its limits, a fraction of a whole
/// number.
pub fn read(schema: &[Setting], given: &Given) -> Result<BTreeMap<&'static str, f64>, ConfigurationError> {
    let unknown = given
        .keys()
        .find(|name| schema.iter().all(|setting| setting.name != *name));
    if let Some(name) = unknown {
        let names: Vec<&str> = schema.iter().map(|setting| setting.name).collect();
        return Err(ConfigurationError {
            field: format!("settings.{name}"),
            value: given[name].to_string(),
            limit: format!("one of {}", names.join(", ")),
            fix: "Leave it out, or choose another protocol.".to_owned(),
        });
    }
    let value = |setting: &Setting| {
        let value = given.get(setting.name).copied().unwrap_or(setting.default);
        // A NaN fails this test, as it is in no range.
        let allowed = value >= setting.minimum && value <= setting.maximum;
        if allowed && (!setting.whole || value.fract() == 0.0) {
            return Ok((setting.name, value));
        }
        let kind = if setting.whole { "a whole number, " } else { "" };
        Err(ConfigurationError {
            field: format!("settings.{}", setting.name),
            value: value.to_string(),
            limit: format!("{kind}{} to {}", setting.minimum, setting.maximum),
            fix: "Give a value within the limits, or leave it out for the default.".to_owned(),
        })
    };
    schema.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SCHEMA: &[Setting] = &[
        Setting {
            name: "period_secs",
            title: "Period",
            description: "Time between two messages.",
            whole: false,
            unit: "s",
            minimum: 0.1,
            maximum: 10.0,
            default: 1.0,
            source: "[ours]",
        },
        Setting {
            name: "tries",
            title: "Tries",
            description: "Times that a message is sent.",
            whole: true,
            unit: "",
            minimum: 1.0,
            maximum: 5.0,
            default: 2.0,
            source: "[ours]",
        },
    ];

    proptest! {
        #[test]
        fn values_within_their_limits_pass_and_no_others(period in prop::num::f64::ANY, tries in -1.0..7.0f64, whole in any::<bool>()) {
            let tries = if whole { tries.round() } else { tries };
            let given = Given::from([("period_secs".to_owned(), period), ("tries".to_owned(), tries)]);
            let allowed = (0.1..=10.0).contains(&period) && (1.0..=5.0).contains(&tries) && tries.fract() == 0.0;
            prop_assert_eq!(read(SCHEMA, &given).is_ok(), allowed);
        }
    }

    #[test]
    fn missing_settings_have_defaults_and_unknown_names_are_refused() {
        let values = read(SCHEMA, &Given::new()).unwrap();
        assert_eq!(values, BTreeMap::from([("period_secs", 1.0), ("tries", 2.0)]));
        let error = read(SCHEMA, &Given::from([("hops".to_owned(), 1.0)])).unwrap_err();
        assert_eq!(
            (error.field.as_str(), error.limit.as_str()),
            ("settings.hops", "one of period_secs, tries")
        );
    }
}
