//! Tests that `bpf/dcell/dcell.h` and its Rust counterpart agree: the header's format, limits,
//! kinds of notices, structs.

use std::collections::BTreeMap;

use crate::header_file;

use cubeyard_dataplane::dcell::{header, tables};
use header_file::{constants, sizes};

const HEADER: &str = include_str!("../../../bpf/dcell/dcell.h");

#[test]
fn limits_are_the_same() {
    let constants = constants(HEADER);
    for (name, value) in [
        ("CY_HEADER_BYTES", header::HEADER_BYTES as u64),
        ("CY_WHOLE_BYTES", header::WHOLE_BYTES as u64),
        ("CY_OPTION_TYPE", header::OPTION_TYPE.into()),
        ("CY_PROXY_FLAG", header::PROXY_FLAG.into()),
        ("CY_HOPS", tables::HOPS as u64),
        ("CY_DESTINATIONS", tables::DESTINATIONS as u64),
        ("CY_HAS_HOP", tables::HAS_HOP.into()),
        ("CY_HAS_ALTERNATIVE", tables::HAS_ALTERNATIVE.into()),
        ("CY_NOTICE_NEW_FLOW", tables::NEW_FLOW.into()),
        ("CY_NOTICE_REROUTED", tables::REROUTED.into()),
    ] {
        assert_eq!(constants.get(name), Some(&value), "{name}");
    }
}

#[test]
fn structs_have_the_same_sizes() {
    let in_rust = BTreeMap::from([
        ("cy_config", size_of::<tables::Config>()),
        ("cy_next_hop", size_of::<tables::NextHop>()),
        ("cy_route", size_of::<tables::Route>()),
        ("cy_notice", size_of::<tables::Notice>()),
    ]);
    assert_eq!(sizes(HEADER), in_rust);
}
