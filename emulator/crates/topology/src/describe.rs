//! All families and their parameters as data. Forms, documentation, JSON schema and the range
//! checks of the parser are derived from this description.

use serde_json::{Map, Value, json};

use crate::family;
use crate::spec::{TopologySpec, rows_schema};

/// The kind of value a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Integer,
    Number,
    /// One number, or a list with one per server port.
    NumberOrList,
    /// A list of numbers.
    List,
    /// A list of nodes of a custom network.
    Nodes,
    /// A list of links of a custom network.
    Links,
    /// One of the listed integers.
    Enum(&'static [(u32, &'static str)]),
}

/// One parameter of a family.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub name: &'static str,
    /// The paper's letter, or the empty string.
    pub letter: &'static str,
    pub title: &'static str,
    pub kind: Kind,
    pub min: f64,
    pub max: f64,
    pub required: bool,
    pub default: Option<f64>,
    /// The rule for the value if the parameter is omitted and has no fixed default.
    pub default_doc: &'static str,
    pub unit: &'static str,
    pub doc: &'static str,
    /// Only the network of a run has it: plans and lists of parameters do not.
    pub of_runs: bool,
}

impl Parameter {
    /// A required parameter with an integer value.
    pub const fn integer(
        name: &'static str,
        letter: &'static str,
        title: &'static str,
        min: u32,
        max: u32,
    ) -> Parameter {
        Parameter {
            name,
            letter,
            title,
            kind: Kind::Integer,
            min: min as f64,
            max: max as f64,
            required: true,
            default: None,
            default_doc: "",
            unit: "",
            doc: "",
            of_runs: false,
        }
    }

    /// A required parameter with a number as its value.
    pub const fn number(
        name: &'static str,
        letter: &'static str,
        title: &'static str,
        min: f64,
        max: f64,
    ) -> Parameter {
        Parameter {
            kind: Kind::Number,
            min,
            max,
            ..Parameter::integer(name, letter, title, 0, 0)
        }
    }

    pub const fn kind(self, kind: Kind) -> Parameter {
        Parameter { kind, ..self }
    }

    pub const fn unit(self, unit: &'static str) -> Parameter {
        Parameter { unit, ..self }
    }

    pub const fn doc(self, doc: &'static str) -> Parameter {
        Parameter { doc, ..self }
    }

    /// Optional with a fixed default.
    pub const fn default(self, default: f64) -> Parameter {
        Parameter {
            required: false,
            default: Some(default),
            ..self
        }
    }

    /// Optional, with a default derived from the other parameters.
    pub const fn derived(self, default_doc: &'static str) -> Parameter {
        Parameter {
            required: false,
            default_doc,
            ..self
        }
    }

    /// Optional, and only of the network of a run.
    pub const fn of_runs(self) -> Parameter {
        Parameter {
            required: false,
            of_runs: true,
            ..self
        }
    }

    /// A number as JSON: whole numbers of integer parameters without a fraction.
    pub fn number_json(&self, value: f64) -> Value {
        if matches!(
            self.kind,
            Kind::Integer | Kind::Enum(_) | Kind::Nodes | Kind::Links
        ) {
            json!(value as u64)
        } else {
            json!(value)
        }
    }

    fn to_json(self) -> Value {
        let mut out = Map::new();
        let (kind, list) = match self.kind {
            Kind::Integer => ("integer", false),
            Kind::Number => ("number", false),
            Kind::NumberOrList => ("number", true),
            Kind::List => ("list", true),
            Kind::Nodes => ("nodes", true),
            Kind::Links => ("links", true),
            Kind::Enum(_) => ("enum", false),
        };
        out.insert("name".into(), json!(self.name));
        out.insert(
            "letter".into(),
            if self.letter.is_empty() {
                Value::Null
            } else {
                json!(self.letter)
            },
        );
        out.insert("title".into(), json!(self.title));
        out.insert("kind".into(), json!(kind));
        out.insert("list".into(), json!(list));
        out.insert("min".into(), self.number_json(self.min));
        out.insert("max".into(), self.number_json(self.max));
        out.insert(
            "default".into(),
            self.default.map_or(Value::Null, |value| self.number_json(value)),
        );
        out.insert(
            "default_doc".into(),
            if self.default_doc.is_empty() {
                Value::Null
            } else {
                json!(self.default_doc)
            },
        );
        out.insert(
            "unit".into(),
            if self.unit.is_empty() {
                Value::Null
            } else {
                json!(self.unit)
            },
        );
        out.insert("doc".into(), json!(self.doc));
        out.insert("required".into(), json!(self.required));
        if let Kind::Enum(choices) = self.kind {
            let choices: Vec<Value> = choices
                .iter()
                .map(|(value, title)| json!({"value": value, "title": title}))
                .collect();
            out.insert("choices".into(), Value::Array(choices));
        }
        Value::Object(out)
    }

    fn schema(self) -> Value {
        let scalar = |kind: &str| json!({"type": kind, "minimum": self.number_json(self.min), "maximum": self.number_json(self.max)});
        let list = || json!({"type": "array", "minItems": 1, "items": scalar("number")});
        let mut schema = match self.kind {
            Kind::Integer => scalar("integer"),
            Kind::Number => scalar("number"),
            Kind::NumberOrList => json!({"anyOf": [scalar("number"), list()]}),
            Kind::List => list(),
            Kind::Nodes | Kind::Links => rows_schema(self),
            Kind::Enum(choices) => {
                json!({"enum": choices.iter().map(|(value, _)| *value).collect::<Vec<_>>()})
            }
        };
        schema["title"] = json!(self.title);
        schema["description"] = json!(self.doc);
        if let Some(default) = self.default {
            schema["default"] = self.number_json(default);
        }
        schema
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Description {
    pub family: &'static str,
    pub title: &'static str,
    pub summary: &'static str,
    pub source: &'static str,
    /// An example of node names.
    pub names: &'static str,
    pub parameters: &'static [Parameter],
    /// Ready-made specifications as JSON text: title and specification. The first is the example.
    pub presets: &'static [(&'static str, &'static str)],
    /// Reads the parameters; their types and ranges have been checked.
    pub read: fn(Value) -> Result<TopologySpec, serde_json::Error>,
}

impl Description {
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// The parameters that a plan may have.
    pub fn of_plans(&self) -> impl Iterator<Item = &'static Parameter> {
        self.parameters.iter().filter(|parameter| !parameter.of_runs)
    }

    /// The specification of the first preset.
    pub fn example(&self) -> Value {
        preset_json(self.presets[0].1)
    }
}

fn preset_json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

/// All families, each with its parameters, limits, defaults, an example and the sizes from its
/// paper.
///
/// A list of `{family, title, summary, source, names, parameters, example, presets}`; a parameter
/// is
/// `{name, letter, title, kind, list, min, max, default, default_doc, unit, doc, required, choices?}`
/// with `kind` one of `integer`, `number`, `enum`, `list`, `nodes`, `links`; `list` is true if the
/// parameter accepts a list.
pub fn families() -> Value {
    let list = family::DESCRIPTIONS.iter().map(|family| {
        let presets: Vec<Value> = family
            .presets
            .iter()
            .map(|(title, spec)| json!({"title": title, "spec": preset_json(spec)}))
            .collect();
        json!({
            "family": family.family,
            "title": family.title,
            "summary": family.summary,
            "source": family.source,
            "names": family.names,
            "parameters": family.of_plans().map(|parameter| parameter.to_json()).collect::<Vec<_>>(),
            "example": family.example(),
            "presets": presets,
        })
    });
    Value::Array(list.collect())
}

/// JSON schema (2020-12) of a topology specification: one alternative per family.
pub fn json_schema() -> Value {
    let alternatives = family::DESCRIPTIONS.iter().map(|family| {
        let mut properties = Map::new();
        properties.insert("family".into(), json!({"const": family.family}));
        for parameter in family.of_plans() {
            properties.insert(parameter.name.into(), parameter.schema());
        }
        let required: Vec<&str> = std::iter::once("family")
            .chain(
                family
                    .of_plans()
                    .filter(|parameter| parameter.required)
                    .map(|p| p.name),
            )
            .collect();
        json!({
            "title": family.title,
            "description": family.summary,
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    });
    json!({"title": "Topology", "oneOf": alternatives.collect::<Vec<_>>()})
}
