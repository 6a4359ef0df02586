//! Reads constants and sizes of structs from a header in C.

use std::collections::BTreeMap;

/// The constants `#define NAME number` and `NAME = number,` of a header.
pub fn constants(header: &'static str) -> BTreeMap<&'static str, u64> {
    let constant = |line: &'static str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["#define", name, number, ..] | [name, "=", number, ..] => Some((name, parse(number)?)),
            _ => None,
        }
    };
    header.lines().filter_map(constant).collect()
}

fn parse(number: &str) -> Option<u64> {
    let number = number.trim_end_matches(',');
    match number.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => number.parse().ok(),
    }
}

/// The sizes of structs in a header's `_Static_assert`s.
pub fn sizes(header: &'static str) -> BTreeMap<&'static str, usize> {
    let size = |line: &'static str| {
        let rest = line.strip_prefix("_Static_assert(sizeof(struct ")?;
        let (name, rest) = rest.split_once(") == ")?;
        Some((name, rest.split_once(',')?.0.parse().ok()?))
    };
    header.lines().filter_map(size).collect()
}
