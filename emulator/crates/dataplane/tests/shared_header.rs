//! `bpf/cubeyard.h` and the Rust side of it say the same: reasons, limits, and the sizes of the structs.

use std::collections::BTreeMap;

use cubeyard_dataplane::address::Nha;
use cubeyard_dataplane::drops::DropReason;
use cubeyard_dataplane::route::SourceRoute;
use cubeyard_dataplane::{header, maps};

const SHARED: &str = include_str!("../../../bpf/cubeyard.h");

/// `#define NAME number` and `NAME = number,` of the header.
fn constants() -> BTreeMap<&'static str, u64> {
    SHARED
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["#define", name, number, ..] | [name, "=", number, ..] => Some((name, parse(number)?)),
                _ => None,
            }
        })
        .collect()
}

fn parse(number: &str) -> Option<u64> {
    let number = number.trim_end_matches(',');
    match number.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => number.parse().ok(),
    }
}

/// The sizes that the header's `_Static_assert`s state.
fn sizes() -> BTreeMap<&'static str, usize> {
    SHARED
        .lines()
        .filter_map(|line| {
            let rest = line.strip_prefix("_Static_assert(sizeof(struct ")?;
            let (name, rest) = rest.split_once(") == ")?;
            Some((name, rest.split_once(',')?.0.parse().ok()?))
        })
        .collect()
}

#[test]
fn drop_reasons_have_the_same_numbers_and_names() {
    let in_c: BTreeMap<u64, String> = constants()
        .into_iter()
        .filter_map(|(name, number)| Some((number, name.strip_prefix("CY_DROP_")?.to_lowercase())))
        .filter(|(_, name)| name != "reasons")
        .collect();
    let in_rust: BTreeMap<u64, String> = DropReason::ALL
        .iter()
        .map(|reason| (reason.index() as u64, reason.name().to_owned()))
        .collect();
    assert_eq!(in_c, in_rust);
    assert_eq!(constants()["CY_DROP_REASONS"], DropReason::COUNT as u64);
}

#[test]
fn limits_are_the_same() {
    let constants = constants();
    for (name, value) in [
        ("CY_HEADER_BYTES", header::HEADER_BYTES as u64),
        ("CY_OPTION_TYPE", header::OPTION_TYPE.into()),
        ("CY_OPTION_BYTES", header::OPTION_BYTES.into()),
        ("CY_TTL", header::TTL.into()),
        ("CY_PATH_HOPS", SourceRoute::MAX_HOPS as u64),
        ("CY_NHA_VALUES", Nha::VALUES as u64),
        ("CY_GATEWAY", maps::GATEWAY.into()),
        ("CY_FLOWS", maps::FLOWS as u64),
        ("CY_ROUTES", maps::ROUTES as u64),
        ("CY_PORTS", maps::PORTS as u64),
        ("CY_EVENT_BYTES", maps::EVENT_BYTES as u64),
        ("CY_EVENT_NEW_FLOW", maps::EVENT_NEW_FLOW.into()),
        ("CY_EVENT_GAP_NANOS", maps::EVENT_GAP_NANOS),
        ("CY_EVENT_BURST", maps::EVENT_BURST),
        ("CY_EVENT_NEXT_HOP_DEAD", maps::EVENT_NEXT_HOP_DEAD.into()),
    ] {
        assert_eq!(constants.get(name), Some(&value), "{name}");
    }
}

#[test]
fn structs_have_the_same_sizes() {
    let in_rust = BTreeMap::from([
        ("cy_config", size_of::<maps::Config>()),
        ("cy_next_hop", size_of::<maps::NextHop>()),
        ("cy_flow", size_of::<maps::Flow>()),
        ("cy_path", size_of::<maps::Path>()),
        ("cy_flow_count", size_of::<maps::FlowCount>()),
        ("cy_traffic", size_of::<maps::Traffic>()),
        ("cy_event", size_of::<maps::Event>()),
    ]);
    assert_eq!(sizes(), in_rust);
}
