//! `bpf/serverswitch/chip.h` and the Rust side of it say the same: sizes, sources of keys, acts, structs.

use std::collections::BTreeMap;

#[path = "header_file/mod.rs"]
mod header_file;

use cubeyard_chip::compile::{CARES, INTERFACES, KEY_ROOM, TUPLES, ZERO};
use cubeyard_chip::{EXTERNAL_PORTS, PORTS, bcube};
use cubeyard_dataplane::bcube::chip_tables::{
    ACTS, Interface, Keys, SCHEMAS, TCAM_ENTRIES, TcamEntry, TcamKey, Tuple,
};
use cubeyard_dataplane::bcube::header::HEADER_BYTES;
use header_file::{constants, sizes};

const HEADER: &str = include_str!("../../../bpf/serverswitch/chip.h");

#[test]
fn limits_are_the_same() {
    let constants = constants(HEADER);
    let acts = ACTS.map(|(name, act)| (name, act.into()));
    let limits = [
        ("CHIP_EXTERNAL_PORTS", EXTERNAL_PORTS.into()),
        ("CHIP_ALL_PORTS", PORTS.into()),
        ("CHIP_TCAM_ENTRIES", TCAM_ENTRIES as u64),
        ("CHIP_KEY_ROOM", KEY_ROOM as u64),
        ("CHIP_KEY_PLACES", 2 * KEY_ROOM as u64),
        ("CHIP_TUPLES", TUPLES as u64),
        ("CHIP_CARES", CARES as u64),
        ("CHIP_INTERFACES", INTERFACES.into()),
        ("CHIP_PROTOCOL", bcube::PROTOCOL.into()),
        ("CHIP_HEADER_BYTES", HEADER_BYTES as u64),
        ("CHIP_SOURCE_ZERO", ZERO.into()),
    ];
    for (name, value) in limits.into_iter().chain(acts) {
        assert_eq!(constants.get(name), Some(&value), "{name}");
    }
}

#[test]
fn structs_have_the_same_sizes() {
    let in_rust = BTreeMap::from([
        ("cy_chip", size_of::<Keys>()),
        ("cy_prune", 256 * size_of::<u64>()),
        ("cy_tuple", size_of::<Tuple>()),
        ("cy_tcam_key", size_of::<TcamKey>()),
        ("cy_tcam_entry", size_of::<TcamEntry>()),
        ("cy_interface", size_of::<Interface>()),
    ]);
    assert_eq!(sizes(HEADER), in_rust);
    let prune = SCHEMAS.iter().find(|schema| schema.name == "prune");
    assert_eq!(prune.map(|schema| schema.value_bytes), Some(in_rust["cy_prune"]));
}
