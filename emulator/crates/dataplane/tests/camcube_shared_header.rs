//! Tests that `bpf/camcube/camcube.h` and its Rust counterpart agree: the option's format, limits,
//! structs.

use std::collections::BTreeMap;

use crate::header_file;

use cubeyard_dataplane::camcube::{header, tables};
use header_file::{constants, sizes};

const HEADER: &str = include_str!("../../../bpf/camcube/camcube.h");

#[test]
fn limits_are_the_same() {
    let constants = constants(HEADER);
    for (name, value) in [
        ("CY_HEADER_BYTES", header::HEADER_BYTES as u64),
        ("CY_OPTION_TYPE", header::OPTION_TYPE.into()),
        ("CY_OPTION_BYTES", header::OPTION_BYTES as u64),
        ("CY_TCP_IP", header::TCP_IP.into()),
        ("CY_DISJOINT", header::DISJOINT.into()),
        ("CY_MAX_HOPS", header::MAX_HOPS.into()),
        ("CY_SERVERS", tables::SERVERS as u64),
        ("CY_SERVER_PORTS", tables::PORTS as u64),
        ("CY_NO_PORT", tables::NO_PORT.into()),
        ("CY_DISJOINT_PATHS", tables::DISJOINT_PATHS.into()),
    ] {
        assert_eq!(constants.get(name), Some(&value), "{name}");
    }
}

#[test]
fn structs_have_the_same_sizes() {
    let in_rust = BTreeMap::from([
        ("cy_config", size_of::<tables::Config>()),
        ("cy_next_hop", size_of::<tables::NextHop>()),
        ("cy_way", size_of::<tables::Way>()),
    ]);
    assert_eq!(sizes(HEADER), in_rust);
}
