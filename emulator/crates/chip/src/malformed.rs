//! Errors in a document that does not have the format of a program: fields that are missing,
//! unknown or of another type.

use serde_json::Value;

use crate::flaw::Flaw;

const WHOLE: &str = "a whole number from 0";
const BYTES: &str = "bytes as hexadecimal text, like 0a000001";
const ENTRIES: &str = "a list of entries";
/// Fields of a document's parts, each with what it may be.
const FIELDS: [(&str, &str); 25] = [
    ("act", "the name of an action, like REDIRECT_VIF"),
    ("action", "an object with `act`"),
    ("count_up", WHOLE),
    ("dmac", BYTES),
    ("dscp", WHOLE),
    ("em_ipv4", ENTRIES),
    ("em_mac", ENTRIES),
    ("em_mpls", ENTRIES),
    ("fields", "a list of texts like B22-25"),
    ("i", WHOLE),
    ("iudlk", WHOLE),
    ("label", WHOLE),
    ("lpm_ipv4", ENTRIES),
    ("mask", BYTES),
    ("mirror", WHOLE),
    ("oport", WHOLE),
    ("port", WHOLE),
    ("ports", "a list of whole numbers from 0"),
    ("profile", "bcm56338 or extended"),
    ("registers", "an object of whole numbers from 0 by register"),
    ("smac", BYTES),
    ("tcam", ENTRIES),
    ("udlk", "a list of keys, each with `i` and `fields`"),
    ("value", BYTES),
    ("vif", "a list of interfaces; in an action a whole number from 0"),
];
/// Longest value that is repeated, in characters.
const SHOWN: usize = 40;

/// The flaw of a text that could not be read as a document.
pub fn flaw(text: &str, error: &serde_path_to_error::Error<serde_json::Error>) -> Flaw {
    let inner = error.inner();
    let place = (inner.line() as u32, inner.column().max(1) as u32);
    let Ok(whole) = serde_json::from_str::<Value>(text) else {
        let flaw = Flaw::new(
            "json",
            "program",
            "this text",
            "a program as JSON",
            "Correct it there, or write the program as text.",
        );
        return flaw.saying(format!("The program is no JSON: {inner}.")).at(place);
    };
    if !whole.is_object() {
        return no_object(&whole);
    }
    let said = inner.to_string();
    let quoted = said.split('`').nth(1).unwrap_or_default();
    let path = error.path().to_string();
    let inside = |field: &str| match path.as_str() {
        "." => field.to_owned(),
        path => format!("{path}.{field}"),
    };
    if said.starts_with("missing field") {
        let limit = allowed(quoted);
        let fix = format!("Add {quoted}.");
        let flaw = Flaw::new("field-missing", inside(quoted), "missing", limit, fix);
        return flaw.at(place);
    }
    if said.starts_with("unknown field") {
        // The field itself is the last part of the path.
        let known: Vec<&str> = said.split('`').skip(3).step_by(2).collect();
        let limit = format!("one of {}", known.join(", "));
        let field = if path.ends_with(quoted) {
            path.clone()
        } else {
            inside(quoted)
        };
        let flaw = Flaw::new(
            "field-unknown",
            field.as_str(),
            quoted,
            limit.as_str(),
            "Leave it out, or correct its name.",
        );
        return flaw
            .saying(format!(
                "{field} is no field of a program here; fields are {}.",
                known.join(", ")
            ))
            .at(place);
    }
    let field = if path == "." { "program" } else { &path };
    let value = shown(at(&whole, &path));
    let limit = match last(&path) {
        "fields" if path.ends_with(']') => "a text like B22-25",
        "ports" if path.ends_with(']') => WHOLE,
        _ if path.ends_with(']') => "an object",
        name => allowed(name),
    };
    Flaw::new("field-kind", field, value, limit, "Correct it there.").at(place)
}

/// The flaw of a document that is JSON, but no object: a list would be read as the values of its
/// fields.
pub fn no_object(whole: &Value) -> Flaw {
    let limit = "an object with a program's tables";
    Flaw::new(
        "field-kind",
        "program",
        shown(Some(whole)),
        limit,
        "Correct it there.",
    )
    .at((1, 1))
}

/// The allowed values of a field; for an entry of a list or a register, of the field that contains
/// it.
fn allowed(name: &str) -> &'static str {
    FIELDS
        .iter()
        .find(|(field, _)| *field == name)
        .map_or("another kind of value", |(_, limit)| limit)
}

/// The name that a path ends with, without the place in a list.
fn last(path: &str) -> &str {
    if path.starts_with("registers.") {
        return "i";
    }
    let name = path.rsplit('.').find(|part| !part.is_empty()).unwrap_or(".");
    name.split('[').next().unwrap_or(name)
}

/// The value that a path leads to.
fn at<'a>(whole: &'a Value, path: &str) -> Option<&'a Value> {
    let pointer = path.replace('[', ".").replace(']', "");
    let parts = pointer.split('.').filter(|part| !part.is_empty());
    parts.into_iter().try_fold(whole, |value, part| match value {
        Value::Array(all) => all.get(part.parse::<usize>().ok()?),
        value => value.get(part),
    })
}

fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "this".to_owned(), ToString::to_string);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
