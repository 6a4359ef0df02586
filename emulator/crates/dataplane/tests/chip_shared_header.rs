//! Tests that `bpf/serverswitch/chip.h` and its Rust counterpart agree: sizes, sources of keys,
//! acts, structs.

use std::collections::BTreeMap;

use crate::header_file;

use cubeyard_chip::compile::{CARES, INTERFACES, KEY_ROOM, TUPLES, ZERO};
use cubeyard_chip::{COUNTERS, DiscardReason, EXTERNAL_PORTS, PORTS, Register, bcube};
use cubeyard_dataplane::bcube::header::HEADER_BYTES;
use cubeyard_dataplane::chip_tables::SCHEMAS;
use cubeyard_dataplane::chip_tables::layout::{
    ACTS, CpuSide, EXACT_ENTRIES, EXACT_TABLES, Entry, ExactKey, FLAGS, Interface, Keys, Marking, OF_CALL,
    PACKET_RING_BYTES, PARTS, PREFIX_ENTRIES, PacketHead, PrefixKey, Punt, TCAM_ENTRIES, TcamKey, Tuple,
};
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
        ("CHIP_OF_CALL", OF_CALL.into()),
        ("CHIP_PACKET_RING_BYTES", PACKET_RING_BYTES as u64),
        ("CHIP_PROTOCOL", bcube::PROTOCOL.into()),
        ("CHIP_HEADER_BYTES", HEADER_BYTES as u64),
        ("CHIP_SOURCE_ZERO", ZERO.into()),
    ];
    let tables = EXACT_TABLES.map(|(name, _, number, _)| (name, number.into()));
    let flags = FLAGS.map(|(name, flag)| (name, flag.into()));
    let parts = PARTS.map(|(name, part)| (name, part.into()));
    let slot = |register: Register| register.slot().unwrap() as u64;
    let registers = [
        ("CHIP_IN_PACKETS", slot(Register::InPackets(0))),
        ("CHIP_IN_BYTES", slot(Register::InBytes(0))),
        ("CHIP_OUT_PACKETS", slot(Register::OutPackets(0))),
        ("CHIP_OUT_BYTES", slot(Register::OutBytes(0))),
        ("CHIP_QUEUE_BYTES", slot(Register::QueueBytes(0))),
        (
            "CHIP_DISCARDS",
            slot(Register::Discards(DiscardReason::Malformed)),
        ),
        ("CHIP_REGISTERS", COUNTERS as u64),
        ("CHIP_EXACT_ENTRIES", EXACT_ENTRIES as u64),
        ("CHIP_PREFIX_ENTRIES", PREFIX_ENTRIES as u64),
    ];
    let reasons = DiscardReason::ALL.map(|reason| {
        let name = reason.name().to_uppercase().replace('-', "_");
        (
            constants
                .keys()
                .find(|key| **key == format!("CHIP_{name}"))
                .copied()
                .unwrap(),
            reason as u64,
        )
    });
    let more = tables.into_iter().chain(flags).chain(registers).chain(reasons);
    for (name, value) in limits.into_iter().chain(acts).chain(parts).chain(more) {
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
        ("cy_exact_key", size_of::<ExactKey>()),
        ("cy_prefix_key", size_of::<PrefixKey>()),
        ("cy_entry", size_of::<Entry>()),
        ("cy_interface", size_of::<Interface>()),
        ("cy_marking", size_of::<Marking>()),
        ("cy_punt", size_of::<Punt>()),
        ("cy_cpu", size_of::<CpuSide>()),
        ("cy_packet", size_of::<PacketHead>()),
    ]);
    assert_eq!(sizes(HEADER), in_rust);
    let prune = SCHEMAS.iter().find(|schema| schema.name == "prune");
    assert_eq!(prune.map(|schema| schema.value_bytes), Some(in_rust["cy_prune"]));
}
