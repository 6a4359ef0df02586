//! Tests that `bpf/common/cubeyard.h` and its Rust counterpart agree: drop reasons, limits, and the
//! sizes of the structs.

use std::collections::BTreeMap;

use crate::header_file;

use cubeyard_dataplane::drops::DropReason;
use cubeyard_dataplane::{counts, flow, rate_limit};
use header_file::{constants, sizes};

const HEADER: &str = include_str!("../../../bpf/common/cubeyard.h");

#[test]
fn drop_reasons_have_the_same_numbers_and_names() {
    let in_c: BTreeMap<u64, String> = constants(HEADER)
        .into_iter()
        .filter_map(|(name, number)| {
            let name = name.strip_prefix("CY_DROP_")?;
            Some((number, name.to_lowercase().replace('_', "-")))
        })
        .filter(|(_, name)| name != "reasons")
        .collect();
    let in_rust: BTreeMap<u64, String> = DropReason::ALL
        .iter()
        .map(|reason| (reason.index() as u64, reason.name().to_owned()))
        .collect();
    assert_eq!(in_c, in_rust);
    assert_eq!(constants(HEADER)["CY_DROP_REASONS"], DropReason::COUNT as u64);
}

#[test]
fn limits_are_the_same() {
    let constants = constants(HEADER);
    for (name, value) in [
        ("CY_FLOWS", counts::FLOWS as u64),
        ("CY_PORTS", counts::PORTS as u64),
        ("CY_NOTICE_GAP_NANOS", rate_limit::NOTICE_GAP_NANOS),
        ("CY_NOTICE_BURST", rate_limit::NOTICE_BURST),
    ] {
        assert_eq!(constants.get(name), Some(&value), "{name}");
    }
}

#[test]
fn structs_have_the_same_sizes() {
    let in_rust = BTreeMap::from([
        ("cy_flow", size_of::<flow::Flow>()),
        ("cy_flow_count", size_of::<counts::FlowCount>()),
        ("cy_traffic", size_of::<counts::Traffic>()),
    ]);
    assert_eq!(sizes(HEADER), in_rust);
}
