//! Tests that `bpf/bcube/bcube.h` and its Rust counterpart agree: the header's format, limits,
//! kinds of notices, structs.

use std::collections::BTreeMap;

use crate::header_file;

use cubeyard_dataplane::bcube::nha::Nha;
use cubeyard_dataplane::bcube::route::SourceRoute;
use cubeyard_dataplane::bcube::{header, tables};
use header_file::{constants, sizes};

const HEADER: &str = include_str!("../../../bpf/bcube/bcube.h");

#[test]
fn limits_are_the_same() {
    let constants = constants(HEADER);
    for (name, value) in [
        ("CY_HEADER_BYTES", header::HEADER_BYTES as u64),
        ("CY_OPTION_TYPE", header::OPTION_TYPE.into()),
        ("CY_OPTION_BYTES", header::OPTION_BYTES.into()),
        ("CY_TTL", header::TTL.into()),
        ("CY_PATH_HOPS", SourceRoute::MAX_HOPS as u64),
        ("CY_NHA_VALUES", Nha::VALUES as u64),
        ("CY_GATEWAY", tables::GATEWAY.into()),
        ("CY_ROUTES", tables::ROUTES as u64),
        ("CY_NOTICE_NEW_FLOW", tables::NEW_FLOW.into()),
        ("CY_NOTICE_NEXT_HOP_DEAD", tables::NEXT_HOP_DEAD.into()),
    ] {
        assert_eq!(constants.get(name), Some(&value), "{name}");
    }
}

#[test]
fn structs_have_the_same_sizes() {
    let in_rust = BTreeMap::from([
        ("cy_config", size_of::<tables::Config>()),
        ("cy_next_hop", size_of::<tables::NextHop>()),
        ("cy_path", size_of::<tables::Path>()),
        ("cy_notice", size_of::<tables::Notice>()),
    ]);
    assert_eq!(sizes(HEADER), in_rust);
}
