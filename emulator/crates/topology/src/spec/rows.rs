//! Lists of nodes and links in JSON: each row's fields and types, with findings that name the row.
//!
//! Not here: whether the rows fit together (`family/custom/`).

use serde_json::{Map, Value, json};

use super::read::{kind_of, nearest};
use crate::describe::{Kind, Parameter};
use crate::finding::Finding;

/// The largest number of findings of a list; the fix of the first repairs all rows.
pub(crate) const FINDINGS_AT_MOST: usize = 20;
/// Greatest tier of a switch.
pub(crate) const TIER_AT_MOST: u8 = 15;
/// Slowest and fastest link, in Gb/s.
pub(crate) const GBPS: [f64; 2] = [0.001, 1600.0];

/// The type of a field of a row.
#[derive(Clone, Copy)]
enum Field {
    Text,
    Role,
    Tier,
    Gbps,
}

/// Fields by name, with whether they are needed.
const NODE: &[(&str, Field, bool)] = &[
    ("name", Field::Text, true),
    ("role", Field::Role, true),
    ("tier", Field::Tier, false),
];
const LINK: &[(&str, Field, bool)] = &[
    ("a", Field::Text, true),
    ("b", Field::Text, true),
    ("gbps", Field::Gbps, false),
    ("a_port", Field::Text, false),
    ("b_port", Field::Text, false),
];

fn fields_of(parameter: &Parameter) -> &'static [(&'static str, Field, bool)] {
    if parameter.kind == Kind::Nodes { NODE } else { LINK }
}

impl Field {
    fn takes(self, value: &Value) -> bool {
        match self {
            Field::Text => value.is_string(),
            Field::Role => matches!(value.as_str(), Some("server" | "switch")),
            Field::Tier => value.as_u64().is_some_and(|tier| tier <= u64::from(TIER_AT_MOST)),
            Field::Gbps => value
                .as_f64()
                .is_some_and(|gbps| (GBPS[0]..=GBPS[1]).contains(&gbps)),
        }
    }

    fn limit(self) -> Value {
        match self {
            Field::Text => json!("text"),
            Field::Role => json!(["server", "switch"]),
            Field::Tier => json!([0, TIER_AT_MOST]),
            Field::Gbps => json!(GBPS),
        }
    }

    fn words(self) -> String {
        match self {
            Field::Text => "text".to_owned(),
            Field::Role => "\"server\" or \"switch\"".to_owned(),
            Field::Tier => format!("a whole number from 0 to {TIER_AT_MOST}"),
            Field::Gbps => format!("a number from {} to {}", GBPS[0], GBPS[1]),
        }
    }

    fn schema(self) -> Value {
        match self {
            Field::Text => json!({"type": "string", "minLength": 1, "maxLength": 63}),
            Field::Role => json!({"enum": ["server", "switch"]}),
            Field::Tier => json!({"type": "integer", "minimum": 0, "maximum": TIER_AT_MOST}),
            Field::Gbps => json!({"type": "number", "minimum": GBPS[0], "maximum": GBPS[1]}),
        }
    }
}

/// JSON schema of a list.
pub(crate) fn schema(parameter: Parameter) -> Value {
    let fields = fields_of(&parameter);
    let properties: Map<String, Value> = fields
        .iter()
        .map(|&(name, field, _)| (name.to_owned(), field.schema()))
        .collect();
    let required: Vec<&str> = fields.iter().filter(|row| row.2).map(|row| row.0).collect();
    json!({
        "type": "array",
        "minItems": parameter.min as u64,
        "maxItems": parameter.max as u64,
        "items": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        },
    })
}

/// The finding for a value that is not a list.
pub(super) fn not_a_list(parameter: &Parameter, kind: &str) -> Finding {
    let name = parameter.name;
    Finding::error(
        "wrong-type",
        format!("topology.{name}"),
        format!("{name} is {kind}, but must be a list of objects."),
        format!(
            "Give a list of {} to {} {name}.",
            parameter.min as u64, parameter.max as u64
        ),
    )
    .with_limit(vec![parameter.min as u64, parameter.max as u64])
    .with_topology_fix(name, example(parameter))
}

/// A list that is valid alone.
fn example(parameter: &Parameter) -> Value {
    if parameter.kind == Kind::Nodes {
        json!([{"name": "server-1", "role": "server"}])
    } else {
        json!([])
    }
}

/// The errors in the rows, each as a finding with the row's path.
pub(super) fn check(parameter: &Parameter, rows: &[Value]) -> Vec<Finding> {
    let (name, fields) = (parameter.name, fields_of(parameter));
    let (least, most) = (parameter.min as usize, parameter.max as usize);
    if rows.len() > most || rows.len() < least {
        let fix = match rows.len() > most {
            true => json!(&rows[..most]),
            false => example(parameter),
        };
        let finding = Finding::error(
            "out-of-range",
            format!("topology.{name}"),
            format!("{name} has {} rows, but must have {least} to {most}.", rows.len()),
            "Plan a part of the network, or use a family, which needs no list.",
        );
        return vec![
            finding
                .with_value(rows.len())
                .with_limit(vec![least, most])
                .with_topology_fix(name, fix),
        ];
    }
    let mut findings: Vec<Finding> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let path = format!("topology.{name}[{index}]");
        match row {
            Value::Object(row) => check_row(&path, row, fields, &mut findings),
            other => findings.push(
                Finding::error(
                    "wrong-type",
                    path,
                    format!("{name}[{index}] is {}, but must be an object.", kind_of(other)),
                    "Write an object, or remove the row.",
                )
                .with_limit("object"),
            ),
        }
        if findings.len() >= FINDINGS_AT_MOST {
            findings.truncate(FINDINGS_AT_MOST);
            break;
        }
    }
    if let Some(first) = findings.first_mut() {
        let mut repaired: Vec<Value> = rows.iter().filter_map(|row| repair(row, fields)).collect();
        if repaired.len() < least {
            repaired = example(parameter).as_array().cloned().unwrap_or_default();
        }
        *first = first.clone().with_topology_fix(name, repaired);
    }
    findings
}

fn check_row(
    path: &str,
    row: &Map<String, Value>,
    fields: &'static [(&'static str, Field, bool)],
    findings: &mut Vec<Finding>,
) {
    let known: Vec<&str> = fields.iter().map(|field| field.0).collect();
    for (name, value) in row {
        if !known.contains(&name.as_str()) {
            let finding = Finding::error(
                "unknown-parameter",
                format!("{path}.{name}"),
                format!("A row has no field \"{name}\"."),
                format!(
                    "Did you mean \"{}\"? There are {}.",
                    nearest(name, &known),
                    known.join(", ")
                ),
            );
            findings.push(finding.with_value(value.clone()).with_limit(known.clone()));
        }
    }
    for &(name, field, required) in fields {
        let message = match row.get(name) {
            None | Some(Value::Null) if required => format!("{name} is missing."),
            None | Some(Value::Null) => continue,
            Some(value) if field.takes(value) => continue,
            Some(Value::String(text)) if text.len() <= 40 => {
                format!("{name} is \"{text}\", but must be {}.", field.words())
            }
            Some(Value::Number(number)) => format!("{name} is {number}, but must be {}.", field.words()),
            Some(value) => format!("{name} is {}, but must be {}.", kind_of(value), field.words()),
        };
        let finding = Finding::error(
            if row.contains_key(name) {
                "wrong-type"
            } else {
                "missing-parameter"
            },
            format!("{path}.{name}"),
            message,
            format!("Give {}.", field.words()),
        );
        let finding = finding.with_limit(field.limit());
        findings.push(match row.get(name) {
            Some(value) => finding.with_value(value.clone()),
            None => finding,
        });
    }
}

/// The row without invalid fields; `None` if a required field is missing.
fn repair(row: &Value, fields: &[(&str, Field, bool)]) -> Option<Value> {
    let row = row.as_object()?;
    let mut out = Map::new();
    for &(name, field, required) in fields {
        match row.get(name).filter(|value| field.takes(value)) {
            Some(value) => {
                out.insert(name.to_owned(), value.clone());
            }
            None if required => return None,
            None => {}
        }
    }
    Some(Value::Object(out))
}
