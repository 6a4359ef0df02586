//! A fault: kind, target, times and the values of its parameters, and the only check of these
//! numbers.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::entry::FaultParameter;
use super::kinds::{CATALOG, Effect, FaultKind};
use crate::finding::Finding;

/// A failure, and possibly its recovery.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "FaultJson")]
pub struct Fault {
    /// Start of the fault, in seconds.
    pub at_secs: f64,
    /// The devices or links that fail.
    pub target: Target,
    /// The kind of fault.
    pub kind: FaultKind,
    /// The values of its parameters.
    pub values: Values,
    /// Time of the recovery; never by default.
    pub until_secs: Option<f64>,
}

/// The document of a fault. The fields of parameters are those of the catalogue.
#[derive(Deserialize)]
struct FaultJson {
    #[serde(default)]
    at_secs: f64,
    target: Target,
    #[serde(default)]
    kind: FaultKind,
    #[serde(default)]
    until_secs: Option<f64>,
    #[serde(flatten)]
    values: Map<String, Value>,
}

impl TryFrom<FaultJson> for Fault {
    type Error = String;

    fn try_from(json: FaultJson) -> Result<Fault, String> {
        Ok(Fault {
            at_secs: json.at_secs,
            target: json.target,
            kind: json.kind,
            values: Values::from_json(&json.values)?,
            until_secs: json.until_secs,
        })
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("at_secs", &self.at_secs)?;
        map.serialize_entry("target", &self.target)?;
        map.serialize_entry("kind", &self.kind)?;
        for (parameter, value) in self.values.iter() {
            map.serialize_entry(parameter.name, &value)?;
        }
        if let Some(until_secs) = self.until_secs {
            map.serialize_entry("until_secs", &until_secs)?;
        }
        map.end()
    }
}

/// The parts that fail: a random share of one kind, parts by name, or a selector in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Target {
    /// A random share of all components of one kind.
    Random(Share),
    /// Servers, switches, racks (`R07`) and links (`0132/<3,001>`) by name.
    Names(Named),
    /// As text: `10% of level-1 switches`, `5 servers`, `rack R3`, `server 0132`.
    Selector(Selected),
}

/// A share of all components of a kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The kind of part that is drawn.
    pub kind: TargetKind,
    /// The share of the parts that fail, 0 to 1.
    pub ratio: f64,
}

/// Parts selected by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Names of servers, switches, links or racks.
    pub names: Vec<String>,
}

/// Parts by a selector in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selected {
    /// The selector, in words.
    pub selector: String,
}

/// Kinds of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// Servers.
    #[serde(alias = "servers")]
    Server,
    /// Switches.
    #[serde(alias = "switches")]
    Switch,
    /// Links.
    #[serde(alias = "links")]
    Link,
    /// Racks with all devices in them.
    #[serde(alias = "racks")]
    Rack,
}

impl TargetKind {
    /// The kind with this name, in the singular or the plural.
    pub fn of_word(word: &str) -> Option<TargetKind> {
        match word {
            "server" | "servers" => Some(TargetKind::Server),
            "switch" | "switches" => Some(TargetKind::Switch),
            "link" | "links" => Some(TargetKind::Link),
            "rack" | "racks" => Some(TargetKind::Rack),
            _ => None,
        }
    }

    /// The plural, for error messages.
    pub fn plural(self) -> &'static str {
        match self {
            TargetKind::Server => "servers",
            TargetKind::Switch => "switches",
            TargetKind::Link => "links",
            TargetKind::Rack => "racks",
        }
    }
}

/// The values of parameters, each once, in any order.
#[derive(Clone, Debug, Default)]
pub struct Values(Vec<(&'static FaultParameter, f64)>);

impl PartialEq for Values {
    fn eq(&self, other: &Values) -> bool {
        self.0.len() == other.0.len()
            && self
                .iter()
                .all(|(parameter, value)| other.get(parameter.name) == Some(value))
    }
}

impl Values {
    /// The values in these fields; null counts as absent.
    ///
    /// # Errors
    /// A sentence about a field that is no parameter of any kind, or has no number.
    pub fn from_json(fields: &Map<String, Value>) -> Result<Values, String> {
        let mut values = Values::default();
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            let parameter = parameter_of(name).ok_or_else(|| format!("unknown field `{name}`"))?;
            let number = value
                .as_f64()
                .ok_or_else(|| format!("{name}: {value} is not a number"))?;
            values.set(parameter, number);
        }
        Ok(values)
    }

    /// Sets a parameter, which replaces its former value.
    pub fn set(&mut self, parameter: &'static FaultParameter, value: f64) {
        self.0.retain(|(other, _)| other.name != parameter.name);
        self.0.push((parameter, value));
    }

    /// The value of the parameter with this name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.iter()
            .find(|(parameter, _)| parameter.name == name)
            .map(|(_, value)| value)
    }

    /// Every parameter with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&'static FaultParameter, f64)> {
        self.0.iter().copied()
    }
}

fn parameter_of(name: &str) -> Option<&'static FaultParameter> {
    CATALOG
        .iter()
        .flat_map(|entry| entry.parameters.iter().chain(entry.optional))
        .find(|parameter| parameter.name == name)
}

impl FaultKind {
    /// The findings for parameters that are missing, misplaced or out of limits. `field` is the
    /// path of the fault.
    pub fn check(self, values: &Values, field: &str) -> Vec<Finding> {
        let entry = self.entry();
        let has = |name: &str| {
            entry
                .parameters
                .iter()
                .chain(entry.optional)
                .any(|own| own.name == name)
        };
        let misplaced = values
            .iter()
            .filter(|(parameter, _)| !has(parameter.name))
            .map(|(parameter, value)| self.misplaced(parameter, value, field));
        let needed = entry.parameters.iter().map(|parameter| (parameter, true));
        let optional = entry.optional.iter().map(|parameter| (parameter, false));
        let wrong = needed.chain(optional).filter_map(|(parameter, needed)| {
            let value = values.get(parameter.name);
            let name = parameter.name;
            let message = match value {
                None if needed => format!("A fault of kind {} needs {name}.", entry.name),
                Some(value) if !parameter.allows(value) => {
                    format!("{name} is {value}; it must be {}.", parameter.limits())
                }
                _ => return None,
            };
            Some(
                Finding::error(
                    "fault-parameter",
                    format!("{field}.{name}"),
                    message,
                    format!("Give {}, for example {}.", parameter.limits(), parameter.default),
                )
                .with_value(json!(value))
                .with_limit(parameter.limits()),
            )
        });
        misplaced.chain(wrong).collect()
    }

    fn misplaced(self, parameter: &FaultParameter, value: f64, field: &str) -> Finding {
        let name = parameter.name;
        let others: Vec<&str> = CATALOG
            .iter()
            .filter(|entry| entry.parameters.iter().any(|other| other.name == name))
            .map(|entry| entry.name)
            .collect();
        Finding::error(
            "fault-parameter",
            format!("{field}.{name}"),
            format!("A fault of kind {} has no parameter {name}.", self.name()),
            format!("Leave it out, or make the kind {}.", others.join(" or ")),
        )
        .with_value(json!(value))
    }
}

impl Fault {
    /// Its effect, with the values of its parameters.
    pub fn effect(&self) -> Effect {
        self.kind.effect(&self.values)
    }

    /// The findings for its times and parameters. `field` is the fault's path.
    pub fn check(&self, field: &str) -> Vec<Finding> {
        let mut findings = self.check_times(field);
        findings.extend(self.kind.check(&self.values, field));
        findings
    }

    /// The findings for its times alone.
    pub fn check_times(&self, field: &str) -> Vec<Finding> {
        let times = [("at_secs", Some(self.at_secs)), ("until_secs", self.until_secs)];
        let mut findings: Vec<Finding> = times
            .into_iter()
            .filter(|(_, value)| value.is_some_and(|value| !value.is_finite() || value < 0.0))
            .map(|(name, value)| {
                Finding::error(
                    "fault-time",
                    format!("{field}.{name}"),
                    format!("A time of {} s is not possible.", value.unwrap_or_default()),
                    "Give a time of 0 s or later.",
                )
                .with_limit(0)
            })
            .collect();
        if let Some(until_secs) = self.until_secs.filter(|until| *until < self.at_secs) {
            findings.push(
                Finding::error(
                    "fault-time",
                    format!("{field}.until_secs"),
                    "The fault ends before it begins.",
                    "Give a time after at_secs, or leave it out.",
                )
                .with_value(until_secs)
                .with_limit(self.at_secs),
            );
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{FaultTarget, LinkEffect, LinkQuality, catalog_json};

    /// A fault of each kind, with the values that its form starts with.
    fn each() -> impl Iterator<Item = Fault> {
        CATALOG.iter().map(|entry| {
            let mut document = json!({"target": {"names": ["00/<0,0>"]}, "kind": entry.kind});
            for parameter in entry.parameters.iter().chain(entry.optional) {
                document[parameter.name] = json!(parameter.default);
            }
            serde_json::from_value(document).expect("a fault")
        })
    }

    #[test]
    fn every_kind_is_read_checked_and_written() {
        for fault in each() {
            assert_eq!(fault.check("fault"), [], "{fault:?}");
            let document = serde_json::to_value(&fault).expect("JSON");
            assert_eq!(document["kind"], fault.kind.name());
            assert_eq!(serde_json::from_value::<Fault>(document).expect("a fault"), fault);
            assert_eq!(FaultKind::of_name(fault.kind.name()), Some(fault.kind));
            assert_eq!(fault.kind.entry().kind, fault.kind);
        }
    }

    #[test]
    fn every_needed_parameter_is_missed_and_has_limits() {
        for fault in each() {
            for parameter in fault.kind.entry().parameters {
                for value in [None, Some(f64::NAN), Some(parameter.maximum * 2.0), Some(-1.0)] {
                    let mut wrong = fault.clone();
                    wrong.values.0.retain(|(other, _)| other.name != parameter.name);
                    if let Some(value) = value {
                        wrong.values.set(parameter, value);
                    }
                    let findings = wrong.check("fault");
                    assert_eq!(findings.len(), 1, "{findings:?}");
                    assert_eq!(findings[0].field, format!("fault.{}", parameter.name));
                }
                let mut plain = fault.clone();
                plain.kind = FaultKind::Down;
                assert_eq!(plain.check("fault").len(), fault.kind.entry().parameters.len());
            }
        }
        let unknown = json!({"target": {"names": ["x"]}, "color": 1});
        assert!(serde_json::from_value::<Fault>(unknown).is_err());
    }

    #[test]
    fn entries_are_consistent() {
        for fault in each() {
            let (entry, name) = (fault.kind.entry(), fault.kind.name());
            assert!(!entry.title.is_empty() && entry.summary.ends_with('.'), "{name}");
            assert_eq!(
                entry.target == FaultTarget::Any,
                entry.stands_for.is_some(),
                "{name}"
            );
            assert!(
                entry.effect.process.is_none() || entry.target == FaultTarget::Server,
                "{name}"
            );
            assert_eq!(entry.carries(), !entry.parameters.is_empty(), "{name}");
            if let LinkEffect::Degraded(quality) = fault.effect().links {
                assert_ne!(
                    quality,
                    LinkQuality::WHOLE,
                    "{name}: its parameters have no effect"
                );
            }
            for target in [FaultTarget::Server, FaultTarget::Switch, FaultTarget::Link] {
                let exact = fault.kind.exact(target).entry();
                assert!(exact.target == target || exact.kind == fault.kind, "{name}");
                assert_eq!(exact.effect.links, entry.effect.links, "{name}");
            }
        }
    }

    #[test]
    fn the_document_has_the_agreed_fields() {
        let document = catalog_json();
        let rate = document
            .as_array()
            .and_then(|kinds| kinds.iter().find(|kind| kind["name"] == "link-rate"))
            .expect("link-rate");
        assert_eq!(rate["target"], "link");
        assert_eq!(rate["silent"], true);
        assert_eq!(rate["predicted"], true);
        assert_eq!(rate["parameters"][0]["name"], "rate_bits_per_sec");
        assert_eq!(rate["parameters"][0]["unit"], "bit/s");
        assert_eq!(document[0]["stands_for"]["switch"], "switch-off");
        let limits = |kind: FaultKind| kind.entry().parameters[0].limits();
        assert_eq!(limits(FaultKind::LinkRate), "1e4 to 1e12 bit/s");
        assert_eq!(limits(FaultKind::LinkLoss), "0 to 1");
        assert_eq!(limits(FaultKind::LinkDelay), "0 to 10 s");
    }
}
