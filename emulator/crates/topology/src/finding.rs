//! Findings: errors and warnings about a specification, in the user's words.

use serde::Serialize;
use serde_json::{Map, Value};

/// How bad a finding is. Only `Error` stops a topology from being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing can be built until this is changed.
    Error,
    /// It can be built, but is probably a mistake.
    Warning,
    /// Useful information; no action is needed.
    Info,
}

/// How to keep the plan as it is, by accepting the excess in the spec: no repair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Acceptance {
    /// The button's label, for example `Accept 67 %`.
    pub label: String,
    /// JSON merge patch (RFC 7396) that sets the limit in the plan specification, under the limit's
    /// own name.
    pub patch: Value,
}

/// One remark on a specification: where, what, the limit, how to repair it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Stable machine word, for example `bcube-servers-not-whole`.
    pub code: &'static str,
    /// Path of the field in the plan specification, for example `topology.n`.
    #[serde(rename = "where")]
    pub field: String,
    /// The problem: names the field, the value and the limit.
    pub message: String,
    /// The suggested fix, for users.
    pub hint: String,
    /// JSON merge patch (RFC 7396) on the plan specification that repairs it in one click.
    pub fix: Option<Value>,
    /// How to accept it as it is, for limits that a planner may exceed on purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept: Option<Acceptance>,
    /// The offending value, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The limit that it exceeds, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Value>,
}

/// A number as text: with an exponent only if it has many digits.
pub fn number_text(value: f64) -> String {
    let plain = value == 0.0 || (1e-4..1e7).contains(&value.abs());
    if plain {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

impl Finding {
    /// A finding without value, limit or fix; add them with the `with_` methods.
    pub fn new(
        severity: Severity,
        code: &'static str,
        field: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Finding {
        Finding {
            severity,
            code,
            field: field.into(),
            message: message.into(),
            hint: hint.into(),
            fix: None,
            accept: None,
            value: None,
            limit: None,
        }
    }

    /// A finding of severity `error`, without a fix.
    pub fn error(
        code: &'static str,
        field: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Finding {
        Finding::new(Severity::Error, code, field, message, hint)
    }

    /// A finding of severity `warning`, without a fix.
    pub fn warning(
        code: &'static str,
        field: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Finding {
        Finding::new(Severity::Warning, code, field, message, hint)
    }

    /// A finding of severity `info`, without a fix.
    pub fn info(
        code: &'static str,
        field: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Finding {
        Finding::new(Severity::Info, code, field, message, hint)
    }

    /// An error: a field whose JSON cannot be read, with the reader's message without its position
    /// in an internal text.
    pub fn unreadable(code: &'static str, field: impl Into<String>, error: &serde_json::Error) -> Finding {
        let field = field.into();
        let said = error.to_string();
        let what = said
            .rfind(" at line ")
            .map_or(said.as_str(), |place| &said[..place]);
        let message = format!("{field} cannot be read: {what}.");
        let hint = "Correct the value, or leave the field out for its default.";
        Finding::error(code, field, message, hint)
    }

    /// Adds a merge patch on the plan specification.
    #[must_use]
    pub fn with_fix(mut self, patch: Value) -> Finding {
        self.fix = Some(patch);
        self
    }

    /// Adds the way to accept it as it is.
    #[must_use]
    pub fn with_acceptance(mut self, label: impl Into<String>, patch: Value) -> Finding {
        self.accept = Some(Acceptance {
            label: label.into(),
            patch,
        });
        self
    }

    /// Adds the merge patch that sets one topology parameter.
    #[must_use]
    pub fn with_topology_fix(self, parameter: &str, value: impl Into<Value>) -> Finding {
        self.with_topology_fixes([(parameter, value.into())])
    }

    /// Adds the merge patch that sets several topology parameters at once.
    #[must_use]
    pub fn with_topology_fixes<'a>(self, values: impl IntoIterator<Item = (&'a str, Value)>) -> Finding {
        let parameters: Map<String, Value> = values
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        self.with_fix(serde_json::json!({ "topology": parameters }))
    }

    /// Adds the offending value.
    #[must_use]
    pub fn with_value(mut self, value: impl Into<Value>) -> Finding {
        self.value = Some(value.into());
        self
    }

    /// Adds the limit it broke.
    #[must_use]
    pub fn with_limit(mut self, limit: impl Into<Value>) -> Finding {
        self.limit = Some(limit.into());
        self
    }

    /// Whether this finding stops the build.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Why a topology could not be built: at least one error among the findings.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyError {
    /// All findings, errors first met first.
    pub findings: Vec<Finding>,
}

impl std::fmt::Display for TopologyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut first = true;
        for finding in self.findings.iter().filter(|finding| finding.is_error()) {
            if !first {
                f.write_str("; ")?;
            }
            first = false;
            write!(f, "{}: {} {}", finding.field, finding.message, finding.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for TopologyError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_said_without_a_place_in_the_text() {
        let error = serde_json::from_str::<Colour>("\"red\"").unwrap_err();
        let finding = Finding::unreadable("code", "packet.colour", &error);
        assert_eq!(
            finding.message,
            "packet.colour cannot be read: unknown variant `red`, expected `green` or `blue`."
        );
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 1e6, 0.05, 1e308, -2.5, 1e-9].map(number_text);
        assert_eq!(texts, ["0", "1000000", "0.05", "1e308", "-2.5", "1e-9"]);
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Green,
        Blue,
    }
}
