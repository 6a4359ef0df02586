//! The name of a plan: a hash of everything that decides it, and of nothing else.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::book::Book;

/// Changes when the same spec and book would give another plan; part of every plan hash.
pub const PLAN_FORMAT_VERSION: u32 = 1;

/// SHA-256, in lower-case hex, of the canonical JSON of `{"book", "plan_format_version", "spec"}`.
///
/// The spec is the resolved one, so a default left out and the same value written down give one
/// hash.
pub fn plan_hash(resolved_spec: &impl Serialize, book: &Book) -> String {
    let mut text = String::with_capacity(64 * 1024);
    text.push_str("{\"book\":");
    write_canonical(&to_value(book), &mut text);
    text.push_str(&format!(
        ",\"plan_format_version\":{PLAN_FORMAT_VERSION},\"spec\":"
    ));
    write_canonical(&to_value(resolved_spec), &mut text);
    text.push('}');
    hex(&Sha256::digest(text.as_bytes()))
}

/// SHA-256 of a book's content, against which a pinned price book version is checked.
pub fn book_hash(book: &Book) -> String {
    let mut text = String::new();
    write_canonical(&to_value(book), &mut text);
    hex(&Sha256::digest(text.as_bytes()))
}

/// Plain data always has a JSON form (string keys, no failing serializer); a null would only merge
/// hashes.
fn to_value(data: &impl Serialize) -> Value {
    serde_json::to_value(data).unwrap_or(Value::Null)
}

/// JSON with sorted keys and no spaces; numbers and strings as `serde_json` prints them.
pub fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            // Sorted here, because another crate in a build may turn on insertion order for all.
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            out.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_scalar(&Value::String(key.clone()), out);
                out.push(':');
                write_canonical(&map[key], out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        scalar => write_scalar(scalar, out),
    }
}

fn write_scalar(value: &Value, out: &mut String) {
    out.push_str(&value.to_string());
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    out
}
