//! Parses a specification from JSON. Unknown and missing fields, wrong types and values out of
//! range become findings with fixes.

use serde_json::{Map, Value};

use super::TopologySpec;
use crate::describe::{Description, Kind, Parameter};
use crate::family;
use crate::finding::{Finding, TopologyError};

pub(super) fn from_json(value: &Value) -> Result<TopologySpec, TopologyError> {
    let Value::Object(fields) = value else {
        return Err(fail(
            Finding::error(
                "topology-not-object",
                "topology",
                format!("The topology is {}, not an object.", kind_of(value)),
                "Write an object with \"family\" and its parameters.",
            )
            .with_fix(serde_json::json!({"topology": family::DESCRIPTIONS[0].example()})),
        ));
    };
    let description = family_of(fields)?;
    let findings = check_fields(description, fields);
    if findings.iter().any(Finding::is_error) {
        return Err(TopologyError { findings });
    }
    let rest: Map<String, Value> = fields
        .iter()
        .filter(|(name, value)| name.as_str() != "family" && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    (description.read)(Value::Object(rest)).map_err(|error| {
        fail(Finding::error(
            "topology-unreadable",
            "topology",
            format!("The {} parameters cannot be read: {error}.", description.title),
            "Compare them with the family's example.",
        ))
    })
}

fn fail(finding: Finding) -> TopologyError {
    TopologyError {
        findings: vec![finding],
    }
}

fn family_of(fields: &Map<String, Value>) -> Result<&'static Description, TopologyError> {
    let known: Vec<&str> = family::DESCRIPTIONS.iter().map(|family| family.family).collect();
    let hint = format!("Use one of {}.", known.join(", "));
    match fields.get("family") {
        Some(Value::String(name)) => family::description(name).ok_or_else(|| {
            let near = family_titled(name).unwrap_or_else(|| nearest(name, &known));
            fail(
                Finding::error(
                    "unknown-family",
                    "topology.family",
                    format!("There is no family \"{name}\"."),
                    format!("Did you mean \"{near}\"? {hint}"),
                )
                .with_value(name.as_str())
                .with_limit(known.clone())
                .with_topology_fix("family", near),
            )
        }),
        other => {
            let message = match other {
                None => "The family is missing.".to_owned(),
                Some(value) => format!("The family is {}, not a name.", kind_of(value)),
            };
            Err(fail(
                Finding::error("missing-family", "topology.family", message, hint)
                    .with_topology_fix("family", known[0]),
            ))
        }
    }
}

/// Shorter words occur in many titles, so they do not identify a family.
const SHORTEST_WORD: usize = 4;

/// The family whose title has the word: CamCube's is `torus3d`.
fn family_titled(name: &str) -> Option<&'static str> {
    let plain = |text: &str| text.to_lowercase().replace([' ', '-', '_'], "");
    let word = plain(name);
    let titled = family::DESCRIPTIONS
        .iter()
        .find(|family| plain(family.title).contains(&word));
    titled
        .filter(|_| word.len() >= SHORTEST_WORD)
        .map(|family| family.family)
}

/// Unknown and missing fields, wrong types, values out of range.
pub(super) fn check_fields(description: &'static Description, fields: &Map<String, Value>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let known: Vec<&str> = description.of_plans().map(|parameter| parameter.name).collect();
    for (name, value) in fields {
        if name != "family" && description.parameter(name).is_none() {
            findings.push(unknown_field(description, &known, name, value, fields));
        }
    }
    for parameter in description.parameters {
        match fields.get(parameter.name) {
            None | Some(Value::Null) => {
                if parameter.required {
                    findings.push(missing_field(description, parameter));
                }
            }
            Some(value) => findings.extend(check_value(parameter, value)),
        }
    }
    findings
}

fn unknown_field(
    description: &Description,
    known: &[&str],
    name: &str,
    value: &Value,
    fields: &Map<String, Value>,
) -> Finding {
    let near = nearest(name, known);
    let rename = edit_distance(name, near) <= 2 && !fields.contains_key(near);
    let mut fixes = vec![(name, Value::Null)];
    let hint = if rename {
        fixes.push((near, value.clone()));
        format!("Did you mean \"{near}\"?")
    } else {
        format!("Remove it; {} takes {}.", description.title, known.join(", "))
    };
    Finding::error(
        "unknown-parameter",
        format!("topology.{name}"),
        format!("{} has no parameter \"{name}\".", description.title),
        hint,
    )
    .with_value(value.clone())
    .with_topology_fixes(fixes)
}

fn missing_field(description: &Description, parameter: &Parameter) -> Finding {
    let example = description
        .example()
        .get(parameter.name)
        .cloned()
        .unwrap_or(Value::Null);
    Finding::error(
        "missing-parameter",
        format!("topology.{}", parameter.name),
        format!(
            "{} needs {} ({}).",
            description.title, parameter.name, parameter.title
        ),
        format!("Give {}, for example {example}.", range_text(parameter)),
    )
    .with_topology_fix(parameter.name, example)
}

fn check_value(parameter: &Parameter, value: &Value) -> Vec<Finding> {
    let field = format!("topology.{}", parameter.name);
    match (parameter.kind, value) {
        (Kind::Nodes | Kind::Links, Value::Array(rows)) => super::rows::check(parameter, rows),
        (Kind::Nodes | Kind::Links, _) => vec![super::rows::not_a_list(parameter, kind_of(value))],
        (Kind::NumberOrList | Kind::List, Value::Array(items)) => {
            if items.is_empty() {
                return vec![
                    Finding::error(
                        "empty-list",
                        field,
                        format!("{} is an empty list.", parameter.name),
                        "Give at least one value, or leave the parameter out.",
                    )
                    .with_topology_fix(parameter.name, Value::Null),
                ];
            }
            let repaired: Vec<Value> = items.iter().map(|item| repair(parameter, item)).collect();
            items
                .iter()
                .enumerate()
                .filter(|(_, item)| !in_range(parameter, item))
                .map(|(index, item)| {
                    wrong_value(
                        parameter,
                        format!("{field}[{index}]"),
                        item,
                        Value::Array(repaired.clone()),
                    )
                })
                .collect()
        }
        (Kind::List, _) => vec![wrong_value(
            parameter,
            field,
            value,
            Value::Array(vec![repair(parameter, value)]),
        )],
        _ if in_range(parameter, value) => Vec::new(),
        _ => vec![wrong_value(parameter, field, value, repair(parameter, value))],
    }
}

fn in_range(parameter: &Parameter, value: &Value) -> bool {
    let number = match parameter.kind {
        Kind::Integer | Kind::Enum(_) => value.as_u64().map(|number| number as f64),
        _ => value.as_f64(),
    };
    number.is_some_and(|number| number >= parameter.min && number <= parameter.max)
}

/// The nearest value in range; text that reads as a number counts as that number.
fn repair(parameter: &Parameter, value: &Value) -> Value {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let number = number
        .filter(|number| !number.is_nan())
        .or(parameter.default)
        .unwrap_or(parameter.min);
    let number = number.clamp(parameter.min, parameter.max);
    parameter.number_json(if matches!(parameter.kind, Kind::Integer | Kind::Enum(_)) {
        number.round()
    } else {
        number
    })
}

fn wrong_value(parameter: &Parameter, field: String, value: &Value, fix: Value) -> Finding {
    let numeric = matches!((parameter.kind, value), (Kind::Integer | Kind::Enum(_), Value::Number(number)) if !number.is_f64())
        || matches!(
            (parameter.kind, value),
            (Kind::Number | Kind::NumberOrList | Kind::List, Value::Number(_))
        );
    let code = if numeric { "out-of-range" } else { "wrong-type" };
    let shown = if value.to_string().len() <= 40 {
        value.to_string()
    } else {
        kind_of(value).to_owned()
    };
    Finding::error(
        code,
        field,
        format!(
            "{} is {shown}, but must be {}.",
            parameter.name,
            range_text(parameter)
        ),
        format!("The nearest valid value is {fix}."),
    )
    .with_value(value.clone())
    .with_limit(vec![
        parameter.number_json(parameter.min),
        parameter.number_json(parameter.max),
    ])
    .with_topology_fix(parameter.name, fix)
}

fn range_text(parameter: &Parameter) -> String {
    let (min, max) = (
        parameter.number_json(parameter.min),
        parameter.number_json(parameter.max),
    );
    match parameter.kind {
        Kind::Integer => format!("a whole number from {min} to {max}"),
        Kind::Number => format!("a number from {min} to {max}"),
        Kind::NumberOrList => format!("a number from {min} to {max}, or a list of them"),
        Kind::List => format!("a list of numbers from {min} to {max}"),
        Kind::Nodes | Kind::Links => format!("a list of {min} to {max} {}", parameter.name),
        Kind::Enum(choices) => {
            let values: Vec<String> = choices.iter().map(|(value, _)| value.to_string()).collect();
            format!("one of {}", values.join(", "))
        }
    }
}

pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

pub(super) fn nearest<'a>(name: &str, known: &[&'a str]) -> &'a str {
    known
        .iter()
        .copied()
        .min_by_key(|candidate| edit_distance(name, candidate))
        .unwrap_or_default()
}

/// Levenshtein distance, on at most 64 characters of user text so that a huge key costs nothing.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}
