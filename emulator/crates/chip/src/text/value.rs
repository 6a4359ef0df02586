//! The values of variables.

use std::collections::BTreeMap;

use crate::action::RawAction;
use crate::flaw::Flaw;

#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(u64),
    Bytes(Vec<u8>),
    /// Made by `val[…] = …`; emptied when it was used.
    Array(Vec<u8>),
    Null,
    Word(String),
    List(Vec<Value>),
    /// One value per neighbour, by the number that names it.
    Map(BTreeMap<u64, Value>),
    Action(Box<RawAction>),
}

impl Value {
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Number(_) => "a number",
            Value::Bytes(_) => "bytes",
            Value::Array(_) => "an array",
            Value::Null => "NULL",
            Value::Word(_) => "a word",
            Value::List(_) => "a list",
            Value::Map(_) => "values by next hop",
            Value::Action(_) => "an action",
        }
    }
}

/// A variable that was not set.
pub(super) fn unset(name: &str, what: &str) -> Flaw {
    let fix = format!("Set it before: {name} = …;");
    let what = if what == "set" {
        what.to_owned()
    } else {
        format!("set to {what}")
    };
    Flaw::new("unset", name, "not set", what, fix)
}

/// A number as this many bytes, the highest first; or this many bytes as they are.
pub(super) fn sized(field: &str, value: Value, length: usize) -> Result<Vec<u8>, Flaw> {
    let limit = if length == 1 {
        "one byte, 0 to 255".to_owned()
    } else {
        format!("{length} bytes")
    };
    match value {
        Value::Number(number) => {
            let bytes = number.to_be_bytes();
            let used = 8 - number.leading_zeros() as usize / 8;
            if used > length {
                return Err(Flaw::new(
                    "byte-range",
                    field,
                    number,
                    limit,
                    "Take a smaller number, or more bytes: val[a:b].",
                ));
            }
            let mut whole = vec![0; length.saturating_sub(8)];
            whole.extend_from_slice(&bytes[8 - length.min(8)..]);
            Ok(whole)
        }
        Value::Bytes(bytes) if bytes.len() == length => Ok(bytes),
        Value::Bytes(bytes) => Err(Flaw::new(
            "byte-count",
            field,
            format!("{} bytes", bytes.len()),
            limit,
            "Assign as many bytes: val[a:b] has both ends.",
        )),
        Value::Word(word) => Err(unset(&word, "a number")),
        other => Err(Flaw::new(
            "type",
            field,
            other.kind(),
            limit,
            "Write a number, an address or hexadecimal digits in quotes.",
        )),
    }
}

/// The result of an operator on two numbers; comparisons return 1 or 0. `None` outside 0 to 2^64 -
/// 1.
pub(super) fn arithmetic(sign: &str, left: u64, right: u64) -> Option<u64> {
    Some(match sign {
        "+" => left.checked_add(right)?,
        "-" => left.checked_sub(right)?,
        "*" => left.checked_mul(right)?,
        "<" => u64::from(left < right),
        "<=" => u64::from(left <= right),
        ">" => u64::from(left > right),
        ">=" => u64::from(left >= right),
        "==" => u64::from(left == right),
        _ => u64::from(left != right),
    })
}
