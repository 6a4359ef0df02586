//! Programs as JSON that are no programs: each error names the field, the value and what it may be,
//! in our words.

use cubeyard_chip::document;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Code, field, value and message of the first flaw.
fn refused(text: &str) -> [String; 4] {
    let flaws = document::read(text).unwrap_err();
    let flaw = &flaws[0];
    assert!(flaw.line > 0 && !flaw.hint.is_empty(), "{flaw:?}");
    [
        flaw.code.to_owned(),
        flaw.field.to_string(),
        flaw.value.to_string(),
        flaw.message.to_string(),
    ]
}

#[test]
fn the_field_is_named_with_its_value_and_what_it_may_be() {
    let entry = |changed: Value| {
        let mut entry = json!({"i": 0, "iudlk": 1, "value": "02", "mask": "ff", "action": {"act": "TO_CPU"}});
        for (key, value) in changed.as_object().unwrap() {
            match value {
                Value::Null => entry.as_object_mut().unwrap().remove(key),
                value => entry.as_object_mut().unwrap().insert(key.clone(), value.clone()),
            };
        }
        json!({"tcam": [entry]}).to_string()
    };
    for (text, code, field, message) in [
        (
            entry(json!({"i": "three"})),
            "field-kind",
            "tcam[0].i",
            "tcam[0].i is \"three\", but must be a whole number from 0.",
        ),
        (
            entry(json!({"i": -1})),
            "field-kind",
            "tcam[0].i",
            "tcam[0].i is -1, but must be a whole number from 0.",
        ),
        (
            entry(json!({"value": 7})),
            "field-kind",
            "tcam[0].value",
            "tcam[0].value is 7, but must be bytes as hexadecimal text",
        ),
        (
            entry(json!({"value": null})),
            "field-missing",
            "tcam[0].value",
            "tcam[0].value is missing, but must be bytes",
        ),
        (
            entry(json!({"colour": 1})),
            "field-unknown",
            "tcam[0].colour",
            "tcam[0].colour is no field of a program here; fields are i, iudlk",
        ),
        (
            entry(json!({"action": "TO_CPU"})),
            "field-kind",
            "tcam[0].action",
            "tcam[0].action is \"TO_CPU\", but must be an object with `act`.",
        ),
        (
            json!({"tcam": 5}).to_string(),
            "field-kind",
            "tcam",
            "tcam is 5, but must be a list of entries.",
        ),
        (
            json!({"tcam": [5]}).to_string(),
            "field-kind",
            "tcam[0]",
            "tcam[0] is 5, but must be an object.",
        ),
        (
            json!({"udlk": [{"i": 1, "fields": [9]}]}).to_string(),
            "field-kind",
            "udlk[0].fields[0]",
            "udlk[0].fields[0] is 9, but must be a text like B22-25.",
        ),
        (
            json!({"registers": {"L3_ENABLE": "on"}}).to_string(),
            "field-kind",
            "registers.L3_ENABLE",
            "registers.L3_ENABLE is \"on\", but must be a whole number from 0.",
        ),
        (
            json!({"profile": "broadcom"}).to_string(),
            "field-kind",
            "profile",
            "profile is \"broadcom\", but must be bcm56338 or extended.",
        ),
        (
            "[1]".to_owned(),
            "field-kind",
            "program",
            "program is [1], but must be an object with a program's tables.",
        ),
        (
            "{\"tcam\": [".to_owned(),
            "json",
            "program",
            "The program is no JSON:",
        ),
        (
            "{} {}".to_owned(),
            "json",
            "program",
            "program is this text, but must be one program as JSON.",
        ),
        (
            "[]".to_owned(),
            "field-kind",
            "program",
            "program is [], but must be an object with a program's tables.",
        ),
    ] {
        let [found_code, found_field, _, found_message] = refused(&text);
        assert_eq!(
            (found_code.as_str(), found_field.as_str()),
            (code, field),
            "{text}: {found_message}"
        );
        assert!(found_message.starts_with(message), "{found_message}");
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-zé0-9 ]{0,60}".prop_map(Value::from),
        Just(json!([])),
        Just(json!([[1]])),
        Just(json!({})),
        Just(json!({"i": 1})),
    ]
}

proptest! {
    /// For any value at any position, errors contain no message of the JSON library.
    #[test]
    fn errors_are_in_our_words(value in any_value(), place in 0..9_usize, key in "[a-z_]{1,8}") {
        let mut document = json!({
            "profile": "extended", "udlk": [{"i": 1, "fields": ["B22-25"]}], "vif": [{"i": 1, "oport": 0}],
            "tcam": [{"i": 0, "iudlk": 1, "value": "02000000", "mask": "ff000000", "action": {"act": "REDIRECT_VIF", "vif": 1}}],
            "registers": {"L3_ENABLE": 0},
        });
        let pointer = ["/udlk/0/fields/0", "/udlk/0", "/vif/0/oport", "/tcam/0/i", "/tcam/0/action", "/tcam/0/action/vif", "/tcam", "/registers/L3_ENABLE", ""][place];
        match pointer {
            "" => document[key.as_str()] = value,
            pointer => *document.pointer_mut(pointer).unwrap() = value,
        }
        for flaw in document::read(&document.to_string()).err().into_iter().flatten() {
            let said = format!("{} {}", flaw.message, flaw.hint);
            for word in ["invalid type", "u64", "expected", "struct", "sequence", "Document", "RawAction"] {
                prop_assert!(!said.contains(word), "{said}");
            }
        }
    }
}
